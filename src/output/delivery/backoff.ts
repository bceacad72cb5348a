import { Backoff, type Clock } from "../../base/report/index.ts";

/** Several URLs of one store. Each request takes the next URL that works. */
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

  /** Returns the next URL that works. If none does, returns the one that may be tried again first. */
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

  /** Notes a failure: the URL is not used for a while, longer with each failure in a row. */
  failed(url: string): void {
    const one = this.#all.find((each) => each.url === url);
    if (one !== undefined) one.restsUntil = this.#clock.monotonic() + this.#backoff.delay(++one.failures);
  }
}

/** The number of failures in a row after which the store counts as away. */
const awayAfter = 2;

type Enter = (leave: () => void) => void;

/**
 * Decides who may try a store. While it works, all may. While it is away, one batch at a time tries, waits after a failure and lets
 * the next one try. So the store is not flooded, few batches are encoded in vain, and a batch that always fails does not block the
 * others.
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

  /** The number of failed tries in a row while the store was away. */
  get probes(): number {
    return this.#probes;
  }

  /**
   * Resolves when this caller may try. The caller calls the resolved function once its try, and the wait after it, are over.
   *
   * @param isFirst true if it has not tried before. Then it goes before those that have, which may be at fault themselves.
   */
  enter(isFirst: boolean): Promise<() => void> {
    return new Promise((resolve) => {
      (isFirst ? this.#first : this.#others).push(resolve);
      this.#letIn();
    });
  }

  /** Notes that the store took something. */
  worked(): void {
    this.#failures = 0;
    this.#probes = 0;
    this.#letIn();
  }

  failed(): void {
    this.#failures++;
    if (this.#isProbing) this.#probes++;
  }

  /** Admits everybody, because nothing is tried any more. */
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
