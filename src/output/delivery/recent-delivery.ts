/** Why a store refused records: the reason in its words, how many records in this run, and when last (milliseconds since the epoch). */
export interface RefusalReason {
  readonly reason: string;
  readonly records: number;
  readonly at: number;
}

/** What people want to know of a store at a glance. */
export interface RecentDelivery {
  request(seconds: number): void;
  refused(records: number, reason: string): void;
  /** Of the last requests, milliseconds; undefined before there was one. */
  latency(): { readonly medianMs: number; readonly slowestMs: number } | undefined;
  /** The last reasons, the newest first. */
  refusals(): readonly RefusalReason[];
}

/** Requests that are looked at. */
const requests = 64;
/** Reasons that are kept, and characters of each: a store may name the record in every one. */
const reasons = 8;
const maxReason = 500;

export function createRecentDelivery(now: () => number): RecentDelivery {
  const seconds: number[] = [];
  let next = 0;
  const byReason = new Map<string, RefusalReason>();
  return {
    request(taken) {
      seconds[next] = taken;
      next = (next + 1) % requests;
    },
    refused(records, text) {
      const reason = text.length > maxReason ? `${text.slice(0, maxReason)}…` : text;
      const before = byReason.get(reason)?.records ?? 0;
      byReason.delete(reason);
      byReason.set(reason, { reason, records: before + records, at: now() });
      const [oldest] = byReason.keys();
      if (byReason.size > reasons && oldest !== undefined) byReason.delete(oldest);
    },
    latency() {
      const sorted = seconds.toSorted((a, b) => a - b);
      const slowest = sorted.at(-1);
      if (slowest === undefined) return undefined;
      const inMs = (value: number): number => Math.round(value * 10_000) / 10;
      return { medianMs: inMs(sorted[sorted.length >> 1] as number), slowestMs: inMs(slowest) };
    },
    refusals: () => [...byReason.values()].toReversed(),
  };
}
