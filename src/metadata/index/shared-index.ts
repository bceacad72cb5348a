import type { AddressRange, UdmIndex } from "../model/udm-store.ts";
import type { IndexLoan, IndexReturn } from "./index-builder.ts";
import {
  type LayerPlaces,
  type ChangesOf,
  type HeldSnapshot,
  createPlacesBuffer,
  createPlacesWriter,
  createControl,
  createPublisher,
  createReleaser,
  rootOf,
  sizeOf,
  versionOf,
  writeSnapshot,
  createViewBuffer,
  createViewTable,
  mostStates,
} from "./snapshots.ts";
import { type SharedIndexHandle, createChangeBuffer, createChangeWriter } from "./shared-reader.ts";
import { createEntryReader, createEntryWriter } from "./entry-block.ts";
import { createHeap, entryPart, treePart, type IndexLimits, reserveHeap } from "./heap.ts";
import { createIndexEdits, snapshotWeight } from "./index-edit.ts";
import { layouts, retain } from "./tree-nodes.ts";
import { createStateQuestions } from "./state-queries.ts";

/** A layer that readers are to see. */
interface PublishedLayer {
  readonly index: UdmIndex;
  /** They have all keys of the state; undefined: it is always searched. */
  readonly places?: LayerPlaces | undefined;
}

export interface SharedIndexOptions {
  /** Most entries of one state. Memory is reserved for this many, which costs address space until it is used. */
  readonly maxEntries: number;
  /** What a message about a limit says of how to raise it. */
  readonly limitName?: string;
  /** Most readers at a time. */
  readonly maxReaders?: number;
  /** Called when the system gives less memory than was asked for. */
  readonly onSmallerReserve?: (bytes: number, askedFor: number) => void;
}

/**
 * An index in shared memory. The thread that made it makes all changes; others read what it publishes.
 *
 * Each state that it gives out as a {@link UdmIndex} keeps its memory until the object is garbage, or was released. A
 * state of which no object, no reader and no publication is left gives back what no other state shares.
 */
export interface SharedIndex {
  /** The state of no entries, version 0. */
  empty(): UdmIndex;
  /**
   * Lends the memory that is free to a thread that builds a state ({@link createLentBuilder}). Until it is taken back,
   * no state can be made or changed here.
   *
   * @param before the state that the new one follows; it must be held until then.
   */
  lend(before?: UdmIndex): IndexLoan;
  /** Takes the memory back from a thread that does not use it any more, with what it has built. */
  adopt(loan: IndexLoan, built: IndexReturn): UdmIndex;
  /** The same when nothing of it is wanted. */
  takeBack(loan: IndexLoan): void;
  /**
   * Makes a state the one that readers see, all of it at once.
   *
   * @returns where it may differ from the one that was published before; undefined: anywhere.
   */
  publish(index: UdmIndex): readonly AddressRange[] | undefined;
  /**
   * Makes these states the other layers that readers see, in their order behind the published one, all at once. They must be held
   * for as long as they are layers.
   *
   * @param changed where what readers see may differ from before; undefined: anywhere.
   */
  publishLayers(layers: readonly PublishedLayer[], changed: readonly AddressRange[] | undefined): void;
  /** Places for a further layer: they let look-ups pass over it. Undefined when there are too many, which are always searched. */
  layerPlaces(): LayerPlaces | undefined;
  /** Gives a state up at once whose object nobody uses any more. */
  release(index: UdmIndex): void;
  /** What a reader in another thread needs; each reader needs its own. @throws Error when there are too many readers. */
  handle(): SharedIndexHandle;
  /** Gives a reader's place back; to be called when a thread has ended without closing its reader. */
  closeReader(handle: SharedIndexHandle): void;
  stats(): SharedIndexStats;
}

/** Bytes, and numbers of states. */
export interface SharedIndexStats {
  readonly reserved: number;
  readonly tree: number;
  readonly entries: number;
  /** What was in use once and waits to be used again. */
  readonly free: number;
  /** States that objects of this thread keep. */
  readonly heldSnapshots: number;
  /** Readers that are in the middle of a look-up. */
  readonly activeReaders: number;
}

const cachedEntries = 4096;
/** Nodes freed with each state that is given up: more than a small change replaces. */
const freedAtOnce = 100;
/** Nodes freed in a turn of the event loop that is taken for it: about a millisecond. */
const freedATurn = 2000;

