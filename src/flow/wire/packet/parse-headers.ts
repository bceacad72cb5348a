import { u16, type PacketHeader, contents } from "./packet-header.ts";

/** @returns where what the packet carries begins, where that may be a tunnel; else -1. */
export function parseIpv4(b: Uint8Array, at: number, end: number, header: PacketHeader): number {
  if (end - at < 20) return -1;
  const first = b[at] as number;
  const headerLength = (first & 15) * 4;
  if (first >> 4 !== 4 || headerLength < 20) return -1;
  header.ipVersion = 4;
  header.trafficClass = b[at + 1] as number;
  header.ipLength = u16(b, at + 2);
  const fragment = u16(b, at + 6);
  const offset = fragment & 0x1fff;
  if ((fragment & 0x3fff) !== 0) {
    header.fragmentId = u16(b, at + 4);
    header.fragmentOffset = offset;
    // Reserved, don't fragment, more fragments: the upper three bits, as IPFIX has them.
    header.fragmentFlags = (fragment >> 13) << 5;
  }
  header.ttl = b[at + 8] as number;
  header.protocol = b[at + 9] as number;
  header.source = at + 12;
  header.destination = at + 16;
  if (offset !== 0) return -1;
  // The bytes behind a short packet fill up its frame. A length of 0 is that of a packet still to be segmented.
  const packetEnd = header.ipLength < headerLength ? end : Math.min(end, at + header.ipLength);
  return parseTransport(b, at + headerLength, packetEnd, header);
}

export function parseIpv6(b: Uint8Array, at: number, end: number, header: PacketHeader): number {
  if (end - at < 40 || (b[at] as number) >> 4 !== 6) return -1;
  header.ipVersion = 6;
  header.trafficClass = (u16(b, at) >> 4) & 0xff;
  header.flowLabel = (((b[at + 1] as number) & 15) << 16) | u16(b, at + 2);
  header.ipLength = 40 + u16(b, at + 4);
  header.ttl = b[at + 7] as number;
  header.source = at + 8;
  header.destination = at + 24;
  const packetEnd = header.ipLength === 40 ? end : Math.min(end, at + header.ipLength);
  return parseExtensions(b, at + 40, packetEnd, b[at + 6] as number, header);
}

const hopByHop = 0;
const routing = 43;
const fragmentHeader = 44;
const authentication = 51;
const destinationOptions = 60;
const mobility = 135;

/** RFC 8200 section 4. Each header has at least eight bytes, so the way to `end` is short. */
function parseExtensions(b: Uint8Array, at: number, end: number, first: number, header: PacketHeader): number {
  let next = first;
  let position = at;
  for (;;) {
    header.protocol = next;
    const isExtension =
      next === hopByHop ||
      next === routing ||
      next === fragmentHeader ||
      next === authentication ||
      next === destinationOptions ||
      next === mobility;
    if (!isExtension) return parseTransport(b, position, end, header);
    if (end - position < 8) return -1;
    const kind = next;
    next = b[position] as number;
    if (kind === fragmentHeader) {
      const fragment = u16(b, position + 2);
      header.fragmentOffset = fragment >> 3;
      header.fragmentFlags = (fragment & 1) << 5;
      header.fragmentId = u16(b, position + 4) * 0x10000 + u16(b, position + 6);
      position += 8;
      if (fragment >> 3 !== 0) {
        header.protocol = next;
        return -1;
      }
    } else {
      const length = b[position + 1] as number;
      position += kind === authentication ? (length + 2) * 4 : (length + 1) * 8;
    }
    if (position > end) {
      header.protocol = next;
      return -1;
    }
  }
}

function parseTransport(b: Uint8Array, at: number, end: number, header: PacketHeader): number {
  switch (header.protocol) {
    case 6:
      if (end - at >= 14) header.tcpFlags = u16(b, at + 12) & 0x1ff;
      parsePorts(b, at, end, header);
      return -1;
    case 17:
      parsePorts(b, at, end, header);
      return at + 8;
    case 33:
    case 132:
    case 136:
      parsePorts(b, at, end, header);
      return -1;
    case 1:
    case 58:
      if (end - at >= 2) {
        header.icmpType = b[at] as number;
        header.icmpCode = b[at + 1] as number;
      }
      return -1;
    case 2:
      if (end - at >= 1) header.igmpType = b[at] as number;
      return -1;
    default:
      return at;
  }
}

function parsePorts(b: Uint8Array, at: number, end: number, header: PacketHeader): void {
  if (end - at < 4) return;
  header.portsAt = at;
  header.sourcePort = u16(b, at);
  header.destinationPort = u16(b, at + 2);
}

