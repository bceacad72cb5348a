import { type Column, addressText } from "../column.ts";
import type { SqlDialect, SqlValue } from "../query/sql-dialect.ts";

/** Returns the DuckDB type of a column. A list is kept as JSON. */
export function sqlType({ type, isArray }: Column): string {
  if (isArray) return "VARCHAR";
  switch (type) {
    case "text":
    case "address":
      return "VARCHAR";
    case "integer":
      return "BIGINT";
    case "unsigned":
      return "UBIGINT";
    case "double":
      return "DOUBLE";
    case "boolean":
      return "BOOLEAN";
    case "time":
      break;
  }
  return "TIMESTAMP_NS";
}

const types: Readonly<Record<SqlValue["type"], string>> = {
  text: "VARCHAR",
  address: "VARCHAR",
  whole: "HUGEINT",
  double: "DOUBLE",
  boolean: "BOOLEAN",
  time: "BIGINT",
};

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Counts different values by their hashes.
 *
 * @param oneOf a power of two: one of this many values is counted, and stands for as many.
 */
export function distinctOf(value: string, oneOf: number): string {
  const isCounted = oneOf === 1 ? "" : ` AND hash(${value}) % ${oneOf} = 0`;
  return `count(DISTINCT CASE WHEN ${value} IS NOT NULL${isCounted} THEN hash(${value}) END)${oneOf === 1 ? "" : ` * ${oneOf}`}`;
}

const elementType = (column: Column): string => sqlType({ ...column, isArray: false });

/** Lists are kept as JSON texts. */
const opened = (kept: string, column: Column): string =>
  column.isArray ? `from_json(${kept}, '["${elementType(column)}"]')` : kept;

export const duckDbDialect: SqlDialect = {
  column: (column) => opened(quoted(column.field), column),
  kept: ({ field }) => quoted(field),
  opened,
  parameter(index, { type }) {
    const parameter = `$${index + 1}::${types[type]}`;
    return type === "time" ? `make_timestamp_ns(${parameter})` : parameter;
  },
  typed: (value, column) => `CAST(${value} AS ${elementType(column)})`,
  lower: (text) => `lower(${text})`,
  like: (text, pattern) => `${text} LIKE ${pattern} ESCAPE '\\'`,
  left: (text, characters) => `left(${text}, ${characters})`,
  hasRegex: (text, expression) => `regexp_matches(${text}, ${expression})`,
  asText: (value, type) => (type === "text" ? value : `CAST(${value} AS VARCHAR)`),
  isBetween(address, first, last, values) {
    const [from, to] = [addressText(first), addressText(last)];
    const parameter = (text: string): string => values.add({ type: "text", value: text });
    if (from === to) return `${address} = ${parameter(from)}`;
    return `(${address} BETWEEN ${parameter(from)} AND ${parameter(to)} AND length(${address}) = ${from.length})`;
  },
  anyElement: (list, isTrue) => `len(list_filter(${list}, lambda x: coalesce(${isTrue("x")}, FALSE))) > 0`,
  isNotEmpty: (list) => `len(${list}) > 0`,
  unnest: (list) => `unnest(CASE WHEN len(${list}) > 0 THEN ${list} ELSE [NULL] END)`,
  bucket: (time, seconds) => `(epoch_ms(${time}) // ${1000 * seconds}) * ${1000 * seconds}`,
  instant: (milliseconds) => `make_timestamp_ns(${BigInt(milliseconds) * 1_000_000n})`,
  milliseconds: (time) => `epoch_ms(${time})`,
  divide: (dividend, divisor) => `(${dividend} // ${divisor})`,
  double: (value) => `CAST(${value} AS DOUBLE)`,
  unsigned: (value) => `CAST(${value} AS UBIGINT)`,
  eachOf: (first, last, step) => `unnest(range(${first}, ${last} + 1, ${step}))`,
  sum: (value) => `sum(${value})`,
  distinct: (value) => distinctOf(value, 1),
  product: (value, weight) => `${value}::HUGEINT * ${weight}`,
};
