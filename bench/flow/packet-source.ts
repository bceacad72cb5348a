import { createRandom } from "../support/random.ts";
import type { PacketLayout } from "./packet-layout.ts";

export interface PacketSource {
  /** The templates, numbered in sequence; undefined where the protocol has none. */
  templates(): Buffer | undefined;
  /** The next datagram. Its bytes are good until {@link ringSize} further ones were asked for. */
  next(): Buffer;
}

export const ringSize = 256;

/** Where the addresses of records come from, all in 10.0.0.0/8 and each in another network of the metadata. */
export const addressPools = {
  /** Seven of eight from 4 096 addresses, the others from 65 536: as in traffic, few talk most. */
  traffic: { often: 0x000fff00, seldom: 0x00ffff00 },
  /** Sixteen million, all alike: no cache helps. */
  all: { often: 0x00ffffff, seldom: 0x00ffffff },
} as const;
export type AddressPool = (typeof addressPools)[keyof typeof addressPools];

/** Datagrams of one exporter: addresses, port, interface, counters and times differ in every record. */
export function createPacketSource(layout: PacketLayout, seed: number, pool: AddressPool): PacketSource {
  const random = createRandom(seed);
  const ring = Array.from({ length: ringSize }, () => Buffer.from(layout.bytes));
  const seconds = Math.floor(Date.now() / 1000);
  let turn = 0;
  let sequence = 0;

  const address = (): number => {
    const bits = random();
    return 0x0a000000 | (bits & (bits >>> 29 === 0 ? pool.seldom : pool.often));
  };

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
        packet.writeUInt32BE(address(), at + layout.source);
        packet.writeUInt32BE(address(), at + layout.destination);
        const bits = random();
        packet.writeUInt16BE(1024 + (bits >>> 17), at + layout.sourcePort);
        packet.writeUInt16BE(1 + (bits & 15), at + layout.inputInterface);
        packet.writeUInt32BE(40 + (bits & 0xfffff), at + layout.octets);
        packet.writeUInt32BE(1 + (bits & 0x3ff), at + layout.packets);
        packet.writeUInt32BE(layout.now - 100 - (bits & 0xffff), at + layout.first);
        packet.writeUInt32BE(layout.now - (bits & 63), at + layout.last);
      }
      return number(packet, layout.counts === "datagrams" ? 1 : layout.records);
    },
  };
}
