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

/** A name as lines have it. */
interface KnownName {
  /** Behind the first quote: the name, the quote, the colon. */
  readonly key: Uint8Array;
  /** Which column it has; -1: none. */
  readonly column: number;
  readonly marks: "flow" | "other" | undefined;
  /** Which names came behind it: the last one, and the one before that was another. */
  next: KnownName | undefined;
  other: KnownName | undefined;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const closeBrace = 0x7d;

/** Names come from exporters and metadata; with more of them, those known are forgotten. */
const maxNames = 8192;

/** Each record of a flow has the first; records of options, counters and the like have the second, too. */
const flowMark = "flow.export.type";
const otherMark = "flow.record.type";

/**
 * Fields of one exporter mostly have the same order, so each name is compared with those that came there before.
 *
 * @param onUnknown is called once for each name that has no column, as long as it is remembered.
 */
export function createLineScanner(columns: readonly Column[], onUnknown: (name: string) => void): LineScanner {
  const positions = new Map(columns.map(({ field }, i) => [field, i]));
  let names = new Map<string, KnownName>();
  const first: KnownName = { key: new Uint8Array(0), column: -1, marks: undefined, next: undefined, other: undefined };

  const learn = (text: string): KnownName => {
    const known = names.get(text);
    if (known !== undefined) return known;
    if (names.size >= maxNames) {
      names = new Map();
      first.next = undefined;
      first.other = undefined;
    }
    const column = positions.get(text) ?? -1;
    if (column < 0) onUnknown(text);
    const marks = text === flowMark ? "flow" : text === otherMark ? "other" : undefined;
    const name: KnownName = {
      key: Buffer.from(`${text}":`, "latin1"),
      column,
      marks,
      next: undefined,
      other: undefined,
    };
    names.set(text, name);
    return name;
  };

  return {
    scan(bytes, from, end, block) {
      let before = first;
      let isFlow = false;
      let at = from + 1;
      while (at < end && bytes[at] === quote) {
        at++;
        let name = before.next;
        if (name === undefined || !isAt(bytes, at, name.key)) {
          name = before.other;
          if (name === undefined || !isAt(bytes, at, name.key)) {
            name = learn(bytes.toString("latin1", at, textEnd(bytes, at, end)));
          }
          before.other = before.next;
          before.next = name;
        }
        before = name;
        at += name.key.length;
        if (name.marks === "flow") isFlow = true;
        else if (name.marks === "other") break;
        const valueEnd = endOfValue(bytes, at, end);
        if (name.column >= 0) putValue(block, name.column, bytes, at, valueEnd);
        at = valueEnd + 1;
      }
      if (isFlow && at >= end) return true;
      clearRow(block);
      return false;
    },
  };
}

function isAt(bytes: Uint8Array, at: number, key: Uint8Array): boolean {
  // Names begin alike and end unlike.
  for (let i = key.length - 1; i >= 0; i--) if (bytes[at + i] !== key[i]) return false;
  return true;
}

/** The place of the quote that ends a text that begins at `at`. */
function textEnd(bytes: Uint8Array, at: number, end: number): number {
  let p = at;
  while (p < end && bytes[p] !== quote) p += bytes[p] === backslash ? 2 : 1;
  return p;
}

/** The place of the comma or brace behind a value. */
function endOfValue(bytes: Uint8Array, at: number, end: number): number {
  const firstByte = bytes[at];
  if (firstByte === quote) return textEnd(bytes, at + 1, end) + 1;
  let p = at;
  if (firstByte === openBracket) {
    while (p < end && bytes[p] !== closeBracket) p = bytes[p] === quote ? textEnd(bytes, p + 1, end) + 1 : p + 1;
    return p + 1;
  }
  while (p < end && bytes[p] !== comma && bytes[p] !== closeBrace) p++;
  return p;
}
