import type { Clock } from "../base/report/index.ts";

/** The bytes of each lease that do not count. So an endless table elsewhere does not take the room of ordinary tables. */
export const freeOfEachLease = 96 * 1024;

/** A bound on the memory, in bytes, of rows between reading and writing. */
export class MemoryBudget {
  readonly limit: number;
  /** The budget of which this one is a part. */
  readonly outer: MemoryBudget | undefined;
  used = 0;

  constructor(limit: number, outer?: MemoryBudget) {
    this.limit = limit;
    this.outer = outer;
  }

  lease(): MemoryLease {
    return new MemoryLease(this);
  }
}

/** The part of a budget that one table uses. */
export class MemoryLease {
  readonly #budget: MemoryBudget;
  readonly #outer: MemoryLease | undefined;
  #taken = 0;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
    this.#outer = budget.outer?.lease();
  }

  /** Adds to the bytes of the table. @returns false if the budget has not enough left; then nothing is added. */
  take(bytes: number): boolean {
    const counted = countedOf(this.#taken + bytes) - countedOf(this.#taken);
    if (this.#budget.used + counted > this.#budget.limit || this.#outer?.take(bytes) === false) return false;
    this.#taken += bytes;
    this.#budget.used += counted;
    return true;
  }

  /** Gives back all bytes. */
  end(): void {
    this.#outer?.end();
    this.#budget.used -= countedOf(this.#taken);
    this.#taken = 0;
  }
}

function countedOf(taken: number): number {
  return Math.max(0, taken - freeOfEachLease);
}

/**
 * Runs at most this many tasks at the same time, in the order of their arrival.
 *
 * @param limit called each time, so that the limit may change; after a raise, call `changed` to apply it at once.
 */
export class Limiter {
  readonly #limit: () => number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: () => number) {
    this.#limit = limit;
  }

  /** Starts as many tasks as the limit now allows; call it when the limit may have grown. */
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
 * Divides long work into pieces, so that it yields to the event loop. All work that may run at the same time in one thread shares a
 * pacer, so that together it takes no more of a cycle than one task alone.
 *
 * @param pieceMs the longest time of work in one cycle, from the first check in the cycle.
 */
export class Pacer {
  readonly #clock: Clock;
  readonly #pieceMs: number;
  /** Undefined in a cycle without work so far. */
  #end: number | undefined;
  readonly #waiting: (() => void)[] = [];

  constructor(clock: Clock, pieceMs = 10) {
    this.#clock = clock;
    this.#pieceMs = pieceMs;
  }

  /** Reports whether the work of this cycle of the event loop has used its time. */
  isDue(): boolean {
    return this.#clock.monotonic() >= (this.#end ?? this.#begin());
  }

  /** Lets one waiting task continue in each cycle of the event loop, in the order of arrival. */
  rest(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#end === undefined) this.#begin();
    });
  }

  #begin(): number {
    setImmediate(() => this.#nextTurn());
    return (this.#end = this.#clock.monotonic() + this.#pieceMs);
  }

  #nextTurn(): void {
    this.#end = undefined;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#begin();
    next();
  }
}

/** Runs all steps, and waits for a cycle of the event loop whenever the pacer requires it. */
export async function inPieces<T>(steps: Iterator<void, T>, pacer: Pacer): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (pacer.isDue()) await pacer.rest();
  }
}

/** Runs all steps at once. */
export function atOnce<T>(steps: Iterator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
