import { u16, u24 } from "./bytes.ts";
import { contents, tunnelKinds, type PacketHeader } from "./packet-header.ts";
import { parseGre } from "./parse-gre.ts";
import { parseIpv4, parseIpv6 } from "./parse-ip.ts";
import { etherTypes, parseMpls } from "./parse-link.ts";
import { parseFrom } from "./parse-start.ts";
import { parseNsh } from "./parse-nsh.ts";
import { parseUdpTunnel } from "./parse-udp-tunnel.ts";

/**
 * Parses the packet that another one carries.
 *
 * @param at where what the outer packet carries begins; `outer.content` says what it is.
 * @param inner is filled as far as there is one.
 * @returns where what the inner packet carries begins, where that may be a packet again; else -1.
 */
export function parseTunnel(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
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
  // What goes along with a pseudowire (RFC 5586) is no frame.
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
