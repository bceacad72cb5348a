import { clearPacketHeader, createPacketHeader, type PacketHeader } from "./packet-header.ts";
import { parseFrom, type PacketStart } from "./parse-headers.ts";
import { parseTunnel } from "./parse-tunnel.ts";

export interface ParsedPacket {
  readonly outer: PacketHeader;
  /** The packet within the tunnel that the outer one is of; meaningful only when {@link parsePacket} says so. */
  readonly inner: PacketHeader;
}

export function createParsedPacket(): ParsedPacket {
  return { outer: createPacketHeader(), inner: createPacketHeader() };
}

/**
 * Parses the beginning of a packet: Ethernet (also 802.3 with LLC and SNAP), 802.1Q tags, PPPoE, MPLS, IPv4 with options,
 * IPv6 with extension headers, TCP, UDP, SCTP, DCCP, ICMP, IGMP, and one level of tunnel: IP in IP, GRE, ERSPAN, VXLAN, Geneve,
 * GTP-U, MPLS in IP, EtherIP. Reads nothing at or behind `end`. What is cut off is not there; what was before it counts.
 *
 * @returns whether there is a packet within a tunnel.
 */
export function parsePacket(
  bytes: Uint8Array,
  at: number,
  end: number,
  start: PacketStart,
  into: ParsedPacket,
): boolean {
  const { outer, inner } = into;
  clearPacketHeader(outer);
  const payload = parseFrom(bytes, at, end, start, outer);
  if (payload < 0) return false;
  clearPacketHeader(inner);
  return parseTunnel(bytes, payload, end, outer, inner);
}
