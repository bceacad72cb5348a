import type { Address, Key } from "../../base/ip/index.ts";
import type { UdmEntry, UdmField, UdmValues } from "./entry.ts";
import type { ReadKey } from "./name-key.ts";
import type { ScopeDefinition } from "./scope.ts";

/** A range of addresses, both ends included. Each key is such a range. */
export type AddressRange = Pick<Key, "family" | "first" | "last"> & {
  /** The number of the scope of the addresses. If left out, the range applies to all scopes. */
  readonly scope?: number;
};

/** The metadata of addresses, either a snapshot or the current state. */
export interface AddressIndex {
  /** Returns every prefix, range and IP entry that covers the address, outside scopes. An IPv4-mapped address is not unmapped. */
  covering(address: Address): UdmEntry[];
  /**
   * Reads the JSON texts of the entries that cover addresses, all from one view. The most specific comes first ({@link compareSpecificity}).
   * The memory of all addresses is read in parallel.
   *
   * @param addresses four words for each address, IPv4 in its mapped form.
   * @param use receives a function that reads the texts of the address at a position. It must not keep those texts.
   * @param scopes the number of the scope of each address. If left out, no address is in a scope. Entries of the scope come before all others.
   * @returns the result of `use`.
   */
  texts<T>(
    addresses: Int32Array,
    count: number,
    use: (read: (i: number) => CoveringEntryTexts) => T,
    scopes?: Int32Array,
  ): T;
  /** Reports whether any entry lies within a key. Where this method is left out, there may be some. */
  hasWithin?(bounds: Key): boolean;
  /** Returns the scopes. Each change of them gives a new list with a new serial. Where this method is left out, there are none. */
  scopes?(): ScopeList;
}

/** The definitions of scopes, in their order. */
export interface ScopeList {
  /** A number that differs for different definitions; 0 where there never were any. */
  readonly serial: number;
  readonly scopes: readonly ScopeDefinition[];
}

/** The texts of entries as {@link udmJson} writes them, as positions in a buffer. */
export interface EntryTexts {
  readonly bytes: Uint8Array;
  /** The position of the first byte of each text. */
  readonly starts: readonly number[];
  /** The position after the last byte of each text. */
  readonly ends: readonly number[];
  readonly count: number;
}

/** The texts of the entries that cover an address. */
export interface CoveringEntryTexts extends EntryTexts {
  /** Two numbers for each text. While {@link EntryTexts.bytes} is the same object, the same two numbers identify the same text. */
  readonly ids: readonly number[];
  /** The contexts in which each entry applies: one bit for each of {@link udmContexts}, in their order. */
  readonly contexts: readonly number[];
  /** True where the most specific entry is an IP, so that no other address has the same entries. */
  readonly isOfOneAddress: boolean;
}

/**
 * An immutable snapshot of all entries. A reader sees the same entries for as long as it holds the snapshot. Every result
 * is in list order ({@link compareKeys}).
 */
export interface UdmIndex extends AddressIndex {
  /** The version, which grows with every change of the database. Equal versions of one store mean equal entries. */
  readonly version: number;
  readonly size: number;
  /** Returns the entry with exactly this key. */
  get(key: Key): UdmEntry | undefined;
  /** Returns every entry whose first and last addresses lie within `bounds`, including an entry of `bounds` itself. */
  within(bounds: Key): Iterable<UdmEntry>;
  /** Returns all entries. */
  entries(): Iterable<UdmEntry>;
  /**
   * Yields one text of each selected entry, in UTF-8, without creating entry objects. The state stays the same while the iterator
   * is in use.
   *
   * @param separator the text between two texts, in the same chunk as the second.
   * @param maxBytes the most bytes of a chunk, unless a single text is longer.
   */
  render(selection: UdmSelection, text: UdmText, separator: string, maxBytes: number): Generator<Uint8Array, void>;
  /**
   * Yields the JSON texts of the selected entries as positions in a buffer, some at a time. The caller must read each result before
   * it asks for the next. The state stays the same while the iterator is in use.
   *
   * @param maxBytes the most bytes of one result, unless a single text is longer.
   */
  jsonTexts(selection: UdmSelection, maxBytes: number): Generator<EntryTexts, void>;
  /** Begins a set of changes on top of this index. The index itself does not change. */
  edit(): UdmEdit;
}

/** A selection of entries, one for each query of a {@link UdmIndex}: all, the entry of a key, and so on. */
export type UdmSelection = "all" | { readonly key: Key } | { readonly within: Key } | { readonly covering: Address };

/** The name of a text of an entry: `json` is that of {@link udmJson}, `key` its key as a JSON string, `yaml` its lines in the file. */
export type UdmText = "json" | "key" | "yaml";

/** A set of changes on top of an index. If it is dropped or never finished, it leaves no trace. */
export interface UdmEdit {
  /** The number of entries with the changes. */
  readonly size: number;
  get(key: Key): UdmEntry | undefined;
  /**
   * Adds the entry, or replaces the entry with the same key.
   *
   * @param yaml its text in the file; "" for an entry that is never saved there. If left out, `renderEntry` makes it.
   * @throws UdmError `resource_exhausted` when there is no room. Nothing has changed then.
   */
  put(entry: UdmEntry, yaml?: string): void;
  /** Deletes the entry with this key. @returns true where there was one. */
  delete(key: Key): boolean;
  /** Marks the present state of the edit. One of the two methods of the mark must follow. No other mark may be open meanwhile. */
  mark(): UdmMark;
  /** Returns the changed index, with a version one higher. The edit must not be used afterwards. */
  done(): UdmIndex;
  /** Discards the changes. The edit must not be used afterwards. */
  drop(): void;
}

