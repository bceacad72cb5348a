import type { Key, Family } from "../../base/ip/index.ts";
import { type Heap, treePart } from "./heap.ts";
import { blockOf, isLeaf, itemAt, itemCount, type NodeLayout } from "./tree-nodes.ts";
import { addressValue, addressWords, createKeyWords, setKeyWords } from "./key-limbs.ts";
import type { AddressRange } from "../model/udm-store.ts";

export interface ChangesOf {
  /** The serial of the state to which the changes apply. */
  readonly since: number;
  readonly keys: readonly Key[];
}

/**
 * Releases references. Memory without references is freed in steps, because a whole tree may be released at once.
 */
export class Releaser {
  readonly #heap: Heap;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #waiting: number[] = [];
  readonly #waitingLayouts: NodeLayout[] = [];

  constructor(heap: Heap) {
    this.#heap = heap;
    this.#words = heap.words;
  }

  /** Releases a reference to a node; 0 is none. */
  tree(layout: NodeLayout, node: number): void {
    if (node === 0 || --(this.#words[node + 1] as number) > 0) return;
    this.#waiting.push(node);
    this.#waitingLayouts.push(layout);
  }

  /** Releases a reference to the entry of a leaf's item. */
  entry(item: number): void {
    const block = blockOf(item);
    if (--(this.#words[block + 1] as number) === 0) this.#heap.free(block);
  }

  /** Frees at most this many released nodes. @returns true where there are more. */
  work(nodes: number): boolean {
    for (let i = 0; i < nodes; i++) {
      const node = this.#waiting.pop();
      const layout = this.#waitingLayouts.pop();
      if (node === undefined || layout === undefined) return false;
      const count = itemCount(this.#words, node);
      const leaf = isLeaf(this.#words, node);
      for (let at = 0; at < count; at++) {
        const item = itemAt(this.#words, layout, node, at);
        if (leaf) this.entry(item);
        else this.tree(layout, item);
      }
      this.#heap.free(node);
    }
    return this.#waiting.length > 0;
  }
}

// The threads exchange views in words of one small shared buffer. Word 0 is the published view. Word 1 has the
// low 32 bits of its version; it is written after word 0, so that a thread never takes an old view for the new version. Then
// follows a slot for each reader, each on its own processor cache line.
const publishedWord = 0;
export const versionWord = 1;
const slotWords = 16;
const takenWord = 0;
const pinnedWord = 1;

export function createControl(maxReaders: number): SharedArrayBuffer {
  return new SharedArrayBuffer((maxReaders + 1) * slotWords * 4);
}

/** A reader's place. */
export interface ReaderSlot {
  readonly slot: number;
  /** A number that no other user of the place ever has. */
  readonly ticket: number;
}

/** The writer's side. */
export class Publisher {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #slots: number;
  #tickets = 0;

  constructor(control: SharedArrayBuffer) {
    this.#words = new Int32Array(control);
    this.#slots = this.#words.length / slotWords - 1;
  }

  publish(view: number, version: number): void {
    Atomics.store(this.#words, publishedWord, view);
    Atomics.store(this.#words, versionWord, version);
  }

  /** Reports whether a reader is at this view. One that is no longer published gets no new readers. */
  isPinned(view: number): boolean {
    return this.#count((pinned) => pinned === view) > 0;
  }

  pinnedReaders(): number {
    return this.#count((pinned) => pinned !== 0);
  }

  /** Takes a free slot. @returns undefined where all are taken. */
  takeSlot(): ReaderSlot | undefined {
    for (let slot = 0; slot < this.#slots; slot++) {
      const ticket = this.#tickets + 1;
      if (Atomics.compareExchange(this.#words, this.#at(slot) + takenWord, 0, ticket) !== 0) continue;
      this.#tickets = ticket;
      return { slot, ticket };
    }
    return undefined;
  }

  freeSlot({ slot, ticket }: ReaderSlot): void {
    freeSlot(this.#words, this.#at(slot), ticket);
  }

  #at(slot: number): number {
    return (slot + 1) * slotWords;
  }

  #count(holds: (pinned: number) => boolean): number {
    let found = 0;
    for (let slot = 0; slot < this.#slots; slot++)
      if (holds(Atomics.load(this.#words, this.#at(slot) + pinnedWord))) found++;
    return found;
  }
}

function freeSlot(words: Int32Array, at: number, ticket: number): void {
  if (Atomics.load(words, at + takenWord) !== ticket) return;
  Atomics.store(words, at + pinnedWord, 0);
  Atomics.store(words, at + takenWord, 0);
}

/** A reader's side. */
export class SnapshotPin {
  readonly #ticket: number;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #at: number;

  constructor(control: SharedArrayBuffer, { slot, ticket }: ReaderSlot) {
    this.#ticket = ticket;
    this.#words = new Int32Array(control);
    this.#at = (slot + 1) * slotWords;
  }

  /**
   * Keeps the published view from being freed until `unpin`. A reader can pin one view at a time.
   *
   * @returns the view; 0 where nothing was published yet.
   */
  pin(): number {
    for (;;) {
      const view = Atomics.load(this.#words, publishedWord);
      Atomics.store(this.#words, this.#at + pinnedWord, view);
      // The writer checks the slots after it has published. So either it sees this slot, or this reader sees the new view.
      if (Atomics.load(this.#words, publishedWord) === view) return view;
    }
  }

  unpin(): void {
    Atomics.store(this.#words, this.#at + pinnedWord, 0);
  }

  /** Returns the slot. */
  close(): void {
    freeSlot(this.#words, this.#at, this.#ticket);
  }
}

// The views that readers see, in words of one small shared buffer. A row for each view has the number of its states, then the states (the
// entries of people first), and the bit of {@link LayerPlaces} of each (0 for one that is always searched). The last word is the table of
// scopes, 0 for none. A row is written before it is published, and written again only when no reader uses it. Views are numbered from 1; 0 is none.
/** The most states of a view: that of the entries of people, and those of other layers. */
export const mostStates = 128;
const rowWords = 2 * mostStates + 2;

export function createViewBuffer(maxReaders: number): SharedArrayBuffer {
  // Each reader may use a different view. One more is published, and one is being made.
  return new SharedArrayBuffer((maxReaders + 3) * rowWords * 4);
}

/** Returns the offset of the first state of a view, after the word with their number. */
export function firstState(view: number): number {
  return view * rowWords + 1;
}

export function stateCount(words: Int32Array, view: number): number {
  return words[view * rowWords] as number;
}

/** Returns the bit of the state at a position of a view. */
export function placesBit(words: Int32Array, view: number, state: number): number {
  return words[view * rowWords + 1 + mostStates + state] as number;
}

/** Returns the block of a view's table of scopes; 0 where there are none. */
export function scopesOf(words: Int32Array, view: number): number {
  return words[view * rowWords + 1 + 2 * mostStates] as number;
}

/** The writer's side. */
export class ViewTable {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #unused: number[];

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
    this.#unused = Array.from({ length: this.#words.length / rowWords - 1 }, (_, i) => i + 1);
  }

  /** Adds a view of these states. @param bits of their places. @param scopes the table of scopes. @returns its number, which is theirs until `free`. */
  add(states: readonly number[], bits: readonly number[], scopes: number): number {
    const view = this.#unused.pop();
    if (view === undefined || states.length > mostStates) throw new Error("too many states to show at a time");
    this.#words[view * rowWords] = states.length;
    this.#words.set(states, firstState(view));
    this.#words.set(bits, firstState(view) + mostStates);
    this.#words[firstState(view) + 2 * mostStates] = scopes;
    return view;
  }

  states(view: number): number[] {
    return Array.from(this.#words.subarray(firstState(view), firstState(view) + stateCount(this.#words, view)));
  }

  scopes(view: number): number {
    return scopesOf(this.#words, view);
  }

  free(view: number): void {
    this.#unused.push(view);
  }
}

// These words show all threads where layers have entries, with one bit for each layer. A set bit stays set, so a layer may be searched in vain,
// but is never skipped wrongly. For a key within one /24 (IPv6: /48) a hash of that prefix selects the word. A wider key sets the bit for
// each /16 (/32) that it touches, and the widest keys set it for all addresses of their family.
const narrowWords = 2 ** 20;
const wideWords = 2 ** 16;
const firstWide = narrowWords;
const everywhere = firstWide + wideWords;
const hashFactor = 0x9e37_79b1;
/** The most wide places that a key sets. A key with more counts as everywhere. */
const mostWide = 256;
/** The most layers with a bit. The sign bit stays unused. */
export const mostLayers = 31;

export function createPlacesBuffer(): SharedArrayBuffer {
  return new SharedArrayBuffer((everywhere + 7) * 4);
}

/** The places where one layer has entries. */
export class LayerPlaces {
  readonly #words: Int32Array;
  readonly #keyWords = createKeyWords();
  /** The bit of the layer. */
  readonly bit: number;

  constructor(words: Int32Array, number: number) {
    this.#words = words;
    this.bit = 1 << number;
  }

  /** Adds a key. It must be called before a state with the key is published. */
  add(key: Key): void {
    const { first, last } = setKeyWords(this.#keyWords, key);
    if (areNear(key.family, first, last)) return this.#set(narrowPlace(key.family, first));
    const from = wideNumber(key.family, first);
    const to = wideNumber(key.family, last);
    if (to - from >= mostWide) return this.#set(everywhere + key.family);
    for (let n = from; n <= to; n++) this.#set(widePlace(key.family, n));
  }

  #set(place: number): void {
    (this.#words[place] as number) |= this.bit;
  }
}

/** Returns the bits of the layers that may cover an address. Layers without a bit are not included. */
export function layersNear(words: Int32Array, family: Family, address: Int32Array): number {
  return (
    (words[narrowPlace(family, address)] as number) |
    (words[widePlace(family, wideNumber(family, address))] as number) |
    (words[everywhere + family] as number)
  );
}

/** Reports whether two addresses lie in one /24, of IPv6 in one /48. */
function areNear(family: Family, one: Int32Array, other: Int32Array): boolean {
  if (family === 4) return (one[0] as number) >> 8 === (other[0] as number) >> 8;
  return one[0] === other[0] && (one[1] as number) >> 16 === (other[1] as number) >> 16;
}

function narrowPlace(family: Family, address: Int32Array): number {
  if (family === 4) return Math.imul((address[0] as number) >> 8, hashFactor) >>> 12;
  return Math.imul(Math.imul(address[0] as number, hashFactor) ^ ((address[1] as number) >> 16), hashFactor) >>> 12;
}

/** Returns the number of the /16 (IPv6: /32) in the order of addresses. */
function wideNumber(family: Family, address: Int32Array): number {
  return family === 4 ? (address[0] as number) >> 16 : (address[0] as number);
}

function widePlace(family: Family, n: number): number {
  return firstWide + (family === 4 ? n & (wideWords - 1) : Math.imul(n, hashFactor) >>> 16);
}

// One state of the database, in its own block that never changes:
//   1  the number of references: objects of the writing thread, and its publication
//   2  root of the IPv4 tree, 0 for none      3  root of the IPv6 tree
//   4  number of entries                      5  version, low 32 bits      6  and the rest
const rootWords: Readonly<Record<Family, number>> = { 4: 2, 6: 3 };

/** Writes a state and takes over the references to the roots. @returns a block with one reference. @throws HeapFullError */
export function writeSnapshot(
  heap: Heap,
  roots: Readonly<Record<Family, number>>,
  size: number,
  version: number,
): number {
  const { words } = heap;
  const block = heap.allocate(7, treePart);
  words[block + 1] = 1;
  words[block + 2] = roots[4];
  words[block + 3] = roots[6];
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

// The changes of each publication, for readers in other threads. Two words have the numbers of rows written and
// begun, which only grow. A ring of rows follows. A row is
//   0      low 32 bits of the version that the change came with
//   1      4 or 6; 0 when anything may have changed
//   2 – 5  first address of what changed       6 – 9  last address
//   10     the number of the scope; 0: in all of them
const ringRows = 4096;
const ringRowWords = 11;
const writtenRows = 0;
const begunRows = 1;
const ringHeadWords = 2;

/** The most changes of a publication. One with more counts as a change of anything. */
export const mostChanges = ringRows / 4;

export function createChangeBuffer(): SharedArrayBuffer {
  return new SharedArrayBuffer((ringHeadWords + ringRows * ringRowWords) * 4);
}

/** The writer of the changes of publications. */
export class ChangeWriter {
  readonly #words: Int32Array;
  #written = 0;

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
  }

  /** Writes the changes of a version. It must be called before the version is published. @param changed undefined means anything. */
  write(version: number, changed: readonly AddressRange[] | undefined): void {
    const ranges = changed === undefined || changed.length > mostChanges ? [undefined] : changed;
    Atomics.store(this.#words, begunRows, this.#written + ranges.length);
    for (const range of ranges) {
      const at = ringRowAt(this.#written);
      this.#written = (this.#written + 1) | 0;
      Atomics.store(this.#words, at, version);
      Atomics.store(this.#words, at + 1, range?.family ?? 0);
      Atomics.store(this.#words, at + 10, range?.scope ?? 0);
      if (range === undefined) continue;
      this.#writeAddress(at + 2, range.family, range.first);
      this.#writeAddress(at + 6, range.family, range.last);
    }
    Atomics.store(this.#words, writtenRows, this.#written);
  }

  #writeAddress(at: number, family: Family, value: bigint): void {
    const words = addressWords({ family, value });
    for (let w = 0; w < 4; w++) Atomics.store(this.#words, at + w, words[w] as number);
  }
}

/** The changes up to a version. */
export interface Changes {
  /** The low 32 bits of the version. */
  readonly version: number;
  /** The ranges that may have changed; undefined means anything. */
  readonly changed: readonly AddressRange[] | undefined;
}

/** The reader of the changes of publications. */
export class ChangeReader {
  readonly #words: Int32Array;
  readonly #scratch = new Int32Array(4);
  #read = 0;
  #isLost = true;

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
  }

  /**
   * Reads the changes since the last call, up to the published version. The first call reports that anything may have
   * changed, and so does a call for which the ring no longer reaches back.
   *
   * @param publishedVersion returns the low 32 bits of the published version, by an atomic load.
   */
  next(publishedVersion: () => number): Changes {
    let hasLost = false;
    for (;;) {
      if (this.#isLost) {
        hasLost = true;
        // Except for the last ringRows rows, all rows belong to versions that are checked below.
        const written = Atomics.load(this.#words, writtenRows);
        if (((written - this.#read) | 0) > ringRows / 2) this.#read = (written - ringRows / 2) | 0;
        this.#isLost = false;
      }
      const version = publishedVersion();
      const changed = this.#readRows(version);
      if (!this.#isLost) return { version, changed: hasLost ? undefined : changed };
    }
  }

  /** Reads rows. A row that is overwritten meanwhile may mix two changes, which `isLost` then detects. */
  #readRows(version: number): AddressRange[] | undefined {
    const words = this.#words;
    const start = this.#read;
    const end = Atomics.load(words, writtenRows);
    const ranges: AddressRange[] = [];
    let isAnything = false;
    for (; this.#read !== end; this.#read = (this.#read + 1) | 0) {
      const at = ringRowAt(this.#read);
      // Rows of a version that is not published yet are left for the next call.
      if (((Atomics.load(words, at) - version) | 0) > 0) break;
      const family = Atomics.load(words, at + 1);
      if (family === 4 || family === 6) {
        const [first, last] = [this.#readAddress(at + 2, family), this.#readAddress(at + 6, family)];
        const scope = Atomics.load(words, at + 10);
        ranges.push({ family, first, last, ...(scope !== 0 && { scope }) });
      } else isAnything = true;
    }
    this.#isLost = ((Atomics.load(words, begunRows) - start) | 0) > ringRows;
    return isAnything ? undefined : ranges;
  }

  #readAddress(at: number, family: Family): bigint {
    for (let w = 0; w < 4; w++) this.#scratch[w] = Atomics.load(this.#words, at + w);
    return addressValue(this.#scratch, family);
  }
}

function ringRowAt(count: number): number {
  return ringHeadWords + (count & (ringRows - 1)) * ringRowWords;
}
