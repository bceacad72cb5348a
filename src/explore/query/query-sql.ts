import type { Filter } from "../../record/index.ts";
import { timeField, type Column } from "../columns/column.ts";
import type { TimeRange } from "./explore-query.ts";
import { filterSql } from "./filter-sql.ts";
import type { RecordSource, WantedRows } from "./record-source.ts";
import { bucketName, sumName, type Summand } from "./record-sum.ts";
import { createSqlValues, type SqlValue, type SqlValues, type Statement } from "./sql-dialect.ts";

/** What statements ask of records. */
export interface RecordsQuery extends TimeRange {
  readonly source: RecordSource;
  readonly filter: Filter | undefined;
  readonly dimensions: readonly Column[];
  readonly summand: Summand;
}

/** A value for each dimension. */
export type Key = readonly SqlValue[];

/** The largest keys, their values, how many keys there are and what all of them have together: `d0 … v n a`; `v` without dimensions. */
export function rankStatement(query: RecordsQuery, limit: number): Statement {
  const { dialect } = query.source;
  const values = createSqlValues(dialect);
  const rows = rowsSql(query, 0, values);
  const sum = dialect.sum("s.m");
  const names = query.dimensions.map((_, i) => `d${i}`);
  if (names.length === 0) return { sql: `SELECT ${sum} AS v FROM ${rows} s`, values: values.list };
  const list = names.join(", ");
  const order = ["v DESC", ...names].map((each) => `${each} NULLS LAST`).join(", ");
  const groups = `SELECT ${list}, ${sum} AS v FROM ${rows} s GROUP BY ${list}`;
  const all = `(SELECT count(*) FROM g) AS n, (SELECT ${dialect.sum("g.v")} FROM g) AS a`;
  return {
    sql: `WITH g AS (${groups}) SELECT ${list}, v, ${all} FROM g ORDER BY ${order} LIMIT ${limit}`,
    values: values.list,
  };
}

/**
 * The values of keys over time: `b i v`. `b` is the beginning of a bucket, milliseconds since the epoch, 0 without granularity; `i` is the
 * index of the key, -1 for all others.
 */
export function seriesStatement(query: RecordsQuery, keys: readonly Key[], granularitySeconds: number): Statement {
  const { dialect } = query.source;
  const values = createSqlValues(dialect);
  const rows = rowsSql(query, granularitySeconds, values);
  const sum = dialect.sum("s.m");
  if (keys.length === 0 || query.dimensions.length === 0) {
    return { sql: `SELECT s.b AS b, -1 AS i, ${sum} AS v FROM ${rows} s GROUP BY s.b`, values: values.list };
  }
  const typedKey = (value: SqlValue, d: number): string =>
    dialect.typed(values.add(value), query.dimensions[d] as Column);
  const tops = keys.map((key, index) => {
    const cells = key.map((value, d) => `${typedKey(value, d)} AS k${d}`);
    return `SELECT ${cells.join(", ")}, ${index} AS i, 1 AS is_top`;
  });
  const on = query.dimensions.map((_, d) => `s.d${d} IS NOT DISTINCT FROM t.k${d}`).join(" AND ");
  const index = "CASE WHEN t.is_top = 1 THEN t.i ELSE -1 END";
  return {
    sql: `SELECT s.b AS b, ${index} AS i, ${sum} AS v FROM ${rows} s LEFT JOIN (${tops.join(" UNION ALL ")}) t ON ${on} GROUP BY s.b, ${index}`,
    values: values.list,
  };
}

/** Single records, newest first: the columns in their order, called `c0` and so on. */
export function flowsStatement(
  query: Omit<RecordsQuery, "dimensions" | "summand">,
  columns: readonly Column[],
  limit: number,
): Statement {
  const { source } = query;
  const values = createSqlValues(source.dialect);
  const timeColumn = source.columnOf(timeField);
  const used = new Set<Column>([...columns, timeColumn]);
  const where = whereSql(query, used, values);
  const time = source.dialect.column(timeColumn);
  const from = source.from({ columns: [...used], range: rangeSql(query, values) });
  const cells = columns.map((column, i) => `${source.dialect.column(column)} AS c${i}`);
  return {
    sql: `SELECT ${cells.join(", ")} FROM ${from}${where} ORDER BY ${time} DESC LIMIT ${limit}`,
    values: values.list,
  };
}

/** One row for each record, and for each element of a list that is a dimension: `d0 … b m`. */
function rowsSql(query: RecordsQuery, granularitySeconds: number, values: SqlValues): string {
  const { source, dimensions } = query;
  const { dialect } = source;
  const used = new Set<Column>(dimensions);
  const where = whereSql(query, used, values);
  const bucket = granularitySeconds === 0 ? "0" : bucketName;
  const range = rangeSql(query, values);
  const from = source.from({ columns: [...used], summand: query.summand, granularitySeconds, range });
  const cells = dimensions.map((column, i) => `${dialect.kept(column)} AS d${i}`);
  const flat = `(SELECT ${[...cells, `${bucket} AS b`, `${sumName} AS m`].join(", ")} FROM ${from}${where})`;
  return dimensions.some(({ isArray }) => isArray) ? unfoldedSql(flat, query) : flat;
}

/** Many records have the same list, so each list is added up before it is unfolded. */
function unfoldedSql(flat: string, { source: { dialect }, dimensions }: RecordsQuery): string {
  const names = dimensions.map((_, i) => `f.d${i}`);
  const cells = names.map((name, i) => `${name} AS d${i}`);
  const sum = `${dialect.sum("f.m")} AS m`;
  const added = `SELECT ${[...cells, "f.b AS b", sum].join(", ")} FROM ${flat} f GROUP BY ${[...names, "f.b"].join(", ")}`;
  const opened = dimensions.map((column, i) => `${dialect.opened(`o.d${i}`, column)} AS d${i}`);
  const lists = `(SELECT ${[...opened, "o.b AS b", "o.m AS m"].join(", ")} FROM (${added}) o)`;
  // One list at a time, because two that are unfolded at once are put side by side.
  return dimensions.reduce((rows, { isArray }, i) => {
    if (!isArray) return rows;
    const unfolded = dimensions.map((_, k) => (k === i ? `${dialect.unnest(`l.d${k}`)} AS d${k}` : `l.d${k} AS d${k}`));
    return `(SELECT ${[...unfolded, "l.b AS b", "l.m AS m"].join(", ")} FROM ${rows} l)`;
  }, lists);
}

function whereSql(query: Omit<RecordsQuery, "dimensions" | "summand">, used: Set<Column>, values: SqlValues): string {
  const { source, filter } = query;
  if (filter === undefined) return "";
  const columnOf = (field: string): Column => {
    const column = source.columnOf(field);
    used.add(column);
    return column;
  };
  return ` WHERE ${filterSql(filter, { dialect: source.dialect, values, columnOf })}`;
}

function rangeSql({ from, to }: TimeRange, values: SqlValues): WantedRows["range"] {
  const instant = (milliseconds: number): string =>
    values.add({ type: "time", value: BigInt(Math.round(milliseconds)) * 1_000_000n });
  return { from: instant(from), to: instant(to) };
}
