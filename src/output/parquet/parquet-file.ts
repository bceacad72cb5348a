import type { BatchColumn, ColumnBatch, ColumnType, TextTable } from "../../record/index.ts";
import { bitWidth, PageBytes } from "./packing.ts";
import { ThriftWriter } from "./thrift.ts";

/** A column of a file. */
export interface FileColumn {
  readonly name: string;
  readonly type: FileType;
  readonly isArray: boolean;
}

/** Types of values in files. Times are microseconds in UTC. */
export type FileType = Exclude<ColumnType, "address" | "unsigned">;

/** Makes fewer bytes of a page; `codec` is its number in Parquet. */
export interface PageCompression {
  readonly codec: number;
  compress(page: Uint8Array): Uint8Array;
}

/** Numbers of the format: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift */
const physical = { boolean: 0, int64: 2, double: 5, bytes: 6 } as const;
const encoding = { plain: 0, rle: 3, deltas: 5, dictionary: 8 } as const;
const repetition = { required: 0, optional: 1, repeated: 2 } as const;
const pageType = { data: 0, dictionary: 2 } as const;
const converted = { utf8: 0, list: 3, timestampMicros: 10 } as const;
const uncompressed = 0;
const magic = Buffer.from("PAR1");

const physicalTypes: Readonly<Record<FileType, number>> = {
  text: physical.bytes,
  integer: physical.int64,
  time: physical.int64,
  double: physical.double,
  boolean: physical.boolean,
};

/** The longest text of which statistics say that it is the least or the greatest of its column. */
const maxStatisticBytes = 64;
/** More values than these, or than a quarter of the rows, are written by themselves. */
const maxNumbers = 16_384;
const slotBits = 15;
const slotCount = 1 << slotBits;
/** Whole numbers less than this from 0 have differences that are exact. */
const exactLimit = 2 ** 51;

/** What a page of values is like. */
interface Content {
  readonly encoding: number;
  /** Of the dictionary; 0: there is none. */
  readonly entries: number;
  readonly least: Uint8Array | undefined;
  readonly greatest: Uint8Array | undefined;
}

const noBounds = { least: undefined, greatest: undefined };
const nothing: Content = { encoding: encoding.plain, entries: 0, ...noBounds };

/** Counts of a page: items that have a value, entries of levels, and those without an item. */
interface Found {
  readonly items: number;
  readonly values: number;
  readonly nulls: number;
}

/** A column of a row group as it was written. */
interface WrittenColumn {
  readonly column: FileColumn;
  readonly values: number;
  readonly nulls: number;
  readonly codec: number;
  readonly offset: number;
  readonly dictionaryBytes: number;
  readonly bytes: number;
  readonly rawBytes: number;
  readonly content: Content;
}

/**
 * Writes files of Parquet with one row group. Columns of the batch keep their dictionaries: a text is looked at once for each
 * column, not once a row. It keeps its memory from file to file.
 */
export class ParquetEncoder {
  readonly #compression: PageCompression;
  readonly #thrift = new ThriftWriter();
  readonly #page = new PageBytes();
  readonly #dictionary = new PageBytes();
  /** The place of each text of the batch in the dictionary of a column, from 1 on. */
  #places = new Uint32Array(0);
  #codes = new Uint32Array(0);
  #levels = new Uint32Array(0);
  #repeats = new Uint32Array(0);
  /** Where in the column's data the values of the page are. */
  #items = new Uint32Array(0);
  #numbers = new Float64Array(0);
  /** Numbers of a column's dictionary, and the place of each from 1 on by its hash. */
  readonly #known = new Float64Array(maxNumbers);
  readonly #slots = new Uint32Array(slotCount);

  constructor(compression: PageCompression) {
    this.#compression = compression;
  }

