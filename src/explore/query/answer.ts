import { ArrowStream } from "../../record/index.ts";
import { columnOf, type Column, type ColumnType } from "../column.ts";
import type { PlainValue } from "./sql-dialect.ts";
import type { Measure, When } from "./explore-query.ts";

/** A table for the export of an answer. */
export interface AnswerTable {
  readonly head: readonly string[];
  readonly lines: readonly (readonly PlainValue[])[];
}

/** The name of the time column in the table of an answer. */
const timeHead = "time";

/**
 * Returns an answer as a table. Without granularity it has a line for each row, else one for each row and time. The last lines are those of the others
 * and the total, with the keys `(others)` and `(total)`.
 */
export function answerTable(answer: ExploreAnswer): AnswerTable {
  const { dimensions, rows, others, total, times, measure } = answer;
  const hasPrevious = total.previous !== undefined;
  const keyOf = (word: string): readonly PlainValue[] => dimensions.map((_, i) => (i === 0 ? word : null));
  const all: readonly (readonly [readonly PlainValue[], AnswerValue & { share?: number }])[] = [
    ...rows.map((each) => [each.key, each] as const),
    ...(dimensions.length > 0 ? [[keyOf("(others)"), others] as const] : []),
    [keyOf("(total)"), { ...total, share: 1 }],
  ];
  const head = [
    ...(times === undefined ? [] : [timeHead]),
    ...dimensions,
    measure,
    ...(times === undefined ? ["share"] : []),
    ...(times === undefined && hasPrevious ? ["previous"] : []),
  ];
  const lines = all.flatMap(([key, value]): (readonly PlainValue[])[] => {
    if (times !== undefined) return times.map((time, i) => [time, key, value.series?.[i] ?? 0].flat());
    return [[...key, value.value, value.share ?? 0, ...(hasPrevious ? [value.previous ?? 0] : [])]];
  });
  return { head, lines };
}

/** Returns single records as a table, with a column for each field that a record has or the query names. */
export function flowsTable({ records }: FlowsAnswer, fields: readonly string[]): AnswerTable {
  const names = fields.length > 0 ? fields : [...new Set(records.flatMap((record) => Object.keys(record)))];
  return { head: names, lines: records.map((record) => names.map((name) => record[name] ?? null)) };
}

/** Single records, newest first. */
export interface FlowsAnswer {
  readonly records: readonly Readonly<Record<string, PlainValue>>[];
  /** The maximum number of records that one of them stands for. */
  readonly sampling: number;
  readonly complete: boolean;
}

/** Returns a table as CSV (RFC 4180). The header has the exact names of fields, so that programs find them. */
export function tableCsv({ head, lines }: AnswerTable): string {
  return [head.map(quoted), ...lines.map((line) => line.map(cell))].map((cells) => `${cells.join(",")}\r\n`).join("");
}

