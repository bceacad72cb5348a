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

/** The beginning of lines up to the end of a name: a node of a tree of names. */
class LineStart<Use> {
  readonly name: Name<undefined>;
  /** The name without quotes; below, the node of the name before it. */
  readonly text: string;
  readonly before: LineStart<Use> | undefined;
  /** The two names that followed it last, the latest first. */
  next: LineStart<Use> | undefined;
  other: LineStart<Use> | undefined;
  readonly #all = new Map<string, LineStart<Use>>();
  /** The use of lines whose last name it is. */
  use: Use | undefined;

  /** @param own the bytes from the comma or brace before the name to its colon. */
  constructor(own: Uint8Array, before: LineStart<Use> | undefined) {
    this.name = nameOf(own, undefined);
    this.text = before === undefined ? "" : textOf(own, 1, own.length);
    this.before = before;
  }

  /** Returns the node of the next name. @param made is called when the node is new. */
  goOn(lines: Uint8Array, from: number, to: number, made: () => void): LineStart<Use> {
    const key = Buffer.from(lines.buffer, lines.byteOffset + from, to - from).toString("latin1");
    let found = this.#all.get(key);
    if (found === undefined) {
      found = new LineStart<Use>(Buffer.from(key, "latin1"), this);
      this.#all.set(key, found);
      made();
    }
    return found;
  }
}

/** The most nodes that are kept. */
const maxStarts = 16_384;

/**
 * Finds the positions of the fields of lines. Lines that have the same names in the same order share one use. The expected name is compared four
 * bytes at a time; of a value only its end is searched.
 */
export class LineShapes<Use> {
  /** The begin and the end of each value of the last line read, by position. */
  values = new Int32Array(64);
  ends = new Int32Array(64);
  /** The offset after its last field. */
  end = 0;
  readonly #useOf: (names: readonly string[]) => Use;
  #first = new LineStart<Use>(new Uint8Array(minLength), undefined);
  #count = 0;
  readonly #made = (): void => void this.#count++;

  /** @param useOf returns the use of lines with these names. It is called again after much has been forgotten. */
  constructor(useOf: (names: readonly string[]) => Use) {
    this.#useOf = useOf;
  }

  /** Forgets all uses. */
  forget(): void {
    this.#first = new LineStart<Use>(new Uint8Array(minLength), undefined);
    this.#count = 0;
  }

  /** Finds the fields of a line. @param view of the same bytes. @param start the offset of its brace. @returns the use of its names. */
  read(lines: Uint8Array, view: DataView, start: number): Use {
    // Exporters and metadata can bring any number of names.
    if (this.#count > maxStarts) this.forget();
    let { values, ends } = this;
    const { length } = lines;
    let node = this.#first;
    let count = 0;
    let at = start;
    while (at + 1 < length && lines[at + 1] === quote) {
      const expected = node.next;
      const next =
        expected !== undefined && stands(expected.name, view, at) ? expected : this.#goOn(node, lines, view, at);
      if (count === values.length) {
        this.#makeRoom();
        ({ values, ends } = this);
      }
      const value = at + next.name.length;
      at = endOfValue(lines, view, value, length);
      values[count] = value;
      ends[count++] = at;
      node = next;
    }
    this.end = count === 0 ? start + 1 : at;
    return (node.use ??= this.#useOf(namesUpTo(node)));
  }

  #goOn(node: LineStart<Use>, lines: Uint8Array, view: DataView, at: number): LineStart<Use> {
    const { other } = node;
    let found: LineStart<Use>;
    if (other !== undefined && stands(other.name, view, at)) found = other;
    else {
      const value = Math.min(lines.length, endOfText(lines, view, at + 2, lines.length) + 2);
      found = node.goOn(lines, at, value, this.#made);
    }
    node.other = node.next;
    node.next = found;
    return found;
  }

  #makeRoom(): void {
    const { values, ends } = this;
    this.values = new Int32Array(2 * values.length);
    this.ends = new Int32Array(2 * ends.length);
    this.values.set(values);
    this.ends.set(ends);
  }
}

/** The begin and the end of each value of a line, by position. */
type LineFields = { readonly view: DataView; readonly values: Int32Array; readonly ends: Int32Array };

/** Bytes before a value that are compared with it, so that there are at least four: the end of the name, the quote and the colon. */
const beforeValue = 3;
/** The most words of four bytes; longer values are not remembered. */
const maxWords = 256;
const minSlots = 256;
const maxSlots = 16_384;
/** The most entries of a slot. The bound holds for hostile values, too, because they come from the network. */
const maxInSlot = 8;
/** Bytes of an entry without its words, about. */
const seenOverhead = 150;

type Seen<Found> = {
  readonly hash: number;
  readonly words: Int32Array;
  readonly found: Found;
  next: Seen<Found> | undefined;
};

/** A cache by the bytes of some values of a line, which it does not parse. A full slot drops its oldest entry. */
export class SeenValues<Found> {
  #slots: (Seen<Found> | undefined)[] = noSlots(minSlots);
  #size = 0;
  /** The values of the last {@link SeenValues.find}. */
  readonly #words = new Int32Array(maxWords);
  #count = 0;
  #hash = 0;

