import { renderFields, type LineBuffer, type RecordFields } from "../../record/index.ts";
import { toUnsigned } from "../mapping/convert-type.ts";
import type { ExportClock, FieldSource } from "../mapping/field-source.ts";
import type { TimeFormat } from "../mapping/time-format.ts";
import type { Step } from "../template/plan.ts";
import { locateFields, readStep, type FieldPlaces } from "../template/read-step.ts";
import type { RecordTools } from "./compile-record.ts";
import { createTimeWriter } from "./write-values.ts";

/** The interpreter's help for compiled code, and the bytes that both read. */
export interface InterpretStep extends Pick<RecordTools, "interpret" | "bootTime" | "times"> {
  /** Sets what the records that follow are read from. */
  setSource(bytes: Buffer, clock: ExportClock, bootTime: number | undefined): FieldSource;
}

/** @param places are set beforehand for records with variable lengths. */
export function createInterpretStep(lines: LineBuffer, places: FieldPlaces, times: TimeFormat): InterpretStep {
  const record: RecordFields = new Map();
  let toldBootTime: number | undefined;
  let source: FieldSource | undefined;

  return {
    times: createTimeWriter(),
    setSource(bytes, clock, bootTime) {
      toldBootTime = bootTime;
      source = { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), clock, times, bootTime };
      return source;
    },
    interpret(plan, step, at, from) {
      if (source === undefined) return at;
      if (!plan.hasVariableLength) locateFields(plan, source.bytes, from, source.bytes.length, places);
      record.clear();
      readStep(record, source, plan.steps[step] as Step, places);
      const rendered = renderFields([...record]);
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
