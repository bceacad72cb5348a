import { systemClock, type MetricFamily, type Reporting } from "../../base/report/index.ts";
import {
  LineSampler,
  setOpen,
  type SampledLines,
  createSamplingMemory,
  type SamplingMemory,
  type SamplingRates,
} from "../../explore/sampling/index.ts";
import {
  LineOutbox,
  NoteReader,
  type LineMemory,
  type OutputMetrics,
  type OutputReport,
  createLineMemory,
} from "../../output/index.ts";
import type { Sink } from "../../record/index.ts";
import { startThread, SupervisedThread, type Thread } from "./thread.ts";

/** The time that chosen lines wait for others, milliseconds. */
const gatherMs = 100;

/** A sink that passes on all lines, and copies chosen ones to memory shared with another thread. */
export class SampledSink implements Sink {
  readonly #sink: Sink;
  readonly #outbox: LineOutbox;
  readonly #sampler: LineSampler;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param sink gets all lines.
   * @param number of this decoding thread.
   */
  constructor(sink: Sink, feed: RecordFeed, report: Pick<OutputReport, "dropped">, number = 0) {
    this.#sink = sink;
    const memory = feed.lines[number] as LineMemory;
    const dropped: OutputReport["dropped"] = (reason, records, bytes) => report.dropped(reason, records, bytes);
    // No wake-up is needed: the other thread polls.
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

  /** Returns a sink that passes on all lines, and copies the lines chosen by each feed to its memory. @param reportOf counts the losses of a feed. */
  static chain(
    sink: Sink,
    feeds: readonly RecordFeed[],
    reportOf: (feed: RecordFeed) => Pick<OutputReport, "dropped">,
    number = 0,
  ): { readonly sink: Sink; flush(this: void): void } {
    let first = sink;
    const chain = feeds.map((feed) => {
      const next = new SampledSink(first, feed, reportOf(feed), number);
      first = next;
      return next;
    });
    return { sink: first, flush: () => chain.forEach((each) => each.flush()) };
  }

  write(lines: Buffer, count: number): void {
    this.#sampler.look(lines, count);
    this.#sink.write(lines, count);
  }

  /** Passes on lines that wait for others. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#outbox.flush();
  }
}

/** Memory between decoding threads and a thread that takes records, such as Explore's; plain data that goes through `postMessage`. */
export interface RecordFeed {
  /** The name of the receiver in metrics. */
  readonly name: string;
  readonly sampling: SamplingMemory;
  /** The lines chosen by each decoding thread. */
  readonly lines: readonly LineMemory[];
  readonly rates: SamplingRates;
}

const largestSlab = 2 * 1024 * 1024;
const smallestSlab = 64 * 1024;
/** The least number of slabs; some are being written to, or held in reserve. */
const fewestSlabs = 8;

/** Creates a feed. @param name of the receiver. @param threads that decode. @param queueBytes of lines that may wait in all. */
export function createRecordFeed(name: string, threads: number, queueBytes: number, rates: SamplingRates): RecordFeed {
  const bytes = queueBytes / threads;
  const slabBytes = Math.min(largestSlab, Math.max(smallestSlab, 2 ** Math.floor(Math.log2(bytes / fewestSlabs))));
  const slabs = Math.max(fewestSlabs, Math.floor(bytes / slabBytes));
  const lines = Array.from({ length: threads }, () => createLineMemory(slabs, slabBytes));
  return { name, sampling: createSamplingMemory(threads), lines, rates };
}

/** The longest stretch of work: the thread has other work, too. */
const turnMs = 50;

/** Reads the lines that the decoding threads have chosen for a thread. */
export class FeedInbox {
  readonly #readers: readonly { readonly memory: LineMemory; readonly notes: NoteReader }[];
  readonly #take: (lines: Buffer, records: number) => void;

  /** @param take receives lines and the number of records they represent; it does not keep them after it returns. */
  constructor(memories: readonly LineMemory[], take: (lines: Buffer, records: number) => void) {
    this.#readers = memories.map((memory) => ({ memory, notes: new NoteReader(memory) }));
    this.#take = take;
  }

  /** Takes waiting lines, but no longer than some milliseconds. @returns whether that was all. */
  take(): boolean {
    const until = systemClock.monotonic() + turnMs;
    for (const { memory, notes } of this.#readers) {
      for (let note = notes.next(); note !== undefined; note = notes.next()) {
        const { slab, from, to, count } = note;
        try {
          this.#take(Buffer.from(memory.lines, memory.at + slab * memory.slabBytes + from, to - from), count);
        } finally {
          notes.giveBack(slab);
        }
        if (systemClock.monotonic() >= until) return false;
      }
    }
    return true;
  }

  /** Returns the full part of the memory, 0 to 1. */
  backlog(): number {
    return Math.max(
      ...this.#readers.map(({ memory, notes }) => notes.waitingBytes() / (memory.slabs * memory.slabBytes)),
    );
  }
}

interface FeedThreadOptions {
  readonly feed: RecordFeed;
  /** The file that the thread runs. It serves the calls `start`, `stop` and `metrics`. */
  readonly entry: URL;
  /** The data for the thread. */
  readonly data: unknown;
  /** A call that the thread answers before it is ended in any case; see {@link startThread}. */
  readonly lastCall?: string;
  readonly onNote: (note: unknown) => void;
  /** Called when the thread has died, and when the next one is ready. */
  readonly onChange: (isAlive: boolean) => void;
}

/** A thread that takes the records of a feed, and is restarted when it dies. While there is none, the feed is closed. */
export class FeedThread {
  /** The feed, for decoding threads. */
  readonly feed: RecordFeed;
  readonly report: OutputReport;
  readonly #options: FeedThreadOptions;
  readonly #log: Reporting["log"];
  #supervised: SupervisedThread | undefined;

  constructor(options: FeedThreadOptions, outputMetrics: OutputMetrics, { log, metrics }: Reporting) {
    this.feed = options.feed;
    this.#options = options;
    this.#log = log;
    const { name, lines } = options.feed;
    const queues = lines.map((memory) => new NoteReader(memory));
    this.report = outputMetrics.output(name, () => queues.reduce((sum, queue) => sum + queue.waitingBytes(), 0));
    metrics.addSource(async () => {
      const families = this.thread()?.call<readonly MetricFamily[]>("metrics");
      return (await families?.catch(() => undefined)) ?? [];
    });
  }

  /** Returns the thread; undefined while it is being restarted, and when it is not running. */
  thread(): Thread | undefined {
    return this.#supervised?.thread();
  }

  /** Starts the thread. May be called again after a failure. @throws the error of the thread's `start`. */
  async start(): Promise<void> {
    const { onChange, ...options } = this.#options;
    const { feed } = this;
    this.#supervised = new SupervisedThread({
      make: (onDeath) => startThread({ ...options, name: feed.name, log: this.#log, onDeath }),
      begin: (thread) => thread.call("start"),
      onChange: (isAlive) => {
        setOpen(feed.sampling, isAlive);
        onChange(isAlive);
      },
      log: this.#log,
    });
    await this.#supervised.start();
    setOpen(feed.sampling, true);
  }

  /** Stops the thread. @param drainMs for the thread to take waiting lines and to stop. */
  async stop(drainMs: number): Promise<void> {
    setOpen(this.feed.sampling, false);
    await this.#supervised?.stop((thread) => thread.call("stop"), drainMs);
  }
}