  /** Returns the entry for the values at these positions. @param positions of the same fields each time. */
  find(line: LineFields, positions: readonly number[]): Found | undefined {
    if (!this.#take(line, positions)) return undefined;
    const hash = this.#hash;
    let seen = this.#slots[hash & (this.#slots.length - 1)];
    while (seen !== undefined && (seen.hash !== hash || !this.#isTaken(seen.words))) seen = seen.next;
    return seen?.found;
  }

  /** Adds an entry for the values of the last {@link SeenValues.find}. @returns its size in bytes, about. */
  add(found: Found): number {
    if (this.#count === 0) return 0;
    if (this.#size >= this.#slots.length && this.#slots.length < maxSlots) this.#grow();
    const words = this.#words.slice(0, this.#count);
    this.#put({ hash: this.#hash, words, found, next: undefined });
    return seenOverhead + words.byteLength;
  }

  #put(seen: Seen<Found>): void {
    const slot = seen.hash & (this.#slots.length - 1);
    seen.next = this.#slots[slot];
    this.#slots[slot] = seen;
    this.#size++;
    let last = seen;
    for (let i = 1; i < maxInSlot && last.next !== undefined; i++) last = last.next;
    if (last.next === undefined) return;
    last.next = undefined;
    this.#size--;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = noSlots(2 * before.length);
    this.#size = 0;
    for (const first of before) {
      for (let seen = first; seen !== undefined;) {
        const { next } = seen;
        this.#put(seen);
        seen = next;
      }
    }
  }

  /** Reads the bytes of values. @returns false for values that are too long. */
  #take({ view, values, ends }: LineFields, positions: readonly number[]): boolean {
    const words = this.#words;
    let count = 0;
    let hash = 0;
    this.#count = 0;
    for (let i = 0; i < positions.length; i++) {
      const position = positions[i] as number;
      const last = (ends[position] as number) - 4;
      let at = (values[position] as number) - beforeValue;
      if (count + ((last - at) >> 2) + 3 > maxWords) return false;
      words[count++] = last - at;
      for (; at < last; at += 4) {
        const word = view.getInt32(at, true);
        words[count++] = word;
        hash = mixed(hash, word);
      }
      const word = view.getInt32(last, true);
      words[count++] = word;
      hash = mixed(hash, word);
    }
    this.#count = count;
    this.#hash = hash;
    return true;
  }

  #isTaken(own: Int32Array): boolean {
    const words = this.#words;
    if (own.length !== this.#count) return false;
    for (let i = 0; i < own.length; i++) if (own[i] !== words[i]) return false;
    return true;
  }
}

function noSlots(count: number): undefined[] {
  return Array.from({ length: count }, () => undefined);
}

function mixed(hash: number, word: number): number {
  const product = Math.imul(hash ^ word, 0x9e3779b1);
  return product ^ (product >>> 15);
}

function namesUpTo<Use>(last: LineStart<Use>): string[] {
  const names: string[] = [];
  for (let node = last; node.before !== undefined; node = node.before) names.push(node.text);
  return names.toReversed();
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
