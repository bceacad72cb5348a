import type { DataChunk } from "@duckdb/node-bindings";
import type { TextTable } from "../../record/index.ts";
import { blockRows, hasValue, isAddress4, type Block, type BlockColumn } from "../block.ts";
import type { Column } from "../column.ts";
import type { DuckDb } from "./duckdb-instance.ts";
import { sqlType } from "./duckdb-table.ts";

/** The number of words of a text in a vector: its length, and its bytes. A long text has its first four bytes and a pointer to all of them. */
const entryWords = 4;
const entryBytes = 16;
/** Maximum length of a text inside its entry. */
const inlineText = 12;
const addressBytes = 16;
const two32 = 2 ** 32;
const noRows = new Uint8Array(blockRows / 8);

/** The two hexadecimal digits of each byte as a word, the higher digit in the lower byte. */
const hexWords = Uint32Array.from({ length: 256 }, (_, byte) => {
  const [high, low] = byte.toString(16).padStart(2, "0");
  return (high as string).charCodeAt(0) | ((low as string).charCodeAt(0) << 8);
});

/** Texts of rows that are not in their lines: the digits of IPv6 addresses. */
class FurtherTexts {
  #bytes = Buffer.allocUnsafe(65_536);
  #length = 0;
  readonly #offsets: number[] = [0];

  table(): TextTable {
    return {
      count: this.#offsets.length - 1,
      offsets: Uint32Array.from(this.#offsets),
      bytes: this.#bytes.subarray(0, this.#length),
    };
  }

  clear(): void {
    this.#length = 0;
    this.#offsets.length = 1;
  }

  /** Returns the codes of the rows of an address column; undefined for any other column. */
  codesOf(column: BlockColumn, rows: number): Uint32Array | undefined {
    if (column.column.type !== "address") return undefined;
    const data = column.data as Uint8Array;
    const codes = new Uint32Array(rows);
    for (let row = 0; row < rows; row++) {
      if (hasValue(column, row) && !isAddress4(data, row)) codes[row] = this.#address(data, row);
    }
    return codes;
  }

  #address(data: Uint8Array, row: number): number {
    return this.#add(
      Buffer.from(Buffer.from(data.subarray(addressBytes * row, addressBytes * (row + 1))).toString("hex"), "latin1"),
    );
  }

  #add(text: Buffer): number {
    const end = this.#length + text.length;
    if (end > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(2 * end);
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    text.copy(this.#bytes, this.#length);
    this.#length = end;
    return this.#offsets.push(end) - 2;
  }
}

/** Converts blocks to DuckDB chunks: the columns, then the weight. */
export class ChunkWriter {
  readonly #bindings: DuckDb["bindings"];
  readonly #columns: readonly Column[];
  readonly #chunk: DataChunk;
  /** Holds the texts of a block, each table as one value. The entries of long texts point to it. */
  readonly #heap: DataChunk;
  readonly #further = new FurtherTexts();
  /** Entries of one column. */
  readonly #words = new Uint32Array(entryWords * blockRows);

  constructor({ bindings }: DuckDb, columns: readonly Column[]) {
    this.#bindings = bindings;
    this.#columns = columns;
    const { Type } = bindings;
    const ids: Readonly<Record<string, number>> = {
      VARCHAR: Type.VARCHAR,
      BIGINT: Type.BIGINT,
      UBIGINT: Type.UBIGINT,
      DOUBLE: Type.DOUBLE,
      BOOLEAN: Type.BOOLEAN,
      TIMESTAMP_NS: Type.TIMESTAMP_NS,
    };
    const own = columns.map((column) => bindings.create_logical_type(ids[sqlType(column)] as number));
    this.#chunk = bindings.create_data_chunk([...own, bindings.create_logical_type(Type.UINTEGER)]);
    this.#heap = bindings.create_data_chunk([bindings.create_logical_type(Type.BLOB)]);
  }

