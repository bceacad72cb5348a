import { Backoff, type Clock } from "../../base/report/index.ts";

/** Several ways to one store: each request takes the next of those that work. */
export class Endpoints {
  readonly #all: readonly { readonly url: string; failures: number; restsUntil: number }[];
  readonly #clock: Clock;
  readonly #backoff = new Backoff(1000, 30_000);
  #next = 0;

  /** @param urls one or more. */
  constructor(urls: readonly string[], clock: Clock) {
    this.#all = urls.map((url) => ({ url, failures: 0, restsUntil: -Infinity }));
    this.#clock = clock;
  }

  /** Returns the next one that works; when none does, the one whose rest is over first. */
  next(): string {
    const now = this.#clock.monotonic();
    for (let i = 0; i < this.#all.length; i++) {
      const one = this.#all[(this.#next + i) % this.#all.length];
      if (one === undefined || one.restsUntil > now) continue;
      this.#next = (this.#next + i + 1) % this.#all.length;
      return one.url;
    }
    return this.#all.reduce((a, b) => (b.restsUntil < a.restsUntil ? b : a)).url;
  }

  worked(url: string): void {
    const one = this.#all.find((each) => each.url === url);
    if (one === undefined) return;
    one.failures = 0;
    one.restsUntil = -Infinity;
  }

  /** It is left alone for a while, longer with each failure in a row. */
  failed(url: string): void {
    const one = this.#all.find((each) => each.url === url);
    if (one !== undefined) one.restsUntil = this.#clock.monotonic() + this.#backoff.delay(++one.failures);
  }
}

/** So many failures in a row mean that the store is away. */
const awayAfter = 2;

type Enter = (leave: () => void) => void;

/**
 * Decides who may try a store. While it works, all may. While it is away, one batch at a time tries, waits after a failure and lets
 * the next one try: the store is not pressed, few batches are encoded in vain, and a batch that always fails does not keep
 * the others back.
 */
export class Circuit {
  #failures = 0;
  #probes = 0;
  #isEnded = false;
  #isProbing = false;
  readonly #first: Enter[] = [];
  readonly #others: Enter[] = [];

  get isAway(): boolean {
    return this.#failures >= awayAfter;
  }

  /** Tries that failed one after the other while the store was away. */
  get probes(): number {
    return this.#probes;
  }

  /**
   * Resolves when this caller may try. It calls what it is given when its try, and the wait after it, are over.
   *
   * @param isFirst whether it has not tried before: then it comes before those that have, which may be at fault themselves.
   */
  enter(isFirst: boolean): Promise<() => void> {
    return new Promise((resolve) => {
      (isFirst ? this.#first : this.#others).push(resolve);
      this.#letIn();
    });
  }

  /** The store took something. */
  worked(): void {
    this.#failures = 0;
    this.#probes = 0;
    this.#letIn();
  }

  failed(): void {
    this.#failures++;
    if (this.#isProbing) this.#probes++;
  }

  /** Lets everybody through, as nothing is tried any more. */
  end(): void {
    this.#isEnded = true;
    this.#letIn();
  }

  #letIn(): void {
    for (;;) {
      const isProbe = this.isAway && !this.#isEnded;
      if (isProbe && this.#isProbing) return;
      const enter = this.#first.shift() ?? this.#others.shift();
      if (enter === undefined) return;
      this.#isProbing ||= isProbe;
      enter(isProbe ? () => this.#leave() : () => {});
    }
  }

  #leave(): void {
    this.#isProbing = false;
    this.#letIn();
  }
}
