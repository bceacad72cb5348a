import { columnTypes, type BatchColumn, type Column, type ColumnType } from "../../record/index.ts";
import { formatAddress } from "../../base/ip/index.ts";
import type { TableColumn } from "./table-layout.ts";

/** The parts of a ClickHouse type: `Array(LowCardinality(String))` is an array, of low cardinality, of `String`. */
export interface TypeParts {
  readonly isArray: boolean;
  readonly isLow: boolean;
  readonly isNullable: boolean;
  readonly base: string;
}

export function typeParts(type: string): TypeParts {
  const [, item = type] = /^Array\((.*)\)$/.exec(type) ?? [];
  const base = item.replace(/^LowCardinality\((.*)\)$/, "$1").replace(/^Nullable\((.*)\)$/, "$1");
  return {
    isArray: item !== type,
    isLow: item.startsWith("LowCardinality("),
    isNullable: /^(LowCardinality\()?Nullable\(/.test(item),
    base,
  };
}

/** A column of a table that receives the values of a field. */
export interface SentColumn {
  readonly name: string;
  /** The column that is read from the lines. */
  readonly source: Column;
  /** The type in the block. */
  readonly type: TypeParts & { readonly text: string };
  /** True where the table has another type: the server converts. */
  readonly isConverted: boolean;
  /** The values that the table keeps unchanged; absent: all. The server would change others silently. */
  readonly range?: ValueRange;
}

/** Values from `first` to `last`; for numbers, the whole ones. */
interface ValueRange {
  readonly first: bigint;
  readonly last: bigint;
}

const second = 1_000_000_000n;
/** The year 1900 in nanoseconds since the epoch. `DateTime64` shows earlier times wrongly. */
const firstTime = -2_208_988_800n * second;
const maxTime = (1n << 63n) - 1n;
/** The range of `DateTime64`. With nanoseconds it ends in the year 2262, as times in lines do. */
const storableTimes: ValueRange = { first: firstTime, last: maxTime };
const mappedAddresses: ValueRange = { first: 0xffffn << 32n, last: (0xffffn << 32n) + 0xffff_ffffn };

/** Returns the range of a ClickHouse integer type; undefined: the type is not an integer. */
function integerRange(type: string): ValueRange | undefined {
  const [, unsigned, bits] = /^(U?)Int([0-9]+)$/.exec(type) ?? [];
  if (bits === undefined) return undefined;
  const half = 1n << (BigInt(bits) - 1n);
  return unsigned === "U" ? { first: 0n, last: 2n * half - 1n } : { first: -half, last: half - 1n };
}

const isText = /^(String$|FixedString\()/;
const isNumber = /^(U?Int|Float|Decimal)/;

/**
 * Returns how the values of a field are sent to a column.
 *
 * @param found the column's type in the table, which an operator may have chosen.
 * @returns undefined when the column cannot hold the values.
 */
export function sentColumn(column: TableColumn, found: string): SentColumn | undefined {
  const { field, name, fieldType, isArray } = column;
  const wanted = columnTypes[fieldType];
  const range = wanted === "time" ? storableTimes : undefined;
  const own = {
    name,
    source: { field, type: wanted, isArray },
    type: { ...typeParts(column.type), text: column.type },
  };
  if (found === column.type) return { ...own, isConverted: false, ...(range && { range }) };
  const { base, isArray: isFoundArray, isNullable } = typeParts(found);
  if (isArray !== isFoundArray) return undefined;
  // Texts, addresses and times are JSON texts in lines, and the table gets them as they are.
  if (isText.test(base)) {
    if (wanted !== "text" && wanted !== "address" && wanted !== "time") return { ...own, isConverted: true };
    // A nullable column without a value is NULL, like a column of numbers.
    const item = isNullable && !isArray ? "Nullable(String)" : "LowCardinality(String)";
    const text = isArray ? `Array(${item})` : item;
    const source: Column = { field, type: "text", isArray };
    return { ...own, source, type: { ...typeParts(text), text }, isConverted: true };
  }
  const held = heldRange(wanted, base);
  // A single item of an array cannot go to another column.
  if (held === undefined || (isArray && held !== "all" && held !== storableTimes)) return undefined;
  if (held === "all" || isArray) return { ...own, isConverted: true };
  // A value that does not fit is absent, whatever the table's type. The server cannot convert the empty address to IPv4.
  const text = `Nullable(${base === "IPv4" ? base : own.type.base})`;
  return { ...own, type: { ...typeParts(text), text }, isConverted: true, range: held };
}

/** Returns the values that a type holds; undefined: the type is of another kind. */
function heldRange(wanted: ColumnType, base: string): ValueRange | "all" | undefined {
  switch (wanted) {
    case "address":
      return base === "IPv6" ? "all" : base === "IPv4" ? mappedAddresses : undefined;
    case "boolean":
      return base === "Bool" || /^U?Int/.test(base) ? "all" : undefined;
    case "time":
      if (base.startsWith("DateTime64")) return storableTimes;
      return base.startsWith("DateTime") ? { first: 0n, last: 0xffff_ffffn * second } : undefined;
    case "integer":
    case "unsigned":
    case "double":
      return isNumber.test(base) ? (integerRange(base) ?? "all") : undefined;
    case "text":
      break;
  }
  return undefined;
}

/**
 * Finds the rows whose value the table would change.
 *
 * @returns the JSON text of each value by its row, texts without quotes; undefined: there are none.
 */
export function misfits(
  { range, source }: SentColumn,
  column: BatchColumn,
  rows: number,
): Map<number, string> | undefined {
  if (range === undefined || source.isArray) return undefined;
  if (source.type === "time" && areAfter(column.data, rows, range)) return undefined;
  const found = new Map<number, string>();
  for (let row = 0; row < rows; row++) {
    if (((column.presence[row >> 3] as number) & (1 << (row & 7))) === 0) continue;
    const text = misfit(source.type, column.data, row, range);
    if (text !== undefined) found.set(row, text);
  }
  return found.size === 0 ? undefined : found;
}

/** Reports whether no time is before the range and the range has no end; a quick check. */
function areAfter(data: BatchColumn["data"], rows: number, { first, last }: ValueRange): boolean {
  if (last !== maxTime) return false;
  const words = new Int32Array(data.buffer, data.byteOffset, 2 * rows);
  const high = Number(first >> 32n);
  for (let i = 1; i < words.length; i += 2) if ((words[i] as number) <= high) return false;
  return true;
}

function misfit(type: ColumnType, data: BatchColumn["data"], row: number, range: ValueRange): string | undefined {
  if (type === "address") {
    const value = addressAt(data, row);
    return isWithin(value, range) ? undefined : formatAddress({ family: 6, value });
  }
  const value = data[row] as bigint | number;
  if (typeof value === "bigint") {
    if (isWithin(value, range)) return undefined;
    return type === "time" ? timeText(value) : String(value);
  }
  return Number.isInteger(value) && isWithin(BigInt(value), range) ? undefined : String(value);
}

function isWithin(value: bigint, { first, last }: ValueRange): boolean {
  return value >= first && value <= last;
}

function addressAt(data: BatchColumn["data"], row: number): bigint {
  return BigInt(`0x${Buffer.from(data.buffer, data.byteOffset + 16 * row, 16).toString("hex")}`);
}

/** Returns a time as it stands in lines: `1899-12-31T23:59:59.000000001Z`. */
function timeText(nanoseconds: bigint): string {
  const fraction = ((nanoseconds % second) + second) % second;
  const date = new Date(Number((nanoseconds - fraction) / 1_000_000n));
  return date.toISOString().replace("000Z", `${String(fraction).padStart(9, "0")}Z`);
}
