import { Builder } from "flatbuffers";
import type { BatchColumn, ColumnBatch, TextTable } from "./column-batch.ts";
import type { Column, ColumnType } from "./column.ts";
import { LineColumns } from "./line-columns.ts";

/** The media type of a stream. */
export const arrowStreamType = "application/vnd.apache.arrow.stream";

/** Maximum number of rows in a batch. */
const maxRows = 4096;

/** Constants of the format: https://github.com/apache/arrow/tree/main/format, the files Message.fbs and Schema.fbs. */
const version5 = 4;
const headers = { schema: 1, recordBatch: 3 } as const;
const types = { int: 2, floatingPoint: 3, utf8: 5, bool: 6, timestamp: 10, list: 12 } as const;
const doublePrecision = 2;
const nanoseconds = 3;
const alignment = 8;
/** The marker before the length of a message. A length of zero ends a stream. */
const continuation = 0xffffffff;

/** Types of values in a stream. Addresses are texts. */
type ValueType = Exclude<ColumnType, "address">;

/**
 * Writes lines as a stream of Arrow (the IPC format, version 5): a schema, then batches of rows. Texts are written in full, without
 * dictionaries. Many readers support no dictionaries, or none that change. Columns of a batch share one table of texts, so a dictionary for
 * each column would repeat the texts of all columns.
 */
export class ArrowStream {
  readonly #columns: readonly Column[];
  readonly #hasRest: boolean;
  readonly #reader: LineColumns;

  /**
   * @param columns columns named as their fields, each with a different name.
   * @param options `hasRest`: a column `rest` has, as JSON, the fields without a column and the values that do not fit theirs.
   */
  constructor(columns: readonly Column[], { hasRest }: { readonly hasRest: boolean }) {
    this.#columns = columns.map((column) => ({ ...column, type: valueType(column.type) }));
    this.#hasRest = hasRest;
    this.#reader = new LineColumns(this.#columns, { maxRows, hasRest });
  }

  /** Rows that are in no batch yet. */
  get rows(): number {
    return this.#reader.rows;
  }

  /** Returns the schema, with which a stream begins. */
  begin(): Uint8Array {
    const builder = new Builder(8192);
    const rest: Column = { field: "rest", type: "text", isArray: false };
    const all = this.#hasRest ? [...this.#columns, rest] : this.#columns;
    const fields = offsetVector(
      builder,
      all.map((column) => addField(builder, column)),
    );
    builder.startObject(4);
    builder.addFieldOffset(1, fields, 0);
    return message(builder, headers.schema, builder.endObject(), []);
  }

  /** Reads whole lines. @returns the batches that they filled. */
  take(lines: Uint8Array): readonly Uint8Array[] {
    const full: Uint8Array[] = [];
    for (let at = 0; at < lines.length;) {
      at = this.#reader.take(lines, at);
      if (at < lines.length) full.push(this.flush());
    }
    return full;
  }

