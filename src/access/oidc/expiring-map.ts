import { randomBytes } from "node:crypto";
import type { Clock } from "../../report/index.ts";

/** Values by random keys, which end. When there are too many, the oldest goes. */
export interface ExpiringMap<Value> {
  readonly size: number;
  /** @returns the key: 256 random bits, safe in a URL and in a cookie. */
  add(value: Value): string;
  get(key: string): Value | undefined;
  /** Removes it. @returns what it was; undefined for a key that is not known or has ended. */
  take(key: string): Value | undefined;
}

/** @param lifetimeMs from when a value was added on. */
export function createExpiringMap<Value>(
  { lifetimeMs, maxSize }: { readonly lifetimeMs: number; readonly maxSize: number },
  clock: Pick<Clock, "monotonic">,
): ExpiringMap<Value> {
  // All live equally long, so that the oldest is the first and the first to end.
  const entries = new Map<string, { readonly value: Value; readonly ends: number }>();

  const dropEnded = (): void => {
    const now = clock.monotonic();
    for (const [key, { ends }] of entries) {
      if (ends > now) return;
      entries.delete(key);
    }
  };

  return {
    get size() {
      dropEnded();
      return entries.size;
    },
    add(value) {
      dropEnded();
      const [oldest] = entries.keys();
      if (entries.size >= maxSize && oldest !== undefined) entries.delete(oldest);
      const key = randomBytes(32).toString("base64url");
      entries.set(key, { value, ends: clock.monotonic() + lifetimeMs });
      return key;
    },
    get(key) {
      dropEnded();
      return entries.get(key)?.value;
    },
    take(key) {
      dropEnded();
      const found = entries.get(key);
      entries.delete(key);
      return found?.value;
    },
  };
}
