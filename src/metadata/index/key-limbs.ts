import type { Address, Family, Key, KeyKind } from "../../base/ip/index.ts";

/** A key as words that compare as signed numbers. Each address has its highest word first, and each word has its highest bit flipped. */
export interface KeyWords {
  readonly first: Int32Array;
  readonly last: Int32Array;
  readonly written: Int32Array;
  /** The rank of its kind in lists: CIDR 0, range 1, IP 2. */
  rank: number;
}

const ranks: Readonly<Record<KeyKind, number>> = { cidr: 0, range: 1, ip: 2 };
const flip = 0x8000_0000;

export function createKeyWords(): KeyWords {
  return { first: new Int32Array(4), last: new Int32Array(4), written: new Int32Array(4), rank: 0 };
}

export function setKeyWords(words: KeyWords, key: Key): KeyWords {
  setAddressWords(words.first, key.family, key.first);
  setAddressWords(words.last, key.family, key.last);
  setAddressWords(words.written, key.family, key.written);
  words.rank = ranks[key.kind];
  return words;
}

export function addressWords({ family, value }: Address): Int32Array {
  const words = new Int32Array(4);
  setAddressWords(words, family, value);
  return words;
}

/** Sets the words of an address. For IPv4 it sets only the first word. */
export function setAddressWords(words: Int32Array, family: Family, value: bigint): void {
  if (family === 4) {
    words[0] = Number(value) ^ flip;
    return;
  }
  words[0] = Number(value >> 96n) ^ flip;
  words[1] = Number(BigInt.asUintN(32, value >> 64n)) ^ flip;
  words[2] = Number(BigInt.asUintN(32, value >> 32n)) ^ flip;
  words[3] = Number(BigInt.asUintN(32, value)) ^ flip;
}

/** Sets the words from four plain words at a position, IPv4 in its mapped form. @returns the family. */
export function setPlainWords(words: Int32Array, plain: Int32Array, at: number): Family {
  if (plain[at] === 0 && plain[at + 1] === 0 && plain[at + 2] === 0xffff) {
    words[0] = (plain[at + 3] as number) ^ flip;
    return 4;
  }
  for (let w = 0; w < 4; w++) words[w] = (plain[at + w] as number) ^ flip;
  return 6;
}

/** Returns the address of words. */
export function addressValue(words: Int32Array, family: Family): bigint {
  let value = 0n;
  for (let w = 0; w < (family === 4 ? 1 : 4); w++) value = (value << 32n) | BigInt(((words[w] as number) ^ flip) >>> 0);
  return value;
}

/** Reads 4 or 16 bytes in network order. */
export function setBytesWords(words: Int32Array, family: Family, bytes: Uint8Array, offset: number): void {
  const count = family === 4 ? 1 : 4;
  for (let i = 0; i < count; i++) {
    const at = offset + 4 * i;
    const high = (bytes[at] as number) ^ 0x80;
    words[i] =
      (high << 24) | ((bytes[at + 1] as number) << 16) | ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number);
  }
}

const dot = 0x2e;
const slash = 0x2f;
const colon = 0x3a;
const dash = 0x2d;

/** Reads keys in canonical text from bytes, without creating strings or big integers. */
export class KeyScanner {
  readonly #bytes: Uint8Array;
  readonly words = createKeyWords();
  readonly #groups = new Int32Array(8);
  #family: Family = 4;
  #width = 1;
  #at = 0;

  /** Creates a scanner. It accepts only keys that {@link parseKey} accepts, with the same meaning. */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Returns the family of the key that was read last. */
  get family(): Family {
    return this.#family;
  }

