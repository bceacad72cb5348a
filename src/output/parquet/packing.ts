/** A growing buffer for levels, indexes and values of a Parquet page, packed by bits. Bits are filled from the lowest one on. */
export class PageBytes {
  #bytes = Buffer.allocUnsafe(65_536);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  clear(): void {
    this.#length = 0;
  }

  /** @returns what was written, valid until the next `clear`. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  u32(value: number): void {
    this.#reserve(4);
    const bytes = this.#bytes;
    const at = this.#length;
    bytes[at] = value;
    bytes[at + 1] = value >>> 8;
    bytes[at + 2] = value >>> 16;
    bytes[at + 3] = value >>> 24;
    this.#length = at + 4;
  }

  /** @param value a whole number, less than 2^53 from 0. */
  int64(value: number): void {
    this.u32(value >>> 0);
    this.u32(Math.floor(value / 0x100000000) >>> 0);
  }

  bytes(from: Uint8Array): void {
    this.#reserve(from.length);
    this.#bytes.set(from, this.#length);
    this.#length += from.length;
  }

  copy(from: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    const bytes = this.#bytes;
    let at = this.#length;
    // Most texts are so short that a call of the engine takes longer.
    for (let i = start; i < end; i++) bytes[at++] = from[i] as number;
    this.#length = at;
  }

  /** @param value a whole number from 0 to 2^53 - 1. */
  varint(value: number): void {
    let left = value;
    for (; left >= 128; left = Math.floor(left / 128)) this.byte((left % 128) | 128);
    this.byte(left);
  }

  /** @param value a whole number, less than 2^52 from 0. */
  zigzag(value: number): void {
    this.varint(value >= 0 ? 2 * value : -2 * value - 1);
  }

  /** Writes levels as a data page begins with them: their length, then a run. */
  levels(values: Uint32Array, count: number, width: number): void {
    this.u32(0);
    const from = this.#length;
    this.run(values, count, width);
    this.#bytes.writeUInt32LE(this.#length - from, from - 4);
  }

  /** Writes levels like `levels`, where all are the same. */
  sameLevels(value: number, count: number): void {
    this.u32(0);
    const from = this.#length;
    this.sameRun(value, count);
    this.#bytes.writeUInt32LE(this.#length - from, from - 4);
  }

  /** Writes a run of one value, of up to eight bits. */
  sameRun(value: number, count: number): void {
    this.varint(2 * count);
    this.byte(value);
  }

  /** Writes a run of bit-packed values of a width in bits, in the encoding RLE. */
  run(values: Uint32Array, count: number, width: number): void {
    const groups = Math.ceil(count / 8);
    this.varint(2 * groups + 1);
    this.pack(values, 0, count, 8 * groups, width);
  }

  /** Packs `count` values from `from` on, and zeros up to `padded` values. @param width of each, up to 32. */
  pack(values: Uint32Array, from: number, count: number, padded: number, width: number): void {
    const length = (padded * width) >> 3;
    this.#reserve(length);
    const bytes = this.#bytes;
    let at = this.#length;
    const end = at + length;
    let pending = 0;
    let bits = 0;
    for (let i = from; i < from + count; i++) {
      const value = values[i] as number;
      pending |= value << bits;
      bits += width;
      if (bits < 32) continue;
      bytes[at] = pending;
      bytes[at + 1] = pending >>> 8;
      bytes[at + 2] = pending >>> 16;
      bytes[at + 3] = pending >>> 24;
      at += 4;
      bits -= 32;
      // Keep the bits that did not fit; a shift by 32 bits would do nothing.
      pending = bits === 0 ? 0 : value >>> (width - bits);
    }
    for (; bits > 0; bits -= 8, pending >>>= 8) bytes[at++] = pending;
    bytes.fill(0, at, end);
    this.#length = end;
  }

  /** Writes whole numbers that are close to each other by their differences: the encoding DELTA_BINARY_PACKED. Each is less than 2^51 from 0. */
  deltas(values: Float64Array, count: number): void {
    this.varint(blockValues);
    this.varint(miniBlocks);
    this.varint(count);
    this.zigzag(count > 0 ? (values[0] as number) : 0);
    for (let at = 1; at < count; at += blockValues) this.#deltaBlock(values, at, Math.min(count, at + blockValues));
  }

  #deltaBlock(values: Float64Array, from: number, to: number): void {
    let least = Number.POSITIVE_INFINITY;
    for (let i = from; i < to; i++) {
      const difference = (values[i] as number) - (values[i - 1] as number);
      if (difference < least) least = difference;
    }
    this.zigzag(least);
    const widthsAt = this.#length;
    for (let i = 0; i < miniBlocks; i++) this.byte(0);
    for (let mini = 0, at = from; at < to; mini++, at += miniValues) {
      const end = Math.min(to, at + miniValues);
      let largest = 0;
      for (let i = at; i < end; i++) {
        const rest = (values[i] as number) - (values[i - 1] as number) - least;
        if (rest > largest) largest = rest;
        const high = Math.floor(rest / 0x1000000);
        lows[i - at] = rest - high * 0x1000000;
        highs[i - at] = high;
      }
      const width = bitWidth(largest);
      this.#bytes[widthsAt + mini] = width;
      if (width <= 24) this.pack(lows, 0, end - at, miniValues, width);
      else this.#packWide(end - at, width);
    }
  }

  /** Packs values of more than 24 bits, in two parts. */
  #packWide(count: number, width: number): void {
    let pending = 0;
    let bits = 0;
    const put = (value: number, valueBits: number): void => {
      pending |= value << bits;
      for (bits += valueBits; bits >= 8; bits -= 8) {
        this.byte(pending & 255);
        pending >>>= 8;
      }
    };
    for (let i = 0; i < miniValues; i++) {
      const high = i < count ? (highs[i] as number) : 0;
      put(i < count ? (lows[i] as number) : 0, 24);
      put(high % 0x1000000, Math.min(24, width - 24));
      if (width > 48) put(Math.floor(high / 0x1000000), width - 48);
    }
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#length + count));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** Values of a block of differences, and its number of parts with a width of their own. */
const blockValues = 128;
const miniBlocks = 4;
const miniValues = blockValues / miniBlocks;
const lows = new Uint32Array(miniValues);
const highs = new Float64Array(miniValues);

/** Returns the number of bits of a whole number from 0 to 2^53 - 1. */
export function bitWidth(value: number): number {
  return value < 0x100000000 ? 32 - Math.clz32(value) : 64 - Math.clz32(Math.floor(value / 0x100000000));
}
