const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** Renames fields of whole lines. @returns lines in memory of their own. */
export type LineRenamer = (lines: Uint8Array) => Uint8Array;

/**
 * Renames fields of lines as the collector writes them: flat objects without blanks. Values are copied as they are. Where two
 * fields of a line have the same new name, the second keeps its own: an object has no name twice.
 *
 * A line is read and copied once, byte by byte; a name is looked up by its length and three of its bytes, then compared.
 *
 * @param names new names by old ones; neither needs escapes in JSON.
 */
export function createLineRenamer(names: ReadonlyMap<string, string>): LineRenamer {
  const table = createNameTable(names);
  let out = Buffer.alloc(0);
  return (lines) => {
    const most = Math.ceil(lines.length * table.growth) + 64;
    if (out.length < most) out = Buffer.allocUnsafeSlow(most);
    const length = renameLines(lines, out, table);
    // Who keeps the lines is to keep no more memory than they take.
    return Uint8Array.prototype.slice.call(out, 0, length);
  };
}

interface NewName {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  /** The line in which the new name was last used. */
  readonly use: { line: number };
}

interface NameTable {
  /** Names by {@link slotOf}; those of one slot in a row. */
  readonly slots: readonly (readonly NewName[] | undefined)[];
  /** How much longer lines can become, as a factor. */
  readonly growth: number;
  /** Counts lines. */
  line: number;
}

const slotCount = 1024;

/** @param name where its `length` bytes begin. */
function slotOf(bytes: Uint8Array, name: number, length: number): number {
  const first = bytes[name + (length >> 1)] ?? 0;
  const second = bytes[name + length - 4] ?? 0;
  const third = bytes[name + 5] ?? 0;
  return (length + 7 * first + 67 * second + 331 * third) & (slotCount - 1);
}

function createNameTable(names: ReadonlyMap<string, string>): NameTable {
  const slots: NewName[][] = [];
  const uses = new Map<string, NewName["use"]>();
  let growth = 1;
  for (const [own, other] of names) {
    const [from, to] = [Buffer.from(own), Buffer.from(other)];
    const use = uses.get(other) ?? { line: 0 };
    uses.set(other, use);
    (slots[slotOf(from, 0, from.length)] ??= []).push({ from, to, use });
    // The shortest field with this name: `"name":1,`.
    growth = Math.max(growth, (to.length + 5) / (from.length + 5));
  }
  return { slots: Array.from({ length: slotCount }, (_, slot) => slots[slot]), growth, line: 0 };
}

/** @returns the end of what was written. */
function renameLines(lines: Uint8Array, out: Uint8Array, table: NameTable): number {
  let at = 0;
  for (let i = 0; i < lines.length;) {
    table.line++;
    // The brace, then fields, each with what ends it: a comma, or the brace and the line feed.
    out[at++] = lines[i++] ?? 0;
    while (i < lines.length && lines[i] === quote) {
      out[at++] = quote;
      const name = ++i;
      while (i < lines.length && lines[i] !== quote) {
        if (lines[i] === backslash) out[at++] = lines[i++] ?? 0;
        out[at++] = lines[i++] ?? 0;
      }
      const found = nameAt(lines, name, i - name, table);
      if (found !== undefined) {
        at -= i - name;
        const { to } = found;
        for (let j = 0; j < to.length; j++) out[at++] = to[j] ?? 0;
      }
      // The quote and the colon, then the value.
      let depth = 0;
      for (out[at++] = lines[i++] ?? 0; i < lines.length;) {
        const byte = lines[i++] ?? 0;
        out[at++] = byte;
        if (byte === quote) {
          while (i < lines.length && lines[i] !== quote) {
            if (lines[i] === backslash) out[at++] = lines[i++] ?? 0;
            out[at++] = lines[i++] ?? 0;
          }
          out[at++] = lines[i++] ?? 0;
        } else if (byte === openBrace || byte === openBracket) depth++;
        else if (byte === comma && depth === 0) break;
        else if (byte === closeBracket || byte === closeBrace) {
          if (depth === 0) break;
          depth--;
        }
      }
    }
    while (i < lines.length && lines[i - 1] !== 0x0a) out[at++] = lines[i++] ?? 0;
  }
  return at;
}

/** The new name of a field; undefined: it keeps its own. */
function nameAt(lines: Uint8Array, name: number, length: number, table: NameTable): NewName | undefined {
  const names = table.slots[slotOf(lines, name, length)];
  if (names === undefined) return undefined;
  for (const one of names) {
    const { from, use } = one;
    if (from.length !== length) continue;
    let i = 0;
    while (i < length && from[i] === lines[name + i]) i++;
    if (i < length) continue;
    if (use.line === table.line) return undefined;
    use.line = table.line;
    return one;
  }
  return undefined;
}
