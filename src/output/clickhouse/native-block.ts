import { LineWalker, type BatchColumn, type ColumnBatch, type TextTable } from "../../record/index.ts";
import { misfits, type SentColumn } from "./sent-column.ts";
import { otherColumn } from "./table-layout.ts";

/** The version of a dictionary's keys, which precedes a column of low cardinality. */
const dictionaryVersion = 1;
/** The flags of a block that brings the keys of its own dictionary: `HasAdditionalKeys`, `NeedUpdateDictionary`. */
const ownDictionary = 0x600;
const backslash = 0x5c;
const quote = 0x22;

/** Writes bytes of the format Native into memory that grows and is reused. Numbers are little-endian; the host must be, too. */
class NativeWriter {
  #out = Buffer.allocUnsafeSlow(1 << 20);
  #at = 0;

  get length(): number {
    return this.#at;
  }

  clear(): void {
    this.#at = 0;
  }

  /** Returns the next `length` bytes of memory, for the caller to write to. */
  take(length: number): Buffer {
    if (this.#at + length > this.#out.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#out.length, this.#at + length));
      this.#out.copy(larger, 0, 0, this.#at);
      this.#out = larger;
    }
    const from = this.#at;
    this.#at += length;
    return this.#out.subarray(from, this.#at);
  }

  varint(value: number): void {
    let rest = value;
    const out = this.take(rest < 0x80 ? 1 : Math.ceil((32 - Math.clz32(rest)) / 7));
    let at = 0;
    for (; rest >= 0x80; rest >>>= 7) out[at++] = (rest & 0x7f) | 0x80;
    out[at] = rest;
  }

  /** Writes a whole number below 2^53 as 64 bits. */
  uint64(value: number): void {
    const out = this.take(8);
    out.writeUInt32LE(value >>> 0, 0);
    out.writeUInt32LE(Math.floor(value / 0x1_0000_0000), 4);
  }

  string(text: string): void {
    const length = Buffer.byteLength(text);
    this.varint(length);
    this.take(length).write(text);
  }

  bytes(source: Uint8Array): void {
    this.take(source.length).set(source);
  }

  /** Writes the memory of an array as it is. */
  raw(source: Readonly<ArrayBufferView>): void {
    this.bytes(new Uint8Array(source.buffer, source.byteOffset, source.byteLength));
  }

  /** Writes strings, each preceded by its length. @param codes of texts. */
  strings(codes: Uint32Array, count: number, { offsets, bytes }: TextTable): void {
    let total = 0;
    for (let i = 0; i < count; i++) {
      const code = codes[i] as number;
      total += (offsets[code + 1] as number) - (offsets[code] as number) + 5;
    }
    const room = this.take(total);
    let at = 0;
    for (let i = 0; i < count; i++) {
      const code = codes[i] as number;
      const from = offsets[code] as number;
      const to = offsets[code + 1] as number;
      let length = to - from;
      for (; length >= 0x80; length >>>= 7) room[at++] = (length & 0x7f) | 0x80;
      room[at++] = length;
      if (to - from > 32) {
        room.set(bytes.subarray(from, to), at);
        at += to - from;
      } else for (let j = from; j < to; j++) room[at++] = bytes[j] as number;
    }
    this.#at -= total - at;
  }

  /** Returns the bytes that were written. They are valid until the next write. */
  view(): Buffer {
    return this.#out.subarray(0, this.#at);
  }
}

/** A name in {@link otherColumn} and its value, for one row. */
interface Other {
  readonly name: number;
  readonly value: Uint8Array;
}

/**
 * Writes batches of columns as blocks of ClickHouse's format Native, without the information that ClickHouse's own protocol adds.
 * A block is the number of columns and rows, then the name, type and values of each column.
 */
export class NativeBlocks {
  readonly #out = new NativeWriter();
  /** The code of each text of a batch in the column that is being written. A code is valid where its stamp is that of the column. */
  #codes = new Uint32Array(1024);
  #stamps = new Uint32Array(1024);
  #stamp = 0;
  /** The texts of the column's dictionary, and the code of each value. */
  #keys = new Uint32Array(1024);
  #values = new Uint32Array(1024);

