import type { FieldValues } from "../../../record/index.ts";
import { checkRate, recordRate, type DoubtRate } from "./record-rate.ts";
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
  /** Whether other records of the domain name samplers: then one that names none was not taken by them. */
  readonly hasSamplers: boolean;
  /** Is called with an impossible rate of a record, and what is used instead. */
  readonly doubt: DoubtRate | undefined;
}

/** What is known of a record before it is looked at. */
export interface RecordSampling {
  /** Whether it may say something of sampling; false saves the look. */
  readonly namesSampling: boolean;
  /** Of its template. */
  readonly templateId: number;
}

/**
 * One of how many packets was looked at: by the operator, the record, its sampler, its template, its interface, its domain, the
 * exporter as a whole, or the operator for want of these, the first that says it.
 */
export function flowRate(
  record: FieldValues,
  { namesSampling, templateId }: RecordSampling,
  { manualRate, fallbackRate, own, whole, hasSamplers, doubt }: RateSources,
): number | undefined {
  return (
    manualRate ??
    (namesSampling ? checkRate(recordRate(record), doubt) : undefined) ??
    own?.rateFor(record, { namesSampling, templateId, hasSamplers }) ??
    whole?.rateFor(record, { namesSampling, templateId: noTemplate, hasSamplers }) ??
    fallbackRate
  );
}

/** Numbers of templates are those of one domain. */
const noTemplate = 0;

/** Whether all records of a set have the same rate, whatever is in them. */
export function isOneRate(
  { namesSampling, templateId }: RecordSampling,
  { manualRate, own, whole, hasSamplers }: RateSources,
): boolean {
  if (manualRate !== undefined) return true;
  if (namesSampling || own?.isByInterface({ namesSampling, templateId, hasSamplers }) === true) return false;
  return whole?.isByInterface({ namesSampling, templateId: noTemplate, hasSamplers }) !== true;
}
