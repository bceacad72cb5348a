// The thread of an output to a store: it turns lines in shared memory into records that the store has acknowledged.
import { workerData } from "node:worker_threads";
import { createAdapter, Delivery, LineLessee, type LeasedLines } from "../../output/index.ts";
import { createMetrics, systemClock } from "../../base/report/index.ts";
import type { OutputNote, OutputThreadData } from "./delivering-output.ts";
import { postNote, serveThread, threadLog } from "./thread.ts";

const { context, word, settings, instance, logLevel } = workerData as OutputThreadData;
const metrics = createMetrics();
const delivery = new Delivery({
  settings,
  context,
  adapter: await createAdapter(word, settings, { clock: systemClock }),
  instance,
  reporting: { clock: systemClock, log: threadLog(logLevel), metrics },
  random: Math.random,
  onFault: (fault) => postNote({ fault: fault ?? null } satisfies OutputNote),
});
const lessee = new LineLessee(
  (lines, count, done) => delivery.add(lines, count, done),
  (returned) => postNote({ returned } satisfies OutputNote),
);

serveThread({
  start: () => delivery.start(),
  lines: (leased: readonly LeasedLines[]) => lessee.take(leased),
  state: () => delivery.state(),
  resend: () => delivery.resend(),
  metrics: () => metrics.families(),
  stop: (drainMs: number) => delivery.stop(drainMs),
});
