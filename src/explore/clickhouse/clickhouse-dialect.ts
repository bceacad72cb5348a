import { formatAddress, type Address } from "../../ip/index.ts";
import type { Column } from "../columns/column.ts";
import type { SqlDialect, SqlValue } from "../query/sql-dialect.ts";

/** A column of ClickHouse's table. */
export interface ClickHouseColumn {
  readonly name: string;
  /** In ClickHouse. */
  readonly type: string;
}

const types: Readonly<Record<SqlValue["type"], string>> = {
  text: "String",
  address: "String",
  whole: "Int128",
  double: "Float64",
  boolean: "Bool",
  time: "Int64",
};

const mappedFirst = 0xffffn << 32n;
const mappedLast = mappedFirst + 0xffff_ffffn;

function quotedName(name: string): string {
  return `\`${name.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
}

export function quotedText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** As the parameter of a statement is written: in the format of TSV. */
export function parameterText({ value }: SqlValue): string {
  if (value === null) return "\\N";
  const escapes: Readonly<Record<string, string>> = {
    "\\": "\\\\",
    "\t": "\\t",
    "\n": "\\n",
    "\r": "\\r",
    "\0": "\\0",
  };
  // oxlint-disable-next-line no-control-regex
  return String(value).replace(/[\\\t\n\r\0]/g, (character) => escapes[character] as string);
}

/** @param columns by field; a field without a column is in the map `other`. */
export function createClickHouseDialect(columns: ReadonlyMap<string, ClickHouseColumn>): SqlDialect {
  const valueOf = ({ field, isArray }: Column): string => {
    const own = columns.get(field);
    if (own === undefined) return `nullIf(other[${quotedText(field)}], '')`;
    const name = quotedName(own.name);
    // What is absent is empty where a column has no NULL.
    if (isArray || own.type.startsWith("Nullable") || own.type.startsWith("DateTime")) return name;
    return own.type === "IPv6" ? `nullIf(${name}, toIPv6('::'))` : `nullIf(${name}, '')`;
  };
  return {
    column: valueOf,
    kept: valueOf,
    opened: (kept) => kept,
    typed: (place) => place,
    place(index, { type, value }) {
      const wanted = value === null ? `Nullable(${types[type]})` : types[type];
      const place = `{p${index}:${wanted}}`;
      if (type === "address") return value === null ? "CAST(NULL AS Nullable(IPv6))" : `toIPv6(${place})`;
      return type === "time" ? `fromUnixTimestamp64Nano(${place}, 'UTC')` : place;
    },
    lower: (text) => `lowerUTF8(${text})`,
    like: (text, pattern) => `${text} LIKE ${pattern}`,
    asText: (value, type) => (type === "text" ? value : `toString(${value})`),
    isBetween(address, first, last, values) {
      const place = (each: Address): string => values.add({ type: "address", value: formatAddress(each) });
      const range = `${address} BETWEEN ${place(first)} AND ${place(last)}`;
      const hasMapped = first.family === 6 && first.value <= mappedLast && last.value >= mappedFirst;
      if (!hasMapped) return `(${range})`;
      // Addresses of IPv4 lie there, too, and are none of IPv6.
      return `(${range} AND NOT (${address} BETWEEN toIPv6('::ffff:0.0.0.0') AND toIPv6('::ffff:255.255.255.255')))`;
    },
    anyElement: (list, isTrue) => `arrayExists(x -> coalesce(${isTrue("x")}, FALSE), ${list})`,
    isNotEmpty: (list) => `notEmpty(${list})`,
    unnest: (list) => `arrayJoin(if(empty(${list}), [NULL], arrayMap(x -> toNullable(x), ${list})))`,
    bucket(time, seconds) {
      const step = 1000 * seconds;
      return `intDiv(toUnixTimestamp64Milli(toDateTime64(${time}, 3, 'UTC')), ${step}) * ${step}`;
    },
    sum: (value) => `sum(toInt128(${value}))`,
    product: (value, weight) => `toInt128(${value}) * ${weight}`,
  };
}
