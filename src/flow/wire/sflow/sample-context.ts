import type { DecodeOutput, Detail } from "../decoder/decoder.ts";
import type { Domain } from "../../exporters/domain.ts";
import type { Exporter } from "../../exporters/exporter.ts";
import type { ManualRate } from "../../exporters/sampling/manual-rates.ts";
import type { ByteSource } from "../steps/step-value.ts";
import type { SampleRecords } from "./sample-records.ts";

/** What the samples of one datagram have in common. */
export interface SampleContext {
  readonly source: ByteSource;
  readonly exporter: Exporter;
  readonly domain: Domain;
  readonly output: DecodeOutput;
  /** What the operator says of the exporter's sampling. */
  readonly rates: ManualRate;
}

/** Reports a problem with a sample. */
export function sampleProblem(
  { output, exporter, domain }: SampleContext,
  reason: "cut_sample" | "bad_count",
  detail: Detail,
): void {
  output.problem(reason, { exporter: exporter.address, agent: domain.agent ?? "", ...detail });
}

/** Reports what is wrong with the records of a sample, if anything is. @param isCut whether one of them ends within a field. */
export function checkRecords(context: SampleContext, records: SampleRecords, isCut: boolean): void {
  const { claimed, found, left } = records;
  if (isCut || records.isCut || found < claimed) sampleProblem(context, "cut_sample", { records: claimed, found });
  else if (left > 0) sampleProblem(context, "bad_count", { records: claimed, bytes: left });
}
