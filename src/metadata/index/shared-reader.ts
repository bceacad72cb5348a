import type { AddressRange, AddressIndex, CoveringEntryTexts } from "../model/udm-store.ts";
import { addressValue, addressWords, setBytesWords } from "./key-limbs.ts";
import { compareKeys, type Address, type Family } from "../../base/ip/index.ts";
import type { UdmEntry } from "../model/entry.ts";
import { CoveringSearch } from "./covering-entries.ts";
import { CoveringTexts } from "./covering-texts.ts";
import { EntryReader } from "./entry-block.ts";
import { blockOf } from "./tree-nodes.ts";
import {
  SnapshotPin,
  type ReaderSlot,
  layersNear,
  firstState,
  mostStates,
  placesBit,
  stateCount,
} from "./snapshots.ts";

// What each publication changed, for readers in other threads: a ring of rows behind two words, how many rows were
// written and how many were begun, which both only grow. A row is
//   0      low 32 bits of the version that the change came with
//   1      4 or 6; 0 when anything may have changed
//   2 – 5  first address of what changed       6 – 9  last address
const rows = 4096;
const rowWords = 10;
const writtenWord = 0;
const begunWord = 1;
const headWords = 2;

/** A publication that changed more than this counts as one that may have changed anything. */
export const mostChanges = rows / 4;

export function createChangeBuffer(): SharedArrayBuffer {
  return new SharedArrayBuffer((headWords + rows * rowWords) * 4);
}

