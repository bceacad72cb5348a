import type { IgnoreReason } from "./session-metrics.ts";

/** Ids of requests that ended, to know what a message that still bears one is. */
export interface RetiredIds {
  add(id: number, reason: IgnoreReason): void;
  reasonOf(id: number): IgnoreReason | undefined;
}

/** Remembers between `generationSize` and twice as many of the last ids. */
export function createRetiredIds(generationSize = 8192): RetiredIds {
  let current = new Map<number, IgnoreReason>();
  let previous = new Map<number, IgnoreReason>();
  return {
    add(id, reason) {
      if (current.size >= generationSize) {
        previous = current;
        current = new Map();
      }
      current.set(id, reason);
    },
    reasonOf: (id) => current.get(id) ?? previous.get(id),
  };
}
