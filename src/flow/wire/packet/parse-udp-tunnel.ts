import { u16, u24, u32 } from "./bytes.ts";
import { tunnelKinds, type PacketHeader } from "./packet-header.ts";
import { parseGreInUdp, parseProtocolType } from "./parse-gre.ts";
import { parseIpv4, parseIpv6 } from "./parse-ip.ts";
import { parseMpls } from "./parse-link.ts";
import { parseFrom } from "./parse-start.ts";
import { parseNamed } from "./parse-nsh.ts";

/** IANA's, and that of Linux before VXLAN had one. */
const ports = {
  vxlan: 4789,
  linuxVxlan: 8472,
  vxlanGpe: 4790,
  geneve: 6081,
  gtp: 2152,
  teredo: 3544,
  mpls: 6635,
  capwap: 5247,
  l2tp: 1701,
  gre: 4754,
} as const;

/**
 * Parses the packet in a UDP datagram of a tunnel: its port and the header behind it have to agree.
 *
 * @param at where the datagram's content begins.
 * @returns as {@link parseTunnel}.
 */
export function parseUdpTunnel(
  b: Uint8Array,
  at: number,
  end: number,
  outer: PacketHeader,
  inner: PacketHeader,
): number {
  if (end - at < 8) return -1;
  const port = outer.destinationPort;
  switch (port) {
    case ports.vxlan:
    case ports.linuxVxlan:
      return parseVxlan(b, at, end, outer, inner);
    case ports.vxlanGpe:
      return parseVxlanGpe(b, at, end, outer, inner);
    case ports.geneve:
      return parseGeneve(b, at, end, outer, inner);
    case ports.gtp:
      return parseGtp(b, at, end, outer, inner);
    case ports.mpls:
      // RFC 7510.
      outer.tunnel = tunnelKinds["mpls-in-udp"];
      return parseMpls(b, at, end, inner);
    case ports.gre:
      return parseGreInUdp(b, at, end, outer, inner);
    default:
      // These answer from their port.
      if (port === ports.teredo || outer.sourcePort === ports.teredo) return parseTeredo(b, at, end, outer, inner);
      if (port === ports.capwap || outer.sourcePort === ports.capwap) return parseCapwap(b, at, end, outer, inner);
      if (port === ports.l2tp || outer.sourcePort === ports.l2tp) return parseL2tp(b, at, end, outer, inner);
      return -1;
  }
}

/** Of "NSH Next Protocol" as {@link parseNamed} reads them. */
const lastNextProtocol = 5;
/** Flags: of a valid VNI; of that and a next protocol. */
const vxlan = { hasVni: 8, hasNextProtocol: 12 } as const;

/**
 * RFC 7348: the flag of a valid VNI; the other bits are ignored. Some endpoints send a next protocol (draft-ietf-nvo3-vxlan-gpe) to VXLAN's
 * port, too: it counts where it is one, nothing else is set, and no group policy (draft-smith-vxlan-group-policy) uses the same bytes.
 */
function parseVxlan(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  const flags = b[at] as number;
  if ((flags & vxlan.hasVni) === 0) return -1;
  outer.tunnel = tunnelKinds.vxlan;
  outer.tunnelId = u24(b, at + 4);
  const next = b[at + 3] as number;
  const isNamed = flags === vxlan.hasNextProtocol && u16(b, at + 1) === 0 && next > 0 && next <= lastNextProtocol;
  if (!isNamed) return parseFrom(b, at + 8, end, "ethernet", inner);
  return parseNamed(b, at + 8, end, next, outer, inner);
}

const gpe = { version: 0x30, hasVni: 8, hasProtocol: 4, isControl: 1 } as const;

/** draft-ietf-nvo3-vxlan-gpe: version 0, bits that are ignored, the flag of a next protocol. Without that flag it is plain VXLAN. */
function parseVxlanGpe(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  const flags = b[at] as number;
  if ((flags & gpe.version) !== 0) return -1;
  outer.tunnel = tunnelKinds["vxlan-gpe"];
  if ((flags & gpe.hasVni) !== 0) outer.tunnelId = u24(b, at + 4);
  if ((flags & gpe.isControl) !== 0) return -1;
  if ((flags & gpe.hasProtocol) === 0) return parseFrom(b, at + 8, end, "ethernet", inner);
  return parseNamed(b, at + 8, end, b[at + 3] as number, outer, inner);
}

