import { unmapAddress, type Address, parseKey } from "../../base/ip/index.ts";
import { addressLayout } from "../../record/index.ts";

/** Reports whether the words are those of an IPv4 address. */
export function isIpv4(a: number, b: number, c: number): boolean {
  return c === 0xffff && a === 0 && b === 0;
}

/** Returns the address of four words, unmapped. */
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

/** Returns the address of such a key, unmapped. */
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

/** The scope in which an address means the same host. */
export type AddressScope = "private" | "public" | "multicast";

/**
 * The prefixes whose addresses mean nothing beyond an organisation's network, a link or a host: RFC 1918, RFC 6598 (shared by customers
 * of a carrier), RFC 4193 (unique local), RFC 3927 and RFC 4291 section 2.5.6 (link-local), loopback, `0.0.0.0/8`, the limited
 * broadcast and the unspecified address (RFC 6890).
 */
const privatePrefixes = prefixes(
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "169.254.0.0/16",
  "127.0.0.0/8",
  "0.0.0.0/8",
  "255.255.255.255",
  "fc00::/7",
  "fe80::/10",
  "::/127",
);

/** The multicast prefixes of RFC 5771 and RFC 4291 section 2.7. */
const multicastPrefixes = prefixes("224.0.0.0/4", "ff00::/8");

/** The marks by the first byte of an IPv4 address; 0 means that all such addresses are public. */
const hasSpecial = Uint8Array.from({ length: 256 }, (_, byte) =>
  [...privatePrefixes, ...multicastPrefixes].some(({ words, masks }) => {
    const mask = (masks[3] as number) & 0xff00_0000;
    return words[2] === 0xffff && ((byte << 24) & mask) === ((words[3] as number) & mask);
  })
    ? 1
    : 0,
);

/** Returns the scope of an address. @param a to d: the words of the address, IPv4 in its mapped form. */
export function addressScope(a: number, b: number, c: number, d: number): AddressScope {
  // Most addresses are public, and their first byte shows it.
  if (a === 0 && b === 0 && c === 0xffff && hasSpecial[d >>> 24] === 0) return "public";
  if (isIn(privatePrefixes, a, b, c, d)) return "private";
  return isIn(multicastPrefixes, a, b, c, d) ? "multicast" : "public";
}

function isIn(list: ReturnType<typeof prefixes>, a: number, b: number, c: number, d: number): boolean {
  for (const { words, masks } of list) {
    if (
      (d & (masks[3] as number)) === words[3] &&
      (c & (masks[2] as number)) === words[2] &&
      (b & (masks[1] as number)) === words[1] &&
      (a & (masks[0] as number)) === words[0]
    ) {
      return true;
    }
  }
  return false;
}

/** Returns prefixes in words: an address is in a prefix if its masked words equal those of the prefix. */
function prefixes(...texts: readonly string[]): { readonly words: Int32Array; readonly masks: Int32Array }[] {
  return texts.map((text) => {
    const { family, first, last } = parseKey(text);
    const words = new Int32Array(4);
    const masks = new Int32Array(4);
    setWords(words, { family, value: first });
    setWords(masks, { family, value: first ^ last });
    // The words before those of IPv4 belong to the prefix as a whole.
    if (family === 4) masks.fill(0, 0, 3);
    return { words, masks: masks.map((word) => ~word) };
  });
}

/** Addresses at places that are looked up together. */
export class AddressList {
  /** The positions of the objects, each with the number of its scope in the bits above. */
  readonly places: Int32Array;
  /** The numbers of the scopes. */
  readonly scopes: Int32Array;
  /** True if any address is in a scope. */
  hasScopes = false;
  /** Four words for each address. */
  readonly words: Int32Array;
  count = 0;

  /** @param size the most addresses. */
  constructor(size: number) {
    this.places = new Int32Array(size);
    this.scopes = new Int32Array(size);
    this.words = new Int32Array(4 * size);
  }

  add(place: number, a: number, b: number, c: number, d: number): void {
    const at = 4 * this.count;
    const scope = place >>> addressLayout.objectBits;
    this.hasScopes = scope !== 0 || (this.count > 0 && this.hasScopes);
    this.scopes[this.count] = scope;
    this.places[this.count++] = place;
    this.words[at] = a;
    this.words[at + 1] = b;
    this.words[at + 2] = c;
    this.words[at + 3] = d;
  }
}

/**
 * Copies UTF-8 text eight bytes at a time: for the short texts of fields this is many times faster than a call into the engine. It
 * copies doubles, because 64-bit integers are objects here. A double may only lose the bits of a NaN, which no such text has.
 */
export function copyBytes(from: DataView, start: number, end: number, into: DataView, at: number): void {
  const move = at - start;
  let i = start;
  for (; i + 8 <= end; i += 8) into.setFloat64(i + move, from.getFloat64(i, true), true);
  if (i + 4 <= end) {
    into.setInt32(i + move, from.getInt32(i, true), true);
    i += 4;
  }
  for (; i < end; i++) into.setUint8(i + move, from.getUint8(i));
}

/** Bytes that are copied often. */
export class Literal {
  readonly view: DataView;
  /** A field of its own, because a view takes many times longer to return it. */
  readonly length: number;

  constructor({ buffer, byteOffset, length }: Uint8Array) {
    this.view = new DataView(buffer, byteOffset, length);
    this.length = length;
  }
}
