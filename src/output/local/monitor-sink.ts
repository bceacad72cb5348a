import type { Component, Reporting } from "../../base/report/index.ts";
import type { Sink } from "../../record/index.ts";

/** Logs how many records passed, and how many a second, at regular intervals; it keeps none of them. */
export class MonitorSink implements Sink, Component {
  readonly name = "output monitor";
  readonly #intervalMs: number;
  readonly #reporting: Pick<Reporting, "log" | "clock">;
  #records = 0;
  #bytes = 0;
  #since: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(intervalMs: number, reporting: Pick<Reporting, "log" | "clock">) {
    this.#intervalMs = intervalMs;
    this.#reporting = reporting;
    this.#since = reporting.clock.monotonic();
  }

  write(lines: Uint8Array, count: number): void {
    this.#records += count;
    this.#bytes += lines.length;
  }

  lease(lines: Uint8Array, count: number, done: () => void): void {
    this.write(lines, count);
    done();
  }

  async start(): Promise<void> {
    this.#since = this.#reporting.clock.monotonic();
    this.#timer = setInterval(() => this.#report(), this.#intervalMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#report();
  }

  #report(): void {
    const { log, clock } = this.#reporting;
    const [records, bytes] = [this.#records, this.#bytes];
    const now = clock.monotonic();
    const seconds = (now - this.#since) / 1000;
    const perSecond = seconds > 0 ? Math.round(records / seconds) : 0;
    log.info({ records, perSecond, bytes, seconds: Math.round(seconds) }, "records of the last interval");
    this.#records = 0;
    this.#bytes = 0;
    this.#since = now;
  }
}
