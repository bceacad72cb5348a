import type { FieldType, RecordField, Value } from "../../src/record/index.ts";

const isValue: Readonly<Record<FieldType, (value: Value) => boolean>> = {
  keyword: (value) => typeof value === "string",
  ip: (value) => typeof value === "string" && /^[0-9a-f.:]+$/.test(value),
  long: (value) => Number.isSafeInteger(value),
  // Golden files have bigints as texts that end with n.
  unsigned_long: (value) => Number.isSafeInteger(value) || /^\d+n$/.test(value as string),
  double: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  date: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/.test(value as string),
  date_nanos: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(value as string),
  geo_point: (value) => /^-?[\d.]+,-?[\d.]+$/.test(value as string),
};

/** Whether a value is one of a field. @param hasLists whether a field may be an array that is none elsewhere. */
export function fitsField({ type, isArray }: RecordField, value: Value, hasLists: boolean): boolean {
  if (!Array.isArray(value)) return (!isArray || hasLists) && isValue[type](value);
  return (isArray || hasLists) && value.every((each: Value) => isValue[type](each));
}
