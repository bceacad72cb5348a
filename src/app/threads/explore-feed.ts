import type { EmbeddedExploreConfig, ExploreErrorCode } from "../../explore/index.ts";
import type { LogLevel } from "../../base/report/index.ts";
import {
  LineSampler,
  type SampledLines,
  createSamplingMemory,
  type SamplingMemory,
  type SamplingRates,
} from "../../explore/sampling/index.ts";
import { createLineOutbox, type LineMemory, type OutputReport, createLineMemory } from "../../output/index.ts";
import type { Sink } from "../../record/index.ts";

/** What the thread of Explore is given. */
export interface ExploreThreadData {
  readonly explore: EmbeddedExploreConfig;
  /** Where it finds records. */
  readonly feed: ExploreFeed;
  readonly logLevel: LogLevel;
}

/** A question; the number is for {@link ExploreThreadData}'s call `cancel`. */
export interface Asked<Query> {
  readonly number: number;
  readonly query: Query;
}

/** The result. An error that is the question's own crosses as plain data. */
export type Answered<Answer> =
  | { readonly answer: Answer }
  | { readonly refused: { readonly code: ExploreErrorCode; readonly message: string; readonly field?: string } };

/** What the thread reports by itself: what is wrong with the store; null: it works. */
export interface ExploreNote {
  readonly fault: string | null;
}

interface SampledSinkOptions {
  /** Gets all lines. */
  readonly sink: Sink;
  readonly feed: ExploreFeed;
  /** Which of the threads that decode this one is. */
  readonly number: number;
  readonly random: () => number;
  readonly report: Pick<OutputReport, "dropped">;
}

interface SampledSink extends Sink {
  /** Passes on what waits for others. */
  flush(): void;
}

/** How long chosen lines wait for others, milliseconds. */
const gatherMs = 100;

/** A sink that passes on all lines, and copies those that it chooses to where Explore finds them. */
export function createSampledSink({ sink, feed, number, random, report }: SampledSinkOptions): SampledSink {
  const memory = feed.lines[number] as LineMemory;
  const dropped: OutputReport["dropped"] = (reason, records, bytes) => report.dropped(reason, records, bytes);
  // Nobody sleeps there: its thread looks by itself.
  const outbox = createLineOutbox({
    memory,
    wake() {},
    dropped: (records, bytes) => dropped("queue_full", records, bytes),
  });
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    outbox.flush();
  };
  const to: SampledLines = {
    maxLength: memory.slabBytes,
    allocate: (bytes) => outbox.allocate(bytes),
    hasRoom: () => outbox.hasRoom(),
    part: () => outbox.flush(),
    write(lines, records) {
      outbox.write(lines, records);
      timer ??= setTimeout(flush, gatherMs);
    },
  };
  const sampler = new LineSampler(feed.sampling, feed.rates, number, random, to, dropped);
  return {
    write(lines, count) {
      sampler.look(lines, count);
      sink.write(lines, count);
    },
    flush,
  };
}

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
