import type { Family } from "../../ip/index.ts";

/**
 * How the nodes of the tree of one family lie in the words of a heap. Keys are intervals, ordered as lists are; every
 * node knows the least and the greatest last address of each of its children, so that a search passes by whatever holds
 * no answer:
 *
 *     children  10.0.0.0/8 … 10.9.0.0/16      10.9.1.0/24 … 10.40.0.7     172.16.0.0/12 … 192.0.2.9
 *     last      10.9.255.255 – 10.255.255.255  10.9.1.255 – 10.47.255.255  172.31.255.255 – 192.0.2.255
 *
 *     what covers 10.200.0.1?  into the first child (greatest last ≥ 10.200.0.1), past the second (greatest last is
 *     less), and no further than the third, which starts after it
 *
 * A node of n items, in columns of n words, so that a search reads few lines of the processor's cache:
 *
 *     word 0   size class, part, 1 for a leaf in bit 9, n from bit 16
 *     word 1   how many nodes, snapshots and edits refer to it
 *     then     columns: the highest words of the first address and of the last (in a branch the greatest last), the item;
 *              of IPv6 the second words of first and last, the third, the fourth; in a branch the least last address
 *
 * Most questions are answered by the highest words, and so by lines that lie side by side.
 *
 * An item of a branch is a node. An item of a leaf is an entry's block, with the rank of its kind of key in the two lowest bits.
 * The words of addresses have their highest bit flipped: compared as signed numbers, which need no memory of their own in
 * JavaScript, they then have the order of addresses.
 */
export interface NodeLayout {
  readonly family: Family;
  /** Words of an address. */
  readonly width: 1 | 4;
  /** Words of an item of a leaf: the same columns without the last ones. */
  readonly leafStride: number;
  readonly branchStride: number;
  /** In which columns the words of a row go: first address, last, item, least last. */
  readonly columns: readonly number[];
}

export const layouts: Readonly<Record<Family, NodeLayout>> = {
  4: { family: 4, width: 1, leafStride: 3, branchStride: 4, columns: [0, 1, 2, 3] },
  6: { family: 6, width: 4, leafStride: 9, branchStride: 13, columns: [0, 3, 5, 7, 1, 4, 6, 8, 2, 9, 10, 11, 12] },
};

export const headWords = 2;
export const leafBit = 0x200;
/** Most items of a leaf and of a branch. Every node but the root has at least a quarter of it. */
export const maxLeafItems = 24;
export const maxBranchItems = 24;
/** More than a tree of 2^31 entries has. */
export const maxLevels = 12;

export function isLeaf(words: Int32Array, node: number): boolean {
  return ((words[node] as number) & leafBit) !== 0;
}

export function itemCount(words: Int32Array, node: number): number {
  return (words[node] as number) >>> 16;
}

/** Index of the word of the first item; the others follow. */
export function itemColumn(words: Int32Array, node: number): number {
  return node + headWords + 2 * itemCount(words, node);
}

/** The column of a word of first addresses. */
export function firstColumn(word: number): number {
  return word === 0 ? 0 : 2 * word + 1;
}

/** The column of a word of last addresses, which in a branch are the greatest below. */
export function lastColumn(word: number): number {
  return word === 0 ? 1 : 2 * word + 2;
}

/** The column of a word of the least last addresses below. */
export function leastColumn(word: number, { width }: NodeLayout): number {
  return 2 * width + 1 + word;
}

export function retain(words: Int32Array, block: number): void {
  (words[block + 1] as number)++;
}

/** The block of an entry that an item of a leaf stands for. */
export function blockOf(item: number): number {
  return item & ~3;
}
