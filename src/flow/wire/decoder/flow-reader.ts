import type { DecodeOutput } from "./decoder.ts";
import type { IcmpOrder } from "../../exporters/exporter.ts";
import type { DomainOptions } from "../../exporters/options/domain-options.ts";
import type { RateSources, RecordSampling } from "../../exporters/sampling/flow-rate.ts";
import type { DoubtRate } from "../../exporters/sampling/record-rate.ts";
import type { ListSource } from "../structured/read-list.ts";
import type { RecordContext } from "../../exporters/templates/record-context.ts";
import type { Plan } from "../../exporters/templates/plan.ts";

/** Part of a datagram. */
export interface ByteRange {
  readonly bytes: Buffer;
  readonly start: number;
  /** Exclusive, not behind the end of `bytes`. */
  readonly end: number;
}

export interface ReadResult {
  /** Records that were read whole. */
  readonly count: number;
  /** Whether a record's variable lengths ran past the end of the set; it and what is behind it cannot be read. */
  readonly isCut: boolean;
}

/** What was said before of the exporter and the domain that records are of. */
export interface FlowSources {
  /** The operator's sampling rate, or that of a header which speaks for its datagram. */
  readonly manualRate: number | undefined;
  /** The operator's for an exporter that says none. */
  readonly fallbackRate: number | undefined;
  readonly own: DomainOptions | undefined;
  readonly whole: DomainOptions | undefined;
  /** Whether records of the domain name samplers. Left out: none does. */
  readonly hasSamplers?: boolean;
  /** Is called with an impossible rate of a record. */
  readonly doubt?: DoubtRate | undefined;
  /** Undefined: it is not learned. */
  readonly icmp: IcmpOrder | undefined;
  /** For plans with lists. */
  readonly lists: ListSource | undefined;
}

/** Flow samples of sFlow: written by the kernel, or made records, which is slower. */
export interface PathCounts {
  compiled: number;
  interpreted: number;
}

/** Reads flow records and passes them on, enriched, as lines. */
export interface FlowReader {
  /** As {@link RecordReader.read}. */
  read(plan: Plan, range: ByteRange, context: RecordContext, sources: FlowSources, output: DecodeOutput): ReadResult;
}

export function rateSources(sources: FlowSources): RateSources {
  const { manualRate, fallbackRate, own, whole, hasSamplers = false, doubt } = sources;
  return { manualRate, fallbackRate, own: own?.sampling, whole: whole?.sampling, hasSamplers, doubt };
}

/** What is known of the records of a plan. */
export function recordSampling({ namesSampling, template }: Plan): RecordSampling {
  return { namesSampling, templateId: template.id };
}

/** When the exporter started, where its options say so. */
export function bootTimeOf({ own, whole }: FlowSources): number | undefined {
  return own?.bootTime ?? whole?.bootTime;
}
