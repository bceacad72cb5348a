import { copyLines } from "../record/index.ts";
import type { Column, ColumnType } from "./column.ts";

/** Rows of a block: as many as the vectors of a column store have. */
export const blockRows = 2048;

/** Bytes of a value, as DuckDB's vectors have them. Texts are 16: their length and up to 12 bytes; longer ones are apart. */
const widths: Readonly<Record<ColumnType, number>> = {
  text: 16,
  address: 16,
  integer: 8,
  unsigned: 8,
  double: 8,
  boolean: 1,
  time: 8,
};

/** The longest text that lies in its row. */
export const inlineText = 12;

/** Below this a loop is quicker than a call of the engine. */
const fewBytes = 64;

/** One column of a block. A list is the text of it in JSON. */
export class BlockColumn {
  readonly column: Column;
  readonly width: number;
  readonly data: ArrayBuffer;
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
  readonly doubles: Float64Array;
  /** A bit for each row, set where it has a value. */
  readonly validity: Uint8Array;
  /** Rows that have a value. */
  count = 0;
  /** Row, offset and length in the arena of the block, for texts that are too long for their row. */
  readonly long: number[] = [];

  constructor(column: Column, data?: ArrayBuffer, validity: Uint8Array = new Uint8Array(blockRows / 8)) {
    this.column = column;
    this.width = column.isArray ? widths.text : widths[column.type];
    this.data = data ?? new ArrayBuffer(this.width * blockRows);
    this.bytes = new Uint8Array(this.data);
    this.words = this.width >= 4 ? new Uint32Array(this.data) : new Uint32Array(0);
    this.doubles = this.width === 8 ? new Float64Array(this.data) : new Float64Array(0);
    this.validity = validity;
  }

  copy(): BlockColumn {
    if (this.count === 0) return new BlockColumn(this.column, new ArrayBuffer(0), this.validity);
    const copy = new BlockColumn(this.column, this.data.slice(0), this.validity.slice());
    copy.count = this.count;
    copy.long.push(...this.long);
    return copy;
  }
}

/** Rows by columns, in memory that is used again. */
export class Block {
  readonly columns: readonly BlockColumn[];
  /** The number of records that each row stands for. */
  readonly weights: Uint32Array;
  rows = 0;
  /** Long texts. */
  arena: Buffer;
  arenaLength = 0;

  constructor(
    columns: readonly BlockColumn[],
    weights = new Uint32Array(blockRows),
    arena = Buffer.allocUnsafe(65_536),
  ) {
    this.columns = columns;
    this.weights = weights;
    this.arena = arena;
  }

  /** Returns a block that stays as it is. Columns without values have no memory. */
  copy(): Block {
    const arena = Buffer.from(this.arena.subarray(0, this.arenaLength));
    const columns = this.columns.map((column) => column.copy());
    const copy = new Block(columns, this.weights.slice(), arena);
    copy.rows = this.rows;
    copy.arenaLength = this.arenaLength;
    return copy;
  }

  /** Makes it empty. */
  clear(): void {
    for (const column of this.columns) {
      if (column.count === 0) continue;
      // Bytes of a text are read even where there is no value.
      if (column.width === widths.text) column.bytes.fill(0, 0, this.rows * column.width);
      column.validity.fill(0);
      column.count = 0;
      column.long.length = 0;
    }
    this.rows = 0;
    this.arenaLength = 0;
  }

  /** Takes back what was written to the row that follows the last one. */
  clearRow(): void {
    const row = this.rows;
    for (const column of this.columns) {
      const bit = 1 << (row & 7);
      const at = row >> 3;
      const byte = column.validity[at] as number;
      if ((byte & bit) === 0) continue;
      column.validity[at] = byte & ~bit;
      column.count--;
      if (column.width !== widths.text) continue;
      column.bytes.fill(0, row * column.width, (row + 1) * column.width);
      if (column.long.at(-3) === row) column.long.length -= 3;
    }
  }

  /** Puts a text, which lies from `from` up to `until`, at the end of the arena. @returns its offset. */
  keepText(bytes: Uint8Array, from: number, until: number): number {
    const at = this.arenaLength;
    const end = at + until - from;
    if (end > this.arena.length) {
      const larger = Buffer.allocUnsafe(2 * Math.max(end, this.arena.length));
      this.arena.copy(larger, 0, 0, at);
      this.arena = larger;
    }
    const { arena } = this;
    if (end - at > fewBytes) copyLines(bytes, from, until, arena, at);
    else for (let i = from, to = at; i < until; i++, to++) arena[to] = bytes[i] as number;
    this.arenaLength = end;
    return at;
  }
}
