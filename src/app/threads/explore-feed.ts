import type { EmbeddedExploreConfig, ExploreErrorCode } from "../../explore/index.ts";
import type { LogLevel } from "../../base/report/index.ts";
import {
  LineSampler,
  type SampledLines,
  createSamplingMemory,
  type SamplingMemory,
  type SamplingRates,
} from "../../explore/sampling/index.ts";
import { LineOutbox, type LineMemory, type OutputReport, createLineMemory } from "../../output/index.ts";
import type { Sink } from "../../record/index.ts";

/** The data of the thread of Explore. */
export interface ExploreThreadData {
  readonly explore: EmbeddedExploreConfig;
  /** The feed in which it finds records. */
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

/** A message that the thread sends by itself: what is wrong with the store; null: it works. */
export interface ExploreNote {
  readonly fault: string | null;
}

/** The time that chosen lines wait for others, milliseconds. */
const gatherMs = 100;

/** A sink that passes on all lines, and copies those that it chooses to where Explore finds them. */
export class SampledSink implements Sink {
  readonly #sink: Sink;
  readonly #outbox: LineOutbox;
  readonly #sampler: LineSampler;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param sink gets all lines.
   * @param number which of the threads that decode this one is.
   */
  constructor(sink: Sink, feed: ExploreFeed, report: Pick<OutputReport, "dropped">, number = 0) {
    this.#sink = sink;
    const memory = feed.lines[number] as LineMemory;
    const dropped: OutputReport["dropped"] = (reason, records, bytes) => report.dropped(reason, records, bytes);
    // Nobody sleeps there: its thread looks by itself.
    const outbox = new LineOutbox({
      memory,
      wake() {},
      dropped: (records, bytes) => dropped("queue_full", records, bytes),
    });
    const to: SampledLines = {
      maxLength: memory.slabBytes,
      allocate: (bytes) => outbox.allocate(bytes),
      hasRoom: () => outbox.hasRoom(),
      part: () => outbox.flush(),
      write: (lines, records) => {
        outbox.write(lines, records);
        this.#timer ??= setTimeout(() => this.flush(), gatherMs);
      },
    };
    this.#outbox = outbox;
    this.#sampler = new LineSampler(feed.sampling, feed.rates, number, Math.random, to, dropped);
  }

  write(lines: Buffer, count: number): void {
    this.#sampler.look(lines, count);
    this.#sink.write(lines, count);
  }

  /** Passes on what waits for others. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#outbox.flush();
  }
}

/** Memory between the threads that decode and the one of Explore; plain data that goes through `postMessage`. */
export interface ExploreFeed {
  readonly sampling: SamplingMemory;
  /** The lines that each thread that decodes has chosen. */
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
