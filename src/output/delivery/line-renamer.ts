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
 * Lines of one template have the same names in the same places. So each name is first compared with that of the line
 * before, four bytes at a time; only another one is read byte by byte and looked up.
 *
 * @param names new names by old ones; neither needs escapes in JSON.
 */
export function createLineRenamer(names: ReadonlyMap<string, string>): LineRenamer {
  const table = createNameTable(names);
  let out = Buffer.alloc(0);
  return (lines) => {
    const most = Math.ceil(lines.length * table.growth) + slack;
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

/** A name as it stands in lines, from its first quote to the colon, and what takes its place. */
interface Token {
  readonly length: number;
  /** Its bytes, four each; the last four overlap those before. */
  readonly words: Uint32Array;
  readonly newLength: number;
  readonly newWords: Uint32Array;
  readonly use: NewName["use"] | undefined;
}

interface NameTable {
  /** Names by {@link slotOf}; those of one slot in a row. */
  readonly slots: readonly (readonly NewName[] | undefined)[];
  /** How much longer lines can become, as a factor. */
  readonly growth: number;
  /** The names of the last lines, by their places. */
  readonly shape: (Token | undefined)[];
  /** Counts lines. */
  line: number;
}

const slotCount = 1024;
/** Bytes that may be written behind the last line. */
const slack = 256;
/** Fields that are compared with those of the line before. */
const maxShape = 256;

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
  return { slots: Array.from({ length: slotCount }, (_, slot) => slots[slot]), growth, shape: [], line: 0 };
}

/** Where reading and writing are. */
interface Cursor {
  from: number;
  to: number;
}

/** @returns the end of what was written. */
function renameLines(lines: Uint8Array, out: Uint8Array, table: NameTable): number {
  const { shape } = table;
  const from = new DataView(lines.buffer, lines.byteOffset, lines.length);
  const to = new DataView(out.buffer, out.byteOffset, out.length);
  const cursor: Cursor = { from: 0, to: 0 };
  while (cursor.from < lines.length) {
    table.line++;
    // The brace, then fields, each with what ends it: a comma, or the brace and the line feed.
    copyByte(lines, out, cursor);
    for (let place = 0; lines[cursor.from] === quote; place++) {
      const token = shape[place];
      if (token === undefined || !copyToken(from, to, token, table.line, cursor)) {
        const next = copyName(lines, out, table, cursor);
        if (place < maxShape) shape[place] = next;
      }
      copyValue(lines, out, cursor);
    }
    while (cursor.from < lines.length && lines[cursor.from - 1] !== 0x0a) copyByte(lines, out, cursor);
  }
  return cursor.to;
}

function copyByte(lines: Uint8Array, out: Uint8Array, cursor: Cursor): void {
  out[cursor.to++] = lines[cursor.from++] ?? 0;
}

/** Writes what takes the place of a name, if it is the name that comes. */
function copyToken(from: DataView, to: DataView, token: Token, line: number, cursor: Cursor): boolean {
  const { length, words, newWords, newLength, use } = token;
  const at = cursor.from;
  const last = words.length - 1;
  if (at + length > from.byteLength || from.getUint32(at + length - 4, true) !== words[last]) return false;
  for (let i = 0; i < last; i++) if (from.getUint32(at + 4 * i, true) !== words[i]) return false;
  if (use !== undefined) {
    if (use.line === line) return false;
    use.line = line;
  }
  const end = cursor.to + newLength;
  const lastNew = newWords.length - 1;
  for (let i = 0; i < lastNew; i++) to.setUint32(cursor.to + 4 * i, newWords[i] ?? 0, true);
  to.setUint32(end - 4, newWords[lastNew] ?? 0, true);
  cursor.from = at + length;
  cursor.to = end;
  return true;
}

/** Copies a name, or writes the new one. @returns what to expect in its place in the next line. */
function copyName(lines: Uint8Array, out: Uint8Array, table: NameTable, cursor: Cursor): Token | undefined {
  const start = cursor.from;
  let i = start + 1;
  while (i < lines.length && lines[i] !== quote) i += lines[i] === backslash ? 2 : 1;
  const { isSecond, found } = nameAt(lines, start + 1, i - start - 1, table);
  // The second quote, and the colon.
  const end = Math.min(lines.length, i + 2);
  const own = lines.subarray(start, end);
  const written = found === undefined ? own : Buffer.from(`"${Buffer.from(found.to).toString()}":`);
  out.set(written, cursor.to);
  cursor.from = end;
  cursor.to += written.length;
  if (isSecond || own.length < 4) return undefined;
  return {
    length: own.length,
    words: wordsOf(own),
    newLength: written.length,
    newWords: wordsOf(written),
    use: found?.use,
  };
}

/** @param bytes four or more. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const count = Math.ceil(bytes.length / 4);
  return Uint32Array.from({ length: count }, (_, i) => view.getUint32(i < count - 1 ? 4 * i : bytes.length - 4, true));
}

/** Copies a value and the comma or brace behind it. */
function copyValue(lines: Uint8Array, out: Uint8Array, cursor: Cursor): void {
  let { from: i, to: at } = cursor;
  let depth = 0;
  while (i < lines.length) {
    const byte = lines[i++] ?? 0;
    out[at++] = byte;
    if (byte === quote) {
      while (i < lines.length && lines[i] !== quote) {
        if (lines[i] === backslash) out[at++] = lines[i++] ?? 0;
        out[at++] = lines[i++] ?? 0;
      }
      out[at++] = lines[i++] ?? 0;
    } else if (byte === comma) {
      if (depth === 0) break;
    } else if (byte >= openBracket) {
      if (byte === openBrace || byte === openBracket) depth++;
      else if ((byte === closeBracket || byte === closeBrace) && depth-- === 0) break;
    }
  }
  cursor.from = i;
  cursor.to = at;
}

/** The new name of a field, unless it has none, or the line has it already. */
function nameAt(
  lines: Uint8Array,
  name: number,
  length: number,
  table: NameTable,
): { readonly found?: NewName; readonly isSecond: boolean } {
  for (const one of table.slots[slotOf(lines, name, length)] ?? []) {
    const { from, use } = one;
    if (from.length !== length) continue;
    let i = 0;
    while (i < length && from[i] === lines[name + i]) i++;
    if (i < length) continue;
    if (use.line === table.line) return { isSecond: true };
    use.line = table.line;
    return { found: one, isSecond: false };
  }
  return { isSecond: false };
}
