import { setPriority } from "node:os";
import { workerData } from "node:worker_threads";
import {
  EmbeddedExplore,
  ExploreError,
  type AnswerTable,
  type ExploreQuery,
  type FlowsQuery,
} from "../../explore/index.ts";
import { createMetrics, systemClock } from "../../base/report/index.ts";
import type { Answered, Asked, ExploreNote, ExploreThreadData } from "./explore-output.ts";
import { FeedInbox } from "./record-feed.ts";
import { postNote, serveThread, threadLog } from "./thread.ts";

// The thread of Explore: it stores the lines of records as rows, and answers questions from them.

/** The priority: decoding and outputs come first when all want the processor. */
const niceness = 10;

/**
 * The intervals between polls for lines, milliseconds: the usual one, and the one while the inbox is fuller than the given part. Each
 * poll finds cold caches.
 */
const lookMs = 200;
const soonMs = 20;
const muchBacklog = 1 / 16;

const { explore: config, feed, logLevel } = workerData as ExploreThreadData;
const metrics = createMetrics();
const log = threadLog(logLevel);
const explore = new EmbeddedExplore(config, feed.sampling, { clock: systemClock, log, metrics }, (fault) =>
  postNote({ fault: fault ?? null } satisfies ExploreNote),
);
const inbox = new FeedInbox(feed.lines, (lines, records) => explore.take(lines, records));
let looking: NodeJS.Timeout | undefined;
const look = (): void => {
  const backlog = inbox.backlog();
  explore.lag(backlog);
  const hasRoom = explore.hasRoom();
  const isAll = !hasRoom || inbox.take();
  looking = setTimeout(look, isAll ? (hasRoom && backlog < muchBacklog ? lookMs : soonMs) : 0);
};
let ending: Promise<void> | undefined;
const asking = new Map<number, AbortController>();

async function answer<Query, Answer>(
  { number, query }: Asked<Query>,
  work: (query: Query, signal: AbortSignal) => Promise<Answer>,
): Promise<Answered<Answer>> {
  const controller = new AbortController();
  asking.set(number, controller);
  try {
    return { answer: await work(query, controller.signal) };
  } catch (error) {
    if (!(error instanceof ExploreError)) throw error;
    const { code, message, field } = error;
    return { refused: { code, message, ...(field !== undefined && { field }) } };
  } finally {
    asking.delete(number);
  }
}

async function end(): Promise<void> {
  // Without a store, leave the lines to the next thread.
  if (looking !== undefined) {
    clearTimeout(looking);
    while (!inbox.take()) {
      if (explore.hasRoom()) continue;
      await explore.flush();
      // The store is at fault.
      if (!explore.hasRoom()) break;
    }
  }
  await explore.stop();
}

serveThread({
  async start() {
    try {
      // On Linux a thread has a priority of its own.
      if (process.platform === "linux") setPriority(niceness);
    } catch (error) {
      log.debug({ error }, "the priority of Explore's thread could not be lowered");
    }
    await explore.start();
    if (ending === undefined) look();
  },
  query: (asked: Asked<ExploreQuery>) => answer(asked, (query, signal) => explore.query(query, signal)),
  flows: (asked: Asked<FlowsQuery>) => answer(asked, (query, signal) => explore.flows(query, signal)),
  cancel(number: number) {
    asking.get(number)?.abort(new ExploreError("canceled", "nobody waits for the answer any more"));
  },
  parquet: (table: AnswerTable) => explore.parquet(table),
  status: () => explore.status(),
  metrics: () => metrics.families(),
  stop() {
    ending ??= end();
    return ending;
  },
});
