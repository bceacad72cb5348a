import { copyLines } from "../../record/index.ts";

const quote = 0x22;
const backslash = 0x5c;
const bracket = 0x5b;
const dash = 0x2d;
const dot = 0x2e;
const colon = 0x3a;
const zero = 0x30;
const safeDigits = 15;
/** Texts from this length on are copied by the engine. */
const longText = 64;
/** Bytes that a message takes for one of its line, at most: a double in an array, and room for tags. */
const growth = 12;

/** How a value follows its tag (Protocol Buffers, Encoding). */
export const wireType = { varint: 0, fixed64: 1, bytes: 2 } as const;

/** Returns the tag of a field. @param number of the field, 1 to 2047. */
export const tagOf = (number: number, type: number): number => (number << 3) | type;

/**
 * Writes fields of messages of Protocol Buffers from values as they stand in lines: JSON without blanks. A method that is given a value of
 * another type, or one that the type does not hold, writes nothing and returns false.
 */
export class MessageWriter {
  #out = Buffer.allocUnsafeSlow(64 * 1024);
  #view = new DataView(this.#out.buffer);
  #at = 0;
  /** Halves of the number that was read last. */
  #low = 0;
  #high = 0;

  /** Where the next byte goes. */
  get at(): number {
    return this.#at;
  }

  /** What was written since the last {@link clear}, in memory that is used again. */
  get bytes(): Buffer {
    return this.#out;
  }

  clear(): void {
    this.#at = 0;
  }

