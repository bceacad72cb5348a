import type { Worker } from "node:worker_threads";
import type { Log, Clock, Component, Health, Metrics } from "../../base/report/index.ts";
import type { SharedIndex } from "../index/shared-index.ts";
import type {
  AddressRange,
  UdmIndex,
  UdmStore,
  AddressIndex,
  PlanWrites,
  UdmCommit,
  UdmWrite,
  WriteOrigin,
} from "../model/udm-store.ts";
import { openSharedIndex, type SharedIndexReader, type SharedIndexHandle } from "../index/shared-reader.ts";
import type { FileIo } from "../../base/file/index.ts";
import type { Key } from "../../base/ip/index.ts";
import type { UdmHistory } from "../history/change.ts";
import type { UdmLayers } from "./udm-layers.ts";

/**
 * The state that a store shows to all who read.
 *
 * @param changed called last after each change, with where it may be; undefined: anywhere.
 */
export class PublishedState {
  readonly #shared: SharedIndex;
  readonly #changed: (changed: readonly AddressRange[] | undefined) => void;
  readonly #log: Log;
  readonly #listeners = new Set<Parameters<UdmStore["watch"]>[0]>();
  #index: UdmIndex | undefined;

  constructor(shared: SharedIndex, changed: (changed: readonly AddressRange[] | undefined) => void, log: Log) {
    this.#shared = shared;
    this.#changed = changed;
    this.#log = log;
  }

  /** Undefined before there is one. */
  index(): UdmIndex | undefined {
    return this.#index;
  }

  /** Shows another state: to threads, then to listeners in the same turn. */
  makeCurrent(next: UdmIndex): void {
    if (next === this.#index) return;
    const ranges = this.#shared.publish(next);
    this.#index = next;
    for (const listener of this.#listeners) this.#notify(listener, next, ranges);
    this.#changed(ranges);
  }

  watch(listener: (index: UdmIndex, changed?: readonly AddressRange[]) => void): () => void {
    this.#listeners.add(listener);
    if (this.#index !== undefined) this.#notify(listener, this.#index);
    return () => void this.#listeners.delete(listener);
  }

  #notify(listener: Parameters<UdmStore["watch"]>[0], state: UdmIndex, ranges?: readonly AddressRange[]): void {
    try {
      listener(state, ranges);
    } catch (error) {
      this.#log.error({ error }, "a listener to metadata changes failed");
    }
  }
}

type AddressListener = (index: AddressIndex, changed?: readonly AddressRange[]) => void;

/** Reports each change of any layer to what looks up addresses in this thread. */
export class AddressWatch {
  readonly #shared: SharedIndex;
  readonly #log: Log;
  readonly #listeners = new Set<AddressListener>();
  #reader: SharedIndexReader | undefined;

  constructor(shared: SharedIndex, log: Log) {
    this.#shared = shared;
    this.#log = log;
  }

  /** @param hasState whether there is anything to be seen yet. @returns a function that ends it. */
  add(listener: AddressListener, hasState: boolean): () => void {
    this.#listeners.add(listener);
    if (hasState) this.#notify(listener, this.#now());
    return () => void this.#listeners.delete(listener);
  }

  changed(changed: readonly AddressRange[] | undefined): void {
    if (this.#listeners.size === 0) return;
    const index = this.#now();
    for (const listener of this.#listeners) this.#notify(listener, index, changed);
  }

  /** Another object for each version: that is how a listener knows them apart. */
  #now(): AddressIndex {
    const open = (this.#reader ??= openSharedIndex(this.#shared.handle()));
    return { covering: (address) => open.covering(address), texts: open.texts };
  }

  #notify(listener: AddressListener, index: AddressIndex, changed?: readonly AddressRange[]): void {
    try {
      listener(index, changed);
    } catch (error) {
      this.#log.error({ error }, "a listener to metadata changes failed");
    }
  }
}

export interface UdmFileStoreOptions {
  /** Path of the YAML file. */
  readonly path: string;
  /** Whether writes are taken: the file is then ours alone, locked, rewritten, and not read again once it was read. */
  readonly owned: boolean;
  /** Not owned: how often to look whether the file has changed, in milliseconds; 0 for never. */
  readonly refreshMs: number;
  /** Most entries; memory is reserved for this many, which costs address space until it is used. */
  readonly maxEntries?: number;
  /** What a message about a limit says of how to raise it. */
  readonly limitName?: string;
  /** Called with a file that could be read and used, unless a thread of its own has read it. */
  readonly fileRead?: (bytes: Uint8Array) => void;
  readonly io?: FileIo;
  /** Starts a thread that runs {@link serveFileThread}, for big files; without it all is done in this thread. */
  readonly startThread?: (() => Worker) | undefined;
  /** A file of this many bytes is a big one. */
  readonly threadBytes?: number;
  /** A directory that outlives the process, for a file that cannot be replaced but overwritten; "" for none. */
  readonly stateDirectory?: string;
  /** Most bytes of the history of changes, which is in the state directory; 0 for none. */
  readonly historyBytes?: number;
  /** Runs an action once after a time, without keeping the process alive. @returns a function that calls it off. */
  readonly after?: (action: () => void, ms: number) => () => void;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly health: Health;
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

/** Where entries are in the file. */
export interface UdmPlaces {
  /** Its path as it is set. */
  readonly file: string;
  /**
   * The lines on which the entries with these keys begin, from 1 on. Undefined for those that are not there; for all of them when a
   * person has changed the file since the API owns it, and when it cannot be read.
   */
  linesOf(keys: readonly Key[]): Promise<readonly (number | undefined)[]>;
}

/** A store that threads can look into. */
export interface CollectorUdmStore extends UdmStoreWithHistory, Component {
  /**
   * What a reader in another thread needs to see each state as soon as its commit is answered; each reader
   * needs its own. It sees no entries while no state could be read.
   */
  readerHandle(): SharedIndexHandle;
  /** Where entries are in the file. */
  readonly places: UdmPlaces;
  /** What sources add, apart from what people wrote; look-ups see all of it. */
  readonly layers: UdmLayers;
  /**
   * Calls the listener with what look-ups see of all layers, at once if there is anything, and with another object after each change,
   * together with where it may be; undefined: anywhere.
   *
   * @returns a function that ends it.
   */
  readonly watchAddresses: (listener: (index: AddressIndex, changed?: readonly AddressRange[]) => void) => () => void;
  /** To be called when a thread with a reader has ended, however that was. */
  closeReader(handle: SharedIndexHandle): void;
}
