import { parseAddress } from "../../../src/base/ip/index.ts";
import type { FieldValues, RecordFields, Value, Workspace } from "../../../src/record/index.ts";
import * as layout from "../../../src/flow/kernel/layout.gen.ts";
import type { CounterNames } from "../../../src/flow/elements/mapping/element-names.ts";
import { seenAt, trafficKey } from "../../../src/flow/index.ts";
import { roleMethods, type RoleMethod } from "../../../src/flow/kernel/program-writer.ts";
import type { FlowEndsOptions } from "../../../src/flow/line/flow-ends.ts";

/** An address as two numbers of 64 bits; IPv4 in its mapped form. */
interface EndAddress {
  readonly upper: bigint;
  readonly lower: bigint;
  readonly family: 4 | 6;
}

const mapped = 0xffff_0000_0000n;
const maxLower = 0xffff_ffff_ffff_ffffn;

/** The addresses of both ends; undefined unless there are two of one family. */
function endAddresses(record: FieldValues): readonly [source: EndAddress, destination: EndAddress] | undefined {
  const source = endAddress(record, "flow.src.ip.addr");
  const destination = endAddress(record, "flow.dst.ip.addr");
  if (source === undefined || source.family !== destination?.family) return undefined;
  return [source, destination];
}

function endAddress(record: FieldValues, name: string): EndAddress | undefined {
  const text = record.get(name);
  const address = typeof text === "string" ? parseAddress(text) : undefined;
  if (address === undefined) return undefined;
  const { family, value } = address;
  if (family === 4) return { upper: 0n, lower: mapped | value, family };
  return { upper: value >> 64n, lower: value & maxLower, family };
}

/** A number of sixteen bits that a record has; -1 for any other value. */
function portOf(record: FieldValues, name: string): number {
  const value = record.get(name);
  return typeof value === "number" && value >= 0 && value <= 0xffff ? value : -1;
}

/** Protocols whose ports distinguish an end from others of its address: TCP, UDP, SCTP. */
const protocolsWithPorts: ReadonlySet<unknown> = new Set([6, 17, 132]);

/** An end of a flow: its address, port and protocol as two hashes, and its host. */
interface EndKey {
  readonly hash: number;
  readonly tag: number;
  /** The bit of its address alone: the ports of a host are one peer. */
  readonly host: number;
}

type EndMark = "client" | "server";

/**
 * Remembers which ends are servers, in a memory of a fixed size: those that are known to be, and those that many hosts talked to. What
 * nobody asks for is forgotten after half an hour. It is laid out as {@link layout} says, for the kernel uses the same.
 */
interface ServerSketch {
  /** Keeps that an end is known to be a client or a server. */
  mark(key: EndKey, as: EndMark): void;
  /** Keeps that the host of `peer` talked to an end. */
  addPeer(key: EndKey, peer: EndKey): void;
  /** Whether an end is a server or a client by what is kept; undefined where that does not say it. */
  find(key: EndKey): EndMark | undefined;
}

const bits: Readonly<Record<EndMark, number>> = { client: layout.markClient, server: layout.markServer };

/** Where a sketch is in a memory, and the bytes of its tags. */
interface SketchPlace {
  readonly cells: number;
  readonly tags: number;
}

const cellBytes = layout.sketchBuckets * layout.sketchBucket;
/** In memory of its own. */
const ownSketch: SketchPlace = { cells: 0, tags: cellBytes };
const ownSketchBytes = cellBytes + layout.sketchBuckets * layout.cellsOfBucket;

