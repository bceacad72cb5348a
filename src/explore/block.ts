import type { BatchColumn, ColumnBatch, TextTable } from "../record/index.ts";

/** Maximum rows of a block: the vector size of a column store. */
export const blockRows = 2048;

/** One column of a block, with the texts of its codes. */
export interface BlockColumn extends BatchColumn {
  readonly texts: TextTable;
}

/** Rows of flows as columns, without arrays. They are views on memory that is reused. */
export interface Block {
  readonly rows: number;
  /** The number of records that each row stands for. */
  readonly weights: Uint32Array;
  readonly columns: readonly BlockColumn[];
}

/** Returns the columns of a batch that have values. */
export function columnsOf({ columns, texts }: ColumnBatch): readonly BlockColumn[] {
  return columns
    .filter(({ count }) => count > 0)
    .map(({ column, count, presence, data, offsets }) => ({ column, count, presence, data, offsets, texts }));
}

/** Reports whether a row has a value. */
export function hasValue({ presence }: BatchColumn, row: number): boolean {
  return ((presence[row >> 3] as number) & (1 << (row & 7))) !== 0;
}

/** Returns a block of some rows, in memory of its own. */
export function selectRows({ weights, columns }: Block, rows: readonly number[]): Block {
  const copied = new Map<TextTable, TextTable>();
  const textsOf = (texts: TextTable): TextTable => {
    const copy = copied.get(texts) ?? {
      count: texts.count,
      offsets: texts.offsets.slice(),
      bytes: texts.bytes.slice(),
    };
    copied.set(texts, copy);
    return copy;
  };
  const selected = columns.map((column) => ({ ...selectValues(column, rows), texts: textsOf(column.texts) }));
  return {
    rows: rows.length,
    weights: Uint32Array.from(rows, (row) => weights[row] as number),
    columns: selected.filter(({ count }) => count > 0),
  };
}

function selectValues(source: BatchColumn, rows: readonly number[]): BatchColumn {
  const { column, data } = source;
  const presence = new Uint8Array(Math.ceil(rows.length / 8));
  let count = 0;
  for (const [to, row] of rows.entries()) {
    if (!hasValue(source, row)) continue;
    presence[to >> 3] = (presence[to >> 3] as number) | (1 << (to & 7));
    count++;
  }
  const width = column.type === "address" ? 16 : 1;
  const chosen = new (data.constructor as new (length: number) => typeof data)(width * rows.length);
  for (const [to, row] of rows.entries()) {
    chosen.set(data.subarray(width * row, width * (row + 1)) as never, width * to);
  }
  return { column, count, presence, data: chosen, offsets: new Uint32Array(0) };
}

/** Reports whether an address in the data of a column is IPv4: its first ten bytes are zero, and two more are 255. */
export function isAddress4(data: Uint8Array, row: number): boolean {
  const at = 16 * row;
  if (data[at + 11] !== 255 || data[at + 10] !== 255) return false;
  for (let i = 0; i < 10; i++) if (data[at + i] !== 0) return false;
  return true;
}

/** Returns a view of the 64-bit numbers of a column as two words each, the lower first. BigInts take ten times as long. */
export function wordsOf({ data }: BatchColumn): Uint32Array {
  return new Uint32Array(data.buffer, data.byteOffset, data.byteLength / 4);
}
