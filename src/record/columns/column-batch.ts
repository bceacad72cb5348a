import type { Column, ColumnType } from "./column.ts";

/** The values of a type, as columns hold them. */
export interface ColumnData {
  /** Codes of the batch's texts; 0 is the empty text. */
  text: Uint32Array;
  /** 16 bytes each in network order, IPv4 as `::ffff:192.0.2.1`. */
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
  /** A bit for each row, `row & 7` of the byte `row >> 3`: whether it has a value. */
  readonly presence: Uint8Array;
  /** A value for each row, zeros where it has none; of an array column a value for each item. */
  readonly data: ColumnData[Type];
  /** Of an array column: where the items of each row begin, and behind the last where they end; else empty. */
  readonly offsets: Uint32Array;
}

/** Texts by their codes. */
export interface TextTable {
  readonly count: number;
  /** Where each text begins in `bytes`, and behind the last where it ends. */
  readonly offsets: Uint32Array;
  /** UTF-8, as they are: without quotes and escapes. */
  readonly bytes: Uint8Array;
}

/** Rows by columns: views on memory that is used again, valid until its reader takes or clears rows. */
export interface ColumnBatch {
  readonly rows: number;
  /**
   * Rows whose line was cut off, or does not end as one does: the field at the cut is lost, and those behind it. Rows with a field that is no JSON, too, which
   * `rest` lacks.
   */
  readonly cutRows: number;
  /** All declared columns, in their order. */
  readonly columns: readonly BatchColumn[];
  /** Of each record the fields that have no column, or whose value does not fit theirs, as a JSON object. */
  readonly rest: BatchColumn<"text"> | undefined;
  /** The texts of all columns. */
  readonly texts: TextTable;
}
