import { randomInt } from "node:crypto";
import type { Component, Health, LogLevel, MetricFamily, Reporting } from "../../base/report/index.ts";
import type { StoreOutput } from "../outputs/store-outputs.ts";
import { createLineLender, type DeliveryState, type OutputMetrics } from "../../output/index.ts";
import type { Sink } from "../../record/index.ts";
import { startThread, SupervisedThread } from "./thread.ts";

type LineLender = ReturnType<typeof createLineLender>;
type OwnOutput = Pick<StoreOutput, "delivery" | "word" | "settings">;

/** What the thread of an output to a store is given. */
export interface OutputThreadData extends OwnOutput {
  /** Begins the identities of the records that it delivers. */
  readonly instance: string;
  readonly logLevel: LogLevel;
}

/** What it reports by itself. */
export type OutputNote =
  /** Loans of lines that it needs no more. */
  | { readonly returned: readonly number[] }
  /** What is wrong with the store; null: it works. */
  | { readonly fault: string | null };

/** How long lines may wait for others on their way to the thread, milliseconds. */
const gatherMs = 50;
/** Small enough that batches become nearly full. */
const loanBytes = 1024 * 1024;

/** How long what waits is sent when all ends, and how long the rest may take to be put on disk. */
const drainMs = 3000;
const spoolMs = 2000;

/**
 * An output to a store, which works in a thread of its own. Lines in shared memory are lent to the thread, not copied: neither the
 * threads that decode nor the calling one spend time on a store that is slow or away. When more is lent than the output's queue may
 * hold, lines are dropped and counted.
 */
export class DeliveringOutput implements Sink, Component {
  readonly name: string;
  readonly #health: Health;
  readonly #lender: LineLender;
  readonly #supervised: SupervisedThread;

  constructor(
    { delivery, word, settings }: OwnOutput,
    outputMetrics: OutputMetrics,
    logLevel: LogLevel,
    { log, metrics, health }: Reporting,
  ) {
    const name = `output ${delivery.name}`;
    this.name = name;
    this.#health = health;
    const lender = createLineLender({
      maxBytes: delivery.queueBytes,
      maxLoanBytes: Math.min(loanBytes, delivery.batchBytes),
      gatherMs: Math.min(gatherMs, delivery.batchDeadlineMs),
      // A message brings the lines of a batch.
      gatherBytes: delivery.batchBytes,
      report: outputMetrics.output(delivery.name, () => lender.byteLength),
      post: (lines) => {
        const thread = this.#supervised.thread();
        if (thread === undefined) lender.reset();
        else thread.post("lines", lines);
      },
    });
    this.#lender = lender;
    this.#supervised = new SupervisedThread({
      make: (onDeath) =>
        startThread({
          name,
          entry: new URL("./output-thread.js", import.meta.url),
          data: { delivery, word, settings, instance: newInstance(), logLevel } satisfies OutputThreadData,
          log,
          onNote: (note) => this.#take(note as OutputNote),
          onDeath,
        }),
      begin: (thread) => thread.call("start"),
      onChange: (isAlive) => {
        if (!isAlive) lender.reset();
        this.#report(isAlive ? undefined : "its thread died and is being started again");
      },
      log,
    });
    metrics.addSource(async () => (await this.#ask<readonly MetricFamily[]>("metrics")) ?? []);
  }

  write(lines: Buffer, count: number): void {
    this.#lender.write(lines, count);
  }

  lend(...lent: Parameters<LineLender["lend"]>): ReturnType<LineLender["lend"]> {
    return this.#lender.lend(...lent);
  }

  async start(): Promise<void> {
    this.#report("not connected yet");
    await this.#supervised.start();
  }

  async stop(): Promise<void> {
    this.#lender.flush();
    await this.#supervised.stop((thread) => thread.call("stop", drainMs), drainMs + spoolMs);
    this.#lender.reset();
  }

  /** Undefined while its thread is being started again. */
  state(): Promise<DeliveryState | undefined> {
    return this.#ask("state");
  }

  /** Begins to send the dead letters again. @returns how many there are; undefined while its thread is being started again. */
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
    if ("returned" in note) this.#lender.returned(note.returned);
    else this.#report(note.fault ?? undefined);
  }

  #report(detail: string | undefined): void {
    const { name } = this;
    this.#health.set(detail === undefined ? { name, ready: true } : { name, ready: true, degraded: true, detail });
  }
}

const digits = "0123456789abcdefghijklmnopqrstuvwxyz";

/** What no other run of any collector has: 12 random letters and digits, 62 bits. */
function newInstance(): string {
  return Array.from({ length: 12 }, () => digits[randomInt(digits.length)]).join("");
}
