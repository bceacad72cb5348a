/** One packet of a generated capture. Times are milliseconds since the epoch. */
export interface PcapPacket {
  readonly time: number;
  /** A frame from its Ethernet header on. */
  readonly frame: Uint8Array;
}

const linkTypeEthernet = 1;
const etherTypes = { 4: 0x0800, 6: 0x86dd } as const;

/** A capture file (libpcap, microseconds, little-endian) of Ethernet frames. */
export function encodePcap(packets: readonly PcapPacket[]): Buffer {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(0xa1b2c3d4, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(65_535, 16);
  header.writeUInt32LE(linkTypeEthernet, 20);
  const records = packets.map(({ time, frame }) => {
    const record = Buffer.alloc(16);
    record.writeUInt32LE(Math.floor(time / 1000), 0);
    record.writeUInt32LE((time % 1000) * 1000, 4);
    record.writeUInt32LE(frame.length, 8);
    record.writeUInt32LE(frame.length, 12);
    return Buffer.concat([record, frame]);
  });
  return Buffer.concat([header, ...records]);
}

export interface IpPacket {
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly payloadLength: number;
}

/** Control bits of TCP. */
export const tcpFlags = { fin: 1, syn: 2, rst: 4, psh: 8, ack: 16 } as const;

/** An Ethernet frame with a TCP segment of zeros. @param flags control bits. */
export function tcpFrame(packet: IpPacket, flags: number, sequence = 0, acknowledged = 0): Buffer {
  const tcp = Buffer.alloc(20 + packet.payloadLength);
  tcp.writeUInt16BE(packet.sourcePort, 0);
  tcp.writeUInt16BE(packet.destinationPort, 2);
  tcp.writeUInt32BE(sequence >>> 0, 4);
  tcp.writeUInt32BE(acknowledged >>> 0, 8);
  tcp.writeUInt8(5 << 4, 12);
  tcp.writeUInt8(flags, 13);
  tcp.writeUInt16BE(65_535, 14);
  return ipFrame(packet, protocolTcp, tcp);
}

/** An Ethernet frame with a UDP datagram of zeros; addresses of 4 bytes make IPv4, of 16 bytes IPv6. */
export function udpFrame(packet: IpPacket): Buffer {
  const udp = Buffer.alloc(8 + packet.payloadLength);
  udp.writeUInt16BE(packet.sourcePort, 0);
  udp.writeUInt16BE(packet.destinationPort, 2);
  udp.writeUInt16BE(udp.length, 4);
  return ipFrame(packet, protocolUdp, udp);
}

function ipFrame(packet: IpPacket, protocol: number, content: Buffer): Buffer {
  const family = packet.source.length === 4 ? 4 : 6;
  const ethernet = Buffer.alloc(14);
  ethernet.write("020000000001020000000002", 0, "hex");
  ethernet.writeUInt16BE(etherTypes[family], 12);
  const header = (family === 4 ? ipv4Header : ipv6Header)(packet, protocol, content.length);
  return Buffer.concat([ethernet, header, content]);
}

const protocolTcp = 6;
const protocolUdp = 17;

function ipv4Header(packet: IpPacket, protocol: number, length: number): Buffer {
  const header = Buffer.alloc(20);
  header.writeUInt8(0x45, 0);
  header.writeUInt16BE(20 + length, 2);
  header.writeUInt8(64, 8);
  header.writeUInt8(protocol, 9);
  header.set(packet.source, 12);
  header.set(packet.destination, 16);
  let sum = 0;
  for (let i = 0; i < 20; i += 2) sum += header.readUInt16BE(i);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  header.writeUInt16BE(~sum & 0xffff, 10);
  return header;
}

function ipv6Header(packet: IpPacket, protocol: number, length: number): Buffer {
  const header = Buffer.alloc(40);
  header.writeUInt8(0x60, 0);
  header.writeUInt16BE(length, 4);
  header.writeUInt8(protocol, 6);
  header.writeUInt8(64, 7);
  header.set(packet.source, 8);
  header.set(packet.destination, 24);
  return header;
}