export const etherTypes = {
  ipv4: 0x0800,
  ipv6: 0x86dd,
  mpls: 0x8847,
  mplsMulticast: 0x8848,
  vlan: 0x8100,
  serviceVlan: 0x88a8,
  oldServiceVlan: 0x9100,
  pppoe: 0x8864,
  bridged: 0x6558,
  arp: 0x0806,
  /** IEEE 802.1ah: an I-TAG. */
  backbone: 0x88e7,
  nsh: 0x894f,
  fabricPath: 0x8903,
  /** Cisco's tags: of a virtual interface (VN-Tag), of a security group (CMD, TrustSec). */
  vnTag: 0x8926,
  securityTag: 0x8909,
  /** IEEE 802.1BR: an E-TAG. */
  portTag: 0x893f,
  /** Arista: the time of receipt. */
  timeTag: 0xd28b,
} as const;

/**
 * Returns how long a tag is that is no VLAN, without the type of what follows it.
 *
 * @returns -1 for a type that is none.
 */
function tagLength(b: Uint8Array, at: number, end: number, type: number): number {
  switch (type) {
    case etherTypes.vnTag:
      return 4;
    case etherTypes.portTag:
      return 6;
    case etherTypes.securityTag:
      // Version 1, a length in options of four bytes each.
      return end - at >= 2 && b[at] === 1 ? 2 + 4 * (b[at + 1] as number) : -1;
    case etherTypes.timeTag:
      // Subtype, version: 64 bits of time, or 48.
      return end - at >= 4 ? 4 + (b[at + 3] === 0x20 ? 6 : 8) : -1;
    default:
      return -1;
  }
}

/** Tags that are not known are no longer. */
const longestTag = 16;

/**
 * Finds a packet of IP behind a tag that is not known: where its type and the beginning of its header are. The checksum of IPv4 has to be
 * right; IPv6 has none, and its next header has to be a usual one.
 *
 * @returns -1 where there is none.
 */
function findIp(b: Uint8Array, at: number, end: number): number {
  for (let position = at + 2; position <= at + longestTag && end - position >= 20; position += 2) {
    const type = u16(b, position - 2);
    if (type === etherTypes.ipv4 && isIpv4(b, position, end)) return position;
    if (type === etherTypes.ipv6 && isIpv6(b, position, end)) return position;
  }
  return -1;
}

function isIpv4(b: Uint8Array, at: number, end: number): boolean {
  const length = ((b[at] as number) & 15) * 4;
  if ((b[at] as number) >> 4 !== 4 || length < 20 || end - at < length) return false;
  let sum = 0;
  for (let i = at; i < at + length; i += 2) sum += u16(b, i);
  return ((sum & 0xffff) + (sum >>> 16)) % 0xffff === 0;
}

/** Hop-by-hop options, ICMP, TCP, UDP, extension headers: what may follow a header of IPv6 in nearly every packet. */
const usualNextHeaders: ReadonlySet<number> = new Set([0, 6, 17, 43, 44, 50, 58, 60, 132]);

function isIpv6(b: Uint8Array, at: number, end: number): boolean {
  if (end - at < 40 || (b[at] as number) >> 4 !== 6) return false;
  return usualNextHeaders.has(b[at + 6] as number) && (b[at + 7] as number) > 0;
}

const maxLabels = 32;

/** @returns as {@link parseFrom}, and so the others. */
function parseEthernet(b: Uint8Array, at: number, end: number, header: PacketHeader): number {
  if (end - at < 12) return -1;
  header.destinationMac = at;
  header.sourceMac = at + 6;
  if (end - at < 14) return -1;
  return parseEtherType(b, at + 14, end, u16(b, at + 12), header);
}

/** @param firstType what the two bytes before `at` say. */
export function parseEtherType(
  b: Uint8Array,
  at: number,
  end: number,
  firstType: number,
  header: PacketHeader,
): number {
  let type = firstType;
  let position = at;
  for (;;) {
    const skipped = tagLength(b, position, end, type);
    if (skipped >= 0 && end - position >= skipped + 2) {
      type = u16(b, position + skipped);
      position += skipped + 2;
      continue;
    }
    if (type !== etherTypes.vlan && type !== etherTypes.serviceVlan && type !== etherTypes.oldServiceVlan) break;
    if (end - position < 4) {
      header.etherType = type;
      header.typeAt = position - 2;
      return -1;
    }
    const tag = u16(b, position);
    if (header.outerTag < 0) header.outerTag = tag;
    else if (header.innerTag < 0) header.innerTag = tag;
    type = u16(b, position + 2);
    position += 4;
  }
  if (type <= 1500) {
    // IEEE 802.3: a length. LLC with SNAP names the type behind it, with the organization 0.
    const isSnap =
      end - position >= 8 &&
      u16(b, position) === 0xaaaa &&
      b[position + 2] === 3 &&
      b[position + 3] === 0 &&
      u16(b, position + 4) === 0;
    if (!isSnap) return -1;
    type = u16(b, position + 6);
    position += 8;
  }
  header.etherType = type;
  header.typeAt = position - 2;
  switch (type) {
    case etherTypes.ipv4:
      return parseIpv4(b, position, end, header);
    case etherTypes.ipv6:
      return parseIpv6(b, position, end, header);
    case etherTypes.mpls:
    case etherTypes.mplsMulticast:
      return parseMpls(b, position, end, header);
    case etherTypes.backbone:
      header.content = contents.backbone;
      return position;
    case etherTypes.nsh:
      header.content = contents.nsh;
      return position;
    case etherTypes.fabricPath:
      header.content = contents.fabricPath;
      return position;
    case etherTypes.pppoe:
      // RFC 2516: version and type, code 0, session, length.
      if (end - position < 8 || b[position] !== 0x11 || b[position + 1] !== 0) return -1;
      return parsePpp(b, position + 6, end, header);
    case etherTypes.arp:
      return -1;
    default:
      return parseBehindTag(b, position, end, header);
  }
}

