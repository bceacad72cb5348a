/** Runs work with at most this many pieces at the same time, the others in the order in which they came. */
export interface Limiter {
  run<T>(work: () => Promise<T>): Promise<T>;
  /** The limit may have been raised: starts as much as it now allows. */
  changed(): void;
}

/** @param limit is asked each time, so that it may change; `changed` makes a raised one count at once. */
export function createLimiter(limit: () => number): Limiter {
  let running = 0;
  const waiting: (() => void)[] = [];
  const startWaiting = (): void => {
    while (running < limit()) {
      const start = waiting.shift();
      if (start === undefined) return;
      running++;
      start();
    }
  };
  return {
    async run(work) {
      if (running < limit() && waiting.length === 0) running++;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await work();
      } finally {
        running--;
        startWaiting();
      }
    },
    changed: startWaiting,
  };
}
