import type { PacketHeader } from "./packet-header.ts";
import { parseEthernet, parseEtherType, parseMpls, parsePpp } from "./parse-link.ts";
import { parseIpv4, parseIpv6 } from "./parse-ip.ts";

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

/** What a packet begins with. */
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
