import { writtenWord, EntryReader, EntryWriter, type RenderedTexts } from "./entry-block.ts";
import {
  Heap,
  HeapFullError,
  type HeapLease,
  type HeapReturn,
  tooManyError,
  type IndexLimits,
  fullError,
} from "./heap.ts";
import { type KeyWords, createKeyWords, setKeyWords } from "./key-limbs.ts";
import { writeSnapshot, rootOf, sizeOf } from "./snapshots.ts";
import { NodeItems, writeNode } from "./node-items.ts";
import { blockOf, maxBranchItems, maxLeafItems, type NodeLayout, layouts, TreeCursor } from "./tree-nodes.ts";
import type { Family } from "../../base/ip/index.ts";
import { type UdmEntry, sameEntry } from "../model/entry.ts";

/** Builds a tree of many entries. */
class TreeBuilder {
  readonly #heap: Heap;
  readonly #layout: NodeLayout;
  readonly #width: 1 | 4;
  readonly #leafStride: number;
  readonly #branchStride: number;
  #rows: Int32Array<ArrayBuffer>;
  #count = 0;
  #isSorted = true;
  #isInOrder = true;

  /** Creates a builder. It keeps items in plain memory until all are added, because only then can it fill nodes completely. */
  constructor(heap: Heap, layout: NodeLayout) {
    this.#heap = heap;
    this.#layout = layout;
    this.#width = layout.width;
    this.#leafStride = layout.leafStride;
    this.#branchStride = layout.branchStride;
    this.#rows = new Int32Array(64 * this.#leafStride);
  }