function cell(value: PlainValue): string {
  if (value === null) return "";
  const text = typeof value === "object" ? value.join(";") : String(value);
  // A spreadsheet takes a text with such a beginning for a formula.
  return quoted(typeof value === "number" || !/^[=+\-@\t\r]/.test(text) ? text : `'${text}`);
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Returns the columns of a table, with types that fit all of their values. A numeric dimension has words in the lines of the others and the total, and
 * is then a text column. Without any value, the type is that of the field.
 */
export function tableColumns({ head, lines }: AnswerTable): readonly (Column & { readonly type: CellType })[] {
  return head.map((field, i) => {
    const declared = columnOf(field);
    const values = lines.map((line) => line[i] ?? null).filter((value) => value !== null);
    if (values.length === 0) {
      return { field, type: cellTypes[declared?.type ?? "text"], isArray: declared?.isArray ?? false };
    }
    const isTime = field === timeHead || declared?.type === "time";
    return { field, type: typeOf(values, isTime), isArray: values.every((value) => typeof value === "object") };
  });
}

/** The types of cells. An address is a text, and no number needs the last bit of 64. */
type CellType = Exclude<ColumnType, "address" | "unsigned">;

const cellTypes: Readonly<Record<ColumnType, CellType>> = {
  text: "text",
  address: "text",
  integer: "integer",
  unsigned: "integer",
  double: "double",
  boolean: "boolean",
  time: "time",
};

function typeOf(values: readonly PlainValue[], isTime: boolean): CellType {
  const isInstant = (value: PlainValue): boolean => typeof value === "string" && !Number.isNaN(Date.parse(value));
  if (isTime && values.every(isInstant)) return "time";
  if (values.every((value) => typeof value === "number")) {
    return values.every((value) => Number.isSafeInteger(value)) ? "integer" : "double";
  }
  return values.every((value) => typeof value === "boolean") ? "boolean" : "text";
}

/** Returns a table as an Arrow stream, with the columns of {@link tableColumns}. Times are instants in UTC. */
export function tableArrow(table: AnswerTable): Uint8Array {
  const columns = tableColumns(table);
  const stream = new ArrowStream(columns, { hasRest: false });
  const parts = [stream.begin()];
  for (const line of table.lines) {
    const cells = columns.map((column, i) => [column.field, cellOf(column, line[i] ?? null)] as const);
    const record = Object.fromEntries(cells.filter(([, value]) => value !== null));
    parts.push(...stream.take(Buffer.from(`${JSON.stringify(record)}\n`)));
  }
  return Buffer.concat([...parts, stream.flush(), stream.end()]);
}

function cellOf({ type, isArray }: Column, value: PlainValue): PlainValue {
  if (type !== "text" || value === null) return value;
  if (typeof value !== "object") return String(value);
  return isArray ? value.map(String) : JSON.stringify(value);
}

/** The unit of a number in an answer. */
export type Unit = "B" | "packets" | "flows" | "bit/s" | "packet/s" | "%" | "addresses" | "ports";

/** A number over the whole range, and over time. */
export interface AnswerValue {
  readonly value: number;
  /** The value of the range before, where it was requested. */
  readonly previous?: number;
  /** A value for each of the times. */
  readonly series?: readonly number[];
  /** The requested percentile of the series. */
  readonly percentile?: number;
}

interface AnswerRow extends AnswerValue {
  /** A value for each dimension; null: the records lack the field. */
  readonly key: readonly PlainValue[];
  /** The share of the total. */
  readonly share: number;
}

/** A part of the range, and its source: single records or per-minute sums. */
export interface AnswerPart {
  readonly kind: "records" | "minutes";
  readonly from: string;
  readonly to: string;
}

/** The part of the range that the store covers. */
export interface Coverage {
  /** False where the store lacks a part of the range. */
  readonly complete: boolean;
  /** The parts, oldest first. */
  readonly parts: readonly AnswerPart[];
  /** The part of the range that the answer lacks, and why. */
  readonly missing?: MissingPart;
  /** The missing part of the range before, where that was requested: the store keeps less of it than there was. */
  readonly missingBefore?: MissingPart;
}

interface MissingPart {
  readonly from: string;
  readonly to: string;
  /** A text for people. */
  readonly because: string;
  /** Fields of the query that rollups of this time lack. */
  readonly lacking: readonly string[];
}

export interface ExploreAnswer extends Coverage {
  readonly from: string;
  readonly to: string;
  /** 0 without times. */
  readonly granularitySeconds: number;
  readonly measure: Measure;
  readonly when: When;
  readonly unit: Unit;
  readonly dimensions: readonly string[];
  /** The starts of the buckets. */
  readonly times?: readonly string[];
  /** The rows, largest first. */
  readonly rows: readonly AnswerRow[];
  /** The sum of the other keys. */
  readonly others: AnswerValue & { readonly keys: number; readonly share: number };
  readonly total: AnswerValue;
  /** Present where there were too many different values to count exactly. */
  readonly estimated?: true;
  /** The maximum number of records that one kept record stands for. */
  readonly sampling: number;
  readonly store: "duckdb" | "clickhouse";
  readonly elapsedMs: number;
}
