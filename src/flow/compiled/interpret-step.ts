import { renderFields, type RecordFields, type Workspace } from "../../record/index.ts";
import { toUnsigned } from "../mapping/convert-type.ts";
import type { ExportClock, FieldSource } from "../mapping/field-source.ts";
import type { TimeFormat } from "../mapping/time-format.ts";
import type { Plan, Step } from "../template/plan.ts";
import { locateFields, readStep, type FieldPlaces } from "../template/read-step.ts";
import { createDerivedFields, type DerivedFields, type ReadSteps } from "./derived-fields.ts";

/** The interpreter's help for the kernel. Lines are written into the workspace; records are in the datagram. */
export interface InterpretStep {
  /** Writes what the interpreter makes of a step. Returns where it ends. */
  interpret(plan: Plan, step: number, at: number, from: number): number;
  /** When the exporter started by the record itself, milliseconds since the epoch; NaN when it does not say. */
  bootTime(plan: Plan, from: number): number;
  readonly derived: DerivedFields;
  /** Sets what the records that follow are read from. */
  setSource(bytes: Buffer, clock: ExportClock, bootTime: number | undefined): FieldSource;
}

export function createInterpretStep(
  { bytes: memory }: Workspace,
  places: FieldPlaces,
  times: TimeFormat,
): InterpretStep {
  const record: RecordFields = new Map();
  let toldBootTime: number | undefined;
  let source: FieldSource | undefined;

  const readSteps: ReadSteps = (plan, steps, from) => {
    record.clear();
    if (source === undefined) return record;
    locateFields(plan, source.bytes, from, source.bytes.length, places);
    for (let i = 0; i < steps.length; i++) readStep(record, source, steps[i] as Step, places);
    return record;
  };

  return {
    derived: createDerivedFields(memory, readSteps),
    setSource(bytes, clock, bootTime) {
      toldBootTime = bootTime;
      source = { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), clock, times, bootTime };
      return source;
    },
    interpret(plan, step, at, from) {
      const rendered = renderFields([...readSteps(plan, [plan.steps[step] as Step], from)]);
      memory.set(rendered, at);
      return at + rendered.length;
    },
    bootTime(plan, from) {
      if (source === undefined) return Number.NaN;
      locateFields(plan, source.bytes, from, source.bytes.length, places);
      const field = plan.bootTimeField;
      const length = places.lengths[field] as number;
      const value = length === 0 ? undefined : toUnsigned(source, places.offsets[field] as number, length);
      const bootTime = typeof value === "number" ? value : toldBootTime;
      source = { ...source, bootTime };
      return bootTime ?? Number.NaN;
    },
  };
}
