import type { AddressRange, UdmEdit, UdmIndex } from "../model/udm-store.ts";
import type { IndexLease, IndexReturn } from "./index-builder.ts";
import {
  LayerPlaces,
  mostLayers,
  type ChangesOf,
  createPlacesBuffer,
  ChangeWriter,
  createChangeBuffer,
  createControl,
  Publisher,
  Releaser,
  rootOf,
  versionOf,
  writeSnapshot,
  createViewBuffer,
  ViewTable,
  mostStates,
} from "./snapshots.ts";
import type { SharedIndexHandle } from "./shared-reader.ts";
import { EntryReader, EntryWriter } from "./entry-block.ts";
import { Heap, HeapFullError, entryPart, fullError, treePart, type IndexLimits, reserveHeap } from "./heap.ts";
import { IndexEdits, snapshotWeight } from "./index-edit.ts";
import { mostScopes, ScopeTable } from "./scope-table.ts";
import { layouts, retain } from "./tree-nodes.ts";
import { IndexState, StateReading } from "./state-queries.ts";

/** Entries of a source, separate from those that people write. */
export interface UdmLayer {
  readonly name: string;
  readonly index: UdmIndex;
  /** The places of all keys of the layer, with which look-ups can skip it. Undefined where it is always searched. */
  readonly places?: LayerPlaces | undefined;
}

/** A scope in the form for look-ups. */
export interface PublishedScope {
  /** The scope's entries; undefined where it has none. They must be held while they are published. */
  readonly index: UdmIndex | undefined;
  /** The entries of sources, in their order. They must be held, too. */
  readonly layers?: readonly UdmIndex[];
  /** True where global entries apply after the scope's own entries. */
  readonly inherits: boolean;
}

export interface SharedIndexOptions {
  /** The most entries of one state. Memory is reserved for all of them, which costs only address space until it is used. */
  readonly maxEntries: number;
  /** The name of the limit, for a message about raising it. */
  readonly limitName?: string;
  /** The most readers at a time. */
  readonly maxReaders?: number;
  /** Is called when the system provides less memory than requested. */
  readonly onSmallerReserve?: (bytes: number, askedFor: number) => void;
}

/** Statistics in bytes and numbers of states. */
export interface SharedIndexStats {
  readonly reserved: number;
  readonly tree: number;
  readonly entries: number;
  /** Bytes that were used before and can be used again. */
  readonly free: number;
  /** The number of states that objects of this thread keep. */
  readonly heldSnapshots: number;
  /** The number of readers in the middle of a look-up. */
  readonly activeReaders: number;
}

/** The ranges of all addresses. */
const wholeFamilies = [
  { family: 4, first: 0n, last: 2n ** 32n - 1n },
  { family: 6, first: 0n, last: 2n ** 128n - 1n },
] as const;
const cachedEntries = 4096;
/** The nodes that are freed with each released state, more than a small change replaces. */
const freedAtOnce = 100;
/** The nodes that are freed in one turn of the event loop, which takes about a millisecond. */
const freedPerYield = 2000;

/**
 * An index in shared memory. The thread that created it makes all changes; other threads read the published states.
 *
 * Each state that it returns as a {@link UdmIndex} keeps its memory until the object is released or collected as garbage. A
 * state without objects, readers and publication frees all memory that no other state shares.
 */
export class SharedIndex {
  readonly #maxReaders: number;
  readonly #heap: Heap;
  readonly #limits: IndexLimits;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #control: SharedArrayBuffer;
  readonly #changeBuffer = createChangeBuffer();
  readonly #viewBuffer: SharedArrayBuffer;
  readonly #placesBuffer = createPlacesBuffer();
  #layersWithPlaces = 0;
  readonly #views: ViewTable;
  readonly #publisher: Publisher;
  readonly #releaser: Releaser;
  #writer: EntryWriter;
  readonly #reading: StateReading;
  readonly #lost = new FinalizationRegistry<number>((snapshot) => this.#giveUp(snapshot));
  readonly #changes = new ChangeWriter(this.#changeBuffer);
  /** The published state of the entries of people; 0 before the first one. */
  #published = 0;
  #publishedSerial = 0;
  /** States of the other layers, in their order. */
  #layers: readonly number[] = [];
  #layerBits: readonly number[] = [];
  readonly #scopes: ScopeTable;
  /** The published states of each scope: their serials, the first for its own entries (0 for none), and whether global entries apply. */
  readonly #shownScopes = new Map<number, { readonly serials: readonly number[]; readonly inherits: boolean }>();
  /** The number of changes of layers or scopes. */
  #layerChanges = 0;
  /** The view that readers see. */
  #shown = 0;
  #lastSerial = 0;
  /** Views that were shown and may still have readers. */
  #retired: number[] = [];
  #heldSnapshots = 0;
  #isWorking = false;
  readonly #edits: IndexEdits;
  readonly #beginEdit = (before: IndexState): UdmEdit => this.#edits.begin(before);