/** Writes what publications change. */
export class ChangeWriter {
  readonly #words: Int32Array;
  #written = 0;

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
  }

  /** Writes the changes of a version; to be called before that is published. @param changed undefined: anything. */
  write(version: number, changed: readonly AddressRange[] | undefined): void {
    const ranges = changed === undefined || changed.length > mostChanges ? [undefined] : changed;
    Atomics.store(this.#words, begunWord, this.#written + ranges.length);
    for (const range of ranges) {
      const at = rowAt(this.#written);
      this.#written = (this.#written + 1) | 0;
      Atomics.store(this.#words, at, version);
      Atomics.store(this.#words, at + 1, range?.family ?? 0);
      if (range === undefined) continue;
      this.#writeAddress(at + 2, range.family, range.first);
      this.#writeAddress(at + 6, range.family, range.last);
    }
    Atomics.store(this.#words, writtenWord, this.#written);
  }

  #writeAddress(at: number, family: Family, value: bigint): void {
    const words = addressWords({ family, value });
    for (let w = 0; w < 4; w++) Atomics.store(this.#words, at + w, words[w] as number);
  }
}

/** What changed up to a version. */
interface Changes {
  /** Low 32 bits. */
  readonly version: number;
  /** Undefined: anything may have. */
  readonly changed: readonly AddressRange[] | undefined;
}

/** Reads what publications changed. */
export class ChangeReader {
  readonly #words: Int32Array;
  readonly #scratch = new Int32Array(4);
  #read = 0;
  #isLost = true;

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
  }

  /**
   * Reads the changes since the last call, up to the version that is published; the first call says that anything may have
   * changed, and so does one for which the ring no longer reaches back.
   *
   * @param publishedVersion the low 32 bits of it, by an atomic load.
   */
  next(publishedVersion: () => number): Changes {
    let hasLost = false;
    for (;;) {
      if (this.#isLost) {
        hasLost = true;
        // All but the rows of the last publications belong to versions that are seen below.
        const written = Atomics.load(this.#words, writtenWord);
        if (((written - this.#read) | 0) > rows / 2) this.#read = (written - rows / 2) | 0;
        this.#isLost = false;
      }
      const version = publishedVersion();
      const changed = this.#readRows(version);
      if (!this.#isLost) return { version, changed: hasLost ? undefined : changed };
    }
  }

  /** What is overwritten meanwhile may be of two changes, which `isLost` then shows. */
  #readRows(version: number): AddressRange[] | undefined {
    const words = this.#words;
    const start = this.#read;
    const end = Atomics.load(words, writtenWord);
    const ranges: AddressRange[] = [];
    let isAnything = false;
    for (; this.#read !== end; this.#read = (this.#read + 1) | 0) {
      const at = rowAt(this.#read);
      // Rows of what is about to be published are left for the next call.
      if (((Atomics.load(words, at) - version) | 0) > 0) break;
      const family = Atomics.load(words, at + 1);
      if (family === 4 || family === 6) {
        ranges.push({ family, first: this.#readAddress(at + 2, family), last: this.#readAddress(at + 6, family) });
      } else isAnything = true;
    }
    this.#isLost = ((Atomics.load(words, begunWord) - start) | 0) > rows;
    return isAnything ? undefined : ranges;
  }

  #readAddress(at: number, family: Family): bigint {
    for (let w = 0; w < 4; w++) this.#scratch[w] = Atomics.load(this.#words, at + w);
    return addressValue(this.#scratch, family);
  }
}

function rowAt(count: number): number {
  return headWords + (count & (rows - 1)) * rowWords;
}

/** What another thread needs to read an index; goes through `postMessage`. For one reader. */
export interface SharedIndexHandle extends ReaderSlot {
  readonly heap: SharedArrayBuffer;
  readonly control: SharedArrayBuffer;
  readonly views: SharedArrayBuffer;
  readonly places: SharedArrayBuffer;
  readonly changes: SharedArrayBuffer;
}

/** Entries kept as objects: those that many addresses have in common. */
const cachedEntries = 4096;

/** Reads what is published of all layers from any thread, without ever waiting. */
export class SharedIndexReader implements AddressIndex {
  readonly #changes: ChangeReader;
  readonly #views: Int32Array<SharedArrayBuffer>;
  readonly #pin: SnapshotPin;
  readonly #search: CoveringSearch;
  readonly #entries: EntryReader;
  readonly #texts: CoveringTexts;
  readonly #places: Int32Array;
  readonly #scratch = new Int32Array(4);
  readonly #searched = new Int32Array(mostStates);
  #isOpen = true;
  /** The view that is pinned for texts. */
  #pinned = 0;
  readonly #chooseForTexts = (family: Family, address: Int32Array): number =>
    this.#choose(this.#pinned, family, address);

  /** Opens a handle; once only. */
  constructor(handle: SharedIndexHandle) {
    const { heap } = handle;
    this.#changes = new ChangeReader(handle.changes);
    this.#views = new Int32Array(handle.views);
    this.#pin = new SnapshotPin(handle.control, handle);
    this.#search = new CoveringSearch(new Int32Array(heap));
    this.#entries = new EntryReader(heap, cachedEntries);
    this.#texts = new CoveringTexts(heap);
    this.#places = new Int32Array(handle.places);
  }

  /**
   * The low 32 bits of the version that is published, by one atomic load. What is looked up after this is of that
   * version or a later one.
   */
  version(): number {
    return this.#pin.version();
  }

  /**
   * What may have changed since the last call. What is looked up after this is of that version or a later one, whose
   * changes come with the next call.
   */
  changes(): Changes {
    return this.#changes.next(() => this.#pin.version());
  }

  /** Every entry that covers the address, in list order, of one key in the order of the layers, all of one view. The address is taken as it is (no unmapping). */
  covering(address: Address): UdmEntry[] {
    return this.#covering(address.family, addressWords(address));
  }

  /** The same for 4 or 16 bytes in network order. */
  coveringBytes(bytes: Uint8Array, offset: number, family: Family): UdmEntry[] {
    setBytesWords(this.#scratch, family, bytes, offset);
    return this.#covering(family, this.#scratch);
  }

  texts<T>(addresses: Int32Array, count: number, use: (read: (i: number) => CoveringEntryTexts) => T): T {
    if (!this.#isOpen) throw new Error("this reader was closed");
    this.#pinned = this.#pin.pin();
    try {
      this.#texts.find(addresses, count, this.#searched, this.#chooseForTexts);
      return use(this.#texts.read);
    } finally {
      this.#pin.unpin();
    }
  }

  /** Gives the reader's place back. It must not be used afterwards. */
  close(): void {
    if (this.#isOpen) this.#pin.close();
    this.#isOpen = false;
  }

  /** Finds the states of a view that may have entries that cover an address. @returns how many there are. */
  #choose(view: number, family: Family, address: Int32Array): number {
    const states = stateCount(this.#views, view);
    const first = firstState(view);
    // With one state there is nothing to pass over.
    const bits = states > 1 ? layersNear(this.#places, family, address) : -1;
    let count = 0;
    for (let s = 0; s < states; s++) {
      const bit = placesBit(this.#views, view, s);
      if (bit === 0 || (bit & bits) !== 0) this.#searched[count++] = this.#views[first + s] as number;
    }
    return count;
  }

  #covering(family: Family, address: Int32Array): UdmEntry[] {
    if (!this.#isOpen) throw new Error("this reader was closed");
    const view = this.#pin.pin();
    try {
      const states = this.#choose(view, family, address);
      const found: UdmEntry[] = [];
      for (let s = 0; s < states; s++) {
        const count = this.#search.find(this.#searched[s] as number, family, address);
        for (let i = 0; i < count; i++) found.push(this.#entries.entry(blockOf(this.#search.items[i] as number)));
      }
      return states < 2 ? found : found.sort((a, b) => compareKeys(a.key, b.key));
    } finally {
      this.#pin.unpin();
    }
  }
}
