/** A datagram with everything in place but what differs from one to the next; those places are known by offset. */
export interface PacketLayout {
  /** Header and records, with every byte that never changes. */
  readonly bytes: Buffer;
  /** The template as it stands within a set; undefined where the protocol has none. */
  readonly template: Buffer | undefined;
  readonly records: number;
  /** Where the first record begins, and how far it is to the next. */
  readonly firstRecord: number;
  readonly recordLength: number;
  /** Places within a record: the 32 bits of an address that differ, the low 16 bits of a port and an interface. */
  readonly source: number;
  readonly destination: number;
  readonly sourcePort: number;
  readonly inputInterface: number;
  /** Places of the low 32 bits; undefined where the protocol has no such field. */
  readonly octets?: number;
  readonly packets?: number;
  readonly first?: number;
  readonly last?: number;
  /** Of an sFlow sample: its own sequence number. */
  readonly sampleSequence?: number;
  /** The low 32 bits of the time of a flow that ends when the datagram is sent, in the protocol's own count. */
  readonly now: number;
  /** Places of 32-bit numbers in the header. */
  readonly sequence: number;
  readonly seconds?: number;
  /** What the sequence number counts. */
  readonly counts: "records" | "datagrams";
}

export const protocols = ["netflow5", "netflow9", "netflow9-ipv6", "ipfix", "sflow"] as const;
/** `sflow-odd`: samples with texts and a second header. */
export type BenchProtocol = (typeof protocols)[number] | "sflow-odd";

/** Records, or samples, that a datagram of at most 1500 bytes of IP holds; 25 where more would fit. */
export const recordsPerDatagram: Readonly<Record<BenchProtocol, number>> = {
  netflow5: 25,
  netflow9: 25,
  "netflow9-ipv6": 16,
  ipfix: 22,
  sflow: 6,
  "sflow-odd": 4,
};
