import { randomInt } from "node:crypto";
import type { Component, Health, LogLevel, MetricFamily, Reporting } from "../../base/report/index.ts";
import type { StoreOutput } from "../outputs/store-outputs.ts";
import { LineLessor, type DeliveryState, type OutputMetrics } from "../../output/index.ts";
import type { Sink } from "../../record/index.ts";
import { startThread, SupervisedThread } from "./thread.ts";

type OwnOutput = Pick<StoreOutput, "context" | "word" | "settings">;

/** The data of the thread of an output to a store. */
export interface OutputThreadData extends OwnOutput {
  /** The start of the identities of the records that it delivers. */
  readonly instance: string;
  readonly logLevel: LogLevel;
}

/** A message that the thread sends on its own. */
export type OutputNote =
  /** Leases of lines that it does not need any more. */
  | { readonly returned: readonly number[] }
  /** The fault of the store; null: it works. */
  | { readonly fault: string | null };

/** The longest time that lines wait for others on their way to the thread, milliseconds. */
const gatherMs = 50;
/** The size of a lease, small enough that batches become nearly full. */
const leaseBytes = 1024 * 1024;

/** The time for sending waiting lines at the end, and the time for writing the rest to disk, milliseconds. */
const drainMs = 3000;
const spoolMs = 2000;

/**
 * An output to a store, in a thread of its own. Lines in shared memory are leased to the thread, not copied. So neither the
 * decoding threads nor the calling one spend time on a store that is slow or away. When leases exceed the output's queue,
 * lines are dropped and counted.
 */
export class DeliveringOutput implements Sink, Component {
  readonly name: string;
  readonly #health: Health;
  readonly #lessor: LineLessor;
  readonly #supervised: SupervisedThread;

  constructor(
    { context, word, settings }: OwnOutput,
    outputMetrics: OutputMetrics,
    logLevel: LogLevel,
    { log, metrics, health }: Reporting,
  ) {
    const name = `output ${context.name}`;
    this.name = name;
    this.#health = health;
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
        const thread = this.#supervised.thread();
        if (thread === undefined) lessor.reset();
        else thread.post("lines", lines);
      },
    );
    this.#lessor = lessor;
    this.#supervised = new SupervisedThread({
      make: (onDeath) =>
        startThread({
          name,
          entry: new URL("./output-thread.js", import.meta.url),
          data: { context, word, settings, instance: newInstance(), logLevel } satisfies OutputThreadData,
          log,
          onNote: (note) => this.#take(note as OutputNote),
          onDeath,
        }),
      begin: (thread) => thread.call("start"),
      onChange: (isAlive) => {
        if (!isAlive) lessor.reset();
        this.#report(isAlive ? undefined : "its thread died and is being started again");
      },
      log,
    });
    metrics.addSource(async () => (await this.#ask<readonly MetricFamily[]>("metrics")) ?? []);
  }

  write(lines: Uint8Array, count: number): void {
    this.#lessor.write(lines, count);
  }

  lease(lines: Uint8Array, count: number, done: () => void): void {
    this.#lessor.lease(lines, count, done);
  }

  async start(): Promise<void> {
    this.#report("not connected yet");
    await this.#supervised.start();
  }

  async stop(): Promise<void> {
    this.#lessor.flush();
    await this.#supervised.stop((thread) => thread.call("stop", drainMs), drainMs + spoolMs);
    this.#lessor.reset();
  }

  /** Returns the state; undefined while its thread is being restarted. */
  state(): Promise<DeliveryState | undefined> {
    return this.#ask("state");
  }

  /** Starts to send the dead letters again. @returns their number; undefined while its thread is being restarted. */
  resend(): Promise<number | undefined> {
    return this.#ask("resend");
  }

  async #ask<T>(call: string): Promise<T | undefined> {
    return this.#supervised
      .thread()
      ?.call<T>(call)
      .catch(() => undefined);
  }

  #take(note: OutputNote): void {
    if ("returned" in note) this.#lessor.returned(note.returned);
    else this.#report(note.fault ?? undefined);
  }

  #report(detail: string | undefined): void {
    const { name } = this;
    this.#health.set(detail === undefined ? { name, ready: true } : { name, ready: true, degraded: true, detail });
  }
}

const digits = "0123456789abcdefghijklmnopqrstuvwxyz";

/** Returns a name unique among the runs of all collectors: 12 random letters and digits, 62 bits. */
function newInstance(): string {
  return Array.from({ length: 12 }, () => digits[randomInt(digits.length)]).join("");
}
