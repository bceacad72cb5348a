import { copyLines, type BatchColumn, type ColumnType, type TextTable } from "../../record/index.ts";

/** How a value follows its tag (Protocol Buffers, Encoding). */
export const wireType = { varint: 0, fixed64: 1, bytes: 2 } as const;

/** Returns the tag of a field. @param number of the field, 1 to 2047. */
export const tagOf = (number: number, type: number): number => (number << 3) | type;

/** Texts from this length on are copied by the engine. */
const longText = 64;
/** Texts are copied by words, so bytes behind a message may be overwritten. */
const wordBytes = 4;
const tagBytes = 2;
const lengthBytes = 5;
/** The most bytes of a value that is no text, with its tag. */
const mostBytes = tagBytes + 17;

/** How values are written. */
const form = { whole: 0, fixed: 1, boolean: 2, address: 3, text: 4, entries: 5 } as const;
const formOf: Readonly<Record<ColumnType, number>> = {
  text: form.text,
  address: form.address,
  integer: form.whole,
  unsigned: form.whole,
  double: form.fixed,
  boolean: form.boolean,
  time: form.fixed,
};
const wireTypes = [wireType.varint, wireType.fixed64, wireType.varint, wireType.bytes, wireType.bytes, wireType.bytes];
const noWords = new Uint32Array(0);

/** A field of messages, and the values that rows have of it. */
export interface MessagePart {
  readonly form: number;
  readonly tag: number;
  /** Which rows have a value; undefined: all. */
  readonly presence: Uint8Array | undefined;
  /** Values: halves of 64 bits, the lower ones first; codes of texts; four words of an address. Of entries, where those of a row begin. */
  readonly words: Uint32Array;
  /** Booleans; bytes of entries. */
  readonly octets: Uint8Array;
  /** Of a list: where the items of each row begin, and behind the last where they end. */
  readonly offsets: Uint32Array | undefined;
  /** What stands for a list without items; absent: nothing. */
  readonly empty?: Uint8Array;
  /** Whole numbers: those whose upper half is greater are left out. */
  readonly mostHigh: number;
  /** Whole numbers: false, zeros are left out. */
  readonly hasZeros: boolean;
}

/** Returns a column as the field of a number, all of its values. @param options where it is something else. */
export function partOf(
  { column, data, presence, offsets, count }: BatchColumn,
  rows: number,
  number: number,
  options: Partial<MessagePart> = {},
): MessagePart {
  const { type, isArray } = column;
  const isEach = type === "text" || type === "address";
  const kind = options.form ?? formOf[type];
  return {
    form: kind,
    tag: tagOf(number, isArray && !isEach ? wireType.bytes : (wireTypes[kind] as number)),
    presence: count === rows ? undefined : presence,
    words: type === "boolean" ? noWords : new Uint32Array(data.buffer, data.byteOffset, data.byteLength >>> 2),
    octets: type === "boolean" ? (data as Uint8Array) : new Uint8Array(0),
    offsets: isArray ? offsets : undefined,
    mostHigh: 0xffff_ffff,
    hasZeros: true,
    ...options,
  };
}

/** Returns whole numbers of 64 bits as a field; zeros are none. @param offsets of lists. */
export function numbersPart(
  words: Uint32Array,
  presence: Uint8Array | undefined,
  number: number,
  offsets?: Uint32Array,
): MessagePart {
  return {
    form: form.whole,
    tag: tagOf(number, offsets === undefined ? wireType.varint : wireType.bytes),
    presence,
    words,
    octets: new Uint8Array(0),
    offsets,
    mostHigh: 0xffff_ffff,
    hasZeros: false,
  };
}

/** Returns bytes that have tags of their own as a part. @param ends where those of each row begin, and the last end. */
export function entriesPart(octets: Uint8Array, ends: Uint32Array): MessagePart {
  return { ...numbersPart(ends, undefined, 0), form: form.entries, octets };
}

