import {
  type FieldValues,
  renderField,
  splitFields,
  type RecordFields,
  type RenderedFields,
  type Workspace,
} from "../../record/index.ts";
import { type RoleMethod, joinedFields, type JoinedField, roleMethods } from "../kernel/end-names.ts";
import type { Began } from "../wire/records/decoder.ts";
import * as layout from "../kernel/layout.ts";
import { endAddresses, portOf, protocolsWithPorts, type EndAddress } from "./server-sketch.ts";
import {
  endKey,
  type ServerSketch,
  createServerSketch,
  ownSketch,
  ownSketchBytes,
  type SketchPlace,
} from "./server-sketch.ts";

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

const names: ReadonlySet<string> = new Set(joinedFields);
/** The first segments of all names that are made here. */
const groups: ReadonlySet<string> = new Set(["flow", ...joinedFields.map((name) => name.split(".")[0] as string)]);

/**
 * What follows from the fields below `flow.src` and `flow.dst` of a record: the same below `flow.client` and `flow.server`, and
 * fields with the values of both. One that would be in the way of a name of the operator's (`flow.client`, `as.label.own`) is left out:
 * no name may be a value and a group at once.
 *
 * @param rendered fields that stand behind those of the record.
 * @param client undefined: neither end has another name.
 * @param joins the fields that are joined.
 */
function completeEnds(
  record: RecordFields,
  rendered: readonly RenderedFields[],
  client: Client | undefined,
  joins: ReadonlySet<JoinedField>,
): RenderedFields {
  const texts: string[] = [];
  const values = new Map<string, string[]>();
  const inTheWay = namesInTheWay(record);
  const isFree = (name: string): boolean =>
    !record.has(name) && inTheWay.every((other) => !name.startsWith(`${other}.`) && !other.startsWith(`${name}.`));
  const take = (name: string, value: string): void => {
    const [, end, rest] = /^flow\.(src|dst)\.(.*)$/s.exec(name) ?? [];
    if (end === undefined || rest === undefined) return;
    if (names.has(rest) && joins.has(rest as JoinedField)) {
      const both = values.get(rest) ?? ["", ""];
      values.set(rest, end === "src" ? [value, both[1] ?? ""] : [both[0] ?? "", value]);
    }
    if (client === undefined) return;
    const as = `flow.${(end === "src") === (client === "source") ? "client" : "server"}.${rest}`;
    if (isFree(as)) texts.push(`,${JSON.stringify(as)}:${value}`);
  };
  for (const [name, value] of record) take(name, renderField(name, value).slice(JSON.stringify(name).length + 2));
  for (const piece of rendered) for (const [name, value] of splitFields(piece)) take(name, value);
  for (const name of joinedFields) {
    const both = values.get(name);
    if (both === undefined || !isFree(name)) continue;
    const elements = new Set(both.flatMap((value) => (value === "" ? [] : elementsOf(value))));
    texts.push(`,"${name}":[${[...elements].join(",")}]`);
  }
  return Buffer.from(texts.join(""));
}

/** The elements of an array, or the one value. */
function elementsOf(value: string): readonly string[] {
  if (!value.startsWith("[")) return [value];
  return value.slice(1, -1).match(/"(?:[^"\\]|\\.)*"|[^,]+/g) ?? [];
}

