import { clearPacketHeader, createPacketHeader, type PacketHeader } from "./packet-header.ts";
import { parseFrom, type PacketStart } from "./parse-start.ts";
import { parseTunnel } from "./parse-tunnel.ts";

/** A packet and those within it: the outermost, one in the middle, the innermost. Further ones are not looked for. */
export const maxLevels = 3;

/** The headers of a packet, from the outermost on. It is filled again and again. */
export interface ParsedPacket {
  readonly levels: readonly PacketHeader[];
  /** How many of the levels are there: at least one, which may be empty. */
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

/** Whether there is no header that could be read. */
export function isUnread({ levels }: ParsedPacket): boolean {
  const { destinationMac, etherType, outerTag, labelCount, ipVersion } = levels[0] as PacketHeader;
  return destinationMac < 0 && etherType < 0 && outerTag < 0 && labelCount === 0 && ipVersion < 0;
}

/** Which packet is the flow's: the innermost that has addresses of its own, so none that is labels alone. */
export function flowLevelOf({ levels, count }: ParsedPacket): number {
  const last = count - 1;
  const innermost = levels[last] as PacketHeader;
  return last > 0 && innermost.ipVersion < 0 && innermost.destinationMac < 0 ? last - 1 : last;
}
