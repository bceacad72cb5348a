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
import { lostRecords } from "../../explore/sampling/index.ts";
import type { OutputMetrics } from "../../output/index.ts";
import type { Component, Health, Log, LogLevel, Reporting } from "../../base/report/index.ts";
import { FeedThread, type RecordFeed } from "./record-feed.ts";
import { systemTimers, type Timers } from "./thread.ts";

/** The data of the thread of Explore. */
export interface ExploreThreadData {
  readonly explore: EmbeddedExploreConfig;
  /** The feed in which it finds records. */
  readonly feed: RecordFeed;
  readonly logLevel: LogLevel;
}

/** A question; the call `cancel` refers to it by its number. */
export interface Asked<Query> {
  readonly number: number;
  readonly query: Query;
}

/** The result. An error caused by the question itself is passed as plain data. */
export type Answered<Answer> =
  | { readonly answer: Answer }
  | { readonly refused: { readonly code: ExploreErrorCode; readonly message: string; readonly field?: string } };

/** A message that the thread sends on its own: the fault of the store; null: it works. */
export interface ExploreNote {
  readonly fault: string | null;
}

/** Questions about flow records, in any store. */
export interface ExploreQuestions {
  /** Returns the status. @throws ExploreError when there is no store at present. */
  status(signal: AbortSignal): Promise<Omit<ExploreStatus, "droppedRows"> & Partial<ExploreStatus>>;
  /** Answers a query. @throws ExploreError */
  query(query: ExploreQuery, signal: AbortSignal): Promise<ExploreAnswer>;
  /** Lists flows. @throws ExploreError */
  flows(query: FlowsQuery, signal: AbortSignal): Promise<FlowsAnswer>;
  /** Returns a table as a Parquet file. */
  parquet(table: AnswerTable): Promise<Uint8Array>;
}

const name = "explore";
const drainMs = 10_000;
/** The waits before another try to open the store, milliseconds: longer each time, up to the last. */
const reopenMs = [1000, 5000, 15_000, 60_000] as const;

/**
 * Explore's own store, in a thread of its own. The collector runs without Explore: while its store cannot be opened, the collector is
 * degraded, reports why, and tries again. Records of that time are not kept.
 */
export class ExploreOutput implements ExploreQuestions, Component {
  readonly name = name;
  /** The receiver of records, for decoding threads and for metrics. */
  readonly taker: FeedThread;
  readonly #log: Log;
  readonly #health: Health;
  readonly #timers: Timers;
  #asked = 0;
  /** Why there is no store. */
  #fault: string | undefined = "Explore is being opened";
  #failures = 0;
  #isStopped = false;
  #cancelWait = (): void => {};
  #opening: Promise<void> = Promise.resolve();

  constructor(
    explore: EmbeddedExploreConfig,
    feed: RecordFeed,
    outputMetrics: OutputMetrics,
    logLevel: LogLevel,
    reporting: Reporting,
    timers = systemTimers,
  ) {
    this.#log = reporting.log;
    this.#health = reporting.health;
    this.#timers = timers;
    this.taker = new FeedThread(
      {
        feed,
        entry: new URL("./explore-thread.js", import.meta.url),
        data: { explore, feed, logLevel } satisfies ExploreThreadData,
        lastCall: "stop",
        onNote: (note) => this.#setFault((note as ExploreNote).fault ?? undefined),
        onChange: (isAlive) => this.#setFault(isAlive ? undefined : "its thread died and is being started again"),
      },
      outputMetrics,
      reporting,
    );
  }

  async start(): Promise<void> {
    this.#opening = this.#open();
    await this.#opening;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelWait();
    await this.taker.stop(drainMs);
    await this.#opening;
  }

  async status(): Promise<ExploreStatus> {
    const status = await this.#call<Omit<ExploreStatus, "droppedRows">>("status");
    return { ...status, droppedRows: lostRecords(this.taker.feed.sampling) };
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

  async #open(): Promise<void> {
    try {
      await this.taker.start();
      if (this.#failures > 0) this.#log.info({}, "Explore could be opened");
      this.#failures = 0;
      this.#setFault(undefined);
    } catch (error) {
      if (this.#isStopped) return;
      const message = error instanceof Error ? error.message : String(error);
      // Do not log the same reason again.
      if (message !== this.#fault)
        this.#log.error({ error }, "Explore cannot be opened: the collector runs without it and tries again");
      this.#setFault(message);
      const ms = reopenMs[Math.min(this.#failures++, reopenMs.length - 1)] ?? 0;
      this.#cancelWait = this.#timers.after(ms, () => void (this.#opening = this.#open()));
    }
  }

  #setFault(found: string | undefined): void {
    this.#fault = found;
    this.#health.set({ name, ready: true, ...(found !== undefined && { degraded: true, detail: found }) });
  }

  async #call<T>(called: string, argument?: unknown): Promise<T> {
    const thread = this.taker.thread();
    if (thread === undefined) throw new ExploreError("unavailable", this.#fault ?? "Explore is not open");
    return thread.call<T>(called, argument);
  }

  async #ask<Answer>(called: "query" | "flows", query: unknown, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const number = this.#asked++;
    const cancel = (): void => this.taker.thread()?.post("cancel", number);
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
