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

/** Returns the author and the method of a batch, as the history records them. */
export function originOf({ writes, origin }: Batch): { readonly author: string; readonly method: string } {
  return { author: origin.user ?? origin.author ?? "", method: origin.method ?? writes[0]?.op ?? "" };
}

/** Returns the answers: for each write, the entry that it left or deleted. @param numbers the history's numbers of the changes, by batch. */
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

/** The writes of one call of `submit`. They are applied together. */
export interface Batch {
  /** The writes. Those of a plan are set when it has run. */
  writes: readonly UdmWrite[];
  readonly origin: WriteOrigin;
  /** The plan that makes the writes. Its batch is the only one of its group. */
  readonly plan?: PlanWrites | undefined;
  /** The only version of the state to which the writes may be applied, if they depend on one. */
  readonly onVersion?: number | undefined;
}

/** The outcomes of the batches of a group. */
interface AppliedBatches {
  /** The effects of the writes of each batch, in their order. */
  readonly outcomes: readonly Outcome<readonly EntryChange[]>[];
  /** Undefined when no batch changed anything. */
  readonly changed: { readonly next: UdmIndex; readonly changes: Uint8Array } | undefined;
}

/**
 * Applies batches one after the other, each to the state after the earlier ones. A batch that breaks a rule fails
 * alone; any other error fails the group.
 *
 * @throws any error that is not the refusal of one batch. The edit is discarded then.
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

/** The outcome of one item of a group, independent of the other items. */
export type Outcome<R> = { readonly result: R } | { readonly error: unknown };

interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** A queue with one worker at a time, in the order of the calls. Items that arrive while it works form the next group. */
class CommitQueue<T, R> {
  readonly #commitGroup: (items: readonly T[]) => Promise<readonly Outcome<R>[]>;
  /** The groups, and the actions between them. */
  readonly #steps: ({ readonly items: Waiting<T, R>[]; readonly isOpen: boolean } | (() => Promise<void>))[] = [];
  #working: Promise<void> | undefined;

  /**
   * Creates a queue that passes all waiting items to `commitGroup` at once and answers in order. `commitGroup` returns one outcome
   * for each item, or throws to fail all of them.
   */
  constructor(commitGroup: (items: readonly T[]) => Promise<readonly Outcome<R>[]>) {
    this.#commitGroup = commitGroup;
  }

  /**
   * Adds an item and waits for its group. Rejects with the error of the item or of the whole group.
   *
   * @param isAlone true makes the item the only one of its group.
   */
  submit(item: T, isAlone = false): Promise<R> {
    return new Promise((resolve, reject) => {
      const last = this.#steps.at(-1);
      if (!isAlone && typeof last === "object" && last.isOpen) last.items.push({ item, resolve, reject });
      else this.#steps.push({ items: [{ item, resolve, reject }], isOpen: !isAlone });
      this.#wake();
    });
  }

  /** Runs `action` alone, after all earlier items and before all later ones. */
  alone<A>(action: () => Promise<A>): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#steps.push(() => action().then(resolve, reject));
      this.#wake();
    });
  }

  /** Resolves when no item is waiting or in progress. */
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
    // The first write of a burst waits for the others of the same turn of the event loop.
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

