import type { Worker } from "node:worker_threads";
import { type EntryChange, applyWrites, Watchers } from "../model/apply-writes.ts";
import {
  UdmError,
  type UdmCommit,
  type WriteOrigin,
  type UdmIndex,
  type PlanWrites,
  type UdmWrite,
  type AddressIndex,
  type AddressRange,
  type UdmStore,
} from "../model/udm-store.ts";
import { ChangeLog } from "./udm-pages.ts";
import { runAfter, type FileIo } from "../../base/file/index.ts";
import type { Address, Key } from "../../base/ip/index.ts";
import type { Clock, Component, Log, Reporting } from "../../base/report/index.ts";
import type { NewLayerChange, NewScopeChange } from "../history/history.ts";
import type { UdmHistory } from "../history/change.ts";
import { SharedIndex, type PublishedScope, type UdmLayer } from "../index/shared-index.ts";
import { SharedIndexReader, type SharedIndexHandle } from "../index/shared-reader.ts";
import type { UdmEntry } from "../model/entry.ts";
import { keyReaders, type KeyForm, type ReadKey } from "../model/name-key.ts";
import { StoreMetrics, WriteHealth } from "./store-reporting.ts";
import { UdmLayers, type LayeredEntry } from "./udm-layers.ts";

/** Returns who made a batch, and by which method, as the history has it. */
export function originOf({ writes, origin }: Batch): { readonly author: string; readonly method: string } {
  return { author: origin.user ?? origin.author ?? "", method: origin.method ?? writes[0]?.op ?? "" };
}

/** Makes the answers: of each write the entry that it left, or deleted. @param numbers of the changes in the history, by batch. */
export function committed(
  outcomes: readonly Outcome<readonly EntryChange[]>[],
  numbers: readonly (number | undefined)[],
): Outcome<UdmCommit>[] {
  return outcomes.map((outcome, i) => {
    if (!("result" in outcome)) return outcome;
    return {
      result: { entries: outcome.result.flatMap(({ before, after }) => after ?? before ?? []), change: numbers[i] },
    };
  });
}

/** One call of `submit`: writes that are applied as one. */
export interface Batch {
  /** The writes; those of a plan are put here when it has been made. */
  writes: readonly UdmWrite[];
  readonly origin: WriteOrigin;
  /** The plan of a batch that is the only one of its group. */
  readonly plan?: PlanWrites | undefined;
  /** The version of the state that they were made for, where they are good for no other one. */
  readonly onVersion?: number | undefined;
}

/** The outcomes of the batches of a group. */
interface AppliedBatches {
  /** The effects of the writes of each, in their order. */
  readonly outcomes: readonly Outcome<readonly EntryChange[]>[];
  /** Undefined when no batch changed anything. */
  readonly changed: { readonly next: UdmIndex; readonly changes: Uint8Array } | undefined;
}

/**
 * Applies batches one after the other, each to the state that the ones before it leave. A batch that breaks a rule fails
 * alone; any other error fails the group.
 *
 * @throws what is no refusal of one batch; the edit is given up then.
 */
export async function applyBatches(before: UdmIndex, batches: readonly Batch[]): Promise<AppliedBatches> {
  const edit = before.edit();
  try {
    const changes = new ChangeLog();
    const outcomes: Outcome<readonly EntryChange[]>[] = [];
    for (const batch of batches) {
      const { plan, onVersion } = batch;
      const { length } = changes;
      try {
        if (plan !== undefined) batch.writes = await plan(before);
      } catch (error) {
        outcomes.push({ error });
        continue;
      }
      try {
        if (onVersion !== undefined && (onVersion !== before.version || !changes.isEmpty)) throw overtaken();
        outcomes.push({ result: await applyWrites(edit, batch.writes, (key, yaml) => changes.add(key, yaml)) });
      } catch (error) {
        if (!(error instanceof UdmError)) throw error;
        changes.cut(length);
        outcomes.push({ error });
      }
    }
    if (!changes.isEmpty) return { outcomes, changed: { changes: changes.take(), next: edit.done() } };
    edit.drop();
    return { outcomes, changed: undefined };
  } catch (error) {
    edit.drop();
    throw error;
  }
}

