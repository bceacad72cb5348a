import type { CustomElement, RingHandle } from "../../flow/index.ts";
import { createLineMemory, type LineMemory } from "../../output/index.ts";
import { createWorkspaceMemory, kernelReserve, spaceFor, type WorkspaceMemory } from "../../record/index.ts";
import { enrichmentBytes } from "../enrichment.ts";
import type { SharedIndexHandle } from "../../metadata/index.ts";
import type { ExploreFeed } from "./explore-feed.ts";
import { outputsOf, type PlainSettings } from "../settings/index.ts";

/** What a decoding thread is given. */
export interface DecodeThreadData {
  readonly settings: PlainSettings;
  readonly elements: readonly CustomElement[];
  /** How many threads decode. */
  readonly count: number;
  /** For its look into the metadata; absent: there is none. */
  readonly metadata: SharedIndexHandle | undefined;
  readonly ring: RingHandle;
  /** In which it works; the slabs of its lines come first in it. */
  readonly memory: WorkspaceMemory;
  /** For its lines. */
  readonly lines: LineMemory;
  /** Which of the threads it is. */
  readonly number: number;
  /** Where records for Explore go; absent: there is none. */
  readonly explore: ExploreFeed | undefined;
}

/** Lines cross to the main thread in slabs of this size. */
export const slabBytes = 2 * 1024 * 1024;
/** Slabs that a thread has in addition to those that lie in the queues of outputs: what the main thread can be behind. */
const freeSlabs = 24;

/**
 * How many slabs a thread may have: more than the fullest queue can hold, because an output that is stuck must lose its
 * own records and not keep the threads from writing those of the others. One that was never used takes no memory.
 */
function slabCount(settings: PlainSettings): number {
  const queues = outputsOf(settings).map(({ values }) => (values.ENABLE ? values.QUEUE_SIZE : 0));
  // A queue may hold the lesser part of many slabs.
  return freeSlabs + Math.ceil((2 * Math.max(...queues)) / slabBytes);
}

/** The most that a workspace can have. */
const maxWorkspace = 4 * 1024 ** 3;

/** Makes the memory of a decoding thread: for what it works with, for its lines and for those that are lost. */
export function decodeMemory(settings: PlainSettings): Pick<DecodeThreadData, "memory" | "lines"> {
  const other = enrichmentBytes(settings) + spaceFor(slabBytes);
  const slabs = Math.min(slabCount(settings), Math.floor((maxWorkspace - kernelReserve - other) / slabBytes));
  const memory = createWorkspaceMemory(slabs * slabBytes + other);
  return { memory, lines: createLineMemory(slabs, slabBytes, { lines: memory.buffer, at: kernelReserve }) };
}

/** A decoding thread says that there are lines for the main thread, which does not look for them. */
export interface LinesNote {
  readonly lines: true;
}

/** Datagrams that may wait for a decoding thread, in bytes: half a second of a million records. */
export const ringBytes = 32 * 1024 * 1024;
