import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";

/**
 * A UDP socket at an address of the loopback network and a port that the system chooses. Where only 127.0.0.1 exists
 * (not on Linux), it is there.
 */
export async function bindLoopback(address: string): Promise<Socket> {
  try {
    return await bind(address);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRNOTAVAIL") throw error;
    return bind("127.0.0.1");
  }
}

async function bind(address: string): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.bind(0, address);
  await once(socket, "listening");
  return socket;
}

// Datagrams of NetFlow v9 and IPFIX, byte by byte: for the exporters of the demonstration, the tests and the benches.

/** One field of a template: element, length in bytes (or "variable"), private enterprise number. */
export interface PacketField {
  readonly id: number;
  readonly length: number | "variable";
  readonly pen?: number;
}

export interface PacketTemplate {
  readonly id: number;
  readonly fields: readonly PacketField[];
  /** Makes it an options template: this many of the first fields are scope. */
  readonly scopeCount?: number;
}

/** A set of a message, ready to be put into one. */
export type PacketSet = Buffer;

/** Big-endian bytes of an unsigned integer. */
export function uint(value: number | bigint, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let rest = BigInt(value);
  for (let i = length - 1; i >= 0; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}

/** A set with any content, padded with zeros to a multiple of four bytes unless `pad` says otherwise. */
export function packetSet(id: number, content: Buffer, options: { length?: number; pad?: boolean } = {}): PacketSet {
  const padding = options.pad === false ? 0 : (4 - (content.length % 4)) % 4;
  const length = options.length ?? 4 + content.length + padding;
  return Buffer.concat([uint(id, 2), uint(length, 2), content, Buffer.alloc(padding)]);
}

/** Values of the fields of one record in order, each as its bytes; those of variable length get their length prefix. */
export function dataSet(template: PacketTemplate, ...records: readonly (readonly Buffer[])[]): PacketSet {
  return packetSet(template.id, Buffer.concat(records.map((record) => encodeRecord(template, record))));
}

export function encodeRecord(template: PacketTemplate, values: readonly Buffer[]): Buffer {
  return Buffer.concat(
    template.fields.map(({ length }, i) => {
      const value = values[i] ?? Buffer.alloc(0);
      if (length === "variable") return Buffer.concat([variablePrefix(value.length), value]);
      if (value.length !== length) throw new RangeError(`field ${i}: ${value.length} bytes for ${length}`);
      return value;
    }),
  );
}

/** The length before a value of variable length: one byte, or 255 and two. */
export function variablePrefix(length: number): Buffer {
  return length < 255 ? uint(length, 1) : Buffer.concat([uint(255, 1), uint(length, 2)]);
}

/** A template FlowSet of NetFlow v9, options templates in a set of their own kind. */
export function netflow9Templates(...templates: readonly PacketTemplate[]): PacketSet {
  const isOptions = templates[0]?.scopeCount !== undefined;
  return packetSet(isOptions ? 1 : 0, Buffer.concat(templates.map((template) => templateRecord(template, 9))));
}

/** A template set of IPFIX, options templates in a set of their own kind. */
export function ipfixTemplates(...templates: readonly PacketTemplate[]): PacketSet {
  const isOptions = templates[0]?.scopeCount !== undefined;
  return packetSet(isOptions ? 3 : 2, Buffer.concat(templates.map((template) => templateRecord(template, 10))));
}

/**
 * A template as it stands in its set: id, counts, then element and length of each field. The counts of an options template
 * are of bytes in version 9, of fields in IPFIX (version 10).
 */
export function templateRecord(template: PacketTemplate, version: 9 | 10): Buffer {
  const { id, scopeCount } = template;
  const count = template.fields.length;
  const specifiers = template.fields.map((field) =>
    field.pen === undefined
      ? Buffer.concat([uint(field.id, 2), wireLength(field)])
      : Buffer.concat([uint(field.id + 0x8000, 2), wireLength(field), uint(field.pen, 4)]),
  );
  const plain = scopeCount === undefined ? [count] : [count, scopeCount];
  const counts = version === 9 && scopeCount !== undefined ? [scopeCount * 4, (count - scopeCount) * 4] : plain;
  return Buffer.concat([uint(id, 2), ...counts.map((one) => uint(one, 2)), ...specifiers]);
}

function wireLength({ length }: PacketField): Buffer {
  return uint(length === "variable" ? 0xffff : length, 2);
}

/** The second that a header gives by default. */
export const exportSeconds = 1_700_000_000;
/** And how long the exporter has run, in milliseconds. */
export const exportUptime = 100_000;

interface HeaderOptions {
  readonly sequence?: number;
  readonly domain?: number;
  readonly uptime?: number;
  readonly seconds?: number;
  /** NetFlow v9: the header's count; v5: the count of records. */
  readonly count?: number;
  /** IPFIX: the length that the header gives. */
  readonly length?: number;
}

export function netflow9(sets: readonly PacketSet[], options: HeaderOptions = {}): Buffer {
  const { sequence = 0, domain = 1, uptime = exportUptime, seconds = exportSeconds, count = sets.length } = options;
  const header = uints([9, 2], [count, 2], [uptime, 4], [seconds, 4], [sequence, 4], [domain, 4]);
  return Buffer.concat([header, ...sets]);
}

export function ipfix(sets: readonly PacketSet[], options: HeaderOptions = {}): Buffer {
  const body = Buffer.concat(sets);
  const { sequence = 0, domain = 1, seconds = exportSeconds, length = 16 + body.length } = options;
  return Buffer.concat([uints([10, 2], [length, 2], [seconds, 4], [sequence, 4], [domain, 4]), body]);
}

/** Unsigned integers one after the other, each with its length. */
export function uints(...values: readonly (readonly [value: number | bigint, length: number])[]): Buffer {
  return Buffer.concat(values.map(([value, length]) => uint(value, length)));
}

export const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/[\s:]/g, ""), "hex");
export const ipv4 = (text: string): Buffer => Buffer.from(text.split(".").map(Number));