/** A state of an edit that can be restored. */
export interface UdmMark {
  /** Undoes all changes since the mark. */
  undo(): void;
  keep(): void;
}

/**
 * The closed set of codes with which the store refuses a request.
 * - `invalid_argument`: the request breaks a rule, or names one key twice.
 * - `not_found`, `already_exists`: the key is missing, or exists, after the earlier writes of the batch.
 * - `unavailable`: the file could not be read at start, or cannot be saved. Nothing has changed.
 * - `failed_precondition`: somebody else has changed the state that the write was made for.
 * - `resource_exhausted`: a configured limit would be exceeded.
 */
export type UdmErrorCode =
  | "invalid_argument"
  | "not_found"
  | "already_exists"
  | "failed_precondition"
  | "unavailable"
  | "resource_exhausted";

/** One fault of one write of a batch. */
export interface UdmViolation {
  /** The position of the write in the batch. */
  readonly index: number;
  /** The name of the field: `key`, `name`, `tags[2]`, `metadata[".site"]`, … */
  readonly field: string;
  /** A sentence that names the offending value. */
  readonly description: string;
}

export class UdmError extends Error {
  readonly code: UdmErrorCode;
  /** All violations of a batch, in order, at most {@link maxViolations}. */
  readonly violations: readonly UdmViolation[];

  constructor(code: UdmErrorCode, message: string, violations: readonly UdmViolation[] = [], options?: ErrorOptions) {
    super(message, options);
    this.name = "UdmError";
    this.code = code;
    this.violations = violations.slice(0, maxViolations);
  }
}

/** The most violations that an error lists. */
export const maxViolations = 100;

/** One write. Its key and values have already passed the rules of `checkUdm`. */
export type UdmWrite =
  | { readonly op: "create"; readonly key: Key; readonly values: UdmValues }
  /** Replaces all values, or only those that `fields` names. File-only fields always stay. */
  | { readonly op: "update"; readonly key: Key; readonly values: UdmValues; readonly fields?: readonly UdmField[] }
  | { readonly op: "delete"; readonly key: Key }
  /** Calls `edit` with the entry that exists when the write is applied. The function also decides about file-only fields. */
  | { readonly op: "edit"; readonly key: Key; readonly edit: (found: UdmEntry | undefined) => EditedEntry };

/**
 * Makes writes from the state to which they are applied. All other writes wait while it runs. It may be called again with another state
 * if the first save fails. If it throws, the commit fails with that error.
 */
export type PlanWrites = (state: UdmIndex) => Promise<readonly UdmWrite[]>;

/** The result of an edit of an entry: the entry, undefined for no entry, or the reason of a refusal. */
export type EditedEntry =
  | { readonly entry: UdmEntry | undefined }
  | { readonly refused: UdmErrorCode; readonly field: string; readonly description: string };

/** The origin of a write, for the log. */
export interface WriteOrigin {
  /** The name of the method that was called, such as `UpdateUdm`. */
  readonly method?: string;
  /** The authenticated user. */
  readonly user?: string;
  /** The address of the client. */
  readonly peer?: string;
  /** The author in the history where no user was authenticated: `cli`, or the name of a source. */
  readonly author?: string;
}

/** The outcome of a batch that was saved. */
export interface UdmCommit {
  /** One entry for each write: its new state, or its last state if it was deleted. Left out where an edit found no entry and made none. */
  readonly entries: readonly UdmEntry[];
  /** The number of the change in the history; undefined where nothing changed or no history is kept. */
  readonly change: number | undefined;
}

/**
 * A durable store of entries. Writes are applied one after the other in the order of the calls. Each is validated against the state
 * after the earlier writes.
 */
export interface UdmStore {
  /** Reads a key of the store. If left out, keys are addresses. */
  readonly parseKey?: ReadKey;
  /**
   * Reads the stored state and makes it the current one.
   *
   * @throws UdmError `unavailable` with the reason, and file:line:column for a broken file. The previous state stays.
   */
  load(): Promise<UdmIndex>;
  /**
   * Returns the current state.
   *
   * @throws UdmError `unavailable` with the reason, as long as no state could be read.
   */
  current(): UdmIndex;
  /**
   * Applies all writes durably, or none of them. Each saved write is logged with its origin. Resolves after the writes are saved and the new state is
   * current, with one entry for each write: its new state, or its last state for a delete.
   *
   * @throws UdmError; nothing has changed in that case.
   */
  commit(writes: readonly UdmWrite[], origin?: WriteOrigin): Promise<readonly UdmEntry[]>;
  /**
   * Calls the listener with the current state, at once if there is one, and after each change. `changed` has the addresses at which the state may
   * differ from the previous one; undefined means anywhere.
   *
   * @returns a function that removes the listener.
   */
  watch(listener: (index: UdmIndex, changed?: readonly AddressRange[]) => void): () => void;
}
