import type { Address, Key } from "../../base/ip/index.ts";
import type { UdmEntry, UdmField, UdmValues } from "./entry.ts";
import type { ReadKey } from "./name-key.ts";
import type { ScopeDefinition } from "./scope.ts";

/** Addresses from one to another, both included; keys are such. */
export type AddressRange = Pick<Key, "family" | "first" | "last"> & {
  /** The number of the scope in which they are; left out: in all of them. */
  readonly scope?: number;
};

/** Metadata of addresses: a snapshot of it, or as it is now. */
export interface AddressIndex {
  /** Every prefix, range and IP entry that covers the address, scopes left alone. The address is taken as it is (no unmapping). */
  covering(address: Address): UdmEntry[];
  /**
   * The JSON texts of the entries that cover addresses, all of one view; the most specific comes first ({@link compareSpecificity}). What
   * the addresses wait for, they wait for together.
   *
   * @param addresses four words of each, IPv4 in its mapped form.
   * @param use gets what reads the texts of the address at a position; it must not keep what it is given.
   * @param scopes the number of the scope of each; left out: none is in one. Entries of the scope come before all others.
   * @returns what `use` returns.
   */
  texts<T>(
    addresses: Int32Array,
    count: number,
    use: (read: (i: number) => CoveringEntryTexts) => T,
    scopes?: Int32Array,
  ): T;
  /** Tells whether any entry lies within a key. Left out: there may be some. */
  hasWithin?(bounds: Key): boolean;
  /** The scopes; another list after each change of them, with another number. Left out: there are none. */
  scopes?(): ScopeList;
}

/** The definitions of scopes, in their order. */
export interface ScopeList {
  /** Another one for other definitions; 0: there were none ever. */
  readonly serial: number;
  readonly scopes: readonly ScopeDefinition[];
}

/** Texts of entries as {@link udmJson} has them, where they lie. */
export interface EntryTexts {
  readonly bytes: Uint8Array;
  /** The first byte of each. */
  readonly starts: readonly number[];
  /** The byte after its last. */
  readonly ends: readonly number[];
  readonly count: number;
}

/** The texts of the entries that cover an address. */
export interface CoveringEntryTexts extends EntryTexts {
  /** Two numbers for each text: while {@link EntryTexts.bytes} is the same object, the same two numbers mean the same text. */
  readonly ids: readonly number[];
  /** Tells where each entry applies: a bit for each of {@link udmContexts}, in their order. */
  readonly contexts: readonly number[];
  /** Tells whether the most specific entry is an IP, so that no other address has the same entries. */
  readonly isOfOneAddress: boolean;
}

/**
 * A snapshot of all entries. Immutable: a reader that holds one sees the same entries for as long as it holds it. Every answer
 * is in list order ({@link compareKeys}).
 */
export interface UdmIndex extends AddressIndex {
  /** Grows with every change of the database; equal versions of one store mean equal entries. */
  readonly version: number;
  readonly size: number;
  /** The entry with exactly this key. */
  get(key: Key): UdmEntry | undefined;
  /** Every entry whose first and last address lie within those of `bounds`, `bounds` itself included. */
  within(bounds: Key): Iterable<UdmEntry>;
  /** All entries. */
  entries(): Iterable<UdmEntry>;
  /**
   * A text of each of some entries, in UTF-8, without making objects of them. The state stays for as long as the iterator
   * that is given out.
   *
   * @param separator what stands between two texts, in the same chunk as the second.
   * @param maxBytes of a chunk, unless one text alone is longer.
   */
  render(selection: UdmSelection, text: UdmText, separator: string, maxBytes: number): Generator<Uint8Array, void>;
  /**
   * The JSON texts of some entries where they lie, some at a time. What is given must be read before more is asked for. The state
   * stays for as long as the iterator that is given out.
   *
   * @param maxBytes of what is given at a time, unless one text alone is longer.
   */
  jsonTexts(selection: UdmSelection, maxBytes: number): Generator<EntryTexts, void>;
  /** Begins a set of changes on top of this index, which itself stays as it is. */
  edit(): UdmEdit;
}

/** Entries as the questions of a {@link UdmIndex} find them: all, the one of a key, and so on. */
export type UdmSelection = "all" | { readonly key: Key } | { readonly within: Key } | { readonly covering: Address };

/** Names a text of an entry: `json` as {@link udmJson} has it, `key` its key as a JSON string, `yaml` its lines in the file. */
export type UdmText = "json" | "key" | "yaml";

