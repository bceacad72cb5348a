import { setImmediate as nextTurn } from "node:timers/promises";

/** Divides long work into pieces, so that the event loop gets its turn. */
export interface Pacer {
  /** Whether this piece has taken its time. */
  isDue(): boolean;
  rest(): Promise<void>;
}

export function createPacer(pieceMs = 10): Pacer {
  let end = performance.now() + pieceMs;
  return {
    isDue: () => performance.now() >= end,
    async rest() {
      await nextTurn();
      end = performance.now() + pieceMs;
    },
  };
}