  /** Returns a chunk that is valid until the next call. A column that the block lacks has no values. */
  write({ rows, weights, columns }: Block): DataChunk {
    const bindings = this.#bindings;
    const chunk = this.#chunk;
    bindings.data_chunk_reset(chunk);
    this.#further.clear();
    const codes = new Map(columns.map((column) => [column, this.#further.codesOf(column, rows)]));
    const further = this.#further.table();
    const entries = this.#entriesOf(new Set([further, ...columns.map(({ texts }) => texts)]));
    const byField = new Map(columns.map((each) => [each.column.field, each]));
    for (const [i, { field }] of this.#columns.entries()) {
      const vector = bindings.data_chunk_get_vector(chunk, i);
      const source = byField.get(field);
      const count = source?.count ?? 0;
      if (count < rows) {
        bindings.vector_ensure_validity_writable(vector);
        const { buffer, byteOffset } = source?.presence ?? noRows;
        bindings.copy_data_to_vector_validity(vector, 0, buffer as ArrayBuffer, byteOffset, Math.ceil(rows / 8));
      }
      if (source === undefined) continue;
      const { data, texts } = source;
      const { type } = source.column;
      const own = codes.get(source);
      if (own !== undefined) this.#putTexts(own, entries.get(further) as Uint32Array);
      else if (type === "text") this.#putTexts(data as Uint32Array, entries.get(texts) as Uint32Array);
      if (type === "address") this.#putAddresses4(data as Uint8Array, rows);
      const from: ArrayBufferView = own !== undefined || type === "text" ? this.#words : data;
      const width = from === this.#words ? entryBytes : data.BYTES_PER_ELEMENT;
      bindings.copy_data_to_vector(vector, 0, from.buffer as ArrayBuffer, from.byteOffset, width * rows);
    }
    const vector = bindings.data_chunk_get_vector(chunk, this.#columns.length);
    bindings.copy_data_to_vector(vector, 0, weights.buffer as ArrayBuffer, weights.byteOffset, 4 * rows);
    bindings.data_chunk_set_size(chunk, rows);
    return chunk;
  }

  /** Copies the bytes of texts to the heap, and returns the entries of each table. */
  #entriesOf(tables: ReadonlySet<TextTable>): ReadonlyMap<TextTable, Uint32Array> {
    const bindings = this.#bindings;
    bindings.data_chunk_reset(this.#heap);
    const vector = bindings.data_chunk_get_vector(this.#heap, 0);
    for (const [i, { bytes }] of [...tables].entries()) bindings.vector_assign_string_element_len(vector, i, bytes);
    const heap = bindings.vector_get_data(vector, entryBytes * tables.size).slice();
    const places = new Uint32Array(heap.buffer, heap.byteOffset);
    return new Map([...tables].map((table, i) => [table, entriesAt(table, places.subarray(entryWords * i))]));
  }

  #putTexts(codes: Uint32Array, entries: Uint32Array): void {
    const words = this.#words;
    for (let row = 0, to = 0; row < codes.length; row++, to += entryWords) {
      const from = entryWords * (codes[row] as number);
      words[to] = entries[from] as number;
      words[to + 1] = entries[from + 1] as number;
      words[to + 2] = entries[from + 2] as number;
      words[to + 3] = entries[from + 3] as number;
    }
  }

  /** Writes the eight digits of IPv4 addresses. */
  #putAddresses4(data: Uint8Array, rows: number): void {
    const words = this.#words;
    const hex = (at: number): number =>
      (hexWords[data[at] as number] as number) | ((hexWords[data[at + 1] as number] as number) << 16);
    for (let row = 0; row < rows; row++) {
      if (!isAddress4(data, row)) continue;
      words[entryWords * row] = 8;
      words[entryWords * row + 1] = hex(addressBytes * row + 12);
      words[entryWords * row + 2] = hex(addressBytes * row + 14);
      words[entryWords * row + 3] = 0;
    }
  }
}

/** Returns the entries of the texts of a table. @param place the entry of the whole table as one text. */
function entriesAt({ count, offsets, bytes }: TextTable, place: Uint32Array): Uint32Array {
  const words = new Uint32Array(entryWords * count);
  const target = new Uint8Array(words.buffer);
  const [low, high] = [place[2] as number, place[3] as number];
  for (let code = 0, word = 0; code < count; code++, word += entryWords) {
    const from = offsets[code] as number;
    const length = (offsets[code + 1] as number) - from;
    words[word] = length;
    const copied = length > inlineText ? 4 : length;
    for (let i = 0; i < copied; i++) target[4 * word + 4 + i] = bytes[from + i] as number;
    if (length <= inlineText) continue;
    const at = low + from;
    words[word + 2] = at;
    words[word + 3] = high + (at >= two32 ? 1 : 0);
  }
  return words;
}
