import type { Worker } from "node:worker_threads";
import type { FileIo } from "../../base/file/index.ts";
import type { Clock, Component, Health, Log, Metrics } from "../../base/report/index.ts";
import type { Key } from "../../base/ip/index.ts";
import type { SharedIndexHandle } from "../index/shared-reader.ts";
import type { AddressIndex, AddressRange } from "../model/udm-index.ts";
import type { UdmHistory } from "../history/history-contract.ts";
import type { PlanWrites, UdmCommit, UdmStore, UdmWrite, WriteOrigin } from "../model/udm-store.ts";
import type { UdmLayers } from "./udm-layers.ts";

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
