import type { Clock } from "./clock.ts";

/**
 * How many lines a log may get: some at once, and more with each second.
 *
 * @returns takes one from the budget; false when it is used up.
 */
export function createLineBudget(clock: Pick<Clock, "monotonic">, burst = 20, perSecond = 10): () => boolean {
  let left = burst;
  let last = clock.monotonic();
  return () => {
    const now = clock.monotonic();
    left = Math.min(burst, left + ((now - last) * perSecond) / 1000);
    last = now;
    if (left < 1) return false;
    left--;
    return true;
  };
}
