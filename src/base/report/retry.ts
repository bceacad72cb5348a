/** A server that asks for more is not left alone for longer, milliseconds. */
const longestAskedMs = 600_000;

/**
 * The wait before a further try. It doubles with each failure in a row, and a random part of it from the half on is taken, so that many
 * who wait do not come back together.
 */
export class Backoff {
  readonly #firstMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;

  /**
   * @param firstMs after the first failure, milliseconds.
   * @param random from 0 to below 1; left out: the wait is not shortened.
   */
  constructor(firstMs: number, maxMs: number, random = (): number => 1) {
    this.#firstMs = firstMs;
    this.#maxMs = maxMs;
    this.#random = random;
  }

  /**
   * Returns the milliseconds to wait.
   *
   * @param failures in a row, 1 or more.
   * @param askedMs what the server asked for (`Retry-After`): the wait is not shorter, up to ten minutes.
   */
  delay(failures: number, askedMs = 0): number {
    const full = Math.min(this.#maxMs, this.#firstMs * 2 ** Math.min(failures - 1, 30));
    return Math.max(full * (0.5 + 0.5 * this.#random()), Math.min(askedMs, longestAskedMs));
  }
}

/** A place where one caller waits until `end` is called, or for a time at most. */
export class Pause {
  #end = (): void => {};

  pause(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(() => this.#end(), ms);
      this.#end = () => {
        clearTimeout(timer);
        this.#end = () => {};
        resolve();
      };
    });
  }

  /** Ends the pause under way, if there is one. */
  end(): void {
    this.#end();
  }
}

/**
 * Waits for work, but no longer than some milliseconds; work that takes longer goes on.
 *
 * @param late what is given then. @throws what the work throws in time.
 */
export async function within<T, U>(work: Promise<T>, ms: number, late: U): Promise<T | U> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<U>((resolve) => (timer = setTimeout(() => resolve(late), ms)));
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Work that is done again and again, one round at a time: what is asked for meanwhile is one more round. After a failure only time asks
 * again: a request whose answer was lost may have been carried out, and notify others and so this work.
 */
export class Rounds {
  readonly #work: () => Promise<number | undefined>;
  readonly #failed: (error: unknown) => number;
  readonly #after: (action: () => void, ms: number) => () => void;
  #isRunning = false;
  #isAsked = false;
  #hasFailed = false;
  #busy: Promise<void> | undefined;
  #cancelNext = (): void => {};

  /**
   * @param work returns the milliseconds after which the next round is to begin; undefined: when it is asked for.
   * @param failed tells of an error of the work. Returns the milliseconds until it is tried again.
   * @param after runs an action once after a time, without keeping the process alive, and returns what calls it off.
   */
  constructor(
    work: () => Promise<number | undefined>,
    failed: (error: unknown) => number,
    after: (action: () => void, ms: number) => () => void,
  ) {
    this.#work = work;
    this.#failed = failed;
    this.#after = after;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Begins. Resolves when the first round is over, however it was. */
  start(): Promise<void> {
    this.#isRunning = true;
    return this.#ask();
  }

  /** Asks for a round; before the start and after the end that does nothing. */
  ask(): void {
    if (!this.#hasFailed) void this.#ask();
  }

  /** Resolves when the round under way is over, the last one. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#cancelNext();
    await this.#busy;
  }

  #ask(): Promise<void> {
    if (!this.#isRunning) return Promise.resolve();
    this.#isAsked = true;
    if (this.#busy === undefined) {
      // It counts as under way before the work begins: what that asks for at once is a round of its own, too.
      this.#busy = Promise.resolve();
      this.#busy = this.#run().finally(() => {
        this.#busy = undefined;
        if (this.#isAsked) this.ask();
      });
    }
    return this.#busy;
  }

  async #run(): Promise<void> {
    this.#cancelNext();
    this.#isAsked = false;
    this.#hasFailed = false;
    let nextMs: number | undefined;
    try {
      nextMs = await this.#work();
    } catch (error) {
      this.#hasFailed = true;
      nextMs = this.#failed(error);
    }
    if (nextMs !== undefined && this.#isRunning) this.#cancelNext = this.#after(() => void this.#ask(), nextMs);
  }
}
