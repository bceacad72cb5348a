import type { RecordFields, Value } from "../../record/index.ts";

const counters = [
  ["flow.bytes", "flow.scaled.bytes"],
  ["flow.packets", "flow.scaled.packets"],
] as const;

/**
 * Adds the rate, and the estimates of what really passed: counter times rate, rounded to a whole number. Estimates of
 * whole rates are exact.
 */
export function scaleCounters(record: RecordFields, rate: number): void {
  record.set("flow.sample_rate", rate);
  for (const [counter, estimate] of counters) {
    const value = record.get(counter);
    const scaled = value === undefined ? undefined : scale(value, rate);
    if (scaled !== undefined) record.set(estimate, scaled);
  }
}

/** Rates that are no whole numbers are applied to bigints in parts of a millionth. */
const millionths = 1_000_000;

function scale(value: Value, rate: number): number | bigint | undefined {
  if (typeof value === "number") {
    const scaled = Math.round(value * rate);
    if (Number.isSafeInteger(scaled)) return scaled;
  }
  if (typeof value !== "number" && typeof value !== "bigint") return undefined;
  if (Number.isInteger(rate)) return BigInt(value) * BigInt(rate);
  const parts = Math.round(rate * millionths);
  return Number.isFinite(parts) ? (BigInt(value) * BigInt(parts)) / BigInt(millionths) : undefined;
}