/** @param tick the time, in units of `tickMs`. */
function createServerSketch(view: DataView, at: SketchPlace, tick: () => number): ServerSketch {
  const word = (cell: number, offset: number): number => view.getUint32(cell + offset, true);
  const put = (cell: number, offset: number, value: number): void => view.setUint32(cell + offset, value >>> 0, true);
  const isOld = (cell: number): boolean => (tick() - word(cell, layout.cellTick)) >>> 0 > layout.maxCellAge;

  const cellsOf = ({ hash }: EndKey): number[] => {
    const bucket = at.cells + layout.sketchBucket * (hash & (layout.sketchBuckets - 1));
    return Array.from({ length: layout.cellsOfBucket }, (_, i) => bucket + layout.sketchCell * i);
  };
  const find = (key: EndKey): number | undefined => {
    const cell = cellsOf(key).find((each) => word(each, 0) === key.tag && !isOld(each));
    if (cell !== undefined) put(cell, layout.cellTick, tick());
    return cell;
  };
  const weight = (cell: number): number => {
    if (word(cell, 0) === 0 || isOld(cell)) return -1;
    const marks = word(cell, layout.cellMarks);
    const ofServer = (marks & layout.markServer) === 0 ? 0 : layout.serverWeight;
    return countBits(word(cell, layout.cellPeers)) + ofServer + (marks & layout.markClient);
  };
  const take = (key: EndKey): number => {
    const known = find(key);
    if (known !== undefined) return known;
    const cells = cellsOf(key);
    const weights = cells.map(weight);
    const index = weights.indexOf(Math.min(...weights));
    const cell = cells[index] as number;
    const tagsOfBucket = at.tags + layout.cellsOfBucket * (key.hash & (layout.sketchBuckets - 1));
    view.setUint8(tagsOfBucket + index, (key.tag >>> layout.tagByteShift) & 0xff);
    put(cell, 0, key.tag);
    put(cell, layout.cellPeers, 0);
    put(cell, layout.cellTick, tick());
    put(cell, layout.cellMarks, 0);
    return cell;
  };

  return {
    mark(key, as) {
      const cell = take(key);
      put(cell, layout.cellMarks, word(cell, layout.cellMarks) | bits[as]);
    },
    addPeer(key, peer) {
      const cell = take(key);
      put(cell, layout.cellPeers, word(cell, layout.cellPeers) | peer.host);
    },
    find(key) {
      const cell = find(key);
      if (cell === undefined) return undefined;
      const marks = word(cell, layout.cellMarks);
      const hasPeers = countBits(word(cell, layout.cellPeers)) >= layout.leastPeers;
      if ((marks & layout.markClient) === 0) return marks !== 0 || hasPeers ? "server" : undefined;
      return marks === layout.markClient ? "client" : undefined;
    },
  };
}

