const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const lineFeed = 0x0a;
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
 * Lines of one template have the same names in the same order, and most others differ in few. So each name remembers the two that
 * followed it last, which are compared first, four bytes at a time; only another one is read byte by byte and looked up.
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

/** A name as it stands in lines, from its first quote to the colon, and what takes its place. */
interface Name {
  readonly length: number;
  /** Its bytes, four each; the last four overlap those before. */
  readonly words: Int32Array;
  readonly newLength: number;
  readonly newWords: Int32Array;
  /** The line in which the new name was last used; absent: it keeps its own. */
  readonly use: { line: number } | undefined;
  /** What followed it last, and before that. */
  next: Name | undefined;
  other: Name | undefined;
}

interface NameTable {
  /** By {@link slotOf}; those of one slot in a row. */
  readonly slots: Name[][];
  /** How much longer lines can become, as a factor. */
  readonly growth: number;
  /** Stands before the first name of a line. */
  readonly start: Name;
  /** How many more names are remembered: metadata of operators and elements of vendors have names of their own. */
  room: number;
  /** Counts lines. */
  line: number;
}

const slotCount = 1024;
const maxNames = 8192;
/** Bytes that may be written behind the last line. */
const slack = 4;

/** @param from the first quote. @param length up to the colon, four or more. */
function slotOf(bytes: Uint8Array, from: number, length: number): number {
  const first = bytes[from + (length >> 1)] ?? 0;
  const second = bytes[from + length - 3] ?? 0;
  const third = bytes[from + Math.min(6, length - 3)] ?? 0;
  return (length + 7 * first + 67 * second + 331 * third) & (slotCount - 1);
}

function createNameTable(names: ReadonlyMap<string, string>): NameTable {
  const uses = new Map<string, Name["use"]>();
  let growth = 1;
  const table = { slots: Array.from({ length: slotCount }, () => []), start: newName(Buffer.alloc(4)), room: maxNames };
  for (const [own, other] of names) {
    const use = uses.get(other) ?? { line: 0 };
    uses.set(other, use);
    const [from, to] = [Buffer.from(`"${own}":`), Buffer.from(`"${other}":`)];
    remember(table, from, newName(from, to, use));
    // The shortest field with this name: `"name":1,`.
    growth = Math.max(growth, (to.length + 2) / (from.length + 2));
  }
  return { ...table, growth, line: 0 };
}

/** @param own four bytes or more, as `to`. */
function newName(own: Uint8Array, to = own, use?: Name["use"]): Name {
  const words = wordsOf(own);
  return {
    length: own.length,
    words,
    newLength: to.length,
    newWords: to === own ? words : wordsOf(to),
    use,
    next: undefined,
    other: undefined,
  };
}

/** @param bytes four or more. */
function wordsOf(bytes: Uint8Array): Int32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const count = Math.ceil(bytes.length / 4);
  return Int32Array.from({ length: count }, (_, i) => view.getInt32(i < count - 1 ? 4 * i : bytes.length - 4, true));
}

function remember({ slots }: Pick<NameTable, "slots">, own: Uint8Array, name: Name): Name {
  slots[slotOf(own, 0, own.length)]?.push(name);
  return name;
}

/** Where reading and writing are. */
interface Cursor {
  from: number;
  to: number;
}

/** @returns the end of what was written. */
function renameLines(lines: Uint8Array, out: Uint8Array, table: NameTable): number {
  const from = new DataView(lines.buffer, lines.byteOffset, lines.length);
  const to = new DataView(out.buffer, out.byteOffset, out.length);
  const cursor: Cursor = { from: 0, to: 0 };
  while (cursor.from < lines.length) {
    table.line++;
    // The brace, then fields, each with what ends it: a comma, or the brace and the line feed.
    copyByte(from, to, cursor);
    let before = table.start;
    while (lines[cursor.from] === quote) {
      const { next, other } = before;
      if (next !== undefined && take(next, from, to, cursor, table.line)) before = next;
      else if (other !== undefined && take(other, from, to, cursor, table.line)) before = follow(before, other);
      else {
        const name = lookUp(lines, from, cursor.from, table);
        if (name === undefined) copyName(lines, from, to, cursor);
        else {
          writeName(name, to, cursor, table.line);
          before = follow(before, name);
        }
      }
      copyValue(from, to, cursor);
    }
    while (cursor.from < lines.length && lines[cursor.from - 1] !== lineFeed) copyByte(from, to, cursor);
  }
  return cursor.to;
}

/** Notes what followed a name. @returns that. */
function follow(before: Name, name: Name): Name {
  before.other = before.next;
  before.next = name;
  return name;
}

/** Writes what takes the place of a name, if it is the name that stands here. */
function take(name: Name, from: DataView, to: DataView, cursor: Cursor, line: number): boolean {
  const { length, words } = name;
  const { from: at, to: start } = cursor;
  if (name.use !== undefined) {
    if (!stands(name, from, at)) return false;
    writeName(name, to, cursor, line);
    return true;
  }
  // Most names stay, and are copied as they are compared; what is written of another one is overwritten next.
  const last = words.length - 1;
  if (at + length > from.byteLength) return false;
  const end = from.getInt32(at + length - 4, true);
  if (end !== words[last]) return false;
  for (let i = 0; i < last; i++) {
    const word = from.getInt32(at + 4 * i, true);
    if (word !== words[i]) return false;
    to.setInt32(start + 4 * i, word, true);
  }
  to.setInt32(start + length - 4, end, true);
  cursor.from = at + length;
  cursor.to = start + length;
  return true;
}

