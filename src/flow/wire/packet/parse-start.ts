import type { PacketHeader } from "./packet-header.ts";
import { parseIpv4, parseIpv6 } from "./parse-ip.ts";
import { parseEthernet, parseMpls, parsePpp } from "./parse-link.ts";
import { parseWireless } from "./parse-wireless.ts";

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
