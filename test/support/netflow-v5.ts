import { parseAddress } from "../../src/ip/index.ts";

export interface NetflowV5Record {
  readonly source: string;
  readonly destination: string;
  readonly packets?: number;
  readonly bytes?: number;
}

/** A NetFlow v5 datagram (header of 24 bytes, records of 48) of UDP flows from port 1000 to port 53, made at `now` seconds. */
export function netflowV5Datagram(records: readonly NetflowV5Record[], sequence = 0, now = 1_700_000_000): Buffer {
  const datagram = Buffer.alloc(24 + 48 * records.length);
  datagram.writeUInt16BE(5, 0);
  datagram.writeUInt16BE(records.length, 2);
  datagram.writeUInt32BE(3_600_000, 4);
  datagram.writeUInt32BE(now, 8);
  datagram.writeUInt32BE(sequence, 16);
  records.forEach(({ source, destination, packets = 1, bytes = 100 }, i) => {
    const at = 24 + 48 * i;
    datagram.writeUInt32BE(ipv4(source), at);
    datagram.writeUInt32BE(ipv4(destination), at + 4);
    datagram.writeUInt32BE(packets, at + 16);
    datagram.writeUInt32BE(bytes, at + 20);
    datagram.writeUInt32BE(3_590_000, at + 24);
    datagram.writeUInt32BE(3_595_000, at + 28);
    datagram.writeUInt16BE(1000, at + 32);
    datagram.writeUInt16BE(53, at + 34);
    datagram.writeUInt8(17, at + 38);
  });
  return datagram;
}

function ipv4(text: string): number {
  const address = parseAddress(text);
  if (address?.family !== 4) throw new TypeError(`not an IPv4 address: ${text}`);
  return Number(address.value);
}
