import {
  AddressSet,
  maxRegexText,
  portableRegex,
  type Filter,
  type FilterTerm,
  type Quantity,
  type QuantityRange,
} from "../../record/index.ts";
import { type Column, type ColumnType, timeField } from "../column.ts";
import {
  SqlValues,
  type QueryEngine,
  bucketName,
  hasNext,
  nextName,
  spreadNames,
  sumName,
  type Spreading,
  type Summand,
  type SqlValue,
  type Statement,
} from "./sql-dialect.ts";
import type { TimeRange, When } from "./explore-query.ts";
import { spreadOverBuckets } from "./flowed-sql.ts";

/**
 * Returns a filter pattern as a LIKE pattern with backslash escapes. It matches anywhere in a text, ignoring case: `*` is any text, `?` any character,
 * `^` and `$` are the ends of the text, `\` escapes the next character.
 */
function likePattern(pattern: string): string {
  const characters = Array.from(pattern);
  const isFromStart = characters[0] === "^";
  let like = isFromStart ? "" : "%";
  for (let i = isFromStart ? 1 : 0; i < characters.length; i++) {
    const character = characters[i] as string;
    if (character === "*") like += "%";
    else if (character === "?") like += "_";
    else if (character === "$" && i === characters.length - 1) return like;
    else like += literal(character === "\\" && i + 1 < characters.length ? (characters[++i] as string) : character);
  }
  return `${like}%`;
}

function literal(character: string): string {
  const lower = character.toLowerCase();
  return lower === "%" || lower === "_" || lower === "\\" ? `\\${lower}` : lower;
}

type WhereContext = Pick<QueryEngine, "dialect" | "columnOf"> & { readonly values: SqlValues };

/** Returns a condition that is true for rows that pass the filter, and false or NULL for others. All values of the filter are parameters of the statement. */
function filterSql(filter: Filter, context: WhereContext): string {
  if ("fields" in filter) {
    return or(filter.fields.map((field) => termSql(filter, context.columnOf(field), context)));
  }
  if (filter.kind === "not") return `(NOT coalesce(${filterSql(filter.filter, context)}, FALSE))`;
  return `(${filter.filters.map((each) => filterSql(each, context)).join(filter.kind === "and" ? " AND " : " OR ")})`;
}

function termSql(term: FilterTerm, column: Column, context: WhereContext): string {
  const { dialect } = context;
  const value = dialect.column(column);
  if (!column.isArray) return judge(term, value, column.type, context);
  if (term.kind === "exists") return dialect.isNotEmpty(value);
  return dialect.anyElement(value, (element) => judge(term, element, column.type, context));
}

const no = "FALSE";

function or(terms: readonly string[]): string {
  return terms.length === 0 ? no : terms.length === 1 ? (terms[0] as string) : `(${terms.join(" OR ")})`;
}

/** Returns the condition of a term for a scalar value, given as an expression of a type. */
function judge(term: FilterTerm, value: string, type: ColumnType, context: WhereContext): string {
  const { dialect, values } = context;
  switch (term.kind) {
    case "exists":
      return `${value} IS NOT NULL`;
    case "compare":
      return compareSql(term.operator, term.value, value, comparable(term.of, type), values);
    case "quantities":
      return or(term.ranges.map((range) => rangeSql(range, value, comparable(term.of, type), values)));
    case "addresses": {
      if (type !== "address") return no;
      const { ranges } = new AddressSet(term.keys);
      return or(
        ([4, 6] as const).flatMap((family) =>
          ranges[family].first.map((first, i) => {
            const last = ranges[family].last[i] as bigint;
            return dialect.isBetween(value, { family, value: first }, { family, value: last }, values);
          }),
        ),
      );
    }
    case "texts": {
      const places = term.values.map((text) => values.add({ type: "text", value: text }));
      return `${dialect.asText(value, type)} IN (${places.join(", ")})`;
    }
    case "pattern": {
      const pattern = values.add({ type: "text", value: likePattern(term.pattern) });
      return dialect.like(dialect.lower(dialect.asText(value, type)), pattern);
    }
    case "regex":
      return dialect.hasRegex(
        dialect.left(dialect.asText(value, type), maxRegexText),
        values.add({ type: "text", value: portableRegex(term.expression) }),
      );
    case "flag":
      break;
  }
  return type === "boolean" ? `${value} = ${values.add({ type: "boolean", value: term.value })}` : no;
}

