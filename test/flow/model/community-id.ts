import { hash } from "node:crypto";
import { parseAddress } from "../../../src/base/ip/index.ts";
import type { RecordFields, Value } from "../../../src/record/index.ts";
import { icmpPartners, icmpV6Partners } from "../../../src/flow/kernel/kernel.ts";

const icmp = 1;
const icmpV6 = 58;
/** Protocols whose ports are part of it: TCP, UDP, SCTP, and ICMP by its stand-ins. */
const withPorts: ReadonlySet<number> = new Set([6, 17, 132, icmp, icmpV6]);

/**
 * Makes the function that computes the Community ID, version 1: one text for both directions of a flow, the
 * same in every tool. `1:` and the SHA-1 in base64 of seed, addresses, protocol and ports, the lower end first. ICMP type
 * and code stand in for ports: the type's partner for the code where the type has one, else the ends keep their order.
 *
 * The function returns undefined when the record lacks addresses, protocol, or the ports of a protocol that has them.
 */
export function createCommunityId(seed: number): (record: RecordFields) => string | undefined {
  const source = new Uint8Array(16);
  const destination = new Uint8Array(16);
  const input = new Uint8Array(40);
  input[0] = seed >>> 8;
  input[1] = seed;

  return (record) => {
    const length = readAddress(record.get("flow.src.ip.addr"), source);
    const protocol = record.get("l4.proto.id");
    if (length === 0 || length !== readAddress(record.get("flow.dst.ip.addr"), destination)) return undefined;
    if (typeof protocol !== "number" || protocol > 255) return undefined;
    const ports = portsOf(record, protocol);
    if (ports === undefined && withPorts.has(protocol)) return undefined;

    const order = compareBytes(source, destination, length);
    const isOrdered =
      ports?.isOneWay === true || order < 0 || (order === 0 && (ports?.source ?? 0) <= (ports?.destination ?? 0));
    // The two bytes of the seed come first.
    let at = 2;
    for (let i = 0; i < length; i++) input[at++] = (isOrdered ? source : destination)[i] as number;
    for (let i = 0; i < length; i++) input[at++] = (isOrdered ? destination : source)[i] as number;
    input[at++] = protocol;
    input[at++] = 0;
    if (ports !== undefined) {
      const first = isOrdered ? ports.source : ports.destination;
      const second = isOrdered ? ports.destination : ports.source;
      input[at++] = first >>> 8;
      input[at++] = first;
      input[at++] = second >>> 8;
      input[at++] = second;
    }
    return `1:${hash("sha1", input.subarray(0, at), "base64")}`;
  };
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
  const type = uint16(record, "icmp.type.id");
  const code = uint16(record, "icmp.code.id") ?? 0;
  if (type === undefined) return undefined;
  const partner = partnersOf.get(type);
  return { source: type, destination: partner ?? code, isOneWay: partner === undefined };
}

function uint16(record: RecordFields, name: string): number | undefined {
  const value = record.get(name);
  return typeof value === "number" && value <= 0xffff ? value : undefined;
}

/**
 * Writes the bytes of an address.
 *
 * @returns how many, 4 or 16; 0 when the value is no address.
 */
function readAddress(text: Value | undefined, into: Uint8Array): number {
  if (typeof text !== "string") return 0;
  if (text.includes(":")) {
    const address = parseAddress(text);
    if (address === undefined) return 0;
    into.set(Buffer.from(address.value.toString(16).padStart(32, "0"), "hex"));
    return 16;
  }
  // Decoders write IPv4 in canonical form, so that reading it needs no check; there are two for each record.
  let part = 0;
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit >= 0) part = part * 10 + digit;
    else {
      into[at++] = part;
      part = 0;
    }
  }
  into[at] = part;
  return 4;
}

function compareBytes(a: Uint8Array, b: Uint8Array, length: number): number {
  for (let i = 0; i < length; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}
