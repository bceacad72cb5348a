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

/** Rows that are read at once, and so of a file. */
const maxRows = 65_536;
/** Columns for keys of metadata; further ones are in the column for all others. */
const maxKeys = 200;
const hourMicroseconds = 3_600_000_000;
/** Fields without a column of their own, or whose value does not fit it, by their names. */
const otherColumn: FileColumn = { name: "other", type: "text", isArray: false };

/** A field as it is read, and its column in files. */
interface LakeColumn {
  readonly read: Column;
  readonly file: FileColumn;
}

/** The rows of an hour as the bytes of a file. */
export interface HourFile {
  /** Since the epoch. */
  readonly hour: number;
  /** Counts the files of an hour, where there are more rows than one takes. */
  readonly part: number;
  /** Records whose line was cut off: of all hours of the part, in its first file. */
  readonly cut: number;
  readonly chunks: readonly Uint8Array[];
}

/**
 * Reads lines into columns and encodes them by hours. All fields of the table of fields have a column in every file, so that files have one schema;
 * keys of metadata get one when they appear. A reader has columns for the fields that have appeared only: most never do.
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
   * @param arrivedAt is the time of records that have none, milliseconds.
   * @param isWanted of rows that are read; when it says no, nothing is encoded.
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
      // Also after an error.
      this.#reader.clear();
      [chunk, at] = this.#read(lines, ...from);
      if (!isWanted(this.#reader.batch())) return undefined;
      // Columns are for what has appeared: what appears now is read once more.
      if (this.#learn(this.#reader.batch())) {
        this.#reader = this.#newReader();
        [chunk, at] = this.#read(lines, ...from);
      }
      files.push(...this.#encode(this.#reader.batch(), 1000 * arrivedAt, part));
    }
    return files;
  }

  /** @returns where it stopped: the chunk, and the offset in it. */
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

  /** Notes fields that have no column in the reader, though they may. @returns whether there are some. */
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

  /** Makes a column for a key of metadata. Engines do not tell names in upper and lower case apart, so the first one has it. */
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
 * The types of engines: addresses are texts, because no type of Parquet is for them; whole numbers have a sign, because Spark and Trino read no other ones
 * as they are. A number that is beyond goes to the column for all others.
 */
function lakeColumn(column: Column): LakeColumn {
  const type: FileType = column.type === "address" ? "text" : column.type === "unsigned" ? "integer" : column.type;
  return { read: { ...column, type }, file: { name: columnName(column.field), type, isArray: column.isArray } };
}

/** The times of rows, microseconds. */
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

/** Puts rows in the order of their times, and parts them by hours. */
function byHours(times: Float64Array): { readonly hour: number; readonly rows: Uint32Array }[] {
  const rows = inOrder(times);
  const hours: { hour: number; rows: Uint32Array }[] = [];
  const hourAt = (i: number): number => Math.floor((times[rows[i] as number] as number) / hourMicroseconds);
  for (let from = 0; from < rows.length;) {
    const hour = hourAt(from);
    let [to, past] = [from, rows.length];
    // The last row of the hour, by halves.
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

/** More than the rows of a batch: the number of a row and its time go together into one number, which sorts five times as fast. */
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
