import { hex, ipv4, uint } from "./flow-packets.ts";

/** XDR of 32-bit integers, one after the other. */
export const words = (...values: readonly number[]): Buffer => Buffer.concat(values.map((value) => uint(value, 4)));

/** A length, the bytes, and zeros up to a multiple of four. */
export function opaque(bytes: Buffer | string): Buffer {
  const content = Buffer.from(bytes);
  return Buffer.concat([uint(content.length, 4), content, Buffer.alloc((4 - (content.length % 4)) % 4)]);
}

/** An address with its family: IPv4 by its text, IPv6 by its bytes, none when there is none. */
export function address(value: string | Buffer | undefined): Buffer {
  if (value === undefined) return words(0);
  return typeof value === "string" ? Buffer.concat([words(1), ipv4(value)]) : Buffer.concat([words(2), value]);
}

/** A flow record, counter record or sample: its format, length and content. */
export function structure(format: number, content: Buffer, enterprise = 0): Buffer {
  return Buffer.concat([words(enterprise * 4096 + format), opaque(content)]);
}

export interface SflowOptions {
  readonly agent?: string | Buffer;
  readonly withoutAgent?: boolean;
  readonly subAgent?: number;
  readonly sequence?: number;
  readonly uptime?: number;
  /** The count of samples that the header claims. */
  readonly count?: number;
}

export function sflow(samples: readonly Buffer[], options: SflowOptions = {}): Buffer {
  const { subAgent = 0, sequence = 1, uptime = 100_000, count = samples.length, withoutAgent = false } = options;
  const agent = withoutAgent ? undefined : (options.agent ?? "192.0.2.250");
  return Buffer.concat([words(5), address(agent), words(subAgent, sequence, uptime, count), ...samples]);
}

export interface FlowSampleOptions {
  readonly sequence?: number;
  /** Index of the data source. */
  readonly source?: number;
  readonly sourceType?: number;
  readonly rate?: number;
  readonly pool?: number;
  readonly drops?: number;
  /** With the format in the upper two bits. */
  readonly input?: number;
  readonly output?: number;
  /** The count of records that the sample claims. */
  readonly count?: number;
}

export function flowSample(records: readonly Buffer[], options: FlowSampleOptions = {}): Buffer {
  const { sequence = 1, source = 3, sourceType = 0, rate = 512, pool = 5120, drops = 0 } = options;
  const { input = 3, output = 4, count = records.length } = options;
  const fixed = words(sequence, sourceType * 0x100_0000 + source, rate, pool, drops, input, output, count);
  return structure(1, Buffer.concat([fixed, ...records]));
}

/** @param interfaces format and value of input and output. */
export function expandedFlowSample(
  records: readonly Buffer[],
  interfaces: readonly [number, number, number, number] = [0, 3, 0, 4],
  options: FlowSampleOptions = {},
): Buffer {
  const { sequence = 1, source = 3, sourceType = 0, rate = 512, pool = 5120, drops = 0 } = options;
  const fixed = words(sequence, sourceType, source, rate, pool, drops, ...interfaces, records.length);
  return structure(3, Buffer.concat([fixed, ...records]));
}

export function discardSample(records: readonly Buffer[], reason: number, sequence = 1, drops = 0): Buffer {
  return structure(5, Buffer.concat([words(sequence, 0, 3, drops, 3, 4, reason, records.length), ...records]));
}

export function counterSample(records: readonly Buffer[], sequence = 1, source = 3): Buffer {
  return structure(2, Buffer.concat([words(sequence, source, records.length), ...records]));
}

export function expandedCounterSample(records: readonly Buffer[], type: number, index: number): Buffer {
  return structure(4, Buffer.concat([words(1, type, index, records.length), ...records]));
}

/** The record of a sampled header: its protocol, the length of the frame, four bytes stripped, the header. */
export function sampledHeader(header: Buffer, frameLength = 1000, protocol = 1): Buffer {
  return structure(1, Buffer.concat([words(protocol, frameLength, 4), opaque(header)]));
}

const macs = hex("00005e0053ff 00005e005301");

/** An Ethernet frame: destination, source, what stands before the type (tags), the type and the payload. */
export function ethernet(type: number, payload: Buffer, tags = ""): Buffer {
  return Buffer.concat([macs, hex(tags), uint(type, 2), payload]);
}

export interface IpOptions {
  readonly protocol?: number;
  readonly trafficClass?: number;
  /** Flags and offset of a fragment, in 16 bits. */
  readonly fragment?: number;
  readonly options?: Buffer;
  readonly length?: number;
}

export function ipv4Packet(payload: Buffer, options: IpOptions = {}): Buffer {
  const { protocol = 6, trafficClass = 0xb8, fragment = 0x4000, options: extra = Buffer.alloc(0) } = options;
  const headerLength = 20 + extra.length;
  const { length = headerLength + payload.length } = options;
  const header = Buffer.concat([
    uint(0x40 + headerLength / 4, 1),
    uint(trafficClass, 1),
    uint(length, 2),
    uint(0x1234, 2),
    uint(fragment, 2),
    uint(63, 1),
    uint(protocol, 1),
    uint(0, 2),
    ipv4("192.0.2.1"),
    ipv4("198.51.100.2"),
  ]);
  return Buffer.concat([header, extra, payload]);
}

const v6Addresses = hex("20010db8000000000000000000000001 20010db8ffff00000000000000000002");

/** @param next the header behind the first one. */
export function ipv6Packet(next: number, payload: Buffer, length = payload.length): Buffer {
  return Buffer.concat([hex("6b812345"), uint(length, 2), uint(next, 1), uint(62, 1), v6Addresses, payload]);
}

export const tcp = (flags: number): Buffer =>
  Buffer.concat([uint(40_000, 2), uint(443, 2), Buffer.alloc(8), uint(0x5000 + flags, 2), Buffer.alloc(6)]);
export const udp = (port: number, payload: Buffer = Buffer.alloc(0)): Buffer =>
  Buffer.concat([uint(50_000, 2), uint(port, 2), uint(8 + payload.length, 2), uint(0, 2), payload]);