/** Changes on top of an index. One that is dropped, or forgotten, leaves no trace. */
export interface UdmEdit {
  /** The number of entries with the changes. */
  readonly size: number;
  get(key: Key): UdmEntry | undefined;
  /**
   * Adds the entry or replaces the one with its key.
   *
   * @param yaml its text in the file; "" for an entry that never goes there. Left out: what `renderEntry` makes.
   * @throws UdmError `resource_exhausted` when there is no room; nothing has changed then.
   */
  put(entry: UdmEntry, yaml?: string): void;
  /** @returns whether there was such an entry. */
  delete(key: Key): boolean;
  /** Remembers the edit as it is. One of the two calls must follow, and no other mark be open meanwhile. */
  mark(): UdmMark;
  /** The changed index, its version one higher. The edit must not be used afterwards. */
  done(): UdmIndex;
  /** Gives the changes up. The edit must not be used afterwards. */
  drop(): void;
}

/** The state of an edit that can be gone back to. */
export interface UdmMark {
  /** Takes back what was changed since. */
  undo(): void;
  keep(): void;
}

/**
 * The closed set of ways in which the store refuses.
 * - `invalid_argument`: the request breaks a rule, or names one key twice.
 * - `not_found`, `already_exists`: as the state is after the writes before this one.
 * - `unavailable`: the file could not be read at start, or cannot be saved; nothing has changed.
 * - `failed_precondition`: others have changed what the write was made for.
 * - `resource_exhausted`: a configured limit would be exceeded.
 */
export type UdmErrorCode =
  | "invalid_argument"
  | "not_found"
  | "already_exists"
  | "failed_precondition"
  | "unavailable"
  | "resource_exhausted";

/** One thing that is wrong with one write of a batch. */
export interface UdmViolation {
  /** Position of the write in the batch. */
  readonly index: number;
  /** `key`, `name`, `tags[2]`, `metadata[".site"]`, … */
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

/** One change. Keys and values have been checked by the rules of `checkUdm`. */
export type UdmWrite =
  | { readonly op: "create"; readonly key: Key; readonly values: UdmValues }
  /** Without `fields` all values are replaced, else only those named; file-only fields always stay. */
  | { readonly op: "update"; readonly key: Key; readonly values: UdmValues; readonly fields?: readonly UdmField[] }
  | { readonly op: "delete"; readonly key: Key }
  /** The edit decides about the entry when it is applied, by what is there then. Fields known in the file only are its matter, too. */
  | { readonly op: "edit"; readonly key: Key; readonly edit: (found: UdmEntry | undefined) => EditedEntry };

/**
 * Makes writes of the state that they are applied to. It runs while all other writes wait, and may be called again for another state
 * when the first attempt to save failed. What it throws is the error of its commit.
 */
export type PlanWrites = (state: UdmIndex) => Promise<readonly UdmWrite[]>;

/** The result of an edit of an entry: undefined is none; or why it refuses. */
export type EditedEntry =
  | { readonly entry: UdmEntry | undefined }
  | { readonly refused: UdmErrorCode; readonly field: string; readonly description: string };

/** The origin of a write, for the log. */
export interface WriteOrigin {
  /** Name of the method that was called: `UpdateUdm`. */
  readonly method?: string;
  /** The user who was authenticated. */
  readonly user?: string;
  /** Address of the client. */
  readonly peer?: string;
  /** The author that the history names where nobody was authenticated: `cli`, the name of a source. */
  readonly author?: string;
}

/** The outcome of a batch that is saved. */
export interface UdmCommit {
  /** One for each write: as it now is, or as it was for one that is gone; without those that an edit left as missing as it found them. */
  readonly entries: readonly UdmEntry[];
  /** The number of the change in the history; undefined when there is none: nothing changed, or no history is kept. */
  readonly change: number | undefined;
}

/**
 * Durable entries. Writes are taken one after the other in the order of the calls; each is validated against the state
 * that the writes before it leave.
 */
export interface UdmStore {
  /** Reads a key of the store. Left out: keys are addresses. */
  readonly parseKey?: ReadKey;
  /**
   * Reads the stored state and makes it the current one.
   *
   * @throws UdmError `unavailable` saying why, with file:line:column for a broken file; the state before stays.
   */
  load(): Promise<UdmIndex>;
  /**
   * The current state.
   *
   * @throws UdmError `unavailable` with the reason, while no state could be read.
   */
  current(): UdmIndex;
  /**
   * Applies the writes as one: all, durably, or none. Each write that is saved is logged with its origin. Resolves after they are saved and the new state is current, with
   * one entry for each write: as it now is, or for a delete as it was.
   *
   * @throws UdmError; nothing has changed then.
   */
  commit(writes: readonly UdmWrite[], origin?: WriteOrigin): Promise<readonly UdmEntry[]>;
  /**
   * Calls the listener with the current state, at once if there is one, and after each change, with where the state may
   * differ from the one before; undefined: anywhere.
   *
   * @returns a function that ends it.
   */
  watch(listener: (index: UdmIndex, changed?: readonly AddressRange[]) => void): () => void;
}
