/** Runs work with at most so many pieces at the same time, the others in the order in which they came. */
export interface Limiter {
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** @param limit is asked each time, so that it may change. */
export function createLimiter(limit: () => number): Limiter {
  let running = 0;
  const waiting: (() => void)[] = [];
  return {
    async run(work) {
      while (running >= limit()) await new Promise<void>((resolve) => waiting.push(resolve));
      running++;
      try {
        return await work();
      } finally {
        running--;
        waiting.shift()?.();
      }
    },
  };
}