  /** Makes room for what a line of so many bytes can become. */
  reserve(length: number): void {
    const wanted = this.#at + growth * length + 1024;
    if (wanted <= this.#out.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * wanted);
    copyLines(this.#out, 0, this.#at, larger, 0);
    this.#out = larger;
    this.#view = new DataView(larger.buffer);
  }

  /** Leaves bytes out for what is known later. */
  skip(length: number): void {
    this.#at += length;
  }

  /** Writes the length of what was written from `from` on before it. @returns where the length begins. */
  lengthBefore(from: number): number {
    const end = this.#at;
    const length = end - from;
    const begin = from - varintLength(length);
    this.#at = begin;
    this.#varint(length);
    this.#at = end;
    return begin;
  }

  /** Copies bytes as they are. */
  raw(source: Uint8Array, from: number, to: number): void {
    this.#copy(source, from, to);
  }

  text(lines: Uint8Array, from: number, to: number, tag: number): boolean {
    if (lines[from] !== quote) return false;
    const start = this.#at;
    this.#varint(tag);
    const length = to - from - 2;
    this.#varint(length);
    if (length < longText) {
      const out = this.#out;
      let at = this.#at;
      for (let i = from + 1; i < to - 1; i++) {
        const byte = lines[i] as number;
        if (byte === backslash) return this.#escaped(lines, from, to, start, tag);
        out[at++] = byte;
      }
      this.#at = at;
      return true;
    }
    for (let i = from + 1; i < to - 1; i++)
      if (lines[i] === backslash) return this.#escaped(lines, from, to, start, tag);
    this.#copy(lines, from + 1, to - 1);
    return true;
  }

  /** Writes 4 or 16 bytes. */
  address(lines: Uint8Array, from: number, to: number, tag: number): boolean {
    if (lines[from] !== quote) return false;
    const start = this.#at;
    this.#varint(tag);
    const place = this.#at + 1;
    const length = this.#ipv4(lines, from + 1, to - 1, place) ? 4 : this.#ipv6(lines, from + 1, to - 1, place) ? 16 : 0;
    if (length === 0) {
      this.#at = start;
      return false;
    }
    this.#out[this.#at] = length;
    this.#at = place + length;
    return true;
  }

  /** Writes a whole number of 64 bits. */
  whole(lines: Uint8Array, from: number, to: number, tag: number, isSigned: boolean): boolean {
    if (!this.#readWhole(lines, from, to, isSigned)) return false;
    this.#varint(tag);
    this.#varint64();
    return true;
  }

  double(lines: Uint8Array, from: number, to: number, tag: number): boolean {
    const value = readDouble(lines, from, to);
    if (value === undefined) return false;
    this.#varint(tag);
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
    return true;
  }

  boolean(lines: Uint8Array, from: number, to: number, tag: number): boolean {
    const value = readBoolean(lines, from, to);
    if (value < 0) return false;
    this.#varint(tag);
    this.#out[this.#at++] = value;
    return true;
  }

  /** Writes a time of RFC 3339 in UTC as nanoseconds since the epoch. @param isFixed in eight bytes, else as a varint. */
  time(lines: Uint8Array, from: number, to: number, tag: number, isFixed: boolean): boolean {
    if (!this.#readTime(lines, from, to)) return false;
    this.#varint(tag);
    if (isFixed) {
      this.#view.setUint32(this.#at, this.#low, true);
      this.#view.setInt32(this.#at + 4, this.#high, true);
      this.#at += 8;
    } else this.#varint64();
    return true;
  }

  /** Writes a number that was computed. @param value 0 to 2^53. */
  number(value: number, tag: number): void {
    this.#varint(tag);
    this.#setNumber(value);
    this.#varint64();
  }

  /**
   * Writes the values of an array behind one tag, which is that of bytes.
   *
   * @param item writes one of them, without a tag, and tells whether it could.
   */
  packed(
    lines: Uint8Array,
    from: number,
    to: number,
    tag: number,
    item: (from: number, to: number) => boolean,
  ): boolean {
    const start = this.#at;
    this.#varint(tag);
    // The length is known behind the values; an array has fewer than 2^28 bytes.
    const begin = this.#at + 4;
    this.#at = begin;
    if (!forEachItem(lines, from, to, item)) {
      this.#at = start;
      return false;
    }
    const length = this.#at - begin;
    this.#at = begin - 4;
    this.#varint(length);
    this.#out.copyWithin(this.#at, begin, begin + length);
    this.#at += length;
    return true;
  }

  /** Writes every value of an array with the tag. */
  repeated(lines: Uint8Array, from: number, to: number, item: (from: number, to: number) => boolean): boolean {
    const start = this.#at;
    if (forEachItem(lines, from, to, item)) return true;
    this.#at = start;
    return false;
  }

  /** Writes a whole number, or its bits, without a tag. */
  wholeItem(lines: Uint8Array, from: number, to: number, isSigned: boolean): boolean {
    if (!this.#readWhole(lines, from, to, isSigned)) return false;
    this.#varint64();
    return true;
  }

  doubleItem(lines: Uint8Array, from: number, to: number): boolean {
    const value = readDouble(lines, from, to);
    if (value === undefined) return false;
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
    return true;
  }

  booleanItem(lines: Uint8Array, from: number, to: number): boolean {
    const value = readBoolean(lines, from, to);
    if (value < 0) return false;
    this.#out[this.#at++] = value;
    return true;
  }

  /** Writes an entry of a map of texts. @param key as UTF-8. */
  entry(tag: number, key: Uint8Array, lines: Uint8Array, from: number, to: number): void {
    this.#varint(tag);
    const isEscaped = lines[from] === quote && lines.subarray(from, to).includes(backslash);
    if (isEscaped) {
      const text = Buffer.from(unescaped(lines, from, to));
      this.#entry(key, text, 0, text.length);
    } else if (lines[from] === quote) this.#entry(key, lines, from + 1, to - 1);
    else this.#entry(key, lines, from, to);
  }

  #entry(key: Uint8Array, value: Uint8Array, from: number, to: number): void {
    const length = to - from;
    this.#varint(2 + varintLength(key.length) + key.length + varintLength(length) + length);
    this.#out[this.#at++] = tagOf(1, wireType.bytes);
    this.#varint(key.length);
    this.#copy(key, 0, key.length);
    this.#out[this.#at++] = tagOf(2, wireType.bytes);
    this.#varint(length);
    this.#copy(value, from, to);
  }

  #escaped(lines: Uint8Array, from: number, to: number, start: number, tag: number): true {
    const text = Buffer.from(unescaped(lines, from, to));
    this.#at = start;
    this.#varint(tag);
    this.#varint(text.length);
    this.#copy(text, 0, text.length);
    return true;
  }

  #copy(source: Uint8Array, from: number, to: number): void {
    if (to - from >= longText) {
      this.#at = copyLines(source, from, to, this.#out, this.#at);
      return;
    }
    const out = this.#out;
    const by = this.#at - from;
    for (let i = from; i < to; i++) out[i + by] = source[i] as number;
    this.#at = to + by;
  }

  /** @param value 31 bits. */
  #varint(value: number): void {
    const out = this.#out;
    let rest = value;
    let at = this.#at;
    for (; rest > 0x7f; rest >>>= 7) out[at++] = (rest & 0x7f) | 0x80;
    out[at++] = rest;
    this.#at = at;
  }

  /** Writes the number whose halves are kept. */
  #varint64(): void {
    const out = this.#out;
    let at = this.#at;
    let low = this.#low;
    let high = this.#high;
    while (high !== 0) {
      out[at++] = (low & 0x7f) | 0x80;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    for (; low > 0x7f; low >>>= 7) out[at++] = (low & 0x7f) | 0x80;
    out[at++] = low;
    this.#at = at;
  }

  #setNumber(value: number): void {
    this.#low = value >>> 0;
    this.#high = (value - this.#low) / 2 ** 32;
  }

