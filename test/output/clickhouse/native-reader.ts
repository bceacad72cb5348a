/** A value of a row, as JSON would have it: 64-bit numbers as bigint, addresses as bytes, times as their number of units. */
export type NativeValue = string | bigint | number | boolean | null | readonly NativeValue[] | NativeMap;

export interface NativeMap {
  readonly [name: string]: NativeValue;
}

export interface NativeColumn {
  readonly name: string;
  readonly type: string;
  readonly values: readonly NativeValue[];
}

/**
 * Reads blocks of ClickHouse's format Native, by its documentation and by what the engine itself writes. It knows the types that
 * the output sends, and each in the plain way: one value after the other.
 */
export class NativeReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** @returns all blocks. @throws RangeError when the bytes end within one. */
  blocks(): (readonly NativeColumn[])[] {
    const found: (readonly NativeColumn[])[] = [];
    while (this.#at < this.#bytes.length) {
      const columns = this.#varint();
      const rows = this.#varint();
      found.push(
        Array.from({ length: columns }, () => {
          const name = this.#string();
          const type = this.#string();
          this.#prefix(type);
          return { name, type, values: this.#values(type, rows) };
        }),
      );
    }
    return found;
  }

  #take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw new RangeError("the block ends early");
    return this.#bytes.subarray(this.#at, (this.#at += length));
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const [byte = 0] = this.#take(1);
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  #string(): string {
    const bytes = this.#take(this.#varint());
    const text = bytes.toString();
    if (!Buffer.from(text).equals(bytes)) throw new Error("a text is no UTF-8");
    return text;
  }

  #uint64(): number {
    return Number(this.#take(8).readBigUInt64LE());
  }

  /** What stands before the values: the version of each dictionary in the type. */
  #prefix(type: string): void {
    for (let at = type.indexOf("LowCardinality("); at >= 0; at = type.indexOf("LowCardinality(", at + 1)) {
      if (this.#uint64() !== 1) throw new Error("the version of a dictionary is 1");
    }
  }

  #values(type: string, count: number): NativeValue[] {
    const [, outer = "", inner = ""] = /^(Array|Nullable|LowCardinality|Map)\((.*)\)$/.exec(type) ?? [];
    switch (outer) {
      case "Array": {
        const ends = this.#ends(count);
        const items = this.#values(inner, ends.at(-1) ?? 0);
        return ends.map((end, i) => items.slice(ends[i - 1] ?? 0, end));
      }
      case "Map": {
        const [key = "", value = ""] = inner.split(", ");
        const ends = this.#ends(count);
        const keys = this.#values(key, ends.at(-1) ?? 0);
        const values = this.#values(value, ends.at(-1) ?? 0);
        const pairs = keys.map((each, i): [string, NativeValue] => [each as string, values[i] ?? null]);
        return ends.map((end, i) => Object.fromEntries(pairs.slice(ends[i - 1] ?? 0, end)));
      }
      case "Nullable": {
        const nulls = this.#take(count);
        return this.#values(inner, count).map((value, i) => (nulls[i] === 1 ? null : value));
      }
      case "LowCardinality":
        return this.#dictionary(inner, count);
      default:
        return Array.from({ length: count }, () => this.#scalar(type));
    }
  }

  #ends(count: number): number[] {
    return Array.from({ length: count }, () => this.#uint64());
  }

  #dictionary(type: string, count: number): NativeValue[] {
    if (count === 0) return [];
    const kind = this.#uint64();
    if ((kind & ~0xff) !== 0x600) throw new Error(`a dictionary of its own keys is 0x6.., not ${kind}`);
    const width = 2 ** (kind & 0xff);
    const keys = this.#values(type, this.#uint64());
    if (this.#uint64() !== count) throw new Error("a dictionary has a code for each value");
    return Array.from({ length: count }, () => {
      const code = this.#take(width).readUIntLE(0, width);
      const value = keys[code];
      if (value === undefined) throw new RangeError(`the dictionary has no code ${code}`);
      return value;
    });
  }

  #scalar(type: string): NativeValue {
    if (type === "String") return this.#string();
    if (type === "IPv6") return this.#take(16).toString("hex");
    if (type === "IPv4") return [...this.#take(4)].toReversed().join(".");
    if (type === "Int64" || type.startsWith("DateTime64(")) return this.#take(8).readBigInt64LE();
    if (type === "UInt64") return this.#take(8).readBigUInt64LE();
    if (type === "Float64") return this.#take(8).readDoubleLE();
    if (type === "Bool") return this.#take(1)[0] === 1;
    throw new Error(`the reader knows no ${type}`);
  }
}
