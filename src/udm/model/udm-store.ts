import type { Key } from "../../ip/index.ts";
import type { UdmEntry, UdmField, UdmValues } from "./udm-entry.ts";
import type { AddressRange, UdmIndex } from "./udm-index.ts";

/** One change. Keys and values have been checked by the rules of `checkUdm`. */
export type UdmWrite =
  | { readonly op: "create"; readonly key: Key; readonly values: UdmValues }
  /** Without `fields` all values are replaced, else only those named; file-only fields always stay. */
  | { readonly op: "update"; readonly key: Key; readonly values: UdmValues; readonly fields?: readonly UdmField[] }
  | { readonly op: "delete"; readonly key: Key };

/** Where a write came from, for the log. */
export interface WriteOrigin {
  /** Name of the method that was called: `UpdateUdm`. */
  readonly method?: string;
  /** Who was authenticated. */
  readonly user?: string;
  /** Address of the client. */
  readonly peer?: string;
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
