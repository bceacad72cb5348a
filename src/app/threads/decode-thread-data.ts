import type { CustomElement, RingHandle } from "../../flow/index.ts";
import type { SharedIndexHandle } from "../../udm/index.ts";
import type { PlainSettings } from "../settings/index.ts";

/** What a decoding thread is given. */
export interface DecodeThreadData {
  readonly settings: PlainSettings;
  readonly elements: readonly CustomElement[];
  /** How many threads decode. */
  readonly count: number;
  /** For its look into the metadata; absent: there is none. */
  readonly metadata: SharedIndexHandle | undefined;
  readonly ring: RingHandle;
  /** For its line outbox. */
  readonly returned: SharedArrayBuffer;
}

/** Lines cross to the main thread in slabs of this size. */
export const slabBytes = 2 * 1024 * 1024;
/** So many slabs for each thread: what the main thread can be behind. */
export const slabCount = 32;
/** Datagrams that may wait for a decoding thread, in bytes: half a second of a million records. */
export const ringBytes = 32 * 1024 * 1024;
