import { u16, u32 } from "./bytes.ts";
import { tunnelKinds, type PacketHeader } from "./packet-header.ts";
import { parseIpv4, parseIpv6 } from "./parse-ip.ts";
import { parseMpls } from "./parse-link.ts";
import { parseFrom } from "./parse-start.ts";

const protocols = { ipv4: 1, ipv6: 2, ethernet: 3, nsh: 4, mpls: 5 } as const;

/** Headers behind one another are no more than this. */
const maxHeaders = 4;

/** RFC 8300: version 0, a length in words, the next protocol; then the service path. @returns as {@link parseTunnel}. */
export function parseNsh(b: Uint8Array, at: number, end: number, outer: PacketHeader, inner: PacketHeader): number {
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

/** What NSH and VXLAN-GPE name by the numbers of "NSH Next Protocol". */
export function parseNamed(
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
