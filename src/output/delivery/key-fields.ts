import { createFieldFinder, endOfText, endOfValue } from "./line-fields.ts";

/** Where the key of the line at `from` … `to` begins, behind the quote of a text; -1: the line has none. */
export type KeyFinder = (line: Buffer, from: number, to: number) => number;

/** Makes the function that finds the key of a line: the value of the first of these fields that the line has. */
export function createKeyFinder(fields: readonly string[]): KeyFinder {
  const finders = fields.map(createFieldFinder);
  return (line, from, to) => {
    for (const find of finders) {
      const at = find(line, from, to);
      if (at >= 0) return line[at] === quoteCode ? at + 1 : at;
    }
    return -1;
  };
}

/** Where a key ends that begins at `at`. */
export function endOfKey(line: Buffer, at: number, to: number): number {
  return line[at - 1] === quoteCode ? endOfText(line, at - 1, to) : endOfValue(line, at, to);
}

const quoteCode = 0x22;
