import { parseKey } from "../../../base/ip/index.ts";
import { setWords } from "./address-words.ts";

/** How far an address means the same host. */
export type AddressScope = "private" | "public" | "multicast";

/** A prefix by words: an address is in it when its words, masked, are these. */
interface Prefix {
  readonly words: Int32Array;
  readonly masks: Int32Array;
}

/**
 * Addresses that mean nothing beyond an organisation's network, or beyond a link or host: RFC 1918, RFC 6598 (shared by
 * customers of a carrier), RFC 4193 (unique local), RFC 3927 and RFC 4291 section 2.5.6 (link-local), loopback, `0.0.0.0/8`,
 * the limited broadcast and the unspecified address (RFC 6890).
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

/** RFC 5771, RFC 4291 section 2.7. */
const multicastPrefixes = prefixes("224.0.0.0/4", "ff00::/8");

/** By the first byte of an IPv4 address: 0 where all are public. */
const hasSpecial = Uint8Array.from({ length: 256 }, (_, byte) =>
  [...privatePrefixes, ...multicastPrefixes].some(({ words, masks }) => {
    const mask = (masks[3] as number) & 0xff00_0000;
    return words[2] === 0xffff && ((byte << 24) & mask) === ((words[3] as number) & mask);
  })
    ? 1
    : 0,
);

/** @param a to d: the words of the address, IPv4 in its mapped form. */
export function addressScope(a: number, b: number, c: number, d: number): AddressScope {
  // Most addresses are public, and their first byte shows it.
  if (a === 0 && b === 0 && c === 0xffff && hasSpecial[d >>> 24] === 0) return "public";
  if (isIn(privatePrefixes, a, b, c, d)) return "private";
  return isIn(multicastPrefixes, a, b, c, d) ? "multicast" : "public";
}

function isIn(list: readonly Prefix[], a: number, b: number, c: number, d: number): boolean {
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

function prefixes(...texts: readonly string[]): Prefix[] {
  return texts.map((text) => {
    const { family, first, last } = parseKey(text);
    const words = new Int32Array(4);
    const masks = new Int32Array(4);
    setWords(words, { family, value: first });
    setWords(masks, { family, value: first ^ last });
    // The words before those of IPv4 are all of its prefix.
    if (family === 4) masks.fill(0, 0, 3);
    return { words, masks: masks.map((word) => ~word) };
  });
}
