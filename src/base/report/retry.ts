/** Maximum wait in milliseconds that a server may ask for. */
const longestAskedMs = 600_000;

/**
 * The wait before a retry. It doubles with each consecutive failure. A random part between half and all of it is used, so that many callers do not
 * return together.
 */
export class Backoff {
  readonly #firstMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;

  /**
   * @param firstMs the wait after the first failure, in milliseconds.
   * @param random returns a number from 0 to below 1; left out: the wait is not shortened.
   */
  constructor(firstMs: number, maxMs: number, random = (): number => 1) {
    this.#firstMs = firstMs;
    this.#maxMs = maxMs;
    this.#random = random;
  }

  /**
   * Returns the milliseconds to wait.
   *
   * @param failures consecutive failures, 1 or more.
   * @param askedMs the wait that the server asked for (`Retry-After`): a minimum, up to ten minutes.
   */
  delay(failures: number, askedMs = 0): number {
    const full = Math.min(this.#maxMs, this.#firstMs * 2 ** Math.min(failures - 1, 30));
    return Math.max(full * (0.5 + 0.5 * this.#random()), Math.min(askedMs, longestAskedMs));
  }
}

/** A pause of one caller until `end` is called, or for a maximum time. */
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

  /** Ends the pause in progress, if there is one. */
  end(): void {
    this.#end();
  }
}

/**
 * Waits for work, up to a maximum in milliseconds. Work that takes longer goes on.
 *
 * @param late the result in that case.
 * @throws an error that the work throws in time.
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
 * Work that repeats in rounds, one at a time. A request during a round causes one more round. After a failure only time starts the next round: a request
 * whose answer was lost may have been carried out, and may notify others and so this work.
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
   * @param work returns the milliseconds until the next round; undefined: when it is requested.
   * @param failed handles an error of the work, and returns the milliseconds until the retry.
   * @param after runs an action once after a time, without keeping the process alive, and returns a function that cancels it.
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

  /** Starts. Resolves when the first round is over, successful or not. */
  start(): Promise<void> {
    this.#isRunning = true;
    return this.#ask();
  }

  /** Requests a round. It does nothing before the start and after the end. */
  ask(): void {
    if (!this.#hasFailed) void this.#ask();
  }

  /** Resolves when the round in progress, the last one, is over. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#cancelNext();
    await this.#busy;
  }

  #ask(): Promise<void> {
    if (!this.#isRunning) return Promise.resolve();
    this.#isAsked = true;
    if (this.#busy === undefined) {
      // The round counts as running before the work begins. A request from within the work causes a further round, too.
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
