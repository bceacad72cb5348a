import { scopedNumber, type LineEnricher } from "../../record/index.ts";
import type { Plan } from "../template/plan.ts";
import type { FieldPlaces } from "../template/read-step.ts";
import type { WriteCommunityId } from "./community-id-code.ts";
import type { DerivedFields } from "./derived-fields.ts";
import { makeFunction } from "./make-function.ts";
import { writeNumberAddition } from "./number-addition.ts";
import type { RecordCode } from "./record-code.ts";
import type { WriteRecord } from "./record-state.ts";
import { digits } from "./text-tables.ts";
import { writeEstimates } from "./write-estimates.ts";
import {
  copyText,
  writeHex,
  writeIpv4,
  writeIpv6,
  writeMac,
  writePlainText,
  writeUint32,
  writeUint64,
  type TimeWriter,
} from "./write-values.ts";

/** What the code of a plan works with, beside what all plans have in common. */
export interface RecordTools {
  readonly times: TimeWriter;
  readonly writeCommunityId: WriteCommunityId;
  readonly enricher: LineEnricher;
  /** Where the fields of the record are; set for each record of a plan with variable lengths. */
  readonly places: FieldPlaces;
  /** Writes what the interpreter makes of a step. Returns where it ends. */
  readonly interpret: (plan: Plan, step: number, at: number, from: number) => number;
  /** When the exporter started by the record itself, milliseconds since the epoch; NaN when it does not say. */
  readonly bootTime: (plan: Plan, from: number) => number;
  readonly derived: DerivedFields;
}

const common = {
  digits,
  copyText,
  writeHex,
  writeIpv4,
  writeIpv6,
  writeMac,
  writeText: writePlainText,
  writeUint32,
  writeUint64,
  writeEstimates,
  writeNumberAddition,
  scopedNumber,
};

/**
 * Makes the function of the code of a plan.
 *
 * @throws EvalError where code may not be made from text.
 */
export function compileRecord(plan: Plan, code: RecordCode, tools: RecordTools): WriteRecord {
  const { times, writeCommunityId, enricher, places } = tools;
  const inputs: Record<string, unknown> = {
    ...common,
    times,
    writeCommunityId,
    offsets: places.offsets,
    lengths: places.lengths,
    interpret: (step: number, at: number, from: number) => tools.interpret(plan, step, at, from),
    rateOf: tools.derived.rate(plan),
    writeNames: tools.derived.names(plan),
    bootTime: (from: number) => tools.bootTime(plan, from),
  };
  enricher.addresses.forEach((additions, i) => (inputs[`addresses${i}`] = additions));
  code.tables.forEach(({ texts, starts }, i) => {
    inputs[`texts${i}`] = texts;
    inputs[`starts${i}`] = starts;
  });
  return makeFunction(inputs, `return (out, at, input, from, state) => {\n${code.source}\n};`) as WriteRecord;
}
