import { hash } from "node:crypto";
import { parseAddress } from "../../../src/base/ip/index.ts";
import type { RecordFields, Value } from "../../../src/record/index.ts";
import { icmpNamesOf } from "../../../src/flow/kernel/icmp-names.gen.ts";
import { eachCounter, type CounterNames } from "../../../src/flow/elements/mapping/element-names.ts";
import type { IcmpOrder } from "../../../src/flow/exporters/exporter.ts";

const icmp = 1;
const icmpOfV6 = 58;
/** Protocols whose ports are part of it: TCP, UDP, SCTP, and ICMP by its stand-ins. */
const withPorts: ReadonlySet<number> = new Set([6, 17, 132, icmp, icmpOfV6]);

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
  if (protocol === icmpOfV6) return icmpPorts(record, icmpV6Partners);
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

/**
 * Adds what follows from the fields of a flow: the IP version by its addresses where the exporter does not give it, its name, the
 * VLANs of both ways, whether a session of TCP was established, and estimates of the counters.
 *
 * @param rate one of how many packets was looked at; undefined when that is not known: then it counts as 1.
 * @param counters what the counters are called.
 */
export function completeFlow(record: RecordFields, rate: number | undefined, counters: CounterNames): void {
  if (!record.has("ip.version.ver")) {
    const address = record.get("flow.src.ip.addr") ?? record.get("flow.dst.ip.addr");
    if (typeof address === "string") record.set("ip.version.ver", address.includes(":") ? 6 : 4);
  }
  const version = record.get("ip.version.ver");
  if (version === 4 || version === 6) record.set("ip.version.name", `IPv${version}`);
  addVlans(record);
  const established = isEstablished(record.get("l4.proto.id"), record.get("tcp.flags.bits"));
  if (established !== undefined) record.set("l4.session.established", established);
  scaleCounters(record, rate, counters);
}

/** A VLAN of 0 is none: it is not among those of the flow. */
function addVlans(record: RecordFields): void {
  const source = record.get("flow.src.vlan.tag.id");
  const destination = record.get("flow.dst.vlan.tag.id");
  if (typeof source === "number") record.set("flow.in.vlan.tag.id", source);
  if (typeof destination === "number") record.set("flow.out.vlan.tag.id", destination);
  const tags = [source, destination].filter((tag) => typeof tag === "number" && tag !== 0) as number[];
  if (tags.length > 0) record.set("vlan.tag.id", [...new Set(tags)]);
}

const tcp = 6;
const [fin, syn, rst, psh, ack] = [1, 2, 4, 8, 16];

/**
 * Whether a session of TCP was established, by the flags of all its packets: without ACK it was not. With ACK it was when there is
 * PSH or FIN, or neither SYN nor RST; else the flags do not say it.
 */
function isEstablished(protocol: Value | undefined, bits: Value | undefined): boolean | undefined {
  if (protocol !== tcp || typeof bits !== "number" || (bits & (fin | syn | rst | psh | ack)) === 0) return undefined;
  if ((bits & ack) === 0) return false;
  return (bits & (fin | psh)) !== 0 || (bits & (syn | rst)) === 0 ? true : undefined;
}

const icmpV6 = 58;
const icmpProtocols: ReadonlySet<unknown> = new Set([1, icmpV6]);

/** Adds type and code of ICMP where the exporter gives them as a port, and their names. @param order of the exporter, where it is learned. */
export function addIcmp(record: RecordFields, order?: IcmpOrder): void {
  addIcmpNumbers(record, order);
  const [protocol, type, code] = [record.get("l4.proto.id"), record.get("icmp.type.id"), record.get("icmp.code.id")];
  if (typeof protocol !== "number" || typeof type !== "number") return;
  const known = icmpName(protocol, type);
  if (known === undefined) return;
  record.set("icmp.type.name", known.name);
  const codeName = typeof code === "number" ? known.codes.get(code) : undefined;
  if (codeName !== undefined) record.set("icmp.code.name", codeName);
}

/**
 * Adds type and code of ICMP where the exporter gives them as destination port, type * 256 + code, and no source port. So
 * it is in NetFlow v5, which has no fields for them, and with many exporters of the later versions. Port 0 is an echo reply; of
 * ICMPv6, where type 0 is reserved, it says nothing.
 */
function addIcmpNumbers(record: RecordFields, order: IcmpOrder | undefined): void {
  const protocol = record.get("l4.proto.id");
  if (!icmpProtocols.has(protocol)) return;
  if (record.has("icmp.type.id") || record.has("icmp.code.id")) return;
  const port = record.get("flow.dst.l4.port.id");
  if (typeof port !== "number" || port > 0xffff || (port === 0 && protocol === icmpV6)) return;
  if ((record.get("flow.src.l4.port.id") ?? 0) !== 0) return;
  const [first, second] = [port >>> 8, port & 0xff];
  const isSwapped = protocol === icmpV6 && isSwappedIcmpV6(first, second, order);
  record.set("icmp.type.id", isSwapped ? second : first);
  record.set("icmp.code.id", isSwapped ? first : second);
}