function stands({ length, words }: Name, from: DataView, at: number): boolean {
  const last = words.length - 1;
  if (at + length > from.byteLength || from.getInt32(at + length - 4, true) !== words[last]) return false;
  for (let i = 0; i < last; i++) if (from.getInt32(at + 4 * i, true) !== words[i]) return false;
  return true;
}

/** The name that stands here; undefined: it is not remembered. */
function lookUp(lines: Uint8Array, from: DataView, at: number, table: NameTable): Name | undefined {
  const length = endOfName(lines, at) - at;
  const found = table.slots[slotOf(lines, at, length)]?.find(
    (name) => name.length === length && stands(name, from, at),
  );
  if (found !== undefined || table.room === 0 || length < 4) return found;
  table.room--;
  const own = Uint8Array.prototype.slice.call(lines, at, at + length);
  return remember(table, own, newName(own));
}

/** Behind the colon of the name whose first quote is at `at`. */
function endOfName(lines: Uint8Array, at: number): number {
  let i = at + 1;
  while (i < lines.length && lines[i] !== quote) i += lines[i] === backslash ? 2 : 1;
  return Math.min(lines.length, i + 2);
}

function copyName(lines: Uint8Array, from: DataView, to: DataView, cursor: Cursor): void {
  for (const end = endOfName(lines, cursor.from); cursor.from < end;) copyByte(from, to, cursor);
}

/** Writes the new name, or its own if the line has the new one already. */
function writeName(name: Name, to: DataView, cursor: Cursor, line: number): void {
  const { use } = name;
  const isSecond = use !== undefined && use.line === line;
  if (use !== undefined) use.line = line;
  const words = isSecond ? name.words : name.newWords;
  const last = words.length - 1;
  const start = cursor.to;
  const end = start + (isSecond ? name.length : name.newLength);
  for (let i = 0; i < last; i++) to.setInt32(start + 4 * i, words[i] as number, true);
  to.setInt32(end - 4, words[last] as number, true);
  cursor.from += name.length;
  cursor.to = end;
}

/** Copies a value and the comma or brace behind it. */
function copyValue(from: DataView, to: DataView, cursor: Cursor): void {
  const first = cursor.from < from.byteLength ? from.getUint8(cursor.from) : 0;
  if (first === quote) {
    copyByte(from, to, cursor);
    copyRestOfText(from, to, cursor);
    copyByte(from, to, cursor);
  } else if (first === openBrace || first === openBracket) copyNested(from, to, cursor);
  else copyThrough(from, to, cursor, comma, closeBrace);
}

/** Copies an array or object and what is behind it. */
function copyNested(from: DataView, to: DataView, cursor: Cursor): void {
  for (let depth = 0; cursor.from < from.byteLength;) {
    const byte = copyByte(from, to, cursor);
    if (byte === openBrace || byte === openBracket) depth++;
    else if (byte === closeBrace || byte === closeBracket) depth--;
    else if (byte === quote) copyRestOfText(from, to, cursor);
    if (depth > 0) continue;
    copyByte(from, to, cursor);
    return;
  }
}

function copyRestOfText(from: DataView, to: DataView, cursor: Cursor): void {
  while (copyThrough(from, to, cursor, quote, backslash) === backslash) copyByte(from, to, cursor);
}

/** Copies a byte, unless there is none. */
function copyByte(from: DataView, to: DataView, cursor: Cursor): number {
  if (cursor.from >= from.byteLength) return -1;
  const byte = from.getUint8(cursor.from++);
  to.setUint8(cursor.to++, byte);
  return byte;
}

/** Four times the lowest bit of a byte, and four times its highest. */
const lowBits = 0x01010101;
const highBits = 0x80808080 | 0;

/**
 * Copies through the first byte that is one of two, four at a time; what is written behind it is overwritten next.
 *
 * @returns that byte; -1 when there is none.
 */
function copyThrough(from: DataView, to: DataView, cursor: Cursor, one: number, other: number): number {
  const ones = Math.imul(one, lowBits);
  const others = Math.imul(other, lowBits);
  let { from: i, to: at } = cursor;
  for (const end = from.byteLength - 4; i <= end; i += 4, at += 4) {
    const word = from.getInt32(i, true);
    to.setInt32(at, word, true);
    // A byte of a difference is zero where the bytes are the same; the lowest high bit that is left marks the first of them.
    const [x, y] = [word ^ ones, word ^ others];
    const marks = (((x - lowBits) & ~x) | ((y - lowBits) & ~y)) & highBits;
    if (marks === 0) continue;
    const index = (31 - Math.clz32(marks & -marks)) >> 3;
    cursor.from = i + index + 1;
    cursor.to = at + index + 1;
    return from.getUint8(i + index);
  }
  cursor.from = i;
  cursor.to = at;
  for (;;) {
    const byte = copyByte(from, to, cursor);
    if (byte === -1 || byte === one || byte === other) return byte;
  }
}
