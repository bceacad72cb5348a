import { renderFields, type LineBuffer, type RecordFields } from "../../record/index.ts";
import { toUnsigned } from "../mapping/convert-type.ts";
import type { ExportClock, FieldSource } from "../mapping/field-source.ts";
import type { TimeFormat } from "../mapping/time-format.ts";
import type { Step } from "../template/plan.ts";
import { locateFields, readStep, type FieldPlaces } from "../template/read-step.ts";
import type { RecordTools } from "./compile-record.ts";
import { createDerivedFields, type ReadSteps } from "./derived-fields.ts";
import { createTimeWriter } from "./write-values.ts";

/** The interpreter's help for compiled code, and the bytes that both read. */
export interface InterpretStep extends Pick<RecordTools, "interpret" | "bootTime" | "times" | "derived"> {
  /** Sets what the records that follow are read from. */
  setSource(bytes: Buffer, clock: ExportClock, bootTime: number | undefined): FieldSource;
}

/** @param places are set beforehand for records with variable lengths. */
export function createInterpretStep(lines: LineBuffer, places: FieldPlaces, times: TimeFormat): InterpretStep {
  const record: RecordFields = new Map();
  let toldBootTime: number | undefined;
  let source: FieldSource | undefined;

  const readSteps: ReadSteps = (plan, steps, from) => {
    record.clear();
    if (source === undefined) return record;
    if (!plan.hasVariableLength) locateFields(plan, source.bytes, from, source.bytes.length, places);
    for (let i = 0; i < steps.length; i++) readStep(record, source, steps[i] as Step, places);
    return record;
  };

  return {
    times: createTimeWriter(),
    derived: createDerivedFields(lines, readSteps),
    setSource(bytes, clock, bootTime) {
      toldBootTime = bootTime;
      source = { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), clock, times, bootTime };
      return source;
    },
    interpret(plan, step, at, from) {
      const rendered = renderFields([...readSteps(plan, [plan.steps[step] as Step], from)]);
      lines.bytes.set(rendered, at);
      return at + rendered.length;
    },
    bootTime(plan, from) {
      if (source === undefined) return Number.NaN;
      if (!plan.hasVariableLength) locateFields(plan, source.bytes, from, source.bytes.length, places);
      const field = plan.bootTimeField;
      const length = places.lengths[field] as number;
      const value = length === 0 ? undefined : toUnsigned(source, places.offsets[field] as number, length);
      const bootTime = typeof value === "number" ? value : toldBootTime;
      source = { ...source, bootTime };
      return bootTime ?? Number.NaN;
    },
  };
}