  constructor(options: SharedIndexOptions) {
    const { maxEntries, limitName = "a limit of the index", maxReaders = 64 } = options;
    this.#maxReaders = maxReaders;
    this.#heap = new Heap(reserveHeap(maxEntries, options.onSmallerReserve));
    this.#limits = { maxEntries, limitName };
    this.#words = this.#heap.words;
    this.#control = createControl(this.#maxReaders);
    this.#viewBuffer = createViewBuffer(this.#maxReaders);
    this.#views = new ViewTable(this.#viewBuffer);
    this.#publisher = new Publisher(this.#control);
    this.#releaser = new Releaser(this.#heap);
    this.#scopes = new ScopeTable(this.#heap, (snapshot) => this.#releaseSnapshot(snapshot));
    this.#writer = new EntryWriter(this.#heap);
    const reader = new EntryReader(this.#heap.buffer, cachedEntries);
    this.#reading = new StateReading(this.#heap.buffer, reader);
    this.#edits = new IndexEdits({
      heap: this.#heap,
      limits: this.#limits,
      reader,
      writer: () => this.#writer,
      releaser: this.#releaser,
      freeSome: () => this.#work(),
      freeAll: () => this.#freeAll(),
      show: (snapshot, changes, weight) => this.#show(snapshot, changes, weight),
    });
  }

  /** Returns the empty state, version 0. */
  empty(): UdmIndex {
    return this.#show(writeSnapshot(this.#heap, { 4: 0, 6: 0 }, 0, 0));
  }

  /**
   * Leases the free memory to a thread that builds a state ({@link StateBuilder}). Until the lease ends,
   * no state can be made or changed here.
   *
   * @param before the previous state, which must be held until then.
   */
  lease(before?: UdmIndex): IndexLease {
    this.#freeAll();
    const snapshot = before === undefined ? 0 : (this.#stateOf(before)?.snapshot ?? 0);
    const version = (before?.version ?? 0) + 1;
    return { heap: this.#heap.lease(), limits: this.#limits, before: snapshot, version, serial: this.#writer.serial() };
  }

  /** Ends a lease and returns the built state. The thread must no longer use the memory. */
  completeLease(lease: IndexLease, built: IndexReturn): UdmIndex {
    this.#heap.endLease(lease.heap, built.heap);
    this.#writer = new EntryWriter(this.#heap, built.serial);
    const [tree, entries] = built.heap.used;
    return this.#show(built.snapshot, undefined, Math.max(snapshotWeight, (tree + entries) >>> 2));
  }

  /** Ends a lease and discards its result. */
  cancelLease(lease: IndexLease): void {
    this.#heap.endLease(lease.heap);
  }

  /**
   * Publishes a state to readers atomically.
   *
   * @returns the addresses at which it may differ from the previously published state; undefined means anywhere.
   */
  publish(index: UdmIndex): readonly AddressRange[] | undefined {
    const state = this.#heldState(index);
    const { snapshot, changes } = state;
    if (snapshot === this.#published) return [];
    const changed = changes?.since === this.#publishedSerial ? changes.keys : undefined;
    // The changes are reported only once, because a later publication would differ from another state.
    state.changes = undefined;
    this.#published = snapshot;
    this.#publishedSerial = state.serial;
    this.#showView(changed);
    return changed;
  }

  /**
   * Publishes these states atomically as the other layers, in their order after the published state. They must be held
   * as long as they are layers.
   *
   * @param changed the addresses at which readers may see a difference; undefined means anywhere.
   */
  publishLayers(
    next: readonly Pick<UdmLayer, "index" | "places">[],
    changed: readonly AddressRange[] | undefined,
  ): void {
    if (next.length >= mostStates) throw new Error(`there may be ${mostStates - 1} layers at most`);
    this.#layers = next.map(({ index }) => this.#heldState(index).snapshot);
    this.#layerBits = next.map(({ places }) => places?.bit ?? 0);
    this.#layerChanges++;
    this.#showView(changed);
  }

  /**
   * Publishes changes of scopes atomically.
   *
   * @param changes by number, from 1 to {@link mostScopes}; undefined for a removed scope. Scopes that are not named stay.
   * @param definitions of all scopes, as JSON; undefined keeps them.
   * @returns the addresses at which readers may see a difference; undefined means anywhere.
   * @throws UdmError `resource_exhausted`
   */
  publishScopes(
    changes: ReadonlyMap<number, PublishedScope | undefined>,
    definitions?: Uint8Array,
  ): readonly AddressRange[] | undefined {
    const states = Array.from(changes, ([number, scope]) => {
      if (!(number >= 1 && number <= mostScopes)) throw new Error(`a scope has a number from 1 to ${mostScopes}`);
      const layers = (scope?.layers ?? []).map((index) => this.#heldState(index));
      if (layers.length >= mostStates) throw new Error(`a scope has ${mostStates - 1} layers at most`);
      return { number, scope, own: scope?.index && this.#heldState(scope.index), layers };
    });
    let changed: AddressRange[] | undefined = definitions === undefined ? [] : undefined;
    for (const { number, scope, own, layers } of states) {
      changed?.push(...this.#changesOf(number, [own, ...layers], scope?.inherits === true));
    }
    const next = states.map(({ number, scope, own, layers }) => {
      const snapshots = layers.map(({ snapshot }) => snapshot);
      return [number, scope && { snapshot: own?.snapshot ?? 0, layers: snapshots, inherits: scope.inherits }] as const;
    });
    try {
      this.#scopes.change(next, definitions);
    } catch (error) {
      throw error instanceof HeapFullError ? fullError(this.#heap, this.#limits) : error;
    }
    for (const { number, scope, own, layers } of states) {
      const all = [own, ...layers];
      for (const state of all) if (state !== undefined) state.changes = undefined;
      if (scope === undefined) this.#shownScopes.delete(number);
      else this.#shownScopes.set(number, { serials: all.map(serialOf), inherits: scope.inherits });
    }
    this.#layerChanges++;
    this.#showView(changed);
    return changed;
  }

  /** Returns the addresses at which new states of a scope differ from the published ones. */
  #changesOf(scope: number, states: readonly (IndexState | undefined)[], inherits: boolean): readonly AddressRange[] {
    const before = this.#shownScopes.get(scope);
    const keys: AddressRange[] = [];
    const isKnown = states.every((state, i) => {
      const serial = before?.serials[i];
      if (serialOf(state) === serial) return true;
      if (state?.changes === undefined || state.changes.since !== serial) return false;
      for (const key of state.changes.keys) keys.push(key);
      return true;
    });
    const isSameCount = before?.serials.length === states.length && before.inherits === inherits;
    return (isKnown && isSameCount ? keys : wholeFamilies).map(({ family, first, last }) => ({
      family,
      first,
      last,
      scope,
    }));
  }

  /** Returns places for a new layer, with which look-ups can skip it. Undefined where there are too many layers; such a layer is always searched. */
  layerPlaces(): LayerPlaces | undefined {
    if (this.#layersWithPlaces === mostLayers) return undefined;
    return new LayerPlaces(new Int32Array(this.#placesBuffer), this.#layersWithPlaces++);
  }

  /** Releases a state at once. Nobody may use its object any more. */
  release(index: UdmIndex): void {
    const state = this.#stateOf(index);
    if (state === undefined) return;
    this.#lost.unregister(state);
    const { snapshot } = state;
    state.snapshot = 0;
    this.#giveUp(snapshot);
  }

  /** Returns a handle for one reader in another thread. Each reader needs its own. @throws Error when there are too many readers. */
  handle(): SharedIndexHandle {
    const slot = this.#publisher.takeSlot();
    if (slot === undefined) throw new Error(`an index has ${this.#maxReaders} readers at most`);
    return {
      heap: this.#heap.buffer,
      control: this.#control,
      views: this.#viewBuffer,
      places: this.#placesBuffer,
      changes: this.#changeBuffer,
      ...slot,
    };
  }

  /** Frees a reader's slot. It must be called when a thread has ended without closing its reader. */
  closeReader(handle: SharedIndexHandle): void {
    this.#publisher.freeSlot(handle);
    this.#sweepRetired();
  }

  stats(): SharedIndexStats {
    const tree = this.#heap.usedBytes(treePart);
    const entries = this.#heap.usedBytes(entryPart);
    const free = this.#heap.heldBytes() - tree - entries;
    const activeReaders = this.#publisher.pinnedReaders();
    return {
      reserved: this.#heap.buffer.byteLength,
      tree,
      entries,
      free,
      heldSnapshots: this.#heldSnapshots,
      activeReaders,
    };
  }

  /** Frees released memory, a little in each turn of the event loop. */
  #work(): void {
    if (!this.#releaser.work(freedAtOnce) || this.#isWorking) return;
    this.#isWorking = true;
    setImmediate(() => {
      this.#isWorking = false;
      this.#releaser.work(freedPerYield);
      this.#work();
    }).unref();
  }

  #releaseSnapshot(snapshot: number): void {
    if (--(this.#words[snapshot + 1] as number) > 0) return;
    for (const family of [4, 6] as const) this.#releaser.tree(layouts[family], rootOf(this.#words, snapshot, family));
    this.#heap.free(snapshot);
  }

  #sweepRetired(): void {
    this.#retired = this.#retired.filter((view) => {
      if (this.#publisher.isPinned(view)) return true;
      for (const snapshot of this.#views.states(view)) this.#releaseSnapshot(snapshot);
      this.#scopes.release(this.#views.scopes(view));
      this.#views.free(view);
      return false;
    });
    this.#work();
  }

  #giveUp(snapshot: number): void {
    this.#heldSnapshots--;
    this.#releaseSnapshot(snapshot);
    this.#sweepRetired();
  }

  #freeAll(): void {
    this.#sweepRetired();
    while (this.#releaser.work(freedPerYield));
  }

  /** Shows the published states to readers atomically. */
  #showView(changed: readonly AddressRange[] | undefined): void {
    const states = this.#published === 0 ? this.#layers : [this.#published, ...this.#layers];
    for (const snapshot of states) retain(this.#words, snapshot);
    const { block } = this.#scopes;
    if (block !== 0) retain(this.#words, block);
    const view = this.#views.add(states, this.#published === 0 ? this.#layerBits : [0, ...this.#layerBits], block);
    // Both parts only grow, so that no version occurs twice.
    const version = (this.#published === 0 ? 0 : versionOf(this.#words, this.#published)) + this.#layerChanges;
    this.#changes.write(version, changed);
    this.#publisher.publish(view, version);
    if (this.#shown !== 0) this.#retired.push(this.#shown);
    this.#shown = view;
    this.#sweepRetired();
  }

  /** Returns the state of an object; undefined where it was released or belongs to another index. */
  #stateOf(index: UdmIndex): IndexState | undefined {
    return index instanceof IndexState && index.reading === this.#reading && index.snapshot !== 0 ? index : undefined;
  }

  #heldState(index: UdmIndex): IndexState {
    const state = this.#stateOf(index);
    if (state === undefined) throw new Error("not a state of this index");
    return state;
  }

  /** Returns an object for a state. The object keeps the state's memory. */
  #show(snapshot: number, changes?: ChangesOf, weight = 0): UdmIndex {
    const state = new IndexState(this.#reading, this.#beginEdit, snapshot, ++this.#lastSerial, changes, weight);
    this.#heldSnapshots++;
    this.#lost.register(state, snapshot, state);
    return state;
  }
}

function serialOf(state: IndexState | undefined): number {
  return state?.serial ?? 0;
}
