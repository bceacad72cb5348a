import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../report/index.ts";

/** Divides long work into pieces, so that the event loop gets its turn. */
export interface Pacer {
  /** Whether this piece has taken its time. */
  isDue(): boolean;
  rest(): Promise<void>;
}

export function createPacer(clock: Clock, pieceMs = 10): Pacer {
  let end = clock.monotonic() + pieceMs;
  return {
    isDue: () => clock.monotonic() >= end,
    async rest() {
      await nextTurn();
      end = clock.monotonic() + pieceMs;
    },
  };
}
