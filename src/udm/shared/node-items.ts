import { treePart, type Heap } from "./heap.ts";
import {
  firstColumn,
  headWords,
  isLeaf,
  itemColumn,
  itemCount,
  lastColumn,
  leafBit,
  leastColumn,
  type NodeLayout,
} from "./node-layout.ts";
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
  readonly layout: NodeLayout;
  readonly words: Int32Array;
}

/** Room for the items of two nodes and one more. */
const mostItems = 100;

export function createNodeItems(layout: NodeLayout): NodeItems {
  return { isLeaf: true, count: 0, stride: 0, layout, words: new Int32Array(mostItems * layout.branchStride) };
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
    for (let c = 0; c < stride; c++) {
      items.words[at + c] = words[columns + (layout.columns[c] as number) * count + i] as number;
    }
  }
  items.count += count;
  if (words[node + 1] === 1) {
    heap.free(node);
    return;
  }
  (words[node + 1] as number)--;
  const column = itemColumn(words, node);
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
    const column = columns + (items.layout.columns[c] as number) * count;
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
  layout: NodeLayout,
  node: number,
  items: NodeItems,
  at: number,
): void {
  const { words, stride } = items;
  const { width } = layout;
  const count = itemCount(heapWords, node);
  const columns = node + headWords;
  const leastOf = isLeaf(heapWords, node) ? lastColumn : (w: number): number => leastColumn(w, layout);
  const to = at * stride;
  const greatest = extreme(heapWords, columns, count, width, lastColumn, true);
  const least = extreme(heapWords, columns, count, width, leastOf, false);
  for (let w = 0; w < width; w++) {
    words[to + w] = heapWords[columns + firstColumn(w) * count] as number;
    words[to + width + w] = heapWords[columns + lastColumn(w) * count + greatest] as number;
    words[to + 2 * width + 1 + w] = heapWords[columns + leastOf(w) * count + least] as number;
  }
  words[to + 2 * width] = node;
}

/** Place of the greatest or least address in some columns. */
function extreme(
  words: Int32Array,
  columns: number,
  count: number,
  width: number,
  columnOf: (word: number) => number,
  greatest: boolean,
): number {
  let best = 0;
  for (let i = 1; i < count; i++) {
    for (let w = 0; w < width; w++) {
      const column = columns + columnOf(w) * count;
      const a = words[column + i] as number;
      const b = words[column + best] as number;
      if (a === b) continue;
      if (a > b === greatest) best = i;
      break;
    }
  }
  return best;
}
