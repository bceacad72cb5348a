import {
  ExploreError,
  type AnswerTable,
  type EmbeddedExploreConfig,
  type ExploreErrorCode,
  type ExploreAnswer,
  type ExploreQuery,
  type ExploreStatus,
  type FlowsAnswer,
  type FlowsQuery,
} from "../../explore/index.ts";
import { lostRecords, setOpen } from "../../explore/sampling/index.ts";
import { NoteReader, type OutputMetrics, type OutputReport } from "../../output/index.ts";
import type { Component, Health, Log, LogLevel, MetricFamily, Reporting } from "../../base/report/index.ts";
import type { RecordFeed } from "./record-feed.ts";
import { startThread, SupervisedThread, systemTimers, type Timers } from "./thread.ts";

/** The data of the thread of Explore. */
export interface ExploreThreadData {
  readonly explore: EmbeddedExploreConfig;
  /** The feed in which it finds records. */
  readonly feed: RecordFeed;
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

/** Questions about flow records, wherever they are kept. */
export interface ExploreQuestions {
  /** @throws ExploreError when there is no store at present. */
  status(signal: AbortSignal): Promise<Omit<ExploreStatus, "droppedRows"> & Partial<ExploreStatus>>;
  /** @throws ExploreError */
  query(query: ExploreQuery, signal: AbortSignal): Promise<ExploreAnswer>;
  /** @throws ExploreError */
  flows(query: FlowsQuery, signal: AbortSignal): Promise<FlowsAnswer>;
  /** A table as a file of Parquet. */
  parquet(table: AnswerTable): Promise<Uint8Array>;
}

const name = "explore";
const drainMs = 10_000;
/** The waits before a store that could not be opened is tried again, milliseconds: longer each time, up to the last. */
const reopenMs = [1000, 5000, 15_000, 60_000] as const;

/**
 * Explore's own store, which works in a thread of its own. The collector runs without Explore: while its store cannot be opened, it is
 * degraded, says why, and tries again. Records of that time are not kept.
 */
export class ExploreOutput implements ExploreQuestions, Component {
  readonly name = name;
  /** For those who decode: where records go. */
  readonly feed: RecordFeed;
  readonly report: OutputReport;
  readonly #config: EmbeddedExploreConfig;
  readonly #logLevel: LogLevel;
  readonly #log: Log;
  readonly #health: Health;
  readonly #timers: Timers;
  #supervised: SupervisedThread;
  #asked = 0;
  /** Why there is no store. */
  #fault: string | undefined = "Explore is being opened";
  #failures = 0;
  #isStopped = false;
  #cancelWait = (): void => {};
  #opening: Promise<void> = Promise.resolve();

  constructor(
    config: EmbeddedExploreConfig,
    feed: RecordFeed,
    outputMetrics: OutputMetrics,
    logLevel: LogLevel,
    { log, metrics, health }: Reporting,
    timers = systemTimers,
  ) {
    this.feed = feed;
    this.#config = config;
    this.#logLevel = logLevel;
    this.#log = log;
    this.#health = health;
    this.#timers = timers;
    const queues = feed.lines.map((memory) => new NoteReader(memory));
    this.report = outputMetrics.output(name, () => queues.reduce((sum, queue) => sum + queue.waitingBytes(), 0));
    this.#supervised = this.#supervise();
    metrics.addSource(async () => {
      const families = this.#supervised.thread()?.call<readonly MetricFamily[]>("metrics");
      return (await families?.catch(() => undefined)) ?? [];
    });
  }

  async start(): Promise<void> {
    this.#opening = this.#open();
    await this.#opening;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelWait();
    setOpen(this.feed.sampling, false);
    await this.#supervised.stop((thread) => thread.call("stop"), drainMs);
    await this.#opening;
  }

  async status(): Promise<ExploreStatus> {
    const status = await this.#call<Omit<ExploreStatus, "droppedRows">>("status");
    return { ...status, droppedRows: lostRecords(this.feed.sampling) };
  }

  query(query: ExploreQuery, signal: AbortSignal): Promise<ExploreAnswer> {
    return this.#ask("query", query, signal);
  }

  flows(query: FlowsQuery, signal: AbortSignal): Promise<FlowsAnswer> {
    return this.#ask("flows", query, signal);
  }

  async parquet(table: AnswerTable): Promise<Uint8Array> {
    return this.#call("parquet", table);
  }

  #supervise(): SupervisedThread {
    const { feed } = this;
    return new SupervisedThread({
      make: (onDeath) =>
        startThread({
          name,
          entry: new URL("./explore-thread.js", import.meta.url),
          data: { explore: this.#config, feed, logLevel: this.#logLevel } satisfies ExploreThreadData,
          log: this.#log,
          onNote: (note) => this.#setFault((note as ExploreNote).fault ?? undefined),
          onDeath,
        }),
      begin: (thread) => thread.call("start"),
      onChange: (isAlive) => {
        setOpen(feed.sampling, isAlive);
        this.#setFault(isAlive ? undefined : "its thread died and is being started again");
      },
      log: this.#log,
    });
  }

  async #open(): Promise<void> {
    try {
      await this.#supervised.start();
      setOpen(this.feed.sampling, true);
      if (this.#failures > 0) this.#log.info({}, "Explore could be opened");
      this.#failures = 0;
      this.#setFault(undefined);
    } catch (error) {
      if (this.#isStopped) return;
      const message = error instanceof Error ? error.message : String(error);
      // The same reason again is no news.
      if (message !== this.#fault)
        this.#log.error({ error }, "Explore cannot be opened: the collector runs without it and tries again");
      this.#setFault(message);
      this.#supervised = this.#supervise();
      const ms = reopenMs[Math.min(this.#failures++, reopenMs.length - 1)] ?? 0;
      this.#cancelWait = this.#timers.after(ms, () => void (this.#opening = this.#open()));
    }
  }

  #setFault(found: string | undefined): void {
    this.#fault = found;
    this.#health.set({ name, ready: true, ...(found !== undefined && { degraded: true, detail: found }) });
  }

  async #call<T>(called: string, argument?: unknown): Promise<T> {
    const thread = this.#supervised.thread();
    if (thread === undefined) throw new ExploreError("unavailable", this.#fault ?? "Explore is not open");
    return thread.call<T>(called, argument);
  }

  async #ask<Answer>(called: "query" | "flows", query: unknown, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const number = this.#asked++;
    const cancel = (): void => this.#supervised.thread()?.post("cancel", number);
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const answered = await this.#call<Answered<Answer>>(called, { number, query });
      if ("answer" in answered) return answered.answer;
      const { code, message, field } = answered.refused;
      throw new ExploreError(code, message, field);
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }
}
