import type { ColumnType } from "../../record/index.ts";

/** A column of a file. */
export interface FileColumn {
  readonly name: string;
  readonly type: FileType;
  readonly isArray: boolean;
}

/** Types of values in files. Times are microseconds in UTC. */
export type FileType = Exclude<ColumnType, "address" | "unsigned">;

/** Numbers of the format: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift */
const physical = { boolean: 0, int64: 2, double: 5, bytes: 6 } as const;
export const encoding = { plain: 0, rle: 3, deltas: 5, dictionary: 8 } as const;
const repetition = { required: 0, optional: 1, repeated: 2 } as const;
const pageType = { data: 0, dictionary: 2 } as const;
const converted = { utf8: 0, list: 3, timestampMicros: 10 } as const;

const physicalTypes: Readonly<Record<FileType, number>> = {
  text: physical.bytes,
  integer: physical.int64,
  time: physical.int64,
  double: physical.double,
  boolean: physical.boolean,
};

/** The properties of a page of values. */
export interface PageContent {
  readonly encoding: number;
  /** The number of dictionary entries; 0: there is no dictionary. */
  readonly entries: number;
  readonly least: Uint8Array | undefined;
  readonly greatest: Uint8Array | undefined;
}

/** A column of a row group as it was written. */
export interface WrittenColumn {
  readonly column: FileColumn;
  readonly values: number;
  readonly nulls: number;
  readonly codec: number;
  readonly offset: number;
  readonly dictionaryBytes: number;
  readonly bytes: number;
  readonly rawBytes: number;
  readonly content: PageContent;
}

/** Writes the metadata of Parquet files. */
export class MetadataWriter {
  readonly #thrift = new ThriftWriter();

  /** @returns the header of a page with the entries of a dictionary. */
  dictionaryHeader(entries: number, rawLength: number, length: number): Buffer {
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

  /** @returns the header of a page of values. @param values entries of levels, including those without an item. */
  dataHeader(values: number, valueEncoding: number, rawLength: number, length: number): Buffer {
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

  /** @returns the footer of a file of one row group: its schema, the offsets of its columns, and their statistics. */
  footer(columns: readonly WrittenColumn[], rows: number, sortedBy: number | undefined): Buffer {
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
    // Declare the order of values to be that of their types: otherwise readers ignore the statistics.
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
  /** Undefined only for the root. */
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

/** Types of values in Thrift's compact protocol. */
const types = { isTrue: 1, isFalse: 2, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;
type ItemType = "i32" | "binary" | "struct";

/** Writes structures in the compact protocol of Apache Thrift, which Parquet uses for its metadata. */
class ThriftWriter {
  #bytes = Buffer.allocUnsafe(1024);
  #length = 0;
  /** The number of the last field of the structure that is being written. */
  #last = 0;

  /** @returns a copy of what was written. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    this.#last = 0;
    return taken;
  }

  /** Ends the outermost structure. */
  end(): void {
    this.#byte(0);
  }

  i32(id: number, value: number): void {
    this.#field(id, types.i32);
    this.#varint(2 * value);
  }

  i64(id: number, value: number): void {
    this.#field(id, types.i64);
    this.#varint(2 * value);
  }

  bool(id: number, value: boolean): void {
    this.#field(id, value ? types.isTrue : types.isFalse);
  }

  binary(id: number, value: Uint8Array | string): void {
    this.#field(id, types.binary);
    this.#binary(value);
  }

  struct(id: number, write: () => void): void {
    this.#field(id, types.struct);
    this.#struct(write);
  }

  i32List(id: number, values: readonly number[]): void {
    this.#list(id, "i32", values.length);
    for (const value of values) this.#varint(2 * value);
  }

  binaryList(id: number, values: readonly string[]): void {
    this.#list(id, "binary", values.length);
    for (const value of values) this.#binary(value);
  }

  structList<Item>(id: number, items: readonly Item[], write: (item: Item) => void): void {
    this.#list(id, "struct", items.length);
    for (const item of items) this.#struct(() => write(item));
  }

  #struct(write: () => void): void {
    const last = this.#last;
    this.#last = 0;
    write();
    this.#byte(0);
    this.#last = last;
  }

  #field(id: number, type: number): void {
    // Fields are written in the order of their numbers, which are less than 15 apart.
    this.#byte(((id - this.#last) << 4) | type);
    this.#last = id;
  }

  #list(id: number, type: ItemType, length: number): void {
    this.#field(id, types.list);
    if (length < 15) this.#byte((length << 4) | types[type]);
    else {
      this.#byte(0xf0 | types[type]);
      this.#varint(length);
    }
  }

  #binary(value: Uint8Array | string): void {
    const bytes = typeof value === "string" ? Buffer.from(value) : value;
    this.#varint(bytes.length);
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #varint(value: number): void {
    let left = value;
    for (; left >= 128; left = Math.floor(left / 128)) this.#byte((left % 128) | 128);
    this.#byte(left);
  }

  #byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#length + count));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
