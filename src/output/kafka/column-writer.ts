import { copyLines, type BatchColumn, type ColumnType, type TextTable } from "../../record/index.ts";

/** How a value follows its tag (Protocol Buffers, Encoding). */
export const wireType = { varint: 0, fixed64: 1, bytes: 2 } as const;

/** Returns the tag of a field. @param number of the field, 1 to 2047. */
export const tagOf = (number: number, type: number): number => (number << 3) | type;

/** Texts from this length on are copied by the engine. */
const longText = 64;
/** Texts are copied by words, so bytes behind a message may be overwritten. */
export const wordBytes = 4;
const tagBytes = 2;
const lengthBytes = 5;
/** Bytes of a value without its tag, at most; of a text without its bytes. */
const valueBytes: Readonly<Record<ColumnType, number>> = {
  text: lengthBytes,
  address: 17,
  integer: 10,
  unsigned: 10,
  double: 8,
  boolean: 1,
  time: 10,
};

/** Messages under construction: the memory that they lie in, and where each of them goes on. */
export interface Messages {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** By row. */
  readonly at: Uint32Array;
}

/** Texts by their codes, with a view that reads words of them. */
export interface TextSource extends TextTable {
  readonly view: DataView;
}

export function textSource({ count, offsets, bytes }: TextTable): TextSource {
  // To the end of the memory, so that the last word of a text can be read.
  return { count, offsets, bytes, view: new DataView(bytes.buffer, bytes.byteOffset) };
}

export const has = (presence: Uint8Array, row: number): boolean =>
  (((presence[row >>> 3] as number) >>> (row & 7)) & 1) === 1;

/** Adds the most bytes that the values of a column take in each row's message, with their tags. */
export function measure(
  { column, data, offsets }: BatchColumn,
  texts: TextTable,
  sizes: Uint32Array,
  rows: number,
): void {
  const width = tagBytes + valueBytes[column.type];
  const { offsets: places } = texts;
  const isText = column.type === "text";
  const codes = data as Uint32Array;
  if (column.isArray) {
    for (let row = 0; row < rows; row++) {
      const [from, to] = [offsets[row] as number, offsets[row + 1] as number];
      let size = tagBytes + lengthBytes + (to - from) * width;
      if (isText) for (let i = from; i < to; i++) size += lengthOfText(places, codes[i] as number);
      sizes[row] = (sizes[row] as number) + size;
    }
  } else if (isText) {
    for (let row = 0; row < rows; row++)
      sizes[row] = (sizes[row] as number) + width + lengthOfText(places, codes[row] as number);
  } else for (let row = 0; row < rows; row++) sizes[row] = (sizes[row] as number) + width;
}

/** Halves of numbers of 64 bits, the lower ones first. */
export function halvesOf(data: BatchColumn["data"]): Uint32Array {
  return new Uint32Array(data.buffer, data.byteOffset, data.byteLength >>> 2);
}

/**
 * Writes whole numbers of the rows that have one.
 *
 * @param mostHigh numbers whose upper half is greater are left out.
 * @param hasZeros false: zeros are left out.
 */
export function writeWholes(
  data: BatchColumn["data"],
  presence: Uint8Array,
  rows: number,
  tag: number,
  { bytes, at }: Messages,
  mostHigh = 0xffff_ffff,
  hasZeros = true,
): void {
  const halves = halvesOf(data);
  for (let row = 0; row < rows; row++) {
    if (!has(presence, row)) continue;
    const low = halves[2 * row] as number;
    const high = halves[2 * row + 1] as number;
    if (high > mostHigh || (!hasZeros && low === 0 && high === 0)) continue;
    at[row] = putVarint64(bytes, putVarint(bytes, at[row] as number, tag), low, high);
  }
}

/** Writes eight bytes of each row that has a value, as they are: doubles and times. */
export function writeFixed(
  data: BatchColumn["data"],
  presence: Uint8Array,
  rows: number,
  tag: number,
  { bytes, view, at }: Messages,
): void {
  const halves = halvesOf(data);
  for (let row = 0; row < rows; row++) {
    if (!has(presence, row)) continue;
    const place = putVarint(bytes, at[row] as number, tag);
    view.setUint32(place, halves[2 * row] as number, true);
    view.setUint32(place + 4, halves[2 * row + 1] as number, true);
    at[row] = place + 8;
  }
}

export function writeBooleans(
  data: Uint8Array,
  presence: Uint8Array,
  rows: number,
  tag: number,
  { bytes, at }: Messages,
): void {
  for (let row = 0; row < rows; row++) {
    if (!has(presence, row)) continue;
    const place = putVarint(bytes, at[row] as number, tag);
    bytes[place] = data[row] as number;
    at[row] = place + 1;
  }
}

