import type { FileIo } from "../../base/file/index.ts";
import type { Clock, Health, Log, Metrics } from "../../base/report/index.ts";
import type { EntryChange } from "../model/apply-writes.ts";
import type { UdmIndex } from "../model/udm-index.ts";
import type { UdmHistory } from "./history-contract.ts";

/** A commit that is about to be saved. */
export interface NewChange {
  readonly author: string;
  readonly method: string;
  readonly changes: readonly EntryChange[];
}

/** What a source has made of its layer. */
export interface NewLayerChange extends NewChange {
  readonly layer: string;
  /** How many entries differ; `changes` may have fewer. */
  readonly entries: number;
}

/** The history of a store, which writes it. Calls that change it follow one another. */
export interface StoreHistory extends UdmHistory {
  /**
   * Reads what is kept, and brings it into agreement with the file. Never throws: without its files there is no history.
   *
   * @param stamp of the file; another one than at the last stop: a person may have edited it.
   */
  open(index: UdmIndex, stamp: string): Promise<void>;
  /**
   * Keeps the commits of a group durably, before the file is saved: what is in the file is in the history, too.
   *
   * @returns the number of each; undefined for those that change nothing, and without a history.
   * @throws the errors of the system; nothing is kept then.
   */
  append(group: readonly NewChange[]): Promise<readonly (number | undefined)[]>;
  /**
   * Keeps a change that is made already, of what is not in the file. Never throws: what a source says counts even when it cannot be noted.
   * Not between {@link append} and what ends it.
   */
  note(change: NewLayerChange): Promise<void>;
  /** The file is saved: what was appended counts. A big change takes several turns of the event loop. */
  keep(): Promise<void>;
  /** The file could not be saved: what was appended is taken back. */
  takeBack(): Promise<void>;
  /** @param stamp of the file, as it was saved last. */
  close(stamp: string): Promise<void>;
}

export interface HistoryOptions {
  readonly io: FileIo;
  /** Of the paths of its files; a number is added. */
  readonly path: string;
  /** Of all files together; 0 for no history. */
  readonly maxBytes: number;
  /** The state with all changes that are kept; undefined before there is one. */
  readonly current: () => UdmIndex | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Health;
}
