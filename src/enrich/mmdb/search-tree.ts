/** The shape of a search tree, of a database's metadata. */
export interface TreeShape {
  /** Bits of a record, of which a node has two. */
  readonly recordSize: number;
  readonly nodeCount: number;
  readonly ipVersion: number;
}

/**
 * Finds where the data of an address lies.
 *
 * @returns the record that the tree has for the address of four words, IPv4 in its mapped form: the same number means the same
 *   data. 0 when nothing is known of it.
 */
export type SearchTree = (a: number, b: number, c: number, d: number) => number;

/** So many bits of an IPv4 address are walked beforehand. */
const firstBits = 16;

/**
 * The search tree of the MaxMind DB File Format 2.0, read where it lies.
 *
 * @param bytes begin with the tree and hold all of it.
 * @returns undefined for a size of records that there is not.
 */
export function createSearchTree(
  bytes: Uint8Array,
  { recordSize, nodeCount, ipVersion }: TreeShape,
): SearchTree | undefined {
  if (recordSize !== 24 && recordSize !== 28 && recordSize !== 32) return undefined;
  const nodeBytes = recordSize / 4;

  const next = (node: number, bit: number): number => {
    const at = node * nodeBytes;
    if (recordSize === 24) return read24(bytes, at + 3 * bit);
    if (recordSize === 32) return read24(bytes, at + 4 * bit) * 256 + (bytes[at + 4 * bit + 3] as number);
    const middle = bytes[at + 3] as number;
    return bit === 0 ? ((middle >>> 4) << 24) + read24(bytes, at) : ((middle & 15) << 24) + read24(bytes, at + 4);
  };

  /** Follows bits of a word from the highest of `count` on. */
  const walk = (from: number, word: number, count: number): number => {
    let node = from;
    for (let shift = count - 1; shift >= 0 && node < nodeCount; shift--) node = next(node, (word >>> shift) & 1);
    return node;
  };

  // IPv4 addresses lie below ::/96.
  const ipv4Start = ipVersion === 4 ? 0 : walk(walk(walk(0, 0, 32), 0, 32), 0, 32);
  const firsts = Uint32Array.from({ length: 1 << firstBits }, (_, word) => walk(ipv4Start, word, firstBits));

  return (a, b, c, d) => {
    let node: number;
    if (c === 0xffff && a === 0 && b === 0) node = walk(firsts[d >>> firstBits] as number, d, 32 - firstBits);
    else if (ipVersion === 4) return 0;
    else node = walk(walk(walk(walk(0, a, 32), b, 32), c, 32), d, 32);
    return node > nodeCount ? node : 0;
  };
}

function read24(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
}
