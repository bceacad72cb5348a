import type { Address, Family, Key, KeyKind } from "../../base/ip/index.ts";

/** A key as words that compare as signed numbers: of each address the highest first, its highest bit flipped. */
export interface KeyWords {
  readonly first: Int32Array;
  readonly last: Int32Array;
  readonly written: Int32Array;
  /** Its place among kinds in lists: CIDR 0, range 1, IP 2. */
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

/** Of IPv4 only the first word is set. */
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

/** Sets an address of four plain words at a position of others, IPv4 in its mapped form. @returns its family. */
export function setPlainWords(words: Int32Array, plain: Int32Array, at: number): Family {
  if (plain[at] === 0 && plain[at + 1] === 0 && plain[at + 2] === 0xffff) {
    words[0] = (plain[at + 3] as number) ^ flip;
    return 4;
  }
  for (let w = 0; w < 4; w++) words[w] = (plain[at + w] as number) ^ flip;
  return 6;
}

/** The address back from its words. */
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
