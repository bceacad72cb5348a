import { fieldStart, type RecordFields, type Value, type FieldValues } from "./record-fields.ts";

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const bracket = 0x5b;
const closingBracket = 0x5d;
const closingBrace = 0x7d;
const zero = 0x30;
const nine = 0x39;
const safeDigits = 15;

/**
 * Reads the fields of a line of the collector: a flat object whose values are scalars or arrays of scalars, without white space. Whole
 * numbers beyond 2^53 become bigints.
 *
 * @param start the offset of its brace. @param end the offset behind its last field, where no brace is needed.
 */
export function readLine(bytes: Buffer, start: number, end: number): RecordFields {
  const text = bytes.toString("utf8", start, end);
  // Nearly all lines can be parsed at once: no number is beyond 2^53, and no name is a number, which an object would put first.
  if (!/[0-9]{16}|"[0-9]+":/.test(text))
    return new Map(Object.entries(JSON.parse(`${text}}`) as Record<string, Value>));
  const record: RecordFields = new Map();
  let at = start + 1;
  while (at < end) {
    const nameEnd = stringEnd(bytes, at);
    const valueEnd = endOfValue(bytes, nameEnd + 1, end);
    record.set(JSON.parse(bytes.toString("utf8", at, nameEnd)) as string, readValue(bytes, nameEnd + 1, valueEnd));
    at = valueEnd + 1;
  }
  return record;
}

/** Reads the value that begins at `at` in a line of the collector. The line need not be the whole of `bytes`. */
export function readValueAt(bytes: Buffer, at: number): Value {
  const first = bytes[at] as number;
  if (first >= zero && first <= nine) {
    // Most numbers have few digits; all others take the general, exact way.
    let value = 0;
    let p = at;
    for (let digit = first; digit >= zero && digit <= nine; digit = bytes[++p] as number)
      value = value * 10 + digit - zero;
    if (p - at <= safeDigits && (bytes[p] === comma || bytes[p] === closingBrace)) return value;
  }
  const end = endOfValue(bytes, at, bytes.length);
  if (first === quote) {
    const text = bytes.toString("utf8", at + 1, end - 1);
    if (!text.includes("\\")) return text;
  }
  return readValue(bytes, at, end);
}

/** Splits a fragment of a line, with a comma before each field, into names and the JSON texts of their values. */
export function splitFields(fragment: Uint8Array): (readonly [name: string, value: string])[] {
  const bytes = Buffer.from(fragment.buffer, fragment.byteOffset, fragment.length);
  const fields: [string, string][] = [];
  for (let at = 1; at < bytes.length;) {
    const nameEnd = stringEnd(bytes, at);
    const valueEnd = endOfValue(bytes, nameEnd + 1, bytes.length);
    const name = JSON.parse(bytes.toString("utf8", at, nameEnd)) as string;
    fields.push([name, bytes.toString("utf8", nameEnd + 1, valueEnd)]);
    at = valueEnd + 1;
  }
  return fields;
}

/** Returns the offset behind the closing quote. */
function stringEnd(bytes: Buffer, at: number): number {
  let end = at + 1;
  while (bytes[end] !== quote) end += bytes[end] === backslash ? 2 : 1;
  return end + 1;
}

/** Returns the end of the value that begins at `at` in a line of the collector. */
function endOfValue(bytes: Buffer, at: number, end: number): number {
  if (bytes[at] === quote) return stringEnd(bytes, at);
  let p = at;
  if (bytes[at] === bracket) {
    while (bytes[p] !== closingBracket) p = bytes[p] === quote ? stringEnd(bytes, p) : p + 1;
    return p + 1;
  }
  while (p < end && bytes[p] !== comma && bytes[p] !== closingBracket && bytes[p] !== closingBrace) p++;
  return p;
}

function readValue(bytes: Buffer, at: number, end: number): Value {
  const text = bytes.toString("utf8", at, end);
  if (bytes[at] !== bracket) return readScalar(text);
  if (!/[0-9]{16}/.test(text)) return JSON.parse(text) as Value;
  const values: (string | number | bigint | boolean)[] = [];
  for (let p = at + 1; p < end - 1;) {
    const next = endOfValue(bytes, p, end - 1);
    values.push(readScalar(bytes.toString("utf8", p, next)));
    p = next + 1;
  }
  return values;
}

function readScalar(text: string): string | number | bigint | boolean {
  const value = JSON.parse(text) as string | number | boolean;
  const isInexact = typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER && /^-?[0-9]+$/.test(text);
  return isInexact ? BigInt(text) : value;
}

/** Maximum number of names to remember. Names come from settings and requests; further names are looked up without being remembered. */
const maxNames = 1024;

/** Reads fields of one line of the collector at a time, and searches for a field only on request. */
export class LineValues implements FieldValues {
  readonly #keys = new Map<string, Buffer>();
  #line: Buffer = Buffer.alloc(0);

  /** Selects the line from its brace at `start` up to `end`. Its bytes must not change while fields are read. */
  use(bytes: Buffer, start: number, end: number): void {
    this.#line = bytes.subarray(start, end);
  }

  get(name: string): Value | undefined {
    const at = this.#findValue(this.#keyOf(name));
    return at < 0 ? undefined : readValueAt(this.#line, at);
  }

  #keyOf(name: string): Buffer {
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const key = Buffer.from(fieldStart(name));
    if (this.#keys.size < maxNames) this.#keys.set(name, key);
    return key;
  }

  /** Returns the offset of the value; -1 if there is no such field. A quote within a text is escaped, so `,"name":` is never part of a text. */
  #findValue(key: Buffer): number {
    if (key.compare(this.#line, 1, key.length, 1) === 0) return key.length;
    const at = this.#line.indexOf(key);
    return at < 0 ? -1 : at + key.length;
  }
}
