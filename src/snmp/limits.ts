import type { Clock } from "../base/report/index.ts";

/** Bytes of each lease that do not count: an endless table elsewhere must not cost an ordinary one its rows. */
export const freeOfEachLease = 96 * 1024;

/** A bound on the memory that rows take between reading and writing. In bytes. */
export class MemoryBudget {
  readonly limit: number;
  /** The budget that this one is a part of. */
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

/** The part of a budget that one table takes. */
export class MemoryLease {
  readonly #budget: MemoryBudget;
  readonly #outer: MemoryLease | undefined;
  #taken = 0;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
    this.#outer = budget.outer?.lease();
  }

  /** Adds to what the table takes. @returns false when there is not so much left; then nothing is added. */
  take(bytes: number): boolean {
    const counted = countedOf(this.#taken + bytes) - countedOf(this.#taken);
    if (this.#budget.used + counted > this.#budget.limit || this.#outer?.take(bytes) === false) return false;
    this.#taken += bytes;
    this.#budget.used += counted;
    return true;
  }

  /** Gives back everything. */
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
 * Runs work with at most this many tasks at the same time, the others in the order in which they came.
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
 * Divides long work into chunks, so that it yields to the event loop. All that may run at the same time in one thread
 * shares one: together it takes no more of a cycle than one alone.
 *
 * @param pieceMs how long the work of one cycle may take; it counts from the first look of the cycle.
 */
export class Pacer {
  readonly #clock: Clock;
  readonly #pieceMs: number;
  /** undefined in a cycle that has had no work so far. */
  #end: number | undefined;
  readonly #waiting: (() => void)[] = [];

  constructor(clock: Clock, pieceMs = 10) {
    this.#clock = clock;
    this.#pieceMs = pieceMs;
  }

  /** Tells whether the work of this cycle of the event loop has taken its time. */
  isDue(): boolean {
    return this.#clock.monotonic() >= (this.#end ?? this.#begin());
  }

  /** Lets one of those that wait go on in each cycle of the event loop, in the order in which they came. */
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

/** Takes all steps, with a cycle of the event loop in between wherever one is due. */
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
