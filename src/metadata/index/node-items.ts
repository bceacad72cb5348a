import { treePart, type Heap } from "./heap.ts";
import {
  blockOf,
  boundsWords,
  branchRow,
  commonShift,
  commonWords,
  headWords,
  lastsBit,
  leafBit,
  infoWords,
  maxBranchItems,
  maxLeafItems,
  nodeWords,
  retain,
  rowsOf,
  rowWords,
  type NodeLayout,
  furtherWords,
  lastWords,
  prefixLength,
  withHosts,
} from "./tree-nodes.ts";

/**
 * The items of one or several adjacent nodes in a form for changes. Each has the words of the first and the
 * last address, the item, and in a branch the words of the least last address. This object has one reference to each item.
 */
export class NodeItems {
  readonly layout: NodeLayout;
  isLeaf = true;
  count = 0;
  /** The words of one item. */
  stride = 0;
  readonly words: Int32Array;
  /** The prefix length of each item of a leaf that is being made. */
  readonly lengths = new Uint8Array(maxLeafItems);
  readonly links = new Uint8Array(maxLeafItems);

  constructor(layout: NodeLayout) {
    this.layout = layout;
    this.words = new Int32Array(mostItems * layout.branchStride);
  }

  clear(asLeaf: boolean): void {
    this.isLeaf = asLeaf;
    this.count = 0;
    this.stride = asLeaf ? this.layout.leafStride : this.layout.branchStride;
  }
}

/** Room for the items of two nodes and one more. */
const mostItems = 2 * Math.max(maxLeafItems, maxBranchItems) + 1;
const highest = 0x7fff_ffff;
const lowest = -0x8000_0000;

/** Appends the items of a node and releases the caller's reference to it. A node without other references is freed. */
export function takeNode(heap: Heap, layout: NodeLayout, node: number, items: NodeItems): void {
  const { words } = heap;
  const { width } = layout;
  const { words: to, stride } = items;
  const head = words[node] as number;
  const count = head >>> 16;
  const leaf = (head & leafBit) !== 0;
  const common = commonWords(head);
  const column = node + headWords + common;
  const rows = rowsOf(words, node);
  const rowSize = rowWords(layout, head);
  const further = furtherWords(words, layout, node, 0);
  const furtherSize = leaf ? rowSize : boundsWords(layout, head);
  for (let i = 0; i < count; i++) {
    const at = (items.count + i) * stride;
    let from = further + i * furtherSize;
    for (let w = 0; w < common; w++) to[at + w] = words[node + headWords + w] as number;
    to[at + common] = words[column + i] as number;
    for (let w = common + 1; w < width; w++) to[at + w] = words[from++] as number;
    to[at + 2 * width] = words[rows + i * rowSize] as number;
    if (leaf) continue;
    for (let w = 0; w < width; w++) {
      to[at + width + w] = words[from + w] as number;
      to[at + 2 * width + 1 + w] = words[from + width + w] as number;
    }
  }
  if (leaf) takeLasts(words, layout, node, items);
  if (words[node + 1] === 1) {
    heap.free(node);
  } else {
    (words[node + 1] as number)--;
    for (let i = 0; i < count; i++) {
      const item = to[(items.count + i) * stride + 2 * width] as number;
      retain(words, leaf ? blockOf(item) : item);
    }
  }
  items.count += count;
}

function takeLasts(words: Int32Array, layout: NodeLayout, node: number, items: NodeItems): void {
  const { width } = layout;
  const { words: to, stride } = items;
  const head = words[node] as number;
  const count = head >>> 16;
  const lasts = (head & lastsBit) === 0 ? 0 : lastWords(words, layout, node, 0);
  for (let i = 0; i < count; i++) {
    const at = (items.count + i) * stride;
    if (lasts !== 0) {
      for (let w = 0; w < width; w++) to[at + width + w] = words[lasts + i * width + w] as number;
      continue;
    }
    const length = prefixLength(words, node, i);
    for (let w = 0; w < width; w++) to[at + width + w] = withHosts(to[at + w] as number, length - 32 * w);
  }
}

/**
 * Writes a node of the items `from` to before `to`, with one reference to it. The references to its items move to the node.
 *
 * @param into receives the item of the node in its parent, from `at` on.
 */
export function writeNode(
  heap: Heap,
  items: NodeItems,
  from: number,
  to: number,
  into: Int32Array,
  at: number,
): number {
  const { words } = heap;
  const { words: given, stride, layout } = items;
  const common = commonOf(items, from, to);
  const hasLasts = items.isLeaf && !measureItems(items, from, to);
  const head = (items.isLeaf ? leafBit : 0) | (common << commonShift) | (hasLasts ? lastsBit : 0) | ((to - from) << 16);
  const node = heap.allocate(nodeWords(layout, head), treePart);
  (words[node] as number) |= head;
  words[node + 1] = 1;
  const column = node + headWords + common;
  for (let w = 0; w < common; w++) words[node + headWords + w] = given[from * stride + w] as number;
  for (let i = from; i < to; i++) words[column + i - from] = given[i * stride + common] as number;
  if (items.isLeaf) writeLeafRows(words, node, items, from, common, hasLasts);
  else writeBranchRows(words, node, items, from, common);
  sumUp(items, from, to, node, into, at);
  return node;
}

