/** Why a store refused records, in its words. */
export interface Refusal {
  readonly reason: string;
  readonly records: number;
  /** The last time, milliseconds since the epoch. */
  readonly at: number;
}

/** A store that refused records this recently may refuse the next ones, milliseconds. */
const recentMs = 60_000;

/** Why records are refused now; undefined when none are. */
export const refusedNow = (refusals: readonly Refusal[] = [], now: number): Refusal | undefined =>
  refusals.find(({ at }) => now - at < recentMs);
