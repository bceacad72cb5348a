import { writtenWord } from "./entry-block.ts";
import type { KeyWords } from "./key-words.ts";
import { blockOf, isLeaf, itemAt, itemCount, type NodeLayout } from "./node-layout.ts";
import { compareFirst, compareLast } from "./node-words.ts";

/** The item of the entry with this key; 0 when there is none. @param root 0 for an empty tree. */
export function findKey(words: Int32Array, layout: NodeLayout, root: number, key: KeyWords): number {
  let node = root;
  if (node === 0) return 0;
  while (!isLeaf(words, node)) node = itemAt(words, layout, node, childFor(words, layout, node, key));
  const i = placeInLeaf(words, layout, node, key);
  if (i === itemCount(words, node) || compareLeafItem(words, layout, node, i, key) !== 0) return 0;
  return itemAt(words, layout, node, i);
}

/** The last child that starts at or before the key, else the first. */
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

/** Where the key is in a leaf, or would be put. */
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

/** The order of lists, {@link compareKeys}. */
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

/** Compares the first key below a child; the child itself knows only where that starts. */
function compareChild(words: Int32Array, layout: NodeLayout, node: number, i: number, key: KeyWords): number {
  const first = compareFirst(words, layout, node, i, key.first);
  if (first !== 0) return first;
  let child = itemAt(words, layout, node, i);
  while (!isLeaf(words, child)) child = itemAt(words, layout, child, 0);
  return compareLeafItem(words, layout, child, 0, key);
}
