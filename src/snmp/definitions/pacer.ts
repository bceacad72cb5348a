import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../report/index.ts";

/** Divides long work into pieces, so that the event loop gets its turn. */
export interface Pacer {
  /** Whether this piece has taken its time. */
  isDue(): boolean;
  rest(): Promise<void>;
}

/** @param wait resolves when the next piece may begin. */
export function createPacer(clock: Clock, wait: () => Promise<unknown> = nextTurn, pieceMs = 10): Pacer {
  let end = clock.monotonic() + pieceMs;
  return {
    isDue: () => clock.monotonic() >= end,
    async rest() {
      await wait();
      end = clock.monotonic() + pieceMs;
    },
  };
}

/** Lets one of those that wait go on in each turn of the event loop, in the order in which they came. */
export function createTurnstile(): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const letOneGo = (): void => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(letOneGo);
  };
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(letOneGo);
    });
}
