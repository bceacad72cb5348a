/** Some of the lines of records, perhaps changed. */
export interface ShapedLines {
  readonly lines: Uint8Array;
  readonly count: number;
}

/**
 * Leaves lines out, or changes them.
 *
 * @param lines whole lines, each with its line feed, of `count` records; they stay as they are.
 * @returns lines in memory of their own; undefined when none is left.
 */
export type ShapeLines = (lines: Uint8Array, count: number) => ShapedLines | undefined;
