// Writes numbered lines to its standard output through the sink until it is told to stop or the reader is gone, then says
// on the standard error what happened to them; before that, `full` when the queue was full for the first time. Arguments: queue bytes, flush milliseconds, chunks (0 for no end).
import { OutputMetrics, StdoutSink } from "../../src/output/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { lines } from "./output-fixture.ts";

const [queueBytes = 0, flushMs = 0, chunks = 0] = process.argv.slice(2).map(Number);
const metrics = createMetrics();
const health = createHealth();
const warnings: string[] = [];
const readerGone = new AbortController();
const sink = new StdoutSink({
  queueBytes,
  flushMs,
  maxRate: 0,
  log: { ...silentLog, warn: (_, message) => void warnings.push(message) },
  metrics: new OutputMetrics(metrics),
  clock: systemClock,
  health,
  onClosed: () => readerGone.abort(),
});
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());

const value = (name: string, reason?: string): Promise<number | undefined> =>
  metrics.value(`netgloss_output_${name}`, { output: "stdout", ...(reason !== undefined && { reason }) });

await sink.start();
let sent = 0;
let isFull = false;
let longestTurn = 0;
let last = performance.now();
const total = chunks === 0 ? Infinity : chunks * 100;
while (!stop.signal.aborted && !readerGone.signal.aborted && sent < total) {
  sink.write(lines(sent, 100), 100);
  sent += 100;
  if (!isFull && ((await value("dropped_records_total", "queue_full")) ?? 0) > 0) {
    isFull = true;
    process.stderr.write("full\n");
  }
  await new Promise((resolve) => setTimeout(resolve, 1));
  longestTurn = Math.max(longestTurn, performance.now() - last);
  last = performance.now();
}
if (readerGone.signal.aborted) {
  sink.write(lines(sent, 100), 100);
  sent += 100;
}
await sink.stop();
const outcome = {
  sent,
  written: await value("records_total"),
  full: (await value("dropped_records_total", "queue_full")) ?? 0,
  stopped: (await value("dropped_records_total", "stopped")) ?? 0,
  closed: (await value("dropped_records_total", "closed")) ?? 0,
  isClosed: readerGone.signal.aborted,
  checks: health.checks(),
  warnings,
  longestTurn,
};
process.stderr.write(JSON.stringify(outcome), () => process.exit(0));
