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

/** One column of a block. A list is the text of it in JSON. */
export interface BlockColumn {
  readonly column: Column;
  readonly width: number;
  readonly data: ArrayBuffer;
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
  readonly doubles: Float64Array;
  /** A bit for each row, set where it has a value. */
  readonly validity: Uint8Array;
  /** Rows that have a value. */
  count: number;
  /** Of texts that are too long for their row: row, place and length in the arena of the block. */
  readonly long: number[];
}

/** Rows by columns, in memory that is used again. */
export interface Block {
  readonly columns: readonly BlockColumn[];
  /** How many records each row stands for. */
  readonly weights: Uint32Array;
  rows: number;
  /** Long texts. */
  arena: Buffer;
  arenaLength: number;
}

export function createBlock(columns: readonly Column[]): Block {
  return {
    columns: columns.map(createColumn),
    weights: new Uint32Array(blockRows),
    rows: 0,
    arena: Buffer.allocUnsafe(64 * 1024),
    arenaLength: 0,
  };
}

function createColumn(column: Column): BlockColumn {
  const width = column.isArray ? widths.text : widths[column.type];
  const data = new ArrayBuffer(width * blockRows);
  return {
    column,
    width,
    data,
    ...viewsOf(data, width),
    validity: new Uint8Array(blockRows / 8),
    count: 0,
    long: [],
  };
}

function viewsOf(data: ArrayBuffer, width: number): Pick<BlockColumn, "bytes" | "words" | "doubles"> {
  return {
    bytes: new Uint8Array(data),
    words: width >= 4 ? new Uint32Array(data) : new Uint32Array(0),
    doubles: width === 8 ? new Float64Array(data) : new Float64Array(0),
  };
}

/** A block that stays as it is. Columns without values have no memory. */
export function copyBlock(block: Block): Block {
  const { rows, weights, arena, arenaLength } = block;
  return {
    rows,
    weights: weights.slice(),
    arena: Buffer.from(arena.subarray(0, arenaLength)),
    arenaLength,
    columns: block.columns.map(copyColumn),
  };
}

function copyColumn(from: BlockColumn): BlockColumn {
  if (from.count === 0) return { ...from, data: new ArrayBuffer(0), ...viewsOf(new ArrayBuffer(0), 0), long: [] };
  const data = from.data.slice(0);
  return { ...from, data, ...viewsOf(data, from.width), validity: from.validity.slice(), long: [...from.long] };
}

/** Makes a block empty. */
export function clearBlock(block: Block): void {
  for (const column of block.columns) {
    if (column.count === 0) continue;
    // What is no value is still looked at where it is a text.
    if (column.width === widths.text) column.bytes.fill(0, 0, block.rows * column.width);
    column.validity.fill(0);
    column.count = 0;
    column.long.length = 0;
  }
  block.rows = 0;
  block.arenaLength = 0;
}

/** Takes back what was written to the row that follows the last one. */
export function clearRow(block: Block): void {
  const row = block.rows;
  for (const column of block.columns) {
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

/** Below this a loop is quicker than a call of the engine. */
const fewBytes = 64;

/** Puts a text, which lies from `from` up to `until`, at the end of the arena. @returns its place. */
export function keepText(block: Block, bytes: Uint8Array, from: number, until: number): number {
  const at = block.arenaLength;
  const end = at + until - from;
  if (end > block.arena.length) {
    const larger = Buffer.allocUnsafe(2 * Math.max(end, block.arena.length));
    block.arena.copy(larger, 0, 0, at);
    block.arena = larger;
  }
  const { arena } = block;
  if (end - at > fewBytes) copyLines(bytes, from, until, arena, at);
  else for (let i = from, to = at; i < until; i++, to++) arena[to] = bytes[i] as number;
  block.arenaLength = end;
  return at;
}