/** Writes addresses of 4 or 16 bytes. */
export function writeAddresses(
  data: Uint8Array,
  presence: Uint8Array,
  rows: number,
  tag: number,
  messages: Messages,
): void {
  const { bytes, at } = messages;
  const words = halvesOf(data);
  for (let row = 0; row < rows; row++)
    if (has(presence, row)) at[row] = putAddress(words, row, messages, putVarint(bytes, at[row] as number, tag));
}

export function writeTexts(
  codes: Uint32Array,
  presence: Uint8Array,
  rows: number,
  tag: number,
  texts: TextSource,
  messages: Messages,
): void {
  const { bytes, at } = messages;
  for (let row = 0; row < rows; row++)
    if (has(presence, row))
      at[row] = putText(texts, codes[row] as number, messages, putVarint(bytes, at[row] as number, tag));
}

/** Writes the values of arrays: texts and addresses with a tag each, numbers together behind one. An empty array is nothing. */
export function writeArrays(
  { column, data, offsets }: BatchColumn,
  rows: number,
  number: number,
  texts: TextSource,
  messages: Messages,
): void {
  const { bytes, view, at } = messages;
  const tag = tagOf(number, wireType.bytes);
  const isEach = column.type === "text" || column.type === "address";
  const words = column.type === "boolean" ? new Uint32Array(0) : halvesOf(data);
  const put = (place: number, i: number): number => {
    switch (column.type) {
      case "text":
        return putText(texts, words[i] as number, messages, putVarint(bytes, place, tag));
      case "address":
        return putAddress(words, i, messages, putVarint(bytes, place, tag));
      case "integer":
      case "unsigned":
        return putVarint64(bytes, place, words[2 * i] as number, words[2 * i + 1] as number);
      case "boolean":
        bytes[place] = Number(data[i]);
        return place + 1;
      case "double":
      case "time":
        break;
    }
    view.setUint32(place, words[2 * i] as number, true);
    view.setUint32(place + 4, words[2 * i + 1] as number, true);
    return place + 8;
  };
  for (let row = 0; row < rows; row++) {
    const [from, to] = [offsets[row] as number, offsets[row + 1] as number];
    if (from === to) continue;
    let place = at[row] as number;
    if (!isEach) place = putVarint(bytes, place, tag) + lengthBytes;
    const begin = place;
    for (let i = from; i < to; i++) place = put(place, i);
    if (!isEach) {
      const behind = putVarint(bytes, begin - lengthBytes, place - begin);
      bytes.copyWithin(behind, begin, place);
      place = behind + place - begin;
    }
    at[row] = place;
  }
}

/** @param value 31 bits. @returns where it ends. */
export function putVarint(bytes: Uint8Array, at: number, value: number): number {
  let rest = value;
  let place = at;
  for (; rest > 0x7f; rest >>>= 7) bytes[place++] = (rest & 0x7f) | 0x80;
  bytes[place++] = rest;
  return place;
}

/** @returns where it ends. */
export function putVarint64(bytes: Uint8Array, at: number, lower: number, upper: number): number {
  let low = lower;
  let high = upper;
  let place = at;
  while (high !== 0) {
    bytes[place++] = (low & 0x7f) | 0x80;
    low = ((low >>> 7) | (high << 25)) >>> 0;
    high >>>= 7;
  }
  for (; low > 0x7f; low >>>= 7) bytes[place++] = (low & 0x7f) | 0x80;
  bytes[place++] = low;
  return place;
}

/** @param value 31 bits. */
export function varintLength(value: number): number {
  let length = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) length++;
  return length;
}

const lengthOfText = (offsets: Uint32Array, code: number): number =>
  (offsets[code + 1] as number) - (offsets[code] as number);

/** The third word of an IPv4 address, `::ffff:0:0`, in the order of this host. */
const mappedWord = new Uint32Array(Uint8Array.of(0, 0, 0xff, 0xff).buffer)[0] as number;

function putAddress(words: Uint32Array, index: number, { bytes, view }: Messages, at: number): number {
  const from = 4 * index;
  const isIpv4 = words[from] === 0 && words[from + 1] === 0 && words[from + 2] === mappedWord;
  bytes[at] = isIpv4 ? 4 : 16;
  let place = at + 1;
  for (let i = isIpv4 ? from + 3 : from; i < from + 4; i++, place += 4) view.setUint32(place, words[i] as number, true);
  return place;
}

/** Writes the length of a text and its bytes. */
function putText({ offsets, bytes: source, view: words }: TextSource, code: number, to: Messages, at: number): number {
  const from = offsets[code] as number;
  const length = (offsets[code + 1] as number) - from;
  const place = putVarint(to.bytes, at, length);
  if (length >= longText || from + length + wordBytes > words.byteLength)
    return copyLines(source, from, from + length, to.bytes, place);
  const { view } = to;
  for (let i = 0; i < length; i += wordBytes) view.setUint32(place + i, words.getUint32(from + i, true), true);
  return place + length;
}
