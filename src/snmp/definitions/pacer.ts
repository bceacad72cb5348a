import type { Clock } from "../../base/report/index.ts";

/**
 * Divides long work into pieces, so that the event loop gets its turn. All that may run at the same time in one thread
 * shares one: together it takes no more of a turn than one alone.
 */
export interface Pacer {
  /** Whether the work of this turn of the event loop has taken its time. */
  isDue(): boolean;
  /** Lets one of those that wait go on in each turn of the event loop, in the order in which they came. */
  rest(): Promise<void>;
}

/** @param pieceMs how long the work of one turn may take; it counts from the first look of the turn. */
export function createPacer(clock: Clock, pieceMs = 10): Pacer {
  /** undefined in a turn that has had no work so far. */
  let end: number | undefined;
  const waiting: (() => void)[] = [];
  const begin = (): number => {
    setImmediate(nextTurn);
    return (end = clock.monotonic() + pieceMs);
  };
  const nextTurn = (): void => {
    end = undefined;
    const next = waiting.shift();
    if (next === undefined) return;
    begin();
    next();
  };
  return {
    isDue: () => clock.monotonic() >= (end ?? begin()),
    rest: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        if (end === undefined) begin();
      }),
  };
}

/** Takes all steps, with a turn of the event loop in between wherever one is due. */
export async function inPieces<T>(steps: Iterator<void, T>, pacer: Pacer): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (pacer.isDue()) await pacer.rest();
  }
}

/** Takes all steps at once. */
export function atOnce<T>(steps: Iterator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