  /**
   * Encodes some rows of a batch.
   *
   * @param columns each with its values; undefined: it has none.
   * @param rows of the batch, in the order of the file.
   * @param sortedBy the position of the column by which they are sorted, ascending; undefined: there is none.
   */
  encode(
    columns: readonly (readonly [FileColumn, BatchColumn | undefined])[],
    { texts }: Pick<ColumnBatch, "texts">,
    rows: Uint32Array,
    sortedBy: number | undefined,
  ): readonly Uint8Array[] {
    if (this.#places.length < texts.count) this.#places = new Uint32Array(2 * texts.count);
    // An error may have left some.
    else this.#places.fill(0, 0, texts.count);
    const chunks: Uint8Array[] = [magic];
    let offset = magic.length;
    const written = columns.map(([column, values]) => {
      const from = offset;
      const result = this.#column(column, values, texts, rows, (chunk) => {
        chunks.push(chunk);
        offset += chunk.length;
      });
      return { ...result, offset: from, bytes: offset - from };
    });
    const footer = this.#footer(written, rows.length, sortedBy);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(footer.length);
    return [...chunks, footer, length, magic];
  }

  #column(
    column: FileColumn,
    source: BatchColumn | undefined,
    texts: TextTable,
    rows: Uint32Array,
    emit: (chunk: Uint8Array) => void,
  ): Omit<WrittenColumn, "offset" | "bytes"> {
    this.#page.clear();
    this.#dictionary.clear();
    const isEmpty = source === undefined || source.count === 0;
    const found = isEmpty ? this.#noLevels(column, rows.length) : this.#levelsOf(source, rows);
    const content = isEmpty || found.items === 0 ? nothing : this.#values(source, texts, found.items);
    // So short a page would grow.
    const codec = found.items === 0 ? uncompressed : this.#compression.codec;
    let rawBytes = 0;
    const emitPage = (raw: Uint8Array, headOf: (length: number) => Buffer): number => {
      const body = codec === uncompressed ? Buffer.from(raw) : this.#compression.compress(raw);
      const head = headOf(body.length);
      emit(head);
      emit(body);
      rawBytes += head.length + raw.length;
      return head.length + body.length;
    };
    const raw = this.#dictionary.view();
    const dictionaryBytes =
      content.entries === 0
        ? 0
        : emitPage(raw, (length) => this.#dictionaryHeader(content.entries, raw.length, length));
    const page = this.#page.view();
    emitPage(page, (length) => this.#dataHeader(found.values, content.encoding, page.length, length));
    return { column, values: found.values, nulls: found.nulls, codec, dictionaryBytes, rawBytes, content };
  }

  #noLevels({ isArray }: FileColumn, rows: number): Found {
    if (isArray) this.#page.sameLevels(0, rows);
    this.#page.sameLevels(0, rows);
    return { items: 0, values: rows, nulls: rows };
  }

  /** Writes which rows have values, and notes where these are. */
  #levelsOf(source: BatchColumn, rows: Uint32Array): Found {
    const room = rows.length + (source.column.isArray ? source.data.length : 0);
    if (this.#items.length < room) {
      this.#items = new Uint32Array(2 * room);
      this.#levels = new Uint32Array(2 * room);
      this.#repeats = new Uint32Array(2 * room);
      this.#codes = new Uint32Array(2 * room);
    }
    return source.column.isArray ? this.#listLevels(source, rows) : this.#scalarLevels(source, rows);
  }

  #scalarLevels({ presence }: BatchColumn, rows: Uint32Array): Found {
    const items = this.#items;
    const levels = this.#levels;
    const count = rows.length;
    let found = 0;
    for (let i = 0; i < count; i++) {
      const row = rows[i] as number;
      const has = ((presence[row >> 3] as number) >> (row & 7)) & 1;
      levels[i] = has;
      items[found] = row;
      found += has;
    }
    if (found === count || found === 0) this.#page.sameLevels(found === 0 ? 0 : 1, count);
    else this.#page.levels(levels, count, 1);
    return { items: found, values: count, nulls: count - found };
  }

  /** Of a list: 0 where there is none, 1 where it is empty, 2 for each item; all but the first item of a list repeat. */
  #listLevels({ presence, offsets }: BatchColumn, rows: Uint32Array): Found {
    const items = this.#items;
    const levels = this.#levels;
    const repeats = this.#repeats;
    let found = 0;
    let values = 0;
    for (const row of rows) {
      const from = offsets[row] as number;
      const to = offsets[row + 1] as number;
      const has = ((presence[row >> 3] as number) >> (row & 7)) & 1;
      if (has === 0 || from === to) {
        repeats[values] = 0;
        levels[values++] = has;
        continue;
      }
      for (let item = from; item < to; item++) {
        repeats[values] = item === from ? 0 : 1;
        levels[values++] = 2;
        items[found++] = item;
      }
    }
    this.#page.levels(repeats, values, 1);
    this.#page.levels(levels, values, 2);
    return { items: found, values, nulls: values - found };
  }

  #values({ column, data }: BatchColumn, texts: TextTable, count: number): Content {
    if (column.type === "text") return this.#textValues(data as Uint32Array, texts, count);
    if (column.type === "boolean") return this.#booleanValues(data as Uint8Array, count);
    const words = new Uint32Array(data.buffer, data.byteOffset, data.byteLength >> 2);
    return column.type === "double" ? this.#doubles(words, count) : this.#wholeNumbers(column.type, words, count);
  }

  #textValues(codes: Uint32Array, { offsets, bytes }: TextTable, count: number): Content {
    const places = this.#places;
    const items = this.#items;
    const out = this.#codes;
    const used: number[] = [];
    let [least, greatest] = [-1, -1];
    for (let i = 0; i < count; i++) {
      const code = codes[items[i] as number] as number;
      let place = places[code] as number;
      if (place === 0) {
        const [from, to] = [offsets[code] as number, offsets[code + 1] as number];
        this.#dictionary.u32(to - from);
        this.#dictionary.copy(bytes, from, to);
        used.push(code);
        place = used.length;
        places[code] = place;
        if (least < 0 || isLess(bytes, offsets, code, least)) least = code;
        if (greatest < 0 || isLess(bytes, offsets, greatest, code)) greatest = code;
      }
      out[i] = place - 1;
    }
    for (const code of used) places[code] = 0;
    this.#writeCodes(count, used.length);
    const bound = (code: number): Uint8Array => bytes.slice(offsets[code], offsets[code + 1]);
    const bounds = { least: bound(least), greatest: bound(greatest) };
    const isShort = Math.max(bounds.least.length, bounds.greatest.length) <= maxStatisticBytes;
    return { encoding: encoding.dictionary, entries: used.length, ...(isShort ? bounds : noBounds) };
  }

  #booleanValues(data: Uint8Array, count: number): Content {
    const out = this.#codes;
    let sum = 0;
    for (let i = 0; i < count; i++) sum += out[i] = data[this.#items[i] as number] as number;
    this.#page.pack(out, 0, count, 8 * Math.ceil(count / 8), 1);
    const bound = (isTrue: boolean): Uint8Array => Uint8Array.of(Number(isTrue));
    return { encoding: encoding.plain, entries: 0, least: bound(sum === count), greatest: bound(sum > 0) };
  }

  /** @param words of 64 bits, the lower one first. */
  #wholeNumbers(type: ColumnType, words: Uint32Array, count: number): Content {
    const read = type === "time" ? microseconds : wholeNumber;
    const items = this.#items;
    if (this.#numbers.length < count) this.#numbers = new Float64Array(2 * count);
    const numbers = this.#numbers;
    let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let i = 0; i < count; i++) {
      const at = 2 * (items[i] as number);
      const value = read(words[at] as number, (words[at + 1] as number) | 0);
      numbers[i] = value;
      if (value < least) least = value;
      if (value > greatest) greatest = value;
    }
    if (Math.max(-least, greatest) >= exactLimit) return this.#plainWords(type, words, count);
    const bounds = { least: int64(least), greatest: int64(greatest) };
    const entries = this.#codesOfNumbers(numbers, count);
    if (entries < 0) {
      this.#page.deltas(numbers, count);
      return { encoding: encoding.deltas, entries: 0, ...bounds };
    }
    this.#writeCodes(count, entries);
    return { encoding: encoding.dictionary, entries, ...bounds };
  }

  #doubles(words: Uint32Array, count: number): Content {
    const values = new Float64Array(words.buffer, words.byteOffset, words.length >> 1);
    let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let i = 0; i < count; i++) {
      const value = values[this.#items[i] as number] as number;
      least = Math.min(least, value);
      greatest = Math.max(greatest, value);
    }
    const bound = (value: number): Uint8Array => new Uint8Array(Float64Array.of(value).buffer);
    // Zeros of both signs are one number: as bounds the format wants the outer one.
    const bounds = { least: bound(least === 0 ? -0 : least), greatest: bound(greatest + 0) };
    return { ...this.#plainWords("double", words, count), ...bounds };
  }

  /** Numbers as they are, without statistics: some are beyond what can be compared. */
  #plainWords(type: ColumnType, words: Uint32Array, count: number): Content {
    for (let i = 0; i < count; i++) {
      const at = 2 * (this.#items[i] as number);
      const [low, high] = [words[at] as number, words[at + 1] as number];
      if (type === "time") this.#page.bytes(int64OfBig(((BigInt(high | 0) << 32n) | BigInt(low)) / 1000n));
      else {
        this.#page.u32(low);
        this.#page.u32(high);
      }
    }
    return { encoding: encoding.plain, entries: 0, ...noBounds };
  }

  /** Gives numbers codes by their order of appearance, and writes the dictionary. @returns how many there are; -1: too many. */
  #codesOfNumbers(numbers: Float64Array, count: number): number {
    const most = Math.min(maxNumbers, Math.max(16, count >> 2));
    const slots = this.#slots.fill(0);
    const known = this.#known;
    const out = this.#codes;
    let entries = 0;
    for (let i = 0; i < count; i++) {
      const value = numbers[i] as number;
      let slot = (Math.imul(value | 0, 0x9e3779b1) >>> (32 - slotBits)) & (slotCount - 1);
      for (;;) {
        const place = slots[slot] as number;
        if (place === 0) {
          if (entries === most) return -1;
          known[entries++] = value;
          slots[slot] = entries;
          out[i] = entries - 1;
          break;
        }
        if (known[place - 1] === value) {
          out[i] = place - 1;
          break;
        }
        slot = (slot + 1) & (slotCount - 1);
      }
    }
    for (let i = 0; i < entries; i++) this.#dictionary.bytes(int64(known[i] as number));
    return entries;
  }

  #writeCodes(count: number, entries: number): void {
    const width = Math.max(1, bitWidth(entries - 1));
    this.#page.byte(width);
    this.#page.run(this.#codes, count, width);
  }

  #dictionaryHeader(entries: number, rawLength: number, length: number): Buffer {
    const thrift = this.#thrift;
    thrift.i32(1, pageType.dictionary);
    thrift.i32(2, rawLength);
    thrift.i32(3, length);
    thrift.struct(7, () => {
      thrift.i32(1, entries);
      thrift.i32(2, encoding.plain);
    });
    thrift.end();
    return thrift.take();
  }

  #dataHeader(values: number, valueEncoding: number, rawLength: number, length: number): Buffer {
    const thrift = this.#thrift;
    thrift.i32(1, pageType.data);
    thrift.i32(2, rawLength);
    thrift.i32(3, length);
    thrift.struct(5, () => {
      thrift.i32(1, values);
      thrift.i32(2, valueEncoding);
      thrift.i32(3, encoding.rle);
      thrift.i32(4, encoding.rle);
    });
    thrift.end();
    return thrift.take();
  }

  #footer(columns: readonly WrittenColumn[], rows: number, sortedBy: number | undefined): Buffer {
    const thrift = this.#thrift;
    thrift.i32(1, 2);
    const elements = columns.flatMap(({ column }) => elementsOf(column));
    thrift.structList(2, [{ name: "record", repeats: undefined, children: columns.length }, ...elements], (element) =>
      this.#element(element),
    );
    thrift.i64(3, rows);
    thrift.structList(4, [columns], () => {
      thrift.structList(1, columns, (column) => this.#chunk(column));
      thrift.i64(
        2,
        columns.reduce((sum, { rawBytes }) => sum + rawBytes, 0),
      );
      thrift.i64(3, rows);
      if (sortedBy === undefined) return;
      thrift.structList(4, [sortedBy], (column) => {
        thrift.i32(1, column);
        thrift.bool(2, false);
        thrift.bool(3, false);
      });
    });
    thrift.binary(6, "netgloss");
    // The order of values is that of their types: else readers pass over the statistics.
    thrift.structList(7, columns, () => thrift.struct(1, () => {}));
    thrift.end();
    return thrift.take();
  }

  #element({ name, type, repeats, children, isList = false }: Element): void {
    const thrift = this.#thrift;
    if (type !== undefined) thrift.i32(1, physicalTypes[type]);
    if (repeats !== undefined) thrift.i32(3, repeats);
    thrift.binary(4, name);
    if (children !== undefined) thrift.i32(5, children);
    if (isList) {
      thrift.i32(6, converted.list);
      thrift.struct(10, () => thrift.struct(3, () => {}));
    }
    if (type === "text") {
      thrift.i32(6, converted.utf8);
      thrift.struct(10, () => thrift.struct(1, () => {}));
    }
    if (type === "time") {
      thrift.i32(6, converted.timestampMicros);
      thrift.struct(10, () =>
        thrift.struct(8, () => {
          thrift.bool(1, true);
          thrift.struct(2, () => thrift.struct(2, () => {}));
        }),
      );
    }
  }

  #chunk({ column, content, ...written }: WrittenColumn): void {
    const thrift = this.#thrift;
    const { least, greatest } = content;
    thrift.i64(2, written.offset);
    thrift.struct(3, () => {
      thrift.i32(1, physicalTypes[column.type]);
      thrift.i32List(2, [
        ...new Set([encoding.rle, content.encoding, ...(content.entries > 0 ? [encoding.plain] : [])]),
      ]);
      thrift.binaryList(3, column.isArray ? [column.name, "list", "element"] : [column.name]);
      thrift.i32(4, written.codec);
      thrift.i64(5, written.values);
      thrift.i64(6, written.rawBytes);
      thrift.i64(7, written.bytes);
      thrift.i64(9, written.offset + written.dictionaryBytes);
      if (content.entries > 0) thrift.i64(11, written.offset);
      thrift.struct(12, () => {
        thrift.i64(3, written.nulls);
        if (least === undefined || greatest === undefined) return;
        thrift.binary(5, greatest);
        thrift.binary(6, least);
      });
    });
  }
}

