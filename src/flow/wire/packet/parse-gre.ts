import { u16, u32 } from "./bytes.ts";
import { tunnelKinds, type PacketHeader } from "./packet-header.ts";
import { etherTypes, parseEtherType } from "./parse-link.ts";
import { parseFrom } from "./parse-start.ts";
import { parseIpv4, parseIpv6 } from "./parse-ip.ts";

const hasChecksum = 0x8000;
const hasRouting = 0x4000;
const hasKey = 0x2000;
const hasSequence = 0x1000;
const erspan = 0x88be;
const erspan3 = 0x22eb;
const wccp = 0x883e;
const ppp = 0x880b;
/** Of version 1. */
const hasAcknowledgement = 0x80;

/** RFC 2784 and 2890, with ERSPAN and WCCP; RFC 2637. @returns as {@link parseTunnel}. */
export function parseGre(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  if (end - at < 4) return -1;
  const flags = u16(b, at);
  const type = u16(b, at + 2);
  if ((flags & 7) === 1) return parsePptp(b, at, end, outer, inner);
  // Source routes are not used any more.
  if ((flags & 7) !== 0 || (flags & hasRouting) !== 0) return -1;
  outer.tunnel = tunnelKinds.gre;
  let position = at + 4 + ((flags & hasChecksum) === 0 ? 0 : 4);
  if ((flags & hasKey) !== 0) {
    if (end - position >= 4) outer.tunnelId = u32(b, position);
    position += 4;
  }
  const isNumbered = (flags & hasSequence) !== 0;
  if (isNumbered) position += 4;
  if (type === erspan || type === erspan3) return parseErspan(b, position, end, type, isNumbered, outer, inner);
  if (type === wccp) return parseWccp(b, position, end, outer, inner);
  return parseProtocolType(b, position, end, type, inner);
}

/** RFC 8086: GRE of version 0 behind a header of UDP, at a port of its own. */
export function parseGreInUdp(
  b: Uint8Array,
  at: number,
  end: number,
  outer: PacketHeader,
  inner: PacketHeader,
): number {
  if (end - at < 4 || (u16(b, at) & 7) !== 0) return -1;
  const content = parseGre(b, at, end, outer, inner);
  if (outer.tunnel === tunnelKinds.gre) outer.tunnel = tunnelKinds["gre-in-udp"];
  return content;
}

/** RFC 2637 section 4.1: version 1, with PPP behind a sequence number; a packet without one acknowledges others. The identifier is that of the call. */
function parsePptp(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  const flags = u16(b, at);
  if (u16(b, at + 2) !== ppp || (flags & hasKey) === 0 || (flags & (hasChecksum | hasRouting)) !== 0) return -1;
  if (end - at < 8) return -1;
  outer.tunnel = tunnelKinds.pptp;
  outer.tunnelId = u16(b, at + 6);
  if ((flags & hasSequence) === 0) return -1;
  const position = at + 12 + ((flags & hasAcknowledgement) === 0 ? 0 : 4);
  return position > end ? -1 : parseFrom(b, position, end, "ppp", inner);
}

function parseErspan(
  b: Uint8Array,
  at: number,
  end: number,
  type: number,
  isNumbered: boolean,
  outer: PacketHeader,
  inner: PacketHeader,
): number {
  outer.tunnel = tunnelKinds.erspan;
  // Its first version has no header of its own, and no sequence number; the third may have a subheader.
  const length = type === erspan ? (isNumbered ? 8 : 0) : 12;
  if (end - at < length) return -1;
  if (length > 0) outer.tunnelId = u16(b, at + 2) & 0x3ff;
  const hasSubheader = type === erspan3 && ((b[at + 11] as number) & 1) === 1;
  return parseFrom(b, at + length + (hasSubheader ? 8 : 0), end, "ethernet", inner);
}

/**
 * Version 2 has a redirect header of four bytes before the IP packet (draft-mclaggan-wccp-v2rev1 section 3.12.3.2): flags, service, two
 * buckets; version 1 has none. IP's version says which it is, as receivers have it.
 */
function parseWccp(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  outer.tunnel = tunnelKinds.wccp;
  if (end - at < 4) return -1;
  if ((b[at] as number) >> 4 === 4) return parseIpv4(b, at, end, inner);
  outer.tunnelId = b[at + 1] as number;
  if (end - at < 5) return -1;
  return (b[at + 4] as number) >> 4 === 6 ? parseIpv6(b, at + 4, end, inner) : parseIpv4(b, at + 4, end, inner);
}

/** What GRE and Geneve name by its EtherType. */
export function parseProtocolType(b: Uint8Array, at: number, end: number, type: number, inner: PacketHeader): number {
  if (at > end) return -1;
  if (type === etherTypes.bridged) return parseFrom(b, at, end, "ethernet", inner);
  return type > 1500 ? parseEtherType(b, at, end, type, inner) : -1;
}
