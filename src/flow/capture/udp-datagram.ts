import { formatAddressBytes } from "../../base/ip/index.ts";
import type { Frame } from "./read-capture.ts";

/** The position of a fragment of an IP packet. */
interface Fragment {
  /** The same for all fragments of a packet. */
  readonly of: string;
  /** In bytes. */
  readonly offset: number;
  readonly isLast: boolean;
}

interface Fragments {
  readonly at: Map<number, Buffer>;
  length: number | undefined;
}

/** Packets that may wait at a time; the oldest is given up for a further one. */
const maxWaiting = 1024;

/** Puts fragments together, in whatever order they come. Those that overlap others leave a packet incomplete. */
class Reassembly {
  readonly #packets = new Map<string, Fragments>();
  #givenUp = 0;

  /** The number of packets that lack a fragment, those that were given up included. */
  get waiting(): number {
    return this.#packets.size + this.#givenUp;
  }

  /** @returns the whole payload when this fragment was the missing one. */
  add({ of, offset, isLast }: Fragment, payload: Buffer): Buffer | undefined {
    const fragments = this.#packets.get(of) ?? { at: new Map<number, Buffer>(), length: undefined };
    fragments.at.set(offset, payload);
    if (isLast) fragments.length = offset + payload.length;
    this.#packets.set(of, fragments);
    if (this.#packets.size > maxWaiting) {
      const [oldest] = this.#packets.keys();
      if (oldest !== undefined) this.#packets.delete(oldest);
      this.#givenUp++;
    }
    const whole = join(fragments);
    if (whole !== undefined) this.#packets.delete(of);
    return whole;
  }
}

function join({ at, length }: Fragments): Buffer | undefined {
  if (length === undefined) return undefined;
  const parts: Buffer[] = [];
  let end = 0;
  for (let part = at.get(0); part !== undefined && part.length > 0; part = at.get(end)) {
    parts.push(part);
    end += part.length;
    if (end >= length) return end === length ? Buffer.concat(parts) : undefined;
  }
  return undefined;
}

const ipv4 = 0x0800;
const ipv6 = 0x86dd;
/** 802.1Q, 802.1ad and their older numbers. */
const vlanTags: ReadonlySet<number> = new Set([0x8100, 0x88a8, 0x9100, 0x9200]);

/** The IP packet in a frame; undefined when there is none, or the frame is of a link type that is not known. */
function ipPacketOf(linkType: number, frame: Buffer): Buffer | undefined {
  switch (linkType) {
    case 0: // BSD loopback: the family in the byte order of the host.
    case 108: // The same in network order.
      return frame.subarray(4);
    case 1:
      return behindEtherType(frame, 12);
    case 9: // PPP
      return behindPpp(frame, 0);
    case 50: // PPP in HDLC-like framing
      return behindPpp(frame, 2);
    case 12: // Raw IP, by the numbers of several systems.
    case 14:
    case 101:
    case 228:
    case 229:
      return frame;
    case 113: // Linux cooked capture
      return behindEtherType(frame, 14);
    case 276: // Linux cooked capture, version 2
      return frame.length < 20 ? undefined : behindEtherType(frame, 0, 20);
    case 104: // Cisco HDLC
      return behindEtherType(frame, 2);
    default:
      return undefined;
  }
}

/** @param at where the EtherType is. @param payload where what it names begins; left out: behind it. */
function behindEtherType(frame: Buffer, at: number, payload = at + 2): Buffer | undefined {
  if (frame.length < at + 2) return undefined;
  const type = frame.readUInt16BE(at);
  if (type === ipv4 || type === ipv6) return frame.subarray(payload);
  return vlanTags.has(type) ? behindEtherType(frame, payload + 2) : undefined;
}

function behindPpp(frame: Buffer, at: number): Buffer | undefined {
  if (frame.length < at + 2) return undefined;
  const protocol = frame.readUInt16BE(at);
  return protocol === 0x0021 || protocol === 0x0057 ? frame.subarray(at + 2) : undefined;
}

/** Link types that {@link ipPacketOf} knows. */
const knownLinkTypes: ReadonlySet<number> = new Set([0, 1, 9, 12, 14, 50, 101, 104, 108, 113, 228, 229, 276]);

/** A UDP datagram of a capture. */
export interface CapturedDatagram {
  /** The sender's address. */
  readonly address: string;
  readonly port: number;
  readonly destinationPort: number;
  readonly payload: Buffer;
}

