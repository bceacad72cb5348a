import { addressText } from "../columns/address-text.ts";
import type { Column } from "../columns/column.ts";
import type { SqlDialect, SqlValue } from "../query/sql-dialect.ts";
import { sqlType } from "./append-block.ts";

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

const elementType = (column: Column): string => sqlType({ ...column, isArray: false });

/** A list is kept as a text of JSON. */
const opened = (kept: string, column: Column): string =>
  column.isArray ? `from_json(${kept}, '["${elementType(column)}"]')` : kept;

export const duckDbDialect: SqlDialect = {
  column: (column) => opened(quoted(column.field), column),
  kept: ({ field }) => quoted(field),
  opened,
  place(index, { type }) {
    const place = `$${index + 1}::${types[type]}`;
    return type === "time" ? `make_timestamp_ns(${place})` : place;
  },
  typed: (place, column) => `CAST(${place} AS ${elementType(column)})`,
  lower: (text) => `lower(${text})`,
  like: (text, pattern) => `${text} LIKE ${pattern} ESCAPE '\\'`,
  asText: (value, type) => (type === "text" ? value : `CAST(${value} AS VARCHAR)`),
  isBetween(address, first, last, values) {
    const [from, to] = [addressText(first), addressText(last)];
    const place = (text: string): string => values.add({ type: "text", value: text });
    if (from === to) return `${address} = ${place(from)}`;
    return `(${address} BETWEEN ${place(from)} AND ${place(to)} AND length(${address}) = ${from.length})`;
  },
  anyElement: (list, isTrue) => `len(list_filter(${list}, lambda x: coalesce(${isTrue("x")}, FALSE))) > 0`,
  isNotEmpty: (list) => `len(${list}) > 0`,
  unnest: (list) => `unnest(CASE WHEN len(${list}) > 0 THEN ${list} ELSE [NULL] END)`,
  bucket: (time, seconds) => `(epoch_ms(${time}) // ${1000 * seconds}) * ${1000 * seconds}`,
  sum: (value) => `sum(${value})`,
  product: (value, weight) => `${value}::HUGEINT * ${weight}`,
};
