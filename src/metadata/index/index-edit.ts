import {
  branchRow,
  commonWords,
  headWords,
  itemCount,
  rowsOf,
  type NodeLayout,
  isLeaf,
  itemAt,
  maxBranchItems,
  maxLeafItems,
  maxLevels,
  blockOf,
  layouts,
  retain,
  greatestWords,
  compareFirst,
  childFor,
  compareLeafItem,
  placeInLeaf,
  findKey,
} from "./tree-nodes.ts";
import { type Heap, HeapFullError, fullError, tooManyError, type IndexLimits } from "./heap.ts";
import { type KeyWords, createKeyWords, setKeyWords } from "./key-limbs.ts";
import { type Releaser, type ChangesOf, rootOf, writeSnapshot, mostChanges } from "./snapshots.ts";
import { NodeItems, spliceItems, takeNode, writeNode } from "./node-items.ts";
import type { Family, Key } from "../../base/ip/index.ts";
import type { UdmEntry } from "../model/entry.ts";
import type { UdmEdit, UdmIndex, UdmMark } from "../model/udm-store.ts";
import type { EntryReader, EntryWriter } from "./entry-block.ts";
import type { IndexState } from "./state-queries.ts";

const highest = 0x7fff_ffff;

/** Replaces a child by a node that starts at the same address. The branch must belong to this edit only. */
function setChild(words: Int32Array, node: number, i: number, child: number): void {
  words[rowsOf(words, node) + i * branchRow] = child;
}

/**
 * Records that an entry that ends at `last` is now below a child. The branch must belong to this edit only.
 *
 * @param last words of an address.
 */
function widenChild(words: Int32Array, layout: NodeLayout, node: number, i: number, last: Int32Array): void {
  const { width } = layout;
  const greatest = greatestWords(words, layout, node, i);
  const least = greatest + width;
  if (compare(words, least, last, width) > 0) for (let w = 0; w < width; w++) words[least + w] = last[w] as number;
  if (compare(words, greatest, last, width) >= 0) return;
  for (let w = 0; w < width; w++) words[greatest + w] = last[w] as number;
  raiseReach(words, node, i, last);
}

/** Updates the words that show a search how far children reach. */
function raiseReach(words: Int32Array, node: number, i: number, last: Int32Array): void {
  const common = commonWords(words[node] as number);
  let w = 0;
  while (w < common && words[node + headWords + w] === last[w]) w++;
  const word = w === common ? (last[w] as number) : highest;
  const rows = rowsOf(words, node);
  words[rows + i * branchRow + 1] = word;
  const count = itemCount(words, node);
  for (let n = i + 1; n < count; n++) {
    const reach = rows + n * branchRow + 2;
    if ((words[reach] as number) >= word) return;
    words[reach] = word;
  }
}

