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
    const source = new Uint8Array(from.buffer, from.byteOffset + start, end - start);
    new Uint8Array(to.buffer, to.byteOffset, to.byteLength).set(source, at);
    return at + end - start;
  }
  const by = at - start;
  for (let i = start; i < end; i += 4) to.setInt32(i + by, from.getInt32(i, true), true);
  return end + by;
}
