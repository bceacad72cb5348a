import type { FieldValues } from "../../../record/index.ts";
import { recordRate } from "./record-rate.ts";
import type { SamplingTable } from "./sampling-table.ts";

/** Names of all fields that a rate may follow from. */
export const rateInputs: readonly string[] = [
  "flow.ie.samplingInterval",
  "flow.ie.samplerRandomInterval",
  "flow.ie.samplingPacketInterval",
  "flow.ie.samplingPacketSpace",
  "flow.ie.samplingPopulation",
  "flow.ie.samplingSize",
  "flow.ie.samplingProbability",
  "flow.ie.selectorId",
  "flow.ie.samplerId",
  "flow.in.netif.index",
  "flow.out.netif.index",
  "flow.direction.name",
];

/** What may say the sampling rate of a flow record, besides the record itself. */
export interface RateSources {
  /** The operator's; it wins. */
  readonly manualRate: number | undefined;
  /** The operator's for an exporter that says none. */
  readonly fallbackRate: number | undefined;
  /** The record's own domain. */
  readonly own: SamplingTable | undefined;
  /** Domain 0, which speaks for the whole exporter. */
  readonly whole: SamplingTable | undefined;
}

/**
 * One of how many packets was looked at: by the operator, the record, its sampler, its interface, its domain, the
 * exporter as a whole, or the operator for want of these, the first that says it.
 *
 * @param namesSampling whether the record may say something of sampling; false saves the look.
 */
export function flowRate(
  record: FieldValues,
  namesSampling: boolean,
  { manualRate, fallbackRate, own, whole }: RateSources,
): number | undefined {
  return (
    manualRate ??
    (namesSampling ? recordRate(record) : undefined) ??
    own?.rateFor(record, namesSampling) ??
    whole?.rateFor(record, namesSampling) ??
    fallbackRate
  );
}

/** Whether all records of a set have the same rate, whatever is in them. */
export function isOneRate(namesSampling: boolean, { manualRate, own, whole }: RateSources): boolean {
  if (manualRate !== undefined) return true;
  return !namesSampling && own?.isByInterface !== true && whole?.isByInterface !== true;
}