/** The key of an end. */
function endKey({ upper, lower }: EndAddress, port: number, protocol: number): EndKey {
  const [a, b, c, d] = [upper >> 32n, upper, lower >> 32n, lower].map((part) => Number(BigInt.asUintN(32, part)));
  const [first, second, third, last] = [a ?? 0, b ?? 0, c ?? 0, d ?? 0];
  const address = last ^ Math.imul(third, 0x2c1b3c6d) ^ Math.imul(second, 0x297a2d39) ^ Math.imul(first, 0x1b873593);
  let x = Math.imul(address, 0x9e3779b1);
  const host = 1 << (Math.imul(x ^ (x >>> 15), 0x85ebca6b) >>> 27);
  x = Math.imul(x ^ (x >>> 15) ^ (port << 8) ^ protocol, 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  x ^= x >>> 16;
  const tag = (Math.imul(x ^ last, 0x27d4eb2f) + port * 31 + protocol) | 1;
  return { hash: x >>> 0, tag: tag >>> 0, host };
}

function countBits(value: number): number {
  let count = 0;
  for (let rest = value; rest !== 0; rest &= rest - 1) count++;
  return count;
}

const numberUnit = 2n ** BigInt(layout.trafficKeyShift);
const two32 = 2 ** 32;

/** Adds what a flow says passed interfaces to the table that the kernel has: in the first cell that is free. */
export function createTrafficModel({ view }: Pick<Workspace, "view">, counters: CounterNames) {
  const addDouble = (at: number, value: number): void => view.setFloat64(at, view.getFloat64(at, true) + value, true);
  const add = (index: Value | undefined, way: "in" | "out", said: unknown, values: readonly number[]): void => {
    if (typeof index !== "number" || index <= 0 || index >= two32) return;
    const seen = said === "ingress" ? seenAt.ingress : said === "egress" ? seenAt.egress : seenAt.unknown;
    const number = BigInt(view.getUint32(layout.trafficExporter, true));
    const key = number * numberUnit + BigInt(trafficKey(index, way, seen));
    for (let cell = 0; cell < layout.trafficCells; cell++) {
      const at = layout.trafficTable + layout.trafficCell * cell;
      const found = view.getBigUint64(at, true);
      if (found !== 0n && found !== key) continue;
      view.setBigUint64(at, key, true);
      values.forEach((value, i) => addDouble(at + layout.trafficBytes + 8 * i, value));
      return;
    }
    view.setUint32(layout.trafficLost, view.getUint32(layout.trafficLost, true) + 1, true);
  };
  return (record: RecordFields): void => {
    if (view.getUint32(layout.trafficExporter, true) === 0) return;
    const [input, output] = [record.get("flow.in.netif.index"), record.get("flow.out.netif.index")];
    const said = record.get("flow.direction.name");
    const known = record.get("flow.sample_rate");
    const rate = typeof known === "number" ? known : 1;
    const of = (name: { readonly exported: string }): number => numberOf(record.get(name.exported));
    const addBoth = (from: typeof input, to: typeof input, octets: number, packets: number): void => {
      if (octets <= 0) return;
      const values = [octets * rate, octets, Math.max(0, packets) * rate];
      add(from, "in", said, values);
      add(to, "out", said, values);
    };
    addBoth(input, output, of(counters.bytes), of(counters.packets));
    addBoth(output, input, of(counters.reverseBytes), of(counters.reversePackets));
  };
}

function numberOf(value: Value | undefined): number {
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : 0;
}

const mask = (1n << 64n) - 1n;
const mix = (hash: bigint, value: bigint): bigint => {
  const mixed = ((hash ^ value) * 0x9e37_79b9_7f4a_7c15n) & mask;
  return mixed ^ (mixed >> 29n);
};

/** What is noted of a flow by which exporters are compared; undefined where it is not of the sample. */
export function seenOf(record: RecordFields): { readonly hash: number; readonly directions: number } | undefined {
  const ends = ["flow.src", "flow.dst"].map((end) => {
    const text = record.get(`${end}.ip.addr`);
    return {
      address: typeof text === "string" ? parseAddress(text) : undefined,
      port: record.get(`${end}.l4.port.id`),
    };
  });
  const [source, destination] = ends;
  const protocol = record.get("l4.proto.id");
  if (source?.address === undefined || destination?.address === undefined) return undefined;
  if (source.address.family !== destination.address.family) return undefined;
  if (!isBelow(source.port, 65_536) || source.port === 0 || !isBelow(destination.port, 65_536)) return undefined;
  if (!isBelow(protocol, 256)) return undefined;
  const ports = source.port * 65_536 + destination.port;
  // One pair of ports in 64.
  if (((BigInt(ports) * 0x9e37_79b1n) & 0xffff_ffffn) >> 26n !== 1n) return undefined;
  let hash = 0n;
  for (const { address } of ends) {
    // IPv4 addresses as the IPv6 addresses that map them.
    const value = (address?.value ?? 0n) | (address?.family === 4 ? 0xffff_0000_0000n : 0n);
    hash = mix(mix(hash, value >> 64n), value & mask);
  }
  hash = mix(hash, (BigInt(protocol) << 32n) | BigInt(ports));
  hash = ((hash ^ (hash >> 32n)) * 0xd6e8_feb8_6659_fd93n) & mask;
  const said = record.get("flow.direction.name");
  return { hash: Number(hash >> 32n), directions: said === "ingress" ? 1 : said === "egress" ? 2 : 0 };
}

function isBelow(value: unknown, limit: number): value is number {
  return typeof value === "number" && value >= 0 && value < limit;
}

/** What the plan of a record says of who began the flow. */
export interface Began {
  /** The record counts what initiator and responder sent: the source of the whole flow is the initiator. */
  readonly hasInitiator: boolean;
  /** The record is of the other direction. */
  readonly isReverse: boolean;
}

/** Which end of a flow is its client. */
type Client = "source" | "destination";

/** The client, and the rule that says it. */
interface Role {
  readonly client: Client;
  readonly method: RoleMethod;
}

const nobodySays: Began = { hasInitiator: false, isReverse: false };

/** Ports of services. */
interface Ports {
  has(port: number): boolean;
  keys(): Iterable<number>;
}

/** Ports of services by the number of the protocol. */
type Services = ReadonlyMap<number, Ports>;

interface RoleRules {
  readonly sketch: ServerSketch;
  readonly services: Services;
  /** Whether requests and replies of ICMP have clients. */
  readonly withoutPorts: boolean;
}

const tcp = 6;
const udp = 17;
const [syn, rst, ack] = [2, 4, 16];

/** Firewall events that are about a connection: created, deleted, denied, updated. */
const firewallEvents: ReadonlySet<unknown> = new Set([1, 2, 3, 5]);
/** Events of translation that are about a session. */
const natEvents: ReadonlySet<unknown> = new Set([1, 2, 4, 5, 6, 7]);
/** Requests and replies, by the number of the protocol. */
const icmpTypes: ReadonlyMap<unknown, readonly [requests: ReadonlySet<unknown>, replies: ReadonlySet<unknown>]> =
  new Map([
    [1, [new Set([8, 13, 15, 17, 42]), new Set([0, 14, 16, 18, 43])]],
    [58, [new Set([128, 139, 160]), new Set([129, 140, 161])]],
  ]);

/**
 * Finds the client of a flow by the first rule that applies: what the exporter says, the first packet of TCP, the kind of ICMP, a system
 * port, what was learnt of the ends, a refusal by TCP, ports of services. Notes what it learns.
 *
 * @returns undefined where no rule applies.
 */
function decideRole(record: FieldValues, began: Began, rules: RoleRules): Role | undefined {
  const addresses = endAddresses(record);
  if (addresses === undefined) return undefined;
  const protocol = record.get("l4.proto.id");
  const known = byExporter(record, began) ?? (protocol === tcp ? bySyn(record) : undefined);
  if (!protocolsWithPorts.has(protocol)) return known ?? (rules.withoutPorts ? byIcmp(record) : undefined);
  const ports = [portOf(record, "flow.src.l4.port.id"), portOf(record, "flow.dst.l4.port.id")] as const;
  if (ports.includes(-1)) return known;
  return byEnds(record, known, rules, protocol as number, addresses, ports);
}

function byExporter(record: FieldValues, { hasInitiator, isReverse }: Began): Role | undefined {
  const direction = record.get("flow.biflow.direction.id");
  if (direction === 1 || direction === 2) {
    return { client: direction === 1 ? "source" : "destination", method: "biflow_direction" };
  }
  const client = isReverse ? "destination" : "source";
  if (hasInitiator) return { client, method: "initiator" };
  const isEvent =
    firewallEvents.has(record.get("flow.firewall.event.id")) || natEvents.has(record.get("flow.nat.event.id"));
  return isEvent ? { client, method: "event" } : undefined;
}

/** SYN without ACK is the first packet of a client; with ACK, alone, it is the server's answer. */
function bySyn(record: FieldValues): Role | undefined {
  const flags = record.get("tcp.flags.bits");
  if (typeof flags !== "number" || (flags & syn) === 0) return undefined;
  if ((flags & ack) === 0) return { client: "source", method: "tcp_syn" };
  return exported(record, "packets") === 1 ? { client: "destination", method: "tcp_syn" } : undefined;
}

/** What the exporter counted: an estimate may stand in its place. */
function exported(record: FieldValues, what: "packets" | "bytes"): number | undefined {
  const value = record.get(`flow.raw.${what}`) ?? record.get(`flow.${what}`);
  return typeof value === "bigint" ? Number(value) : typeof value === "number" ? value : undefined;
}

/** RST with ACK, alone, refuses a connection. It may also end one, so all that is known of the ends comes before. */
function isRefusal(record: FieldValues): boolean {
  const flags = record.get("tcp.flags.bits");
  return typeof flags === "number" && (flags & (rst | ack)) === (rst | ack) && exported(record, "packets") === 1;
}

/**
 * Whether two ends talk to each other: a scan has one or two packets to each end, and as many come back. Where few packets of many are
 * looked at, a flow of data has no more: it shows by its flags, and by more bytes than headers have.
 */
function isTalk(record: FieldValues): boolean {
  const packets = exported(record, "packets");
  if (packets === undefined || packets >= layout.leastTalk) return true;
  const flags = record.get("tcp.flags.bits");
  const bytes = exported(record, "bytes");
  const isData = typeof flags === "number" && (flags & (syn | rst | ack)) === ack;
  return isData && bytes !== undefined && bytes > layout.mostHeader * packets;
}

function byIcmp(record: FieldValues): Role | undefined {
  const [requests, replies] = icmpTypes.get(record.get("l4.proto.id")) ?? [];
  const type = record.get("icmp.type.id");
  if (requests?.has(type) === true) return { client: "source", method: "icmp_type" };
  return replies?.has(type) === true ? { client: "destination", method: "icmp_type" } : undefined;
}

function byEnds(
  record: FieldValues,
  known: Role | undefined,
  { sketch, services }: RoleRules,
  protocol: number,
  [source, destination]: NonNullable<ReturnType<typeof endAddresses>>,
  [sourcePort, destinationPort]: readonly [number, number],
): Role | undefined {
  const first = endKey(source, sourcePort, protocol);
  const second = endKey(destination, destinationPort, protocol);
  if (known !== undefined) {
    const isFirst = known.client === "source";
    sketch.mark(first, isFirst ? "client" : "server");
    sketch.mark(second, isFirst ? "server" : "client");
    return known;
  }
  const learnt = byLearnt(sketch.find(first), sketch.find(second));
  const client = byPorts(services.get(protocol), sourcePort, destinationPort);
  if (client !== undefined) {
    const isSystem = (client === "source" ? destinationPort : sourcePort) < layout.firstUserPort;
    const isContradicted = isSystem && learnt?.client !== client;
    return isContradicted ? { client, method: "port" } : (learnt ?? { client, method: "port" });
  }
  if (protocol === udp) return learnt;
  if (protocol === tcp && isRefusal(record)) return learnt ?? { client: "destination", method: "tcp_syn" };
  if (!isTalk(record)) return learnt;
  // Ports that systems give to clients: who has such a one may be one.
  if (destinationPort >= layout.firstClientPort) sketch.addPeer(first, second);
  if (sourcePort >= layout.firstClientPort) sketch.addPeer(second, first);
  return learnt;
}

function byLearnt(
  source: ReturnType<ServerSketch["find"]>,
  destination: ReturnType<ServerSketch["find"]>,
): Role | undefined {
  for (const mark of ["server", "client"] as const) {
    if ((source === mark) === (destination === mark)) continue;
    const isClient = (source === mark) === (mark === "client");
    return { client: isClient ? "source" : "destination", method: "learnt" };
  }
  return undefined;
}

function byPorts(services: Ports | undefined, source: number, destination: number): Client | undefined {
  const isService = (port: number): boolean => port < layout.firstClientPort && services?.has(port) === true;
  const first = isService(source);
  const second = isService(destination);
  if (first && second) {
    const isSystem = source < layout.firstUserPort;
    if (isSystem === destination < layout.firstUserPort) return undefined;
    return isSystem ? "destination" : "source";
  }
  if (!first && !second) return undefined;
  const [server, client] = first ? [source, destination] : [destination, source];
  if (server >= layout.firstUserPort && client < layout.firstClientPort) return undefined;
  return first ? "destination" : "source";
}

/** What identifies the conversation and the session that a flow belongs to, sixteen digits each. */
interface FlowIds {
  readonly conversation: string;
  readonly session: string;
}

/**
 * Both follow from addresses, protocol and ports alone. The session's is the same for both directions of a flow. The conversation's is the
 * same for all sessions of a client with a service: addresses of client and server, protocol, port of the server; where it is not known
 * which is the client, of both addresses and the protocol.
 *
 * @returns undefined for a record without two addresses of one family and a protocol.
 */
function flowIds(record: FieldValues, client: Client | undefined, seed: number): FlowIds | undefined {
  const addresses = endAddresses(record);
  const protocol = record.get("l4.proto.id");
  if (addresses === undefined || typeof protocol !== "number" || protocol > 255) return undefined;
  const port = (name: string): number => (protocolsWithPorts.has(protocol) ? Math.max(0, portOf(record, name)) : 0);
  const [source, destination] = addresses;
  const [sourcePort, destinationPort] = [port("flow.src.l4.port.id"), port("flow.dst.l4.port.id")];
  const order = compare(source, destination);
  const isTurned = order > 0 || (order === 0 && sourcePort > destinationPort);
  const fromDestination = client === undefined ? isTurned : client === "destination";
  const serverPort = client === undefined ? 0 : fromDestination ? sourcePort : destinationPort;
  const [low, high] = isTurned ? [destinationPort, sourcePort] : [sourcePort, destinationPort];
  const hash = (turned: boolean, ports: number): string => {
    const [first, second] = turned ? [destination, source] : [source, destination];
    const last = (BigInt(protocol) << 32n) | BigInt(ports);
    return hashOf(seed, [first.upper, first.lower, second.upper, second.lower, last]);
  };
  return {
    conversation: hash(fromDestination, serverPort),
    session: hash(isTurned, (low * 0x1_0000 + high) >>> 0),
  };
}

function compare(a: EndAddress, b: EndAddress): number {
  if (a.upper !== b.upper) return a.upper > b.upper ? 1 : -1;
  if (a.lower !== b.lower) return a.lower > b.lower ? 1 : -1;
  return 0;
}

const multiply = (a: bigint, b: bigint): bigint => BigInt.asUintN(64, a * b);

/** A multiply and a shift for each number, and one more at the end; of 64 bits. */
function hashOf(seed: number, values: readonly bigint[]): string {
  let hash = BigInt(seed);
  for (const value of values) {
    const mixed = multiply(hash ^ value, 0x9e3779b97f4a7c15n);
    hash = mixed ^ (mixed >> 29n);
  }
  const rest = multiply(hash ^ (hash >> 32n), 0xd6e8feb86659fd93n);
  return (rest ^ (rest >> 32n)).toString(16).padStart(16, "0");
}

/** Adds the rule that says which end is the client, and identifiers. @returns the client, where it is known. */
type NameEnds = (record: RecordFields, began?: Began) => Client | undefined;

/** Names ends as the kernel does, in a sketch of its own. @param view where the time is, and the counts of the rules. */
export function createNameEnds(options: FlowEndsOptions | undefined, { view }: Pick<Workspace, "view">): NameEnds {
  const sketch = createServerSketch(new DataView(new ArrayBuffer(ownSketchBytes)), ownSketch, () =>
    view.getUint32(layout.sketchTick, true),
  );
  const rules = options?.clientServer && { sketch, ...options.clientServer };
  return (record, began = nobodySays) => {
    const role = rules && decideRole(record, began, rules);
    if (rules !== undefined && hasEnds(record)) {
      const at = layout.methodCounts + 4 * (role === undefined ? 0 : 1 + roleMethods.indexOf(role.method));
      view.setUint32(at, view.getUint32(at, true) + 1, true);
    }
    if (role !== undefined) record.set("flow.clisrv.method", role.method);
    const known = options?.ids && flowIds(record, role?.client, options.ids.seed);
    if (known !== undefined) {
      record.set("flow.conversation.id", known.conversation);
      record.set("flow.session.id", known.session);
    }
    return role?.client;
  };
}

function hasEnds(record: RecordFields): boolean {
  const [source, destination] = [record.get("flow.src.ip.addr"), record.get("flow.dst.ip.addr")];
  if (typeof source !== "string" || typeof destination !== "string") return false;
  return source.includes(":") === destination.includes(":");
}
