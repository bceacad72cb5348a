import { findField } from "../fields/field-table.ts";
import { copyLines } from "../line-buffer.ts";
import { fieldStart } from "../record-fields.ts";
import type { Column, ColumnType } from "./column.ts";
import type { BatchColumn, ColumnBatch, ColumnData } from "./column-batch.ts";
import { columnReader } from "./gen/column-reader.ts";
import * as layout from "./layout.ts";

/** The exports of `assembly/index.ts`. Offsets refer to its memory. */
interface Reader {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly rows: { readonly value: number };
  readonly cutRows: { readonly value: number };
  readonly input: { readonly value: number };
  readonly inputRoom: { readonly value: number };
  readonly textBytes: { readonly value: number };
  readonly textCount: { readonly value: number };
  readonly textOffsets: { readonly value: number };
  begin(count: number, maxRows: number, hasRest: number, random: number): void;
  declareColumn(index: number, kind: number, flags: number, length: number): void;
  columnAt(index: number): number;
  reserveInput(bytes: number): void;
  read(length: number, isLast: number): number;
  isFull(): number;
  finish(): void;
  clear(): void;
  leaveOutKnown(): void;
}

const kinds: Readonly<Record<ColumnType, number>> = {
  text: layout.textKind,
  address: layout.addressKind,
  integer: layout.integerKind,
  unsigned: layout.unsignedKind,
  double: layout.doubleKind,
  boolean: layout.booleanKind,
  time: layout.timeKind,
};

const lineFeed = 0x0a;
const widthOfAddress = 16;
const restField: Column & { readonly type: "text" } = { field: "", type: "text", isArray: false };

/**
 * Reads lines of records into columns. It runs WebAssembly in a memory of its own that grows with the longest line and the fullest batch.
 *
 * Each line becomes a row. A line that is cut off is counted, and the fields before the cut are read. A line with a field that is not
 * valid JSON is counted too, and `rest` lacks that field.
 */
export class LineColumns {
  readonly #declared: readonly Column[];
  /** Columns whose texts are arrays as JSON. */
  readonly #asJson: ReadonlySet<string>;
  readonly #positions: ReadonlyMap<string, number>;
  readonly #maxRows: number;
  readonly #hasRest: boolean;
  #reader: Reader;

  /**
   * @param columns the columns, each with a different name; a duplicate is an error.
   * @param options `maxRows`: rows of a batch; `hasRest`: fields without a column, and values that do not fit theirs, are kept as JSON;
   *   `arraysAsJson`: array columns are columns of JSON texts.
   */
  constructor(
    columns: readonly Column[],
    options: { readonly maxRows: number; readonly hasRest: boolean; readonly arraysAsJson?: boolean },
  ) {
    this.#positions = new Map(columns.map(({ field }, index) => [field, index]));
    if (this.#positions.size !== columns.length) throw new TypeError("two columns have one field");
    const asJson = columns.filter(({ isArray }) => isArray && options.arraysAsJson === true);
    this.#asJson = new Set(asJson.map(({ field }) => field));
    this.#declared = columns.map((column) =>
      this.#asJson.has(column.field) ? { field: column.field, type: "text", isArray: false } : column,
    );
    this.#maxRows = options.maxRows;
    this.#hasRest = options.hasRest;
    this.#reader = this.#instantiate();
    this.#begin();
  }

  /** Rows in the batch. */
  get rows(): number {
    return this.#reader.rows.value;
  }

  /**
   * Reads whole lines from an offset on into rows, until all are read or the batch is full.
   *
   * @returns the offset of the first unread line.
   * @throws WebAssembly.RuntimeError on failure, such as lack of memory; all rows are then lost.
   */
  take(lines: Uint8Array, from: number): number {
    try {
      return this.#take(lines, from);
    } catch (error) {
      // After a trap the memory may be in any state.
      this.#reader = this.#instantiate();
      this.#begin();
      throw error;
    }
  }

  #take(lines: Uint8Array, from: number): number {
    const reader = this.#reader;
    let at = from;
    while (at < lines.length && reader.isFull() === 0) {
      const end = Math.min(lines.length, at + reader.inputRoom.value);
      copyLines(lines, at, end, this.#memory, offsetOf(reader.input.value));
      const read = reader.read(end - at, Number(end === lines.length));
      at += read;
      if (read === 0) reader.reserveInput(lengthOfLine(lines, at));
    }
    return at;
  }

  batch(): ColumnBatch {
    const reader = this.#reader;
    reader.finish();
    const { buffer } = reader.memory;
    const count = reader.textCount.value;
    const offsets = new Uint32Array(buffer, offsetOf(reader.textOffsets.value), count + 1);
    const { rows } = this;
    const all = this.#declared.length + Number(this.#hasRest);
    const descriptors = new Uint32Array(buffer, offsetOf(reader.columnAt(0)), (all * layout.columnBytes) >>> 2);
    const view = <Type extends ColumnType>(
      column: Column & { readonly type: Type },
      index: number,
    ): BatchColumn<Type> => new ColumnView(column, rows, descriptors, index);
    return {
      rows,
      cutRows: offsetOf(reader.cutRows.value),
      columns: this.#declared.map(view),
      rest: this.#hasRest ? view(restField, this.#declared.length) : undefined,
      texts: { count, offsets, bytes: new Uint8Array(buffer, offsetOf(reader.textBytes.value), offsets[count]) },
    };
  }

  /** Removes all rows and texts. */
  clear(): void {
    this.#reader.clear();
  }

