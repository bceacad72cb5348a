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

/** Entries that no person wrote, kept apart from all others. */
export interface UdmLayer {
  readonly name: string;
  readonly index: UdmIndex;
  /** They have all keys of the layer, so that look-ups pass over it; undefined: it is always searched. */
  readonly places?: LayerPlaces | undefined;
}

/** A scope as look-ups are to see it. */
export interface PublishedScope {
  /** Its entries; undefined: it has none. They must be held for as long as they are published. */
  readonly index: UdmIndex | undefined;
  /** What sources add, in their order; held likewise. */
  readonly layers?: readonly UdmIndex[];
  /** True if global entries count behind its own. */
  readonly inherits: boolean;
}

export interface SharedIndexOptions {
  /** Most entries of one state. Memory is reserved for this many, which costs address space until it is used. */
  readonly maxEntries: number;
  /** Names the limit in a message that says how to raise it. */
  readonly limitName?: string;
  /** Most readers at a time. */
  readonly maxReaders?: number;
  /** Called when the system gives less memory than was asked for. */
  readonly onSmallerReserve?: (bytes: number, askedFor: number) => void;
}

/** Bytes, and numbers of states. */
export interface SharedIndexStats {
  readonly reserved: number;
  readonly tree: number;
  readonly entries: number;
  /** Bytes that were in use once and wait to be used again. */
  readonly free: number;
  /** States that objects of this thread keep. */
  readonly heldSnapshots: number;
  /** Readers that are in the middle of a look-up. */
  readonly activeReaders: number;
}

/** All addresses. */
const wholeFamilies = [
  { family: 4, first: 0n, last: 2n ** 32n - 1n },
  { family: 6, first: 0n, last: 2n ** 128n - 1n },
] as const;
const cachedEntries = 4096;
/** Nodes freed with each state that is given up: more than a small change replaces. */
const freedAtOnce = 100;
/** Nodes freed in a cycle of the event loop that is taken for it: about a millisecond. */
const freedPerYield = 2000;

/**
 * An index in shared memory. The thread that made it makes all changes; others read what it publishes.
 *
 * Each state that it gives out as a {@link UdmIndex} keeps its memory until the object is garbage, or was released. A
 * state of which no object, no reader and no publication is left gives back what no other state shares.
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
  /** The state of the entries of people that is published; 0 before there is any. */
  #published = 0;
  #publishedSerial = 0;
  /** States of the other layers, in their order. */
  #layers: readonly number[] = [];
  #layerBits: readonly number[] = [];
  readonly #scopes: ScopeTable;
  /** What is published of each scope: serials of its states, the first that of its own entries, 0 for none; and whether global entries count. */
  readonly #shownScopes = new Map<number, { readonly serials: readonly number[]; readonly inherits: boolean }>();
  /** How often layers or scopes changed. */
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

  /** The state of no entries, version 0. */
  empty(): UdmIndex {
    return this.#show(writeSnapshot(this.#heap, { 4: 0, 6: 0 }, 0, 0));
  }

  /**
   * Leases the memory that is free to a thread that builds a state ({@link StateBuilder}). Until it is taken back,
   * no state can be made or changed here.
   *
   * @param before the state that the new one follows; it must be held until then.
   */
  lease(before?: UdmIndex): IndexLease {
    this.#freeAll();
    const snapshot = before === undefined ? 0 : (this.#stateOf(before)?.snapshot ?? 0);
    const version = (before?.version ?? 0) + 1;
    return { heap: this.#heap.lease(), limits: this.#limits, before: snapshot, version, serial: this.#writer.serial() };
  }

  /** Takes the memory back from a thread that does not use it any more, with what it has built. */
  completeLease(lease: IndexLease, built: IndexReturn): UdmIndex {
    this.#heap.endLease(lease.heap, built.heap);
    this.#writer = new EntryWriter(this.#heap, built.serial);
    const [tree, entries] = built.heap.used;
    return this.#show(built.snapshot, undefined, Math.max(snapshotWeight, (tree + entries) >>> 2));
  }

  /** The same when nothing of it is wanted. */
  cancelLease(lease: IndexLease): void {
    this.#heap.endLease(lease.heap);
  }

  /**
   * Makes a state the one that readers see, all of it at once.
   *
   * @returns where it may differ from the one that was published before; undefined: anywhere.
   */
  publish(index: UdmIndex): readonly AddressRange[] | undefined {
    const state = this.#heldState(index);
    const { snapshot, changes } = state;
    if (snapshot === this.#published) return [];
    const changed = changes?.since === this.#publishedSerial ? changes.keys : undefined;
    // Reported once; what is published again later differs from something else.
    state.changes = undefined;
    this.#published = snapshot;
    this.#publishedSerial = state.serial;
    this.#showView(changed);
    return changed;
  }

  /**
   * Makes these states the other layers that readers see, in their order behind the published one, all at once. They must be held
   * for as long as they are layers.
   *
   * @param changed where what readers see may differ from before; undefined: anywhere.
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
   * Makes these the scopes that readers see, all at once.
   *
   * @param changes by number, from 1 to {@link mostScopes}; undefined for one that goes. Those that are not named stay.
   * @param definitions of all scopes, as JSON; undefined: they stay.
   * @returns where what readers see may differ from before; undefined: anywhere.
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

  /** Returns where other states of a scope differ from the published ones. */
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

  /** Places for a further layer: they let look-ups pass over it. Undefined when there are too many, which are always searched. */
  layerPlaces(): LayerPlaces | undefined {
    if (this.#layersWithPlaces === mostLayers) return undefined;
    return new LayerPlaces(new Int32Array(this.#placesBuffer), this.#layersWithPlaces++);
  }

  /** Gives a state up at once whose object nobody uses any more. */
  release(index: UdmIndex): void {
    const state = this.#stateOf(index);
    if (state === undefined) return;
    this.#lost.unregister(state);
    const { snapshot } = state;
    state.snapshot = 0;
    this.#giveUp(snapshot);
  }

  /** Returns the handle that a reader in another thread needs; each reader needs its own. @throws Error when there are too many readers. */
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

  /** Gives a reader's place back; to be called when a thread has ended without closing its reader. */
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

  /** Frees what was given up, a little in each cycle. */
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

  /** Lets readers see what is published, all of it at once. */
  #showView(changed: readonly AddressRange[] | undefined): void {
    const states = this.#published === 0 ? this.#layers : [this.#published, ...this.#layers];
    for (const snapshot of states) retain(this.#words, snapshot);
    const { block } = this.#scopes;
    if (block !== 0) retain(this.#words, block);
    const view = this.#views.add(states, this.#published === 0 ? this.#layerBits : [0, ...this.#layerBits], block);
    // Both parts only grow, so that no version comes twice.
    const version = (this.#published === 0 ? 0 : versionOf(this.#words, this.#published)) + this.#layerChanges;
    this.#changes.write(version, changed);
    this.#publisher.publish(view, version);
    if (this.#shown !== 0) this.#retired.push(this.#shown);
    this.#shown = view;
    this.#sweepRetired();
  }

  /** The state that an object stands for; undefined when it was given up, or is one of another index. */
  #stateOf(index: UdmIndex): IndexState | undefined {
    return index instanceof IndexState && index.reading === this.#reading && index.snapshot !== 0 ? index : undefined;
  }

  #heldState(index: UdmIndex): IndexState {
    const state = this.#stateOf(index);
    if (state === undefined) throw new Error("not a state of this index");
    return state;
  }

  /** Gives a state an object, which holds it. */
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
