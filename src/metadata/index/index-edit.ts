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
import { type Releaser, type ChangesOf, rootOf, sizeOf, versionOf, writeSnapshot } from "./snapshots.ts";
import { clearItems, createNodeItems, spliceItems, takeNode, writeNode, type NodeItems } from "./node-items.ts";
import type { Family, Key } from "../../base/ip/index.ts";
import type { UdmEntry } from "../model/entry.ts";
import type { UdmEdit, UdmIndex } from "../model/udm-store.ts";
import { mostChanges } from "./shared-reader.ts";
import type { EntryReader, EntryWriter } from "./entry-block.ts";

const highest = 0x7fff_ffff;

/** Puts another node in the place of a child that starts at the same address. Nobody else may know the branch. */
function setChild(words: Int32Array, node: number, i: number, child: number): void {
  words[rowsOf(words, node) + i * branchRow] = child;
}

/**
 * Notes that an entry that ends at `last` is now below a child. Nobody else may know the branch.
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

/** Brings the words into agreement by which a search sees how far children reach. */
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

/** Most blocks that one change allocates, that of the entry included: two nodes a level, and the new root. */
const allocationsOfChange = 2 * maxLevels + 2;

/**
 * Changes trees by new nodes from the root to the leaf; all other nodes are shared with the tree before. Branches that no other tree
 * has, because an earlier change of this edit made them, are changed where they are. Each call takes over the caller's reference to the
 * root and gives one to the root that it returns: to keep the tree before, retain its root.
 * Nodes that nobody else refers to are freed at once. The caller has made sure that there is room
 * ({@link allocationsOfChange}): a failure in the middle of a change could not be taken back.
 */
interface TreeEditor {
  /** Adds an entry's item, or replaces that of the same key. @returns the new root. */
  put(root: number, key: KeyWords, item: number): number;
  /** Removes an entry that is there. @returns the new root; 0 for the empty tree. */
  remove(root: number, key: KeyWords): number;
}

function createTreeEditor(heap: Heap, layout: NodeLayout, releaser: Releaser): TreeEditor {
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

/** About what a small change leaves behind. */
export const snapshotWeight = 8 * 1024;
/** Of an entry of a big change. */
const entryWeight = 64;

export interface IndexEditParts {
  readonly heap: Heap;
  readonly limits: IndexLimits;
  readonly reader: EntryReader;
  readonly writer: () => EntryWriter;
  readonly releaser: Releaser;
  /** Frees some of what was given up, the rest in later turns. */
  readonly freeSome: () => void;
  /** Frees all that was given up. */
  readonly freeAll: () => void;
  /** Gives a state an object, which holds it. */
  readonly show: (snapshot: number, changes: ChangesOf | undefined, weight: number) => UdmIndex;
}

/** Makes the edits of an index: each works on roots of its own until it is done or dropped, or is garbage. */
export function createIndexEdits(parts: IndexEditParts): {
  /** @param since the serial of the state `before`. */
  begin(before: number, since: number): UdmEdit;
} {
  const { heap, limits, reader, writer, releaser, freeSome, freeAll, show } = parts;
  const { words } = heap;
  const editors: Readonly<Record<Family, TreeEditor>> = {
    4: createTreeEditor(heap, layouts[4], releaser),
    6: createTreeEditor(heap, layouts[6], releaser),
  };
  const keyWords = createKeyWords();
  const lost = new FinalizationRegistry<Roots>((roots) => release(roots));

  const release = (roots: Roots): void => {
    for (const family of [4, 6] as const) {
      releaser.tree(layouts[family], roots[family]);
      roots[family] = 0;
    }
    freeSome();
  };

  /** Makes sure that a change of a tree cannot fail in its middle. */
  const makeRoom = (): void => {
    if (heap.hasRoom(allocationsOfChange)) return;
    freeAll();
    if (!heap.hasRoom(allocationsOfChange)) throw fullError(heap, limits);
  };

  const writeEntry = (entry: UdmEntry, yaml: string | undefined): number => {
    try {
      return writer().write(entry, keyWords, yaml);
    } catch (error) {
      if (!(error instanceof HeapFullError)) throw error;
    }
    freeAll();
    try {
      return writer().write(entry, keyWords, yaml);
    } catch (error) {
      throw error instanceof HeapFullError ? fullError(heap, limits) : error;
    }
  };

  const begin = (before: number, since: number): UdmEdit => {
    const roots: Roots = { 4: rootOf(words, before, 4), 6: rootOf(words, before, 6) };
    const version = versionOf(words, before) + 1;
    /** What is garbage when the edit is. */
    const state = { size: sizeOf(words, before), puts: 0, isDone: false };
    /** Of entries that may have changed; undefined when there are too many. */
    let keys: Key[] | undefined = [];
    const noteKey = (key: Key): void => {
      if (keys === undefined || keys.length < mostChanges) keys?.push(key);
      else keys = undefined;
    };
    retainRoots(words, roots);
    lost.register(state, roots, state);
    const find = (key: Key): number => {
      if (state.isDone) throw new Error("this edit is done");
      return findKey(words, layouts[key.family], roots[key.family], setKeyWords(keyWords, key));
    };
    const end = (): void => {
      if (state.isDone) throw new Error("this edit is done");
      state.isDone = true;
      lost.unregister(state);
    };
    return {
      get size() {
        return state.size;
      },
      get(key) {
        const item = find(key);
        return item === 0 ? undefined : reader.entry(blockOf(item));
      },
      put(entry, yaml) {
        const { family } = entry.key;
        const isNew = find(entry.key) === 0;
        if (isNew && state.size >= limits.maxEntries) throw tooManyError(limits);
        const block = writeEntry(entry, yaml);
        try {
          makeRoom();
        } catch (error) {
          heap.free(block);
          throw error;
        }
        noteKey(entry.key);
        roots[family] = editors[family].put(roots[family], keyWords, block | keyWords.rank);
        if (isNew) state.size++;
        state.puts++;
      },
      delete(key) {
        if (find(key) === 0) return false;
        makeRoom();
        noteKey(key);
        roots[key.family] = editors[key.family].remove(roots[key.family], keyWords);
        state.size--;
        return true;
      },
      mark() {
        const kept: Roots = { ...roots };
        const { size } = state;
        retainRoots(words, kept);
        return {
          undo() {
            release(roots);
            Object.assign(roots, kept);
            state.size = size;
          },
          keep: () => release(kept),
        };
      },
      done() {
        makeRoom();
        end();
        const snapshot = writeSnapshot(heap, { root4: roots[4], root6: roots[6], size: state.size, version });
        return show(snapshot, keys && { since, keys }, Math.max(snapshotWeight, state.puts * entryWeight));
      },
      drop() {
        end();
        release(roots);
      },
    };
  };

  return { begin };
}

type Roots = Record<Family, number>;

function retainRoots(words: Int32Array, roots: Roots): void {
  for (const family of [4, 6] as const) if (roots[family] !== 0) retain(words, roots[family]);
}
