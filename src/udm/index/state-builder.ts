import type { Family } from "../../ip/index.ts";
import { tooManyError, type IndexLimits } from "./index-limits.ts";
import type { Heap } from "./heap.ts";
import type { KeyWords } from "./key-words.ts";
import { layouts } from "./node-layout.ts";
import type { Releaser } from "./release-tree.ts";
import { writeSnapshot } from "./snapshot-record.ts";
import { createTreeBuilder } from "./tree-build.ts";

/** Makes the state of many entries, which may come in any order. */
export interface StateBuilder {
  readonly size: number;
  /** Makes sure that one more may be added. @throws UdmError `resource_exhausted` */
  checkRoom(): void;
  /** Adds an entry that is in a block. */
  add(family: Family, key: KeyWords, block: number): void;
  /** Puts all in list order. @returns the item of an entry whose key is there twice, else 0. */
  sort(): number;
  /** Whether all were added in list order. */
  isInOrder(): boolean;
  /** How many slabs `finish` may need. */
  slabs(): number;
  /** The items in list order; after `sort`. */
  items(family: Family): Iterable<number>;
  /** To be called after `sort`. @returns the state's block, with one holder. @throws HeapFullError */
  finish(version: number): number;
  drop(releaser: Releaser): void;
}

const families = [4, 6] as const;

export function createStateBuilder(heap: Heap, limits: IndexLimits): StateBuilder {
  const builders = { 4: createTreeBuilder(heap, layouts[4]), 6: createTreeBuilder(heap, layouts[6]) };
  let size = 0;
  let isInOrder = true;
  let hasIpv6 = false;
  return {
    get size() {
      return size;
    },
    checkRoom() {
      if (size >= limits.maxEntries) throw tooManyError(limits);
    },
    add(family, key, block) {
      if (family === 6) hasIpv6 = true;
      else if (hasIpv6) isInOrder = false;
      builders[family].add(key, block | key.rank);
      size++;
    },
    sort() {
      let twice = 0;
      for (const family of families) {
        if (!builders[family].isInOrder()) isInOrder = false;
        twice ||= builders[family].sort();
      }
      return twice;
    },
    isInOrder: () => isInOrder && families.every((family) => builders[family].isInOrder()),
    slabs: () => builders[4].slabs() + builders[6].slabs() + 1,
    items: (family) => builders[family].items(),
    finish(version) {
      const [root4, root6] = [builders[4].finish(), builders[6].finish()];
      return writeSnapshot(heap, { root4, root6, size, version });
    },
    drop(releaser) {
      for (const family of families) builders[family].drop(releaser);
    },
  };
}
