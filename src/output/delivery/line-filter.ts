import { fieldKey, forEachField } from "./line-fields.ts";
import { recordTypeOf, recordTypes, type RecordType } from "./record-type.ts";

/** Lines that an output takes, or undefined when it takes none of them. */
export interface FilteredLines {
  readonly lines: Uint8Array;
  readonly count: number;
}

export type LineFilter = (lines: Uint8Array, count: number) => FilteredLines | undefined;

/**
 * Takes only records of these types, and takes these fields out of them. What is left lies in memory of its own.
 *
 * @returns undefined when every line passes as it is: then no line needs to be looked at.
 */
export function createLineFilter(types: readonly RecordType[], dropFields: readonly string[]): LineFilter | undefined {
  const allowed = new Set(types);
  const takesAll = recordTypes.every((type) => type === "as_path_hop" || allowed.has(type));
  if (takesAll && dropFields.length === 0) return undefined;
  const keys = dropFields.map(fieldKey);
  return (lines) => {
    const from = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    const to = Buffer.allocUnsafeSlow(lines.length);
    let length = 0;
    let count = 0;
    for (let at = 0; at < from.length;) {
      const end = from.indexOf(0x0a, at) + 1 || from.length;
      if (takesAll || allowed.has(recordTypeOf(from, at, end))) {
        length = copyWithout(from, at, end, keys, to, length);
        count++;
      }
      at = end;
    }
    return count === 0 ? undefined : { lines: to.subarray(0, length), count };
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
