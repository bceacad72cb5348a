/** A datagram with everything in place but what differs from one to the next; those places are known by offset. */
export interface PacketLayout {
  /** Header and data set, with every byte that never changes. */
  readonly bytes: Buffer;
  /** A datagram with the templates alone; undefined where the protocol has none. */
  readonly templates: Buffer | undefined;
  readonly records: number;
  /** Where the first record begins, and how far it is to the next. */
  readonly firstRecord: number;
  readonly recordLength: number;
  /** Places within a record: 32-bit addresses, the low 16 bits of a port and an interface, the low 32 bits of others. */
  readonly source: number;
  readonly destination: number;
  readonly sourcePort: number;
  readonly inputInterface: number;
  readonly octets: number;
  readonly packets: number;
  readonly first: number;
  readonly last: number;
  /** The low 32 bits of the time of a flow that ends when the datagram is sent, in the protocol's own count. */
  readonly now: number;
  /** Places of 32-bit numbers in the header, of data and template datagrams alike. */
  readonly sequence: number;
  readonly seconds: number;
  /** What the sequence number counts. */
  readonly counts: "records" | "datagrams";
}

export const protocols = ["netflow5", "netflow9", "ipfix"] as const;
export type BenchProtocol = (typeof protocols)[number] | "netflow9-ipv6";
