import { compareKeys, type Address, type Family } from "../../base/ip/index.ts";
import type { UdmEntry } from "../model/udm-entry.ts";
import type { AddressIndex } from "../model/udm-index.ts";
import { createChangeReader, type Changes } from "./change-ring.ts";
import { createCoveringSearch } from "./covering-entries.ts";
import { createCoveringTexts } from "./covering-texts.ts";
import { createEntryReader } from "./entry-block.ts";
import { addressWords, setBytesWords } from "./key-words.ts";
import { blockOf } from "./node-layout.ts";
import { createSnapshotPin, type ReaderSlot } from "./reader-slots.ts";
import { createPlacesReader } from "./layer-places.ts";
import { firstState, mostStates, placesBit, stateCount } from "./view-table.ts";

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
