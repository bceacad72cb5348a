import { lendLines, type Sink, type ShapeLines } from "../record/index.ts";

/** A sink that gives the same lines to each of several, in their order. */
export function fanOut(sinks: readonly Sink[]): Sink {
  const [first, ...others] = sinks;
  if (first !== undefined && others.length === 0) return first;
  return {
    write(lines, count) {
      for (const sink of sinks) sink.write(lines, count);
    },
    lend(lines, count, done) {
      let left = sinks.length;
      const oneDone = (): void => {
        if (--left === 0) done();
      };
      for (const sink of sinks) lendLines(sink, lines, count, oneDone);
      if (sinks.length === 0) done();
    },
  };
}

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
