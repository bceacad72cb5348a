import { quote } from "../text/index.ts";

/** IP version. */
export type Family = 4 | 6;

/** Returns the width of an address of the family in bits. */
export function familyBits(family: Family): 32 | 128 {
  return family === 4 ? 32 : 128;
}

/** An IP address: its family and its value as an unsigned integer of 32 or 128 bits. */
export interface Address {
  readonly family: Family;
  readonly value: bigint;
}

/**
 * Reads an address in strict text form: IPv4 dotted decimal of four parts without leading zeros, or IPv6 in any form
 * of RFC 4291 section 2.2, letters in either case. Zone ids, blanks, brackets, octal and short forms are not addresses.
 *
 * @returns undefined when the text is not an address.
 */
export function parseAddress(text: string): Address | undefined {
  if (text.includes(":")) {
    const value = parseIpv6(text);
    return value === undefined ? undefined : { family: 6, value };
  }
  const value = parseIpv4(text);
  return value === undefined ? undefined : { family: 4, value: BigInt(value) };
}

/** Returns the canonical text: dotted decimal, or RFC 5952. An IPv4-mapped address keeps its dotted tail (section 5). */
export function formatAddress(address: Address): string {
  return address.family === 4 ? formatIpv4(Number(address.value)) : formatIpv6(address.value);
}

const mappedPrefix = 0xffffn << 32n;

/**
 * Returns the address under which a record's address is looked up. An IPv4-mapped IPv6 address (`::ffff:a.b.c.d`, RFC 4291 section 2.5.5.2) becomes the
 * IPv4 address. Any other stays unchanged.
 */
export function unmapAddress(address: Address): Address {
  if (address.family === 6 && address.value >> 32n === 0xffffn) {
    return { family: 4, value: address.value - mappedPrefix };
  }
  return address;
}

function parseIpv4(text: string): number | undefined {
  let value = 0;
  let part = 0;
  let digits = 0;
  let parts = 1;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x2e) {
      if (digits === 0 || parts === 4) return undefined;
      value = value * 256 + part;
      part = 0;
      digits = 0;
      parts++;
    } else if (code >= 0x30 && code <= 0x39) {
      if (digits > 0 && part === 0) return undefined;
      part = part * 10 + code - 0x30;
      if (part > 255) return undefined;
      digits++;
    } else {
      return undefined;
    }
  }
  return parts === 4 && digits > 0 ? value * 256 + part : undefined;
}

/** Reads the 16-bit groups of one side of a `::`; a dotted tail gives two groups. Returns undefined for a malformed text. */
function parseGroups(text: string, mayEndInIpv4: boolean): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [i, part] of parts.entries()) {
    if (mayEndInIpv4 && i === parts.length - 1 && part.includes(".")) {
      const ipv4 = parseIpv4(part);
      if (ipv4 === undefined) return undefined;
      groups.push(Math.floor(ipv4 / 0x10000), ipv4 % 0x10000);
    } else if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(Number.parseInt(part, 16));
    } else {
      return undefined;
    }
  }
  return groups;
}

