import { writtenWord } from "./entry-block.ts";
import type { Heap } from "./heap.ts";
import { slabBytes } from "./size-classes.ts";
import type { KeyWords } from "./key-words.ts";
import type { Releaser } from "./release-tree.ts";
import { clearItems, createNodeItems, writeNode } from "./node-items.ts";
import { blockOf, maxBranchItems, maxLeafItems, type NodeLayout } from "./node-layout.ts";

/** Makes a tree of many entries. */
export interface TreeBuilder {
  add(key: KeyWords, item: number): void;
  /** Puts what was added in list order. @returns the item of a key that is there twice, else 0. */
  sort(): number;
  /** Whether all were added in list order. */
  isInOrder(): boolean;
  /** The items in list order; after `sort`. */
  items(): Iterable<number>;
  /** How many slabs `finish` may need. */
  slabs(): number;
  /** To be called after `sort`. @returns the root; 0 when nothing was added. @throws HeapFullError */
  finish(): number;
  /** Gives up the items that were added. */
  drop(releaser: Releaser): void;
}

/** Items are kept in plain memory until all are there: only then is it known how to share them out to full nodes. */
export function createTreeBuilder(heap: Heap, layout: NodeLayout): TreeBuilder {
  const { width, leafStride, branchStride } = layout;
  let rows = new Int32Array(64 * leafStride);
  let count = 0;
  let isSorted = true;
  let isInOrder = true;

  /** The order of lists, {@link compareKeys}, of two rows. */
  const compareRows = (a: number, b: number): number => {
    const i = a * leafStride;
    const j = b * leafStride;
    for (let w = 0; w < width; w++) {
      const difference = (rows[i + w] as number) - (rows[j + w] as number);
      if (difference !== 0) return difference;
    }
    for (let w = width; w < 2 * width; w++) {
      const difference = (rows[j + w] as number) - (rows[i + w] as number);
      if (difference !== 0) return difference;
    }
    const [one, other] = [rows[i + 2 * width] as number, rows[j + 2 * width] as number];
    if ((one & 3) !== (other & 3)) return (one & 3) - (other & 3);
    const writtenOne = blockOf(one) + writtenWord;
    const writtenOther = blockOf(other) + writtenWord;
    for (let w = 0; w < width; w++) {
      const difference = (heap.words[writtenOne + w] as number) - (heap.words[writtenOther + w] as number);
      if (difference !== 0) return difference;
    }
    return 0;
  };

  /** Shares items out to full nodes. @returns the items of a branch that stand for these. */
  const buildNodes = (given: Int32Array, total: number, leaf: boolean): Int32Array => {
    const items = createNodeItems(layout);
    clearItems(items, layout, leaf);
    const { stride } = items;
    const nodes = Math.ceil(total / (leaf ? maxLeafItems : maxBranchItems));
    const made = new Int32Array(nodes * branchStride);
    for (let n = 0; n < nodes; n++) {
      const from = Math.floor((n * total) / nodes);
      const to = Math.floor(((n + 1) * total) / nodes);
      items.words.set(given.subarray(from * stride, to * stride));
      items.count = to - from;
      writeNode(heap, items, 0, items.count, made, n * branchStride);
    }
    return made;
  };

  return {
    add(key, item) {
      const at = count * leafStride;
      if (at === rows.length) {
        const larger = new Int32Array(2 * rows.length);
        larger.set(rows);
        rows = larger;
      }
      for (let w = 0; w < width; w++) {
        rows[at + w] = key.first[w] as number;
        rows[at + width + w] = key.last[w] as number;
      }
      rows[at + 2 * width] = item;
      count++;
      if (isInOrder && count > 1) isSorted = isInOrder = compareRows(count - 2, count - 1) < 0;
    },
    sort() {
      if (isSorted) return 0;
      const order = Uint32Array.from({ length: count }, (_, row) => row).sort(compareRows);
      const sorted = new Int32Array(count * leafStride);
      let twice = 0;
      for (let i = 0; i < count; i++) {
        const row = order[i] as number;
        sorted.set(rows.subarray(row * leafStride, (row + 1) * leafStride), i * leafStride);
        if (i > 0 && compareRows(order[i - 1] as number, row) === 0)
          twice = rows[row * leafStride + 2 * width] as number;
      }
      rows = sorted;
      isSorted = true;
      return twice;
    },
    isInOrder: () => isInOrder,
    *items() {
      for (let i = 0; i < count; i++) yield rows[i * leafStride + 2 * width] as number;
    },
    // A quarter for branches and what is lost by rounding, and a few for the sizes of nodes that occur.
    slabs: () => Math.ceil((count * leafStride * 5) / slabBytes) + 16,
    drop(releaser) {
      for (let i = 0; i < count; i++) releaser.entry(rows[i * leafStride + 2 * width] as number);
      count = 0;
    },
    finish() {
      if (count === 0) return 0;
      let nodes = buildNodes(rows, count, true);
      while (nodes.length > branchStride) nodes = buildNodes(nodes, nodes.length / branchStride, false);
      return nodes[2 * width] as number;
    },
  };
}
