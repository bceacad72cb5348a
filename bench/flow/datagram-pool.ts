import { createRandom } from "../support/random.ts";
import type { BenchProtocol, PacketLayout } from "./packet-layout.ts";
import { packetLayout, templateDatagrams } from "./packet-layouts.ts";

/** Datagrams made beforehand: sending one again costs no more than writing its numbers and times. */
export interface DatagramPool {
  /** Datagrams of templates; none where the protocol has none. */
  readonly templates: readonly Buffer[];
  readonly datagrams: readonly Buffer[];
  /** Records or samples in each datagram. */
  readonly records: number;
  /** How far the sequence number moves by a datagram of templates, and by one of data. */
  readonly templateStep: number;
  readonly step: number;
  /** Writes the exporter's sequence number, and the time in seconds, into a datagram of data or templates. */
  stamp(datagram: Buffer, sequence: number, seconds: number): void;
}

/** Where the addresses of records come from, all in 10.0.0.0/8 and each in another network of the metadata. */
export const addressPools = {
  /** Seven of eight from 4 096 addresses, the others from 65 536: as in traffic, few talk most. */
  traffic: { often: 0x000fff00, seldom: 0x00ffff00 },
  /** Sixteen million, all alike: no cache helps. */
  all: { often: 0x00ffffff, seldom: 0x00ffffff },
} as const;
export type AddressPool = (typeof addressPools)[keyof typeof addressPools];

export interface DatagramPoolOptions {
  readonly protocol: BenchProtocol;
  /** How many templates; the datagrams use them in turn. Default: 1. */
  readonly templates?: number;
  /** Default: {@link addressPools.traffic}. */
  readonly addresses?: AddressPool;
  /** Gives the addresses of the records instead, source and destination in turn. */
  readonly nextAddress?: () => number;
  /** How many datagrams differ. Default: 2048. */
  readonly count?: number;
}

/** Addresses, port, interface, counters and times differ in every record. */
export function createDatagramPool(options: DatagramPoolOptions): DatagramPool {
  const { protocol, templates = 1, addresses = addressPools.traffic, count = 2048 } = options;
  const layouts = Array.from({ length: templates }, (_, variant) => packetLayout(protocol, variant));
  const random = createRandom(1);
  const datagrams = Array.from({ length: Math.max(count, templates) }, (_, i) =>
    fill(layouts[i % templates] as PacketLayout, options.nextAddress ?? randomAddress(addresses, random), random),
  );
  const [{ records, recordLength, firstRecord, sequence: sequenceAt, seconds: secondsAt, sampleSequence, counts }] =
    layouts as [PacketLayout];
  const encoded = layouts.flatMap(({ template }) => template ?? []);
  return {
    templates: templateDatagrams(protocol, encoded),
    datagrams,
    records,
    templateStep: counts === "datagrams" ? 1 : 0,
    step: counts === "datagrams" ? 1 : records,
    stamp(datagram, sequence, seconds) {
      datagram.writeUInt32BE(sequence >>> 0, sequenceAt);
      if (secondsAt !== undefined) datagram.writeUInt32BE(seconds, secondsAt);
      if (sampleSequence === undefined) return;
      for (let i = 0, at = firstRecord + sampleSequence; i < records; i++, at += recordLength) {
        datagram.writeUInt32BE((sequence * records + i + 1) >>> 0, at);
      }
    },
  };
}

function randomAddress(pool: AddressPool, random: () => number): () => number {
  return () => {
    const bits = random();
    return 0x0a000000 | (bits & (bits >>> 29 === 0 ? pool.seldom : pool.often));
  };
}

function fill(layout: PacketLayout, address: () => number, random: () => number): Buffer {
  const datagram = Buffer.from(layout.bytes);
  for (let i = 0, at = layout.firstRecord; i < layout.records; i++, at += layout.recordLength) {
    datagram.writeUInt32BE(address(), at + layout.source);
    datagram.writeUInt32BE(address(), at + layout.destination);
    const bits = random();
    datagram.writeUInt16BE(1024 + (bits >>> 17), at + layout.sourcePort);
    datagram.writeUInt16BE(1 + (bits & 15), at + layout.inputInterface);
    const { octets, packets, first, last, now } = layout;
    if (octets !== undefined) datagram.writeUInt32BE(40 + (bits & 0xfffff), at + octets);
    if (packets !== undefined) datagram.writeUInt32BE(1 + (bits & 0x3ff), at + packets);
    if (first !== undefined) datagram.writeUInt32BE(now - 100 - (bits & 0xffff), at + first);
    if (last !== undefined) datagram.writeUInt32BE(now - (bits & 63), at + last);
  }
  return datagram;
}