/** The kind of a frame: a datagram, or the reason why it gave none. */
export type FrameKind = "datagram" | "other" | "cut" | "fragment" | "unknown_link";

const udp = 17;
/** Extension headers of IPv6 that have a length in their second byte, in units of 8 bytes. */
const extensions: ReadonlySet<number> = new Set([0, 43, 60, 135, 139, 140]);
const fragmentHeader = 44;

interface IpPacket {
  readonly source: Buffer;
  readonly protocol: number;
  readonly payload: Buffer;
  readonly fragment: Fragment | undefined;
  /** True if less than the packet says is there. */
  readonly isCut: boolean;
}

/** Takes UDP datagrams out of frames; fragments of IP packets are put together. */
export class DatagramReader {
  readonly #reassembly = new Reassembly();

  /** @param take is called when the frame holds or completes a datagram. */
  read({ linkType, bytes }: Frame, take: (datagram: CapturedDatagram) => void): FrameKind {
    if (!knownLinkTypes.has(linkType)) return "unknown_link";
    const packet = readIp(ipPacketOf(linkType, bytes));
    if (packet === undefined || packet.protocol !== udp) return "other";
    if (packet.isCut) return "cut";
    const { fragment, source } = packet;
    const whole = fragment === undefined ? packet.payload : this.#reassembly.add(fragment, packet.payload);
    if (whole === undefined) return "fragment";
    if (whole.length < 8) return "cut";
    const length = whole.readUInt16BE(4);
    // A length of 0 stands for a jumbogram: all that is there.
    if (length > whole.length) return "cut";
    take({
      address: formatAddressBytes(source, 0, source.length === 4 ? 4 : 6),
      port: whole.readUInt16BE(0),
      destinationPort: whole.readUInt16BE(2),
      payload: whole.subarray(8, length < 8 ? whole.length : length),
    });
    return "datagram";
  }

  /** Packets of which fragments are missing. */
  incomplete(): number {
    return this.#reassembly.waiting;
  }
}

function readIp(bytes: Buffer | undefined): IpPacket | undefined {
  const version = (bytes?.[0] ?? 0) >> 4;
  if (bytes === undefined) return undefined;
  if (version === 4) return readIpv4(bytes);
  return version === 6 ? readIpv6(bytes) : undefined;
}

function readIpv4(bytes: Buffer): IpPacket | undefined {
  const headerLength = ((bytes[0] ?? 0) & 15) * 4;
  if (headerLength < 20 || bytes.length < headerLength) return undefined;
  const total = bytes.readUInt16BE(2);
  const flags = bytes.readUInt16BE(6);
  const offset = (flags & 0x1fff) * 8;
  const isLast = (flags & 0x2000) === 0;
  const protocol = bytes[9] ?? 0;
  // The length is 0 where the network card was to fill it in.
  const end = total === 0 ? bytes.length : total;
  return {
    source: bytes.subarray(12, 16),
    protocol,
    payload: bytes.subarray(headerLength, end),
    fragment:
      offset === 0 && isLast
        ? undefined
        : { of: `${bytes.toString("hex", 12, 20)}${bytes.toString("hex", 4, 6)}${protocol}`, offset, isLast },
    isCut: end > bytes.length,
  };
}

function readIpv6(bytes: Buffer): IpPacket | undefined {
  if (bytes.length < 40) return undefined;
  const claimed = bytes.readUInt16BE(4);
  const end = claimed === 0 ? bytes.length : 40 + claimed;
  const source = bytes.subarray(8, 24);
  let protocol = bytes[6] ?? 0;
  let at = 40;
  let fragment: IpPacket["fragment"];
  while (at + 8 <= bytes.length && (extensions.has(protocol) || protocol === fragmentHeader)) {
    const next = bytes[at] ?? 0;
    if (protocol === fragmentHeader) {
      const where = bytes.readUInt16BE(at + 2);
      const of = `${bytes.toString("hex", 8, 40)}${bytes.toString("hex", at + 4, at + 8)}`;
      const isWhole = where >> 3 === 0 && (where & 1) === 0;
      if (!isWhole) fragment = { of, offset: where & 0xfff8, isLast: (where & 1) === 0 };
      at += 8;
    } else at += 8 + (bytes[at + 1] ?? 0) * 8;
    protocol = next;
    // Only the first fragment has the headers behind this one.
    if (fragment !== undefined && fragment.offset > 0) break;
  }
  return { source, protocol, payload: bytes.subarray(at, end), fragment, isCut: end > bytes.length };
}