/** Names that may meet those made here: only metadata has such. */
function namesInTheWay(record: RecordFields): string[] {
  const found: string[] = [];
  for (const name of record.keys()) {
    if (name.startsWith("flow.")) {
      if (name.startsWith("client", 5) || name.startsWith("server", 5)) found.push(name);
      continue;
    }
    const dot = name.indexOf(".");
    if (groups.has(dot < 0 ? name : name.slice(0, dot))) found.push(name);
  }
  return found;
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

/** What is said of the two ends of a flow together. */
export interface FlowEndsOptions {
  /** Undefined: source and destination have no other names. */
  readonly clientServer?: { readonly services: Services; readonly withoutPorts: boolean } | undefined;
  /** Undefined: conversations and sessions have no identifiers. */
  readonly ids?: { readonly seed: number } | undefined;
  readonly joins: ReadonlySet<JoinedField>;
}

/** Does it for records that are fields; the kernel does the same for lines, with the same memory. */
export interface FlowEnds {
  /** Says when the datagram was received whose records follow, in milliseconds since the epoch. */
  begin(receivedAt: number): void;
  /** Adds the rule that says which end is the client, and identifiers. @returns the client, where it is known. */
  name(record: RecordFields, began?: Began): Client | undefined;
  /** Adds what follows from the fields of both ends, behind all others. */
  complete(record: RecordFields, rendered: RenderedFields[], client: Client | undefined): void;
  /** The client of the line that the kernel wrote last. */
  clientOfLine(): Client | undefined;
  /** How many flows each rule was for; `none`: flows between two addresses that no rule was for. */
  methods(): readonly (readonly [method: RoleMethod | "none", flows: number])[];
  /** How much longer a line may become by it: this many times. */
  readonly growth: number;
}

/** Fields of source and destination again under longer names, and their values in joined fields. */
const mostGrowth = 3;
const protocols = [6, 17, 132];
const portBytes = 8192;
const kernelSketch: SketchPlace = { cells: layout.sketch, tags: layout.sketchTags };

/** @param workspace of the kernel; undefined: memory of its own. */
export function createFlowEnds(
  options: FlowEndsOptions | undefined,
  workspace: Pick<Workspace, "view"> | undefined,
): FlowEnds {
  const { clientServer, ids, joins } = options ?? { joins: new Set<JoinedField>() };
  const view = workspace?.view ?? new DataView(new ArrayBuffer(ownSketchBytes));
  let tick = 0;
  const sketch = createServerSketch(view, workspace === undefined ? ownSketch : kernelSketch, () => tick);
  const rules = clientServer && { sketch, ...clientServer };
  const counts = [0, ...roleMethods.map(() => 0)];
  if (workspace !== undefined) writeOptions(workspace.view, { clientServer, ids, joins });
  const inLines = (i: number): number =>
    workspace === undefined ? 0 : view.getUint32(layout.methodCounts + 4 * i, true);
  const hasMore = joins.size > 0;

  const roleOfLine = (): Role | undefined => {
    const role = view.getUint32(layout.resultRole, true);
    const method = roleMethods[view.getUint32(layout.resultMethod, true) - 1];
    if (role === 0 || method === undefined) return undefined;
    return { client: role === layout.sourceIsClient ? "source" : "destination", method };
  };

  return {
    methods: () => ["none" as const, ...roleMethods].map((method, i) => [method, (counts[i] as number) + inLines(i)]),
    growth: clientServer === undefined && !hasMore ? 1 : mostGrowth,
    begin(receivedAt) {
      tick = Math.floor(receivedAt / layout.tickMs) % 0x1_0000_0000;
      if (workspace !== undefined) view.setUint32(layout.sketchTick, tick, true);
    },
    name(record, began = nobodySays) {
      const isDecided = began.isDecided === true;
      const role = rules && (isDecided ? roleOfLine() : decideRole(record, began, rules));
      if (rules !== undefined && !isDecided && hasEnds(record)) {
        const rule = role === undefined ? 0 : 1 + roleMethods.indexOf(role.method);
        counts[rule] = (counts[rule] as number) + 1;
      }
      if (role !== undefined) record.set("flow.clisrv.method", role.method);
      const known = ids && flowIds(record, role?.client, ids.seed);
      if (known !== undefined) {
        record.set("flow.conversation.id", known.conversation);
        record.set("flow.session.id", known.session);
      }
      return role?.client;
    },
    complete(record, rendered, client) {
      if (client !== undefined || hasMore) rendered.push(completeEnds(record, rendered, client, joins));
    },
    clientOfLine: () => roleOfLine()?.client,
  };
}

function hasEnds(record: RecordFields): boolean {
  const [source, destination] = [record.get("flow.src.ip.addr"), record.get("flow.dst.ip.addr")];
  if (typeof source !== "string" || typeof destination !== "string") return false;
  return source.includes(":") === destination.includes(":");
}

/** Writes the options where the kernel reads them. */
function writeOptions(view: DataView, { clientServer, ids, joins }: FlowEndsOptions): void {
  const flags =
    (clientServer === undefined ? 0 : layout.expandEnds) |
    (clientServer?.withoutPorts === true ? layout.withoutPorts : 0) |
    (ids === undefined ? 0 : layout.withIds);
  view.setUint8(layout.endsFlags, flags);
  const joined = joinedFields.map((name, i) => (joins.has(name) ? 1 << (i + 1) : 0));
  view.setUint8(
    layout.joinFlags,
    joined.reduce((sum, bit) => sum | bit, 0),
  );
  view.setUint32(layout.conversationSeed, ids?.seed ?? 0, true);
  protocols.forEach((protocol, i) => {
    for (const port of clientServer?.services.get(protocol)?.keys() ?? []) {
      if (port > 0xffff) continue;
      const at = layout.servicePorts + portBytes * i + (port >> 3);
      view.setUint8(at, view.getUint8(at) | (1 << (port & 7)));
    }
  });
}
