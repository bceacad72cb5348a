import { ipfix, netflow9, packetSet, templateRecord } from "../../packages/testkit/index.ts";
import { recordsPerDatagram, type BenchProtocol, type PacketLayout } from "./packet-layout.ts";

type Element = readonly [id: number, length: number, value: number];

const uptime = 86_400_000;
/** Whose low 32 bits are far from a wrap. */
const ipfixTime = 1_700_000_000_000;
/** 2001:db8::/32 in the high half of 64 bits. */
const ipv6Prefix = 0x20010db8 * 2 ** 32;

/** What the fields of a record are when nobody changes them: one HTTPS connection seen for ten seconds. */
const sourceAddress: Element = [8, 4, 0x0a000001];
const destinationAddress: Element = [12, 4, 0x0a000002];
const addresses: readonly Element[] = [sourceAddress, destinationAddress];
const endpoints: readonly Element[] = [
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
];
const masks: readonly Element[] = [
  [9, 1, 24],
  [13, 1, 24],
];
const counters: readonly Element[] = [
  [1, 4, 150_000],
  [2, 4, 120],
  [22, 4, uptime - 10_000],
  [21, 4, uptime - 100],
];

/** NetFlow v9 with the fields of a router's default record: 51 bytes (RFC 3954). */
const netflow9Fields: readonly Element[] = [
  ...addresses,
  ...endpoints,
  ...path,
  ...masks,
  [15, 4, 0x0a0000fe],
  ...counters,
];

/** The same for IPv6: 89 bytes. The values of addresses are their first eight bytes. */
const netflow9Ipv6Fields: readonly Element[] = [
  [27, 16, ipv6Prefix],
  [28, 16, ipv6Prefix],
  ...endpoints,
  ...path,
  [29, 1, 56],
  [30, 1, 56],
  [62, 16, ipv6Prefix],
  ...counters,
];

/** IPFIX with 64-bit counters and times in milliseconds: 65 bytes (RFC 7011). */
const ipfixFields: readonly Element[] = [
  ...addresses,
  ...endpoints,
  ...path,
  ...masks,
  [1, 8, 150_000],
  [2, 8, 120],
  [152, 8, ipfixTime - 10_000],
  [153, 8, ipfixTime],
];

const firstTemplateId = 256;

/**
 * @param variant of the template: each lists the same fields in another order, so that none is decoded as another is.
 */
