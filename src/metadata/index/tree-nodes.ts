import type { Family } from "../../base/ip/index.ts";
import { writtenWord } from "./entry-block.ts";
import type { KeyWords } from "./key-limbs.ts";

/**
 * The layout in a heap of the tree nodes of one address family. Keys are intervals in list order. Every
 * branch stores the least and the greatest last address of each child, so that a search skips children without
 * an answer:
 *
 *     children  10.0.0.0/8 … 10.9.0.0/16      10.9.1.0/24 … 10.40.0.7     172.16.0.0/12 … 192.0.2.9
 *     last      10.9.255.255 – 10.255.255.255  10.9.1.255 – 10.47.255.255  172.31.255.255 – 192.0.2.255
 *
 *     A search for 10.200.0.1 enters the first child (greatest last ≥ 10.200.0.1), skips the second (greatest last is
 *     less), and ends at the third, which starts after it.
 *
 * A search mostly waits for memory. So the words that it always needs are together at the start of a node, and the rarely
 * needed ones follow:
 *
 *     word 0   size class, part, 1 for a leaf in bit 9, c in bits 10 and 11, 1 for last addresses in bit 12, n from bit 16
 *     word 1   the number of nodes, snapshots and edits that refer to it
 *     c words  the common beginning of all n first addresses; at least one word of each is left
 *     n words  the next word of the first addresses
 *
 *     a leaf   n half words: the length of the prefix that first and last address have in common (bits 0 to 7); the link,
 *              1 + the position of the nearest item before this one that reaches its first address, 0 for none (bits 8 to 15)
 *              n rows: the item, the further words of the first address
 *              n rows, unless all keys are as large as those prefixes: the last address
 *     a branch n rows: the item, the greatest last below it, how far the children before it reach; both in the word of
 *              address that is next after the c, the highest there is when the c are others
 *              n rows: the further words of the first address, the greatest last below, the least last below
 *
 * An item of a branch is a node. An item of a leaf is an entry's block, with the rank of its kind of key in the two lowest bits.
 * The 32-bit words of an address have their highest bit flipped. Compared as signed numbers, which JavaScript stores without
 * allocation, they have the order of addresses.
 */
