import type { Key, Family } from "../../base/ip/index.ts";
import { type Heap, treePart } from "./heap.ts";
import { blockOf, isLeaf, itemAt, itemCount, type NodeLayout } from "./tree-nodes.ts";
import { createKeyWords, setKeyWords } from "./key-limbs.ts";

/** What a {@link UdmIndex} object stands for. When it is garbage, its state is given up. */
export interface HeldSnapshot {
  snapshot: number;
  /**
   * Memory that is never used. The garbage collector does not know how much shared memory an object keeps; this makes it
   * run in time.
   */
  readonly weight: ArrayBuffer | undefined;
  /** Different for each. */
  readonly serial: number;
  /** Undefined when it was not made by changing another, or by too many changes. */
  changes: ChangesOf | undefined;
}

export interface ChangesOf {
  /** Serial of the state that was changed. */
  readonly since: number;
  readonly keys: readonly Key[];
}

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

// What the threads exchange about views, in words of one small shared buffer. Word 0: the published view. Word 1: the
// low 32 bits of its version, written after it, so that a thread never takes an old view for the new version. Then a
// slot for each reader, on a line of the processor's cache of its own.
const publishedWord = 0;
const versionWord = 1;
const slotWords = 16;
const takenWord = 0;
const pinnedWord = 1;

export function createControl(maxReaders: number): SharedArrayBuffer {
  return new SharedArrayBuffer((maxReaders + 1) * slotWords * 4);
}

/** A reader's place. */
export interface ReaderSlot {
  readonly slot: number;
  /** Differs from that of all others that had or will have the place. */
  readonly ticket: number;
}

/** The writer's side. */
interface Publisher {
  publish(view: number, version: number): void;
  /** Whether a reader is at this view. One that is no longer published gets no new readers. */
  isPinned(view: number): boolean;
  pinnedReaders(): number;
  /** @returns undefined when all are taken. */
  takeSlot(): ReaderSlot | undefined;
  freeSlot(slot: ReaderSlot): void;
}

export function createPublisher(control: SharedArrayBuffer): Publisher {
  const words = new Int32Array(control);
  const slots = words.length / slotWords - 1;
  const at = (slot: number): number => (slot + 1) * slotWords;
  let tickets = 0;
  const count = (holds: (pinned: number) => boolean): number => {
    let found = 0;
    for (let slot = 0; slot < slots; slot++) if (holds(Atomics.load(words, at(slot) + pinnedWord))) found++;
    return found;
  };
  return {
    publish(view, version) {
      Atomics.store(words, publishedWord, view);
      Atomics.store(words, versionWord, version);
    },
    isPinned: (view) => count((pinned) => pinned === view) > 0,
    pinnedReaders: () => count((pinned) => pinned !== 0),
    takeSlot() {
      for (let slot = 0; slot < slots; slot++) {
        const ticket = tickets + 1;
        if (Atomics.compareExchange(words, at(slot) + takenWord, 0, ticket) !== 0) continue;
        tickets = ticket;
        return { slot, ticket };
      }
      return undefined;
    },
    freeSlot: ({ slot, ticket }) => freeSlot(words, at(slot), ticket),
  };
}

function freeSlot(words: Int32Array, at: number, ticket: number): void {
  if (Atomics.load(words, at + takenWord) !== ticket) return;
  Atomics.store(words, at + pinnedWord, 0);
  Atomics.store(words, at + takenWord, 0);
}

/** A reader's side. */
interface SnapshotPin {
  version(): number;
  /**
   * Keeps the published view from being freed until `unpin`. One at a time.
   *
   * @returns the view, 0 when nothing was published yet.
   */
  pin(): number;
  unpin(): void;
  /** Gives the slot back. */
  close(): void;
}

export function createSnapshotPin(control: SharedArrayBuffer, { slot, ticket }: ReaderSlot): SnapshotPin {
  const words = new Int32Array(control);
  const at = (slot + 1) * slotWords;
  return {
    version: () => Atomics.load(words, versionWord),
    pin() {
      for (;;) {
        const view = Atomics.load(words, publishedWord);
        Atomics.store(words, at + pinnedWord, view);
        // The writer looks at the slots after it has published: either it sees ours, or we see what it published.
        if (Atomics.load(words, publishedWord) === view) return view;
      }
    },
    unpin: () => void Atomics.store(words, at + pinnedWord, 0),
    close: () => freeSlot(words, at, ticket),
  };
}

// What readers see at a time, in words of one small shared buffer: a row for each view, which says how many states it has and
// which, the entries of people first, then the bits of {@link LayerPlaces} of each; 0 for one that is always searched. A row is written before it is published, and again only when no reader is at it.
// Views are numbered from 1; 0 is none.
/** States of a view: that of the person's entries and those of other layers. */
export const mostStates = 128;
const rowWords = 2 * mostStates + 1;

export function createViewBuffer(maxReaders: number): SharedArrayBuffer {
  // Each reader may be at another view, one is published, one is being made.
  return new SharedArrayBuffer((maxReaders + 3) * rowWords * 4);
}

/** Where a view has its states: this many words from a word on. */
export function firstState(view: number): number {
  return view * rowWords + 1;
}

export function stateCount(words: Int32Array, view: number): number {
  return words[view * rowWords] as number;
}

/** The bit of a state of a view by its place. */
export function placesBit(words: Int32Array, view: number, state: number): number {
  return words[view * rowWords + 1 + mostStates + state] as number;
}

/** The writer's side. */
interface ViewTable {
  /** @returns the number of a view of these states, which stays theirs until `free`. @param bits of their places. */
  add(states: readonly number[], bits: readonly number[]): number;
  states(view: number): number[];
  free(view: number): void;
}

