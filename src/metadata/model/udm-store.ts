import type { Key } from "../../base/ip/index.ts";
import type { UdmEntry, UdmField, UdmValues } from "./udm-entry.ts";
import type { UdmErrorCode } from "./udm-error.ts";
import type { AddressRange, UdmIndex } from "./udm-index.ts";

/** One change. Keys and values have been checked by the rules of `checkUdm`. */
export type UdmWrite =
  | { readonly op: "create"; readonly key: Key; readonly values: UdmValues }
  /** Without `fields` all values are replaced, else only those named; file-only fields always stay. */
  | { readonly op: "update"; readonly key: Key; readonly values: UdmValues; readonly fields?: readonly UdmField[] }
  | { readonly op: "delete"; readonly key: Key }
  /** What happens to the entry is decided when its turn comes, by what is there then. Fields known in the file only are its matter, too. */
  | { readonly op: "edit"; readonly key: Key; readonly edit: (found: UdmEntry | undefined) => EditedEntry };

/**
 * Makes writes of the state that they are applied to. It runs while all other writes wait, and may be called again for another state
 * when the first attempt to save failed. What it throws is the error of its commit.
 */
export type PlanWrites = (state: UdmIndex) => Promise<readonly UdmWrite[]>;

/** What an edit makes of an entry: undefined is none; or why it refuses. */
export type EditedEntry =
  | { readonly entry: UdmEntry | undefined }
  | { readonly refused: UdmErrorCode; readonly field: string; readonly description: string };

/** Where a write came from, for the log. */
export interface WriteOrigin {
  /** Name of the method that was called: `UpdateUdm`. */
  readonly method?: string;
  /** Who was authenticated. */
  readonly user?: string;
  /** Address of the client. */
  readonly peer?: string;
  /** Who the history names where nobody was authenticated: `cli`, the name of a source. */
  readonly author?: string;
}

/** What happened to a batch that is saved. */
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
