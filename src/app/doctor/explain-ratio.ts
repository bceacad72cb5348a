import { number } from "./wording.ts";
import type { Comparison } from "./compare-counters.ts";

/** What a ratio of flows to counters looks like. */
export interface Explanation {
  readonly cause: "both-directions" | "bits" | "scaled-twice" | "counted-twice" | "sampling-rate" | "unknown";
  readonly sentence: string;
  readonly advice: string;
}

type Disagreement = Pick<Comparison, "flows" | "counted" | "ingressBytes" | "egressBytes"> & { readonly share: number };

/** Ratios this near to a factor, or to each other, are taken for it. */
const near = 0.2;
/** Nearly every number is near to some usual rate, so those have to be nearer. */
const nearRate = 0.1;
/** Of rates below this the same holds. */
const leastRate = 10;
const rateSetting = "SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF";

/**
 * Names the factor, where that of all interfaces is a known one.
 *
 * @param off at least one, that with the most traffic first; `share` is flows by counters.
 */
export function explainRatio(off: readonly Disagreement[]): Explanation {
  const share = sumOf(off, (one) => one.share * one.counted) / sumOf(off, ({ counted }) => counted);
  if (off.every(isTwofold)) return bothDirections;
  // What is sent on from interface to interface has one factor.
  if (!off.every((one) => isNear(one.share, share, near))) return share > 1 ? tooMany : tooFew;
  const raw = sumOf(off, ({ flows }) => flows.rawBytes);
  const rate = raw > 0 ? sumOf(off, ({ flows }) => flows.bytes) / raw : 1;
  if (rate > 1 + near && isNear(share, rate, near)) return scaledTwice(rate);
  if (isNear(share, 2, near)) return countedTwice;
  if (isNear(share, 8, near)) return bits;
  const inForce = usualRate(rate / share);
  if (inForce !== undefined) return otherRate(rate, inForce);
  return share > 1 ? tooMany : tooFew;
}

const bothDirections: Explanation = {
  cause: "both-directions",
  sentence:
    "What was seen on the way in and what was seen on the way out each account for all of it: both are exported.",
  advice:
    "Bind the flow monitor in one direction: ingress on all interfaces sees every flow once (Cisco: `ip flow monitor … input`). " +
    "Or add up one direction only (`flow.direction.name`).",
};

const countedTwice: Explanation = {
  cause: "counted-twice",
  sentence: "That is twice as much: each packet is reported on the way in and on the way out, or by two monitors.",
  advice:
    "Export or sample in one direction only, ingress on all interfaces, and by one monitor and exporter. " +
    "An sFlow agent that samples both ways needs twice the rate.",
};

const bits: Explanation = {
  cause: "bits",
  sentence: "That is eight times as much: the records seem to have bits where bytes belong.",
  advice: "Look for an update of the exporter, or for a setting of the unit of its counters.",
};

const scaledTwice = (rate: number): Explanation => ({
  cause: "scaled-twice",
  sentence: `That is the sampling rate of ${rateText(rate)}: the exporter seems to have multiplied its counters already.`,
  advice: `Set ${rateSetting}=<exporter>=1: then its counters stay as they are.`,
});

function otherRate(rate: number, inForce: number): Explanation {
  const isKnown = rate > 1 + near;
  return {
    cause: "sampling-rate",
    sentence:
      `That is how it would be if one packet in ${number(inForce)} was looked at, ` +
      (isKnown ? `where the records were multiplied by ${rateText(rate)}.` : "and nothing says so."),
    advice: `Compare with the rate on the device. If it is ${inForce}, have it announced, or set ${rateSetting}=<exporter>=${inForce}.`,
  };
}

const tooFew: Explanation = {
  cause: "unknown",
  sentence:
    "Flows are missing: not all that passes the interface is looked at, they are lost on the way, or they come long after their traffic.",
  advice:
    "Check that the flow monitor sees all protocols (IPv6, MPLS; switched traffic where the device also switches), that no gaps are reported, " +
    "and that the active timeout is a minute or two.",
};

const tooMany: Explanation = {
  cause: "unknown",
  sentence: "Flows are counted more than once, or multiplied by too high a sampling rate.",
  advice:
    "Check the sampling rate on the device, and whether several monitors or directions report the same packets (tunnels, VLAN interfaces).",
};

/** Whether what was seen on the way in and what was seen on the way out are both about all that was counted. */
function isTwofold({ flows, ingressBytes, egressBytes, share }: Disagreement): boolean {
  return isNear(share, 2, near) && [ingressBytes, egressBytes].every((part) => isNear(part, flows.bytes / 2, near));
}

function isNear(value: number, wanted: number, tolerance: number): boolean {
  return value >= wanted * (1 - tolerance) && value <= wanted * (1 + tolerance);
}

/** A rate that people set, near to this one. */
function usualRate(rate: number): number | undefined {
  if (rate < leastRate * (1 - nearRate)) return isNear(rate, 1, nearRate) ? 1 : undefined;
  const decade = 10 ** Math.floor(Math.log10(rate));
  const usual = [decade, 2 * decade, 5 * decade, 10 * decade, 2 ** Math.round(Math.log2(rate))];
  return usual
    .filter((one) => isNear(rate, one, nearRate))
    .toSorted((a, b) => Math.abs(a - rate) - Math.abs(b - rate))[0];
}

function rateText(rate: number): string {
  return number(Math.round(rate * 100) / 100);
}

function sumOf<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
