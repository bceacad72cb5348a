import { randomInt } from "node:crypto";
import type { LogLevel, Component, Health, Log, MetricFamily, Metrics } from "../../base/report/index.ts";
import type { StoreOutput } from "../outputs/store-outputs.ts";
import { LineLessor, type DeliveryState, type OutputMetrics } from "../../output/index.ts";
import type { Sink } from "../../record/index.ts";
import { superviseThread, startThread } from "./thread.ts";

/** What the thread of an output to a store is given. */
export interface OutputThreadData extends Pick<StoreOutput, "context" | "word" | "settings"> {
  /** Begins the identities of the records that it delivers. */
  readonly instance: string;
  readonly logLevel: LogLevel;
}

/** What it reports by itself. */
export type OutputNote =
  /** Leases of lines that it needs no more. */
  | { readonly returned: readonly number[] }
  /** What is wrong with the store; null: it works. */
  | { readonly fault: string | null };

interface DeliveringOutputOptions extends Pick<StoreOutput, "context" | "word" | "settings"> {
  readonly log: Log;
  readonly logLevel: LogLevel;
  readonly metrics: Metrics;
  readonly outputMetrics: OutputMetrics;
  readonly health: Health;
}

/** An output to a store, which works in a thread of its own. */
export interface DeliveringOutput extends Sink, Component {
  /** Undefined while its thread is being started again. */
  state(): Promise<DeliveryState | undefined>;
  /** Begins to send the dead letters again. @returns how many there are; undefined while its thread is being started again. */
  resend(): Promise<number | undefined>;
}

/** How long lines may wait for others on their way to the thread, milliseconds. */
const gatherMs = 50;
/** Small enough that batches become nearly full. */
const leaseBytes = 1024 * 1024;

/** How long what waits is sent when all ends, and how long the rest may take to be put on disk. */
const drainMs = 3000;
const spoolMs = 2000;

/**
 * Lines in shared memory are leased to the thread, not copied: neither the threads that decode nor the calling one spend
 * time on a store that is slow or away. When more is leased than the output's queue may hold, lines are dropped and counted.
 */
export function createDeliveringOutput(options: DeliveringOutputOptions): DeliveringOutput {
  const { context, word, settings, log, logLevel, metrics, outputMetrics, health } = options;
  const name = `output ${context.name}`;
  const lessor: LineLessor = new LineLessor(
    {
      maxBytes: settings.QUEUE_SIZE,
      maxLeaseBytes: Math.min(leaseBytes, settings.BATCH_MAX_BYTES),
      gatherMs: Math.min(gatherMs, settings.BATCH_DEADLINE),
      // A message brings the lines of a batch.
      gatherBytes: settings.BATCH_MAX_BYTES,
    },
    outputMetrics.output(context.name, () => lessor.byteLength),
    (lines) => {
      const thread = supervised.thread();
      if (thread === undefined) lessor.reset();
      else thread.post("lines", lines);
    },
  );

  const take = (note: OutputNote): void => {
    if ("returned" in note) lessor.returned(note.returned);
    else if (note.fault === null) health.set({ name, ready: true });
    else health.set({ name, ready: true, degraded: true, detail: note.fault });
  };

  const supervised = superviseThread({
    make: (onDeath) =>
      startThread({
        name,
        entry: new URL("./output-thread.js", import.meta.url),
        data: { context, word, settings, instance: newInstance(), logLevel } satisfies OutputThreadData,
        log,
        onNote: (note) => take(note as OutputNote),
        onDeath,
      }),
    begin: (thread) => thread.call("start"),
    onChange(isAlive) {
      if (!isAlive) lessor.reset();
      const detail = "its thread died and is being started again";
      health.set(isAlive ? { name, ready: true } : { name, ready: true, degraded: true, detail });
    },
    log,
  });

  metrics.addSource(async () => {
    const families = supervised.thread()?.call<readonly MetricFamily[]>("metrics");
    return (await families?.catch(() => undefined)) ?? [];
  });

  return {
    name,
    write: (lines, count) => lessor.write(lines, count),
    lend: (lines, count, done) => lessor.lend(lines, count, done),
    async start() {
      health.set({ name, ready: true, degraded: true, detail: "not connected yet" });
      await supervised.start();
    },
    async stop() {
      lessor.flush();
      await supervised.stop((thread) => thread.call("stop", drainMs), drainMs + spoolMs);
      lessor.reset();
    },
    state: async () =>
      supervised
        .thread()
        ?.call<DeliveryState>("state")
        .catch(() => undefined),
    resend: async () =>
      supervised
        .thread()
        ?.call<number>("resend")
        .catch(() => undefined),
  };
}

const digits = "0123456789abcdefghijklmnopqrstuvwxyz";

/** What no other run of any collector has: 12 random letters and digits, 62 bits. */
function newInstance(): string {
  return Array.from({ length: 12 }, () => digits[randomInt(digits.length)]).join("");
}
