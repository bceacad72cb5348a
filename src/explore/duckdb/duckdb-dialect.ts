import { addressText } from "../columns/address-text.ts";
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

export const duckDbDialect: SqlDialect = {
  column(column) {
    const name = quoted(column.field);
    return column.isArray ? `from_json(${name}, '["${sqlType({ ...column, isArray: false })}"]')` : name;
  },
  place(index, { type }) {
    const place = `$${index + 1}::${types[type]}`;
    return type === "time" ? `make_timestamp_ns(${place})` : place;
  },
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