export function createSharedIndex(options: SharedIndexOptions): SharedIndex {
  const { maxEntries, limitName = "a limit of the index", maxReaders = 64 } = options;
  const heap = createHeap(reserveHeap(maxEntries, options.onSmallerReserve));
  const limits: IndexLimits = { maxEntries, limitName };
  const { words } = heap;
  const control = createControl(maxReaders);
  const changeBuffer = createChangeBuffer();
  const viewBuffer = createViewBuffer(maxReaders);
  const placesBuffer = createPlacesBuffer();
  const layerPlaces = createPlacesWriter(placesBuffer);
  const views = createViewTable(viewBuffer);
  const publisher = createPublisher(control);
  const releaser = createReleaser(heap);
  let writer = createEntryWriter(heap);
  const reader = createEntryReader(heap.buffer, cachedEntries);
  const questions = createStateQuestions(heap.buffer, reader);
  const heldByIndex = new WeakMap<UdmIndex, HeldSnapshot>();
  const lost = new FinalizationRegistry<number>((snapshot) => giveUp(snapshot));
  const noteChanges = createChangeWriter(changeBuffer);
  /** The state of the entries of people that is published; 0 before there is any. */
  let published = 0;
  let publishedSerial = 0;
  /** Those of the other layers, in their order. */
  let layers: readonly number[] = [];
  let layerBits: readonly number[] = [];
  let layerChanges = 0;
  /** The view that readers see. */
  let shown = 0;
  let lastSerial = 0;
  /** Views that were shown and may still have readers. */
  let retired: number[] = [];
  let heldSnapshots = 0;
  let isWorking = false;

  /** Frees what was given up, a little in each turn. */
  const work = (): void => {
    if (!releaser.work(freedAtOnce) || isWorking) return;
    isWorking = true;
    setImmediate(() => {
      isWorking = false;
      releaser.work(freedATurn);
      work();
    }).unref();
  };

  const releaseSnapshot = (snapshot: number): void => {
    if (--(words[snapshot + 1] as number) > 0) return;
    for (const family of [4, 6] as const) releaser.tree(layouts[family], rootOf(words, snapshot, family));
    heap.free(snapshot);
  };

  const sweepRetired = (): void => {
    retired = retired.filter((view) => {
      if (publisher.isPinned(view)) return true;
      for (const snapshot of views.states(view)) releaseSnapshot(snapshot);
      views.free(view);
      return false;
    });
    work();
  };

  const giveUp = (snapshot: number): void => {
    heldSnapshots--;
    releaseSnapshot(snapshot);
    sweepRetired();
  };

  const freeAll = (): void => {
    sweepRetired();
    while (releaser.work(freedATurn));
  };

  /** Lets readers see what is published, all of it at once. */
  const showView = (changed: readonly AddressRange[] | undefined): void => {
    const states = published === 0 ? layers : [published, ...layers];
    for (const snapshot of states) retain(words, snapshot);
    const view = views.add(states, published === 0 ? layerBits : [0, ...layerBits]);
    // Both parts only grow, so that no version comes twice.
    const version = (published === 0 ? 0 : versionOf(words, published)) + layerChanges;
    noteChanges(version, changed);
    publisher.publish(view, version);
    if (shown !== 0) retired.push(shown);
    shown = view;
    sweepRetired();
  };

  /** Gives a state an object, which holds it. */
  const show = (snapshot: number, changes?: ChangesOf, weight = 0): UdmIndex => {
    const hold: HeldSnapshot = {
      snapshot,
      weight: weight === 0 ? undefined : new ArrayBuffer(weight),
      serial: ++lastSerial,
      changes,
    };
    heldSnapshots++;
    lost.register(hold, snapshot, hold);
    const held = (): number => {
      if (hold.snapshot === 0) throw new Error("this state of the metadata was released");
      return hold.snapshot;
    };
    const index: UdmIndex = {
      version: versionOf(words, snapshot),
      size: sizeOf(words, snapshot),
      ...questions.of(held),
      edit: () => edits.begin(held(), hold.serial),
    };
    heldByIndex.set(index, hold);
    return index;
  };

  const edits = createIndexEdits({
    heap,
    limits,
    reader,
    writer: () => writer,
    releaser,
    freeSome: work,
    freeAll,
    show,
  });

  return {
    empty: () => show(writeSnapshot(heap, { root4: 0, root6: 0, size: 0, version: 0 })),
    lend(before) {
      freeAll();
      const snapshot = (before && heldByIndex.get(before)?.snapshot) ?? 0;
      const version = (before?.version ?? 0) + 1;
      return { heap: heap.lend(), limits, before: snapshot, version, serial: writer.serial() };
    },
    adopt(loan, built) {
      heap.takeBack(loan.heap, built.heap);
      writer = createEntryWriter(heap, built.serial);
      const [tree, entries] = built.heap.used;
      return show(built.snapshot, undefined, Math.max(snapshotWeight, (tree + entries) >>> 2));
    },
    takeBack: (loan) => heap.takeBack(loan.heap),
    publish(index) {
      const hold = heldByIndex.get(index);
      if (hold === undefined || hold.snapshot === 0) throw new Error("not a state of this index");
      const { snapshot, changes } = hold;
      if (snapshot === published) return [];
      const changed = changes?.since === publishedSerial ? changes.keys : undefined;
      // Reported once; what is published again later differs from something else.
      hold.changes = undefined;
      published = snapshot;
      publishedSerial = hold.serial;
      showView(changed);
      return changed;
    },
    layerPlaces,
    publishLayers(next, changed) {
      if (next.length >= mostStates) throw new Error(`there may be ${mostStates - 1} layers at most`);
      layers = next.map(({ index }) => {
        const snapshot = heldByIndex.get(index)?.snapshot ?? 0;
        if (snapshot === 0) throw new Error("not a state of this index");
        return snapshot;
      });
      layerBits = next.map(({ places }) => places?.bit ?? 0);
      layerChanges++;
      showView(changed);
    },
    release(index) {
      const hold = heldByIndex.get(index);
      if (hold === undefined || hold.snapshot === 0) return;
      lost.unregister(hold);
      const { snapshot } = hold;
      hold.snapshot = 0;
      giveUp(snapshot);
    },
    handle() {
      const slot = publisher.takeSlot();
      if (slot === undefined) throw new Error(`an index has ${maxReaders} readers at most`);
      return { heap: heap.buffer, control, views: viewBuffer, places: placesBuffer, changes: changeBuffer, ...slot };
    },
    closeReader(handle) {
      publisher.freeSlot(handle);
      sweepRetired();
    },
    stats() {
      const tree = heap.usedBytes(treePart);
      const entries = heap.usedBytes(entryPart);
      const free = heap.heldBytes() - tree - entries;
      const activeReaders = publisher.pinnedReaders();
      return { reserved: heap.buffer.byteLength, tree, entries, free, heldSnapshots, activeReaders };
    },
  };
}