  /** Reports whether it is a prefix whose address as written is not the first of its network. */
  hasHostBits(): boolean {
    if (this.words.rank !== 0) return false;
    for (let w = 0; w < this.#width; w++) if (this.words.first[w] !== this.words.written[w]) return true;
    return false;
  }

  /** Reads the key that starts here. @returns the offset after it; -1 where there is no key in canonical text. */
  scan(start: number): number {
    this.#at = start;
    this.#family = this.#isIpv4() ? 4 : 6;
    this.#width = this.#family === 4 ? 1 : 4;
    if (!this.#address(this.words.written)) return -1;
    if (this.#bytes[this.#at] === slash) {
      this.#at++;
      const length = this.#decimal(3);
      if (length < 0 || length > 32 * this.#width) return -1;
      this.words.rank = 0;
      this.#setNetwork(length);
      return this.#at;
    }
    for (let w = 0; w < this.#width; w++) this.words.first[w] = this.words.last[w] = this.words.written[w] as number;
    this.words.rank = 2;
    if (this.#bytes[this.#at] !== dash) return this.#at;
    this.#at++;
    this.words.rank = 1;
    if (this.#isIpv4() !== (this.#family === 4)) return -1;
    return this.#address(this.words.last) && !this.#isBackward() ? this.#at : -1;
  }

  /** Reads a decimal number of at most this many digits, without leading zeros; returns -1 for none. */
  #decimal(digits: number): number {
    const start = this.#at;
    let value = 0;
    for (; this.#at < start + digits; this.#at++) {
      const digit = (this.#bytes[this.#at] as number) - 0x30;
      if (!(digit >= 0 && digit <= 9)) break;
      if (this.#at > start && value === 0) return -1;
      value = value * 10 + digit;
    }
    return this.#at === start ? -1 : value;
  }

  #ipv4(into: Int32Array): boolean {
    let value = 0;
    for (let part = 0; part < 4; part++) {
      if (part > 0 && this.#bytes[this.#at++] !== dot) return false;
      const number = this.#decimal(3);
      if (number < 0 || number > 255) return false;
      value = (value << 8) | number;
    }
    into[0] = value ^ flip;
    return true;
  }

  /** Reads a group of an IPv6 address; returns -1 for none. */
  #group(): number {
    const start = this.#at;
    let value = 0;
    for (; this.#at < start + 4; this.#at++) {
      const digit = hexDigit(this.#bytes[this.#at]);
      if (digit < 0) break;
      if (this.#at > start && value === 0) return -1;
      value = (value << 4) | digit;
    }
    return this.#at === start ? -1 : value;
  }

  #ipv6(into: Int32Array): boolean {
    let count = 0;
    let gap = -1;
    if (this.#bytes[this.#at] === colon) {
      if (this.#bytes[this.#at + 1] !== colon) return false;
      gap = 0;
      this.#at += 2;
    }
    while (count < 8) {
      if (gap === count && hexDigit(this.#bytes[this.#at]) < 0) break;
      const value = this.#group();
      if (value < 0) return false;
      this.#groups[count++] = value;
      if (this.#bytes[this.#at] !== colon) break;
      if (this.#bytes[this.#at + 1] === colon) {
        if (gap >= 0) break;
        gap = count;
        this.#at += 2;
      } else {
        // The last colon may be the one after the key.
        if (count === 8 || hexDigit(this.#bytes[this.#at + 1]) < 0) break;
        this.#at++;
      }
    }
    if (gap < 0 ? count !== 8 : count > 6) return false;
    if (gap >= 0) {
      this.#groups.copyWithin(gap + 8 - count, gap, count);
      this.#groups.fill(0, gap, gap + 8 - count);
    }
    if (!isCanonicalGap(this.#groups, gap, 8 - count)) return false;
    for (let w = 0; w < 4; w++)
      into[w] = ((this.#groups[2 * w] as number) << 16) ^ (this.#groups[2 * w + 1] as number) ^ flip;
    return true;
  }

  #address(into: Int32Array): boolean {
    return this.#family === 4 ? this.#ipv4(into) : this.#ipv6(into);
  }

  #setNetwork(length: number): void {
    for (let w = 0; w < this.#width; w++) {
      const bits = Math.min(Math.max(length - 32 * w, 0), 32);
      const hostMask = bits === 32 ? 0 : -1 >>> bits;
      // Flip the highest bit back before the mask, and again after it.
      const plain = (this.words.written[w] as number) ^ flip;
      this.words.first[w] = (plain & ~hostMask) ^ flip;
      this.words.last[w] = (plain | hostMask) ^ flip;
    }
  }

  #isBackward(): boolean {
    for (let w = 0; w < this.#width; w++) {
      const difference = (this.words.last[w] as number) - (this.words.first[w] as number);
      if (difference !== 0) return difference < 0;
    }
    return false;
  }

  #isIpv4(): boolean {
    for (let i = this.#at; i < this.#at + 4; i++) if (this.#bytes[i] === dot) return true;
    return false;
  }
}

/** Returns the value of a hexadecimal digit, in lower case only, as in canonical text. */
function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  return byte >= 0x61 && byte <= 0x66 ? byte - 0x57 : -1;
}

/**
 * Reports whether `::` is canonical by RFC 5952, section 4.2: it replaces the first of the longest runs of two or more zero groups.
 * An address with a dotted tail is not accepted.
 */
function isCanonicalGap(groups: Int32Array, gap: number, gapLength: number): boolean {
  let best = -1;
  let bestLength = 1;
  let length = 0;
  for (let i = 0; i < 8; i++) {
    length = groups[i] === 0 ? length + 1 : 0;
    if (length > bestLength) {
      bestLength = length;
      best = i - length + 1;
    }
  }
  if (best === 0 && bestLength === 5 && groups[5] === 0xffff) return false;
  return best === gap && (gap < 0 || bestLength === gapLength);
}