  /** Writes one block. @returns the names of its columns: those for which a row has a value. */
  write(batch: ColumnBatch, sent: readonly SentColumn[]): readonly string[] {
    const out = this.#out;
    const moved: { readonly name: string; readonly rows: ReadonlyMap<number, string> }[] = [];
    const written = sent.flatMap((column, i) => {
      const values = batch.columns[i];
      if (values === undefined || values.count === 0) return [];
      const rows = misfits(column, values, batch.rows);
      if (rows !== undefined) moved.push({ name: column.source.field, rows });
      return [{ column, values, absent: rows }];
    });
    const hasOthers = moved.length > 0 || (batch.rest?.count ?? 0) > 0;
    out.varint(written.length + Number(hasOthers));
    out.varint(batch.rows);
    for (const { column, values, absent } of written) {
      out.string(column.name);
      out.string(column.type.text);
      this.#writeColumn(column, values, batch, absent);
    }
    const names = written.map(({ column }) => column.name);
    if (!hasOthers) return names;
    this.#writeOthers(batch, moved);
    return [...names, otherColumn.name];
  }

  /** Returns the blocks that were written. They are valid until the next write. */
  view(): Buffer {
    return this.#out.view();
  }

  /** Discards what was written. */
  clear(): void {
    this.#out.clear();
  }

  #writeColumn(
    { type, source }: SentColumn,
    values: BatchColumn,
    { rows, texts }: ColumnBatch,
    absent: ReadonlyMap<number, string> | undefined,
  ): void {
    const out = this.#out;
    const count = type.isArray ? (values.offsets[rows] as number) : rows;
    if (type.isLow) out.uint64(dictionaryVersion);
    if (type.isArray) this.#writeOffsets(values.offsets, rows);
    if (type.isNullable) this.#writeNulls(values, rows, absent);
    const { data } = values;
    if (source.type === "text") {
      if (type.isLow) this.#writeDictionary(data as Uint32Array, count, texts);
      else out.strings(data as Uint32Array, count, texts);
      return;
    }
    if (type.base === "IPv4") this.#writeMappedAddresses(data as Uint8Array, count);
    else if (type.base.startsWith("DateTime64(3")) this.#writeMilliseconds(data as BigInt64Array, count);
    else out.raw(data.subarray(0, source.type === "address" ? 16 * count : count));
  }

  /** @param offsets of rows, and one more at the end; the format has only the ends. */
  #writeOffsets(offsets: Uint32Array, rows: number): void {
    const words = new Uint32Array(2 * rows);
    for (let row = 0; row < rows; row++) words[2 * row] = offsets[row + 1] as number;
    this.#out.raw(words);
  }

  #writeNulls({ presence, count }: BatchColumn, rows: number, absent: ReadonlyMap<number, string> | undefined): void {
    const nulls = this.#out.take(rows);
    if (count === rows) nulls.fill(0);
    else for (let row = 0; row < rows; row++) nulls[row] = (((presence[row >> 3] as number) >> (row & 7)) & 1) ^ 1;
    for (const row of absent?.keys() ?? []) nulls[row] = 1;
  }

  /** Writes IPv4 addresses, given as IPv4-mapped IPv6 addresses, as numbers. */
  #writeMappedAddresses(addresses: Uint8Array, count: number): void {
    const result = this.#out.take(4 * count);
    for (let i = 0; i < count; i++) {
      for (let byte = 0; byte < 4; byte++) result[4 * i + byte] = addresses[16 * i + 15 - byte] as number;
    }
  }

  /** Writes nanoseconds as milliseconds, rounded down: a millisecond is 15 625 times 2^6 nanoseconds. */
  #writeMilliseconds(nanoseconds: BigInt64Array, count: number): void {
    const words = new Int32Array(nanoseconds.buffer, nanoseconds.byteOffset, 2 * count);
    const result = new Int32Array(2 * count);
    for (let i = 0; i < words.length; i += 2) {
      const high = words[i + 1] as number;
      const quotient = Math.floor(high / 15_625);
      // Each part is exact in a double.
      const rest = (high - 15_625 * quotient) * 0x400_0000 + ((words[i] as number) >>> 6);
      const milliseconds = quotient * 0x400_0000 + Math.floor(rest / 15_625);
      result[i] = milliseconds;
      result[i + 1] = Math.floor(milliseconds / 0x1_0000_0000);
    }
    this.#out.raw(result);
  }

  /** Writes values of low cardinality: the distinct texts, and for each value the index of its text. */
  #writeDictionary(codes: Uint32Array, count: number, texts: TextTable): void {
    if (count === 0) return;
    if (this.#stamps.length < texts.count) {
      this.#codes = new Uint32Array(2 * texts.count);
      this.#stamps = new Uint32Array(2 * texts.count);
    }
    if (this.#values.length < count) {
      this.#values = new Uint32Array(2 * count);
      this.#keys = new Uint32Array(2 * count);
    }
    this.#stamp = (this.#stamp + 1) >>> 0;
    if (this.#stamp === 0) {
      // The stamps have wrapped: old ones could equal new ones.
      this.#stamps.fill(0);
      this.#stamp = 1;
    }
    const [byText, stamps, stamp, keys, values] = [this.#codes, this.#stamps, this.#stamp, this.#keys, this.#values];
    let distinct = 0;
    for (let i = 0; i < count; i++) {
      const code = codes[i] as number;
      if (stamps[code] !== stamp) {
        stamps[code] = stamp;
        byText[code] = distinct;
        keys[distinct++] = code;
      }
      values[i] = byText[code] as number;
    }
    const width = distinct <= 0x100 ? 0 : distinct <= 0x1_0000 ? 1 : 2;
    this.#out.uint64(ownDictionary | width);
    this.#out.uint64(distinct);
    this.#out.strings(keys, distinct, texts);
    this.#writeCodes(values, count, width);
  }

  /** @param width 0, 1 or 2, for codes of one, two or four bytes. */
  #writeCodes(values: Uint32Array, count: number, width: number): void {
    const out = this.#out;
    out.uint64(count);
    const used = values.subarray(0, count);
    if (width === 0) out.take(count).set(used);
    else out.raw(width === 1 ? Uint16Array.from(used) : used);
  }

  /** Writes values that have no column, or do not fit into theirs, by their names. */
  #writeOthers(
    batch: ColumnBatch,
    moved: readonly { readonly name: string; readonly rows: ReadonlyMap<number, string> }[],
  ): void {
    const out = this.#out;
    const reader = new OthersReader(batch);
    for (const { name, rows } of moved) for (const [row, text] of rows) reader.add(row, name, text);
    out.string(otherColumn.name);
    out.string(otherColumn.type);
    out.uint64(dictionaryVersion);
    const ends = new Uint32Array(2 * batch.rows);
    const all: Other[] = [];
    for (let row = 0; row < batch.rows; row++) {
      for (const other of reader.othersOf(row)) all.push(other);
      ends[2 * row] = all.length;
    }
    out.raw(ends);
    const { names } = reader;
    const width = names.length <= 0x100 ? 0 : names.length <= 0x1_0000 ? 1 : 2;
    out.uint64(ownDictionary | width);
    out.uint64(names.length);
    for (const name of names) out.string(name);
    this.#writeCodes(
      Uint32Array.from(all, ({ name }) => name),
      all.length,
      width,
    );
    for (const { value } of all) {
      out.varint(value.length);
      out.bytes(value);
    }
  }
}

