import { createLineWalker } from "../../record/index.ts";
import type { Column } from "../columns/column.ts";
import { clearRow, type Block } from "./block.ts";
import { putValue } from "./put-value.ts";

/** Reads lines of records into the rows of blocks. */
export interface LineScanner {
  /**
   * Reads the line from its brace at `from` up to `end` into the next row of a block, whose columns are those of the scanner.
   *
   * @returns whether the record is a flow; others leave the block as it was.
   */
  scan(bytes: Buffer, from: number, end: number, block: Block): boolean;
}

/** Each record of a flow has the first; records of options, counters and the like have the second, too. */
const flowMark = "flow.export.type";
const otherMark = "flow.record.type";
/** Stands for the index of a column. */
const other = -1;

/** @param onUnknown is called for a name that has no column: once for each, as long as it is remembered. */
export function createLineScanner(columns: readonly Column[], onUnknown: (name: string) => void): LineScanner {
  const positions = new Map(columns.map(({ field }, i) => [field, i]));
  const flow = positions.get(flowMark);
  const walker = createLineWalker<number>((name) => {
    if (name === otherMark) return other;
    const position = positions.get(name);
    if (position === undefined) onUnknown(name);
    return position;
  });
  let isFlow = false;
  let isOther = false;
  let row: Block | undefined;
  let line: Buffer = Buffer.alloc(0);
  const visit = (use: number, _: number, value: number, end: number): void => {
    if (use === other) isOther = true;
    else {
      if (use === flow) isFlow = true;
      putValue(row as Block, use, line, value, end);
    }
  };

  return {
    scan(bytes, from, end, block) {
      isFlow = false;
      isOther = false;
      row = block;
      line = bytes;
      walker.walk(bytes, from, end, visit);
      if (isFlow && !isOther) return true;
      clearRow(block);
      return false;
    },
  };
}
