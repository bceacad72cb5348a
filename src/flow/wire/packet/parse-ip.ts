import { u16 } from "./bytes.ts";
import type { PacketHeader } from "./packet-header.ts";

/** @returns where what the packet carries begins, where that may be a tunnel; else -1. */
export function parseIpv4(b: Uint8Array, at: number, end: number, header: PacketHeader): number {
  if (end - at < 20) return -1;
  const first = b[at] as number;
  const headerLength = (first & 15) * 4;
  if (first >> 4 !== 4 || headerLength < 20) return -1;
  header.ipVersion = 4;
  header.trafficClass = b[at + 1] as number;
  header.ipLength = u16(b, at + 2);
  const fragment = u16(b, at + 6);
  const offset = fragment & 0x1fff;
  if ((fragment & 0x3fff) !== 0) {
    header.fragmentId = u16(b, at + 4);
    header.fragmentOffset = offset;
    // Reserved, don't fragment, more fragments: the upper three bits, as IPFIX has them.
    header.fragmentFlags = (fragment >> 13) << 5;
  }
  header.ttl = b[at + 8] as number;
  header.protocol = b[at + 9] as number;
  header.source = at + 12;
  header.destination = at + 16;
  if (offset !== 0) return -1;
  // What lies behind a short packet fills up its frame. A length of 0 is that of a packet still to be segmented.
  const packetEnd = header.ipLength < headerLength ? end : Math.min(end, at + header.ipLength);
  return parseTransport(b, at + headerLength, packetEnd, header);
}

export function parseIpv6(b: Uint8Array, at: number, end: number, header: PacketHeader): number {
  if (end - at < 40 || (b[at] as number) >> 4 !== 6) return -1;
  header.ipVersion = 6;
  header.trafficClass = (u16(b, at) >> 4) & 0xff;
  header.flowLabel = (((b[at + 1] as number) & 15) << 16) | u16(b, at + 2);
  header.ipLength = 40 + u16(b, at + 4);
  header.ttl = b[at + 7] as number;
  header.source = at + 8;
  header.destination = at + 24;
  const packetEnd = header.ipLength === 40 ? end : Math.min(end, at + header.ipLength);
  return parseExtensions(b, at + 40, packetEnd, b[at + 6] as number, header);
}

const hopByHop = 0;
const routing = 43;
const fragmentHeader = 44;
const authentication = 51;
const destinationOptions = 60;
const mobility = 135;

/** RFC 8200 section 4. Each header has at least eight bytes, so the way to `end` is short. */
function parseExtensions(b: Uint8Array, at: number, end: number, first: number, header: PacketHeader): number {
  let next = first;
  let position = at;
  for (;;) {
    header.protocol = next;
    const isExtension =
      next === hopByHop ||
      next === routing ||
      next === fragmentHeader ||
      next === authentication ||
      next === destinationOptions ||
      next === mobility;
    if (!isExtension) return parseTransport(b, position, end, header);
    if (end - position < 8) return -1;
    const kind = next;
    next = b[position] as number;
    if (kind === fragmentHeader) {
      const fragment = u16(b, position + 2);
      header.fragmentOffset = fragment >> 3;
      header.fragmentFlags = (fragment & 1) << 5;
      header.fragmentId = u16(b, position + 4) * 0x10000 + u16(b, position + 6);
      position += 8;
      if (fragment >> 3 !== 0) {
        header.protocol = next;
        return -1;
      }
    } else {
      const length = b[position + 1] as number;
      position += kind === authentication ? (length + 2) * 4 : (length + 1) * 8;
    }
    if (position > end) {
      header.protocol = next;
      return -1;
    }
  }
}

function parseTransport(b: Uint8Array, at: number, end: number, header: PacketHeader): number {
  switch (header.protocol) {
    case 6:
      if (end - at >= 14) header.tcpFlags = u16(b, at + 12) & 0x1ff;
      parsePorts(b, at, end, header);
      return -1;
    case 17:
      parsePorts(b, at, end, header);
      return at + 8;
    case 33:
    case 132:
    case 136:
      parsePorts(b, at, end, header);
      return -1;
    case 1:
    case 58:
      if (end - at >= 2) {
        header.icmpType = b[at] as number;
        header.icmpCode = b[at + 1] as number;
      }
      return -1;
    case 2:
      if (end - at >= 1) header.igmpType = b[at] as number;
      return -1;
    default:
      return at;
  }
}

function parsePorts(b: Uint8Array, at: number, end: number, header: PacketHeader): void {
  if (end - at < 4) return;
  header.portsAt = at;
  header.sourcePort = u16(b, at);
  header.destinationPort = u16(b, at + 2);
}
