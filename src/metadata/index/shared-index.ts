import type { AddressRange, UdmIndex } from "../model/udm-index.ts";
import { createChangeBuffer, createChangeWriter } from "./change-ring.ts";
import { createEntryReader, createEntryWriter } from "./entry-block.ts";
import type { ChangesOf, HeldSnapshot } from "./held-snapshot.ts";
import { createHeap, entryPart, treePart } from "./heap.ts";
import { createIndexEdits, snapshotWeight } from "./index-edit.ts";
import type { SharedIndex, SharedIndexOptions } from "./index-contract.ts";
import { type IndexLimits } from "./index-limits.ts";
import { createPlacesBuffer, createPlacesWriter } from "./layer-places.ts";
import { layouts, retain } from "./node-layout.ts";
import { createControl, createPublisher } from "./reader-slots.ts";
import { createReleaser } from "./release-tree.ts";
import { reserveHeap } from "./reserve-heap.ts";
import { rootOf, sizeOf, versionOf, writeSnapshot } from "./snapshot-record.ts";
import { createStateQuestions } from "./state-questions.ts";
import { createViewBuffer, createViewTable, mostStates } from "./view-table.ts";

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
