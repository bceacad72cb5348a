import type { Clock } from "../../base/report/index.ts";

/** Several ways to one store: each request takes the next of those that work. */
export interface Endpoints {
  /** The next one that works; when none does, the one whose rest is over first. */
  next(): string;
  worked(url: string): void;
  /** It is left alone for a while, longer with each failure in a row. */
  failed(url: string): void;
}

const firstRestMs = 1000;
const maxRestMs = 30_000;

/** @param urls one or more. */
export function createEndpoints(urls: readonly string[], clock: Clock): Endpoints {
  const all = urls.map((url) => ({ url, failures: 0, restsUntil: -Infinity }));
  let turn = 0;
  return {
    next() {
      const now = clock.monotonic();
      for (let i = 0; i < all.length; i++) {
        const one = all[(turn + i) % all.length];
        if (one === undefined || one.restsUntil > now) continue;
        turn = (turn + i + 1) % all.length;
        return one.url;
      }
      return all.reduce((a, b) => (b.restsUntil < a.restsUntil ? b : a)).url;
    },
    worked(url) {
      const one = all.find((each) => each.url === url);
      if (one === undefined) return;
      one.failures = 0;
      one.restsUntil = -Infinity;
    },
    failed(url) {
      const one = all.find((each) => each.url === url);
      if (one === undefined) return;
      one.failures++;
      one.restsUntil = clock.monotonic() + Math.min(maxRestMs, firstRestMs * 2 ** (one.failures - 1));
    },
  };
}
