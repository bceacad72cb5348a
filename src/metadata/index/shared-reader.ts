import type { AddressRange, AddressIndex } from "../model/udm-store.ts";
import { addressValue, setAddressWords, addressWords, setBytesWords } from "./key-limbs.ts";
import { compareKeys, type Address, type Family } from "../../base/ip/index.ts";
import type { UdmEntry } from "../model/entry.ts";
import { createCoveringSearch } from "./covering-entries.ts";
import { createCoveringTexts } from "./covering-texts.ts";
import { createEntryReader } from "./entry-block.ts";
import { blockOf } from "./tree-nodes.ts";
import {
  createSnapshotPin,
  type ReaderSlot,
  createPlacesReader,
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

/** Writes the changes of a version; to be called before that is published. */
type NoteChanges = (version: number, changed: readonly AddressRange[] | undefined) => void;

export function createChangeWriter(buffer: SharedArrayBuffer): NoteChanges {
  const words = new Int32Array(buffer);
  const scratch = new Int32Array(4);
  let written = 0;

  const writeAddress = (at: number, range: AddressRange, value: bigint): void => {
    setAddressWords(scratch, range.family, value);
    for (let w = 0; w < 4; w++) Atomics.store(words, at + w, scratch[w] as number);
  };

  return (version, changed) => {
    const ranges = changed === undefined || changed.length > mostChanges ? [undefined] : changed;
    Atomics.store(words, begunWord, written + ranges.length);
    for (const range of ranges) {
      const at = rowAt(written);
      written = (written + 1) | 0;
      Atomics.store(words, at, version);
      Atomics.store(words, at + 1, range?.family ?? 0);
      if (range === undefined) continue;
      writeAddress(at + 2, range, range.first);
      writeAddress(at + 6, range, range.last);
    }
    Atomics.store(words, writtenWord, written);
  };
}

/** What changed up to a version. */
interface Changes {
  /** Low 32 bits. */
  readonly version: number;
  /** Undefined: anything may have. */
  readonly changed: readonly AddressRange[] | undefined;
}

/**
 * Reads the changes since the last call, up to the version that is published; the first call says that anything may have
 * changed, and so does one for which the ring no longer reaches back.
 *
 * @param publishedVersion the low 32 bits of it, by an atomic load.
 */
export function createChangeReader(buffer: SharedArrayBuffer, publishedVersion: () => number): () => Changes {
  const words = new Int32Array(buffer);
  const scratch = new Int32Array(4);
  let read = 0;
  let isLost = true;

  const readAddress = (at: number, family: 4 | 6): bigint => {
    for (let w = 0; w < 4; w++) scratch[w] = Atomics.load(words, at + w);
    return addressValue(scratch, family);
  };

  /** What is overwritten meanwhile may be of two changes, which `isLost` then shows. */
  const readRows = (version: number): AddressRange[] | undefined => {
    const start = read;
    const end = Atomics.load(words, writtenWord);
    const ranges: AddressRange[] = [];
    let isAnything = false;
    for (; read !== end; read = (read + 1) | 0) {
      const at = rowAt(read);
      // Rows of what is about to be published are left for the next call.
      if (((Atomics.load(words, at) - version) | 0) > 0) break;
      const family = Atomics.load(words, at + 1);
      if (family === 4 || family === 6) {
        ranges.push({ family, first: readAddress(at + 2, family), last: readAddress(at + 6, family) });
      } else isAnything = true;
    }
    isLost = ((Atomics.load(words, begunWord) - start) | 0) > rows;
    return isAnything ? undefined : ranges;
  };

  return () => {
    let hasLost = false;
    for (;;) {
      if (isLost) {
        hasLost = true;
        // All but the rows of the last publications belong to versions that are seen below.
        const written = Atomics.load(words, writtenWord);
        if (((written - read) | 0) > rows / 2) read = (written - rows / 2) | 0;
        isLost = false;
      }
      const version = publishedVersion();
      const changed = readRows(version);
      if (!isLost) return { version, changed: hasLost ? undefined : changed };
    }
  };
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

/** Reads what is published of all layers from any thread, without ever waiting. */
export interface SharedIndexReader {
  /**
   * The low 32 bits of the version that is published, by one atomic load. What is looked up after this is of that
   * version or a later one.
   */
  version(): number;
  /**
   * What may have changed since the last call. What is looked up after this is of that version or a later one, whose
   * changes come with the next call.
   */
  changes(): Changes;
  /** Every entry that covers the address, in list order, of one key in the order of the layers, all of one view. The address is taken as it is (no unmapping). */
  covering(address: Address): UdmEntry[];
  /** {@link AddressIndex.texts} */
  readonly texts: AddressIndex["texts"];
  /** The same for 4 or 16 bytes in network order. */
  coveringBytes(bytes: Uint8Array, offset: number, family: Family): UdmEntry[];
  /** Gives the reader's place back. It must not be used afterwards. */
  close(): void;
}

/** Entries kept as objects: those that many addresses have in common. */
const cachedEntries = 4096;

/** Opens a handle; once only. */
export function openSharedIndex(handle: SharedIndexHandle): SharedIndexReader {
  const { heap, control, changes } = handle;
  const views = new Int32Array(handle.views);
  const pin = createSnapshotPin(control, handle);
  const search = createCoveringSearch(new Int32Array(heap));
  const entries = createEntryReader(heap, cachedEntries);
  const texts = createCoveringTexts(heap);
  const placesOf = createPlacesReader(handle.places);
  const scratch = new Int32Array(4);
  const searched = new Int32Array(mostStates);
  let isOpen = true;
  /** The view that is pinned for texts. */
  let pinned = 0;

  /** Finds the states of a view that may have entries that cover an address. @returns how many there are. */
  const choose = (view: number, family: Family, address: Int32Array): number => {
    const states = stateCount(views, view);
    const first = firstState(view);
    // With one state there is nothing to pass over.
    const bits = states > 1 ? placesOf(family, address) : -1;
    let count = 0;
    for (let s = 0; s < states; s++) {
      const bit = placesBit(views, view, s);
      if (bit === 0 || (bit & bits) !== 0) searched[count++] = views[first + s] as number;
    }
    return count;
  };

  const covering = (family: Family, address: Int32Array): UdmEntry[] => {
    if (!isOpen) throw new Error("this reader was closed");
    const view = pin.pin();
    try {
      const states = choose(view, family, address);
      const found: UdmEntry[] = [];
      for (let s = 0; s < states; s++) {
        const count = search.find(searched[s] as number, family, address);
        for (let i = 0; i < count; i++) found.push(entries.entry(blockOf(search.items[i] as number)));
      }
      return states < 2 ? found : found.sort((a, b) => compareKeys(a.key, b.key));
    } finally {
      pin.unpin();
    }
  };

  const chooseForTexts = (family: Family, address: Int32Array): number => choose(pinned, family, address);

  return {
    version: () => pin.version(),
    changes: createChangeReader(changes, () => pin.version()),
    covering: (address) => covering(address.family, addressWords(address)),
    coveringBytes(bytes, offset, family) {
      setBytesWords(scratch, family, bytes, offset);
      return covering(family, scratch);
    },
    texts(addresses, count, use) {
      if (!isOpen) throw new Error("this reader was closed");
      pinned = pin.pin();
      try {
        texts.find(addresses, count, searched, chooseForTexts);
        return use(texts.read);
      } finally {
        pin.unpin();
      }
    },
    close() {
      if (isOpen) pin.close();
      isOpen = false;
    },
  };
}
