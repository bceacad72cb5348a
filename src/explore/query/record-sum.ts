import type { Column } from "../columns/column.ts";
import type { SqlDialect } from "./sql-dialect.ts";

/** What is added up. */
export type Summand = "bytes" | "packets" | "flows";

/** The name of what a row adds to a sum. */
export const sumName = "explore_sum";

/** The name of the bucket of a row. */
export const bucketName = "explore_bucket";

export interface RecordSumOptions {
  readonly dialect: SqlDialect;
  readonly columnOf: (field: string) => Column;
  /** The name of the column of how many records a row stands for; undefined: each for itself. */
  readonly weight: string | undefined;
}

/** Which columns have what is added up. Where counters are not scaled by the sampling rate, the estimate has a field of its own. */
export function summandColumns(summand: Summand, columnOf: (field: string) => Column): readonly Column[] {
  return summand === "flows" ? [] : [columnOf(`flow.scaled.${summand}`), columnOf(`flow.${summand}`)];
}

/** What a row of records adds to a sum: an expression over the columns of {@link summandColumns}. */
export function recordSum(summand: Summand, { dialect, columnOf, weight }: RecordSumOptions): string {
  if (summand === "flows") return weight ?? "1";
  const columns = summandColumns(summand, columnOf);
  const value = `coalesce(${columns.map((column) => dialect.column(column)).join(", ")})`;
  return weight === undefined ? value : dialect.product(value, weight);
}
