import type { BatchColumn, ColumnBatch, ColumnType, TextTable } from "../../record/index.ts";
import { encoding, type FileColumn, type PageContent } from "./file-metadata.ts";
import { bitWidth, PageBytes } from "./packing.ts";

/** The longest text that statistics give as the least or the greatest of its column. */
const maxStatisticBytes = 64;
/** The most numbers of a dictionary; it also has at most a quarter of the rows. With more, numbers are written without one. */
const maxNumbers = 16_384;
const slotBits = 15;
const slotCount = 1 << slotBits;
/** The bound below which the differences of whole numbers are exact. */
const exactLimit = 2 ** 51;

/** Counts of a page: items with a value, entries of levels, and entries without an item. */
interface Found {
  readonly items: number;
  readonly values: number;
  readonly nulls: number;
}

const noBounds = { least: undefined, greatest: undefined };
const nothing: PageContent = { encoding: encoding.plain, entries: 0, ...noBounds };

/** Writes the pages of columns, one column at a time. */
export class ColumnPages {
  readonly #page = new PageBytes();
  readonly #dictionary = new PageBytes();
  /** The batch, and the rows of it that are written, in order. */
  #texts: TextTable = { count: 0, offsets: new Uint32Array(1), bytes: new Uint8Array(0) };
  #batchRows = 0;
  #rows: Uint32Array = new Uint32Array(0);
  /** The place of each text of the batch in the dictionary of a column, from 1 on. */
  #places = new Uint32Array(0);
  #codes = new Uint32Array(0);
  #levels = new Uint32Array(0);
  #repeats = new Uint32Array(0);
  /** The indexes of the page's values in the column's data: the rows, or those found among them. */
  #items: Uint32Array = new Uint32Array(0);
  #found = new Uint32Array(0);
  #numbers = new Float64Array(0);
  /** Numbers of a column's dictionary, and the place of each from 1 on by its hash. */
  readonly #known = new Float64Array(maxNumbers);
  readonly #slots = new Uint32Array(slotCount);

  /** The pages of the column that was written last, valid until the next one. */
  get page(): Uint8Array {
    return this.#page.view();
  }

  get dictionary(): Uint8Array {
    return this.#dictionary.view();
  }

