import type { Column } from "../columns/column.ts";
import type { SqlDialect } from "./sql-dialect.ts";

/** Where statements find records. */
export interface RecordSource {
  readonly dialect: SqlDialect;
  /** @throws ExploreError for a field that is not kept. */
  columnOf(field: string): Column;
  /** What stands behind FROM: rows with at least these columns, called as the dialect calls them. */
  from(columns: readonly Column[]): string;
  /** The name of the column of how many records a row stands for; undefined: each for itself. */
  readonly weight: string | undefined;
}
