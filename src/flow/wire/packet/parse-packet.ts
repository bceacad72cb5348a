import {
  u16,
  u32,
  tunnelKinds,
  type PacketHeader,
  u24,
  contents,
  clearPacketHeader,
  createPacketHeader,
} from "./packet-header.ts";
import {
  etherTypes,
  parseEtherType,
  parseFrom,
  parseIpv4,
  parseIpv6,
  parseMpls,
  type PacketStart,
} from "./parse-headers.ts";

const hasChecksum = 0x8000;
const hasRouting = 0x4000;
const hasKey = 0x2000;
const hasSequence = 0x1000;
const erspan = 0x88be;
const erspan3 = 0x22eb;
const wccp = 0x883e;
const ppp = 0x880b;
/** The flag for an acknowledgement number, of version 1. */
const hasAcknowledgement = 0x80;

/** RFC 2784 and 2890, with ERSPAN and WCCP; RFC 2637. @returns as {@link parseTunnel}. */
function parseGre(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
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
function parseGreInUdp(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
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

/** Parses what GRE and Geneve name by its EtherType. */
function parseProtocolType(b: Uint8Array, at: number, end: number, type: number, inner: PacketHeader): number {
  if (at > end) return -1;
  if (type === etherTypes.bridged) return parseFrom(b, at, end, "ethernet", inner);
  return type > 1500 ? parseEtherType(b, at, end, type, inner) : -1;
}

const protocols = { ipv4: 1, ipv6: 2, ethernet: 3, nsh: 4, mpls: 5 } as const;

/** Headers behind one another are no more than this. */
const maxHeaders = 4;

/** RFC 8300: version 0, a length in words, the next protocol; then the service path. @returns as {@link parseTunnel}. */
function parseNsh(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  let position = at;
  for (let i = 0; i < maxHeaders; i++) {
    if (end - position < 8) return -1;
    const length = (u16(b, position) & 63) * 4;
    if ((b[position] as number) >> 6 !== 0 || length < 8) return -1;
    // The first is the one by which the packet is forwarded.
    if (outer.servicePath < 0) outer.servicePath = u32(b, position + 4);
    if (outer.tunnel < 0) outer.tunnel = tunnelKinds.nsh;
    const next = b[position + 3] as number;
    position += length;
    if (next !== protocols.nsh) return parseNamed(b, position, end, next, outer, inner);
  }
  return -1;
}

/** Parses what NSH and VXLAN-GPE name by the numbers of "NSH Next Protocol". */
function parseNamed(
  b: Uint8Array,
  at: number,
  end: number,
  protocol: number,
  outer: PacketHeader,
  inner: PacketHeader,
): number {
  switch (protocol) {
    case protocols.ipv4:
      return parseIpv4(b, at, end, inner);
    case protocols.ipv6:
      return parseIpv6(b, at, end, inner);
    case protocols.ethernet:
      return parseFrom(b, at, end, "ethernet", inner);
    case protocols.mpls:
      return parseMpls(b, at, end, inner);
    case protocols.nsh:
      return parseNsh(b, at, end, outer, inner);
    default:
      return -1;
  }
}

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
function parseUdpTunnel(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
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

/** The last number of "NSH Next Protocol" as {@link parseNamed} reads them. */
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
  // Only the first fragment has headers.
  if ((bits & capwap.fragment) !== 0 && u16(b, at + 6) >> 3 !== 0) return -1;
  const isNative = (bits & capwap.native) !== 0;
  if (!isNative) return parseFrom(b, at + length, end, "ethernet", inner);
  const binding = (bits >> 9) & 31;
  return binding === capwap.wireless ? parseFrom(b, at + length, end, "wireless", inner) : -1;
}

/**
 * Parses the packet that another one carries.
 *
 * @param at where what the outer packet carries begins; `outer.content` says what it is.
 * @param inner is filled as far as there is one.
 * @returns where what the inner packet carries begins, where that may be a packet again; else -1.
 */
function parseTunnel(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  switch (outer.content) {
    case contents.labels:
      return parsePseudowire(b, at, end, outer, inner);
    case contents.backbone:
      return parseBackbone(b, at, end, outer, inner);
    case contents.nsh:
      return parseNsh(b, at, end, outer, inner);
    case contents.fabricPath:
      return parseFabricPath(b, at, end, outer, inner);
    default:
      return parseIpTunnel(b, at, end, outer, inner);
  }
}

function parseIpTunnel(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  switch (outer.protocol) {
    case 17:
      return parseUdpTunnel(b, at, end, outer, inner);
    case 4:
      outer.tunnel = tunnelKinds.ipip;
      return parseIpv4(b, at, end, inner);
    case 41:
      outer.tunnel = tunnelKinds.ipip;
      return parseIpv6(b, at, end, inner);
    case 47:
      return parseGre(b, at, end, outer, inner);
    case 97:
      // RFC 3378: version 3 and twelve zero bits.
      if (end - at < 2 || b[at] !== 0x30 || b[at + 1] !== 0) return -1;
      outer.tunnel = tunnelKinds.etherip;
      return parseFrom(b, at + 2, end, "ethernet", inner);
    case 137:
      outer.tunnel = tunnelKinds["mpls-in-ip"];
      return parseMpls(b, at, end, inner);
    case 143:
      outer.tunnel = tunnelKinds["ethernet-in-ip"];
      return parseFrom(b, at, end, "ethernet", inner);
    default:
      return -1;
  }
}

/** IEEE 802.1ah: an I-TAG of four bytes, whose lower 24 bits are the I-SID, and the customer's frame. */
function parseBackbone(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  if (end - at < 4) return -1;
  outer.tunnel = tunnelKinds.pbb;
  outer.tunnelId = u24(b, at + 1);
  return parseFrom(b, at + 4, end, "ethernet", inner);
}

/** Cisco FabricPath: ten bits of a forwarding tag, six of a TTL, and the frame of the host. The addresses before are those of switches. */
function parseFabricPath(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  if (end - at < 2) return -1;
  outer.tunnel = tunnelKinds.fabricpath;
  outer.tunnelId = u16(b, at) >> 6;
  return parseFrom(b, at + 2, end, "ethernet", inner);
}

const frameTypes: ReadonlySet<number> = new Set(Object.values(etherTypes));
/** Its upper bit says that this is no first fragment (RFC 4623). */
const laterFragment = 0x80;

/**
 * Ethernet over MPLS (RFC 4448). Nothing on the wire says whether there is a control word, nor that it is Ethernet: four zero bits
 * are those of a control word (RFC 4385), unless a frame is plausible without one and not with it. IPv4 and IPv6 have been recognised before.
 */
function parsePseudowire(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
  const isFrame = (from: number): boolean => end - from >= 14 && frameTypes.has(u16(b, from + 12));
  const first = (b[at] as number) >> 4;
  // The channel that goes along with a pseudowire (RFC 5586) carries no frame.
  if (first === 1) return -1;
  const hasControlWord = first === 0 && (isFrame(at + 4) || !isFrame(at));
  if (!hasControlWord) {
    if (!isFrame(at)) return -1;
    outer.tunnel = tunnelKinds.eompls;
    return parseFrom(b, at, end, "ethernet", inner);
  }
  if (end - at < 18 || ((b[at + 1] as number) & laterFragment) !== 0) return -1;
  outer.tunnel = tunnelKinds.eompls;
  return parseFrom(b, at + 4, end, "ethernet", inner);
}

/** A packet and those within it: the outermost, one in the middle, the innermost. Further ones are not looked for. */
const maxLevels = 3;

/** The headers of a packet, from the outermost on. It is filled again and again. */
export interface ParsedPacket {
  readonly levels: readonly PacketHeader[];
  /** The number of the levels that are there: at least one, which may be empty. */
  count: number;
}

export function createParsedPacket(): ParsedPacket {
  return { levels: Array.from({ length: maxLevels }, createPacketHeader), count: 1 };
}

/**
 * Parses the beginning of a packet: Ethernet (also 802.3 with LLC and SNAP), 802.11, 802.1Q tags, PPPoE, MPLS, IPv4 with options, IPv6
 * with extension headers, TCP, UDP, SCTP, DCCP, ICMP, IGMP, and the packets in tunnels of all kinds of `tunnels`. Reads nothing at
 * or behind `end`. What is cut off is not there; what was before it counts.
 */
export function parsePacket(bytes: Uint8Array, at: number, end: number, start: PacketStart, into: ParsedPacket): void {
  const { levels } = into;
  let outer = levels[0] as PacketHeader;
  clearPacketHeader(outer);
  into.count = 1;
  let payload = parseFrom(bytes, at, end, start, outer);
  while (payload >= 0 && into.count < maxLevels) {
    const inner = levels[into.count] as PacketHeader;
    clearPacketHeader(inner);
    payload = parseTunnel(bytes, payload, end, outer, inner);
    if (inner.ipVersion < 0 && inner.destinationMac < 0 && inner.labelCount === 0) return;
    into.count++;
    outer = inner;
  }
}

/** Tells whether there is no header that could be read. */
export function isUnread({ levels }: ParsedPacket): boolean {
  const { destinationMac, etherType, outerTag, labelCount, ipVersion } = levels[0] as PacketHeader;
  return destinationMac < 0 && etherType < 0 && outerTag < 0 && labelCount === 0 && ipVersion < 0;
}

/** Returns which packet is the flow's: the innermost that has addresses of its own, so none that is labels alone. */
export function flowLevelOf({ levels, count }: ParsedPacket): number {
  const last = count - 1;
  const innermost = levels[last] as PacketHeader;
  return last > 0 && innermost.ipVersion < 0 && innermost.destinationMac < 0 ? last - 1 : last;
}
