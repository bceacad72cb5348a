import type { Column, ColumnType } from "./column.ts";

/** The array that holds a column's values, by type. */
export interface ColumnData {
  /** Codes of the batch's texts; 0 is the empty text. */
  text: Uint32Array;
  /** 16 bytes per value in network order; IPv4 in its mapped form, `::ffff:192.0.2.1`. */
  address: Uint8Array;
  integer: BigInt64Array;
  unsigned: BigUint64Array;
  double: Float64Array;
  boolean: Uint8Array;
  /** Nanoseconds since the epoch. */
  time: BigInt64Array;
}

/** The values of one column of a batch. */
export interface BatchColumn<Type extends ColumnType = ColumnType> {
  readonly column: Column & { readonly type: Type };
  /** Rows that have a value. */
  readonly count: number;
  /** A bit for each row, set if it has a value: bit `row & 7` of byte `row >> 3`. */
  readonly presence: Uint8Array;
  /** A value for each row, zero where it has none. An array column has a value for each item. */
  readonly data: ColumnData[Type];
  /** Start offsets of each row's items in an array column, then the end of the last row's. Empty for other columns. */
  readonly offsets: Uint32Array;
}

/** Texts by their codes. */
export interface TextTable {
  readonly count: number;
  /** Start offsets of the texts in `bytes`, then the end of the last one. */
  readonly offsets: Uint32Array;
  /** The texts in UTF-8, without quotes and escapes. */
  readonly bytes: Uint8Array;
}

/** A batch of rows by columns: views of reused memory, valid until the reader takes or clears rows. */
export interface ColumnBatch {
  readonly rows: number;
  /**
   * Number of rows whose line was cut off or ends wrongly; they lose the field at the cut and all fields after it. Rows with a field
   * that is not valid JSON count too; `rest` lacks that field.
   */
  readonly cutRows: number;
  /** All declared columns, in their order. */
  readonly columns: readonly BatchColumn[];
  /** A JSON object for each record with the fields that have no column, or whose value does not fit theirs. */
  readonly rest: BatchColumn<"text"> | undefined;
  /** The texts of all columns. */
  readonly texts: TextTable;
}
