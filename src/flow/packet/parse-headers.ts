import type { PacketHeader } from "./packet-header.ts";

/** What a packet begins with. */
export type PacketStart = "ethernet" | "ppp" | "ipv4" | "ipv6" | "mpls";

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
} as const;

const maxLabels = 32;

/** @returns where what the IP packet carries begins, where that may be a tunnel; else -1. */
export function parseFrom(b: Uint8Array, at: number, end: number, start: PacketStart, header: PacketHeader): number {
  if (start === "ethernet") return parseEthernet(b, at, end, header);
  if (start === "ipv4") return parseIpv4(b, at, end, header);
  if (start === "ipv6") return parseIpv6(b, at, end, header);
  if (start === "mpls") return parseMpls(b, at, end, header);
  return parsePpp(b, at, end, header);
}

function u16(b: Uint8Array, at: number): number {
  return ((b[at] as number) << 8) | (b[at + 1] as number);
}

function parseEthernet(b: Uint8Array, at: number, end: number, header: PacketHeader): number {
  if (end - at < 12) return -1;
  header.macs = at;
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
  while (type === etherTypes.vlan || type === etherTypes.serviceVlan || type === etherTypes.oldServiceVlan) {
    if (end - position < 4) {
      header.etherType = type;
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
  switch (type) {
    case etherTypes.ipv4:
      return parseIpv4(b, position, end, header);
    case etherTypes.ipv6:
      return parseIpv6(b, position, end, header);
    case etherTypes.mpls:
    case etherTypes.mplsMulticast:
      return parseMpls(b, position, end, header);
    case etherTypes.pppoe:
      // RFC 2516: version and type, code 0, session, length.
      if (end - position < 8 || b[position] !== 0x11 || b[position + 1] !== 0) return -1;
      return parsePpp(b, position + 6, end, header);
    default:
      return -1;
  }
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

/** RFC 3032. What is below the stack is told by its first bits, as routers do. */
export function parseMpls(b: Uint8Array, at: number, end: number, header: PacketHeader): number {
  header.labels = at;
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
  return -1;
}

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
  // What lies behind a short packet fills up its frame. A length of 0 is that of a packet still to be segmented.
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
  header.sourcePort = u16(b, at);
  header.destinationPort = u16(b, at + 2);
}
