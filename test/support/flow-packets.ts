import {
  exportSeconds,
  exportUptime,
  uints,
  type HeaderOptions,
  type PacketField,
} from "../../src/app/demo/flow-packets.ts";

export * from "../../src/app/demo/flow-packets.ts";

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

export interface Netflow5Options extends HeaderOptions {
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

export interface Netflow7Record extends Netflow5Record {
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