  /**
   * Makes a batch of the pending rows, however few.
   *
   * @param notes texts by name, which become the metadata of the batch.
   */
  flush(notes: Readonly<Record<string, string>> = {}): Uint8Array {
    const bytes = new BatchBody(this.#reader.batch()).message(notes);
    this.#reader.clear();
    return bytes;
  }

  /** Returns the end of a stream. */
  end(): Uint8Array {
    return new Uint8Array(Uint32Array.of(continuation, 0).buffer);
  }
}

function valueType(type: ColumnType): ValueType {
  return type === "address" ? "text" : type;
}

/** Adds a field to the schema. @returns its offset. */
function addField(builder: Builder, { field, type, isArray }: Column): number {
  const children = isArray ? [addField(builder, { field: "item", type, isArray: false })] : [];
  const childVector = offsetVector(builder, children);
  const name = builder.createString(field);
  const [kind, details] = isArray ? ([types.list, emptyTable(builder)] as const) : addType(builder, valueType(type));
  builder.startObject(7);
  builder.addFieldOffset(0, name, 0);
  builder.addFieldInt8(1, 1, 0);
  builder.addFieldInt8(2, kind, 0);
  builder.addFieldOffset(3, details, 0);
  builder.addFieldOffset(5, childVector, 0);
  return builder.endObject();
}

/** Adds a type. @returns its number and the offset of its table. */
function addType(builder: Builder, type: ValueType): readonly [number, number] {
  switch (type) {
    case "text":
      return [types.utf8, emptyTable(builder)];
    case "boolean":
      return [types.bool, emptyTable(builder)];
    case "double":
      builder.startObject(1);
      builder.addFieldInt16(0, doublePrecision, 0);
      return [types.floatingPoint, builder.endObject()];
    case "time": {
      const zone = builder.createString("UTC");
      builder.startObject(2);
      builder.addFieldInt16(0, nanoseconds, 0);
      builder.addFieldOffset(1, zone, 0);
      return [types.timestamp, builder.endObject()];
    }
    case "integer":
    case "unsigned":
      break;
  }
  builder.startObject(2);
  builder.addFieldInt32(0, 64, 0);
  builder.addFieldInt8(1, type === "integer" ? 1 : 0, 0);
  return [types.int, builder.endObject()];
}

function emptyTable(builder: Builder): number {
  builder.startObject(0);
  return builder.endObject();
}

function offsetVector(builder: Builder, offsets: readonly number[]): number {
  builder.startVector(4, offsets.length, 4);
  for (const offset of offsets.toReversed()) builder.addOffset(offset);
  return builder.endVector();
}

/** Adds a vector of pairs of 64-bit numbers. */
function pairVector(builder: Builder, pairs: readonly (readonly [number, number])[]): number {
  builder.startVector(16, pairs.length, 8);
  for (const [first, second] of pairs.toReversed()) {
    builder.prep(8, 16);
    builder.writeInt64(BigInt(second));
    builder.writeInt64(BigInt(first));
  }
  return builder.endVector();
}

/** Finishes a message. @param body its parts, each of which begins at a multiple of 8 bytes. */
function message(
  builder: Builder,
  type: number,
  header: number,
  body: readonly Uint8Array[],
  notes: Readonly<Record<string, string>> = {},
): Uint8Array {
  const pairs = Object.entries(notes).map(([name, value]) => {
    const [key, text] = [builder.createString(name), builder.createString(value)];
    builder.startObject(2);
    builder.addFieldOffset(0, key, 0);
    builder.addFieldOffset(1, text, 0);
    return builder.endObject();
  });
  const metadata = offsetVector(builder, pairs);
  const bodyLength = body.reduce((sum, part) => sum + padded(part.length), 0);
  builder.startObject(5);
  builder.addFieldInt16(0, version5, 0);
  builder.addFieldInt8(1, type, 0);
  builder.addFieldOffset(2, header, 0);
  builder.addFieldInt64(3, BigInt(bodyLength), 0n);
  builder.addFieldOffset(4, metadata, 0);
  builder.finish(builder.endObject());
  const head = builder.asUint8Array();
  const headLength = padded(head.length);
  const bytes = Buffer.alloc(8 + headLength + bodyLength);
  bytes.writeUInt32LE(continuation, 0);
  bytes.writeUInt32LE(headLength, 4);
  bytes.set(head, 8);
  let at = 8 + headLength;
  for (const part of body) {
    bytes.set(part, at);
    at += padded(part.length);
  }
  return bytes;
}

function padded(length: number): number {
  return Math.ceil(length / alignment) * alignment;
}

/** The columns of a batch as buffers of Arrow. */
class BatchBody {
  readonly #rows: number;
  /** The number of values and of missing values, for each column and for the items of each list. */
  readonly #nodes: (readonly [number, number])[] = [];
  readonly #parts: Uint8Array[] = [];

  constructor({ rows, columns, rest, texts }: ColumnBatch) {
    this.#rows = rows;
    for (const column of columns) this.#add(column, texts);
    if (rest !== undefined) this.#add(rest, texts);
  }

  message(notes: Readonly<Record<string, string>>): Uint8Array {
    const builder = new Builder(4096);
    let at = 0;
    const places = this.#parts.map(({ length }): readonly [number, number] => {
      const from = at;
      at += padded(length);
      return [from, length];
    });
    const buffers = pairVector(builder, places);
    const nodes = pairVector(builder, this.#nodes);
    builder.startObject(5);
    builder.addFieldInt64(0, BigInt(this.#rows), 0n);
    builder.addFieldOffset(1, nodes, 0);
    builder.addFieldOffset(2, buffers, 0);
    return message(builder, headers.recordBatch, builder.endObject(), this.#parts, notes);
  }

  #add(column: BatchColumn, texts: TextTable): void {
    const rows = this.#rows;
    const lacking = rows - column.count;
    this.#nodes.push([rows, lacking]);
    // An empty buffer means that no value is missing.
    this.#parts.push(lacking === 0 ? new Uint8Array(0) : column.presence);
    if (!column.column.isArray) return this.#values(column, rows, texts);
    const items = column.data.length;
    this.#parts.push(bytesOf(column.offsets));
    this.#nodes.push([items, 0]);
    this.#parts.push(new Uint8Array(0));
    return this.#values(column, items, texts);
  }

  #values({ column, data }: BatchColumn, count: number, texts: TextTable): void {
    if (column.type === "text") this.#texts(data as Uint32Array, count, texts);
    else this.#parts.push(column.type === "boolean" ? bitsOf(data as Uint8Array, count) : bytesOf(data));
  }

  #texts(codes: Uint32Array, count: number, { offsets, bytes }: TextTable): void {
    const ends = new Int32Array(count + 1);
    let length = 0;
    for (let i = 0; i < count; i++) {
      const code = codes[i] as number;
      length += (offsets[code + 1] as number) - (offsets[code] as number);
      ends[i + 1] = length;
    }
    const written = new Uint8Array(length);
    let at = 0;
    for (let i = 0; i < count; i++) {
      const code = codes[i] as number;
      const to = offsets[code + 1] as number;
      // Most texts are so short that a call of the engine would take longer.
      for (let from = offsets[code] as number; from < to; from++) written[at++] = bytes[from] as number;
    }
    this.#parts.push(bytesOf(ends), written);
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Packs bytes of 0 or 1 into bits, the lowest bit first. */
function bitsOf(values: Uint8Array, count: number): Uint8Array {
  const bits = new Uint8Array(Math.ceil(count / 8));
  for (let i = 0; i < count; i++) bits[i >> 3] = (bits[i >> 3] as number) | ((values[i] as number) << (i & 7));
  return bits;
}
