import type { NumberTable } from "../../../record/index.ts";

/** Longer additions to a number make a record go the other way. */
export const maxNumberAddition = 1024;

/** Copies what a number adds. Returns -1 when that is too long. */
export function writeNumberAddition(out: DataView, at: number, table: NumberTable, value: number): number {
  const bytes = Number.isSafeInteger(value) ? table.get(value) : undefined;
  if (bytes === undefined) return at;
  if (bytes.length > maxNumberAddition) return -1;
  for (let i = 0; i < bytes.length; i++) out.setUint8(at + i, bytes[i] as number);
  return at + bytes.length;
}
