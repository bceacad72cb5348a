import { lendLines, type ShapeLines, type Sink } from "../record/index.ts";

/** Gives a sink only what passes a filter; the rest of it stays as it is. Lines that pass are copied. */
export function filteredSink<T extends Sink>(sink: T, filter: ShapeLines): T {
  const write = (lines: Uint8Array, count: number): void => {
    const passed = filter(lines, count);
    if (passed !== undefined) lendLines(sink, passed.lines, passed.count, () => {});
  };
  return {
    ...sink,
    write,
    lend(lines: Uint8Array, count: number, done: () => void) {
      write(lines, count);
      done();
    },
  };
}
