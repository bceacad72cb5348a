/**
 * Values by key, at most a fixed number, of which those used lately stay.
 *
 * It has two halves: what is used goes to the young one; when that is full it becomes the old one, and what the old one still
 * holds is dropped. So the last `maxSize / 2` values used are always there, and using one of the young half costs no more than
 * the look-up, where a strict order of use would cost two more changes of the map.
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

  /** Returns how many values it holds. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Returns how many values have been dropped to make room. */
  get evictions(): number {
    return this.#evictions;
  }
}