  /** Excludes from `rest` all field names seen so far. A caller that collects only names has already seen these. */
  leaveOutKnown(): void {
    this.#reader.leaveOutKnown();
  }

  get #memory(): Buffer {
    return Buffer.from(this.#reader.memory.buffer);
  }

  #instantiate(): Reader {
    const instance = new WebAssembly.Instance(compile(), {
      lines: {
        columnOfName: (at: number, length: number) =>
          this.#positions.get(parseText(this.#memory.toString("utf8", at, at + length)) ?? "") ?? -1,
        parseDouble: (at: number, end: number) => parseDouble(this.#memory.toString("latin1", at, end)),
        unescape: (at: number, end: number, to: number) => {
          const text = parseText(this.#memory.toString("utf8", at, end));
          return text === undefined ? -1 : this.#memory.write(text, to);
        },
      },
    });
    return instance.exports as unknown as Reader;
  }

  #begin(): void {
    const random = Math.floor(Math.random() * 2 ** 32);
    this.#reader.begin(this.#declared.length, this.#maxRows, Number(this.#hasRest), random);
    for (const [index, column] of this.#declared.entries()) this.#declare(index, column);
  }

  #declare(index: number, { field, type, isArray }: Column): void {
    const name = Buffer.from(fieldStart(field)).subarray(1);
    const found = findField(field);
    const isDistinct = found !== undefined && "isDistinct" in found && found.isDistinct;
    this.#reader.reserveInput(name.length);
    this.#memory.set(name, this.#reader.input.value);
    const flags =
      (isArray ? layout.isArrayFlag : 0) |
      (isDistinct ? layout.isDistinctFlag : 0) |
      (this.#asJson.has(field) ? layout.isJsonFlag : 0);
    this.#reader.declareColumn(index, kinds[type], flags, name.length);
  }
}

/** Views of one column, created on request: of hundreds of columns most have no value. */
class ColumnView<Type extends ColumnType> implements BatchColumn<Type> {
  readonly column: Column & { readonly type: Type };
  readonly count: number;
  readonly #rows: number;
  readonly #descriptors: Uint32Array<ArrayBuffer>;
  readonly #first: number;
  #presence: Uint8Array | undefined;
  #data: ColumnData[Type] | undefined;
  #offsets: Uint32Array | undefined;

  /** @param index of its descriptor. */
  constructor(
    column: Column & { readonly type: Type },
    rows: number,
    descriptors: Uint32Array<ArrayBuffer>,
    index: number,
  ) {
    this.column = column;
    this.#rows = rows;
    this.#descriptors = descriptors;
    this.#first = (index * layout.columnBytes) >>> 2;
    this.count = this.#at(layout.columnCount);
  }

  get presence(): Uint8Array {
    const length = Math.ceil(this.#rows / 8);
    return (this.#presence ??= new Uint8Array(...this.#place(layout.columnPresence, length), length));
  }

  get data(): ColumnData[Type] {
    const length = this.column.isArray ? this.#at(layout.columnItems) : this.#rows;
    const place = this.#place(layout.columnData, widthOfAddress * length);
    return (this.#data ??= viewData[this.column.type](...place, length));
  }

  get offsets(): Uint32Array {
    const length = this.column.isArray ? this.#rows + 1 : 0;
    return (this.#offsets ??= new Uint32Array(...this.#place(layout.columnOffsets, 4 * length), length));
  }

  /** Returns the memory and offset of a part of the column; new zeroed memory if the column never had a value. */
  #place(field: number, bytes: number): [ArrayBuffer, number] {
    const at = this.#at(field);
    return at === 0 ? [new ArrayBuffer(bytes), 0] : [this.#descriptors.buffer, at];
  }

  #at(field: number): number {
    return this.#descriptors[this.#first + (field >>> 2)] as number;
  }
}

/** Functions that make a view of a column's values, by the column's type. */
const viewData: {
  readonly [Type in ColumnType]: (buffer: ArrayBuffer, at: number, length: number) => ColumnData[Type];
} = {
  text: (buffer, at, length) => new Uint32Array(buffer, at, length),
  address: (buffer, at, length) => new Uint8Array(buffer, at, widthOfAddress * length),
  integer: (buffer, at, length) => new BigInt64Array(buffer, at, length),
  unsigned: (buffer, at, length) => new BigUint64Array(buffer, at, length),
  double: (buffer, at, length) => new Float64Array(buffer, at, length),
  boolean: (buffer, at, length) => new Uint8Array(buffer, at, length),
  time: (buffer, at, length) => new BigInt64Array(buffer, at, length),
};

/** Returns an unsigned offset: numbers from WebAssembly are signed. */
function offsetOf(value: number): number {
  return value >>> 0;
}

/** Returns the length of the line at `from`, with its line feed if it has one. */
function lengthOfLine(lines: Uint8Array, from: number): number {
  const end = Buffer.from(lines.buffer, lines.byteOffset, lines.length).indexOf(lineFeed, from);
  return (end < 0 ? lines.length : end + 1) - from;
}

function parseText(text: string): string | undefined {
  try {
    return JSON.parse(text) as string;
  } catch {
    return undefined;
  }
}

/** Parses a JSON number. Returns NaN for any other text and for infinite values. */
function parseDouble(text: string): number {
  const value = /^-?[0-9]/.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : Number.NaN;
}

/** The compiled code that all readers of this thread share. */
let compiled: WebAssembly.Module | undefined;

function compile(): WebAssembly.Module {
  return (compiled ??= new WebAssembly.Module(Buffer.from(columnReader, "base64")));
}
