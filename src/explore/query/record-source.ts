import type { Column } from "../columns/column.ts";
import type { Summand } from "./record-sum.ts";
import type { SqlDialect } from "./sql-dialect.ts";

/** Where statements find records. */
export interface RecordSource {
  readonly dialect: SqlDialect;
  /** @throws ExploreError for a field that is not kept. */
  columnOf(field: string): Column;
  /**
   * What stands behind FROM: rows with at least these columns, called as the dialect calls them, and with what each row adds to a sum
   * as `explore_sum`.
   */
  from(columns: readonly Column[], summand?: Summand): string;
}
