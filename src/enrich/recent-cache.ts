/**
 * Values by key, at most a fixed number. Values that were used lately stay.
 *
 * The cache has two halves. A value that is used goes to the young half; when this is full, it becomes the old half, and the rest of
 * the old half is dropped. So the last `maxSize / 2` values used are always there. A value of the young half costs one look-up, where a
 * strict order of use would cost two more changes of the map.
 */
export class RecentCache<Value, Key = string> {
  readonly #half: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();
  #evictions = 0;

  constructor(maxSize: number) {
    this.#half = Math.floor(maxSize / 2);
  }

  get(key: Key): Value | undefined {
    const value = this.#young.get(key);
    if (value !== undefined) return value;
    const aged = this.#old.get(key);
    if (aged !== undefined) this.set(key, aged);
    return aged;
  }

  set(key: Key, value: Value): void {
    if (this.#half === 0) return;
    this.#old.delete(key);
    this.#young.set(key, value);
    if (this.#young.size < this.#half) return;
    this.#evictions += this.#old.size;
    this.#old = this.#young;
    this.#young = new Map();
  }

  /** Returns the number of values. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Returns the number of values that were dropped to make room. */
  get evictions(): number {
    return this.#evictions;
  }
}