function overtaken(): UdmError {
  return new UdmError("failed_precondition", "others have changed the metadata meanwhile: try again");
}

/** The outcome of one item of a group: its own, whatever that of the others. */
export type Outcome<R> = { readonly result: R } | { readonly error: unknown };

interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** One worker at a time, in the order of the calls. What comes while it works waits and is taken as one group. */
class CommitQueue<T, R> {
  readonly #commitGroup: (items: readonly T[]) => Promise<readonly Outcome<R>[]>;
  /** Groups, and actions that stand between them. */
  readonly #steps: ({ readonly items: Waiting<T, R>[]; readonly isOpen: boolean } | (() => Promise<void>))[] = [];
  #working: Promise<void> | undefined;

  /**
   * A queue that hands all that waits to `commitGroup` at once and answers in order. `commitGroup` returns one outcome
   * for each item, or throws to fail all of them.
   */
  constructor(commitGroup: (items: readonly T[]) => Promise<readonly Outcome<R>[]>) {
    this.#commitGroup = commitGroup;
  }

  /**
   * Waits for its group. Rejects with the item's own error, or with the one that the whole group ended in.
   *
   * @param isAlone whether it is to be the only one of its group.
   */
  submit(item: T, isAlone = false): Promise<R> {
    return new Promise((resolve, reject) => {
      const last = this.#steps.at(-1);
      if (!isAlone && typeof last === "object" && last.isOpen) last.items.push({ item, resolve, reject });
      else this.#steps.push({ items: [{ item, resolve, reject }], isOpen: !isAlone });
      this.#wake();
    });
  }

  /** Runs `action` alone, after what was submitted before and before what is submitted later. */
  alone<A>(action: () => Promise<A>): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#steps.push(() => action().then(resolve, reject));
      this.#wake();
    });
  }

  /** Resolves when nothing waits or works. */
  async idle(): Promise<void> {
    for (let done = this.#working; done !== undefined; done = this.#working) await done;
  }

  async #runGroup(group: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const outcomes = await this.#commitGroup(group.map((waiting) => waiting.item));
      for (const [i, waiting] of group.entries()) {
        const outcome = outcomes[i];
        if (outcome !== undefined && "result" in outcome) waiting.resolve(outcome.result);
        else waiting.reject(outcome?.error);
      }
    } catch (error) {
      for (const waiting of group) waiting.reject(error);
    }
  }

  async #work(): Promise<void> {
    // The first write of a burst waits for the others that are made in the same cycle.
    await Promise.resolve();
    for (let step = this.#steps.shift(); step !== undefined; step = this.#steps.shift()) {
      await (typeof step === "function" ? step() : this.#runGroup(step.items));
    }
    this.#working = undefined;
  }

  #wake(): void {
    this.#working ??= this.#work();
  }
}

type AddressListener = (index: AddressIndex, changed?: readonly AddressRange[]) => void;

/** The state that a store shows to all who read. */
export class PublishedState {
  readonly #shared: Pick<SharedIndex, "publish" | "handle">;
  readonly #watchers: Watchers<Parameters<Parameters<UdmStore["watch"]>[0]>>;
  readonly #addressWatchers: Watchers<Parameters<AddressListener>>;
  #index: UdmIndex | undefined;
  #reader: SharedIndexReader | undefined;

  constructor(shared: Pick<SharedIndex, "publish" | "handle">, log: Log) {
    this.#shared = shared;
    this.#watchers = new Watchers(log, "a listener to metadata changes failed");
    this.#addressWatchers = new Watchers(log, "a listener to metadata changes failed");
  }

  /** Undefined before there is one. */
  index(): UdmIndex | undefined {
    return this.#index;
  }