/** Whole numbers stand as they are in messages of `int64` and `uint64`: times, too. */
export const asWhole: Partial<MessagePart> = { form: form.whole };

export const has = (presence: Uint8Array, row: number): boolean =>
  (((presence[row >>> 3] as number) >>> (row & 7)) & 1) === 1;

/** Writes messages one behind the other, a row at a time, into memory that grows and is used again. */
export class MessageWriter {
  bytes = Buffer.allocUnsafeSlow(64 * 1024);
  /** Where it goes on. */
  at = 0;
  /** Values that were left out because they were too large, since the last `begin`. */
  leftOut = 0;
  #view = new DataView(this.bytes.buffer);
  #parts: readonly MessagePart[] = [];
  /** Bytes that a row takes at most, without its texts, lists and entries. */
  #room = 0;
  #texts: TextTable = { count: 0, offsets: noWords, bytes: new Uint8Array(0) };
  #words: DataView = new DataView(new ArrayBuffer(0));

  /** Forgets what was written. */
  begin(): void {
    this.at = 0;
    this.leftOut = 0;
  }

  /** Takes what rows are made of, until the next call. */
  use(parts: readonly MessagePart[], texts: TextTable): void {
    this.#parts = parts;
    this.#room = parts.length * mostBytes + wordBytes;
    this.#texts = texts;
    // To the end of the memory, so that the last word of a text can be read.
    this.#words = new DataView(texts.bytes.buffer, texts.bytes.byteOffset);
  }

  /** Makes room for so many bytes and those of a row. */
  reserve(bytes: number): void {
    const wanted = this.at + bytes + this.#room;
    if (wanted <= this.bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * wanted);
    copyLines(this.bytes, 0, this.at, larger, 0);
    this.bytes = larger;
    this.#view = new DataView(larger.buffer);
  }

  /** Writes a row. */
  write(row: number): void {
    this.reserve(0);
    const parts = this.#parts;
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i] as MessagePart;
      if (part.presence !== undefined && !has(part.presence, row)) continue;
      if (part.offsets !== undefined)
        this.#writeList(part, part.offsets[row] as number, part.offsets[row + 1] as number);
      else if (part.form === form.entries)
        this.#copy(part.octets, part.words[row] as number, part.words[row + 1] as number);
      else this.#writeValue(part, row);
    }
  }

  /** Copies bytes. */
  #copy(source: Uint8Array, from: number, to: number): void {
    this.reserve(to - from);
    this.at = copyBytes(source, from, to, this.bytes, this.at);
  }

  #writeValue(part: MessagePart, row: number): void {
    const { words, tag } = part;
    if (part.form === form.whole) {
      const [low, high] = [words[2 * row] as number, words[2 * row + 1] as number];
      if (high > part.mostHigh) this.leftOut++;
      else if (part.hasZeros || low !== 0 || high !== 0)
        this.at = putVarint64(this.bytes, putTag(this.bytes, this.at, tag), low, high);
      return;
    }
    const at = putTag(this.bytes, this.at, tag);
    if (part.form === form.text) this.#putText(words[row] as number, at);
    else this.#putFixed(part, row, at);
  }

  /** Writes one value of those whose length does not depend on them, or an address. */
  #putFixed({ form: kind, words, octets }: MessagePart, index: number, at: number): void {
    if (kind === form.address) this.at = putAddress(words, index, this.bytes, this.#view, at);
    else if (kind === form.boolean) {
      this.bytes[at] = octets[index] as number;
      this.at = at + 1;
    } else {
      this.#view.setUint32(at, words[2 * index] as number, true);
      this.#view.setUint32(at + 4, words[2 * index + 1] as number, true);
      this.at = at + 8;
    }
  }

  /** Writes the items of a list: texts and addresses with a tag each, numbers together behind one. */
  #writeList(part: MessagePart, from: number, to: number): void {
    if (from === to) {
      if (part.empty !== undefined) this.#copy(part.empty, 0, part.empty.length);
      return;
    }
    this.reserve((to - from) * mostBytes);
    const { tag, words } = part;
    if (part.form === form.text || part.form === form.address) {
      for (let i = from; i < to; i++) {
        const at = putTag(this.bytes, this.at, tag);
        if (part.form === form.text) this.#putText(words[i] as number, at, (to - i) * mostBytes);
        else this.#putFixed(part, i, at);
      }
      return;
    }
    const start = putTag(this.bytes, this.at, tag);
    const begin = start + lengthBytes;
    this.at = begin;
    for (let i = from; i < to; i++) {
      if (part.form === form.whole)
        this.at = putVarint64(this.bytes, this.at, words[2 * i] as number, words[2 * i + 1] as number);
      else this.#putFixed(part, i, this.at);
    }
    const behind = putVarint(this.bytes, start, this.at - begin);
    this.bytes.copyWithin(behind, begin, this.at);
    this.at = behind + this.at - begin;
  }

  /** Writes the length of a text and its bytes. @param more bytes that are to fit behind it. */
  #putText(code: number, at: number, more = 0): void {
    const { offsets, bytes } = this.#texts;
    const from = offsets[code] as number;
    const length = (offsets[code + 1] as number) - from;
    this.at = putVarint(this.bytes, at, length);
    this.reserve(length + more);
    const words = this.#words;
    if (length >= longText || from + length + wordBytes > words.byteLength) {
      this.at = copyLines(bytes, from, from + length, this.bytes, this.at);
      return;
    }
    const view = this.#view;
    for (let i = 0; i < length; i += wordBytes) view.setUint32(this.at + i, words.getUint32(from + i, true), true);
    this.at += length;
  }
}

