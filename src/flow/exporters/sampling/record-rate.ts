import type { FieldValues } from "../../../record/index.ts";

/** Elements that give a rate or a sampler, in flow records or in options. */
export const samplingElements: ReadonlySet<number> = new Set([34, 48, 50, 302, 305, 306, 309, 310, 311]);
/** Of these, the ones that name a sampler. */
export const samplerElements: ReadonlySet<number> = new Set([48, 302]);

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
