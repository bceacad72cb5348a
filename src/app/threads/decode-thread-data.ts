import type { CustomElement, RingHandle } from "../../flow/index.ts";
import type { LineMemory } from "../../output/index.ts";
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
  /** For its lines. */
  readonly lines: LineMemory;
}

/** Lines cross to the main thread in slabs of this size. */
export const slabBytes = 2 * 1024 * 1024;
/** Slabs that a thread has beside those that lie in the queues of outputs: what the main thread can be behind. */
const freeSlabs = 24;

/**
 * How many slabs a thread may have: more than the fullest queue can hold, because an output that is stuck must lose its
 * own records and not keep the threads from writing those of the others. One that was never used takes no memory.
 */
export function slabCount(settings: PlainSettings): number {
  const queues = [
    settings.SVC_OUTPUT_FILE_ENABLE ? settings.SVC_OUTPUT_FILE_QUEUE_SIZE : 0,
    settings.SVC_OUTPUT_STDOUT_ENABLE ? settings.SVC_OUTPUT_STDOUT_QUEUE_SIZE : 0,
  ];
  // A queue may hold the lesser part of many slabs.
  return freeSlabs + Math.ceil((2 * Math.max(...queues)) / slabBytes);
}
/** A decoding thread tells that there are lines for the main thread, which does not look for them. */
export interface LinesNote {
  readonly lines: true;
}

/** Datagrams that may wait for a decoding thread, in bytes: half a second of a million records. */
export const ringBytes = 32 * 1024 * 1024;
