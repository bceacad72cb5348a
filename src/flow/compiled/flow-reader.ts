import type { DecodeOutput } from "../decoder.ts";
import type { DomainOptions } from "../options/domain-options.ts";
import type { RateSources } from "../sampling/flow-rate.ts";
import type { ListSource } from "../structured/read-list.ts";
import type { Plan } from "../template/plan.ts";
import type { ByteRange, ReadResult, RecordContext } from "../template/record-reader.ts";

/** What was said before of the exporter and the domain that records are of. */
export interface FlowSources {
  /** The operator's sampling rate, or that of a header which speaks for its datagram. */
  readonly manualRate: number | undefined;
  readonly own: DomainOptions | undefined;
  readonly whole: DomainOptions | undefined;
  /** For plans with lists. */
  readonly lists: ListSource | undefined;
}

/** Flow samples of sFlow by the way they went. */
export interface PathCounts {
  compiled: number;
  interpreted: number;
  careful: number;
}

/** Reads flow records and passes them on, enriched, as lines. */
export interface FlowReader {
  /** As {@link RecordReader.read}. */
  read(plan: Plan, range: ByteRange, context: RecordContext, sources: FlowSources, output: DecodeOutput): ReadResult;
}

export function rateSources({ manualRate, own, whole }: FlowSources): RateSources {
  return { manualRate, own: own?.sampling, whole: whole?.sampling };
}

/** When the exporter started, where its options say so. */
export function bootTimeOf({ own, whole }: FlowSources): number | undefined {
  return own?.bootTime ?? whole?.bootTime;
}