const none: readonly Other[] = [];

/** Reads the rest of each row, a JSON object, as names and values: texts as they are, other values as JSON. */
class OthersReader {
  readonly names: string[] = [];
  readonly #batch: ColumnBatch;
  readonly #numbers = new Map<string, number>();
  readonly #walker = new LineWalker((name) => ({ number: this.#numberOf(name) }));
  readonly #byText = new Map<number, readonly Other[]>();
  readonly #added = new Map<number, Other[]>();
  readonly #bytes: Buffer;

  constructor(batch: ColumnBatch) {
    this.#batch = batch;
    const { bytes } = batch.texts;
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Adds a value that does not fit into its column. */
  add(row: number, name: string, text: string): void {
    const list = this.#added.get(row) ?? [];
    list.push({ name: this.#numberOf(name), value: Buffer.from(text) });
    this.#added.set(row, list);
  }

  othersOf(row: number): readonly Other[] {
    const { rest } = this.#batch;
    const code = rest === undefined ? 0 : (rest.data[row] as number);
    let found = none;
    if (code !== 0) {
      found = this.#byText.get(code) ?? this.#read(code);
      this.#byText.set(code, found);
    }
    const added = this.#added.get(row);
    return added === undefined ? found : [...found, ...added];
  }

  #read(code: number): readonly Other[] {
    const { offsets } = this.#batch.texts;
    const bytes = this.#bytes;
    const found: Other[] = [];
    this.#walker.walk(bytes, offsets[code] as number, offsets[code + 1] as number, ({ number }, _name, value, end) => {
      const isText = bytes[value] === quote;
      const raw = isText ? bytes.subarray(value + 1, end - 1) : bytes.subarray(value, end);
      const isEscaped = isText && raw.includes(backslash);
      found.push({
        name: number,
        value: isEscaped ? Buffer.from(JSON.parse(bytes.toString("utf8", value, end)) as string) : raw,
      });
    });
    return found;
  }

  #numberOf(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#numbers.set(name, this.names.length);
    return this.names.push(name) - 1;
  }
}
