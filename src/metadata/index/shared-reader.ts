import type { AddressIndex, CoveringEntryTexts, ScopeList } from "../model/udm-store.ts";
import type { ScopeDefinition } from "../model/scope.ts";
import { definitionsSerial, findScope, isIsolated, putScopeStates, readDefinitions } from "./scope-table.ts";
import { addressWords, createKeyWords, setBytesWords, setKeyWords } from "./key-limbs.ts";
import { compareKeys, type Address, type Family, type Key } from "../../base/ip/index.ts";
import type { UdmEntry } from "../model/entry.ts";
import { CoveringSearch } from "./covering-entries.ts";
import { CoveringTexts, withFirstApart } from "./entry-precedence.ts";
import { EntryReader } from "./entry-block.ts";
import { blockOf, layouts, TreeCursor } from "./tree-nodes.ts";
import {
  ChangeReader,
  type Changes,
  SnapshotPin,
  type ReaderSlot,
  layersNear,
  rootOf,
  firstState,
  scopesOf,
  mostStates,
  placesBit,
  versionWord,
  stateCount,
} from "./snapshots.ts";

/** The data with which one reader in another thread reads an index. It can be sent by `postMessage`. */
export interface SharedIndexHandle extends ReaderSlot {
  readonly heap: SharedArrayBuffer;
  readonly control: SharedArrayBuffer;
  readonly views: SharedArrayBuffer;
  readonly places: SharedArrayBuffer;
  readonly changes: SharedArrayBuffer;
}

/** The most entries that are cached as objects, because many addresses share them. */
const cachedEntries = 4096;

/** A reader of the published states of all layers. It works in any thread and never waits. */
export class SharedIndexReader implements AddressIndex {
  readonly #changes: ChangeReader;
  readonly #words: Int32Array;
  readonly #heapWords: Int32Array;
  readonly #views: Int32Array<SharedArrayBuffer>;
  readonly #pin: SnapshotPin;
  readonly #search: CoveringSearch;
  readonly #entries: EntryReader;
  readonly #texts: CoveringTexts;
  readonly #places: Int32Array;
  readonly #scratch = new Int32Array(4);
  /** The states of a scope, then the global states. */
  readonly #searched = new Int32Array(2 * mostStates);
  #isOpen = true;
  /** The view that is pinned for texts. */
  #pinned = 0;
  /** The scopes of the addresses of a look-up; undefined where no address is in a scope. */
  #scopes: Int32Array | undefined;
  #scopeList: ScopeList = { serial: 0, scopes: [] };
  readonly #chooseForTexts = (family: Family, address: Int32Array, i: number): number => {
    const scope = this.#scopes === undefined ? 0 : (this.#scopes[i] as number);
    const table = scope === 0 ? 0 : scopesOf(this.#views, this.#pinned);
    const row = table === 0 ? 0 : findScope(this.#heapWords, table, scope);
    if (row === 0) return this.#choose(this.#pinned, family, address, 0);
    const own = putScopeStates(this.#heapWords, row, this.#searched);
    if (isIsolated(this.#heapWords, row)) return own;
    return withFirstApart(this.#choose(this.#pinned, family, address, own), own);
  };

  /** Opens a handle. A handle can be opened only once. */
  constructor(handle: SharedIndexHandle) {
    const { heap } = handle;
    this.#changes = new ChangeReader(handle.changes);
    this.#words = new Int32Array(handle.control);
    this.#views = new Int32Array(handle.views);
    this.#pin = new SnapshotPin(handle.control, handle);
    this.#heapWords = new Int32Array(heap);
    this.#search = new CoveringSearch(this.#heapWords);
    this.#entries = new EntryReader(heap, cachedEntries);
    this.#texts = new CoveringTexts(heap);
    this.#places = new Int32Array(handle.places);
  }

  /**
   * Returns the low 32 bits of the published version, by one atomic load. A later look-up sees that
   * version or a newer one.
   */
  version(): number {
    return Atomics.load(this.#words, versionWord);
  }

  /**
   * Returns the changes since the last call. A later look-up sees that version or a newer one, whose
   * changes come with the next call.
   */
  changes(): Changes {
    return this.#changes.next(() => this.version());
  }

  /**
   * Returns every entry that covers the address, all from one view, in list order; equal keys have the order of the layers. An IPv4-mapped address is
   * not unmapped.
   */
  covering(address: Address): UdmEntry[] {
    return this.#covering(address.family, addressWords(address));
  }

  /** Does the same as `covering` for 4 or 16 bytes in network order. */
  coveringBytes(bytes: Uint8Array, offset: number, family: Family): UdmEntry[] {
    setBytesWords(this.#scratch, family, bytes, offset);
    return this.#covering(family, this.#scratch);
  }

  texts<T>(
    addresses: Int32Array,
    count: number,
    use: (read: (i: number) => CoveringEntryTexts) => T,
    scopes?: Int32Array,
  ): T {
    if (!this.#isOpen) throw new Error("this reader was closed");
    this.#scopes = scopes;
    this.#pinned = this.#pin.pin();
    try {
      this.#texts.find(addresses, count, this.#searched, this.#chooseForTexts);
      return use(this.#texts.read);
    } finally {
      this.#pin.unpin();
    }
  }

  hasWithin(bounds: Key): boolean {
    if (!this.#isOpen) throw new Error("this reader was closed");
    const view = this.#pin.pin();
    try {
      const { family } = bounds;
      const words = setKeyWords(createKeyWords(), bounds);
      const found = new Int32Array(1);
      for (let s = 0; s < stateCount(this.#views, view); s++) {
        const root = rootOf(this.#heapWords, this.#views[firstState(view) + s] as number, family);
        if (new TreeCursor(this.#heapWords, layouts[family], root, words).next(found) > 0) return true;
      }
      return false;
    } finally {
      this.#pin.unpin();
    }
  }

  scopes(): ScopeList {
    if (!this.#isOpen) throw new Error("this reader was closed");
    const table = scopesOf(this.#views, this.#pin.pin());
    try {
      const serial = definitionsSerial(this.#heapWords, table);
      if (serial !== this.#scopeList.serial) {
        this.#scopeList = { serial, scopes: JSON.parse(readDefinitions(this.#heapWords, table)) as ScopeDefinition[] };
      }
      return this.#scopeList;
    } finally {
      this.#pin.unpin();
    }
  }

  /** Frees the reader's slot. The reader must not be used afterwards. */
  close(): void {
    if (this.#isOpen) this.#pin.close();
    this.#isOpen = false;
  }

  /** Adds the states of a view that may cover an address. @param before the number of states so far. @returns the new number. */
  #choose(view: number, family: Family, address: Int32Array, before: number): number {
    const states = stateCount(this.#views, view);
    const first = firstState(view);
    // With one state there is nothing to skip.
    const bits = states > 1 ? layersNear(this.#places, family, address) : -1;
    let count = before;
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
      const states = this.#choose(view, family, address, 0);
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
