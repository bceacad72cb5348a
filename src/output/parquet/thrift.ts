/** Types of values in Thrift's compact protocol. */
const types = { isTrue: 1, isFalse: 2, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;
type ItemType = "i32" | "binary" | "struct";

/** Writes structures in the compact protocol of Apache Thrift, in which files of Parquet say what is in them. */
export class ThriftWriter {
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

  /** Ends the structure that was begun first. */
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