  #readWhole(lines: Uint8Array, from: number, to: number, isSigned: boolean): boolean {
    if (to - from > safeDigits || lines[from] === dash) return this.#readLongWhole(lines, from, to, isSigned);
    let value = 0;
    for (let i = from; i < to; i++) {
      const digit = (lines[i] as number) - zero;
      if (digit < 0 || digit > 9) return false;
      value = value * 10 + digit;
    }
    if (from === to) return false;
    this.#setNumber(value);
    return true;
  }

  #readLongWhole(lines: Uint8Array, from: number, to: number, isSigned: boolean): boolean {
    const text = textOf(lines, from, to);
    if (!/^-?[0-9]{1,20}$/.test(text)) return false;
    const value = BigInt(text);
    const wrapped = BigInt.asUintN(64, value);
    if (value !== (isSigned ? BigInt.asIntN(64, value) : wrapped)) return false;
    this.#low = Number(wrapped & 0xffff_ffffn);
    this.#high = Number(wrapped >> 32n);
    return true;
  }

  /** Reads `"2026-11-22T04:00:00.250Z"`, with no decimals or up to nine. */
  #readTime(lines: Uint8Array, from: number, to: number): boolean {
    const length = to - from;
    if (length < 22 || length > 32 || lines[from] !== quote || lines[to - 2] !== 0x5a) return false;
    const year = 100 * twoDigits(lines, from + 1) + twoDigits(lines, from + 3);
    const month = twoDigits(lines, from + 6);
    const day = twoDigits(lines, from + 9);
    const hour = twoDigits(lines, from + 12);
    const minute = twoDigits(lines, from + 15);
    const second = twoDigits(lines, from + 18);
    const isPunctuated =
      lines[from + 5] === dash &&
      lines[from + 8] === dash &&
      lines[from + 11] === 0x54 &&
      lines[from + 14] === colon &&
      lines[from + 17] === colon;
    // Years beyond these do not fit 64 bits of nanoseconds.
    const isDate = year >= 1678 && year <= 2261 && month >= 1 && month <= 12 && day >= 1;
    if (!isPunctuated || !isDate || day > daysOf(year, month)) return false;
    if (!(hour < 24 && minute < 60 && second < 60)) return false;
    let nanoseconds = 0;
    if (length > 22) {
      if (lines[from + 20] !== dot || length < 24) return false;
      for (let i = 0; i < 9; i++) {
        const at = from + 21 + i;
        const digit = at < to - 2 ? (lines[at] as number) - zero : 0;
        if (digit < 0 || digit > 9) return false;
        nanoseconds = 10 * nanoseconds + digit;
      }
    }
    this.#setTime(86_400 * daysFromEpoch(year, month, day) + 3600 * hour + 60 * minute + second, nanoseconds);
    return true;
  }

  /** Multiplies in parts of at most 53 bits. */
  #setTime(seconds: number, nanoseconds: number): void {
    const part = 65_536;
    const upper = Math.floor(seconds / part);
    const lower = (seconds - upper * part) * 1e9 + nanoseconds;
    const carried = upper * 1e9 + Math.floor(lower / part);
    this.#high = Math.floor(carried / part) | 0;
    this.#low = ((carried - Math.floor(carried / part) * part) * part + (lower % part)) >>> 0;
  }

  #ipv4(lines: Uint8Array, from: number, to: number, place: number): boolean {
    if (to - from > 15) return false;
    let at = place;
    let value = -1;
    for (let i = from; i <= to; i++) {
      const byte = i === to ? dot : (lines[i] as number);
      if (byte === dot) {
        if (value < 0 || value > 255 || at === place + 4) return false;
        this.#out[at++] = value;
        value = -1;
      } else if (byte < zero || byte > 0x39 || value === 0) return false;
      else value = (value < 0 ? 0 : 10 * value) + byte - zero;
    }
    return at === place + 4;
  }

  /** Reads the forms of RFC 4291, section 2.2. */
  #ipv6(lines: Uint8Array, from: number, to: number, place: number): boolean {
    const out = this.#out;
    let at = place;
    /** Where `::` stands. */
    let gap = -1;
    let i = from;
    if (lines[i] === colon) {
      if (lines[i + 1] !== colon) return false;
      gap = at;
      i += 2;
    }
    while (i < to) {
      let value = 0;
      const begin = i;
      for (; i < to && i < begin + 4; i++) {
        const digit = hexDigit(lines[i] as number);
        if (digit < 0) break;
        value = (value << 4) | digit;
      }
      if (lines[i] === dot && at <= place + 12 && this.#ipv4(lines, begin, to, at)) {
        at += 4;
        break;
      }
      if (i === begin || at === place + 16) return false;
      out[at++] = value >>> 8;
      out[at++] = value & 0xff;
      if (i === to) break;
      if (lines[i++] !== colon || i === to) return false;
      if (lines[i] === colon) {
        if (gap >= 0) return false;
        gap = at;
        i++;
      }
    }
    if (gap < 0) return at === place + 16;
    if (at >= place + 16) return false;
    const behind = at - gap;
    out.copyWithin(place + 16 - behind, gap, at);
    out.fill(0, gap, place + 16 - behind);
    return true;
  }
}

