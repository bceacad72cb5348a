// Captures in several formats and link types, for tests.
import { udpFrame } from "./pcap.ts";

export interface TestPacket {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly bytes: Buffer;
  readonly wireLength?: number;
}

export interface PcapFormat {
  readonly linkType: number;
  readonly isBig?: boolean;
  readonly isNano?: boolean;
}

/** A capture in the format of libpcap. */
export function pcapFile(
  packets: readonly TestPacket[],
  { linkType, isBig = false, isNano = false }: PcapFormat,
): Buffer {
  const words = (...values: number[]): Buffer => {
    const bytes = Buffer.alloc(4 * values.length);
    values.forEach((value, i) => (isBig ? bytes.writeUInt32BE(value, 4 * i) : bytes.writeUInt32LE(value, 4 * i)));
    return bytes;
  };
  const version = Buffer.alloc(4);
  if (isBig) version.writeUInt32BE(0x00020004);
  else version.writeUInt32LE(0x00040002);
  const head = [words(isNano ? 0xa1b23c4d : 0xa1b2c3d4), version, words(0, 0, 65_535, linkType)];
  const records = packets.map(({ time, bytes, wireLength = bytes.length }) => {
    const part = (time % 1000) * (isNano ? 1_000_000 : 1000);
    return Buffer.concat([words(Math.floor(time / 1000), part, bytes.length, wireLength), bytes]);
  });
  return Buffer.concat([...head, ...records]);
}

export interface PcapngFormat {
  readonly linkType: number;
  readonly isBig?: boolean;
  /** As in if_tsresol. */
  readonly resolution?: number;
  /** Seconds, as in if_tsoffset. */
  readonly offset?: number;
  readonly kind?: "enhanced" | "simple" | "old";
}

/** A capture in the format pcapng, with blocks that are no packets between the others. */
export function pcapngFile(packets: readonly TestPacket[], format: PcapngFormat): Buffer {
  const { linkType, isBig = false, resolution, offset, kind = "enhanced" } = format;
  const uint = (value: number, size: 2 | 4): Buffer => {
    const bytes = Buffer.alloc(size);
    if (isBig) bytes.writeUIntBE(value, 0, size);
    else bytes.writeUIntLE(value, 0, size);
    return bytes;
  };
  const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
  const block = (type: number, ...parts: Buffer[]): Buffer => {
    const body = Buffer.concat(parts);
    return Buffer.concat([uint(type, 4), uint(body.length + 12, 4), body, uint(body.length + 12, 4)]);
  };
  const option = (code: number, value: Buffer): Buffer =>
    Buffer.concat([uint(code, 2), uint(value.length, 2), padded(value)]);
  const seconds = Buffer.alloc(8);
  if (isBig) seconds.writeBigInt64BE(BigInt(offset ?? 0));
  else seconds.writeBigInt64LE(BigInt(offset ?? 0));
  const options = [
    ...(resolution === undefined ? [] : [option(9, Buffer.from([resolution]))]),
    ...(offset === undefined ? [] : [option(14, seconds)]),
    option(0, Buffer.alloc(0)),
  ];
  const perSecond = resolution === undefined ? 1e6 : resolution < 128 ? 10 ** resolution : 2 ** (resolution & 127);
  const packet = ({ time, bytes, wireLength = bytes.length }: TestPacket): Buffer => {
    const units = (BigInt(time - 1000 * (offset ?? 0)) * BigInt(perSecond)) / 1000n;
    const stamp = [uint(Number(units >> 32n), 4), uint(Number(units & 0xffff_ffffn), 4)];
    const lengths = [uint(bytes.length, 4), uint(wireLength, 4)];
    if (kind === "simple") return block(3, uint(wireLength, 4), padded(bytes));
    if (kind === "old") return block(2, uint(0, 2), uint(0, 2), ...stamp, ...lengths, padded(bytes));
    return block(
      6,
      uint(0, 4),
      ...stamp,
      ...lengths,
      padded(bytes),
      option(1, Buffer.from("a comment")),
      option(0, Buffer.alloc(0)),
    );
  };
  return Buffer.concat(
    [
      block(0x0a0d0d0a, uint(0x1a2b3c4d, 4), uint(1, 2), uint(0, 2), Buffer.alloc(8, 0xff)),
      block(1, uint(linkType, 2), uint(0, 2), uint(0, 4), ...options),
      block(5, Buffer.alloc(12)),
      ...packets.map(packet),
      block(0x0bad, Buffer.from("custom")),
    ].map((bytes) => (bytes.length % 4 === 0 ? bytes : Buffer.alloc(0))),
  );
}

/** A UDP datagram in an IP packet. Addresses of 4 bytes make IPv4, of 16 bytes IPv6. */
export function ipPacketWith(payload: Uint8Array, source: readonly number[], ports: readonly [number, number]): Buffer {
  const frame = udpFrame({
    source: Uint8Array.from(source),
    destination: Uint8Array.from(source),
    sourcePort: ports[0],
    destinationPort: ports[1],
    payloadLength: payload.length,
  });
  frame.set(payload, frame.length - payload.length);
  return frame.subarray(14);
}

const macs = Buffer.from("020000000001020000000002", "hex");
const typeOf = (packet: Buffer): Buffer => Buffer.from((packet[0] ?? 0) >> 4 === 4 ? "0800" : "86dd", "hex");

/** Frames around an IP packet, by link type and name. */
export const framings: readonly (readonly [name: string, linkType: number, frame: (packet: Buffer) => Buffer])[] = [
  ["Ethernet", 1, (packet) => Buffer.concat([macs, typeOf(packet), packet])],
  ["802.1Q", 1, (packet) => Buffer.concat([macs, Buffer.from("81000064", "hex"), typeOf(packet), packet])],
  ["802.1ad", 1, (packet) => Buffer.concat([macs, Buffer.from("88a8000a81000064", "hex"), typeOf(packet), packet])],
  ["BSD loopback", 0, (packet) => Buffer.concat([Buffer.from("02000000", "hex"), packet])],
  ["OpenBSD loopback", 108, (packet) => Buffer.concat([Buffer.from("00000002", "hex"), packet])],
  ["raw", 101, (packet) => packet],
  ["raw, 12", 12, (packet) => packet],
  ["PPP", 9, (packet) => Buffer.concat([Buffer.from((packet[0] ?? 0) >> 4 === 4 ? "0021" : "0057", "hex"), packet])],
  [
    "PPP in HDLC",
    50,
    (packet) => Buffer.concat([Buffer.from((packet[0] ?? 0) >> 4 === 4 ? "ff030021" : "ff030057", "hex"), packet]),
  ],
  ["Cisco HDLC", 104, (packet) => Buffer.concat([Buffer.from("0f00", "hex"), typeOf(packet), packet])],
  ["Linux cooked", 113, (packet) => Buffer.concat([Buffer.alloc(14), typeOf(packet), packet])],
  ["Linux cooked, 2", 276, (packet) => Buffer.concat([typeOf(packet), Buffer.alloc(18), packet])],
];
