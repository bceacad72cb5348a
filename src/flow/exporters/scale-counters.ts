import type { RecordFields, Value } from "../../record/index.ts";
import { eachCounter, type CounterNames } from "../elements/mapping/counter-names.ts";

/**
 * Adds the rate, and the estimates of what really passed: counter times rate, rounded to a whole number. Estimates of
 * whole rates are exact. A rate that is not known counts as 1, and `flow.sampling.assumed` says so: sums of estimates then need
 * no case distinction. An estimate beyond {@link largestEstimate} is cut there, and `flow.sampling.overflow` says so.
 */
export function scaleCounters(record: RecordFields, rate: number | undefined, counters: CounterNames): void {
  const counted = eachCounter(counters).filter(({ exported }) => isCounter(record.get(exported)));
  if (rate === undefined && counted.length === 0) return;
  record.set("flow.sample_rate", rate ?? 1);
  let isCut = false;
  for (const { exported, estimate } of counted) {
    const value = record.get(exported);
    const scaled = value === undefined ? undefined : scaleCounter(value, rate ?? 1);
    if (scaled === undefined) continue;
    record.set(estimate, cutEstimate(scaled));
    isCut ||= scaled > largestEstimate;
  }
  if (isCut) record.set("flow.sampling.overflow", true);
  if (rate === undefined) record.set("flow.sampling.assumed", true);
}

function isCounter(value: Value | undefined): boolean {
  return (typeof value === "number" || typeof value === "bigint") && value >= 0;
}

/** Stores have whole numbers of 64 bits. */
export const largestEstimate = 2n ** 64n - 1n;

/** An estimate, or the largest one where it is larger. */
export function cutEstimate(scaled: number | bigint): number | bigint {
  return scaled > largestEstimate ? largestEstimate : scaled;
}

/** Rates that are no whole numbers are applied to bigints in parts of a millionth. */
const millionths = 1_000_000;

/** The estimate by a counter; undefined where there is none. */
export function scaleCounter(value: Value, rate: number): number | bigint | undefined {
  if (typeof value === "number") {
    const scaled = Math.round(value * rate);
    if (Number.isSafeInteger(scaled)) return scaled;
  }
  if (typeof value !== "number" && typeof value !== "bigint") return undefined;
  if (Number.isInteger(rate)) return BigInt(value) * BigInt(rate);
  const parts = Math.round(rate * millionths);
  return Number.isFinite(parts) ? (BigInt(value) * BigInt(parts)) / BigInt(millionths) : undefined;
}
