import { createLineFilter, cutTime, type FieldEdit } from "../output/index.ts";
import { recordFields, type ShapeLines } from "../record/index.ts";
import type { PlainSettings } from "./settings/index.ts";

const decimals = { s: 0, ms: 3, us: 6 } as const;

const isTime = (type: string): boolean => type === "date" || type === "date_nanos";

/** What becomes of the lines of all records before they go to the outputs; undefined: they stay as they are. */
export function recordShape(settings: PlainSettings): ShapeLines | undefined {
  return createLineFilter({ dropFields: settings.SVC_PROCESSOR_DROP_FIELDS, edits: recordEdits(settings) });
}

/** What becomes of fields of all records. */
export function recordEdits(settings: PlainSettings): ReadonlyMap<string, FieldEdit> {
  const precision = settings.SVC_PROCESSOR_TIMESTAMP_PRECISION;
  if (precision === "ns") return new Map();
  const edit = cutTime(decimals[precision]);
  return new Map(recordFields.filter(({ type }) => isTime(type)).map(({ name }) => [name, edit]));
}
