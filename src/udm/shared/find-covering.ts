import { headWords, leafBit } from "./node-layout.ts";

// Written out for each family, without objects or loops over the words of an address: these run for every address of a
// flow that no cache knows.

/**
 * Writes the items of all entries that cover an IPv4 address into `out`, from position `found` on, in list order.
 *
 * @param node the root; not 0.
 * @returns the position after the last. More than `out` holds means that the rest is missing.
 */
export function findCovering4(words: Int32Array, node: number, p: number, out: Int32Array, found: number): number {
  const head = words[node] as number;
  const count = head >>> 16;
  const firsts = node + headWords;
  const lasts = firsts + count;
  const items = lasts + count;
  let n = found;
  if ((head & leafBit) !== 0) {
    for (let i = 0; i < count && (words[firsts + i] as number) <= p; i++) {
      if ((words[lasts + i] as number) >= p) out[n++] = words[items + i] as number;
    }
    return n;
  }
  for (let i = 0; i < count && (words[firsts + i] as number) <= p; i++) {
    if ((words[lasts + i] as number) >= p) n = findCovering4(words, words[items + i] as number, p, out, n);
  }
  return n;
}

/** {@link findCovering4} for an IPv6 address of four words. */
export function findCovering6(
  words: Int32Array,
  node: number,
  p0: number,
  p1: number,
  p2: number,
  p3: number,
  out: Int32Array,
  found: number,
): number {
  const head = words[node] as number;
  const count = head >>> 16;
  const isLeaf = (head & leafBit) !== 0;
  const firsts = node + headWords;
  const lasts = firsts + 4 * count;
  const items = lasts + 4 * count;
  let n = found;
  for (let i = 0; i < count; i++) {
    // Ends at the first that starts after the address.
    let at = firsts + i;
    const first0 = words[at] as number;
    if (first0 > p0) break;
    if (first0 === p0) {
      const first1 = words[(at += count)] as number;
      if (first1 > p1) break;
      if (first1 === p1) {
        const first2 = words[(at += count)] as number;
        if (first2 > p2) break;
        if (first2 === p2 && (words[at + count] as number) > p3) break;
      }
    }
    // Passes by what ends before it.
    at = lasts + i;
    const last0 = words[at] as number;
    if (last0 < p0) continue;
    if (last0 === p0) {
      const last1 = words[(at += count)] as number;
      if (last1 < p1) continue;
      if (last1 === p1) {
        const last2 = words[(at += count)] as number;
        if (last2 < p2) continue;
        if (last2 === p2 && (words[at + count] as number) < p3) continue;
      }
    }
    const item = words[items + i] as number;
    if (isLeaf) out[n++] = item;
    else n = findCovering6(words, item, p0, p1, p2, p3, out, n);
  }
  return n;
}
