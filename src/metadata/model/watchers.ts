import type { Log } from "../../base/report/index.ts";

/** Those who are told of changes. One that fails is logged, and the others are told all the same. */
export class Watchers<T extends readonly unknown[]> {
  readonly #listeners = new Set<(...told: T) => void>();
  readonly #log: Log;
  readonly #failure: string;

  /** @param failure what is logged of a listener that throws. */
  constructor(log: Log, failure: string) {
    this.#log = log;
    this.#failure = failure;
  }

  isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  /** @param now what it is told at once. @returns a function that ends it. */
  add(listener: (...told: T) => void, now?: T): () => void {
    this.#listeners.add(listener);
    if (now !== undefined) this.#tell(listener, now);
    return () => void this.#listeners.delete(listener);
  }

  tell(...told: T): void {
    for (const listener of this.#listeners) this.#tell(listener, told);
  }

  #tell(listener: (...told: T) => void, told: T): void {
    try {
      listener(...told);
    } catch (error) {
      this.#log.error({ error }, this.#failure);
    }
  }
}