export function createViewTable(buffer: SharedArrayBuffer): ViewTable {
  const words = new Int32Array(buffer);
  const unused = Array.from({ length: words.length / rowWords - 1 }, (_, i) => i + 1);
  return {
    add(states, bits) {
      const view = unused.pop();
      if (view === undefined || states.length > mostStates) throw new Error("too many states to show at a time");
      words[view * rowWords] = states.length;
      words.set(states, firstState(view));
      words.set(bits, firstState(view) + mostStates);
      return view;
    },
    states: (view) => Array.from(words.subarray(firstState(view), firstState(view) + stateCount(words, view))),
    free: (view) => void unused.push(view),
  };
}

// Where layers have entries, for all threads: words with a bit for each layer. A bit once set stays, so that a layer may be searched in vain,
// but is never passed over wrongly. Of a key that lies in one /24 (IPv6: /48) the word is found by a hash of that, of wider ones by
// each /16 (/32) that they touch; the widest set the bit for all addresses of their family.
const narrowWords = 2 ** 20;
const wideWords = 2 ** 16;
const firstWide = narrowWords;
const everywhere = firstWide + wideWords;
const hashFactor = 0x9e37_79b1;
/** More wide places than this are everywhere. */
const mostWide = 256;
/** The sign bit stays unused. */
const mostLayers = 31;

/** Where one layer has entries. */
export interface LayerPlaces {
  /** Its bit. */
  readonly bit: number;
  /** To be called before a state that has the key is published. */
  add(key: Key): void;
}

export function createPlacesBuffer(): SharedArrayBuffer {
  return new SharedArrayBuffer((everywhere + 7) * 4);
}

/** Gives each layer its places; undefined when there are no more bits: such a layer is always searched. */
export function createPlacesWriter(buffer: SharedArrayBuffer): () => LayerPlaces | undefined {
  const words = new Int32Array(buffer);
  const keyWords = createKeyWords();
  let taken = 0;

  const add = (bit: number, key: Key): void => {
    const { first, last } = setKeyWords(keyWords, key);
    if (areNear(key.family, first, last)) {
      (words[narrowPlace(key.family, first)] as number) |= bit;
      return;
    }
    const from = wideNumber(key.family, first);
    const to = wideNumber(key.family, last);
    if (to - from >= mostWide) {
      (words[everywhere + key.family] as number) |= bit;
      return;
    }
    for (let n = from; n <= to; n++) (words[widePlace(key.family, n)] as number) |= bit;
  };

  return () => {
    if (taken === mostLayers) return undefined;
    const bit = 1 << taken++;
    return { bit, add: (key) => add(bit, key) };
  };
}

/** Gives the bits of the layers that may have entries that cover an address; those without a bit are not known. */
export function createPlacesReader(buffer: SharedArrayBuffer): (family: Family, address: Int32Array) => number {
  const words = new Int32Array(buffer);
  return (family, address) =>
    (words[narrowPlace(family, address)] as number) |
    (words[widePlace(family, wideNumber(family, address))] as number) |
    (words[everywhere + family] as number);
}

/** Whether two addresses lie in one /24, of IPv6 in one /48. */
function areNear(family: Family, one: Int32Array, other: Int32Array): boolean {
  if (family === 4) return (one[0] as number) >> 8 === (other[0] as number) >> 8;
  return one[0] === other[0] && (one[1] as number) >> 16 === (other[1] as number) >> 16;
}

function narrowPlace(family: Family, address: Int32Array): number {
  if (family === 4) return Math.imul((address[0] as number) >> 8, hashFactor) >>> 12;
  return Math.imul(Math.imul(address[0] as number, hashFactor) ^ ((address[1] as number) >> 16), hashFactor) >>> 12;
}

/** The number of the /16, of IPv6 of the /32, in the order of addresses. */
function wideNumber(family: Family, address: Int32Array): number {
  return family === 4 ? (address[0] as number) >> 16 : (address[0] as number);
}

function widePlace(family: Family, n: number): number {
  return firstWide + (family === 4 ? n & (wideWords - 1) : Math.imul(n, hashFactor) >>> 16);
}

// One state of the database, in a block of its own that never changes:
//   1  how many holders it has: objects of the thread that writes, and being the published one
//   2  root of the IPv4 tree, 0 for none      3  root of the IPv6 tree
//   4  number of entries                      5  version, low 32 bits      6  and the rest
const rootWords: Readonly<Record<Family, number>> = { 4: 2, 6: 3 };

interface SnapshotValues {
  readonly root4: number;
  readonly root6: number;
  readonly size: number;
  readonly version: number;
}

/** Takes over the references to the roots. @returns a block with one holder. @throws HeapFullError */
export function writeSnapshot(heap: Heap, { root4, root6, size, version }: SnapshotValues): number {
  const { words } = heap;
  const block = heap.allocate(7, treePart);
  words[block + 1] = 1;
  words[block + 2] = root4;
  words[block + 3] = root6;
  words[block + 4] = size;
  words[block + 5] = version;
  words[block + 6] = Math.floor(version / 2 ** 32);
  return block;
}

export function rootOf(words: Int32Array, snapshot: number, family: Family): number {
  return words[snapshot + rootWords[family]] as number;
}

export function sizeOf(words: Int32Array, snapshot: number): number {
  return words[snapshot + 4] as number;
}

export function versionOf(words: Int32Array, snapshot: number): number {
  return (words[snapshot + 6] as number) * 2 ** 32 + ((words[snapshot + 5] as number) >>> 0);
}
