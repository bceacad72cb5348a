import { ExploreError } from "../explore-error.ts";

/** Lets a few questions run at a time, and a few others wait. */
export interface QueryGate {
  /** @throws ExploreError when too many wait; the reason of the signal when that is aborted. */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  readonly running: number;
  readonly waiting: number;
}

export function createQueryGate(maxRunning: number, maxWaiting: number): QueryGate {
  const waiting: (() => void)[] = [];
  let running = 0;

  const enter = async (signal: AbortSignal): Promise<void> => {
    if (running < maxRunning) {
      running++;
      return;
    }
    if (waiting.length >= maxWaiting) {
      throw new ExploreError(
        "resource_exhausted",
        "too many questions to Explore are waiting: try again in a little while",
      );
    }
    await new Promise<void>((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        waiting.splice(waiting.indexOf(go), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", leave, { once: true });
      waiting.push(go);
    });
  };

  return {
    async run(signal, work) {
      signal.throwIfAborted();
      await enter(signal);
      try {
        return await work();
      } finally {
        // The place goes to the next one who waits.
        const next = waiting.shift();
        if (next === undefined) running--;
        else next();
      }
    },
    get running() {
      return running;
    },
    get waiting() {
      return waiting.length;
    },
  };
}
