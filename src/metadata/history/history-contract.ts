import type { Key } from "../../base/ip/index.ts";
import type { EntryChange } from "../model/apply-writes.ts";

/** What is known of a change without its entries. */
export interface ChangeHead {
  /** Grows by one with each change; the first one is 1. */
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** The user who was authenticated, `cli`, the name of a source, `file` for an edit by hand; empty when nobody is known. */
  readonly author: string;
  /** The method that was called: `UpdateUdm`. */
  readonly method: string;
  /** How many entries differ. */
  readonly entries: number;
  /** The layer whose entries they are; undefined: those that people write. */
  readonly layer?: string | undefined;
  /** Which collector has made the change, where several share the metadata. */
  readonly collector?: string | undefined;
}

/** One commit: what happened to which entries. */
export interface UdmChange extends ChangeHead {
  readonly changes: readonly EntryChange[];
  /**
   * Whether the change was too big to be kept with its entries, so that it cannot be undone: there are none, or of a layer some.
   */
  readonly isCut: boolean;
}

export interface HistoryQuery {
  /** Changes of the entry with exactly this key. */
  readonly key?: Key | undefined;
  readonly author?: string | undefined;
  /** Changes of entries that people write only. */
  readonly withoutLayers?: boolean | undefined;
  /** Changes with higher numbers only. */
  readonly after?: number | undefined;
  /** Changes with lower numbers only. */
  readonly before?: number | undefined;
  readonly limit: number;
}

/** The changes of the metadata. Bounded: the oldest go first. */
export interface UdmHistory {
  /** Whether changes are kept. */
  isOn(): boolean;
  /**
   * Names the numbering of the changes: letters and digits. It is another one when numbers may be given a second time, because the history was
   * lost or damaged, or is one of another database. Empty while it is not known.
   */
  epoch(): string;
  /** The number of the last change; 0 before there was one. */
  last(): number;
  /** The number of the oldest change that is kept; one above the last when none is. */
  first(): number;
  /** Changes, the newest first. */
  list(query: HistoryQuery): Promise<readonly UdmChange[]>;
  /** Undefined when it is not kept, or never was. */
  get(number: number): Promise<UdmChange | undefined>;
  /** For each key the change that made its entry, of those that people write, what it is; undefined when none that is kept has. */
  lastOf(keys: readonly Key[]): Promise<readonly (ChangeHead | undefined)[]>;
  /**
   * Calls the listener with each change, in order, after it is saved.
   *
   * @returns a function that ends it.
   */
  watch(listener: (change: UdmChange) => void): () => void;
}