  /** Shows another state: to threads, then to listeners in the same cycle. */
  makeCurrent(next: UdmIndex): void {
    if (next === this.#index) return;
    const ranges = this.#shared.publish(next);
    this.#index = next;
    this.#watchers.notify(next, ranges);
    this.changed(ranges);
  }

  /** Tells those who look up addresses of a change of any layer. @param ranges where it may be; undefined: anywhere. */
  changed(ranges: readonly AddressRange[] | undefined): void {
    if (!this.#addressWatchers.isEmpty()) this.#addressWatchers.notify(this.#addresses(), ranges);
  }

  watch(listener: (index: UdmIndex, changed?: readonly AddressRange[]) => void): () => void {
    return this.#watchers.add(listener, this.#index && [this.#index]);
  }

  /** @param hasState whether there is anything to be seen yet. @returns a function that ends it. */
  watchAddresses(listener: AddressListener, hasState: boolean): () => void {
    return this.#addressWatchers.add(listener, hasState ? [this.#addresses()] : undefined);
  }

  /** Another object for each version: that is how a listener knows them apart. */
  #addresses(): AddressIndex {
    const open = (this.#reader ??= new SharedIndexReader(this.#shared.handle()));
    return {
      covering: (address) => open.covering(address),
      texts: (addresses, count, use, scopes) => open.texts(addresses, count, use, scopes),
      hasWithin: (bounds) => open.hasWithin(bounds),
      scopes: () => open.scopes(),
    };
  }
}

/** Holds what stores of scopes have in common with the store of all other entries: its index, its turn and its metrics. */
export class ScopeHost {
  readonly shared: SharedIndex;
  readonly report: StoreMetrics;
  /** Runs an action while nothing else changes the index. Actions follow one another. */
  readonly alone: <A>(action: () => Promise<A>) => Promise<A>;
  /** Returns every global entry that covers an address. */
  readonly covering: UdmLayers["covering"];
  /** Puts a change of a scope into the history; only while {@link alone}. @returns its number; undefined where it is not kept. */
  readonly note: (change: NewScopeChange) => Promise<number | undefined>;
  readonly #changed: (ranges: readonly AddressRange[] | undefined) => void;

  /** @param changed is called at each change of what look-ups see. */
  constructor(
    shared: SharedIndex,
    report: StoreMetrics,
    alone: <A>(action: () => Promise<A>) => Promise<A>,
    changed: (ranges: readonly AddressRange[] | undefined) => void,
    covering: UdmLayers["covering"],
    note: (change: NewScopeChange) => Promise<number | undefined>,
  ) {
    this.covering = covering;
    this.note = note;
    this.shared = shared;
    this.report = report;
    this.alone = alone;
    this.#changed = changed;
  }

  /** As {@link SharedIndex.publishScopes}; tells those who look up addresses. */
  publish(
    changes: ReadonlyMap<number, PublishedScope | undefined>,
    definitions?: Uint8Array,
  ): readonly AddressRange[] | undefined {
    const ranges = this.shared.publishScopes(changes, definitions);
    this.#changed(ranges);
    return ranges;
  }
}

/** Shows what a scope has in the index of all. */
export type WithinScope = {
  readonly publish: (index: UdmIndex) => readonly AddressRange[] | undefined;
  /** Shows what sources add; only while nothing else changes the index. */
  readonly showLayers: (layers: readonly UdmLayer[]) => void;
  /** Gives the global entries behind those of the scope. */
  readonly behind: (address: Address) => readonly LayeredEntry[];
};

/** Holds what both stores are made with. */
export interface StoreOptions extends Reporting {
  /** Left out: addresses. */
  readonly keys?: KeyForm;
  /** Tells whether writes are taken: a file is then ours alone, locked, rewritten, and not read again once it was read. */
  readonly owned: boolean;
  /** Most entries; memory is reserved for this many, which costs address space until it is used. */
  readonly maxEntries?: number;
  /** Names the limit in a message that says how to raise it. */
  readonly limitName?: string;
  readonly io?: FileIo;
  /** Starts a thread that runs {@link serveFileThread}, for big files; without it all is done in this thread. */
  readonly startThread?: (() => Worker) | undefined;
  /** The store in whose index the entries are, those of a scope, and what shows them there. Left out: the store has an index of its own. */
  readonly within?: WithinScope & { readonly host: ScopeHost };
  /** Runs an action once after a time, without keeping the process alive. @returns a function that calls it off. */
  readonly after?: (action: () => void, ms: number) => () => void;
}

export interface UdmFileStoreOptions extends StoreOptions {
  /** Path of the YAML file. */
  readonly path: string;
  /** Not owned: how often to look whether the file has changed, in milliseconds; 0 for never. */
  readonly refreshMs: number;
  /** Called with a file that could be read and used, unless a thread of its own has read it. */
  readonly fileRead?: (bytes: Uint8Array) => void;
  /** A file of this many bytes is a big one. */
  readonly threadBytes?: number;
  /** A directory that outlives the process, for a file that cannot be replaced but overwritten; "" for none. */
  readonly stateDirectory?: string;
  /** Most bytes of the history of changes, which is in the state directory; 0 for none. */
  readonly historyBytes?: number;
}

/** A store that remembers what was changed. */
export interface UdmStoreWithHistory extends UdmStore {
  readonly history: UdmHistory;
  /**
   * As {@link UdmStore.commit}, with the number of the change.
   *
   * @param onVersion of the state that the writes were made for, where they are good for no other one.
   * @throws UdmError; `failed_precondition` when the state is another one by then.
   */
  submit(writes: readonly UdmWrite[] | PlanWrites, origin?: WriteOrigin, onVersion?: number): Promise<UdmCommit>;
}

/** Tells where entries are in the file. */
export interface UdmPlaces {
  /** Its path as it is set. */
  readonly file: string;
  /**
   * The lines on which the entries with these keys begin, from 1 on. Undefined for those that are not there; for all of them when a
   * person has changed the file since the API owns it, and when it cannot be read.
   */
  linesOf(keys: readonly Key[]): Promise<readonly (number | undefined)[]>;
}

/** Names of stores among parts of the collector and checks of readiness. */
export const storeNames: Readonly<Record<KeyForm, string>> = { addresses: "metadata", names: "names" };

/** Without {@link StoreOptions.maxEntries}. */
const defaultMaxEntries = 2_000_000;

/** A store that threads can look into: what both stores have in common. */
export abstract class CollectorUdmStore implements UdmStoreWithHistory, Component {
  readonly name: string;
  readonly parseKey: ReadKey;
  abstract readonly history: UdmHistory;
  /** Locations of entries in the file. */
  abstract readonly places: UdmPlaces;
  /** Holds what sources add, apart from what people wrote; look-ups see all of it. */
  readonly layers: UdmLayers;
  /** Holds what stores of scopes need. */
  readonly scopes: ScopeHost;
  protected readonly shared: SharedIndex;
  protected readonly published: PublishedState;
  protected readonly report: StoreMetrics;
  protected readonly queue: CommitQueue<Batch, UdmCommit>;
  protected readonly exclusive: <A>(action: () => Promise<A>) => Promise<A>;
  protected readonly writes: WriteHealth;
  protected readonly log: Log;
  readonly #clock: Clock;

  protected constructor(options: StoreOptions) {
    const { maxEntries = defaultMaxEntries, limitName, after = runAfter, log, metrics, within } = options;
    const { keys = "addresses" } = options;
    this.name = storeNames[keys];
    this.parseKey = keyReaders[keys];
    this.log = log;
    this.#clock = options.clock;
    const shared =
      within?.host.shared ??
      new SharedIndex({
        maxEntries,
        ...(limitName !== undefined && { limitName }),
        onSmallerReserve: (bytes, askedFor) =>
          log.warn({ bytes, askedFor }, "the system reserves less memory for metadata"),
      });
    this.shared = shared;
    const shownBy = {
      publish: within?.publish ?? ((next: UdmIndex) => shared.publish(next)),
      handle: () => shared.handle(),
    };
    this.published = new PublishedState(shownBy, log);
    this.report =
      within?.host.report ??
      new StoreMetrics(
        metrics,
        () => this.published.index()?.size ?? 0,
        () => shared.stats(),
      );
    // Whoever changes the index has it alone, whichever store it is.
    this.exclusive = within?.host.alone ?? ((action) => action());
    this.queue = new CommitQueue((batches) => this.exclusive(() => this.commitGroup(batches)));
    this.scopes = new ScopeHost(
      shared,
      this.report,
      (action) => this.queue.alone(action),
      (ranges) => this.published.changed(ranges),
      (address) => this.layers.covering(address),
      (change) => this.noteScope(change),
    );
    this.writes = new WriteHealth(
      () => this.tryWrite(),
      (action) => this.queue.alone(action),
      after,
      options,
      this.name,
    );
    this.layers = new UdmLayers(
      this.shared,
      this.published,
      (action) => this.queue.alone(() => this.exclusive(action)),
      (change) => this.noteLayer(change),
      within?.behind,
      within?.showLayers,
    );
  }

  abstract start(): Promise<void>;
  abstract stop(): Promise<void>;
  abstract load(): Promise<UdmIndex>;
  abstract current(): UdmIndex;
  /** Saves batches at once. Calls follow one another. @throws UdmError for all of them. */
  protected abstract commitGroup(batches: readonly Batch[]): Promise<readonly Outcome<UdmCommit>[]>;
  /** @throws UdmError while no writes are taken. */
  protected abstract checkWritable(): void;
  /** Finds out whether a write would be possible, without one. @throws Error that says why not, in words for an operator. */
  protected abstract tryWrite(): Promise<void>;
  /** Puts a change of a layer into the history. Never throws: what a source says counts even when it cannot be noted. */
  protected abstract noteLayer(change: NewLayerChange): Promise<void>;
  /** The same for a change of a scope. @returns its number; undefined where it is not kept. */
  protected abstract noteScope(change: NewScopeChange): Promise<number | undefined>;

  async submit(
    writes: readonly UdmWrite[] | PlanWrites,
    origin: WriteOrigin = {},
    onVersion?: number,
  ): Promise<UdmCommit> {
    const start = this.#clock.monotonic();
    try {
      this.checkWritable();
      const isPlanned = typeof writes === "function";
      const batch = isPlanned ? { writes: [], plan: writes, origin } : { writes, origin, onVersion };
      const answer = await this.queue.submit(batch, isPlanned);
      this.report.committed("ok", this.#clock.monotonic() - start);
      return answer;
    } catch (error) {
      this.report.committed(error instanceof UdmError ? error.code : "error", this.#clock.monotonic() - start);
      throw error;
    }
  }

  async commit(writes: readonly UdmWrite[], origin?: WriteOrigin): Promise<readonly UdmEntry[]> {
    return (await this.submit(writes, origin)).entries;
  }

  watch(listener: (index: UdmIndex, changed?: readonly AddressRange[]) => void): () => void {
    return this.published.watch(listener);
  }

  /**
   * Calls the listener with what look-ups see of all layers, at once if there is anything, and with another object after each change,
   * together with where it may be; undefined: anywhere.
   *
   * @returns a function that ends it.
   */
  readonly watchAddresses = (listener: AddressListener): (() => void) =>
    this.published.watchAddresses(listener, this.published.index() !== undefined || this.layers.list().length > 0);

  /**
   * Returns the handle that a reader in another thread needs to see each state as soon as its commit is answered; each reader
   * needs its own. It sees no entries while no state could be read.
   */
  readerHandle(): SharedIndexHandle {
    return this.shared.handle();
  }

  /** To be called when a thread with a reader has ended, however that was. */
  closeReader(handle: SharedIndexHandle): void {
    this.shared.closeReader(handle);
  }
}
