import type { Family } from "../../base/ip/index.ts";

/**
 * How the nodes of the tree of one family lie in the words of a heap. Keys are intervals, ordered as lists are; every
 * branch knows the least and the greatest last address of each of its children, so that a search passes by whatever holds
 * no answer:
 *
 *     children  10.0.0.0/8 … 10.9.0.0/16      10.9.1.0/24 … 10.40.0.7     172.16.0.0/12 … 192.0.2.9
 *     last      10.9.255.255 – 10.255.255.255  10.9.1.255 – 10.47.255.255  172.31.255.255 – 192.0.2.255
 *
 *     what covers 10.200.0.1?  into the first child (greatest last ≥ 10.200.0.1), past the second (greatest last is
 *     less), and no further than the third, which starts after it
 *
 * What a search costs is mostly waiting for memory. So what decides lies side by side at the start of a node, and what
 * is rarely asked for behind it:
 *
 *     word 0   size class, part, 1 for a leaf in bit 9, c in bits 10 and 11, 1 for last addresses in bit 12, n from bit 16
 *     word 1   how many nodes, snapshots and edits refer to it
 *     c words  with which all n first addresses begin; at least one word of them is left
 *     n words  the next word of the first addresses
 *
 *     a leaf   n half words: the length of the prefix that first and last address have in common (bits 0 to 7); the link,
 *              1 + the place of the nearest item before this one that reaches its first address, 0 for none (bits 8 to 15)
 *              n rows: the item, the further words of the first address
 *              n rows, unless all keys are as large as those prefixes: the last address
 *     a branch n rows: the item, the greatest last below it, how far the children before it reach; both in the word of
 *              address that is next after the c, the highest there is when the c are others
 *              n rows: the further words of the first address, the greatest last below, the least last below
 *
 * An item of a branch is a node. An item of a leaf is an entry's block, with the rank of its kind of key in the two lowest bits.
 * The 32-bit words of an address have their highest bit flipped: compared as signed numbers, which need no memory of their own in
 * JavaScript, they then have the order of addresses.
 */
export interface NodeLayout {
  readonly family: Family;
  /** Words of an address. */
  readonly width: 1 | 4;
  /** Words of an item that was taken out of a leaf ({@link NodeItems}): first and last address, item. */
  readonly leafStride: number;
  /** Of a branch: the same, the last one being the greatest below, and the least last address below. */
  readonly branchStride: number;
}

export const layouts: Readonly<Record<Family, NodeLayout>> = {
  4: { family: 4, width: 1, leafStride: 3, branchStride: 4 },
  6: { family: 6, width: 4, leafStride: 9, branchStride: 13 },
};

export const headWords = 2;
export const leafBit = 0x200;
export const commonShift = 10;
export const lastsBit = 0x1000;
/** Most items of a leaf and of a branch. Every node but the root has at least a quarter of it. */
export const maxLeafItems = 24;
export const maxBranchItems = 48;
/** More than a tree of 2^31 entries has. */
export const maxLevels = 12;
/** What precedes the further words in a row of a leaf, and all of the first rows of a branch. */
export const leafRowHead = 1;
export const branchRow = 3;

export function isLeaf(words: Int32Array, node: number): boolean {
  return ((words[node] as number) & leafBit) !== 0;
}

export function itemCount(words: Int32Array, node: number): number {
  return (words[node] as number) >>> 16;
}

/** With how many equal words the first addresses of a node begin. */
export function commonWords(head: number): number {
  return (head >>> commonShift) & 3;
}

/** Words of what a leaf says of each item: the length of its prefix in bits 0 to 7, its link from bit 8. */
export function infoWords(count: number): number {
  return (count + 1) >>> 1;
}

/** Words of a row that holds an item. */
export function rowWords({ width }: NodeLayout, head: number): number {
  return (head & leafBit) === 0 ? branchRow : leafRowHead + width - 1 - commonWords(head);
}

/** Index of the first word of the rows that hold the items. */
export function rowsOf(words: Int32Array, node: number): number {
  const head = words[node] as number;
  const count = head >>> 16;
  return node + headWords + commonWords(head) + count + ((head & leafBit) === 0 ? 0 : infoWords(count));
}

export function itemAt(words: Int32Array, layout: NodeLayout, node: number, i: number): number {
  return words[rowsOf(words, node) + i * rowWords(layout, words[node] as number)] as number;
}

/** Words of the second rows of a branch. */
export function boundsWords({ width }: NodeLayout, head: number): number {
  return 3 * width - 1 - commonWords(head);
}

export function nodeWords(layout: NodeLayout, head: number): number {
  const count = head >>> 16;
  const columns = headWords + commonWords(head) + count;
  if ((head & leafBit) === 0) return columns + count * (branchRow + boundsWords(layout, head));
  const lasts = (head & lastsBit) === 0 ? 0 : layout.width;
  return columns + infoWords(count) + count * (rowWords(layout, head) + lasts);
}

export function retain(words: Int32Array, block: number): void {
  (words[block + 1] as number)++;
}

/** The block of an entry that an item of a leaf stands for. */
export function blockOf(item: number): number {
  return item & ~3;
}
