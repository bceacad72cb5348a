import { copyLines } from "../../record/index.ts";

/** Writes the body of a request into memory that grows. */
export interface BodyWriter {
  /** Writes text as UTF-8. */
  text(text: string): void;
  /** Copies bytes as they are. */
  bytes(source: Buffer, from: number, to: number): void;
  /** Writes bytes of JSON as a JSON string: in quotes, with those in it escaped. They have no control characters. */
  quoted(source: Buffer, from: number, to: number): void;
  /** What was written; nothing is written after. */
  body(): Uint8Array;
}

const quoteByte = 0x22;
const escapeByte = 0x5c;
/** So few bytes are written by a loop: a call of the engine takes as long as fifty of them. */
const fewBytes = 48;

/** @param sizeHint about how long the body will be, bytes. */
export function createBodyWriter(sizeHint: number): BodyWriter {
  let out: Buffer = Buffer.allocUnsafeSlow(sizeHint);
  let at = 0;

  const reserve = (length: number): void => {
    if (at + length <= out.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * out.length, at + length));
    out.copy(larger, 0, 0, at);
    out = larger;
  };

  return {
    text(text) {
      reserve(3 * text.length);
      if (text.length > fewBytes) {
        at += out.write(text, at);
        return;
      }
      const [to, start] = [out, at];
      for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i);
        if (code > 0x7f) {
          at += out.write(text, at);
          return;
        }
        to[start + i] = code;
      }
      at += text.length;
    },
    bytes(source, from, to) {
      reserve(to - from);
      if (to - from > fewBytes) {
        at = copyLines(source, from, to, out, at);
        return;
      }
      const [target, by] = [out, at - from];
      for (let i = from; i < to; i++) target[i + by] = source[i] as number;
      at = to + by;
    },
    quoted(source, from, to) {
      // Of ASCII that is in lines JSON escapes only quotes and backslashes.
      reserve(2 * (to - from) + 2);
      const target = out;
      let end = at;
      target[end++] = quoteByte;
      for (let i = from; i < to; i++) {
        const byte = source[i] as number;
        if (byte === quoteByte || byte === escapeByte) target[end++] = escapeByte;
        target[end++] = byte;
      }
      target[end++] = quoteByte;
      at = end;
    },
    body: () => out.subarray(0, at),
  };
}

/**
 * Fields of lines as the collector writes them: one flat object, no blanks between its parts. A quote within a text is
 * escaped, so `,"name":` cannot be part of a text.
 */

const quote = 0x22;
const comma = 0x2c;
const brace = 0x7b;
const backslash = 0x5c;

/** The bytes by which a field is found: `"name":`. */
export function fieldKey(name: string): Buffer {
  return Buffer.from(`${JSON.stringify(name)}:`);
}

/**
 * Where the value of a field begins in the line at `from` … `to`; -1 where it has none.
 *
 * @param key of {@link fieldKey}.
 */
export function findValue(line: Buffer, from: number, to: number, key: Buffer): number {
  // A search for what a line has not must end with the line: thousands follow it in the same memory.
  const at = findIn(line.subarray(from, to), key);
  return at < 0 ? -1 : from + at;
}

/** Where the value of a field begins in a line, or the beginning of one, that is all of a buffer; -1 where it has none. */
export function findIn(line: Buffer, key: Buffer): number {
  for (let at = line.indexOf(key); at >= 0; at = line.indexOf(key, at + 1)) {
    if (beginsField(line, 0, at)) return at + key.length;
  }
  return -1;
}

/** Where the value of a field begins in the line at `from` … `to`; -1 where it has none. */
type FieldFinder = (line: Buffer, from: number, to: number) => number;

/** Finds a field as {@link findValue} does. Most lines have it where the one before had it: there it looks first. */
function createFieldFinder(name: string): FieldFinder {
  const key = fieldKey(name);
  let last = 0;
  return (line, from, to) => {
    if (isFieldAt(line, from, from + last, to, key)) return from + last + key.length;
    const at = findValue(line, from, to, key);
    if (at >= 0) last = at - key.length - from;
    return at;
  };
}

/** Whether the name of a field of the line at `from` … `to` stands at `at`. */
export function isFieldAt(line: Buffer, from: number, at: number, to: number, key: Buffer): boolean {
  if (at + key.length > to || !beginsField(line, from, at)) return false;
  for (let i = 0; i < key.length; i++) if (line[at + i] !== key[i]) return false;
  return true;
}

function beginsField(line: Buffer, from: number, at: number): boolean {
  return at > from && (line[at - 1] === comma || (line[at - 1] === brace && at === from + 1));
}

/** Where a value ends that begins at `from`: the place of the comma or brace behind it. */
export function endOfValue(line: Uint8Array, from: number, to: number): number {
  let depth = 0;
  for (let at = from; at < to; at++) {
    const byte = line[at];
    if (byte === quote) at = endOfText(line, at, to);
    else if (byte === brace || byte === 0x5b) depth++;
    else if (byte === comma && depth === 0) return at;
    else if ((byte === 0x7d || byte === 0x5d) && depth-- === 0) return at;
  }
  return to;
}

/** The place of the quote that ends a text, whose first quote is at `at`. */
function endOfText(line: Uint8Array, from: number, to: number): number {
  for (let at = from + 1; at < to; at++) {
    if (line[at] === backslash) at++;
    else if (line[at] === quote) return at;
  }
  return to;
}

const timestampKey = fieldKey("@timestamp");

/** Milliseconds since the epoch of a line's `@timestamp`; 0: it has none that can be read. */
type TimeOf = (line: Buffer, from: number, to: number) => number;

/** Lines of one time follow each other, so the last one is kept. */
export function createTimeOf(): TimeOf {
  let lastText = "";
  let lastTime = 0;
  return (line, from, to) => {
    const at = findValue(line, from, to, timestampKey);
    if (at < 0) return 0;
    const text = line.toString("latin1", at + 1, Math.min(to, line.indexOf(0x22, at + 1)));
    if (text !== lastText) {
      lastText = text;
      lastTime = Date.parse(text) || 0;
    }
    return lastTime;
  };
}

/** Where the key of the line at `from` … `to` begins, behind the quote of a text; -1: the line has none. */
export type KeyFinder = (line: Buffer, from: number, to: number) => number;

/** Makes the function that finds the key of a line: the value of the first of these fields that the line has. */
export function createKeyFinder(fields: readonly string[]): KeyFinder {
  const finders = fields.map(createFieldFinder);
  return (line, from, to) => {
    for (const find of finders) {
      const at = find(line, from, to);
      if (at >= 0) return line[at] === quote ? at + 1 : at;
    }
    return -1;
  };
}

/** Where a key ends that begins at `at`. */
export function endOfKey(line: Buffer, at: number, to: number): number {
  return line[at - 1] === quote ? endOfText(line, at - 1, to) : endOfValue(line, at, to);
}
