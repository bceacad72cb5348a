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
  const lasts = firsts + count;
  const items = lasts + count;
  let n = found;
  for (let i = 0; i < count; i++) {
    const first = words[firsts + i] as number;
    if (first > p0) break;
    const last = words[lasts + i] as number;
    if (last < p0) continue;
    // The highest words decide about most; the others are further on in the node.
    if (first === p0 && startsAfter(words, items + count + i, count, p1, p2, p3)) break;
    if (last === p0 && endsBefore(words, items + 2 * count + i, count, p1, p2, p3)) continue;
    const item = words[items + i] as number;
    if (isLeaf) out[n++] = item;
    else n = findCovering6(words, item, p0, p1, p2, p3, out, n);
  }
  return n;
}

/** Whether the lower words of a first address are greater. Each is two columns after the one before it. */
function startsAfter(words: Int32Array, at: number, count: number, p1: number, p2: number, p3: number): boolean {
  const word1 = words[at] as number;
  if (word1 !== p1) return word1 > p1;
  const word2 = words[at + 2 * count] as number;
  if (word2 !== p2) return word2 > p2;
  return (words[at + 4 * count] as number) > p3;
}

/** Whether the lower words of a last address are less. */
function endsBefore(words: Int32Array, at: number, count: number, p1: number, p2: number, p3: number): boolean {
  const word1 = words[at] as number;
  if (word1 !== p1) return word1 < p1;
  const word2 = words[at + 2 * count] as number;
  if (word2 !== p2) return word2 < p2;
  return (words[at + 4 * count] as number) < p3;
}
