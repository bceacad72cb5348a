import { createHash } from "node:crypto";
import { createLineWalker, type LineWalker, type FieldType } from "../../record/index.ts";
import { batchKey, forEachLine, positionOf, type Batch } from "../delivery/batch.ts";
import { createBodyWriter, type BodyWriter } from "../delivery/body-writer.ts";
import { recordTypeOf } from "../delivery/output-adapter.ts";
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

/** What reads the fields of a table's lines; it remembers their names, so that it is made once. */
export type RowReader = LineWalker<PlacedColumn | typeof withoutColumn>;

interface PlacedColumn {
  readonly column: Column;
  /** What begins its value in a row: `,"name":`. */
  readonly start: Buffer;
}

const withoutColumn = "without a column";

export function createRowReader(columns: ColumnsByField): RowReader {
  return createLineWalker((name) => {
    const column = columns.get(name);
    return column === undefined ? withoutColumn : { column, start: Buffer.from(`,"${column.name}":`) };
  });
}

const quote = 0x22;
const bracket = 0x5b;

/**
 * Makes rows of the lines of a batch. A field goes to its column when its value fits there, else it is a text in the column
 * for all others: texts as they are, other values as JSON.
 *
 * @param readers for each of {@link tableLayouts}.
 */
export function rowsByTable(batch: Batch, readers: readonly RowReader[]): TableRows[] {
  const tables = tableLayouts.map(() => ({ body: undefined as BodyWriter | undefined, indexes: [] as number[] }));
  forEachLine(batch, (lines, from, to, index) => {
    const table = tableOfType[recordTypeOf(lines, from, to)];
    const rows = tables[table];
    const reader = readers[table];
    if (rows === undefined || reader === undefined) return;
    rows.body ??= createBodyWriter(batch.byteLength + (batch.byteLength >> 3));
    writeRow(rows.body, reader, lines, from, to);
    rows.indexes.push(index);
  });
  return tables.flatMap(({ body, indexes }, table) =>
    body === undefined ? [] : [{ table, body: body.body(), indexes, token: tokenOf(batch, table, indexes) }],
  );
}

function tokenOf(batch: Batch, table: number, indexes: readonly number[]): string {
  const positions = Uint32Array.from(indexes, (index) => positionOf(batch, index));
  const digest = createHash("sha256").update(new Uint8Array(positions.buffer)).digest("hex").slice(0, 16);
  return `${batchKey(batch.id)}-${tableLayouts[table]?.name ?? ""}-${digest}`;
}

function writeRow(out: BodyWriter, reader: RowReader, line: Buffer, from: number, to: number): void {
  // Fields without a column wait until the row's columns are written.
  const others: number[] = [];
  let isFirst = true;
  out.text("{");
  reader.walk(line, from, to, (use, name, value, end) => {
    if (use === withoutColumn || !fits(use.column, line, value, end)) {
      others.push(name, value, end);
      return;
    }
    out.bytes(use.start, isFirst ? 1 : 0, use.start.length);
    out.bytes(line, value, end);
    isFirst = false;
  });
  if (others.length > 0) out.text(`${isFirst ? "" : ","}"${otherColumn.name}":`);
  for (let i = 0; i < others.length; i += 3) {
    const [name = 0, value = 0, end = 0] = others.slice(i, i + 3);
    out.text(i === 0 ? "{" : ",");
    out.bytes(line, name, value);
    if (line[value] === quote) out.bytes(line, value, end);
    else out.quoted(line, value, end);
  }
  out.text(others.length > 0 ? "}}\n" : "}\n");
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