export function packetLayout(protocol: BenchProtocol, variant = 0): PacketLayout {
  const records = recordsPerDatagram[protocol];
  if (protocol === "netflow5") return netflow5(records);
  if (protocol === "sflow") return sflow(records, Buffer.alloc(0));
  if (protocol === "sflow-odd") return sflow(records, oddRecords);
  const isIpfix = protocol === "ipfix";
  const isIpv6 = protocol === "netflow9-ipv6";
  const fields = shuffled(isIpfix ? ipfixFields : isIpv6 ? netflow9Ipv6Fields : netflow9Fields, variant);
  const headerLength = isIpfix ? 16 : 20;
  const record = Buffer.concat(fields.map(encodeElement));
  const set = packetSet(firstTemplateId + variant, Buffer.concat(Array.from({ length: records }, () => record)));
  return {
    bytes: withHeader(protocol, set, records),
    template: templateRecord(
      { id: firstTemplateId + variant, fields: fields.map(([id, length]) => ({ id, length })) },
      isIpfix ? 10 : 9,
    ),
    records,
    firstRecord: headerLength + 4,
    recordLength: record.length,
    source: isIpv6 ? offsetOf(fields, 27) + 4 : offsetOf(fields, 8),
    destination: isIpv6 ? offsetOf(fields, 28) + 4 : offsetOf(fields, 12),
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

/** Datagrams of templates alone, as many in each as fit into 1400 bytes. */
export function templateDatagrams(protocol: BenchProtocol, templates: readonly Buffer[]): Buffer[] {
  const perDatagram = Math.max(1, Math.floor(1400 / (templates[0]?.length ?? 1400)));
  const datagrams: Buffer[] = [];
  for (let i = 0; i < templates.length; i += perDatagram) {
    const some = templates.slice(i, i + perDatagram);
    const set = packetSet(protocol === "ipfix" ? 2 : 0, Buffer.concat(some));
    datagrams.push(withHeader(protocol, set, some.length));
  }
  return datagrams;
}

function withHeader(protocol: BenchProtocol, set: Buffer, count: number): Buffer {
  const options = { sequence: 0, seconds: 0, domain: 1 };
  return protocol === "ipfix" ? ipfix([set], options) : netflow9([set], { ...options, count, uptime });
}

/** The fields in the order that has this number of all their orders; number 0 is as they are. */
function shuffled(fields: readonly Element[], number: number): Element[] {
  const rest = [...fields];
  const ordered: Element[] = [];
  for (let left = number; rest.length > 0;) {
    ordered.push(...rest.splice(left % rest.length, 1));
    left = Math.floor(left / (rest.length + 1));
  }
  return ordered;
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
    template: undefined,
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

const sampledHeader = 128;
const sampleHead = 8 + 32;
const headerRecordHead = 8 + 16;
const switchRecord = 8 + 16;

/** Extended user data with two texts, one of them to be escaped, and a second header, which comes out in hex. */
const oddRecords = Buffer.from(
  "000003ec0000001c0000006a00000005616c6963650000000000006a0000000362226300" +
    "00000001000000140000000100000578000000040000000401020304",
  "hex",
);

/** sFlow version 5, flow samples of HTTPS over IPv4 in a VLAN with 128 bytes of header, and what the switch says of it. */
function sflow(samples: number, more: Buffer): PacketLayout {
  const length = sampleHead + headerRecordHead + sampledHeader + switchRecord + more.length;
  const bytes = Buffer.alloc(28 + samples * length);
  const words = (at: number, ...values: readonly number[]): void =>
    values.forEach((value, i) => bytes.writeUInt32BE(value, at + 4 * i));
  words(0, 5, 1, 0x7f000001, 0, 1, uptime, samples);
  for (let i = 0; i < samples; i++) {
    const at = 28 + i * length;
    words(at, 1, length - 8, 0, 3, 1000, 1_000_000, 0, 3, 12, more.length > 0 ? 4 : 2);
    words(at + sampleHead, 1, headerRecordHead - 8 + sampledHeader, 1, 1400, 4, sampledHeader);
    const frame = at + sampleHead + headerRecordHead;
    bytes.write("00005e0053ff00005e005301810000640800450005000000400040060000", frame, "hex");
    bytes.writeUInt16BE(443, frame + 40);
    bytes.writeUInt16BE(0x5018, frame + 50);
    words(frame + sampledHeader, 1001, 16, 100, 0, 200, 0);
    more.copy(bytes, at + length - more.length);
  }
  const frame = sampleHead + headerRecordHead;
  return {
    bytes,
    template: undefined,
    records: samples,
    firstRecord: 28,
    recordLength: length,
    source: frame + 30,
    destination: frame + 34,
    sourcePort: frame + 38,
    inputInterface: 30,
    sampleSequence: 8,
    now: uptime,
    sequence: 16,
    counts: "datagrams",
  };
}

function encodeElement([, length, value]: Element): Buffer {
  const bytes = Buffer.alloc(length);
  if (length < 8) bytes.writeUIntBE(value, 0, length);
  else {
    bytes.writeUInt32BE(Math.floor(value / 2 ** 32), 0);
    bytes.writeUInt32BE(value % 2 ** 32, 4);
  }
  return bytes;
}

function offsetOf(fields: readonly Element[], id: number): number {
  const index = fields.findIndex(([element]) => element === id);
  return fields.slice(0, index).reduce((sum, [, length]) => sum + length, 0);
}
