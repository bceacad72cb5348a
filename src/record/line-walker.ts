export type VisitField<Use> = (use: Use, name: number, value: number, end: number) => void;

/** A field name as lines have it, from its first quote to the colon. */
interface Name<Use> {
  readonly length: number;
  /** The bytes of the name, four to a word; the last word overlaps the one before. */
  readonly words: Int32Array;
  readonly use: Use | undefined;
  /** The two names that followed it last, the latest first. */
  next: Name<Use> | undefined;
  other: Name<Use> | undefined;
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

const slotCount = 1024;
/** Maximum number of names to keep: operators' metadata and vendors' elements can have many. Further names are looked up each time. */
const maxNames = 8192;
/** Length of the shortest name that can be compared: `"a":`. */
const minLength = 4;

/**
 * Reads the fields of lines as the collector writes them: flat objects without blanks.
 *
 * Lines of one template have the same names in the same order, and most other lines differ in few. So each name remembers the two
 * names that followed it last. These are compared first, four bytes at a time. Only a different name is read byte by byte and looked up.
 */
export class LineWalker<Use> {
  readonly #useOf: (name: string) => Use | undefined;
  readonly #slots = Array.from({ length: slotCount }, (): Name<Use>[] => []);
  /** A placeholder before the first name of a line. */
  readonly #first = nameOf<Use>(new Uint8Array(minLength), undefined);
  #room = maxNames;
  #view: DataView = new DataView(new ArrayBuffer(0));
  #viewed: Uint8Array | undefined;

  /**
   * @param useOf returns the use of a field, or undefined to skip it. It is called once for each name; beyond some thousands of
   *   names it is called each time.
   */
  constructor(useOf: (name: string) => Use | undefined) {
    this.#useOf = useOf;
  }

  /**
   * Calls back for each field that has a use, in the order of the line.
   *
   * @param visit gets the use of the field, the offsets of its name and its value, and the end of the value.
   */
  walk(lines: Uint8Array, start: number, end: number, visit: VisitField<Use>): void {
    if (this.#viewed !== lines) {
      this.#viewed = lines;
      this.#view = new DataView(lines.buffer, lines.byteOffset, lines.length);
    }
    const view = this.#view;
    let before = this.#first;
    for (let at = start + 1; at < end && lines[at] === quote;) {
      const { next, other } = before;
      let name: Name<Use> | undefined;
      if (next !== undefined && stands(next, view, at)) name = next;
      else {
        name =
          other !== undefined && stands(other, view, at)
            ? other
            : this.#lookUp(lines, at, Math.min(end, endOfText(lines, view, at + 1, end) + 2));
        if (name !== undefined) {
          before.other = next;
          before.next = name;
        }
      }
      const value = name === undefined ? endOfText(lines, view, at + 1, end) + 2 : at + name.length;
      const valueEnd = endOfValue(lines, view, value, end);
      const use = name === undefined ? this.#useOf(textOf(lines, at, value)) : name.use;
      if (use !== undefined) visit(use, at, value, valueEnd);
      if (name !== undefined) before = name;
      at = valueEnd + 1;
    }
  }

  /** Returns the name from `at` up to `value`. */
  #lookUp(lines: Uint8Array, at: number, value: number): Name<Use> | undefined {
    const length = value - at;
    if (length < minLength) return undefined;
    const slot = this.#slots[slotOf(lines, at, length)] as Name<Use>[];
    for (let i = 0; i < slot.length; i++) {
      const name = slot[i] as Name<Use>;
      if (name.length === length && stands(name, this.#view, at)) return name;
    }
    if (this.#room === 0) return undefined;
    this.#room--;
    const own = Uint8Array.prototype.slice.call(lines, at, value);
    const name = nameOf(own, this.#useOf(textOf(own, 0, length)));
    slot.push(name);
    return name;
  }
}

function nameOf<Use>(own: Uint8Array, use: Use | undefined): Name<Use> {
  const view = new DataView(own.buffer, own.byteOffset, own.length);
  const count = Math.ceil(own.length / 4);
  const words = Int32Array.from({ length: count }, (_, i) =>
    view.getInt32(i < count - 1 ? 4 * i : own.length - 4, true),
  );
  return { length: own.length, words, use, next: undefined, other: undefined };
}

/** Returns the name without its quotes and colon, with escapes decoded. */
function textOf(lines: Uint8Array, at: number, value: number): string {
  const text = Buffer.from(lines.buffer, lines.byteOffset + at, value - at - 1).toString();
  return text.includes("\\") ? (JSON.parse(text) as string) : text.slice(1, -1);
}

/** Returns the slot of a name. @param at the offset of its first quote. @param length the length up to the colon. */
function slotOf(bytes: Uint8Array, at: number, length: number): number {
  const first = bytes[at + (length >> 1)] ?? 0;
  const second = bytes[at + length - 3] ?? 0;
  const third = bytes[at + Math.min(6, length - 3)] ?? 0;
  return (length + 7 * first + 67 * second + 331 * third) & (slotCount - 1);
}

function stands<Use>({ length, words }: Name<Use>, view: DataView, at: number): boolean {
  const last = words.length - 1;
  if (at + length > view.byteLength || view.getInt32(at + length - 4, true) !== words[last]) return false;
  for (let i = 0; i < last; i++) if (view.getInt32(at + 4 * i, true) !== words[i]) return false;
  return true;
}

/** Returns the end of the value that begins at `from`: the offset of the comma or brace after it. */
function endOfValue(lines: Uint8Array, view: DataView, from: number, end: number): number {
  const byte = lines[from];
  if (byte === quote) return Math.min(end, endOfText(lines, view, from + 1, end) + 1);
  if (byte === openBrace || byte === openBracket) return endOfNested(lines, view, from, end);
  let at = from;
  while (at < end && lines[at] !== comma && lines[at] !== closeBrace) at++;
  return at;
}

function endOfNested(lines: Uint8Array, view: DataView, from: number, end: number): number {
  let depth = 0;
  for (let at = from; at < end; at++) {
    const byte = lines[at];
    if (byte === quote) at = endOfText(lines, view, at + 1, end);
    else if (byte === openBrace || byte === openBracket) depth++;
    else if ((byte === closeBrace || byte === closeBracket) && --depth === 0) return at + 1;
  }
  return end;
}

/** Four times the lowest bit of a byte, and four times its highest. */
const lowBits = 0x01010101;
const highBits = 0x80808080 | 0;
const quotes = quote * lowBits;
const backslashes = backslash * lowBits;

/** Returns the offset of the quote that ends the text whose first character is at `from`; `end` if there is none. */
function endOfText(lines: Uint8Array, view: DataView, from: number, end: number): number {
  let at = from;
  while (at + 4 <= end) {
    const word = view.getInt32(at, true);
    // A byte of the XOR is zero if both bytes are equal. The lowest high bit that remains marks the first such byte.
    const x = word ^ quotes;
    const y = word ^ backslashes;
    const marks = (((x - lowBits) & ~x) | ((y - lowBits) & ~y)) & highBits;
    if (marks === 0) {
      at += 4;
      continue;
    }
    at += (31 - Math.clz32(marks & -marks)) >> 3;
    if (lines[at] === quote) return at;
    at += 2;
  }
  for (; at < end; at++) {
    if (lines[at] === backslash) at++;
    else if (lines[at] === quote) return at;
  }
  return end;
}
