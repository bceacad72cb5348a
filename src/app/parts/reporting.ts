import type { Clock, Health, Log, Metrics } from "../../base/report/index.ts";

/** What every room is given to report by. */
export interface Reporting {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly health: Health;
}