/** Returns the number of equal words with which the first addresses begin, which is never all words. The items are in order. */
function commonOf({ words, stride, layout: { width } }: NodeItems, from: number, to: number): number {
  let common = 0;
  while (common < width - 1 && words[from * stride + common] === words[(to - 1) * stride + common]) common++;
  return common;
}

/**
 * Computes the lengths of the common prefixes of first and last addresses, and the links.
 *
 * @returns true where all keys are as large as those prefixes.
 */
function measureItems(items: NodeItems, from: number, to: number): boolean {
  const { words, stride, lengths, links } = items;
  const { width } = items.layout;
  let areAllPrefixes = true;
  for (let i = 0; i < to - from; i++) {
    const first = (from + i) * stride;
    const last = first + width;
    let w = 0;
    while (w < width && words[first + w] === words[last + w]) w++;
    lengths[i] = 32 * w;
    if (w < width) {
      const hosts = (words[first + w] as number) ^ (words[last + w] as number);
      lengths[i] = 32 * w + Math.clz32(hosts);
      // The host bits must be ones down to the lowest bit, and all of them zero in the first address.
      if ((hosts & (hosts + 1)) !== 0 || (((words[first + w] as number) ^ lowest) & hosts) !== 0)
        areAllPrefixes = false;
      for (w++; w < width; w++) if (words[first + w] !== lowest || words[last + w] !== highest) areAllPrefixes = false;
    }
    // An address range that does not reach the item before this one does not reach this one.
    let link = i;
    while (link !== 0) {
      const before = (from + link - 1) * stride + width;
      w = 0;
      while (w < width - 1 && words[before + w] === words[first + w]) w++;
      if ((words[before + w] as number) >= (words[first + w] as number)) break;
      link = links[link - 1] as number;
    }
    links[i] = link;
  }
  return areAllPrefixes;
}

function writeLeafRows(
  words: Int32Array,
  node: number,
  items: NodeItems,
  from: number,
  common: number,
  hasLasts: boolean,
): void {
  const { words: given, stride, lengths, links, layout } = items;
  const { width } = layout;
  const head = words[node] as number;
  const count = head >>> 16;
  const rows = rowsOf(words, node);
  const infos = rows - infoWords(count);
  const rowSize = rowWords(layout, head);
  const lasts = rows + count * rowSize;
  words[rows - 1] = 0;
  for (let i = 0; i < count; i++) {
    const at = (from + i) * stride;
    const info = (lengths[i] as number) | ((links[i] as number) << 8);
    if ((i & 1) === 0) words[infos + (i >>> 1)] = info;
    else (words[infos + (i >>> 1)] as number) |= info << 16;
    let to = rows + i * rowSize;
    words[to++] = given[at + 2 * width] as number;
    for (let w = common + 1; w < width; w++) words[to++] = given[at + w] as number;
    if (!hasLasts) continue;
    for (let w = 0; w < width; w++) words[lasts + i * width + w] = given[at + width + w] as number;
  }
}

function writeBranchRows(words: Int32Array, node: number, items: NodeItems, from: number, common: number): void {
  const { words: given, stride, layout } = items;
  const { width } = layout;
  const head = words[node] as number;
  const count = head >>> 16;
  const rows = rowsOf(words, node);
  let to = rows + count * branchRow;
  let reach = lowest;
  for (let i = 0; i < count; i++) {
    const at = (from + i) * stride;
    let w = 0;
    while (w < common && given[at + width + w] === given[from * stride + w]) w++;
    const greatest = w === common ? (given[at + width + w] as number) : highest;
    const row = rows + i * branchRow;
    words[row] = given[at + 2 * width] as number;
    words[row + 1] = greatest;
    words[row + 2] = reach;
    if (greatest > reach) reach = greatest;
    for (w = common + 1; w < width; w++) words[to++] = given[at + w] as number;
    for (w = 0; w < width; w++) words[to++] = given[at + width + w] as number;
    for (w = 0; w < width; w++) words[to++] = given[at + 2 * width + 1 + w] as number;
  }
}

/** Writes the item of the parent for a node of these items. */
function sumUp(items: NodeItems, from: number, to: number, node: number, into: Int32Array, at: number): void {
  const { words, stride } = items;
  const { width } = items.layout;
  const least = items.isLeaf ? width : 2 * width + 1;
  let greatestOne = from * stride + width;
  let leastOne = from * stride + least;
  for (let i = from + 1; i < to; i++) {
    if (isLess(words, greatestOne, i * stride + width, width)) greatestOne = i * stride + width;
    if (isLess(words, i * stride + least, leastOne, width)) leastOne = i * stride + least;
  }
  for (let w = 0; w < width; w++) {
    into[at + w] = words[from * stride + w] as number;
    into[at + width + w] = words[greatestOne + w] as number;
    into[at + 2 * width + 1 + w] = words[leastOne + w] as number;
  }
  into[at + 2 * width] = node;
}

function isLess(words: Int32Array, one: number, other: number, width: number): boolean {
  let w = 0;
  while (w < width - 1 && words[one + w] === words[other + w]) w++;
  return (words[one + w] as number) < (words[other + w] as number);
}

/** Opens a gap of `added` items in place of `removed`. */
export function spliceItems(items: NodeItems, at: number, removed: number, added: number): void {
  const { words, stride, count } = items;
  words.copyWithin((at + added) * stride, (at + removed) * stride, count * stride);
  items.count += added - removed;
}
