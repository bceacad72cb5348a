import type { Sink } from "../../record/index.ts";
import type { Clock, Component, Log } from "../../base/report/index.ts";

export interface MonitorOptions {
  readonly intervalMs: number;
  readonly log: Log;
  readonly clock: Clock;
}

/** Logs how many records passed, and how many a second, at regular intervals; it keeps none of them. */
export function createMonitorSink({ intervalMs, log, clock }: MonitorOptions): Sink & Component {
  let records = 0;
  let bytes = 0;
  let since = clock.monotonic();
  let timer: NodeJS.Timeout | undefined;
  const count = (lines: Uint8Array, added: number): void => {
    records += added;
    bytes += lines.length;
  };
  const report = (): void => {
    const now = clock.monotonic();
    const seconds = (now - since) / 1000;
    const perSecond = seconds > 0 ? Math.round(records / seconds) : 0;
    log.info({ records, perSecond, bytes, seconds: Math.round(seconds) }, "records of the last interval");
    records = 0;
    bytes = 0;
    since = now;
  };
  return {
    name: "output monitor",
    write: count,
    lend(lines, added, done) {
      count(lines, added);
      done();
    },
    async start() {
      since = clock.monotonic();
      timer = setInterval(report, intervalMs);
    },
    async stop() {
      clearInterval(timer);
      report();
    },
  };
}