function compare(words: Int32Array, at: number, other: Int32Array, width: number): number {
  for (let w = 0; w < width; w++) {
    const a = words[at + w] as number;
    const b = other[w] as number;
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

/** The most blocks that one change allocates: the entry, two nodes for each level, and the new root. */
const allocationsOfChange = 2 * maxLevels + 2;

/**
 * Changes trees by new nodes from the root to the leaf. All other nodes are shared with the previous tree. Branches that belong to this
 * edit only, because an earlier change made them, are changed in place. Each call takes the caller's reference to the
 * root and returns a reference to the new root. To keep the previous tree, retain its root.
 * Nodes without other references are freed at once. The caller must make sure that there is room
 * ({@link allocationsOfChange}), because a failure in the middle of a change cannot be undone.
 */
class TreeEditor {
  readonly #heap: Heap;
  readonly #layout: NodeLayout;
  readonly #releaser: Releaser;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #width: 1 | 4;
  readonly #levels: readonly NodeItems[];
  readonly #joined: NodeItems;
  readonly #branchStride: number;
  /** The nodes that were made last, as up to two items of a branch. */
  readonly #made: Int32Array<ArrayBuffer>;
  #madeCount = 0;

  constructor(heap: Heap, layout: NodeLayout, releaser: Releaser) {
    this.#heap = heap;
    this.#layout = layout;
    this.#releaser = releaser;
    this.#words = heap.words;
    this.#width = layout.width;
    this.#levels = Array.from({ length: maxLevels }, () => new NodeItems(layout));
    this.#joined = new NodeItems(layout);
    this.#branchStride = layout.branchStride;
    this.#made = new Int32Array(2 * this.#branchStride);
  }

  /** Adds an entry's item, or replaces that of the same key. @returns the new root. */
  put(root: number, key: KeyWords, item: number): number {
    if (root === 0) {
      const items = this.#levels[0] as NodeItems;
      items.clear(true);
      items.count = 1;
      for (let w = 0; w < this.#width; w++) {
        items.words[w] = key.first[w] as number;
        items.words[this.#width + w] = key.last[w] as number;
      }
      items.words[2 * this.#width] = item;
      return this.#packOne(items);
    }
    this.#put(1, root, key, item, true);
    if (this.#madeCount === 0) return root;
    if (this.#madeCount === 1) return this.#made[2 * this.#width] as number;
    const items = this.#levels[0] as NodeItems;
    items.clear(false);
    this.#setChildren(items, 0, 0);
    return this.#packOne(items);
  }

  /** Removes an existing entry. @returns the new root; 0 for the empty tree. */
  remove(root: number, key: KeyWords): number {
    let top = this.#remove(1, root, key);
    while (top !== 0 && !isLeaf(this.#words, top) && itemCount(this.#words, top) === 1) {
      const only = itemAt(this.#words, this.#layout, top, 0);
      const items = this.#levels[0] as NodeItems;
      items.clear(false);
      takeNode(this.#heap, this.#layout, top, items);
      top = only;
    }
    return top;
  }

  #pack(items: NodeItems): void {
    const { count } = items;
    const most = items.isLeaf ? maxLeafItems : maxBranchItems;
    this.#madeCount = count <= most ? 1 : 2;
    const split = this.#madeCount === 1 ? count : count >> 1;
    writeNode(this.#heap, items, 0, split, this.#made, 0);
    if (this.#madeCount === 2) writeNode(this.#heap, items, split, count, this.#made, this.#branchStride);
  }

  /** Packs all items into one node. */
  #packOne(items: NodeItems): number {
    this.#madeCount = 1;
    return writeNode(this.#heap, items, 0, items.count, this.#made, 0);
  }

  #open(level: number, node: number): NodeItems {
    const items = this.#levels[level] as NodeItems;
    items.clear(isLeaf(this.#words, node));
    takeNode(this.#heap, this.#layout, node, items);
    return items;
  }

  /** Replaces `removed` children from `at` on by the nodes made below. */
  #setChildren(items: NodeItems, at: number, removed: number): void {
    spliceItems(items, at, removed, this.#madeCount);
    items.words.set(
      this.#madeCount === 2 ? this.#made : this.#made.subarray(0, this.#branchStride),
      at * this.#branchStride,
    );
  }

  /**
   * Puts an item below a node. Afterwards `made` has the nodes that replace it, or none where it was changed in place.
   *
   * @param isOurs true where each node above has only one reference, so that it belongs to this edit only.
   */
  #put(level: number, node: number, key: KeyWords, item: number, isOurs: boolean): void {
    if (isLeaf(this.#words, node)) {
      const at = placeInLeaf(this.#words, this.#layout, node, key);
      const isThere =
        at < itemCount(this.#words, node) && compareLeafItem(this.#words, this.#layout, node, at, key) === 0;
      const items = this.#open(level, node);
      const to = at * items.stride;
      if (isThere) this.#releaser.entry(items.words[to + 2 * this.#width] as number);
      else spliceItems(items, at, 0, 1);
      for (let w = 0; w < this.#width; w++) {
        items.words[to + w] = key.first[w] as number;
        items.words[to + this.#width + w] = key.last[w] as number;
      }
      items.words[to + 2 * this.#width] = item;
      this.#pack(items);
      return;
    }
    const at = childFor(this.#words, this.#layout, node, key);
    if (isOurs && this.#words[node + 1] === 1) {
      this.#putBelow(level, node, at, key, item);
      return;
    }
    // This adds a reference to each child, so that no node below is changed in place.
    const items = this.#open(level, node);
    this.#put(level + 1, items.words[at * items.stride + 2 * this.#width] as number, key, item, false);
    this.#setChildren(items, at, 1);
    this.#pack(items);
  }

  /** Puts an item below a branch of this edit. The branch is replaced only if a child is split or starts earlier. */
  #putBelow(level: number, node: number, at: number, key: KeyWords, item: number): void {
    const startsEarlier = compareFirst(this.#words, this.#layout, node, at, key.first) > 0;
    this.#put(level + 1, itemAt(this.#words, this.#layout, node, at), key, item, true);
    if (this.#madeCount === 2 || startsEarlier) {
      const items = this.#open(level, node);
      this.#setChildren(items, at, 1);
      this.#pack(items);
      return;
    }
    if (this.#madeCount === 1) setChild(this.#words, node, at, this.#made[2 * this.#width] as number);
    widenChild(this.#words, this.#layout, node, at, key.last);
    this.#madeCount = 0;
  }

  /** Removes an entry below a node and returns the node of the rest; 0 where nothing is left. */
  #remove(level: number, node: number, key: KeyWords): number {
    if (isLeaf(this.#words, node)) {
      const at = placeInLeaf(this.#words, this.#layout, node, key);
      const items = this.#open(level, node);
      this.#releaser.entry(items.words[at * items.stride + 2 * this.#width] as number);
      spliceItems(items, at, 1, 0);
      return items.count === 0 ? 0 : this.#packOne(items);
    }
    const at = childFor(this.#words, this.#layout, node, key);
    const items = this.#open(level, node);
    const { stride } = items;
    const child = this.#remove(level + 1, items.words[at * stride + 2 * this.#width] as number, key);
    if (itemCount(this.#words, child) >= (isLeaf(this.#words, child) ? maxLeafItems : maxBranchItems) / 4) {
      this.#setChildren(items, at, 1);
    } else {
      // A child that has become too small shares items with its neighbour. A branch has at least two children.
      const left = Math.max(at - 1, 0);
      const neighbour = items.words[(left < at ? left : at + 1) * stride + 2 * this.#width] as number;
      this.#joined.clear(isLeaf(this.#words, child));
      takeNode(this.#heap, this.#layout, left < at ? neighbour : child, this.#joined);
      takeNode(this.#heap, this.#layout, left < at ? child : neighbour, this.#joined);
      this.#pack(this.#joined);
      this.#setChildren(items, left, 2);
    }
    return this.#packOne(items);
  }
}

/** The approximate bytes of garbage that a small change leaves. */
export const snapshotWeight = 8 * 1024;
/** The weight of an entry of a big change. */
const entryWeight = 64;

interface IndexEditParts {
  readonly heap: Heap;
  readonly limits: IndexLimits;
  readonly reader: EntryReader;
  readonly writer: () => EntryWriter;
  readonly releaser: Releaser;
  /** Frees some released memory now, and the rest in later turns of the event loop. */
  readonly freeSome: () => void;
  /** Frees all released memory. */
  readonly freeAll: () => void;
  /** Returns an object for a state. The object keeps the state's memory. */
  readonly show: (snapshot: number, changes: ChangesOf | undefined, weight: number) => UdmIndex;
}

/** Creates the edits of an index. Each works on its own roots until it is done, dropped or collected as garbage. */
export class IndexEdits {
  readonly parts: IndexEditParts;
  readonly editors: Readonly<Record<Family, TreeEditor>>;
  readonly keyWords = createKeyWords();
  /** The roots of edits that are neither done nor dropped. */
  readonly open = new FinalizationRegistry<Roots>((roots) => this.release(roots));

  constructor(parts: IndexEditParts) {
    this.parts = parts;
    const { heap, releaser } = parts;
    this.editors = { 4: new TreeEditor(heap, layouts[4], releaser), 6: new TreeEditor(heap, layouts[6], releaser) };
  }

  begin(before: IndexState): UdmEdit {
    return new IndexEdit(this, before);
  }

  release(roots: Roots): void {
    for (const family of [4, 6] as const) {
      this.parts.releaser.tree(layouts[family], roots[family]);
      roots[family] = 0;
    }
    this.parts.freeSome();
  }

  /** Makes room, so that a change of a tree cannot fail in the middle. */
  makeRoom(): void {
    const { heap, limits, freeAll } = this.parts;
    if (heap.hasRoom(allocationsOfChange)) return;
    freeAll();
    if (!heap.hasRoom(allocationsOfChange)) throw fullError(heap, limits);
  }

  /** Writes the block of an entry whose key is in `keyWords`. */
  writeEntry(entry: UdmEntry, yaml: string | undefined): number {
    const { heap, limits, writer, freeAll } = this.parts;
    try {
      return writer().write(entry, this.keyWords, yaml);
    } catch (error) {
      if (!(error instanceof HeapFullError)) throw error;
    }
    freeAll();
    try {
      return writer().write(entry, this.keyWords, yaml);
    } catch (error) {
      throw error instanceof HeapFullError ? fullError(heap, limits) : error;
    }
  }
}

class IndexEdit implements UdmEdit {
  readonly #edits: IndexEdits;
  readonly #roots: Roots;
  readonly #version: number;
  /** The serial of the state to which the edit applies. */
  readonly #since: number;
  #size: number;
  #puts = 0;
  #isDone = false;
  /** The keys of entries that may have changed; undefined where there are too many. */
  #keys: Key[] | undefined = [];

  constructor(edits: IndexEdits, before: IndexState) {
    this.#edits = edits;
    const { words } = edits.parts.heap;
    this.#roots = { 4: rootOf(words, before.snapshot, 4), 6: rootOf(words, before.snapshot, 6) };
    this.#version = before.version + 1;
    this.#since = before.serial;
    this.#size = before.size;
    retainRoots(words, this.#roots);
    edits.open.register(this, this.#roots, this);
  }

  get size(): number {
    return this.#size;
  }

  get(key: Key): UdmEntry | undefined {
    const item = this.#find(key);
    return item === 0 ? undefined : this.#edits.parts.reader.entry(blockOf(item));
  }

  put(entry: UdmEntry, yaml?: string): void {
    const { editors, keyWords } = this.#edits;
    const { heap, limits } = this.#edits.parts;
    const { family } = entry.key;
    const isNew = this.#find(entry.key) === 0;
    if (isNew && this.#size >= limits.maxEntries) throw tooManyError(limits);
    const block = this.#edits.writeEntry(entry, yaml);
    try {
      this.#edits.makeRoom();
    } catch (error) {
      heap.free(block);
      throw error;
    }
    this.#noteKey(entry.key);
    this.#roots[family] = editors[family].put(this.#roots[family], keyWords, block | keyWords.rank);
    if (isNew) this.#size++;
    this.#puts++;
  }

  delete(key: Key): boolean {
    if (this.#find(key) === 0) return false;
    const { family } = key;
    this.#edits.makeRoom();
    this.#noteKey(key);
    this.#roots[family] = this.#edits.editors[family].remove(this.#roots[family], this.#edits.keyWords);
    this.#size--;
    return true;
  }

  mark(): UdmMark {
    const kept: Roots = { ...this.#roots };
    const size = this.#size;
    retainRoots(this.#edits.parts.heap.words, kept);
    return {
      undo: () => {
        this.#edits.release(this.#roots);
        Object.assign(this.#roots, kept);
        this.#size = size;
      },
      keep: () => this.#edits.release(kept),
    };
  }

  done(): UdmIndex {
    const { heap, show } = this.#edits.parts;
    this.#edits.makeRoom();
    this.#end();
    const snapshot = writeSnapshot(heap, this.#roots, this.#size, this.#version);
    const changes = this.#keys && { since: this.#since, keys: this.#keys };
    return show(snapshot, changes, Math.max(snapshotWeight, this.#puts * entryWeight));
  }

  drop(): void {
    this.#end();
    this.#edits.release(this.#roots);
  }

  #find(key: Key): number {
    if (this.#isDone) throw new Error("this edit is done");
    const { keyWords, parts } = this.#edits;
    const root = this.#roots[key.family];
    return findKey(parts.heap.words, layouts[key.family], root, setKeyWords(keyWords, key));
  }

  #end(): void {
    if (this.#isDone) throw new Error("this edit is done");
    this.#isDone = true;
    this.#edits.open.unregister(this);
  }

  #noteKey(key: Key): void {
    if (this.#keys === undefined || this.#keys.length < mostChanges) this.#keys?.push(key);
    else this.#keys = undefined;
  }
}

type Roots = Record<Family, number>;

function retainRoots(words: Int32Array, roots: Roots): void {
  for (const family of [4, 6] as const) if (roots[family] !== 0) retain(words, roots[family]);
}