  /** Takes the rows of a batch whose columns are to be written. */
  begin({ texts, rows: batchRows }: Pick<ColumnBatch, "rows" | "texts">, rows: Uint32Array): void {
    if (this.#places.length < texts.count) this.#places = new Uint32Array(2 * texts.count);
    // An error may have left some.
    else this.#places.fill(0, 0, texts.count);
    this.#texts = texts;
    this.#batchRows = batchRows;
    this.#rows = rows;
  }

  /** Writes the pages of a column. @param source undefined: it has no values. */
  write(column: FileColumn, source: BatchColumn | undefined): PageContent & Found {
    this.#page.clear();
    this.#dictionary.clear();
    if (source === undefined || source.count === 0) return { ...nothing, ...this.#noLevels(column) };
    const found = this.#levelsOf(source);
    return { ...(found.items === 0 ? nothing : this.#values(source, found.items)), ...found };
  }

  #noLevels({ isArray }: FileColumn): Found {
    const { length } = this.#rows;
    if (isArray) this.#page.sameLevels(0, length);
    this.#page.sameLevels(0, length);
    return { items: 0, values: length, nulls: length };
  }

  /** Writes which rows have values, and notes the indexes of the values. */
  #levelsOf(source: BatchColumn): Found {
    const rows = this.#rows;
    const room = rows.length + (source.column.isArray ? source.data.length : 0);
    if (this.#found.length < room) {
      this.#found = new Uint32Array(2 * room);
      this.#levels = new Uint32Array(2 * room);
      this.#repeats = new Uint32Array(2 * room);
      this.#codes = new Uint32Array(2 * room);
    }
    this.#items = this.#found;
    if (source.column.isArray) return this.#listLevels(source, rows);
    if (source.count < this.#batchRows) return this.#scalarLevels(source, rows);
    this.#items = rows;
    this.#page.sameLevels(1, rows.length);
    return { items: rows.length, values: rows.length, nulls: 0 };
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

  /** Writes the levels of a list: 0 where it is absent, 1 where it is empty, 2 for each item. All items but the first of a list repeat. */
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

  #values({ column, data }: BatchColumn, count: number): PageContent {
    if (column.type === "text") return this.#textValues(data as Uint32Array, count);
    if (column.type === "boolean") return this.#booleanValues(data as Uint8Array, count);
    const words = new Uint32Array(data.buffer, data.byteOffset, data.byteLength >> 2);
    return column.type === "double" ? this.#doubles(words, count) : this.#wholeNumbers(column.type, words, count);
  }

  #textValues(codes: Uint32Array, count: number): PageContent {
    const { offsets, bytes } = this.#texts;
    const places = this.#places;
    const items = this.#items;
    const out = this.#codes;
    const used: number[] = [];
    let [least, greatest] = [-1, -1];
    let [last, lastPlace] = [-1, 0];
    for (let i = 0; i < count; i++) {
      const code = codes[items[i] as number] as number;
      if (code === last) {
        out[i] = lastPlace;
        continue;
      }
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
      [last, lastPlace] = [code, place - 1];
      out[i] = lastPlace;
    }
    for (const code of used) places[code] = 0;
    this.#writeCodes(count, used.length);
    const bound = (code: number): Uint8Array => bytes.slice(offsets[code], offsets[code + 1]);
    const bounds = { least: bound(least), greatest: bound(greatest) };
    const isShort = Math.max(bounds.least.length, bounds.greatest.length) <= maxStatisticBytes;
    return { encoding: encoding.dictionary, entries: used.length, ...(isShort ? bounds : noBounds) };
  }

  #booleanValues(data: Uint8Array, count: number): PageContent {
    const out = this.#codes;
    let sum = 0;
    for (let i = 0; i < count; i++) sum += out[i] = data[this.#items[i] as number] as number;
    this.#page.pack(out, 0, count, 8 * Math.ceil(count / 8), 1);
    const bound = (isTrue: boolean): Uint8Array => Uint8Array.of(Number(isTrue));
    return { encoding: encoding.plain, entries: 0, least: bound(sum === count), greatest: bound(sum > 0) };
  }

  /** Writes whole numbers. @param words of 64 bits, the lower one first. */
  #wholeNumbers(type: ColumnType, words: Uint32Array, count: number): PageContent {
    if (this.#numbers.length < count) this.#numbers = new Float64Array(2 * count);
    const numbers = this.#numbers;
    // Most columns of a file have one value.
    const read = areSame(words, this.#items, count) ? 1 : count;
    if (type === "time") readTimes(words, this.#items, read, numbers);
    else readNumbers(words, this.#items, read, numbers);
    let least = numbers[0] as number;
    let greatest = least;
    for (let i = 1; i < read; i++) {
      const value = numbers[i] as number;
      if (value < least) least = value;
      else if (value > greatest) greatest = value;
    }
    if (Math.max(-least, greatest) >= exactLimit) return this.#plainWords(type, words, count);
    const bounds = { least: int64(least), greatest: int64(greatest) };
    if (least === greatest) return { ...this.#same(bounds.least, count), ...bounds };
    const entries = this.#codesOfNumbers(numbers, count);
    if (entries < 0) {
      this.#page.deltas(numbers, count);
      return { encoding: encoding.deltas, entries: 0, ...bounds };
    }
    this.#writeCodes(count, entries);
    return { encoding: encoding.dictionary, entries, ...bounds };
  }

  #doubles(words: Uint32Array, count: number): PageContent {
    const values = new Float64Array(words.buffer, words.byteOffset, words.length >> 1);
    const items = this.#items;
    const first = values[items[0] as number] as number;
    const read = areSame(words, items, count) ? 1 : count;
    let [least, greatest] = [first, first];
    for (let i = 1; i < read; i++) {
      const value = values[items[i] as number] as number;
      least = Math.min(least, value);
      greatest = Math.max(greatest, value);
    }
    const bytesOf = (value: number): Uint8Array => new Uint8Array(Float64Array.of(value).buffer);
    // Zeros of both signs are equal; the format wants the outer one as a bound.
    const bounds = { least: bytesOf(least === 0 ? -0 : least), greatest: bytesOf(greatest + 0) };
    const written = read === 1 ? this.#same(bytesOf(first), count) : this.#plainWords("double", words, count);
    return { ...written, ...bounds };
  }

  /** Writes one number for all items. */
  #same(value: Uint8Array, count: number): PageContent {
    this.#dictionary.bytes(value);
    this.#writeCodes(count, 1);
    return { encoding: encoding.dictionary, entries: 1, ...noBounds };
  }

  /** Writes numbers as they are, without statistics: some cannot be compared exactly. */
  #plainWords(type: ColumnType, words: Uint32Array, count: number): PageContent {
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

  /** Assigns codes to numbers by their order of appearance, and writes the dictionary. @returns the number of entries; -1: too many. */
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
    for (let i = 0; i < entries; i++) this.#dictionary.int64(known[i] as number);
    return entries;
  }

  #writeCodes(count: number, entries: number): void {
    const width = Math.max(1, bitWidth(entries - 1));
    this.#page.byte(width);
    if (entries === 1) this.#page.sameRun(0, count);
    else this.#page.run(this.#codes, count, width);
  }
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

/** Reports whether all items of a column have the same 64 bits. */
function areSame(words: Uint32Array, items: Uint32Array, count: number): boolean {
  const first = 2 * (items[0] as number);
  const [low, high] = [words[first] as number, words[first + 1] as number];
  for (let i = 1; i < count; i++) {
    const at = 2 * (items[i] as number);
    if (words[at] !== low || words[at + 1] !== high) return false;
  }
  return true;
}

/** Reads whole numbers, exactly if less than 2^53 from 0. */
function readNumbers(words: Uint32Array, items: Uint32Array, count: number, to: Float64Array): void {
  for (let i = 0; i < count; i++) {
    const at = 2 * (items[i] as number);
    to[i] = ((words[at + 1] as number) | 0) * twoTo32 + (words[at] as number);
  }
}

/** Reads times as microseconds. Many equal the time of the row before. */
function readTimes(words: Uint32Array, items: Uint32Array, count: number, to: Float64Array): void {
  let [lastLow, lastHigh, last] = [0, 0, 0];
  for (let i = 0; i < count; i++) {
    const at = 2 * (items[i] as number);
    const low = words[at] as number;
    const high = (words[at + 1] as number) | 0;
    if (low !== lastLow || high !== lastHigh) {
      [lastLow, lastHigh] = [low, high];
      last = microseconds(low, high);
    }
    to[i] = last;
  }
}

/** Returns nanoseconds as microseconds, rounded down and exact, unlike a product of the words. */
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
