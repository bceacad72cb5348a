import type { DuckDBConnection } from "@duckdb/node-api";
import { timeField, type Column } from "../column.ts";
import { counterFields, flowedColumns } from "../booking.ts";
import { hasValue, wordsOf, type Block, type BlockColumn } from "../block.ts";
import { sqlType } from "./duckdb-table.ts";
import { firstName } from "./database-files.ts";
import { quoted } from "./duckdb-table.ts";

/** A file with the rows of an hour, or of part of an hour. */
export interface Partition {
  /** The original name of the file. It stays when the rows are sorted. */
  readonly id: string;
  /** The name of the file, and of its schema while it is attached. */
  readonly name: string;
  /** The columns of the file. */
  readonly columns: ReadonlySet<string>;
  /** Columns with times in milliseconds. */
  readonly milliseconds: ReadonlySet<string>;
  rows: number;
  /** Maximum bytes that the rows take in a log. An estimate for rows of an earlier run. */
  logBytes: number;
  maxWeight: number;
  /** The time of the oldest record, in milliseconds since the epoch; undefined: there is none. */
  from: number | undefined;
  to: number | undefined;
  /** The earliest flow or receipt time, in milliseconds since the epoch. */
  flowedFrom: number | undefined;
  /** The length of the longest flow, in milliseconds. */
  longestFlow: number;
  /** True where some rows have no flow time although others have. An earlier version wrote them, or they arrived before the first row with a flow time. */
  hasUnbooked: boolean;
  /** The largest counter. */
  largest: number;
  /** True where the file is compressed and gets no more rows. */
  isComplete: boolean;
}

/** The column with the number of records that a row stands for. */
export const weightColumn = "explore.weight";

/** Log bytes of a typical row with metadata at both ends. */
const usualRowBytes = 640;

/** The type of a column of times in milliseconds. */
export const millisecondType = "TIMESTAMP_MS";

/** Returns the value of a column in a file: NULL when it lacks the column; times always in nanoseconds. */
export function cellOf(column: Column, { columns, milliseconds }: Pick<Partition, "columns" | "milliseconds">): string {
  const name = quoted(column.field);
  if (!columns.has(column.field)) return `CAST(NULL AS ${sqlType(column)})`;
  return milliseconds.has(column.field) ? `CAST(${name} AS ${sqlType(column)})` : name;
}

/** Returns the period in which the bytes of a row flowed, in milliseconds since the epoch. It is the receipt time where nothing better is known. */
export function flowedCells({ columns }: Pick<Partition, "columns">): { readonly start: string; readonly end: string } {
  const received = `epoch_ms(${quoted(timeField)})`;
  const cell = (column: Column): string =>
    columns.has(column.field) ? `coalesce(${quoted(column.field)}, ${received})` : received;
  return { start: cell(flowedColumns.start), end: cell(flowedColumns.end) };
}

export function tableOf(name: string): string {
  return `${quoted(name)}.main.flows`;
}

/** Creates the table of an attached file if it has none, and describes the content. */
export async function readPartition(
  connection: DuckDBConnection,
  name: string,
  columns: readonly Column[],
): Promise<Partition> {
  const table = tableOf(name);
  const definitions = columns.map((column) => `${quoted(column.field)} ${sqlType(column)}`).join(", ");
  await connection.run(`CREATE TABLE IF NOT EXISTS ${table} (${definitions}, "${weightColumn}" UINTEGER)`);
  return describePartition(connection, name);
}

