import { createHash } from "node:crypto";
import { parseAddress } from "../ip/index.ts";
import type { RecordFields } from "../record/index.ts";

const icmp = 1;
const icmpV6 = 58;
/** Protocols whose ports are part of it: TCP, UDP, SCTP, and ICMP by its stand-ins. */
const withPorts: ReadonlySet<number> = new Set([6, 17, 132, icmp, icmpV6]);

/** ICMP types that come as request and reply, each with its partner (Community ID specification, "ICMP"). */
const icmpPartners = partners([8, 0], [13, 14], [15, 16], [10, 9], [17, 18]);
const icmpV6Partners = partners([128, 129], [133, 134], [135, 136], [130, 131], [139, 140], [144, 145]);

/**
 * The Community ID, version 1 with seed 0: one text for both directions of a flow, the same in every tool that computes
 * it. `1:` and the SHA-1 in base64 of seed, addresses, protocol and ports, the lower end first. ICMP type and code stand
 * in for ports: the type's partner for the code where the type has one, else the ends keep their order. Exporters that
 * give type and code as destination port (type * 256 + code) are understood.
 *
 * @returns undefined when the record lacks addresses, protocol, or the ports of a protocol that has them.
 */
export function communityId(record: RecordFields): string | undefined {
  const source = addressBytes(record.get("flow.src.ip.addr"));
  const destination = addressBytes(record.get("flow.dst.ip.addr"));
  const protocol = record.get("l4.proto.id");
  if (source === undefined || source.length !== destination?.length) return undefined;
  if (typeof protocol !== "number" || protocol > 255) return undefined;
  const ports = portsOf(record, protocol);
  if (ports === undefined && withPorts.has(protocol)) return undefined;

  const order = Buffer.compare(source, destination);
  const isOrdered =
    ports?.isOneWay === true || order < 0 || (order === 0 && (ports?.source ?? 0) <= (ports?.destination ?? 0));
  const { length } = source;
  const input = Buffer.alloc(2 + 2 * length + 2 + (ports === undefined ? 0 : 4));
  input.set(isOrdered ? source : destination, 2);
  input.set(isOrdered ? destination : source, 2 + length);
  input[2 + 2 * length] = protocol;
  if (ports !== undefined) {
    input.writeUInt16BE(isOrdered ? ports.source : ports.destination, 4 + 2 * length);
    input.writeUInt16BE(isOrdered ? ports.destination : ports.source, 6 + 2 * length);
  }
  return `1:${createHash("sha1").update(input).digest("base64")}`;
}

interface Ports {
  readonly source: number;
  readonly destination: number;
  readonly isOneWay: boolean;
}

function portsOf(record: RecordFields, protocol: number): Ports | undefined {
  if (!withPorts.has(protocol)) return undefined;
  if (protocol === icmp) return icmpPorts(record, icmpPartners);
  if (protocol === icmpV6) return icmpPorts(record, icmpV6Partners);
  const source = uint16(record, "flow.src.l4.port.id");
  const destination = uint16(record, "flow.dst.l4.port.id");
  return source === undefined || destination === undefined ? undefined : { source, destination, isOneWay: false };
}

function icmpPorts(record: RecordFields, partnersOf: ReadonlyMap<number, number>): Ports | undefined {
  const port = uint16(record, "flow.dst.l4.port.id");
  const type = uint16(record, "icmp.type.id") ?? (port === undefined ? undefined : port >>> 8);
  const code = uint16(record, "icmp.code.id") ?? (port === undefined ? 0 : port & 0xff);
  if (type === undefined) return undefined;
  const partner = partnersOf.get(type);
  return { source: type, destination: partner ?? code, isOneWay: partner === undefined };
}

function uint16(record: RecordFields, name: string): number | undefined {
  const value = record.get(name);
  return typeof value === "number" && value <= 0xffff ? value : undefined;
}

function addressBytes(text: unknown): Buffer | undefined {
  const address = typeof text === "string" ? parseAddress(text) : undefined;
  if (address === undefined) return undefined;
  if (address.family === 4) {
    const bytes = Buffer.allocUnsafe(4);
    bytes.writeUInt32BE(Number(address.value));
    return bytes;
  }
  return Buffer.from(address.value.toString(16).padStart(32, "0"), "hex");
}

function partners(...pairs: [number, number][]): ReadonlyMap<number, number> {
  return new Map(pairs.flatMap(([a, b]) => [[a, b] as const, [b, a] as const]));
}
