import {
  columnOf,
  LineColumns,
  LineWalker,
  type BatchColumn,
  type Column,
  type ColumnBatch,
  type RecordField,
} from "../../record/index.ts";
import { columnName } from "../clickhouse/table-layout.ts";
import { typeFields, type NameOf } from "../delivery/line-fields.ts";
import { microseconds } from "./column-pages.ts";
import type { FileColumn, FileType } from "./file-metadata.ts";
import type { ParquetEncoder } from "./parquet-file.ts";

/** The most rows that are read at once, and so of a file. */
const maxRows = 65_536;
/** The most columns for keys of metadata; further keys are in the column for all others. */
const maxKeys = 200;
const hourMicroseconds = 3_600_000_000;
/** The column for fields without a column of their own, or whose value does not fit it, by name. */
const otherColumn: FileColumn = { name: "other", type: "text", isArray: false };

/** The column of a field as it is read, and its column in files. */
interface LakeColumn {
  readonly read: Column;
  readonly file: FileColumn;
}

/** The rows of an hour as the bytes of a file. */
export interface HourFile {
  /** Hours since the epoch. */
  readonly hour: number;
  /** The number of the file within its hour, which may have more rows than one file takes. */
  readonly part: number;
  /** The number of records whose line was truncated, of all hours of the part; set in its first file. */
  readonly cut: number;
  readonly chunks: readonly Uint8Array[];
}

/**
 * Reads lines into columns and encodes them by hours. Every file has a column for each field of the table of fields, so all files have
 * one schema; keys of metadata get one when they appear. The reader has columns only for fields that have appeared: most never do.
 */
export class LakeTable {
  readonly #encoder: ParquetEncoder;
  readonly #timeField: string;
  readonly #columns: LakeColumn[];
  readonly #byField: Map<string, LakeColumn>;
  readonly #names: Set<string>;
  readonly #seen = new Set<string>();
  readonly #namesOf: LineWalker<string>;
  #keys = 0;
  #reader: LineColumns;