/** Describes the content of an attached file that has a table. */
export async function describePartition(connection: DuckDBConnection, name: string): Promise<Partition> {
  const table = tableOf(name);
  const described = (await connection.runAndReadAll(`DESCRIBE ${table}`)).getRows();
  const columns = new Set(described.map(([column]) => String(column)));
  const time = `epoch_ms("${timeField}")`;
  const { start, end } = flowedCells({ columns });
  const counters = countersOf({ columns });
  const largest = counters.length === 0 ? "0" : `greatest(${counters.map((counter) => `max(${counter})`).join(", ")})`;
  const booked = columns.has(flowedColumns.start.field) ? `count(${quoted(flowedColumns.start.field)})` : "0";
  const counted = await connection.runAndReadAll(
    `SELECT count(*), min(${time}), max(${time}), max("${weightColumn}"), min(least(${start}, ${time})), max(${end} - ${start}), count(${time}) > ${booked}, ${largest} FROM ${table}`,
  );
  const [rows, from, to, weight, flowedFrom, longest, hasUnbooked, most] = counted.getRows()[0] ?? [];
  const bound = (value: unknown): number | undefined => (value === null ? undefined : Number(value));
  return {
    id: firstName(name),
    name,
    columns,
    milliseconds: new Set(described.filter(([, type]) => type === millisecondType).map(([column]) => String(column))),
    rows: Number(rows),
    logBytes: usualRowBytes * Number(rows),
    maxWeight: Math.max(1, Number(weight ?? 1)),
    from: bound(from),
    to: bound(to),
    flowedFrom: bound(flowedFrom),
    longestFlow: Number(longest ?? 0),
    hasUnbooked: hasUnbooked === true,
    largest: Number(most ?? 0),
    isComplete: false,
  };
}

/** Returns the counters of a file. */
function countersOf({ columns }: Pick<Partition, "columns">): readonly string[] {
  return Object.values(counterFields)
    .flat()
    .filter((field) => columns.has(field))
    .map(quoted);
}

/** Updates the description of a partition from a block, without a query. */
export function noteBlock(partition: Partition, { rows, weights, columns }: Block): void {
  partition.rows += rows;
  for (let row = 0; row < rows; row++) {
    const weight = weights[row] as number;
    if (weight > partition.maxWeight) partition.maxWeight = weight;
  }
  const columnOf = (field: string): BlockColumn | undefined => columns.find(({ column }) => column.field === field);
  for (const field of Object.values(counterFields).flat()) {
    const counter = columnOf(field);
    if (counter !== undefined) partition.largest = Math.max(partition.largest, largestOf(counter, rows));
  }
  const times = columnOf(timeField);
  if (times === undefined) return;
  const [starts, ends] = [columnOf(flowedColumns.start.field), columnOf(flowedColumns.end.field)];
  if (starts !== undefined && ends !== undefined) noteFlows(partition, starts, ends, rows);
  if (times.count > (starts?.count ?? 0)) partition.hasUnbooked = true;
  const words = wordsOf(times);
  for (let row = 0; row < rows; row++) {
    if (!hasValue(times, row)) continue;
    // The value is two words of nanoseconds; the rounding error is below a millisecond.
    const time = (words[2 * row + 1] as number) * 4294.967296 + (words[2 * row] as number) / 1e6;
    partition.from = Math.min(partition.from ?? Number.POSITIVE_INFINITY, Math.floor(time));
    partition.flowedFrom = Math.min(partition.flowedFrom ?? Number.POSITIVE_INFINITY, Math.floor(time));
    partition.to = Math.max(partition.to ?? Number.NEGATIVE_INFINITY, Math.ceil(time));
  }
}

/** Returns the largest value, exact up to 2^53. A missing value counts as zero. */
function largestOf(counter: BlockColumn, rows: number): number {
  const words = wordsOf(counter);
  let largest = 0;
  for (let row = 0; row < rows; row++) {
    const value = (words[2 * row + 1] as number) * 4_294_967_296 + (words[2 * row] as number);
    if (value > largest) largest = value;
  }
  return largest;
}

/** Updates the flow times. Both columns have values in the same rows. */
function noteFlows(partition: Partition, starts: BlockColumn, ends: BlockColumn, rows: number): void {
  const [startWords, endWords] = [wordsOf(starts), wordsOf(ends)];
  const numberOf = (words: Uint32Array, row: number): number =>
    ((words[2 * row + 1] as number) | 0) * 4_294_967_296 + (words[2 * row] as number);
  let first = partition.flowedFrom ?? Number.POSITIVE_INFINITY;
  let longest = partition.longestFlow;
  for (let row = 0; row < rows; row++) {
    if (!hasValue(starts, row)) continue;
    const start = numberOf(startWords, row);
    first = Math.min(first, start);
    longest = Math.max(longest, numberOf(endWords, row) - start);
  }
  if (first !== Number.POSITIVE_INFINITY) partition.flowedFrom = first;
  partition.longestFlow = longest;
}
