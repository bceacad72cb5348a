import type { Column } from "../columns/column.ts";
import type { PlainValue } from "./query-engine.ts";

/** A record of the values of columns, without those that it lacks. */
export function recordOf(
  columns: readonly Column[],
  values: readonly PlainValue[],
): Readonly<Record<string, PlainValue>> {
  const cells = columns.map(({ field }, i) => [field, values[i] ?? null] as const);
  return Object.fromEntries(cells.filter(([, value]) => value !== null));
}
