import type { Heap } from "./heap.ts";
import { childFor, compareLeafItem, placeInLeaf } from "./find-key.ts";
import type { KeyWords } from "./key-words.ts";
import type { Releaser } from "./release-tree.ts";
import { clearItems, createNodeItems, spliceItems, takeNode, writeNode, type NodeItems } from "./node-items.ts";
import { compareFirst } from "./node-words.ts";
import { setChild, widenChild } from "./widen-branch.ts";
import { isLeaf, itemAt, itemCount, maxBranchItems, maxLeafItems, maxLevels, type NodeLayout } from "./node-layout.ts";

/** Most blocks that one change allocates, that of the entry included: two nodes a level, and the new root. */
export const allocationsOfChange = 2 * maxLevels + 2;

/**
 * Changes trees by new nodes from the root to the leaf; all other nodes are shared with the tree before. Branches that no other tree
 * has, because an earlier change of this edit made them, are changed where they are. Each call takes over the caller's reference to the
 * root and gives one to the root that it returns: to keep the tree before, retain its root.
 * Nodes that nobody else refers to are freed at once. The caller has made sure that there is room
 * ({@link allocationsOfChange}): a failure in the middle of a change could not be taken back.
 */
export interface TreeEditor {
  /** Adds an entry's item, or replaces that of the same key. @returns the new root. */
  put(root: number, key: KeyWords, item: number): number;
  /** Removes an entry that is there. @returns the new root; 0 for the empty tree. */
  remove(root: number, key: KeyWords): number;
}

export function createTreeEditor(heap: Heap, layout: NodeLayout, releaser: Releaser): TreeEditor {
  const { words } = heap;
  const { width } = layout;
  const levels: readonly NodeItems[] = Array.from({ length: maxLevels }, () => createNodeItems(layout));
  const joined = createNodeItems(layout);
  const { branchStride } = layout;
  /** Up to two items of a branch: the nodes that were made last. */
  const made = new Int32Array(2 * branchStride);
  let madeCount = 0;

  const pack = (items: NodeItems): void => {
    const { count } = items;
    const most = items.isLeaf ? maxLeafItems : maxBranchItems;
    madeCount = count <= most ? 1 : 2;
    const split = madeCount === 1 ? count : count >> 1;
    writeNode(heap, items, 0, split, made, 0);
    if (madeCount === 2) writeNode(heap, items, split, count, made, branchStride);
  };

  /** All in one node. */
  const packOne = (items: NodeItems): number => {
    madeCount = 1;
    return writeNode(heap, items, 0, items.count, made, 0);
  };

  const open = (level: number, node: number): NodeItems => {
    const items = levels[level] as NodeItems;
    clearItems(items, layout, isLeaf(words, node));
    takeNode(heap, layout, node, items);
    return items;
  };

  /** Puts what was made below in the place of `removed` children from `at` on. */
  const setChildren = (items: NodeItems, at: number, removed: number): void => {
    spliceItems(items, at, removed, madeCount);
    items.words.set(madeCount === 2 ? made : made.subarray(0, branchStride), at * branchStride);
  };

  /**
   * Puts an item below a node. Afterwards `made` has the nodes that take its place; none when it was changed where it is.
   *
   * @param isOurs whether each node above has one holder, so that nobody but this edit knows them.
   */
  const put = (level: number, node: number, key: KeyWords, item: number, isOurs: boolean): void => {
    if (isLeaf(words, node)) {
      const at = placeInLeaf(words, layout, node, key);
      const isThere = at < itemCount(words, node) && compareLeafItem(words, layout, node, at, key) === 0;
      const items = open(level, node);
      const to = at * items.stride;
      if (isThere) releaser.entry(items.words[to + 2 * width] as number);
      else spliceItems(items, at, 0, 1);
      for (let w = 0; w < width; w++) {
        items.words[to + w] = key.first[w] as number;
        items.words[to + width + w] = key.last[w] as number;
      }
      items.words[to + 2 * width] = item;
      pack(items);
      return;
    }
    const at = childFor(words, layout, node, key);
    if (isOurs && words[node + 1] === 1) {
      putBelow(level, node, at, key, item);
      return;
    }
    // This gives each child a further holder, so that none below is changed where it is.
    const items = open(level, node);
    put(level + 1, items.words[at * items.stride + 2 * width] as number, key, item, false);
    setChildren(items, at, 1);
    pack(items);
  };

  /** The same for a branch that only this edit knows: it is replaced only when one of its children is split, or starts earlier. */
  const putBelow = (level: number, node: number, at: number, key: KeyWords, item: number): void => {
    const startsEarlier = compareFirst(words, layout, node, at, key.first) > 0;
    put(level + 1, itemAt(words, layout, node, at), key, item, true);
    if (madeCount === 2 || startsEarlier) {
      const items = open(level, node);
      setChildren(items, at, 1);
      pack(items);
      return;
    }
    if (madeCount === 1) setChild(words, node, at, made[2 * width] as number);
    widenChild(words, layout, node, at, key.last);
    madeCount = 0;
  };

  /** Makes one node of the rest; 0 when there is none. */
  const remove = (level: number, node: number, key: KeyWords): number => {
    if (isLeaf(words, node)) {
      const at = placeInLeaf(words, layout, node, key);
      const items = open(level, node);
      releaser.entry(items.words[at * items.stride + 2 * width] as number);
      spliceItems(items, at, 1, 0);
      return items.count === 0 ? 0 : packOne(items);
    }
    const at = childFor(words, layout, node, key);
    const items = open(level, node);
    const { stride } = items;
    const child = remove(level + 1, items.words[at * stride + 2 * width] as number, key);
    if (itemCount(words, child) >= (isLeaf(words, child) ? maxLeafItems : maxBranchItems) / 4) {
      setChildren(items, at, 1);
    } else {
      // A child that has become small shares its items with its neighbour; a branch has at least two.
      const left = Math.max(at - 1, 0);
      const neighbour = items.words[(left < at ? left : at + 1) * stride + 2 * width] as number;
      clearItems(joined, layout, isLeaf(words, child));
      takeNode(heap, layout, left < at ? neighbour : child, joined);
      takeNode(heap, layout, left < at ? child : neighbour, joined);
      pack(joined);
      setChildren(items, left, 2);
    }
    return packOne(items);
  };

  return {
    put(root, key, item) {
      if (root === 0) {
        const items = levels[0] as NodeItems;
        clearItems(items, layout, true);
        items.count = 1;
        for (let w = 0; w < width; w++) {
          items.words[w] = key.first[w] as number;
          items.words[width + w] = key.last[w] as number;
        }
        items.words[2 * width] = item;
        return packOne(items);
      }
      put(1, root, key, item, true);
      if (madeCount === 0) return root;
      if (madeCount === 1) return made[2 * width] as number;
      const items = levels[0] as NodeItems;
      clearItems(items, layout, false);
      setChildren(items, 0, 0);
      return packOne(items);
    },

    remove(root, key) {
      let top = remove(1, root, key);
      while (top !== 0 && !isLeaf(words, top) && itemCount(words, top) === 1) {
        const only = itemAt(words, layout, top, 0);
        const items = levels[0] as NodeItems;
        clearItems(items, layout, false);
        takeNode(heap, layout, top, items);
        top = only;
      }
      return top;
    },
  };
}