  add(key: KeyWords, item: number): void {
    const at = this.#count * this.#leafStride;
    if (at === this.#rows.length) {
      const larger = new Int32Array(2 * this.#rows.length);
      larger.set(this.#rows);
      this.#rows = larger;
    }
    for (let w = 0; w < this.#width; w++) {
      this.#rows[at + w] = key.first[w] as number;
      this.#rows[at + this.#width + w] = key.last[w] as number;
    }
    this.#rows[at + 2 * this.#width] = item;
    this.#count++;
    if (this.#isInOrder && this.#count > 1)
      this.#isSorted = this.#isInOrder = this.#compareRows(this.#count - 2, this.#count - 1) < 0;
  }

  /** Sorts the items in list order. @returns the item of a duplicate key, or 0. */
  sort(): number {
    if (this.#isSorted) return 0;
    const order = Uint32Array.from({ length: this.#count }, (_, row) => row).sort((a, b) => this.#compareRows(a, b));
    const sorted = new Int32Array(this.#count * this.#leafStride);
    let twice = 0;
    for (let i = 0; i < this.#count; i++) {
      const row = order[i] as number;
      sorted.set(this.#rows.subarray(row * this.#leafStride, (row + 1) * this.#leafStride), i * this.#leafStride);
      if (i > 0 && this.#compareRows(order[i - 1] as number, row) === 0)
        twice = this.#rows[row * this.#leafStride + 2 * this.#width] as number;
    }
    this.#rows = sorted;
    this.#isSorted = true;
    return twice;
  }

  /** Reports whether all items were added in list order. */
  isInOrder(): boolean {
    return this.#isInOrder;
  }

  /** Returns the items in list order. It must be called after `sort`. */
  *items(): Iterable<number> {
    for (let i = 0; i < this.#count; i++) yield this.#rows[i * this.#leafStride + 2 * this.#width] as number;
  }

  /** Builds the tree. It must be called after `sort`. @returns the root; 0 where nothing was added. @throws HeapFullError */
  finish(): number {
    if (this.#count === 0) return 0;
    let nodes = this.#buildNodes(this.#rows, this.#count, true);
    while (nodes.length > this.#branchStride) nodes = this.#buildNodes(nodes, nodes.length / this.#branchStride, false);
    return nodes[2 * this.#width] as number;
  }

  /** Compares two rows in list order ({@link compareKeys}). */
  #compareRows(a: number, b: number): number {
    const i = a * this.#leafStride;
    const j = b * this.#leafStride;
    for (let w = 0; w < this.#width; w++) {
      const difference = (this.#rows[i + w] as number) - (this.#rows[j + w] as number);
      if (difference !== 0) return difference;
    }
    for (let w = this.#width; w < 2 * this.#width; w++) {
      const difference = (this.#rows[j + w] as number) - (this.#rows[i + w] as number);
      if (difference !== 0) return difference;
    }
    const [one, other] = [this.#rows[i + 2 * this.#width] as number, this.#rows[j + 2 * this.#width] as number];
    if ((one & 3) !== (other & 3)) return (one & 3) - (other & 3);
    const writtenOne = blockOf(one) + writtenWord;
    const writtenOther = blockOf(other) + writtenWord;
    for (let w = 0; w < this.#width; w++) {
      const difference = (this.#heap.words[writtenOne + w] as number) - (this.#heap.words[writtenOther + w] as number);
      if (difference !== 0) return difference;
    }
    return 0;
  }

  /** Distributes items to full nodes. @returns the items of the branch above. */
  #buildNodes(given: Int32Array, total: number, leaf: boolean): Int32Array {
    const items = new NodeItems(this.#layout);
    items.clear(leaf);
    const { stride } = items;
    const nodes = Math.ceil(total / (leaf ? maxLeafItems : maxBranchItems));
    const made = new Int32Array(nodes * this.#branchStride);
    for (let n = 0; n < nodes; n++) {
      const from = Math.floor((n * total) / nodes);
      const to = Math.floor(((n + 1) * total) / nodes);
      items.words.set(given.subarray(from * stride, to * stride));
      items.count = to - from;
      writeNode(this.#heap, items, 0, items.count, made, n * this.#branchStride);
    }
    return made;
  }
}

/** The data with which a thread builds a state of an index. It can be sent by `postMessage`. */
export interface IndexLease {
  readonly heap: HeapLease;
  readonly limits: IndexLimits;
  /** The previous state, which must not change meanwhile; 0 for none. */
  readonly before: number;
  readonly version: number;
  /** The serial number of the last block that was written. */
  readonly serial: number;
}

/** The result of the thread. */
export interface IndexReturn {
  /** A state with one reference. */
  readonly snapshot: number;
  readonly serial: number;
  readonly heap: HeapReturn;
}

const cachedEntries = 16;
const batchItems = 1024;

/**
 * Builds a state of many entries, in any order, in memory that another thread has leased to this one. An unfinished state
 * need not be released. Each builder begins with all of the leased memory, so the results of an earlier builder of the lease are lost.
 */
export class StateBuilder {
  readonly #lease: IndexLease;
  readonly #heap: Heap;
  readonly #writer: EntryWriter;
  readonly #reader: EntryReader;
  readonly #trees: Readonly<Record<Family, TreeBuilder>>;
  readonly #keyWords = createKeyWords();
  #size = 0;
  #isInOrder = true;
  #hasIpv6 = false;

  constructor(lease: IndexLease) {
    this.#lease = lease;
    this.#heap = new Heap(lease.heap.buffer, lease.heap);
    this.#writer = new EntryWriter(this.#heap, lease.serial);
    this.#reader = new EntryReader(this.#heap.buffer, cachedEntries);
    this.#trees = { 4: new TreeBuilder(this.#heap, layouts[4]), 6: new TreeBuilder(this.#heap, layouts[6]) };
  }

  get size(): number {
    return this.#size;
  }

  /** Adds an entry. @param yaml the text of `renderEntry`, if it is known. @throws UdmError `resource_exhausted` */
  add(entry: UdmEntry, yaml?: string): void {
    setKeyWords(this.#keyWords, entry.key);
    this.#add(entry.key.family, this.#keyWords, () => this.#writer.write(entry, this.#keyWords, yaml));
  }

  /** Adds an entry whose texts are already known ({@link EntryWriter.writeTexts}). */
  addTexts(family: Family, key: KeyWords, texts: RenderedTexts): void {
    this.#add(family, key, () => this.#writer.writeTexts(family, key, texts));
  }

  /** Sorts the entries in list order. @returns true where no two entries have the same key. */
  sort(): boolean {
    let twice = 0;
    for (const family of families) {
      if (!this.#trees[family].isInOrder()) this.#isInOrder = false;
      twice ||= this.#trees[family].sort();
    }
    return twice === 0;
  }

  /** Reports whether the entries were added in list order. */
  isInOrder(): boolean {
    return this.#isInOrder && families.every((family) => this.#trees[family].isInOrder());
  }

  /**
   * Completes the state. It must be called once, after `sort`.
   *
   * @returns the state; undefined where the previous state has the same entries. @throws UdmError `resource_exhausted`
   */
  finish(): IndexReturn | undefined {
    if (this.#isAsBefore()) return undefined;
    return this.#explained(() => {
      const roots = { 4: this.#trees[4].finish(), 6: this.#trees[6].finish() };
      const snapshot = writeSnapshot(this.#heap, roots, this.#size, this.#lease.version);
      return { snapshot, serial: this.#writer.serial(), heap: this.#heap.giveBack() };
    });
  }

  #add(family: Family, key: KeyWords, write: () => number): void {
    const { limits } = this.#lease;
    if (this.#size >= limits.maxEntries) throw tooManyError(limits);
    if (family === 6) this.#hasIpv6 = true;
    else if (this.#hasIpv6) this.#isInOrder = false;
    this.#trees[family].add(key, this.#explained(write) | key.rank);
    this.#size++;
  }

  #explained<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw error instanceof HeapFullError ? fullError(this.#heap, this.#lease.limits) : error;
    }
  }

  #isSame(item: number, other: number): boolean {
    const reader = this.#reader;
    if (reader.isSame(blockOf(item), blockOf(other))) return true;
    const [a, b] = [reader.entry(blockOf(item)), reader.entry(blockOf(other))];
    return a.key.text === b.key.text && sameEntry(a, b);
  }

  #isAsBefore(): boolean {
    const { before } = this.#lease;
    const { words } = this.#heap;
    if (before === 0 || sizeOf(words, before) !== this.#size) return false;
    const items = new Int32Array(batchItems);
    for (const family of families) {
      const cursor = new TreeCursor(words, layouts[family], rootOf(words, before, family));
      let count = cursor.next(items);
      let i = 0;
      for (const item of this.#trees[family].items()) {
        if (i === count) {
          count = cursor.next(items);
          i = 0;
        }
        if (i === count || !this.#isSame(item, items[i++] as number)) return false;
      }
    }
    return true;
  }
}

const families = [4, 6] as const;
