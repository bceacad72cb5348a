import { treePart, type Heap } from "./heap.ts";
import { headWords, isLeaf, itemColumn, itemCount, leafBit, type NodeLayout } from "./node-layout.ts";
import { retain } from "./node-layout.ts";

/**
 * The items of a node, or of some side by side, laid out one after the other to be changed. Whoever holds them holds one
 * reference to each item.
 */
export interface NodeItems {
  isLeaf: boolean;
  count: number;
  /** Words of one item. */
  stride: number;
  readonly words: Int32Array;
}

/** Room for the items of two nodes and one more. */
const mostItems = 100;

export function createNodeItems({ branchStride }: NodeLayout): NodeItems {
  return { isLeaf: true, count: 0, stride: 0, words: new Int32Array(mostItems * branchStride) };
}

export function clearItems(items: NodeItems, layout: NodeLayout, leaf: boolean): void {
  items.isLeaf = leaf;
  items.count = 0;
  items.stride = leaf ? layout.leafStride : layout.branchStride;
}

/** Appends the items of a node and gives up the caller's reference to it: a node that nobody else refers to is freed. */
export function takeNode(heap: Heap, layout: NodeLayout, node: number, items: NodeItems): void {
  const { words } = heap;
  const { stride } = items;
  const count = itemCount(words, node);
  const columns = node + headWords;
  for (let i = 0; i < count; i++) {
    const at = (items.count + i) * stride;
    for (let c = 0; c < stride; c++) items.words[at + c] = words[columns + c * count + i] as number;
  }
  items.count += count;
  if (words[node + 1] === 1) {
    heap.free(node);
    return;
  }
  (words[node + 1] as number)--;
  const column = itemColumn(words, node, layout);
  // The two lowest bits of a leaf's item are not of the block's number.
  for (let i = 0; i < count; i++) retain(words, (words[column + i] as number) & ~3);
}

/** A node of the items `from` to before `to`, with one reference to it; those to its items are now the node's. */
export function writeNode(heap: Heap, items: NodeItems, from: number, to: number): number {
  const { words } = heap;
  const { stride } = items;
  const count = to - from;
  const node = heap.allocate(headWords + count * stride, treePart);
  (words[node] as number) |= (items.isLeaf ? leafBit : 0) | (count << 16);
  words[node + 1] = 1;
  const columns = node + headWords;
  for (let c = 0; c < stride; c++) {
    const column = columns + c * count;
    for (let i = 0; i < count; i++) words[column + i] = items.words[(from + i) * stride + c] as number;
  }
  return node;
}

/** Opens a gap of `added` items in place of `removed`. */
export function spliceItems(items: NodeItems, at: number, removed: number, added: number): void {
  const { words, stride, count } = items;
  words.copyWithin((at + added) * stride, (at + removed) * stride, count * stride);
  items.count += added - removed;
}

/** Writes the item that stands for a node in its parent. */
export function setBranchItem(
  heapWords: Int32Array,
  { width }: NodeLayout,
  node: number,
  items: NodeItems,
  at: number,
): void {
  const { words, stride } = items;
  const count = itemCount(heapWords, node);
  const columns = node + headWords;
  const leastColumns = isLeaf(heapWords, node) ? columns + width * count : columns + (2 * width + 1) * count;
  const to = at * stride;
  const greatest = columns + width * count + extreme(heapWords, columns + width * count, count, width, true);
  const least = leastColumns + extreme(heapWords, leastColumns, count, width, false);
  for (let w = 0; w < width; w++) {
    words[to + w] = heapWords[columns + w * count] as number;
    words[to + width + w] = heapWords[greatest + w * count] as number;
    words[to + 2 * width + 1 + w] = heapWords[least + w * count] as number;
  }
  words[to + 2 * width] = node;
}

/** Place of the greatest or least address in some columns. */
function extreme(words: Int32Array, columns: number, count: number, width: number, greatest: boolean): number {
  let best = 0;
  for (let i = 1; i < count; i++) {
    for (let w = 0; w < width; w++) {
      const a = words[columns + w * count + i] as number;
      const b = words[columns + w * count + best] as number;
      if (a === b) continue;
      if (a > b === greatest) best = i;
      break;
    }
  }
  return best;
}