/**
 * Adds the rate, and the estimates of what really passed: counter times rate, rounded to a whole number. Estimates of
 * whole rates are exact. A rate that is not known counts as 1, and `flow.sampling.assumed` says so: sums of estimates then need
 * no case distinction. An estimate beyond {@link largestEstimate} is cut there, and `flow.sampling.overflow` says so.
 */
function scaleCounters(record: RecordFields, rate: number | undefined, counters: CounterNames): void {
  const counted = eachCounter(counters).filter(({ exported }) => isCounter(record.get(exported)));
  if (rate === undefined && counted.length === 0) return;
  record.set("flow.sample_rate", rate ?? 1);
  let isCut = false;
  for (const { exported, estimate } of counted) {
    const value = record.get(exported);
    const scaled = value === undefined ? undefined : scaleCounter(value, rate ?? 1);
    if (scaled === undefined) continue;
    record.set(estimate, cutEstimate(scaled));
    isCut ||= scaled > largestEstimate;
  }
  if (isCut) record.set("flow.sampling.overflow", true);
  if (rate === undefined) record.set("flow.sampling.assumed", true);
}

function isCounter(value: Value | undefined): boolean {
  return (typeof value === "number" || typeof value === "bigint") && value >= 0;
}

/**
 * Whether type and code of ICMPv6 arrived in each other's place, as Cisco IOS XR sends them. Where only one of them is an assigned type,
 * that shows it; where both are, the exporter's order decides.
 *
 * @param order of the exporter; what is shown here is noted in it.
 */
function isSwappedIcmpV6(type: number, code: number, order?: IcmpOrder): boolean {
  const isType = icmpV6Types[type] === 1;
  const isCodeType = icmpV6Types[code] === 1;
  if (isType === isCodeType) return isType && order?.isSwapped === true;
  if (order !== undefined) order.isSwapped = isCodeType;
  return isCodeType;
}

/** Types of ICMPv6 that are assigned (IANA, "ICMPv6 Parameters"), 1 each; reserved and unassigned ones are 0. */
const icmpV6Types: Uint8Array = Uint8Array.from({ length: 256 }, (_, type) =>
  (type >= 1 && type <= 4) ||
  type === 100 ||
  type === 101 ||
  (type >= 128 && type <= 161) ||
  type === 200 ||
  type === 201
    ? 1
    : 0,
);

/** ICMP types that come as request and reply, each with its partner (Community ID specification, "ICMP"). */
const icmpPartners = bothWays([8, 0], [13, 14], [15, 16], [10, 9], [17, 18]);
const icmpV6Partners = bothWays([128, 129], [133, 134], [135, 136], [130, 131], [139, 140], [144, 145]);

function bothWays(...pairs: [number, number][]): ReadonlyMap<number, number> {
  return new Map(pairs.flatMap(([a, b]) => [[a, b] as const, [b, a] as const]));
}

/** Stores have whole numbers of 64 bits. */
const largestEstimate = 2n ** 64n - 1n;

/** An estimate, or the largest one where it is larger. */
function cutEstimate(scaled: number | bigint): number | bigint {
  return scaled > largestEstimate ? largestEstimate : scaled;
}

/** Rates that are no whole numbers are applied to bigints in parts of a millionth. */
const millionths = 1_000_000;

/** The estimate by a counter; undefined where there is none. */
function scaleCounter(value: Value, rate: number): number | bigint | undefined {
  if (typeof value === "number") {
    const scaled = Math.round(value * rate);
    if (Number.isSafeInteger(scaled)) return scaled;
  }
  if (typeof value !== "number" && typeof value !== "bigint") return undefined;
  if (Number.isInteger(rate)) return BigInt(value) * BigInt(rate);
  const parts = Math.round(rate * millionths);
  return Number.isFinite(parts) ? (BigInt(value) * BigInt(parts)) / BigInt(millionths) : undefined;
}

const types = new Map(
  [...icmpNamesOf].map(([protocol, names]) => [
    protocol,
    new Map(names.map(([type, name, codes]) => [type, { name, codes: new Map(codes) }])),
  ]),
);

/** The name of a type, and the names of its codes. */
export function icmpName(
  protocol: number,
  type: number,
): { readonly name: string; readonly codes: ReadonlyMap<number, string> } | undefined {
  return types.get(protocol)?.get(type);
}
