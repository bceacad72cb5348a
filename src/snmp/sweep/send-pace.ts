import type { Clock } from "../../base/report/index.ts";

/** Lets one piece of work go after the other, this many in a second. */
export interface SendPace {
  /** Resolves when the next piece may go, in the order of the calls. Rejects when the signal aborts. */
  turn(signal: AbortSignal): Promise<void>;
}

interface Waiting {
  readonly go: () => void;
  readonly signal: AbortSignal;
}

/** What a late timer may make up for. */
const maxLateMs = 20;

/** @param perSecond above 0. */
export function createSendPace(clock: Clock, perSecond: number): SendPace {
  const everyMs = 1000 / perSecond;
  const waiting: Waiting[] = [];
  let nextAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;

  const letGo = (): void => {
    timer = undefined;
    const now = clock.monotonic();
    nextAt = Math.max(nextAt, now - maxLateMs);
    while (nextAt <= now) {
      const next = waiting.shift();
      if (next === undefined) return;
      next.go();
      // Who has given up does not use a turn.
      if (!next.signal.aborted) nextAt += everyMs;
    }
    timer = setTimeout(letGo, Math.max(1, nextAt - now));
  };
  return {
    turn(signal) {
      return new Promise((resolve, reject) => {
        const go = (): void => (signal.aborted ? reject(signal.reason as Error) : resolve());
        waiting.push({ go, signal });
        if (timer !== undefined) return;
        // What nobody used while there was nothing to do is not made up for.
        nextAt = Math.max(nextAt, clock.monotonic());
        letGo();
      });
    },
  };
}
