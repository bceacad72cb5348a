import type { Heap } from "./heap.ts";
import { blockOf, isLeaf, itemAt, itemCount, type NodeLayout } from "./node-layout.ts";

/**
 * Gives references up. What nobody refers to any more is freed bit by bit, because a whole tree may go at once.
 */
export interface Releaser {
  /** Gives up a reference to a node; 0 is none. */
  tree(layout: NodeLayout, node: number): void;
  /** Gives up a reference to the entry of a leaf's item. */
  entry(item: number): void;
  /** Frees nodes that were given up, this many at most. @returns whether there are more. */
  work(nodes: number): boolean;
}

export function createReleaser(heap: Heap): Releaser {
  const { words } = heap;
  const waiting: number[] = [];
  const waitingLayouts: NodeLayout[] = [];

  const tree = (layout: NodeLayout, node: number): void => {
    if (node === 0 || --(words[node + 1] as number) > 0) return;
    waiting.push(node);
    waitingLayouts.push(layout);
  };

  const entry = (item: number): void => {
    const block = blockOf(item);
    if (--(words[block + 1] as number) === 0) heap.free(block);
  };

  return {
    tree,
    entry,
    work(nodes) {
      for (let i = 0; i < nodes; i++) {
        const node = waiting.pop();
        const layout = waitingLayouts.pop();
        if (node === undefined || layout === undefined) return false;
        const count = itemCount(words, node);
        const leaf = isLeaf(words, node);
        for (let at = 0; at < count; at++) {
          const item = itemAt(words, layout, node, at);
          if (leaf) entry(item);
          else tree(layout, item);
        }
        heap.free(node);
      }
      return waiting.length > 0;
    },
  };
}
