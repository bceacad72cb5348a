import {
  ExploreError,
  type AnswerTable,
  type EmbeddedExploreConfig,
  type ExploreAnswer,
  type ExploreQuery,
  type ExploreStatus,
  type FlowsAnswer,
  type FlowsQuery,
} from "../../explore/index.ts";
import { lostRecords, setOpen } from "../../explore/sampling/index.ts";
import { createNoteReader, type OutputMetrics, type OutputReport } from "../../output/index.ts";
import type { Component, Health, Log, LogLevel, MetricFamily, Metrics } from "../../base/report/index.ts";
import type { ExploreFeed, Answered, ExploreNote, ExploreThreadData } from "./explore-feed.ts";
import { superviseThread, type SupervisedThread, startThread, systemTimers, type Timers } from "./thread.ts";

export interface ExploreOutputOptions {
  readonly config: EmbeddedExploreConfig;
  /** Where it finds records. */
  readonly feed: ExploreFeed;
  readonly log: Log;
  readonly logLevel: LogLevel;
  readonly metrics: Metrics;
  readonly outputMetrics: OutputMetrics;
  readonly health: Health;
  readonly timers?: Timers;
}

/** What can be asked of flow records, wherever they are kept. */
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

/** Explore's own store, which works in a thread of its own. */
export interface ExploreOutput extends ExploreQuestions, Component {
  /** For those who decode: where records go. */
  readonly feed: ExploreFeed;
  readonly report: OutputReport;
}

const name = "explore";
const drainMs = 10_000;
/** How long to wait before a store that could not be opened is tried again: longer each time, up to the last. */
const reopenMs = [1000, 5000, 15_000, 60_000] as const;

/**
 * The collector runs without Explore: while its store cannot be opened, it is degraded, says why, and tries again. Records of that time are
 * not kept.
 */
export function createExploreOutput(options: ExploreOutputOptions): ExploreOutput {
  const { config, feed, log, logLevel, metrics, outputMetrics, health, timers = systemTimers } = options;
  let asked = 0;
  /** Why there is no store. */
  let fault: string | undefined = "Explore is being opened";
  let failures = 0;
  let isStopped = false;
  let cancelWait = (): void => {};
  let opening: Promise<void> = Promise.resolve();
  const queues = feed.lines.map(createNoteReader);
  const report = outputMetrics.output(name, () => queues.reduce((sum, queue) => sum + queue.waitingBytes(), 0));

  const setFault = (found: string | undefined): void => {
    fault = found;
    health.set({ name, ready: true, ...(found !== undefined && { degraded: true, detail: found }) });
  };

  const supervise = (): SupervisedThread =>
    superviseThread({
      make: (onDeath) =>
        startThread({
          name,
          entry: new URL("./explore-thread.js", import.meta.url),
          data: { explore: config, feed, logLevel } satisfies ExploreThreadData,
          log,
          onNote: (note) => setFault((note as ExploreNote).fault ?? undefined),
          onDeath,
        }),
      begin: (thread) => thread.call("start"),
      onChange(isAlive) {
        setOpen(feed.sampling, isAlive);
        setFault(isAlive ? undefined : "its thread died and is being started again");
      },
      log,
    });
  let supervised = supervise();

  const open = async (): Promise<void> => {
    try {
      await supervised.start();
      setOpen(feed.sampling, true);
      if (failures > 0) log.info({}, "Explore could be opened");
      failures = 0;
      setFault(undefined);
    } catch (error) {
      if (isStopped) return;
      const message = error instanceof Error ? error.message : String(error);
      // The same reason again is no news.
      if (message !== fault)
        log.error({ error }, "Explore cannot be opened: the collector runs without it and tries again");
      setFault(message);
      supervised = supervise();
      const ms = reopenMs[Math.min(failures++, reopenMs.length - 1)] ?? 0;
      cancelWait = timers.after(ms, () => void (opening = open()));
    }
  };

  metrics.addSource(async () => {
    const families = supervised.thread()?.call<readonly MetricFamily[]>("metrics");
    return (await families?.catch(() => undefined)) ?? [];
  });

  const callThread = <T>(called: string, argument?: unknown): Promise<T> => {
    const thread = supervised.thread();
    if (thread === undefined) throw new ExploreError("unavailable", fault ?? "Explore is not open");
    return thread.call<T>(called, argument);
  };
  const ask = async <Answer>(called: "query" | "flows", query: unknown, signal: AbortSignal): Promise<Answer> => {
    signal.throwIfAborted();
    const number = asked++;
    const cancel = (): void => supervised.thread()?.post("cancel", number);
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const answered = await callThread<Answered<Answer>>(called, { number, query });
      if ("answer" in answered) return answered.answer;
      const { code, message, field } = answered.refused;
      throw new ExploreError(code, message, field);
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  };

  return {
    name,
    feed,
    report,
    async start() {
      opening = open();
      await opening;
    },
    async stop() {
      isStopped = true;
      cancelWait();
      setOpen(feed.sampling, false);
      await supervised.stop((thread) => thread.call("stop"), drainMs);
      await opening;
    },
    status: async () => ({
      ...(await callThread<Omit<ExploreStatus, "droppedRows">>("status")),
      droppedRows: lostRecords(feed.sampling),
    }),
    query: (query, signal) => ask("query", query, signal),
    flows: (query, signal) => ask("flows", query, signal),
    parquet: async (table) => callThread("parquet", table),
  };
}
