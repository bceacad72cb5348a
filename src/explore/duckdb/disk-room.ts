import { inlineText, type Block, type BlockColumn } from "../intake/block.ts";

/** DuckDB's files grow by blocks of this many bytes. */
const fileBlockBytes = 256 * 1024;
/** What the log says of each column besides its values. */
const columnBytes = 64;
/** Of a text in the log: its length. */
const lengthBytes = 2;

/** Room that is always left: a new file, and a block of rows that is given away early. */
export const spareBytes = 2 ** 20;

/** The most bytes that the rows of a block take in the log of a file that has some of its columns. */
export function logBytesOf({ columns, rows, arenaLength }: Block, has: (column: BlockColumn) => boolean): number {
  const fixed = columns.filter(has).reduce((sum, { width, count }) => {
    const isText = width > inlineText;
    const values = isText ? inlineText * count + lengthBytes * rows : width * rows;
    return sum + values + rows / 8 + columnBytes;
  }, 0);
  // The weights are a column, too.
  return Math.ceil(fixed + 4 * rows + columnBytes + arenaLength);
}

/** The most bytes that a file grows by while its log of this many bytes is compressed into it, before the log goes. */
export function settlingBytes(logBytes: number): number {
  // The rows take less than in the log; two blocks describe them and are not full.
  return (Math.ceil(logBytes / fileBlockBytes) + 2) * fileBlockBytes;
}