/** The way in which values of a type are compared with quantities; undefined: they cannot be. */
type Comparable = "whole" | "double" | "time" | undefined;

function comparable(of: "number" | "time", type: ColumnType): Comparable {
  if (of === "time") return type === "time" ? "time" : undefined;
  if (type === "double") return "double";
  return type === "integer" || type === "unsigned" ? "whole" : undefined;
}

const maxWhole = 2n ** 127n - 1n;

function bounded(value: bigint): bigint {
  return value > maxWhole ? maxWhole : value < -maxWhole ? -maxWhole : value;
}

/** Rounds a quantity to an integer. */
function whole(quantity: Quantity, round: (value: number) => number): bigint {
  if (typeof quantity === "bigint") return bounded(quantity);
  if (!Number.isFinite(quantity)) return quantity > 0 ? maxWhole : -maxWhole;
  return bounded(BigInt(round(quantity)));
}

function compareSql(
  operator: "<" | "<=" | ">" | ">=",
  limit: Quantity,
  value: string,
  as: Comparable,
  values: SqlValues,
): string {
  if (as === undefined) return no;
  if (as === "double") return `${value} ${operator} ${values.add({ type: "double", value: Number(limit) })}`;
  // There is no integer between two neighbours, so a fractional limit can move to the next one.
  const rounded = whole(limit, operator === "<" || operator === ">=" ? Math.ceil : Math.floor);
  return `${value} ${operator} ${values.add({ type: as, value: rounded })}`;
}

function rangeSql({ first, last }: QuantityRange, value: string, as: Comparable, values: SqlValues): string {
  if (as === undefined) return no;
  if (as === "double") {
    const from = values.add({ type: "double", value: Number(first) });
    return `${value} BETWEEN ${from} AND ${values.add({ type: "double", value: Number(last) })}`;
  }
  const from = whole(first, Math.ceil);
  const to = whole(last, Math.floor);
  if (from > to) return no;
  if (from === to) return `${value} = ${values.add({ type: as, value: from })}`;
  return `${value} BETWEEN ${values.add({ type: as, value: from })} AND ${values.add({ type: as, value: to })}`;
}

/** Returns a statement with a condition that is true for rows that pass a filter. */
export function filteredStatement(
  engine: Pick<QueryEngine, "dialect" | "columnOf">,
  filter: Filter,
  sqlOf: (where: string) => string,
): Statement {
  const { dialect } = engine;
  const values = new SqlValues(dialect);
  const where = filterSql(filter, { dialect, values, columnOf: (field) => engine.columnOf(field) });
  return { sql: sqlOf(where), values: values.list };
}

/** A query of statements over records. */
export interface RecordsQuery extends TimeRange {
  readonly engine: Pick<QueryEngine, "dialect" | "columnOf" | "from" | "spreading">;
  readonly filter: Filter | undefined;
  readonly dimensions: readonly Column[];
  readonly summand: Summand;
  /** A numeric column by which the summand of each record is divided. A record without a value, or with 0, adds nothing. */
  readonly per?: Column | undefined;
  /** A column whose different values are counted instead of a sum. */
  readonly counted?: Column | undefined;
  readonly when: When;
}

/** A value for each dimension. */
export type Key = readonly SqlValue[];

/** Returns a statement for the largest keys, their values, the number of keys and the total: `d0 … v n a`; only `v` without dimensions. */
export function rankStatement(query: RecordsQuery, limit: number): Statement {
  const { dialect } = query.engine;
  const values = new SqlValues(dialect);
  const rows = rowsSql(query, 0, values);
  const sum = sumOf(query, "s.m");
  const names = query.dimensions.map((_, i) => `d${i}`);
  if (names.length === 0) return { sql: `SELECT ${sum} AS v FROM ${rows} s`, values: values.list };
  const list = names.join(", ");
  const order = ["v DESC", ...names].map((each) => `${each} NULLS LAST`).join(", ");
  const groups = `SELECT ${list}, ${sum} AS v FROM ${rows} s GROUP BY ${list}`;
  const all = `(SELECT count(*) FROM g) AS n, (SELECT ${sumOf(query, "g.v")} FROM g) AS a`;
  return {
    sql: `WITH g AS (${groups}) SELECT ${list}, v, ${all} FROM g ORDER BY ${order} LIMIT ${limit}`,
    values: values.list,
  };
}

/**
 * Returns a statement for the values of keys over time: `b i m`. `b` is the start of a bucket in milliseconds since the epoch, 0 without granularity.
 * `i` is the index of the key, -1 for all others.
 */
