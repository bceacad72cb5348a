import { unmapAddress, type Address } from "../../../base/ip/index.ts";

/** The hash of an address of four words below an object. The kernel of flows looks for addresses by the same one. */
export function hashOf(object: number, a: number, b: number, c: number, d: number): number {
  const mixed = Math.imul(
    d ^ Math.imul(c, 0x2c1b3c6d) ^ Math.imul(b, 0x297a2d39) ^ Math.imul(a, 0x1b873593),
    0x9e3779b1,
  );
  const hash = Math.imul(mixed ^ (mixed >>> 15) ^ object, 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

/** Whether the words are those of an IPv4 address. */
export function isIpv4(a: number, b: number, c: number): boolean {
  return c === 0xffff && a === 0 && b === 0;
}

/** The address of four words, unmapped. */
export function addressOf(a: number, b: number, c: number, d: number): Address {
  if (isIpv4(a, b, c)) return { family: 4, value: BigInt(d >>> 0) };
  const words = [a, b, c, d].map((word) => BigInt(word >>> 0));
  return unmapAddress({ family: 6, value: words.reduce((value, word) => (value << 32n) | word, 0n) });
}

/** An address as the key of a map: numbers are found faster than texts. */
export type AddressNumber = number | bigint;

export function addressNumber(a: number, b: number, c: number, d: number): AddressNumber {
  return isIpv4(a, b, c) ? d : addressOf(a, b, c, d).value;
}

/** The address of such a key, unmapped. */
export function addressOfNumber(number: AddressNumber): Address {
  return typeof number === "number" ? { family: 4, value: BigInt(number >>> 0) } : { family: 6, value: number };
}

/** Writes the four words of an address, IPv4 in its mapped form. */
export function setWords(words: Int32Array, { family, value }: Address): void {
  if (family === 4) {
    words.fill(0, 0, 2);
    words[2] = 0xffff;
    words[3] = Number(value);
    return;
  }
  for (let i = 0; i < 4; i++) words[i] = Number(BigInt.asUintN(32, value >> BigInt(96 - 32 * i)));
}
