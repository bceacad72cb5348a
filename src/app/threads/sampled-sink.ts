import { createLineSampler } from "../../explore/sampling/index.ts";
import { createLineOutbox, type LineMemory, type OutputReport } from "../../output/index.ts";
import type { Sink } from "../../record/index.ts";
import type { ExploreFeed } from "./explore-feed.ts";

export interface SampledSinkOptions {
  /** Gets all lines. */
  readonly sink: Sink;
  readonly feed: ExploreFeed;
  /** Which of the threads that decode this one is. */
  readonly number: number;
  readonly random: () => number;
  readonly report: Pick<OutputReport, "dropped">;
}

export interface SampledSink extends Sink {
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
  const sampler = createLineSampler(
    {
      memory: feed.sampling,
      chooser: number,
      random,
      to: {
        maxLength: memory.slabBytes,
        allocate: (bytes) => outbox.allocate(bytes),
        hasRoom: () => outbox.hasRoom(),
        part: () => outbox.flush(),
        write(lines, records) {
          outbox.write(lines, records);
          timer ??= setTimeout(flush, gatherMs);
        },
      },
      dropped,
    },
    feed.rates,
  );
  return {
    write(lines, count) {
      sampler.look(lines, count);
      sink.write(lines, count);
    },
    flush,
  };
}
