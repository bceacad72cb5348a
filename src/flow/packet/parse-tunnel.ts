import { tunnels, type PacketHeader, type Tunnel } from "./packet-header.ts";
import { etherTypes, parseEtherType, parseFrom, parseIpv4, parseIpv6, parseMpls } from "./parse-headers.ts";

const kinds = Object.fromEntries(tunnels.map((name, i) => [name, i])) as Readonly<Record<Tunnel, number>>;

const vxlanPorts = { iana: 4789, linux: 8472 } as const;
const genevePort = 6081;
const gtpPort = 2152;

/**
 * Parses the packet that an IP packet carries in a tunnel. A UDP datagram is taken for one only when its port and the
 * header behind it agree.
 *
 * @param at where what the IP packet carries begins; behind its header where that is UDP.
 * @returns whether there is one.
 */
export function parseTunnel(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): boolean {
  switch (outer.protocol) {
    case 17:
      return parseUdpTunnel(b, at, end, outer, inner);
    case 4:
      outer.tunnel = kinds.ipip;
      parseIpv4(b, at, end, inner);
      break;
    case 41:
      outer.tunnel = kinds.ipip;
      parseIpv6(b, at, end, inner);
      break;
    case 47:
      return parseGre(b, at, end, outer, inner);
    case 97:
      // RFC 3378: version 3 and twelve zero bits.
      if (end - at < 2 || b[at] !== 0x30 || b[at + 1] !== 0) return false;
      outer.tunnel = kinds.etherip;
      parseFrom(b, at + 2, end, "ethernet", inner);
      break;
    case 137:
      outer.tunnel = kinds["mpls-in-ip"];
      parseMpls(b, at, end, inner);
      break;
    default:
      return false;
  }
  return isFilled(inner);
}

function isFilled(inner: PacketHeader): boolean {
  return inner.ipVersion >= 0 || inner.macs >= 0 || inner.labelCount > 0;
}

function u16(b: Uint8Array, at: number): number {
  return ((b[at] as number) << 8) | (b[at + 1] as number);
}

function u24(b: Uint8Array, at: number): number {
  return (u16(b, at) << 8) | (b[at + 2] as number);
}

function u32(b: Uint8Array, at: number): number {
  return u16(b, at) * 0x10000 + u16(b, at + 2);
}

function parseUdpTunnel(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): boolean {
  if (end - at < 8) return false;
  const port = outer.destinationPort;
  if (port === vxlanPorts.iana || port === vxlanPorts.linux) {
    // RFC 7348: the flag of a valid VNI, the rest reserved.
    if (b[at] !== 8 || u24(b, at + 1) !== 0 || b[at + 7] !== 0) return false;
    outer.tunnel = kinds.vxlan;
    outer.tunnelId = u24(b, at + 4);
    parseFrom(b, at + 8, end, "ethernet", inner);
    return isFilled(inner);
  }
  if (port === genevePort) {
    // RFC 8926: version 0, length of the options in units of four bytes.
    const first = b[at] as number;
    if (first >> 6 !== 0) return false;
    outer.tunnel = kinds.geneve;
    outer.tunnelId = u24(b, at + 4);
    parseProtocolType(b, at + 8 + (first & 63) * 4, end, u16(b, at + 2), inner);
    return isFilled(inner);
  }
  return port === gtpPort && parseGtp(b, at, end, outer, inner);
}

/** 3GPP TS 29.281: version 1, protocol type 1, message type 255. */
function parseGtp(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): boolean {
  const flags = b[at] as number;
  if (flags >> 4 !== 3 || b[at + 1] !== 255) return false;
  outer.tunnel = kinds["gtp-u"];
  outer.tunnelId = u32(b, at + 4);
  let position = at + 8;
  if ((flags & 7) !== 0) {
    position += 4;
    // The last of the four bytes names the first extension header, the last byte of each the next one.
    let next = (flags & 4) !== 0 && position <= end ? (b[position - 1] as number) : 0;
    while (next !== 0 && position < end) {
      const length = (b[position] as number) * 4;
      if (length === 0) return false;
      position += length;
      next = position <= end ? (b[position - 1] as number) : 0;
    }
  }
  if (position >= end) return false;
  const version = (b[position] as number) >> 4;
  if (version === 4) parseIpv4(b, position, end, inner);
  else if (version === 6) parseIpv6(b, position, end, inner);
  return isFilled(inner);
}

const hasChecksum = 0x8000;
const hasRouting = 0x4000;
const hasKey = 0x2000;
const hasSequence = 0x1000;
const erspan = 0x88be;
const erspan3 = 0x22eb;

/** RFC 2784 and 2890. */
function parseGre(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): boolean {
  if (end - at < 4) return false;
  const flags = u16(b, at);
  const type = u16(b, at + 2);
  // Version 1 is PPTP's; source routes are not used any more.
  if ((flags & 7) !== 0 || (flags & hasRouting) !== 0) return false;
  outer.tunnel = kinds.gre;
  let position = at + 4 + ((flags & hasChecksum) === 0 ? 0 : 4);
  if ((flags & hasKey) !== 0) {
    if (end - position >= 4) outer.tunnelId = u32(b, position);
    position += 4;
  }
  const isNumbered = (flags & hasSequence) !== 0;
  if (isNumbered) position += 4;
  if (type === erspan || type === erspan3) {
    outer.tunnel = kinds.erspan;
    // Its first version has no header of its own, and no sequence number; the third may have a subheader.
    const length = type === erspan ? (isNumbered ? 8 : 0) : 12;
    if (end - position < length) return false;
    if (length > 0) outer.tunnelId = u16(b, position + 2) & 0x3ff;
    const hasSubheader = type === erspan3 && ((b[position + 11] as number) & 1) === 1;
    parseFrom(b, position + length + (hasSubheader ? 8 : 0), end, "ethernet", inner);
  } else parseProtocolType(b, position, end, type, inner);
  return isFilled(inner);
}

/** What GRE and Geneve name by its EtherType. */
function parseProtocolType(b: Uint8Array, at: number, end: number, type: number, inner: PacketHeader): void {
  if (at > end) return;
  if (type === etherTypes.bridged) parseFrom(b, at, end, "ethernet", inner);
  else if (type > 1500) parseEtherType(b, at, end, type, inner);
}
