import type { BenchProtocol, PacketLayout } from "./packet-layout.ts";

type Element = readonly [id: number, length: number, value: number];

const uptime = 86_400_000;
/** Whose low 32 bits are far from a wrap. */
const ipfixTime = 1_700_000_000_000;

/** What the fields of a record are when nobody changes them: one HTTPS connection seen for ten seconds. */
const sourceAddress: Element = [8, 4, 0x0a000001];
const destinationAddress: Element = [12, 4, 0x0a000002];
const endpoints: readonly Element[] = [
  sourceAddress,
  destinationAddress,
  [7, 2, 40_000],
  [11, 2, 443],
  [4, 1, 6],
  [6, 1, 0x1b],
  [5, 1, 0],
];
const path: readonly Element[] = [
  [10, 4, 3],
  [14, 4, 12],
  [16, 4, 64_500],
  [17, 4, 64_501],
  [9, 1, 24],
  [13, 1, 24],
];

/** NetFlow v9 with the fields of a router's default record: 51 bytes (RFC 3954). */
const netflow9Fields: readonly Element[] = [
  ...endpoints,
  ...path,
  [15, 4, 0x0a0000fe],
  [1, 4, 150_000],
  [2, 4, 120],
  [22, 4, uptime - 10_000],
  [21, 4, uptime - 100],
];

/** IPFIX with 64-bit counters and times in milliseconds: 65 bytes (RFC 7011). */
const ipfixFields: readonly Element[] = [
  ...endpoints,
  ...path,
  [1, 8, 150_000],
  [2, 8, 120],
  [152, 8, ipfixTime - 10_000],
  [153, 8, ipfixTime],
];

/** The same with addresses below 2001:db8::/32: 123 bytes. */
const netflow9Ipv6Fields: readonly Element[] = netflow9Fields.map(([id, length, value]): Element => {
  const ipv6Id = new Map([
    [8, 27],
    [12, 28],
    [15, 62],
    [9, 29],
    [13, 30],
  ]).get(id);
  return [ipv6Id ?? id, ipv6Id !== undefined && length === 4 ? 16 : length, value];
});

const templateId = 256;

export function packetLayout(protocol: BenchProtocol, records: number): PacketLayout {
  if (protocol === "netflow5") return netflow5(records);
  const isIpfix = protocol === "ipfix";
  const isIpv6 = protocol === "netflow9-ipv6";
  const fields = isIpfix ? ipfixFields : isIpv6 ? netflow9Ipv6Fields : netflow9Fields;
  const headerLength = isIpfix ? 16 : 20;
  const header = (length: number, count: number): Buffer => {
    const bytes = Buffer.alloc(headerLength);
    bytes.writeUInt16BE(isIpfix ? 10 : 9, 0);
    bytes.writeUInt16BE(isIpfix ? length : count, 2);
    if (!isIpfix) bytes.writeUInt32BE(uptime, 4);
    bytes.writeUInt32BE(1, headerLength - 4);
    return bytes;
  };
  const packet = (set: Buffer, count: number): Buffer => Buffer.concat([header(headerLength + set.length, count), set]);
  const record = Buffer.concat(fields.map(encodeElement));
  return {
    bytes: packet(encodeSet(templateId, Buffer.concat(Array.from({ length: records }, () => record))), records),
    templates: packet(encodeSet(isIpfix ? 2 : 0, encodeTemplate(fields)), 1),
    records,
    firstRecord: headerLength + 4,
    recordLength: record.length,
    source: isIpv6 ? offsetOf(fields, 27) + 12 : offsetOf(fields, 8),
    destination: isIpv6 ? offsetOf(fields, 28) + 12 : offsetOf(fields, 12),
    sourcePort: offsetOf(fields, 7),
    inputInterface: offsetOf(fields, 10) + 2,
    octets: offsetOf(fields, 1) + (isIpfix ? 4 : 0),
    packets: offsetOf(fields, 2) + (isIpfix ? 4 : 0),
    first: isIpfix ? offsetOf(fields, 152) + 4 : offsetOf(fields, 22),
    last: isIpfix ? offsetOf(fields, 153) + 4 : offsetOf(fields, 21),
    now: isIpfix ? Number(BigInt.asUintN(32, BigInt(ipfixTime))) : uptime,
    sequence: isIpfix ? 8 : 12,
    seconds: isIpfix ? 4 : 8,
    counts: isIpfix ? "records" : "datagrams",
  };
}

/** NetFlow v5: a header of 24 bytes and records of 48, at most 30. */
function netflow5(records: number): PacketLayout {
  const bytes = Buffer.alloc(24 + 48 * records);
  bytes.writeUInt16BE(5, 0);
  bytes.writeUInt16BE(records, 2);
  bytes.writeUInt32BE(uptime, 4);
  for (let i = 0; i < records; i++) {
    const at = 24 + 48 * i;
    bytes.writeUInt32BE(0x0a0000fe, at + 8);
    bytes.writeUInt16BE(3, at + 12);
    bytes.writeUInt16BE(12, at + 14);
    bytes.writeUInt32BE(120, at + 16);
    bytes.writeUInt32BE(uptime - 10_000, at + 24);
    bytes.writeUInt32BE(uptime - 100, at + 28);
    bytes.writeUInt16BE(443, at + 34);
    bytes.writeUInt8(0x1b, at + 37);
    bytes.writeUInt8(6, at + 38);
    bytes.writeUInt16BE(64_500, at + 40);
    bytes.writeUInt16BE(64_501, at + 42);
    bytes.writeUInt8(24, at + 44);
    bytes.writeUInt8(24, at + 45);
  }
  return {
    bytes,
    templates: undefined,
    records,
    firstRecord: 24,
    recordLength: 48,
    source: 0,
    destination: 4,
    sourcePort: 32,
    inputInterface: 12,
    octets: 20,
    packets: 16,
    first: 24,
    last: 28,
    now: uptime,
    sequence: 16,
    seconds: 8,
    counts: "records",
  };
}

function encodeElement([, length, value]: Element): Buffer {
  const bytes = Buffer.alloc(length);
  bytes.writeUIntBE(value % 2 ** 32, Math.max(0, length - 4), Math.min(4, length));
  if (length === 16) bytes.writeUInt32BE(0x20010db8, 0);
  if (length === 8) bytes.writeUInt32BE(Math.floor(value / 2 ** 32), 0);
  return bytes;
}

function encodeTemplate(fields: readonly Element[]): Buffer {
  const numbers = [templateId, fields.length, ...fields.flatMap(([id, length]) => [id, length])];
  const bytes = Buffer.alloc(numbers.length * 2);
  numbers.forEach((number, i) => bytes.writeUInt16BE(number, i * 2));
  return bytes;
}

/** A set: id, length, content, padded with zeros to a multiple of four bytes. */
function encodeSet(id: number, content: Buffer): Buffer {
  const set = Buffer.alloc(4 + Math.ceil(content.length / 4) * 4);
  set.writeUInt16BE(id, 0);
  set.writeUInt16BE(set.length, 2);
  content.copy(set, 4);
  return set;
}

function offsetOf(fields: readonly Element[], id: number): number {
  const index = fields.findIndex(([element]) => element === id);
  return fields.slice(0, index).reduce((sum, [, length]) => sum + length, 0);
}
