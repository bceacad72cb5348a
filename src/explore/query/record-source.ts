import type { Column } from "../columns/column.ts";
import type { Summand } from "./record-sum.ts";
import type { SqlDialect } from "./sql-dialect.ts";

/** Where statements find records. */
export interface RecordSource {
  readonly dialect: SqlDialect;
  /** @throws ExploreError for a field that is not kept. */
  columnOf(field: string): Column;
  /**
   * What stands behind FROM: the rows of a range with at least these columns, called as the dialect calls them, with what each row adds
   * to a sum as `explore_sum`, and the beginning of its bucket as `explore_bucket`.
   */
  from(wanted: WantedRows): string;
}

export interface WantedRows {
  readonly columns: readonly Column[];
  /** Left out: no sum is asked for. */
  readonly summand?: Summand;
  /** Of the buckets; left out or 0: no bucket is asked for. */
  readonly granularitySeconds?: number;
  /** Expressions of times: the first one belongs to the range, the last one does not. */
  readonly range: { readonly from: string; readonly to: string };
}
