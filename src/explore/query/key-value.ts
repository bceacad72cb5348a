import type { Column } from "../columns/column.ts";
import type { SqlValue } from "./sql-dialect.ts";

/** A value of a dimension, as a result has it, for the next statement. Times are no dimensions. */
export function keyValue({ type }: Column, value: unknown): SqlValue {
  switch (type) {
    case "address":
      return { type, value: value as string | null };
    case "integer":
    case "unsigned":
      // A text where JSON brought it.
      return { type: "whole", value: value === null ? null : BigInt(value as bigint | string) };
    case "double":
      return { type, value: value === null ? null : Number(value) };
    case "boolean":
      return { type, value: value as boolean | null };
    case "time":
    case "text":
      break;
  }
  return { type: "text", value: value as string | null };
}
