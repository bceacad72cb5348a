import { createRandom } from "../support/random.ts";
import type { PacketLayout } from "./packet-layout.ts";

export interface PacketSource {
  /** The templates, numbered in sequence; undefined where the protocol has none. */
  templates(): Buffer | undefined;
  /** The next datagram. Its bytes are good until {@link ringSize} further ones were asked for. */
  next(): Buffer;
}

export const ringSize = 256;

/** Bit masks of the addresses in use below 10.0.0.0/8. */
export const addressMasks = {
  /** 65 536 sources and as many destinations, over all networks: more than one cache line, fewer than a cache holds. */
  many: 0x00ffff00,
  /** Sixteen million. */
  all: 0x00ffffff,
} as const;

/** Datagrams of one exporter: addresses, a port and a counter differ in every record. */
export function createPacketSource(layout: PacketLayout, seed: number, addressMask: number): PacketSource {
  const random = createRandom(seed);
  const ring = Array.from({ length: ringSize }, () => Buffer.from(layout.bytes));
  const seconds = Math.floor(Date.now() / 1000);
  let turn = 0;
  let sequence = 0;

  const number = (packet: Buffer, counted: number): Buffer => {
    packet.writeUInt32BE(sequence, layout.sequence);
    packet.writeUInt32BE(seconds, layout.seconds);
    sequence = (sequence + counted) >>> 0;
    return packet;
  };

  return {
    templates: () => layout.templates && number(Buffer.from(layout.templates), layout.counts === "datagrams" ? 1 : 0),
    next() {
      const packet = ring[turn++ % ringSize] as Buffer;
      for (let i = 0, at = layout.firstRecord; i < layout.records; i++, at += layout.recordLength) {
        packet.writeUInt32BE(0x0a000000 | (random() & addressMask), at + layout.source);
        packet.writeUInt32BE(0x0a000000 | (random() & addressMask), at + layout.destination);
        const bits = random();
        packet.writeUInt16BE(1024 + (bits >>> 17), at + layout.sourcePort);
        packet.writeUInt32BE(40 + (bits & 0xfffff), at + layout.octets);
      }
      return number(packet, layout.counts === "datagrams" ? 1 : layout.records);
    },
  };
}
