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

export interface UdpPacket {
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly payloadLength: number;
}

/** An Ethernet frame with a UDP datagram of zeros; addresses of 4 bytes make IPv4, of 16 bytes IPv6. */
export function udpFrame(packet: UdpPacket): Buffer {
  const family = packet.source.length === 4 ? 4 : 6;
  const udp = Buffer.alloc(8 + packet.payloadLength);
  udp.writeUInt16BE(packet.sourcePort, 0);
  udp.writeUInt16BE(packet.destinationPort, 2);
  udp.writeUInt16BE(udp.length, 4);
  const ethernet = Buffer.alloc(14);
  ethernet.write("020000000001020000000002", 0, "hex");
  ethernet.writeUInt16BE(etherTypes[family], 12);
  return Buffer.concat([ethernet, family === 4 ? ipv4Header(packet, udp.length) : ipv6Header(packet, udp.length), udp]);
}

const protocolUdp = 17;

function ipv4Header(packet: UdpPacket, length: number): Buffer {
  const header = Buffer.alloc(20);
  header.writeUInt8(0x45, 0);
  header.writeUInt16BE(20 + length, 2);
  header.writeUInt8(64, 8);
  header.writeUInt8(protocolUdp, 9);
  header.set(packet.source, 12);
  header.set(packet.destination, 16);
  let sum = 0;
  for (let i = 0; i < 20; i += 2) sum += header.readUInt16BE(i);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  header.writeUInt16BE(~sum & 0xffff, 10);
  return header;
}

function ipv6Header(packet: UdpPacket, length: number): Buffer {
  const header = Buffer.alloc(40);
  header.writeUInt8(0x60, 0);
  header.writeUInt16BE(length, 4);
  header.writeUInt8(protocolUdp, 6);
  header.writeUInt8(64, 7);
  header.set(packet.source, 8);
  header.set(packet.destination, 24);
  return header;
}