/** The state that a store shows to all readers. */
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

  /** Returns the state; undefined before there is one. */
  index(): UdmIndex | undefined {
    return this.#index;
  }

  /** Publishes a new state: to threads, then to listeners in the same turn of the event loop. */
  makeCurrent(next: UdmIndex): void {
    if (next === this.#index) return;
    const ranges = this.#shared.publish(next);
    this.#index = next;
    this.#watchers.notify(next, ranges);
    this.changed(ranges);
  }

  /** Notifies address listeners of a change of any layer. @param ranges the addresses that may have changed; undefined means anywhere. */
  changed(ranges: readonly AddressRange[] | undefined): void {
    if (!this.#addressWatchers.isEmpty()) this.#addressWatchers.notify(this.#addresses(), ranges);
  }

  watch(listener: (index: UdmIndex, changed?: readonly AddressRange[]) => void): () => void {
    return this.#watchers.add(listener, this.#index && [this.#index]);
  }

  /** Adds an address listener. @param hasState true where there is a state to show. @returns a function that removes it. */
  watchAddresses(listener: AddressListener, hasState: boolean): () => void {
    return this.#addressWatchers.add(listener, hasState ? [this.#addresses()] : undefined);
  }

  /** Returns a new object for each version, so that a listener can distinguish versions. */
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

/** The parts that stores of scopes share with the store of all other entries: its index, its queue and its metrics. */
export class ScopeHost {
  readonly shared: SharedIndex;
  readonly report: StoreMetrics;
  /** Runs an action while nothing else changes the index. Actions run one after the other. */
  readonly alone: <A>(action: () => Promise<A>) => Promise<A>;
  /** Returns every global entry that covers an address. */
  readonly covering: UdmLayers["covering"];
  /** Records a change of a scope in the history; only inside {@link alone}. @returns its number; undefined where it is not kept. */
  readonly note: (change: NewScopeChange) => Promise<number | undefined>;
  readonly #changed: (ranges: readonly AddressRange[] | undefined) => void;

  /** @param changed is called at each change that look-ups see. */
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

  /** Does the same as {@link SharedIndex.publishScopes}, and notifies address listeners. */
  publish(
    changes: ReadonlyMap<number, PublishedScope | undefined>,
    definitions?: Uint8Array,
  ): readonly AddressRange[] | undefined {
    const ranges = this.shared.publishScopes(changes, definitions);
    this.#changed(ranges);
    return ranges;
  }
}

/** The functions that show the entries of a scope in the common index. */
export type WithinScope = {
  readonly publish: (index: UdmIndex) => readonly AddressRange[] | undefined;
  /** Shows the entries of sources. Nothing else may change the index meanwhile. */
  readonly showLayers: (layers: readonly UdmLayer[]) => void;
  /** Returns the global entries that apply after those of the scope. */
  readonly behind: (address: Address) => readonly LayeredEntry[];
};

/** The options that both stores share. */
export interface StoreOptions extends Reporting {
  /** The form of the keys. The default is addresses. */
  readonly keys?: KeyForm;
  /** True where writes are accepted. The store then locks and rewrites its file, and does not read it again after the first time. */
  readonly owned: boolean;
  /** The most entries. Memory is reserved for all of them, which costs only address space until it is used. */
  readonly maxEntries?: number;
  /** The name of the limit, for a message about raising it. */
  readonly limitName?: string;
  readonly io?: FileIo;
  /** Starts a thread that runs {@link serveFileThread}, for big files. Without it, this thread does all the work. */
  readonly startThread?: (() => Worker) | undefined;
  /** For the entries of a scope: the store whose index has them, and the functions that show them. If left out, the store has its own index. */
  readonly within?: WithinScope & { readonly host: ScopeHost };
  /** Runs an action once after a time, without keeping the process alive. @returns a function that cancels it. */
  readonly after?: (action: () => void, ms: number) => () => void;
}

export interface UdmFileStoreOptions extends StoreOptions {
  /** The path of the YAML file. */
  readonly path: string;
  /** The interval in milliseconds at which a file that is not owned is checked for changes; 0 for never. */
  readonly refreshMs: number;
  /** Is called with the bytes of a valid file, unless the file thread has read it. */
  readonly fileRead?: (bytes: Uint8Array) => void;
  /** The size in bytes from which a file counts as big. */
  readonly threadBytes?: number;
  /** A persistent directory, needed for a file that can only be overwritten, not replaced; "" for none. */
  readonly stateDirectory?: string;
  /** The most bytes of the history of changes, which is in the state directory; 0 for no history. */
  readonly historyBytes?: number;
}

/** A store that keeps a history of changes. */
export interface UdmStoreWithHistory extends UdmStore {
  readonly history: UdmHistory;
  /**
   * Does the same as {@link UdmStore.commit}, and returns the number of the change.
   *
   * @param onVersion the only version of the state to which the writes may be applied, if they depend on one.
   * @throws UdmError; `failed_precondition` when the state has another version by then.
   */
  submit(writes: readonly UdmWrite[] | PlanWrites, origin?: WriteOrigin, onVersion?: number): Promise<UdmCommit>;
}

/** The places of entries in the file. */
export interface UdmPlaces {
  /** The configured path of the file. */
  readonly file: string;
  /**
   * Returns the lines on which the entries with these keys begin, from 1 on. Undefined for missing entries. Undefined for all where a
   * person has changed the file since the API owns it, or where it cannot be read.
   */
  linesOf(keys: readonly Key[]): Promise<readonly (number | undefined)[]>;
}

/** The names of stores as components and as readiness checks. */
export const storeNames: Readonly<Record<KeyForm, string>> = { addresses: "metadata", names: "names" };

/** The default of {@link StoreOptions.maxEntries}. */
const defaultMaxEntries = 2_000_000;

/** The common base of both stores. Other threads can read its state. */
export abstract class CollectorUdmStore implements UdmStoreWithHistory, Component {
  readonly name: string;
  readonly parseKey: ReadKey;
  abstract readonly history: UdmHistory;
  /** The places of entries in the file. */
  abstract readonly places: UdmPlaces;
  /** The entries of sources, apart from those that people write. Look-ups see both. */
  readonly layers: UdmLayers;
  /** The parts that stores of scopes need. */
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
    // Only one store may change the common index at a time.
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
  /** Saves batches together. Calls run one after the other. @throws UdmError for all of them. */
  protected abstract commitGroup(batches: readonly Batch[]): Promise<readonly Outcome<UdmCommit>[]>;
  /** Checks that writes are accepted. @throws UdmError while they are not. */
  protected abstract checkWritable(): void;
  /** Tests whether a write would be possible, without writing. @throws Error with the reason, for an operator. */
  protected abstract tryWrite(): Promise<void>;
  /** Records a change of a layer in the history. It never throws: the entries of a source apply even if they cannot be recorded. */
  protected abstract noteLayer(change: NewLayerChange): Promise<void>;
  /** Records a change of a scope in the history. @returns its number; undefined where it is not kept. */
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
   * Calls the listener with the view of look-ups over all layers: at once if there is a state, and with a new object after each change.
   * It also passes the addresses that may have changed; undefined means anywhere.
   *
   * @returns a function that removes the listener.
   */
  readonly watchAddresses = (listener: AddressListener): (() => void) =>
    this.published.watchAddresses(listener, this.published.index() !== undefined || this.layers.list().length > 0);

  /**
   * Returns a handle with which a reader in another thread sees each state as soon as its commit is answered. Each reader
   * needs its own handle. It sees no entries as long as no state could be read.
   */
  readerHandle(): SharedIndexHandle {
    return this.shared.handle();
  }

  /** Releases a reader's handle. It must be called whenever the reader's thread has ended. */
  closeReader(handle: SharedIndexHandle): void {
    this.shared.closeReader(handle);
  }
}
