/** What one entry is made of: a record of a sheet, or an object. */
export interface Row {
  /** As {@link ImportFault.row}. */
  readonly number: number;
  /** As {@link ImportFault.line}. */
  readonly line: number;
  /** The names of the columns of a sheet, the same object for all rows below one header; undefined: `values` is an object. */
  readonly header: readonly string[] | undefined;
  /** Of a sheet its cells, as many as the header has; else the object. */
  readonly values: unknown;
}

/** Rows of a text, some at a time, so that other work can be done in between. */
export type RowBlocks = AsyncGenerator<readonly Row[], void>;

/** Rows given at a time, and about how many characters. */
export const rowsOfABlock = 500;
export const charactersOfABlock = 128 * 1024;

/** Characters of a row at most: none has more, and reading one that has holds others up. */
export const longestRow = 1024 * 1024;
export const rowIsTooLong = `the row takes more than ${longestRow} characters`;
