/**
 * Copies bytes between two buffers that do not overlap.
 *
 * Lines lie in memory that other threads see. The engine copies from there a byte at a time, unless both ends are aligned
 * alike: `Buffer.copy` and `set` take ten times as long as from other memory. `fill` is one call of the system's copy.
 *
 * @returns where the copy ends.
 */
export function copyLines(from: Uint8Array, start: number, end: number, to: Buffer, at: number): number {
  if (start === end) return at;
  to.fill(from.subarray(start, end), at, at + end - start);
  return at + end - start;
}

/** Below this a loop is quicker than a call of the engine. */
const fewBytes = 192;

/**
 * Copies bytes between two arrays that do not overlap, four at a time.
 *
 * @param to has three bytes more than what is copied: they may be written, too.
 * @returns where the copy ends.
 */
export function copyBytes(from: DataView, start: number, end: number, to: DataView, at: number): number {
  if (end - start > fewBytes || end + 3 > from.byteLength) {
    const source = new Uint8Array(from.buffer, from.byteOffset, from.byteLength);
    return copyLines(source, start, end, Buffer.from(to.buffer, to.byteOffset, to.byteLength), at);
  }
  const by = at - start;
  for (let i = start; i < end; i += 4) to.setInt32(i + by, from.getInt32(i, true), true);
  return end + by;
}
