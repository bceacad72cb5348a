import {
  boundsWords,
  branchRow,
  commonWords,
  headWords,
  lastsBit,
  leafBit,
  leafRowHead,
  rowsOf,
  rowWords,
  type NodeLayout,
} from "./node-layout.ts";

// The addresses in a node, word by word. What runs for every address of a flow does without this: find-covering.ts.

const flip = 0x8000_0000;

/** A word of a first address with all bits set that are behind the first ones: that of the last address of the prefix. */
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
export function compareLast(words: Int32Array, layout: NodeLayout, node: number, i: number, other: Int32Array): number {
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
export function compareLeast(
  words: Int32Array,
  layout: NodeLayout,
  node: number,
  i: number,
  other: Int32Array,
): number {
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

/** Length of the prefix that first and last address of an item of a leaf have in common. */
export function prefixLength(words: Int32Array, node: number, i: number): number {
  const head = words[node] as number;
  const infos = node + headWords + commonWords(head) + (head >>> 16);
  return ((words[infos + (i >>> 1)] as number) >>> ((i & 1) << 4)) & 255;
}

/** Where the words of a first address are that come after the one in the column. */
export function furtherWords(words: Int32Array, layout: NodeLayout, node: number, i: number): number {
  const head = words[node] as number;
  const rows = rowsOf(words, node);
  if ((head & leafBit) !== 0) return rows + i * rowWords(layout, head) + leafRowHead;
  return rows + (head >>> 16) * branchRow + i * boundsWords(layout, head);
}

/** Where a row of last addresses of a leaf is. */
export function lastWords(words: Int32Array, layout: NodeLayout, node: number, i: number): number {
  const head = words[node] as number;
  return rowsOf(words, node) + (head >>> 16) * rowWords(layout, head) + i * layout.width;
}

/** Where the greatest last address below an item of a branch is; the least one follows. */
export function greatestWords(words: Int32Array, layout: NodeLayout, node: number, i: number): number {
  return furtherWords(words, layout, node, i) + layout.width - 1 - commonWords(words[node] as number);
}