/** A node of the schema. */
interface Element {
  readonly name: string;
  readonly type?: FileType;
  /** Undefined of the root alone. */
  readonly repeats: number | undefined;
  readonly children?: number;
  readonly isList?: boolean;
}

function elementsOf({ name, type, isArray }: FileColumn): readonly Element[] {
  if (!isArray) return [{ name, type, repeats: repetition.optional }];
  return [
    { name, repeats: repetition.optional, children: 1, isList: true },
    { name: "list", repeats: repetition.repeated, children: 1 },
    { name: "element", type, repeats: repetition.required },
  ];
}

/** Returns whether a text of the table comes before another one, byte by byte. */
function isLess(bytes: Uint8Array, offsets: Uint32Array, a: number, b: number): boolean {
  const [fromA, toA, fromB, toB] = [offsets[a], offsets[a + 1], offsets[b], offsets[b + 1]] as [
    number,
    number,
    number,
    number,
  ];
  const length = Math.min(toA - fromA, toB - fromB);
  for (let i = 0; i < length; i++) {
    const difference = (bytes[fromA + i] as number) - (bytes[fromB + i] as number);
    if (difference !== 0) return difference < 0;
  }
  return toA - fromA < toB - fromB;
}

const twoTo32 = 2 ** 32;

function wholeNumber(low: number, high: number): number {
  return high * twoTo32 + low;
}

/** Returns nanoseconds as microseconds, rounded down; exact, which a product of the words would not be. */
export function microseconds(low: number, high: number): number {
  const thousands = Math.floor(high / 1000);
  return thousands * twoTo32 + Math.floor(((high - 1000 * thousands) * twoTo32 + low) / 1000);
}

function int64OfBig(value: bigint): Uint8Array {
  return new Uint8Array(BigInt64Array.of(value).buffer);
}

function int64(value: number): Uint8Array {
  return int64OfBig(BigInt(value));
}
