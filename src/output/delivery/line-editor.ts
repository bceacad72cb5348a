import { LineWalker, copyBytes, copyLines } from "../../record/index.ts";

/** Renames fields of whole lines. @returns lines in memory of their own. */
type LineRenamer = (lines: Uint8Array) => Uint8Array;

/** The replacement of a name, from its first quote to the colon. */
interface NewName {
  readonly bytes: DataView;
  readonly length: number;
  /** The line in which it was last used; shared by all names that it replaces. */
  readonly use: { line: number };
  /** True if capital letters (ASCII) in its values become lower case. */
  readonly isLowered: boolean;
}

const lineFeed = 0x0a;
/** Bytes that a copy may write past its end. */
const slack = 3;

/**
 * Returns a function that renames fields of lines. It copies values unchanged, except that it lowers capital letters where asked to. Where
 * two fields of a line have the same new name, the second keeps its old one: an object has no name twice.
 *
 * @param names new names by old ones; neither needs escapes in JSON.
 * @param lowered new names of the fields whose values are lowered.
 */
export function createLineRenamer(names: ReadonlyMap<string, string>, lowered?: ReadonlySet<string>): LineRenamer {
  const uses = new Map<string, NewName["use"]>();
  const newNames = new Map<string, NewName>();
  let growth = 1;
  for (const [own, other] of names) {
    const use = uses.get(other) ?? { line: 0 };
    uses.set(other, use);
    newNames.set(own, {
      bytes: viewOf(Buffer.concat([Buffer.from(`"${other}":`), Buffer.alloc(slack)])),
      length: other.length + 3,
      use,
      isLowered: lowered?.has(other) === true,
    });
    // The shortest field with this name: `"name":1,`.
    growth = Math.max(growth, (other.length + 5) / (own.length + 5));
  }
  const walker = new LineWalker((name) => newNames.get(name));
  let from = viewOf(new Uint8Array());
  let out: Uint8Array = new Uint8Array();
  let to = viewOf(out);
  let line = 0;
  /** The offset up to which the line was copied, and the end of the copy. */
  let copied = 0;
  let at = 0;

  const visit = ({ bytes, length, use, isLowered }: NewName, name: number, value: number, end: number): void => {
    if (use.line === line) return;
    use.line = line;
    at = copyBytes(from, copied, name, to, at);
    at = copyBytes(bytes, 0, length, to, at);
    copied = value;
    if (!isLowered) return;
    const start = at;
    at = copyBytes(from, copied, end, to, at);
    copied = end;
    for (let i = start; i < at; i++) {
      const byte = out[i] as number;
      if (byte >= 0x41 && byte <= 0x5a) out[i] = byte | 0x20;
    }
  };

  return (lines) => {
    const most = Math.ceil(lines.length * growth) + slack;
    if (out.length < most) {
      out = Buffer.allocUnsafeSlow(most);
      to = viewOf(out);
    }
    const bytes = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    from = viewOf(bytes);
    copied = at = 0;
    for (let start = 0, end = 0; start < bytes.length; start = end) {
      end = bytes.indexOf(lineFeed, start) + 1 || bytes.length;
      line++;
      walker.walk(bytes, start, end, visit);
    }
    at = copyBytes(from, copied, bytes.length, to, at);
    // Copy: a caller that keeps the lines keeps no more memory than they take.
    return Uint8Array.prototype.slice.call(out, 0, at);
  };
}

function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}

/** The edit of a field of a line. */
export interface FieldEdit {
  /**
   * Writes the new value at `at`, in place of the one from `value` to `end`.
   *
   * @returns its end; -1: the field is left out.
   */
  readonly write: (from: Buffer, value: number, end: number, to: Buffer, at: number) => number;
  /** The number of bytes by which a value can grow. */
  readonly maxGrowth: number;
}

/** Leaves a field out. */
export const dropField: FieldEdit = { write: () => -1, maxGrowth: 0 };

/** Copies lines and edits their fields. */
export class LineEditor {
  /** The number of bytes by which a line can grow. */
  readonly maxGrowth: number;
  readonly #walker: LineWalker<FieldEdit>;

  /** @param edits by the names of fields. */
  constructor(edits: ReadonlyMap<string, FieldEdit>) {
    this.#walker = new LineWalker((name) => edits.get(name));
    this.maxGrowth = [...edits.values()].reduce((sum, edit) => sum + edit.maxGrowth, 0);
  }

  /** Copies a line. @returns the end of the copy. */
  copy(from: Buffer, start: number, end: number, to: Buffer, at: number): number {
    let done = start;
    this.#walker.walk(from, start, end, (edit, name, value, valueEnd) => {
      const valueAt = copyLines(from, done, value, to, at);
      const written = edit.write(from, value, valueEnd, to, valueAt);
      if (written >= 0) {
        at = written;
        done = valueEnd;
        return;
      }
      at = valueAt - (value - name);
      // Remove one comma with the field: the one after it, or for the last field the one before it.
      const isLast = from[valueEnd] !== 0x2c;
      if (isLast && to[at - 1] === 0x2c) at--;
      done = isLast ? valueEnd : valueEnd + 1;
    });
    return copyLines(from, done, end, to, at);
  }
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