function parseIpv6(text: string): bigint | undefined {
  // The longest form has 45 characters; a longer text is not worth splitting.
  if (text.length > 45) return undefined;
  const gap = text.indexOf("::");
  let groups: number[] | undefined;
  if (gap < 0) {
    groups = parseGroups(text, true);
  } else {
    const head = parseGroups(text.slice(0, gap), false);
    const tail = parseGroups(text.slice(gap + 2), true);
    if (head === undefined || tail === undefined || head.length + tail.length > 7) return undefined;
    groups = [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
  }
  if (groups?.length !== 8) return undefined;
  return groups.reduce((value, group) => (value << 16n) | BigInt(group), 0n);
}

function formatIpv4(value: number): string {
  return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`;
}

function formatIpv6(value: bigint): string {
  if (value >> 32n === 0xffffn) return `::ffff:${formatIpv4(Number(value & 0xffffffffn))}`;
  const groups: number[] = [];
  for (let shift = 112n; shift >= 0n; shift -= 16n) groups.push(Number((value >> shift) & 0xffffn));
  return formatIpv6Groups(groups);
}

/** Formats groups by RFC 5952 section 4: lower case, no leading zeros, and `::` for the first longest run of at least two zero groups. */
function formatIpv6Groups(groups: readonly number[]): string {
  let bestStart = -1;
  let bestLength = 1;
  for (let i = 0; i < 8; i++) {
    let end = i;
    while (end < 8 && groups[end] === 0) end++;
    if (end - i > bestLength) {
      bestStart = i;
      bestLength = end - i;
    }
    if (end > i) i = end;
  }
  const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(":");
  if (bestStart < 0) return hex(groups);
  return `${hex(groups.slice(0, bestStart))}::${hex(groups.slice(bestStart + bestLength))}`;
}

/**
 * Returns the canonical text of an address in network byte order at `offset`, without building an {@link Address}. Decoders call it for every record.
 * The caller has checked that 4 or 16 bytes are there.
 */
export function formatAddressBytes(bytes: Uint8Array, offset: number, family: Family): string {
  if (family === 4) return `${bytes[offset]}.${bytes[offset + 1]}.${bytes[offset + 2]}.${bytes[offset + 3]}`;
  const groups: number[] = [];
  for (let i = offset; i < offset + 16; i += 2) groups.push(((bytes[i] as number) << 8) | (bytes[i + 1] as number));
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  return isMapped ? `::ffff:${formatAddressBytes(bytes, offset + 12, 4)}` : formatIpv6Groups(groups);
}

/** Thrown for a text that is not a key. The message names the text as given, quoted and cut at 128 characters. */
export class KeyError extends Error {
  readonly code = "bad_key";

  /**
   * @param why the fault. A blank or an invisible character in the text is named instead, because it is easily overlooked.
   * @param mayHaveBlanks true if such keys may contain blanks.
   */
  constructor(text: string, why: string, mayHaveBlanks = false) {
    super(`key ${quote(text)} ${(mayHaveBlanks ? undefined : unseenFault(text)) ?? why}`);
    this.name = "KeyError";
  }
}

function unseenFault(text: string): string | undefined {
  const [, before = "", unseen, after = ""] = /^(.*?)([\s\p{Cf}])[\s\p{Cf}]*(.*)$/su.exec(text) ?? [];
  if (unseen === undefined) return undefined;
  const kind = /\s/u.test(unseen) ? "a blank" : "an invisible character";
  const number = (unseen.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const what = `${kind} (${blankNames[unseen] ?? `U+${number}`})`;
  if (before === "") return `begins with ${what}, which no key has`;
  if (after === "") return `ends with ${what}, which no key has`;
  return `has ${what} after ${quote(before)}, which no key has`;
}

const blankNames: Readonly<Record<string, string>> = {
  " ": "space",
  "\t": "tab",
  "\n": "line feed",
  "\r": "carriage return",
  "\u00a0": "no-break space",
};

export type KeyKind = "ip" | "cidr" | "range";

/**
 * The key of a metadata entry: an address, a prefix or a range. Two keys are equal when kind and value are. So `10.0.0.1`, `10.0.0.1/32` and
 * `10.0.0.1-10.0.0.1` are three keys.
 */
export interface Key {
  readonly kind: KeyKind;
  readonly family: Family;
  /** First address covered. */
  readonly first: bigint;
  /** Last address covered. */
  readonly last: bigint;
  /** The address as written: for a prefix it may have host bits set, else it equals `first`. */
  readonly written: bigint;
  /** Canonical text; equal keys have equal text. */
  readonly text: string;
}

/**
 * Reads `IP`, `CIDR` or `<from>-<to>`. Accepts what Go's netip.ParseAddr, netip.ParsePrefix and netipx.ParseIPRange accept, without zones. A prefix may
 * have host bits set; it covers its network.
 *
 * A key whose addresses are all IPv4-mapped becomes the IPv4 key, because records' addresses are looked up as IPv4 ({@link unmapAddress}). A prefix
 * shorter than /96 and a range beyond the mapped addresses stay IPv6.
 *
 * @throws KeyError naming the text as given.
 */
export function parseKey(text: string): Key {
  if (text === "") throw new KeyError(text, "is empty: expected an IP address, a CIDR or a range <from>-<to>");
  if (text.includes("/")) return parseCidr(text);
  if (text.includes("-")) return parseRange(text);
  const address = parseAddress(text);
  if (address === undefined) throw new KeyError(text, "is not an IP address, a CIDR or a range <from>-<to>");
  return addressKey(address);
}

/** Reports whether a text that was read as this key uses IPv4-mapped addresses: `::ffff:192.0.2.1`. */
export function isMappedSpelling(text: string, { family }: Key): boolean {
  return family === 4 && text.includes(":");
}

/** Returns the network of a prefix with host bits as text: `10.20.30.0/24` for `10.20.30.40/24`. Undefined for all other keys. */
export function networkOfKey({ kind, family, first, written, text }: Key): string | undefined {
  if (kind !== "cidr" || written === first) return undefined;
  return `${formatAddress({ family, value: first })}${text.slice(text.indexOf("/"))}`;
}

/** Returns the key of kind `ip` for an address. An IPv4-mapped address gives the key of the IPv4 address. */
export function addressKey(address: Address): Key {
  const unmapped = unmapAddress(address);
  const { family, value } = unmapped;
  return { kind: "ip", family, first: value, last: value, written: value, text: formatAddress(unmapped) };
}

function parseCidr(text: string): Key {
  const slash = text.lastIndexOf("/");
  const address = parseAddress(text.slice(0, slash));
  if (address === undefined) throw new KeyError(text, "is not a CIDR: the part before the slash is not an IP address");
  const lengthText = text.slice(slash + 1);
  const bits = familyBits(address.family);
  const length = Number(lengthText);
  if (!/^(0|[1-9][0-9]{0,2})$/.test(lengthText) || length > bits) {
    throw new KeyError(text, `is not a CIDR: the prefix length must be 0 to ${bits}`);
  }
  const isMapped = length >= mappedBits && unmapAddress(address).family !== address.family;
  return isMapped ? prefixKey(unmapAddress(address), length - mappedBits) : prefixKey(address, length);
}

/** Number of leading bits that all IPv4-mapped addresses share. */
const mappedBits = 96;

function prefixKey(address: Address, length: number): Key {
  const { family, value } = address;
  const hostBits = BigInt(familyBits(family) - length);
  const first = (value >> hostBits) << hostBits;
  const last = first + (1n << hostBits) - 1n;
  return { kind: "cidr", family, first, last, written: value, text: `${formatAddress(address)}/${length}` };
}

function parseRange(text: string): Key {
  const dash = text.indexOf("-");
  const before = parseAddress(text.slice(0, dash));
  const after = parseAddress(text.slice(dash + 1));
  if (before === undefined) throw new KeyError(text, "is not a range: the part before the dash is not an IP address");
  if (after === undefined) throw new KeyError(text, "is not a range: the part after the dash is not an IP address");
  const areMapped = unmapAddress(before).family === 4 && unmapAddress(after).family === 4;
  const [from, to] = areMapped ? [unmapAddress(before), unmapAddress(after)] : [before, after];
  if (from.family !== to.family) throw new KeyError(text, "is not a range: its ends are of different families");
  if (from.value > to.value) throw new KeyError(text, "is not a range: it starts after its end");
  const { family, value: first } = from;
  return {
    kind: "range",
    family,
    first,
    last: to.value,
    written: first,
    text: `${formatAddress(from)}-${formatAddress(to)}`,
  };
}

const listRank: Readonly<Record<KeyKind, number>> = { cidr: 0, range: 1, ip: 2 };
const specificRank: Readonly<Record<KeyKind, number>> = { ip: 0, cidr: 1, range: 2 };

/**
 * Compares keys for all lists. The order is: IPv4 before IPv6; first address ascending; last address descending (the wider first); CIDR, range, IP; then
 * the address as written. Returns zero only for equal keys.
 */
export function compareKeys(a: Key, b: Key): number {
  if (a.family !== b.family) return a.family - b.family;
  if (a.first !== b.first) return a.first < b.first ? -1 : 1;
  if (a.last !== b.last) return a.last > b.last ? -1 : 1;
  if (a.kind !== b.kind) return listRank[a.kind] - listRank[b.kind];
  if (a.written !== b.written) return a.written < b.written ? -1 : 1;
  return 0;
}

/**
 * Compares covering entries by precedence: fewest addresses first; at equal size IP before CIDR before range; then list order. Meant for keys of one
 * family.
 */
export function compareSpecificity(a: Key, b: Key): number {
  const sizeA = a.last - a.first;
  const sizeB = b.last - b.first;
  if (sizeA !== sizeB) return sizeA < sizeB ? -1 : 1;
  if (a.kind !== b.kind) return specificRank[a.kind] - specificRank[b.kind];
  return compareKeys(a, b);
}

/** Reports whether `inner` lies within `outer`: same family, first and last address both inside. */
export function keyContains(outer: Key, inner: Key): boolean {
  return outer.family === inner.family && outer.first <= inner.first && inner.last <= outer.last;
}
