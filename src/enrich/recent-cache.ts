/** Values by key, at most a fixed number, of which those used lately stay. */
export interface RecentCache<Value, Key = string> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
  delete(key: Key): void;
  /** How many values it holds. */
  size(): number;
  /** How many values have been dropped to make room. */
  evictions(): number;
}

/**
 * A cache of two halves: what is used goes to the young half; when that is full it becomes the old half, and what the
 * old half still holds is dropped. So the last `maxSize / 2` values used are always there, and using one of the young
 * half costs no more than the look-up, where a strict order of use would cost two more changes of the map.
 */
export function createRecentCache<Value, Key = string>(maxSize: number): RecentCache<Value, Key> {
  const half = Math.floor(maxSize / 2);
  let young = new Map<Key, Value>();
  let old = new Map<Key, Value>();
  let evictions = 0;

  const set = (key: Key, value: Value): void => {
    if (half === 0) return;
    old.delete(key);
    young.set(key, value);
    if (young.size < half) return;
    evictions += old.size;
    old = young;
    young = new Map();
  };

  return {
    get(key) {
      const value = young.get(key);
      if (value !== undefined) return value;
      const aged = old.get(key);
      if (aged !== undefined) set(key, aged);
      return aged;
    },
    set,
    delete(key) {
      young.delete(key);
      old.delete(key);
    },
    size: () => young.size + old.size,
    evictions: () => evictions,
  };
}
