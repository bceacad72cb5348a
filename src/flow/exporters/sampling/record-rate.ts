import type { FieldValues } from "../../../record/index.ts";

/** Elements that give a rate or a sampler, in flow records or in options. */
export const samplingElements: ReadonlySet<number> = new Set([34, 48, 50, 302, 305, 306, 309, 310, 311]);
/** Of these, the ones that name a sampler. */
export const samplerElements: ReadonlySet<number> = new Set([48, 302]);

/** From here on a rate is doubted: no device samples so few packets, and the lowest one in the wrong byte order is this. */
const doubtedFrom = 2 ** 24;
/** A rate that was sent in the wrong byte order has zeros where its lower half is expected. */
const halfBits = 16;

/**
 * A rate that can be: itself below 1:2^24. Beyond it the other byte order counts, where that gives a rate of 16 bits (RouterOS sends
 * 1:100 as 1 677 721 600).
 *
 * @returns undefined where neither order gives a rate.
 */
export function plausibleRate(rate: number): number | undefined {
  if (rate < doubtedFrom) return rate;
  if (!Number.isInteger(rate) || rate >= 2 ** 32 || (rate & 0xffff) !== 0) return undefined;
  const upper = rate >>> halfBits;
  return ((upper & 0xff) << 8) | (upper >>> 8);
}

/** Takes a rate that was said and cannot be, and the one that is taken for it: undefined where none is. */
export type DoubtRate = (said: number, taken: number | undefined) => void;

/** What a rate that was said counts as: see {@link plausibleRate}. */
export function checkRate(said: number | undefined, doubt: DoubtRate | undefined): number | undefined {
  if (said === undefined) return undefined;
  const taken = plausibleRate(said);
  if (taken !== said) doubt?.(said, taken);
  return taken;
}

/**
 * One of how many packets was looked at, by what the record itself says: samplingInterval (34), samplerRandomInterval
 * (50), samplingPacketInterval and samplingPacketSpace (305, 306: so many taken, so many left out), samplingSize and
 * samplingPopulation (309, 310: n out of N), samplingProbability (311). Undefined when it says nothing usable.
 */
export function recordRate(record: FieldValues): number | undefined {
  return (
    positive(record, "flow.ie.samplingInterval") ??
    positive(record, "flow.ie.samplerRandomInterval") ??
    countRate(record) ??
    ratio(positive(record, "flow.ie.samplingPopulation"), positive(record, "flow.ie.samplingSize")) ??
    ratio(1, positive(record, "flow.ie.samplingProbability"))
  );
}

/** The sampler that the record names: selectorId (302), or samplerId (48) of NetFlow v9. Zero names none. */
export function recordSampler(record: FieldValues): number | undefined {
  return positive(record, "flow.ie.selectorId") ?? positive(record, "flow.ie.samplerId");
}

function countRate(record: FieldValues): number | undefined {
  const taken = positive(record, "flow.ie.samplingPacketInterval");
  const leftOut = record.get("flow.ie.samplingPacketSpace");
  return taken === undefined || typeof leftOut !== "number" ? undefined : (taken + leftOut) / taken;
}

const singlePrecision = 2 ** -23;

function ratio(all: number | undefined, taken: number | undefined): number | undefined {
  if (all === undefined || taken === undefined || taken > all) return undefined;
  const rate = all / taken;
  if (!Number.isFinite(rate)) return undefined;
  // A third in single precision is meant to be one of three.
  const whole = Math.round(rate);
  return Math.abs(rate - whole) < whole * singlePrecision ? whole : rate;
}

function positive(record: FieldValues, name: string): number | undefined {
  const value = record.get(name);
  return typeof value === "number" && value > 0 ? value : undefined;
}