/** @param value 31 bits. */
function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) length++;
  return length;
}

/** Calls back for each value of an array of scalars, until one is refused. @returns whether it is such an array, with a value. */
function forEachItem(
  lines: Uint8Array,
  from: number,
  to: number,
  item: (from: number, to: number) => boolean,
): boolean {
  // An empty array cannot be told from none in a message.
  if (lines[from] !== bracket || to - from < 3) return false;
  for (let at = from + 1; at < to;) {
    let end = at;
    if (lines[at] === quote) {
      for (end++; lines[end] !== quote; end++) if (lines[end] === backslash) end++;
      end++;
    } else while (end < to - 1 && lines[end] !== 0x2c) end++;
    if (!item(at, end)) return false;
    at = end + 1;
  }
  return true;
}

function readDouble(lines: Uint8Array, from: number, to: number): number | undefined {
  const first = lines[from] as number;
  if (first !== dash && (first < zero || first > 0x39)) return undefined;
  const text = textOf(lines, from, to);
  const value = Number(text);
  if (!Number.isFinite(value)) return undefined;
  const isRounded = to - from > safeDigits && /^-?[0-9]+$/.test(text) && BigInt(value) !== BigInt(text);
  return isRounded ? undefined : value;
}

/** @returns -1: it is none. */
function readBoolean(lines: Uint8Array, from: number, to: number): number {
  if (lines[from] === 0x74 && to - from === 4) return 1;
  return lines[from] === 0x66 && to - from === 5 ? 0 : -1;
}

/** @returns NaN where no digits are. */
function twoDigits(lines: Uint8Array, at: number): number {
  const tens = (lines[at] as number) - zero;
  const ones = (lines[at + 1] as number) - zero;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? 10 * tens + ones : Number.NaN;
}

/** @returns -1: it is none. */
function hexDigit(byte: number): number {
  if (byte >= zero && byte <= 0x39) return byte - zero;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
const daysOf = (year: number, month: number): number =>
  month === 2 && isLeap(year) ? 29 : (monthDays[month - 1] as number);

/** Days since 1970-01-01, of the Gregorian calendar: a year begins in March here, so that the leap day is its last. */
function daysFromEpoch(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const m = month <= 2 ? month + 9 : month - 3;
  const leapDays = Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400);
  return 365 * y + leapDays + Math.floor((153 * m + 2) / 5) + day - 719_469;
}

/** A text of JSON with escapes. */
const unescaped = (lines: Uint8Array, from: number, to: number): string =>
  JSON.parse(textOf(lines, from, to)) as string;

const textOf = (lines: Uint8Array, from: number, to: number): string =>
  Buffer.from(lines.buffer, lines.byteOffset + from, to - from).toString();
