import { createHash } from "node:crypto";
import type { FieldType } from "../../record/index.ts";
import { batchKey, forEachLine, positionOf, type Batch } from "../delivery/batch.ts";
import { forEachField } from "../delivery/line-fields.ts";
import { recordTypeOf } from "../delivery/record-type.ts";
import { otherColumn, tableLayouts, tableOfType, type Column } from "./columns.ts";

/** The rows of a batch for one table. */
export interface TableRows {
  /** An index of {@link tableLayouts}. */
  readonly table: number;
  /** JSON objects, each on a line. */
  readonly body: Uint8Array;
  /** Of its records in the batch, ascending. */
  readonly indexes: readonly number[];
  /** The same for the same records of the same batch: by it the server knows rows that it has. */
  readonly token: string;
}

/** The columns that a table has, by the names of their fields. */
export type ColumnsByField = ReadonlyMap<string, Column>;

const quote = 0x22;
const backslash = 0x5c;
const bracket = 0x5b;
const otherStart = Buffer.from(`"${otherColumn.name}":{`);

/**
 * Makes rows of the lines of a batch. A field goes to its column when its value fits there, else it is a text in the column
 * for all others: texts as they are, other values as JSON.
 *
 * @param columns for each of {@link tableLayouts}.
 */
export function rowsByTable(batch: Batch, columns: readonly ColumnsByField[]): TableRows[] {
  const writers = tableLayouts.map((_, table) => createRowWriter(columns[table] ?? new Map()));
  const indexes: number[][] = tableLayouts.map(() => []);
  let chunkBefore: Uint8Array | undefined;
  let lines: Buffer = Buffer.alloc(0);
  forEachLine(batch, (chunk, from, to, index) => {
    if (chunk !== chunkBefore) {
      chunkBefore = chunk;
      lines = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    }
    const table = tableOfType[recordTypeOf(lines, from, to)];
    writers[table]?.write(lines, from, to, batch.byteLength);
    indexes[table]?.push(index);
  });
  return indexes.flatMap((own, table) => {
    if (own.length === 0) return [];
    return [
      { table, body: writers[table]?.body() ?? Buffer.alloc(0), indexes: own, token: tokenOf(batch, table, own) },
    ];
  });
}

function tokenOf(batch: Batch, table: number, indexes: readonly number[]): string {
  const positions = Uint32Array.from(indexes, (index) => positionOf(batch, index));
  const digest = createHash("sha256").update(new Uint8Array(positions.buffer)).digest("hex").slice(0, 16);
  return `${batchKey(batch.id)}-${tableLayouts[table]?.name ?? ""}-${digest}`;
}

interface RowWriter {
  /** @param sizeHint how many bytes all lines have. */
  write(line: Buffer, from: number, to: number, sizeHint: number): void;
  body(): Uint8Array;
}

function createRowWriter(columns: ColumnsByField): RowWriter {
  let out: Buffer = Buffer.alloc(0);
  let at = 0;
  // Fields without a column wait here until the row's columns are written.
  let others: number[] = [];

  const writeText = (line: Buffer, from: number, to: number): void => {
    out[at++] = quote;
    for (let i = from; i < to; i++) {
      const byte = line[i] ?? 0;
      if (byte === quote || byte === backslash) out[at++] = backslash;
      out[at++] = byte;
    }
    out[at++] = quote;
  };

  return {
    write(line, from, to, sizeHint) {
      // A value that becomes a text may have each of its bytes escaped.
      const room = 2 * (to - from) + 64;
      if (at + room > out.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(2 * out.length, sizeHint + (sizeHint >> 3), at + room));
        out.copy(larger, 0, 0, at);
        out = larger;
      }
      others = [];
      out[at++] = 0x7b;
      const start = at;
      forEachField(line, from, to, (name, value, end) => {
        const column = columns.get(line.toString("latin1", name + 1, value - 2));
        if (column === undefined || !fits(column, line, value, end)) {
          others.push(name, value, end);
          return;
        }
        if (at > start) out[at++] = 0x2c;
        out[at++] = quote;
        at += out.write(column.name, at, "latin1");
        out[at++] = quote;
        out[at++] = 0x3a;
        at += line.copy(out, at, value, end);
      });
      if (others.length > 0) {
        if (at > start) out[at++] = 0x2c;
        at += otherStart.copy(out, at);
        for (let i = 0; i < others.length; i += 3) {
          const [name = 0, value = 0, end = 0] = others.slice(i, i + 3);
          if (i > 0) out[at++] = 0x2c;
          at += line.copy(out, at, name, value);
          if (line[value] === quote) at += line.copy(out, at, value, end);
          else writeText(line, value, end);
        }
        out[at++] = 0x7d;
      }
      out[at++] = 0x7d;
      out[at++] = 0x0a;
    },
    body: () => out.subarray(0, at),
  };
}

/** What the value of a field begins with, by its type. */
const beginsAs: Readonly<Record<FieldType, (first: number) => boolean>> = {
  keyword: isQuote,
  ip: isQuote,
  geo_point: isQuote,
  date: isQuote,
  date_nanos: isQuote,
  boolean: (first) => first === 0x74 || first === 0x66,
  long: isOfNumber,
  unsigned_long: isOfNumber,
  double: isOfNumber,
};

function isQuote(first: number): boolean {
  return first === quote;
}

function isOfNumber(first: number): boolean {
  return first === 0x2d || (first >= 0x30 && first <= 0x39);
}

/** Whether a value is one of its column's kind; in records with lists any field may be an array. */
function fits({ fieldType, isArray }: Column, line: Buffer, from: number, to: number): boolean {
  const first = line[from] ?? 0;
  if (isArray) return first === bracket && line[from + 1] !== bracket;
  if (!beginsAs[fieldType](first)) return false;
  return (fieldType !== "date" && fieldType !== "date_nanos") || isStorable(line, from, to);
}

/** DateTime64 with nanoseconds holds these years, and changes others without a word. */
function isStorable(line: Buffer, from: number, to: number): boolean {
  const year = line[from + 5] === 0x2d ? Number(line.toString("latin1", from + 1, from + 5)) : 0;
  return year >= 1900 && year < 2262 && to - from <= 32;
}