export function seriesStatement(query: RecordsQuery, keys: readonly Key[], granularitySeconds: number): Statement {
  const { dialect } = query.engine;
  const values = new SqlValues(dialect);
  const rows = rowsSql(query, granularitySeconds, values);
  const sums = sumsOf(query, granularitySeconds).map((name) => `${sumOf(query, `s.${name}`)} AS ${name}`);
  if (keys.length === 0 || query.dimensions.length === 0) {
    const sql = `SELECT s.b AS b, -1 AS i, ${sums.join(", ")} FROM ${rows} s GROUP BY s.b`;
    return { sql: inBuckets(sql, query, granularitySeconds), values: values.list };
  }
  const typedKey = (value: SqlValue, d: number): string =>
    dialect.typed(values.add(value), query.dimensions[d] as Column);
  const tops = keys.map((key, index) => {
    const cells = key.map((value, d) => `${typedKey(value, d)} AS k${d}`);
    return `SELECT ${cells.join(", ")}, ${index} AS i, 1 AS is_top`;
  });
  const on = query.dimensions.map((_, d) => `s.d${d} IS NOT DISTINCT FROM t.k${d}`).join(" AND ");
  const index = "CASE WHEN t.is_top = 1 THEN t.i ELSE -1 END";
  const sql = `SELECT s.b AS b, ${index} AS i, ${sums.join(", ")} FROM ${rows} s LEFT JOIN (${tops.join(" UNION ALL ")}) t ON ${on} GROUP BY s.b, ${index}`;
  return { sql: inBuckets(sql, query, granularitySeconds), values: values.list };
}

/** Moves amounts of the next bucket there, after summing. */
function inBuckets(sums: string, query: RecordsQuery, granularitySeconds: number): string {
  const spreading = spreadingOf(query, granularitySeconds);
  if (spreading !== undefined) return spreadOverBuckets(query.engine.dialect, sums, spreading, roundedRange(query));
  const [, next] = sumsOf(query, granularitySeconds);
  if (next === undefined) return sums;
  const { dialect } = query.engine;
  const twice = `SELECT *, ${dialect.eachOf("0", "1", 1)} AS k FROM (${sums})`;
  const each = `SELECT b + k * ${1000 * granularitySeconds} AS b, i, CASE WHEN k = 0 THEN m - coalesce(n, 0) ELSE n END AS m FROM (${twice})`;
  const sum = sumOf(query, "u.m");
  // Quotients are inexact: a remainder of zero may come out slightly negative.
  const left = query.per === undefined ? sum : `greatest(${sum}, 0)`;
  return `SELECT u.b AS b, u.i AS i, ${left} AS m FROM (${each}) u GROUP BY u.b, u.i`;
}

/** Returns a statement for single records, newest first: the columns in order, named `c0` and so on. */
export function flowsStatement(
  query: Omit<RecordsQuery, "dimensions" | "summand" | "when">,
  columns: readonly Column[],
  limit: number,
): Statement {
  const { engine } = query;
  const values = new SqlValues(engine.dialect);
  const timeColumn = engine.columnOf(timeField);
  const used = new Set<Column>([...columns, timeColumn]);
  const where = whereSql(query, used, values);
  const time = engine.dialect.column(timeColumn);
  const from = engine.from({
    columns: [...used],
    range: roundedRange(query),
  });
  const cells = columns.map((column, i) => `${engine.dialect.column(column)} AS c${i}`);
  return {
    sql: `SELECT ${cells.join(", ")} FROM ${from}${where} ORDER BY ${time} DESC LIMIT ${limit}`,
    values: values.list,
  };
}

/** The column names of the sums in rows. */
const summandNames = { m: sumName, n: nextName, q: spreadNames.share, p: spreadNames.first } as const;

/** Returns how rows are spread over many buckets. Quotients are no integers, so they are not divided in this way. */
function spreadingOf(query: RecordsQuery, granularitySeconds: number): Spreading | undefined {
  const { engine, summand, per } = query;
  if (per !== undefined || granularitySeconds === 0) return undefined;
  const when = bookedAt(query);
  return engine.spreading?.({ columns: [], summand, when, granularitySeconds, range: roundedRange(query) });
}

