import { findField } from "../fields/field-table.ts";
import type { FieldType } from "../fields/record-field.ts";

/**
 * The type of the values of a column. An address has 16 bytes, a time is in nanoseconds since the epoch; `integer` and `unsigned` have 64 bits.
 */
export type ColumnType = "text" | "address" | "integer" | "unsigned" | "double" | "boolean" | "time";

/** A field of records as a column. */
export interface Column {
  /** The field's name as in records. */
  readonly field: string;
  /** The type of the value, or of each value of an array. */
  readonly type: ColumnType;
  readonly isArray: boolean;
}

/** The type of the column for each type of field. */
export const columnTypes: Readonly<Record<FieldType, ColumnType>> = {
  keyword: "text",
  ip: "address",
  long: "integer",
  unsigned_long: "unsigned",
  double: "double",
  boolean: "boolean",
  date: "time",
  date_nanos: "time",
  geo_point: "text",
};

/** Returns the column of the named field; undefined if records have no such name. */
export function columnOf(field: string): Column | undefined {
  const found = findField(field);
  if (found === undefined) return undefined;
  if ("pattern" in found) {
    const { type } = found;
    // A field of the type `any` is mostly a metadata key of the operator, whose values are texts.
    return type === "inner" ? undefined : { field, type: type === "any" ? "text" : columnTypes[type], isArray: false };
  }
  return { field, type: columnTypes[found.type], isArray: found.isArray };
}