/** Fields written short: `[8, 4]`, `[96, "variable"]`, `[40, 2, 6871]`. */
export function fields(...short: readonly (readonly [number, number | "variable", number?])[]): PacketField[] {
  return short.map(([id, length, pen]) => (pen === undefined ? { id, length } : { id, length, pen }));
}

export interface Netflow5Record {
  readonly source?: string;
  readonly destination?: string;
  readonly bytes?: number;
  readonly packets?: number;
  readonly start?: number;
  readonly end?: number;
  readonly protocol?: number;
  readonly tcpFlags?: number;
  readonly tos?: number;
  readonly ports?: readonly [source: number, destination: number];
  /** AS numbers, prefix lengths and interfaces of both ends, and the next hop. */
  readonly route?: {
    readonly as: readonly [number, number];
    readonly prefixes: readonly [number, number];
    readonly interfaces: readonly [number, number];
    readonly nextHop: string;
  };
}

const exampleRoute: Netflow5Record["route"] & {} = {
  as: [64_496, 64_511],
  prefixes: [24, 25],
  interfaces: [1, 2],
  nextHop: "203.0.113.9",
};

interface Netflow5Options extends HeaderOptions {
  readonly nanoseconds?: number;
  /** Mode in the two upper bits, interval in the others. */
  readonly sampling?: number;
  readonly engineId?: number;
}

export function netflow5(records: readonly Netflow5Record[], options: Netflow5Options = {}): Buffer {
  const { sequence = 0, uptime = exportUptime, seconds = exportSeconds, count = records.length } = options;
  const { nanoseconds = 0, sampling = 0, engineId = 0 } = options;
  const header = uints([5, 2], [count, 2], [uptime, 4], [seconds, 4], [nanoseconds, 4], [sequence, 4]);
  const engine = uints([0, 1], [engineId, 1], [sampling, 2]);
  return Buffer.concat([header, engine, ...records.map(netflow5Record)]);
}

/** @param length of a record: 48, or 52 as some exporters have it. */
export function netflow1(
  records: readonly Netflow5Record[],
  options: HeaderOptions = {},
  length: 48 | 52 = 48,
): Buffer {
  const { uptime = exportUptime, seconds = exportSeconds, count = records.length } = options;
  const header = uints([1, 2], [count, 2], [uptime, 4], [seconds, 4], [0, 4]);
  const body = records.map((record) => {
    const { protocol = 6, tcpFlags = 0x1b, tos = 0 } = record;
    const tail = uints([0, 2], [protocol, 1], [tos, 1], [tcpFlags, 1]);
    return Buffer.concat([netflow5Record(record).subarray(0, 36), tail, Buffer.alloc(length - 41, 0xee)]);
  });
  return Buffer.concat([header, ...body]);
}

interface Netflow7Record extends Netflow5Record {
  readonly flags?: readonly [fields: number, flow: number];
  readonly router?: string;
}

export function netflow7(records: readonly Netflow7Record[], options: HeaderOptions = {}): Buffer {
  const { sequence = 0, uptime = exportUptime, seconds = exportSeconds, count = records.length } = options;
  const header = uints([7, 2], [count, 2], [uptime, 4], [seconds, 4], [0, 4], [sequence, 4], [0, 4]);
  const body = records.map((record) => {
    const { flags = [0, 0], router = "192.0.2.253" } = record;
    const bytes = Buffer.concat([netflow5Record(record), ipv4(router)]);
    bytes.writeUInt8(flags[0], 36);
    bytes.writeUInt16BE(flags[1], 46);
    return bytes;
  });
  return Buffer.concat([header, ...body]);
}

function netflow5Record(record: Netflow5Record): Buffer {
  const { source = "192.0.2.1", destination = "198.51.100.2", bytes = 1500, packets = 10 } = record;
  const { start = exportUptime - 5000, end = exportUptime - 1000, protocol = 6, tcpFlags = 0x1b, tos = 0 } = record;
  const { ports = [40_000, 443], route = exampleRoute } = record;
  const { as, prefixes, interfaces, nextHop } = route;
  return Buffer.concat([
    ipv4(source),
    ipv4(destination),
    ipv4(nextHop),
    uints([interfaces[0], 2], [interfaces[1], 2], [packets, 4], [bytes, 4], [start, 4], [end, 4]),
    uints([ports[0], 2], [ports[1], 2], [0, 1], [tcpFlags, 1], [protocol, 1], [tos, 1]),
    uints([as[0], 2], [as[1], 2], [prefixes[0], 1], [prefixes[1], 1], [0, 2]),
  ]);
}
