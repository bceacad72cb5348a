import type { Family } from "./family.ts";

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

/** Canonical text: dotted decimal, or RFC 5952 (an IPv4-mapped address keeps its dotted tail, section 5). */
export function formatAddress(address: Address): string {
  return address.family === 4 ? formatIpv4(Number(address.value)) : formatIpv6(address.value);
}

const mappedPrefix = 0xffffn << 32n;

/**
 * The address under which a record's address is looked up: an IPv4-mapped IPv6 address (`::ffff:a.b.c.d`, RFC 4291
 * section 2.5.5.2) becomes the IPv4 address, any other stays as it is.
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

/** Groups of 16 bits of one side of a `::`, a dotted tail as two groups; undefined when malformed. */
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

/** RFC 5952 section 4: lower case, no leading zeros, the first longest run of at least two zero groups as `::`. */
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
 * Canonical text of an address held in network byte order at `offset`, without building an {@link Address}: for the
 * decoders, which render one for every record. The caller has checked that 4 or 16 bytes are there.
 */
export function formatAddressBytes(bytes: Uint8Array, offset: number, family: Family): string {
  if (family === 4) return `${bytes[offset]}.${bytes[offset + 1]}.${bytes[offset + 2]}.${bytes[offset + 3]}`;
  const groups: number[] = [];
  for (let i = offset; i < offset + 16; i += 2) groups.push(((bytes[i] as number) << 8) | (bytes[i + 1] as number));
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  return isMapped ? `::ffff:${formatAddressBytes(bytes, offset + 12, 4)}` : formatIpv6Groups(groups);
}