/** RFC 8926: version 0, length of the options in units of four bytes. */
function parseGeneve(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  const first = b[at] as number;
  if (first >> 6 !== 0) return -1;
  outer.tunnel = tunnelKinds.geneve;
  outer.tunnelId = u24(b, at + 4);
  return parseProtocolType(b, at + 8 + (first & 63) * 4, end, u16(b, at + 2), inner);
}

/** 3GPP TS 29.281: version 1, protocol type 1, message type 255. */
function parseGtp(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  const flags = b[at] as number;
  if (flags >> 4 !== 3 || b[at + 1] !== 255) return -1;
  outer.tunnel = tunnelKinds["gtp-u"];
  outer.tunnelId = u32(b, at + 4);
  let position = at + 8;
  if ((flags & 7) !== 0) {
    position += 4;
    // The last of the four bytes names the first extension header, the last byte of each the next one.
    let next = (flags & 4) !== 0 && position <= end ? (b[position - 1] as number) : 0;
    while (next !== 0 && position < end) {
      const length = (b[position] as number) * 4;
      if (length === 0) return -1;
      position += length;
      next = position <= end ? (b[position - 1] as number) : 0;
    }
  }
  return parseIp(b, position, end, inner);
}

/** An IP packet of either version. */
function parseIp(b: Uint8Array, at: number, end: number, inner: PacketHeader): number {
  if (at >= end) return -1;
  const version = (b[at] as number) >> 4;
  if (version === 4) return parseIpv4(b, at, end, inner);
  return version === 6 ? parseIpv6(b, at, end, inner) : -1;
}

const teredo = { authentication: 1, origin: 0 } as const;

/** RFC 4380 section 5.1.1: authentication and origin indication may stand before the IPv6 packet, in this order. */
function parseTeredo(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  let position = at;
  if (u16(b, position) === teredo.authentication) {
    // Lengths of client identifier and authentication value; behind them a nonce and the confirmation.
    position += 4 + (b[position + 2] as number) + (b[position + 3] as number) + 9;
  }
  if (end - position >= 8 && u16(b, position) === teredo.origin) position += 8;
  if (position >= end || (b[position] as number) >> 4 !== 6) return -1;
  const content = parseIpv6(b, position, end, inner);
  if (inner.ipVersion >= 0) outer.tunnel = tunnelKinds.teredo;
  return content;
}

const l2tp = {
  control: 0x8000,
  length: 0x4000,
  sequence: 0x0800,
  offset: 0x0200,
  version: 2,
} as const;

/**
 * RFC 2661 section 3.1: version 2 with PPP, of data messages; what is optional is there by its flag, and reserved bits are ignored. The
 * identifier is that of the tunnel in the upper 16 bits, and of the session.
 */
function parseL2tp(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  const flags = u16(b, at);
  if ((flags & 15) !== l2tp.version || (flags & l2tp.control) !== 0) return -1;
  let position = at + 2 + ((flags & l2tp.length) === 0 ? 0 : 2);
  outer.tunnel = tunnelKinds.l2tp;
  outer.tunnelId = u32(b, position);
  position += 4 + ((flags & l2tp.sequence) === 0 ? 0 : 4);
  if ((flags & l2tp.offset) !== 0) {
    if (end - position < 2) return -1;
    position += 2 + u16(b, position);
  }
  return position > end ? -1 : parseFrom(b, position, end, "ppp", inner);
}

const capwap = { native: 0x100, fragment: 0x80, wireless: 1, keepAlive: 8 } as const;

/**
 * RFC 5415 section 4.3: version 0, no DTLS, a header of as many words as it says. Without the flag of a native frame there is one of
 * IEEE 802.3, else one of IEEE 802.11 (RFC 5416). The identifier is that of the radio.
 */
function parseCapwap(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  if (b[at] !== 0) return -1;
  const length = ((b[at + 1] as number) >> 3) * 4;
  if (length < 8 || at + length > end) return -1;
  const bits = u16(b, at + 2);
  outer.tunnel = tunnelKinds.capwap;
  outer.tunnelId = (u16(b, at + 1) >> 6) & 31;
  if ((bits & capwap.keepAlive) !== 0) return -1;
  // Of a fragment only the first has headers.
  if ((bits & capwap.fragment) !== 0 && u16(b, at + 6) >> 3 !== 0) return -1;
  const isNative = (bits & capwap.native) !== 0;
  if (!isNative) return parseFrom(b, at + length, end, "ethernet", inner);
  const binding = (bits >> 9) & 31;
  return binding === capwap.wireless ? parseFrom(b, at + length, end, "wireless", inner) : -1;
}
