import type { Clock } from "../base/report/index.ts";

/** A bound on the memory that rows take between reading and writing. In bytes. */
export interface MemoryBudget {
  readonly used: number;
  lease(): MemoryLease;
}

/** What one table takes of a budget. */
export interface MemoryLease {
  /** Adds to what the table takes. @returns false when there is not so much left; then nothing is added. */
  take(bytes: number): boolean;
  /** Gives back everything. */
  end(): void;
}

/** How much of each lease does not count: an endless table elsewhere must not cost an ordinary one its rows. */
export const freeOfEachLease = 96 * 1024;

/** @param outer the budget that this one is a part of. */
export function createMemoryBudget(limit: number, outer?: MemoryBudget): MemoryBudget {
  let used = 0;
  return {
    get used() {
      return used;
    },
    lease() {
      const outerLease = outer?.lease();
      let taken = 0;
      return {
        take(bytes) {
          const counted = Math.max(0, taken + bytes - freeOfEachLease) - Math.max(0, taken - freeOfEachLease);
          if (used + counted > limit || outerLease?.take(bytes) === false) return false;
          taken += bytes;
          used += counted;
          return true;
        },
        end() {
          outerLease?.end();
          used -= Math.max(0, taken - freeOfEachLease);
          taken = 0;
        },
      };
    },
  };
}

/**
 * Runs work with at most this many pieces at the same time, the others in the order in which they came.
 *
 * @param limit is asked each time, so that it may change; `changed` makes a raised one count at once.
 */
export class Limiter {
  readonly #limit: () => number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: () => number) {
    this.#limit = limit;
  }

  /** The limit may have been raised: starts as much as it now allows. */
  changed(): void {
    while (this.#running < this.#limit()) {
      const start = this.#waiting.shift();
      if (start === undefined) return;
      this.#running++;
      start();
    }
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#limit() && this.#waiting.length === 0) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      this.#running--;
      this.changed();
    }
  }
}

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
