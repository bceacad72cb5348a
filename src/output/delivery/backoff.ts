import type { Clock } from "../../base/report/index.ts";

/** Several ways to one store: each request takes the next of those that work. */
interface Endpoints {
  /** The next one that works; when none does, the one whose rest is over first. */
  next(): string;
  worked(url: string): void;
  /** It is left alone for a while, longer with each failure in a row. */
  failed(url: string): void;
}

const firstRestMs = 1000;
const maxRestMs = 30_000;

/** @param urls one or more. */
export function createEndpoints(urls: readonly string[], clock: Clock): Endpoints {
  const all = urls.map((url) => ({ url, failures: 0, restsUntil: -Infinity }));
  let turn = 0;
  return {
    next() {
      const now = clock.monotonic();
      for (let i = 0; i < all.length; i++) {
        const one = all[(turn + i) % all.length];
        if (one === undefined || one.restsUntil > now) continue;
        turn = (turn + i + 1) % all.length;
        return one.url;
      }
      return all.reduce((a, b) => (b.restsUntil < a.restsUntil ? b : a)).url;
    },
    worked(url) {
      const one = all.find((each) => each.url === url);
      if (one === undefined) return;
      one.failures = 0;
      one.restsUntil = -Infinity;
    },
    failed(url) {
      const one = all.find((each) => each.url === url);
      if (one === undefined) return;
      one.failures++;
      one.restsUntil = clock.monotonic() + Math.min(maxRestMs, firstRestMs * 2 ** (one.failures - 1));
    },
  };
}

/** A place where one caller waits until `end` is called, or for a time at most. */
interface Pause {
  pause(ms?: number): Promise<void>;
  /** Ends the pause under way, if there is one. */
  end(): void;
}

export function createPause(): Pause {
  let end = (): void => {};
  return {
    pause: (ms) =>
      new Promise((resolve) => {
        const timer = ms === undefined ? undefined : setTimeout(() => end(), ms);
        end = () => {
          clearTimeout(timer);
          end = () => {};
          resolve();
        };
      }),
    end: () => end(),
  };
}

/**
 * Who may try a store. While it works, all may. While it is away, one batch at a time tries, waits after a failure and lets
 * the next one try: the store is not pressed, few batches are encoded in vain, and a batch that always fails does not keep
 * the others back.
 */
export interface Circuit {
  /**
   * Resolves when this caller may try. It calls what it is given when its try, and the wait after it, are over.
   *
   * @param isFirst whether it has not tried before: then it comes before those that have, which may be at fault themselves.
   */
  enter(isFirst: boolean): Promise<() => void>;
  /** The store took something. */
  worked(): void;
  failed(): void;
  /** Lets everybody through, as nothing is tried any more. */
  end(): void;
  readonly isAway: boolean;
  /** Tries that failed one after the other while the store was away. */
  readonly probes: number;
}

/** How many failures in a row mean that the store is away. */
const awayAfter = 2;

export function createCircuit(): Circuit {
  let failures = 0;
  let probes = 0;
  let isEnded = false;
  let isProbing = false;
  type Enter = (leave: () => void) => void;
  const first: Enter[] = [];
  const others: Enter[] = [];

  const isAway = (): boolean => failures >= awayAfter;

  const letIn = (): void => {
    while (first.length + others.length > 0) {
      const isProbe = isAway() && !isEnded;
      if (isProbe && isProbing) return;
      const enter = (first.shift() ?? others.shift()) as Enter;
      if (!isProbe) {
        enter(() => {});
        continue;
      }
      isProbing = true;
      enter(() => {
        isProbing = false;
        letIn();
      });
    }
  };

  return {
    enter: (isFirst) =>
      new Promise((resolve) => {
        (isFirst ? first : others).push(resolve);
        letIn();
      }),
    worked() {
      failures = 0;
      probes = 0;
      letIn();
    },
    failed() {
      failures++;
      if (isProbing) probes++;
    },
    end() {
      isEnded = true;
      letIn();
    },
    get isAway() {
      return isAway();
    },
    get probes() {
      return probes;
    },
  };
}
