import { createSamplingMemory, type SamplingMemory, type SamplingRates } from "../../explore/sampling/index.ts";
import { createLineMemory, type LineMemory } from "../../output/index.ts";

/** What lies between the threads that decode and the one of Explore; plain data that goes through `postMessage`. */
export interface ExploreFeed {
  readonly sampling: SamplingMemory;
  /** Of each thread that decodes: the lines that it has chosen. */
  readonly lines: readonly LineMemory[];
  readonly rates: SamplingRates;
}

const largestSlab = 2 * 1024 * 1024;
const smallestSlab = 64 * 1024;
/** Some are being written to, or held in reserve. */
const fewestSlabs = 8;

/** @param threads that decode. @param queueBytes of lines that may wait in all. */
export function createExploreFeed(threads: number, queueBytes: number, rates: SamplingRates): ExploreFeed {
  const bytes = queueBytes / threads;
  const slabBytes = Math.min(largestSlab, Math.max(smallestSlab, 2 ** Math.floor(Math.log2(bytes / fewestSlabs))));
  const slabs = Math.max(fewestSlabs, Math.floor(bytes / slabBytes));
  const lines = Array.from({ length: threads }, () => createLineMemory(slabs, slabBytes));
  return { sampling: createSamplingMemory(threads), lines, rates };
}
