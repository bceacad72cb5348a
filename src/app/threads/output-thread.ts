// The thread of an output to a store: from lines in memory that it shares to records that the store has acknowledged.
import { workerData } from "node:worker_threads";
import { createAdapter, createDelivery, createLineBorrower, type LentLines } from "../../output/index.ts";
import { createMetrics, systemClock } from "../../base/report/index.ts";
import type { OutputNote, OutputThreadData } from "./delivering-output.ts";
import { postNote, serveThread, threadLog } from "./thread.ts";

const { delivery: config, word, settings, instance, logLevel } = workerData as OutputThreadData;
const metrics = createMetrics();
const delivery = createDelivery({
  config,
  adapter: await createAdapter(word, settings, { clock: systemClock }),
  instance,
  clock: systemClock,
  random: Math.random,
  log: threadLog(logLevel),
  metrics,
  onFault: (fault) => postNote({ fault: fault ?? null } satisfies OutputNote),
});
const borrower = createLineBorrower(
  (lines, count, done) => delivery.add(lines, count, done),
  (returned) => postNote({ returned } satisfies OutputNote),
);

serveThread({
  start: () => delivery.start(),
  lines: (lent: readonly LentLines[]) => borrower.take(lent),
  state: () => delivery.state(),
  resend: () => delivery.resend(),
  metrics: () => metrics.families(),
  stop: (drainMs: number) => delivery.stop(drainMs),
});
