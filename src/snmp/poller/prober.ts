import type { Clock } from "../../report/index.ts";
import type { Schedule, Scheduled } from "./schedule.ts";

/** Asks a silent device again and again. */
export interface Prober {
  readonly isActive: boolean;
  /** Of the monotonic clock; undefined when it is not active. */
  readonly due: number | undefined;
  /** Asks in an interval from now, and each interval after the answer, until it is stopped. */
  start(): void;
  stop(): void;
}

/**
 * @param ask asks once. Never rejects.
 * @param intervalMs is asked each time, so that it may change.
 */
export function createProber(
  schedule: Schedule,
  clock: Clock,
  intervalMs: () => number,
  ask: () => Promise<void>,
): Prober {
  let scheduled: Scheduled | undefined;
  const start = (): void => {
    if (scheduled !== undefined) schedule.cancel(scheduled);
    const item = schedule.at(clock.monotonic() + intervalMs(), () => void goOn());
    const goOn = async (): Promise<void> => {
      await ask();
      // Unless it was stopped, or begun again, while it was asked.
      if (scheduled === item) start();
    };
    scheduled = item;
  };
  return {
    get isActive() {
      return scheduled !== undefined;
    },
    get due() {
      return scheduled?.due;
    },
    start,
    stop() {
      if (scheduled !== undefined) schedule.cancel(scheduled);
      scheduled = undefined;
    },
  };
}
