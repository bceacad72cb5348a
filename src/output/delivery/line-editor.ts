import { createLineWalker, copyLines } from "../../record/index.ts";

/** What happens to a field of a line. */
export interface FieldEdit {
  /**
   * Writes the value that lies from `value` up to `end` as it is to be, at `at`.
   *
   * @returns where it ends; -1: the field is left out.
   */
  readonly write: (from: Buffer, value: number, end: number, to: Buffer, at: number) => number;
  /** By how many bytes a value can become longer. */
  readonly maxGrowth: number;
}

/** Leaves a field out. */
export const dropField: FieldEdit = { write: () => -1, maxGrowth: 0 };

export interface LineEditor {
  /** Copies a line with what happens to its fields. @returns the end of the copy. */
  copy(from: Buffer, start: number, end: number, to: Buffer, at: number): number;
  /** By how many bytes a line can become longer. */
  readonly maxGrowth: number;
}

/** @param edits by the names of fields. */
export function createLineEditor(edits: ReadonlyMap<string, FieldEdit>): LineEditor {
  const walker = createLineWalker((name) => edits.get(name));
  const maxGrowth = [...edits.values()].reduce((sum, edit) => sum + edit.maxGrowth, 0);

  return {
    maxGrowth,
    copy(from, start, end, to, at) {
      let done = start;
      walker.walk(from, start, end, (edit, name, value, valueEnd) => {
        const valueAt = copyLines(from, done, value, to, at);
        const written = edit.write(from, value, valueEnd, to, valueAt);
        if (written >= 0) {
          at = written;
          done = valueEnd;
          return;
        }
        at = valueAt - (value - name);
        // One comma goes with the field: the one behind it, for the last field the one before it.
        const isLast = from[valueEnd] !== 0x2c;
        if (isLast && to[at - 1] === 0x2c) at--;
        done = isLast ? valueEnd : valueEnd + 1;
      });
      return copyLines(from, done, end, to, at);
    },
  };
}

const secondsLength = '"2026-11-22T04:00:00'.length;
const point = 0x2e;
const zero = 0x30;
const nine = 0x39;

/** Cuts times to this many decimals of a second, without rounding. */
export function cutTime(decimals: number): FieldEdit {
  return {
    maxGrowth: 0,
    write(from, value, end, to, at) {
      const fraction = value + secondsLength;
      if (from[fraction] !== point) return copyLines(from, value, end, to, at);
      let fractionEnd = fraction + 1;
      while (isDigit(from[fractionEnd])) fractionEnd++;
      const kept = decimals === 0 ? fraction : Math.min(fractionEnd, fraction + 1 + decimals);
      at = copyLines(from, value, kept, to, at);
      return copyLines(from, fractionEnd, end, to, at);
    },
  };
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= nine;
}