/** Returns the names of the sums in rows: of their bucket, and of the next one. */
function sumsOf(query: RecordsQuery, granularitySeconds: number): readonly (keyof typeof summandNames)[] {
  if (spreadingOf(query, granularitySeconds) !== undefined) return ["m", "q", "p"];
  return hasNext({ when: bookedAt(query), granularitySeconds }) ? ["m", "n"] : ["m"];
}

/** Returns one row for each record, and for each element of a list dimension: `d0 … b m`, and `n` for the next bucket. */
function rowsSql(query: RecordsQuery, granularitySeconds: number, values: SqlValues): string {
  const { engine, dimensions } = query;
  const { dialect } = engine;
  const used = new Set<Column>(dimensions);
  if (query.per !== undefined) used.add(query.per);
  if (query.counted !== undefined) used.add(query.counted);
  const where = whereSql(query, used, values);
  const bucket = granularitySeconds === 0 ? "0" : bucketName;
  const from = engine.from({
    columns: [...used],
    summand: query.summand,
    when: bookedAt(query),
    granularitySeconds,
    range: roundedRange(query),
    spreading: spreadingOf(query, granularitySeconds),
  });
  const cells = dimensions.map((column, i) => `${dialect.kept(column)} AS d${i}`);
  const names = sumsOf(query, granularitySeconds);
  const sums = names.map((name) => `${summandSql(query, summandNames[name])} AS ${name}`);
  const flat = `(SELECT ${[...cells, `${bucket} AS b`, ...sums].join(", ")} FROM ${from}${where})`;
  return dimensions.some(({ isArray }) => isArray) ? unfoldedSql(flat, query, names) : flat;
}

/** Returns a sum. A sum of integers is exact, that of quotients is not. */
function sumOf({ engine: { dialect }, per, counted }: RecordsQuery, value: string): string {
  if (counted !== undefined) return dialect.distinct(value);
  return per === undefined ? dialect.sum(value) : `sum(${value})`;
}

function summandSql({ engine: { dialect }, per, counted }: RecordsQuery, summand: string): string {
  if (counted !== undefined) return dialect.kept(counted);
  if (per === undefined) return summand;
  return `${dialect.double(summand)} / nullif(${dialect.double(dialect.column(per))}, 0)`;
}

/** Returns when a row counts. A flow is one record, at one time. */
function bookedAt({ summand, when }: RecordsQuery): When {
  return summand === "flows" ? "received" : when;
}

/** Sums each list before it is expanded, because many records have the same list. */
function unfoldedSql(flat: string, query: RecordsQuery, sums: readonly string[]): string {
  const { dimensions } = query;
  const { dialect } = query.engine;
  const names = dimensions.map((_, i) => `f.d${i}`);
  const cells = names.map((name, i) => `${name} AS d${i}`);
  const kept = (alias: string): readonly string[] => ["b", ...sums].map((name) => `${alias}.${name} AS ${name}`);
  const summed = sums.map((name) => `${sumOf(query, `f.${name}`)} AS ${name}`);
  const added =
    query.counted === undefined
      ? `SELECT ${[...cells, "f.b AS b", ...summed].join(", ")} FROM ${flat} f GROUP BY ${[...names, "f.b"].join(", ")}`
      : `SELECT DISTINCT ${[...cells, ...kept("f")].join(", ")} FROM ${flat} f`;
  const opened = dimensions.map((column, i) => `${dialect.opened(`o.d${i}`, column)} AS d${i}`);
  const lists = `(SELECT ${[...opened, ...kept("o")].join(", ")} FROM (${added}) o)`;
  // Lists are expanded one at a time: two at once would be paired element by element.
  return dimensions.reduce((rows, { isArray }, i) => {
    if (!isArray) return rows;
    const unfolded = dimensions.map((_, k) => (k === i ? `${dialect.unnest(`l.d${k}`)} AS d${k}` : `l.d${k} AS d${k}`));
    return `(SELECT ${[...unfolded, ...kept("l")].join(", ")} FROM ${rows} l)`;
  }, lists);
}

function whereSql(
  query: Omit<RecordsQuery, "dimensions" | "summand" | "when">,
  used: Set<Column>,
  values: SqlValues,
): string {
  const { engine, filter } = query;
  if (filter === undefined) return "";
  const columnOf = (field: string): Column => {
    const column = engine.columnOf(field);
    used.add(column);
    return column;
  };
  return ` WHERE ${filterSql(filter, { dialect: engine.dialect, values, columnOf })}`;
}

function roundedRange({ from, to }: TimeRange): TimeRange {
  return { from: Math.round(from), to: Math.round(to) };
}
