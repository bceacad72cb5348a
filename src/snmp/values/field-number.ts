import type { RecordFields } from "../../record/index.ts";

export function numberOf(fields: RecordFields, field: string): number | undefined {
  const value = fields.get(field);
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined;
}

/** @param parts how many parts of 1 are kept: 100 for two decimals. */
export function roundTo(value: number, parts: number): number {
  return Math.round(value * parts) / parts;
}