  constructor(fields: readonly RecordField[], nameOf: NameOf, encoder: ParquetEncoder) {
    this.#encoder = encoder;
    this.#timeField = nameOf("@timestamp");
    const all = fields.flatMap((field): LakeColumn[] => {
      const column = columnOf(field.name);
      return column === undefined ? [] : [lakeColumn({ ...column, field: nameOf(field.name) })];
    });
    this.#columns = all.filter(({ file }, i) => all.findIndex((one) => one.file.name === file.name) === i);
    this.#byField = new Map(this.#columns.map((column) => [column.read.field, column]));
    this.#names = new Set([otherColumn.name, ...this.#columns.map(({ file }) => file.name.toLowerCase())]);
    this.#namesOf = new LineWalker((name) => name);
    for (const field of [this.#timeField, ...typeFields]) if (this.#byField.has(field)) this.#seen.add(field);
    this.#reader = this.#newReader();
  }

  /**
   * Encodes lines.
   *
   * @param arrivedAt the time of records that have none, milliseconds.
   * @param isWanted checks the rows that were read; if it returns false, nothing is encoded.
   * @returns undefined: some rows are not wanted.
   */
  files(
    lines: readonly Uint8Array[],
    arrivedAt: number,
    isWanted: (batch: ColumnBatch) => boolean,
  ): readonly HourFile[] | undefined {
    const files: HourFile[] = [];
    let [chunk, at] = [0, 0];
    for (let part = 0; chunk < lines.length; part++) {
      const from = [chunk, at] as const;
      // Clear it even after an error.
      this.#reader.clear();
      [chunk, at] = this.#read(lines, ...from);
      if (!isWanted(this.#reader.batch())) return undefined;
      // A field appeared that has no column yet: read the lines once more.
      if (this.#learn(this.#reader.batch())) {
        this.#reader = this.#newReader();
        [chunk, at] = this.#read(lines, ...from);
      }
      files.push(...this.#encode(this.#reader.batch(), 1000 * arrivedAt, part));
    }
    return files;
  }

  /** Reads lines. @returns where it stopped: the chunk, and the offset in it. */
  #read(lines: readonly Uint8Array[], chunk: number, offset: number): readonly [number, number] {
    let [i, at] = [chunk, offset];
    for (; i < lines.length; i++, at = 0) {
      const some = lines[i] as Uint8Array;
      at = this.#reader.take(some, at);
      if (at < some.length) break;
    }
    return [i, at];
  }

  #newReader(): LineColumns {
    const columns = [...this.#seen].flatMap((field) => this.#byField.get(field)?.read ?? []);
    return new LineColumns(columns, { maxRows, hasRest: true });
  }

  /** Notes fields that could have a column in the reader, but do not. @returns whether there are some. */
  #learn({ rest, texts }: ColumnBatch): boolean {
    const before = this.#seen.size;
    if (rest === undefined || rest.count === 0) return false;
    for (const code of new Set(rest.data)) {
      const [from, to] = [texts.offsets[code] as number, texts.offsets[code + 1] as number];
      if (from === to) continue;
      this.#namesOf.walk(texts.bytes, from, to, (name) => {
        if (this.#seen.has(name)) return;
        if (!this.#byField.has(name)) this.#addKey(name);
        if (this.#byField.has(name)) this.#seen.add(name);
      });
    }
    return this.#seen.size > before;
  }

  /** Makes a column for a key of metadata. Engines ignore the case of names, so the first key of a name has it. */
  #addKey(field: string): void {
    const column = columnOf(field);
    if (column?.type !== "text" || this.#keys === maxKeys) return;
    const added = lakeColumn(column);
    const name = added.file.name.toLowerCase();
    if (this.#names.has(name)) return;
    this.#keys++;
    this.#names.add(name);
    this.#byField.set(field, added);
    this.#columns.push(added);
  }

  #encode(batch: ColumnBatch, arrivedAt: number, part: number): HourFile[] {
    if (batch.rows === 0) return [];
    const byField = new Map(batch.columns.map((column) => [column.column.field, column]));
    const columns = this.#columns.map(({ read, file }) => [file, byField.get(read.field)] as const);
    const time = byField.get(this.#timeField);
    const times = timesOf(time, batch.rows, arrivedAt);
    // Rows without a time lie among the others.
    const sortedBy = time?.count === batch.rows ? columns.findIndex(([, column]) => column === time) : undefined;
    const all = [...columns, [otherColumn, batch.rest] as const];
    return byHours(times).map(({ hour, rows }, i) => ({
      hour,
      part,
      cut: i === 0 ? batch.cutRows : 0,
      chunks: this.#encoder.encode(all, batch, rows, sortedBy),
    }));
  }
}

/**
 * Returns a field's column with a type that engines support. Addresses are texts, because Parquet has no type for them. Whole numbers are signed,
 * because Spark and Trino cannot read others directly. Numbers beyond the range go to the column for all others.
 */
function lakeColumn(column: Column): LakeColumn {
  const type: FileType = column.type === "address" ? "text" : column.type === "unsigned" ? "integer" : column.type;
  return { read: { ...column, type }, file: { name: columnName(column.field), type, isArray: column.isArray } };
}

/** Returns the times of rows, microseconds. */
function timesOf(column: BatchColumn | undefined, rows: number, arrivedAt: number): Float64Array {
  const times = new Float64Array(rows).fill(arrivedAt);
  if (column === undefined) return times;
  const data = column.data as BigInt64Array;
  const words = new Int32Array(data.buffer, data.byteOffset, 2 * rows);
  for (let row = 0; row < rows; row++) {
    if ((((column.presence[row >> 3] as number) >> (row & 7)) & 1) === 0) continue;
    times[row] = microseconds((words[2 * row] as number) >>> 0, words[2 * row + 1] as number);
  }
  return times;
}

/** Sorts rows by time, and divides them by hours. */
function byHours(times: Float64Array): { readonly hour: number; readonly rows: Uint32Array }[] {
  const rows = inOrder(times);
  const hours: { hour: number; rows: Uint32Array }[] = [];
  const hourAt = (i: number): number => Math.floor((times[rows[i] as number] as number) / hourMicroseconds);
  for (let from = 0; from < rows.length;) {
    const hour = hourAt(from);
    let [to, past] = [from, rows.length];
    // Find the last row of the hour by bisection.
    while (past - to > 1) {
      const middle = (to + past) >>> 1;
      if (hourAt(middle) === hour) to = middle;
      else past = middle;
    }
    hours.push({ hour, rows: rows.subarray(from, past) });
    from = past;
  }
  return hours;
}

/** A factor above the rows of a batch: time and row number are packed into one number, which sorts five times as fast. */
const rowFactor = 2 ** 17;

function inOrder(times: Float64Array): Uint32Array {
  let [isSorted, least, greatest] = [true, times[0] as number, times[0] as number];
  for (let i = 1; i < times.length; i++) {
    const time = times[i] as number;
    if (time < (times[i - 1] as number)) isSorted = false;
    if (time < least) least = time;
    if (time > greatest) greatest = time;
  }
  const rows = new Uint32Array(times.length);
  for (let row = 0; row < rows.length; row++) rows[row] = row;
  if (isSorted) return rows;
  if ((greatest - least + 1) * rowFactor > Number.MAX_SAFE_INTEGER) {
    return rows.sort((a, b) => (times[a] as number) - (times[b] as number) || a - b);
  }
  const keys = times.map((time, row) => (time - least) * rowFactor + row).sort();
  return rows.map((_, i) => (keys[i] as number) % rowFactor);
}