/** @param tag 14 bits. @returns where it ends. */
function putTag(bytes: Uint8Array, at: number, tag: number): number {
  if (tag < 0x80) {
    bytes[at] = tag;
    return at + 1;
  }
  bytes[at] = tag | 0x80;
  bytes[at + 1] = tag >>> 7;
  return at + 2;
}

/** @param value 31 bits. @returns where it ends. */
export function putVarint(bytes: Uint8Array, at: number, value: number): number {
  let rest = value;
  let place = at;
  for (; rest > 0x7f; rest >>>= 7) bytes[place++] = rest | 0x80;
  bytes[place++] = rest;
  return place;
}

/** @returns where it ends. */
function putVarint64(bytes: Uint8Array, at: number, lower: number, upper: number): number {
  let low = lower;
  let high = upper;
  let place = at;
  while (high !== 0) {
    bytes[place++] = low | 0x80;
    low = ((low >>> 7) | (high << 25)) >>> 0;
    high >>>= 7;
  }
  for (; low > 0x7f; low >>>= 7) bytes[place++] = low | 0x80;
  bytes[place++] = low;
  return place;
}

/** @param value 31 bits. */
export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) length++;
  return length;
}

/** The third word of an IPv4 address, `::ffff:0:0`, in the order of this host. */
const mappedWord = new Uint32Array(Uint8Array.of(0, 0, 0xff, 0xff).buffer)[0] as number;

/** Writes the 4 or 16 bytes of an address behind their count. @returns where they end. */
function putAddress(words: Uint32Array, index: number, bytes: Uint8Array, view: DataView, at: number): number {
  const from = 4 * index;
  const isIpv4 = words[from] === 0 && words[from + 1] === 0 && words[from + 2] === mappedWord;
  bytes[at] = isIpv4 ? 4 : 16;
  let place = at + 1;
  for (let i = isIpv4 ? from + 3 : from; i < from + 4; i++, place += 4) view.setUint32(place, words[i] as number, true);
  return place;
}

/** @returns where the copy ends. */
export function copyBytes(source: Uint8Array, from: number, to: number, target: Buffer, at: number): number {
  if (to - from >= 32) return copyLines(source, from, to, target, at);
  for (let i = from, place = at; i < to; i++, place++) target[place] = source[i] as number;
  return at + to - from;
}