export interface NodeLayout {
  readonly family: Family;
  /** Words of an address. */
  readonly width: 1 | 4;
  /** Words of an item taken from a leaf ({@link NodeItems}): first and last address, item. */
  readonly leafStride: number;
  /** Words of an item taken from a branch: first address, greatest last address below, item, least last address below. */
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
/** The most items of a leaf and of a branch. Every node but the root has at least a quarter of that. */
export const maxLeafItems = 24;
export const maxBranchItems = 48;
/** The most levels, more than a tree of 2^31 entries has. */
export const maxLevels = 12;
/** Words that precede the further words in a row of a leaf, and all of the first rows of a branch. */
export const leafRowHead = 1;
export const branchRow = 3;

export function isLeaf(words: Int32Array, node: number): boolean {
  return ((words[node] as number) & leafBit) !== 0;
}

export function itemCount(words: Int32Array, node: number): number {
  return (words[node] as number) >>> 16;
}

/** Returns the number of equal words with which the first addresses of a node begin. */
export function commonWords(head: number): number {
  return (head >>> commonShift) & 3;
}

/** Returns the words that a leaf uses for prefix lengths (bits 0 to 7) and links (from bit 8) of its items. */
export function infoWords(count: number): number {
  return (count + 1) >>> 1;
}

/** Returns the words of a row with an item. */
export function rowWords({ width }: NodeLayout, head: number): number {
  return (head & leafBit) === 0 ? branchRow : leafRowHead + width - 1 - commonWords(head);
}

/** Returns the index of the first word of the rows with the items. */
export function rowsOf(words: Int32Array, node: number): number {
  const head = words[node] as number;
  const count = head >>> 16;
  return node + headWords + commonWords(head) + count + ((head & leafBit) === 0 ? 0 : infoWords(count));
}

export function itemAt(words: Int32Array, layout: NodeLayout, node: number, i: number): number {
  return words[rowsOf(words, node) + i * rowWords(layout, words[node] as number)] as number;
}

/** Returns the words of a second row of a branch. */
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

/** Returns the entry's block for an item of a leaf. */
export function blockOf(item: number): number {
  return item & ~3;
}

// These functions read addresses in a node word by word. Code that runs for every address of a flow does not use them.

const flip = 0x8000_0000;

/** Returns a word of a first address with all bits after the first `bits` set, which is the word of the prefix's last address. */
export function withHosts(word: number, bits: number): number {
  if (bits >= 32) return word;
  return ((word ^ flip) | (bits <= 0 ? -1 : -1 >>> bits)) ^ flip;
}

/** Compares the first address of an item with another. */
export function compareFirst(
  words: Int32Array,
  layout: NodeLayout,
  node: number,
  i: number,
  other: Int32Array,
): number {
  const common = commonWords(words[node] as number);
  const start = node + headWords;
  for (let w = 0; w <= common; w++) {
    const a = words[w === common ? start + w + i : start + w] as number;
    const b = other[w] as number;
    if (a !== b) return a < b ? -1 : 1;
  }
  if (common + 1 === layout.width) return 0;
  const further = furtherWords(words, layout, node, i) - common - 1;
  for (let w = common + 1; w < layout.width; w++) {
    const a = words[further + w] as number;
    const b = other[w] as number;
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

/** Compares the last address of an item, in a branch the greatest below it, with another. */
function compareLast(words: Int32Array, layout: NodeLayout, node: number, i: number, other: Int32Array): number {
  const head = words[node] as number;
  if ((head & leafBit) === 0) return compareRow(words, greatestWords(words, layout, node, i), layout, other);
  if ((head & lastsBit) !== 0) return compareRow(words, lastWords(words, layout, node, i), layout, other);
  const common = commonWords(head);
  const length = prefixLength(words, node, i);
  const start = node + headWords;
  const further = furtherWords(words, layout, node, i) - common - 1;
  for (let w = 0; w < layout.width; w++) {
    const at = w > common ? further + w : w === common ? start + w + i : start + w;
    const a = withHosts(words[at] as number, length - 32 * w);
    const b = other[w] as number;
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

/** Compares the least last address below an item of a branch with another. */
function compareLeast(words: Int32Array, layout: NodeLayout, node: number, i: number, other: Int32Array): number {
  return compareRow(words, greatestWords(words, layout, node, i) + layout.width, layout, other);
}

function compareRow(words: Int32Array, at: number, { width }: NodeLayout, other: Int32Array): number {
  for (let w = 0; w < width; w++) {
    const a = words[at + w] as number;
    const b = other[w] as number;
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

/** Returns the length of the common prefix of the first and last address of an item of a leaf. */
export function prefixLength(words: Int32Array, node: number, i: number): number {
  const head = words[node] as number;
  const infos = node + headWords + commonWords(head) + (head >>> 16);
  return ((words[infos + (i >>> 1)] as number) >>> ((i & 1) << 4)) & 255;
}

/** Returns the offset of the words of a first address that come after the one in the column. */
export function furtherWords(words: Int32Array, layout: NodeLayout, node: number, i: number): number {
  const head = words[node] as number;
  const rows = rowsOf(words, node);
  if ((head & leafBit) !== 0) return rows + i * rowWords(layout, head) + leafRowHead;
  return rows + (head >>> 16) * branchRow + i * boundsWords(layout, head);
}

/** Returns the offset of a row of last addresses of a leaf. */
export function lastWords(words: Int32Array, layout: NodeLayout, node: number, i: number): number {
  const head = words[node] as number;
  return rowsOf(words, node) + (head >>> 16) * rowWords(layout, head) + i * layout.width;
}

/** Returns the offset of the greatest last address below an item of a branch; the least one follows. */
export function greatestWords(words: Int32Array, layout: NodeLayout, node: number, i: number): number {
  return furtherWords(words, layout, node, i) + layout.width - 1 - commonWords(words[node] as number);
}

/** Returns the item of the entry with this key; 0 where there is none. @param root 0 for an empty tree. */
export function findKey(words: Int32Array, layout: NodeLayout, root: number, key: KeyWords): number {
  let node = root;
  if (node === 0) return 0;
  while (!isLeaf(words, node)) node = itemAt(words, layout, node, childFor(words, layout, node, key));
  const i = placeInLeaf(words, layout, node, key);
  if (i === itemCount(words, node) || compareLeafItem(words, layout, node, i, key) !== 0) return 0;
  return itemAt(words, layout, node, i);
}

/** Returns the last child that starts at or before the key, or the first child. */
export function childFor(words: Int32Array, layout: NodeLayout, node: number, key: KeyWords): number {
  let low = 0;
  let high = itemCount(words, node) - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (compareChild(words, layout, node, middle, key) <= 0) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Returns the position of the key in a leaf, or its place if it is not there. */
export function placeInLeaf(words: Int32Array, layout: NodeLayout, node: number, key: KeyWords): number {
  let low = 0;
  let high = itemCount(words, node);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareLeafItem(words, layout, node, middle, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Compares an item of a leaf with a key in list order ({@link compareKeys}). */
export function compareLeafItem(words: Int32Array, layout: NodeLayout, node: number, i: number, key: KeyWords): number {
  const first = compareFirst(words, layout, node, i, key.first);
  if (first !== 0) return first;
  const last = compareLast(words, layout, node, i, key.last);
  if (last !== 0) return -last;
  const item = itemAt(words, layout, node, i);
  if ((item & 3) !== key.rank) return (item & 3) - key.rank;
  for (let w = 0; w < layout.width; w++) {
    const word = words[blockOf(item) + writtenWord + w] as number;
    const other = key.written[w] as number;
    if (word !== other) return word < other ? -1 : 1;
  }
  return 0;
}

/** Compares the first key below a child. The branch has only the first address of that key. */
function compareChild(words: Int32Array, layout: NodeLayout, node: number, i: number, key: KeyWords): number {
  const first = compareFirst(words, layout, node, i, key.first);
  if (first !== 0) return first;
  let child = itemAt(words, layout, node, i);
  while (!isLeaf(words, child)) child = itemAt(words, layout, child, 0);
  return compareLeafItem(words, layout, child, 0, key);
}

/** Reads the entries of one tree in list order, some at a time. The tree must not be released meanwhile. */
export class TreeCursor {
  readonly #words: Int32Array;
  readonly #layout: NodeLayout;
  readonly #bounds: Bounds | undefined;
  // The path from the root down, and the next position in each of its nodes.
  readonly #nodes: number[];
  readonly #places: number[];
  #level: number;
  /** The level from which everything lies within the bounds. */
  #wholeFrom: number;

  /** @param bounds undefined for all entries. */
  constructor(words: Int32Array, layout: NodeLayout, root: number, bounds?: Bounds) {
    this.#words = words;
    this.#layout = layout;
    this.#bounds = bounds;
    this.#nodes = [root];
    this.#places = [root === 0 || bounds === undefined ? 0 : startIn(words, layout, root, bounds.first)];
    this.#level = root === 0 ? -1 : 0;
    this.#wholeFrom = bounds === undefined ? 0 : maxLevels;
  }

  /**
   * Writes the next items into `out`.
   *
   * @returns the number of items, which is less than the length of `out` only at the end.
   */
  next(out: Int32Array): number {
    let filled = 0;
    while (this.#level >= 0 && filled < out.length) {
      if (this.#level < this.#wholeFrom && this.#bounds !== undefined) this.#wholeFrom = maxLevels;
      const node = this.#nodes[this.#level] as number;
      if (isLeaf(this.#words, node)) filled = this.#takeLeaf(node, out, filled);
      else if (this.#places[this.#level] === itemCount(this.#words, node)) this.#level--;
      else this.#goDown(node);
    }
    return filled;
  }

  /** Returns the words of the last address of the bounds, where they matter on this level. */
  #end(): Int32Array | undefined {
    return this.#level >= this.#wholeFrom ? undefined : this.#bounds?.last;
  }

  #takeLeaf(node: number, out: Int32Array, from: number): number {
    const [words, layout, last, level] = [this.#words, this.#layout, this.#end(), this.#level];
    const count = itemCount(words, node);
    const row = rowWords(layout, words[node] as number);
    let filled = from;
    let i = this.#places[level] as number;
    for (let at = rowsOf(words, node) + i * row; i < count && filled < out.length; i++, at += row) {
      if (last !== undefined) {
        if (compareFirst(words, layout, node, i, last) > 0) {
          this.#level = -1;
          return filled;
        }
        if (compareLast(words, layout, node, i, last) > 0) continue;
      }
      out[filled++] = words[at] as number;
    }
    this.#places[level] = i;
    if (i === count) this.#level--;
    return filled;
  }

  #goDown(node: number): void {
    const [words, layout, last] = [this.#words, this.#layout, this.#end()];
    const i = this.#places[this.#level] as number;
    this.#places[this.#level] = i + 1;
    const child = itemAt(words, layout, node, i);
    let start = 0;
    if (this.#bounds !== undefined && last !== undefined) {
      if (compareFirst(words, layout, node, i, last) > 0) {
        this.#level = -1;
        return;
      }
      // All entries below this child end after the bounds.
      if (compareLeast(words, layout, node, i, last) > 0) return;
      const { first } = this.#bounds;
      const startsIn = compareFirst(words, layout, node, i, first) >= 0;
      if (startsIn && compareLast(words, layout, node, i, last) <= 0) this.#wholeFrom = this.#level + 1;
      if (!startsIn) start = startIn(words, layout, child, first);
    }
    this.#nodes[++this.#level] = child;
    this.#places[this.#level] = start;
  }
}

/** The bounds of the entries to read. Their first and last addresses lie within these words. */
type Bounds = Pick<KeyWords, "first" | "last">;

/** Finds the position of the first entry that starts at `first` or later. In a branch it is the child before one that starts so. */
function startIn(words: Int32Array, layout: NodeLayout, node: number, first: Int32Array): number {
  const head = words[node] as number;
  const common = commonWords(head);
  const column = node + headWords + common;
  const p = first[common] as number;
  let low = 0;
  let high = head >>> 16;
  for (let w = 0; w < common; w++) {
    const word = words[node + headWords + w] as number;
    if (word === first[w]) continue;
    if (word < (first[w] as number)) low = high;
    else high = low;
    break;
  }
  while (low < high) {
    const middle = (low + high) >> 1;
    const word = words[column + middle] as number;
    if (word < p || (word === p && compareFirst(words, layout, node, middle, first) < 0)) low = middle + 1;
    else high = middle;
  }
  return (head & leafBit) !== 0 ? low : Math.max(low - 1, 0);
}
