import { lendLines, type Sink } from "../record/index.ts";
import type { LineNote } from "./line-outbox.ts";

/** The other end of a line outbox: @returns what takes its notes and passes the lines on to the sink. */
export function createLineInbox(returned: SharedArrayBuffer, sink: Sink): (note: LineNote) => void {
  const counts = new Int32Array(returned);
  const slabs: Uint8Array[] = [];
  return ({ slab, memory, from, to, count }) => {
    if (memory !== undefined) slabs[slab] = new Uint8Array(memory);
    const bytes = slabs[slab];
    if (bytes !== undefined) lendLines(sink, bytes.subarray(from, to), count, () => Atomics.add(counts, slab, 1));
  };
}