/** Parses what is behind a tag that is not known, where that is IP. */
function parseBehindTag(b: Uint8Array, at: number, end: number, header: PacketHeader): number {
  const ip = findIp(b, at, end);
  if (ip < 0) return -1;
  header.etherType = u16(b, ip - 2);
  header.typeAt = ip - 2;
  return header.etherType === etherTypes.ipv4 ? parseIpv4(b, ip, end, header) : parseIpv6(b, ip, end, header);
}

/** RFC 1661, with the address and control bytes of RFC 1662 or without; the protocol may be one byte. */
function parsePpp(b: Uint8Array, at: number, end: number, header: PacketHeader): number {
  let position = at;
  if (end - position >= 2 && b[position] === 0xff && b[position + 1] === 3) position += 2;
  if (end - position < 2) return -1;
  const isShort = ((b[position] as number) & 1) === 1;
  const protocol = isShort ? (b[position] as number) : u16(b, position);
  position += isShort ? 1 : 2;
  if (protocol === 0x21) return parseIpv4(b, position, end, header);
  if (protocol === 0x57) return parseIpv6(b, position, end, header);
  if (protocol === 0x281 || protocol === 0x283) return parseMpls(b, position, end, header);
  return -1;
}

/** RFC 3032. The first four bits below the stack say what is there, as routers read them (RFC 4928). */
export function parseMpls(b: Uint8Array, at: number, end: number, header: PacketHeader): number {
  header.labels = at;
  if (end - at >= 4) header.topLabel = (u16(b, at) << 4) | ((b[at + 2] as number) >> 4);
  let position = at;
  let isLast = false;
  while (!isLast && end - position >= 4 && header.labelCount < maxLabels) {
    isLast = ((b[position + 2] as number) & 1) === 1;
    header.labelCount++;
    position += 4;
  }
  if (!isLast || position >= end) return -1;
  const version = (b[position] as number) >> 4;
  if (version === 4) return parseIpv4(b, position, end, header);
  if (version === 6) return parseIpv6(b, position, end, header);
  header.content = contents.labels;
  return position;
}

const dataType = 2;
const flag = { toDistribution: 1, fromDistribution: 2, encrypted: 0x40, order: 0x80 } as const;
const subtype = { noData: 4, quality: 8 } as const;
const isAggregate = 0x80;

/**
 * IEEE 802.11 data frames: addresses by the direction, LLC with SNAP behind the header; of an A-MSDU the first subframe. Frames
 * that are encrypted or have no data end with their addresses.
 */
function parseWireless(b: Uint8Array, at: number, end: number, header: PacketHeader): number {
  if (end - at < 24) return -1;
  const control = b[at] as number;
  const flags = b[at + 1] as number;
  if ((control & 3) !== 0 || ((control >> 2) & 3) !== dataType) return -1;
  const isTo = (flags & flag.toDistribution) !== 0;
  const isFrom = (flags & flag.fromDistribution) !== 0;
  let position = at + 24;
  if (isTo && isFrom) {
    if (end - position < 6) return -1;
    position += 6;
  }
  header.destinationMac = at + (isTo ? 16 : 4);
  header.sourceMac = at + (isFrom ? (isTo ? 24 : 16) : 10);
  const kind = control >> 4;
  if ((kind & subtype.noData) !== 0 || (flags & flag.encrypted) !== 0) return -1;
  if ((kind & subtype.quality) !== 0) {
    if (end - position < 2) return -1;
    const hasSubframes = ((b[position] as number) & isAggregate) !== 0;
    // With quality of service the flag of order means that HT control follows.
    position += (flags & flag.order) === 0 ? 2 : 6;
    if (hasSubframes) return parseEthernet(b, position, end, header);
  }
  // A length below 1501 says that LLC follows.
  return position > end ? -1 : parseEtherType(b, position, end, 0, header);
}

/** The header that a packet begins with. */
export type PacketStart = "ethernet" | "wireless" | "ppp" | "ipv4" | "ipv6" | "mpls";

/** @returns where something begins that may be a packet within the packet, what `header.content` says; else -1. */
export function parseFrom(b: Uint8Array, at: number, end: number, start: PacketStart, header: PacketHeader): number {
  if (start === "ethernet") return parseEthernet(b, at, end, header);
  if (start === "ipv4") return parseIpv4(b, at, end, header);
  if (start === "ipv6") return parseIpv6(b, at, end, header);
  if (start === "mpls") return parseMpls(b, at, end, header);
  if (start === "wireless") return parseWireless(b, at, end, header);
  return parsePpp(b, at, end, header);
}
