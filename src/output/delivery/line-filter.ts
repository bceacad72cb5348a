import type { MatchesLine } from "../../filter/index.ts";
import { fieldKey, forEachField } from "./line-fields.ts";
import { recordTypeOf, recordTypes, type RecordType } from "./record-type.ts";

/** Lines that an output takes, or undefined when it takes none of them. */
export interface FilteredLines {
  readonly lines: Uint8Array;
  readonly count: number;
}

export type LineFilter = (lines: Uint8Array, count: number) => FilteredLines | undefined;

export interface LineFilterOptions {
  /** Left out: all. */
  readonly types?: readonly RecordType[];
  readonly dropFields?: readonly string[];
  /** Left out: every record. */
  readonly matches?: MatchesLine | undefined;
  /** Told of records that do not match, but not of those of other types. */
  readonly filtered?: (records: number) => void;
}

/**
 * Takes only records of some types that a filter is true of, and takes fields out of them. What is left lies in memory of its own.
 *
 * @returns undefined when every line passes as it is: then no line needs to be looked at.
 */
export function createLineFilter(options: LineFilterOptions): LineFilter | undefined {
  const { types = recordTypes, dropFields = [], matches, filtered } = options;
  const allowed = new Set(types);
  const takesAll = recordTypes.every((type) => type === "as_path_hop" || allowed.has(type));
  if (takesAll && dropFields.length === 0 && matches === undefined) return undefined;
  const keys = dropFields.map(fieldKey);
  let to = Buffer.alloc(0);
  return (lines) => {
    const from = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    if (to.length < lines.length) to = Buffer.allocUnsafeSlow(lines.length);
    let length = 0;
    let count = 0;
    let others = 0;
    for (let at = 0; at < from.length;) {
      const end = from.indexOf(0x0a, at) + 1 || from.length;
      if (takesAll || allowed.has(recordTypeOf(from, at, end))) {
        if (matches === undefined || matches(from, at, end)) {
          length = copyWithout(from, at, end, keys, to, length);
          count++;
        } else others++;
      }
      at = end;
    }
    if (others > 0) filtered?.(others);
    // Who keeps the lines is to keep no more memory than they take.
    return count === 0
      ? undefined
      : { lines: Buffer.from(Uint8Array.prototype.slice.call(to, 0, length).buffer), count };
  };
}

/** Copies a line without some fields. @returns the end of the copy. */
function copyWithout(
  from: Buffer,
  start: number,
  end: number,
  keys: readonly Buffer[],
  to: Buffer,
  at: number,
): number {
  let done = start;
  if (keys.some((key) => isWithin(from.indexOf(key, start), end))) {
    forEachField(from, start, end, (name, value, valueEnd) => {
      const isDropped = keys.some(
        (key) => key.length === value - name && from.compare(key, 0, key.length, name, value) === 0,
      );
      if (!isDropped) return;
      at += from.copy(to, at, done, name);
      // One comma goes with the field: the one behind it, for the last field the one before it.
      const isLast = from[valueEnd] !== 0x2c;
      if (isLast && to[at - 1] === 0x2c) at--;
      done = isLast ? valueEnd : valueEnd + 1;
    });
  }
  return at + from.copy(to, at, done, end);
}

const isWithin = (at: number, end: number): boolean => at >= 0 && at < end;
