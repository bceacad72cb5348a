import { writtenWord, createEntryReader, createEntryWriter, type RenderedTexts } from "./entry-block.ts";
import {
  type Heap,
  createLentHeap,
  HeapFullError,
  type HeapLoan,
  type HeapReturn,
  slabBytes,
  tooManyError,
  type IndexLimits,
  fullError,
} from "./heap.ts";
import { type KeyWords, createKeyWords, setKeyWords } from "./key-limbs.ts";
import { type Releaser, writeSnapshot, rootOf, sizeOf } from "./snapshots.ts";
import { clearItems, createNodeItems, writeNode } from "./node-items.ts";
import { blockOf, maxBranchItems, maxLeafItems, type NodeLayout, layouts, createCursor } from "./tree-nodes.ts";
import type { Family } from "../../base/ip/index.ts";
import { type UdmEntry, sameEntry } from "../model/entry.ts";

/** Makes a tree of many entries. */
interface TreeBuilder {
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
function createTreeBuilder(heap: Heap, layout: NodeLayout): TreeBuilder {
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

/** Makes the state of many entries, which may come in any order. */
interface StateBuilder {
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

function createStateBuilder(heap: Heap, limits: IndexLimits): StateBuilder {
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

/** What a thread needs to build a state of an index; goes through `postMessage`. */
export interface IndexLoan {
  readonly heap: HeapLoan;
  readonly limits: IndexLimits;
  /** The state before, which stays as it is meanwhile; 0 for none. */
  readonly before: number;
  readonly version: number;
  /** Of the last block that was written. */
  readonly serial: number;
}

/** What the thread made of it. */
export interface IndexReturn {
  /** A state with one holder. */
  readonly snapshot: number;
  readonly serial: number;
  readonly heap: HeapReturn;
}

/** Builds a state in memory that another thread has lent. What is not finished need not be given up. */
export interface LentBuilder {
  readonly size: number;
  /** @param yaml as `renderEntry` has it, if it is known. @throws UdmError `resource_exhausted` */
  add(entry: UdmEntry, yaml?: string): void;
  /** The same for an entry whose texts are known already ({@link EntryWriter.writeTexts}). */
  addTexts(family: Family, key: KeyWords, texts: RenderedTexts): void;
  /** Puts the entries in list order. @returns whether no two of them have one key. */
  sort(): boolean;
  /** Whether they were added in that order. */
  isInOrder(): boolean;
  /**
   * To be called after `sort`, once.
   *
   * @returns undefined when the state before has the same entries. @throws UdmError `resource_exhausted`
   */
  finish(): IndexReturn | undefined;
}

const cachedEntries = 16;
const batchItems = 1024;

/** Each call begins with all of the lent memory: what an earlier builder of the loan made is gone. */
export function createLentBuilder(loan: IndexLoan): LentBuilder {
  const { limits, before } = loan;
  const heap = createLentHeap(loan.heap);
  const { words } = heap;
  const writer = createEntryWriter(heap, loan.serial);
  const reader = createEntryReader(heap.buffer, cachedEntries);
  const builder = createStateBuilder(heap, limits);
  const keyWords = createKeyWords();

  const explain = (error: unknown): unknown => (error instanceof HeapFullError ? fullError(heap, limits) : error);

  const isSame = (item: number, other: number): boolean =>
    reader.isSame(blockOf(item), blockOf(other)) ||
    isSameEntry(reader.entry(blockOf(item)), reader.entry(blockOf(other)));

  const isAsBefore = (): boolean => {
    if (before === 0 || sizeOf(words, before) !== builder.size) return false;
    const items = new Int32Array(batchItems);
    for (const family of [4, 6] as const) {
      const cursor = createCursor(words, layouts[family], rootOf(words, before, family));
      let count = cursor.next(items);
      let i = 0;
      for (const item of builder.items(family)) {
        if (i === count) {
          count = cursor.next(items);
          i = 0;
        }
        if (i === count || !isSame(item, items[i++] as number)) return false;
      }
    }
    return true;
  };

  return {
    get size() {
      return builder.size;
    },
    add(entry, yaml) {
      builder.checkRoom();
      const { family } = entry.key;
      setKeyWords(keyWords, entry.key);
      try {
        builder.add(family, keyWords, writer.write(entry, keyWords, yaml));
      } catch (error) {
        throw explain(error);
      }
    },
    addTexts(family, key, texts) {
      builder.checkRoom();
      try {
        builder.add(family, key, writer.writeTexts(family, key, texts));
      } catch (error) {
        throw explain(error);
      }
    },
    sort: () => builder.sort() === 0,
    isInOrder: () => builder.isInOrder(),
    finish() {
      if (isAsBefore()) return undefined;
      try {
        const snapshot = builder.finish(loan.version);
        return { snapshot, serial: writer.serial(), heap: heap.giveBack() };
      } catch (error) {
        throw explain(error);
      }
    },
  };
}

function isSameEntry(a: UdmEntry, b: UdmEntry): boolean {
  return a.key.text === b.key.text && sameEntry(a, b);
}
