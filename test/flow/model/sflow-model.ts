import { formatAddressBytes } from "../../../src/base/ip/index.ts";
import type { RecordFields, Value } from "../../../src/record/index.ts";
import { tcpFlagNames } from "../../../src/flow/elements/mapping/convert-field.ts";
import { tunnels, type PacketHeader } from "../../../src/flow/wire/packet/packet-header.ts";
import {
  type ParsedPacket,
  createParsedPacket,
  flowLevelOf,
  parsePacket,
} from "../../../src/flow/wire/packet/parse-packet.ts";
import { protocolNames } from "../../../src/flow/elements/registry/protocol-names.gen.ts";
import { plausibleRate } from "../../../src/flow/exporters/sampling.ts";
import { scaledCounters } from "../../../src/flow/elements/mapping/element-names.ts";
import { addIcmp, completeFlow } from "./model-completion.ts";
import type { PacketStart } from "../../../src/flow/wire/packet/parse-headers.ts";
import { sflowDropReasons } from "../../../src/flow/wire/sflow/drop-reasons.gen.ts";
import { flowRecordLayouts } from "../../../src/flow/wire/sflow/structures.gen.ts";
import { Cut, Xdr } from "./xdr.ts";

/** Puts a packet and those around it into a record, field by field: the innermost with addresses is the flow's. */
function putPackets(record: RecordFields, bytes: Buffer, { levels, count }: ParsedPacket): void {
  const there = levels.slice(0, count);
  const hasAddresses = ({ ipVersion, destinationMac }: PacketHeader): boolean => ipVersion >= 0 || destinationMac >= 0;
  const flow = Math.max(0, there.findLastIndex(hasAddresses));
  const roles = there.map((_, i) => (i === flow ? "" : i > flow ? "inner." : i === 0 ? "outer." : "middle."));
  there.forEach((header, i) => {
    putPacket(record, bytes, header, roles[i] as string);
    const role = flow === 0 ? roles[i] : roles[i + 1];
    if (role !== undefined) putTunnel(record, header, role);
  });
}

const under = (role: string, name: string): string =>
  role === "" ? name : `flow.${role}${name.replace(/^flow\./, "")}`;

function putTunnel(record: RecordFields, header: PacketHeader, role: string): void {
  if (header.tunnel < 0) return;
  record.set(under(role, "flow.tunnel.type.name"), tunnels[header.tunnel] as string);
  if (header.tunnelId >= 0) record.set(under(role, "flow.tunnel.id"), header.tunnelId);
  if (header.servicePath < 0) return;
  record.set(under(role, "flow.tunnel.service_path.id"), Number(BigInt(header.servicePath) >> 8n));
  record.set(under(role, "flow.tunnel.service_path.index"), header.servicePath % 256);
}

const macText = (bytes: Buffer, at: number): string =>
  [...bytes.subarray(at, at + 6)].map((byte) => byte.toString(16).padStart(2, "0")).join(":");

function putPacket(record: RecordFields, bytes: Buffer, header: PacketHeader, role: string): void {
  const put = (name: string, value: string | number | readonly (string | number)[] | undefined): void => {
    if (value !== undefined && !(typeof value === "number" && value < 0)) record.set(under(role, name), value);
  };
  if (header.destinationMac >= 0) {
    put("flow.src.mac.addr", macText(bytes, header.sourceMac));
    put("flow.dst.mac.addr", macText(bytes, header.destinationMac));
  }
  put("flow.ie.ethernetType", header.etherType);
  if (header.outerTag >= 0) {
    const vlan = header.outerTag & 0xfff;
    // What the switch says of the VLAN comes first.
    const said = role === "" ? record.get("flow.src.vlan.tag.id") : undefined;
    if (said === undefined || said === 0) put("flow.src.vlan.tag.id", vlan);
    else if (said !== vlan) put("flow.ie.dot1qVlanId", vlan);
    put("flow.ie.dot1qPriority", header.outerTag >> 13);
  }
  if (header.innerTag >= 0) {
    put("flow.ie.dot1qCustomerVlanId", header.innerTag & 0xfff);
    put("flow.ie.dot1qCustomerPriority", header.innerTag >> 13);
  }
  if (header.labelCount > 0) {
    const entries = Array.from({ length: header.labelCount }, (_, i) => bytes.readUInt32BE(header.labels + 4 * i));
    put("mpls.top_label.id", (entries[0] as number) >>> 12);
    put(
      "mpls.label.id",
      entries.map((entry) => entry >>> 12),
    );
    put(
      "mpls.label.exp",
      entries.map((entry) => (entry >>> 9) & 7),
    );
  }
  if (header.ipVersion < 0) return;
  const version = header.ipVersion === 4 ? 4 : 6;
  put("ip.version.ver", version);
  put("flow.src.ip.addr", formatAddressBytes(bytes, header.source, version));
  put("flow.dst.ip.addr", formatAddressBytes(bytes, header.destination, version));
  put("ip.dscp.id", header.trafficClass >> 2);
  put("ip.ecn.id", header.trafficClass & 3);
  put("flow.ie.ipTTL", header.ttl);
  put("flow.ie.ipTotalLength", header.ipLength);
  put("flow.ie.flowLabelIPv6", header.flowLabel);
  put("flow.ie.fragmentIdentification", header.fragmentId);
  put("flow.ie.fragmentOffset", header.fragmentOffset);
  put("flow.ie.fragmentFlags", header.fragmentFlags);
  put("l4.proto.id", header.protocol);
  put("l4.proto.name", protocolNames[header.protocol]);
  put("flow.src.l4.port.id", header.sourcePort);
  put("flow.dst.l4.port.id", header.destinationPort);
  put("tcp.flags.bits", header.tcpFlags);
  put("tcp.flags.tags", header.tcpFlags < 0 ? undefined : tcpFlagNames(header.tcpFlags));
  put("icmp.type.id", header.icmpType);
  put("icmp.code.id", header.icmpCode);
  put("flow.ie.igmpType", header.igmpType);
}

/**
 * The flow samples and discarded packets of a datagram whose samples are all there, slowly and one field after the other: the fields
 * that they have beyond those of the datagram's header.
 */
export function modelSamples(datagram: Buffer): RecordFields[] {
  const xdr = new Xdr(datagram);
  const records: RecordFields[] = [];
  let count: number;
  try {
    xdr.word();
    putAddress(xdr, () => {});
    xdr.take(12);
    count = xdr.word();
  } catch (error) {
    if (error instanceof Cut) return [];
    throw error;
  }
  for (let i = 0; i < count && datagram.length - xdr.at >= 8; i++) {
    const format = xdr.word();
    const length = xdr.word();
    const sample = new Xdr(xdr.take(Math.min(length, datagram.length - xdr.at)));
    xdr.at = Math.min(datagram.length, xdr.at + ((4 - (length % 4)) % 4));
    const fixed = format === 1 || format === 5 ? 32 : 44;
    if (![1, 3, 5].includes(format) || sample.bytes.length < fixed) continue;
    records.push(format === 5 ? readDiscard(sample) : readFlow(sample, format === 3));
  }
  return records;
}

function readFlow(sample: Xdr, isExpanded: boolean): RecordFields {
  const record: RecordFields = new Map();
  record.set("flow.sample.sequence", sample.word());
  const source = sample.word();
  const type = isExpanded ? source : source >>> 24;
  const index = isExpanded ? sample.word() : source & 0xffffff;
  record.set("flow.sample.source.type.id", type);
  record.set("flow.sample.source.index", index);
  const rate = sample.word();
  record.set("flow.sample.pool", sample.word());
  record.set("flow.sample.drops", sample.word());
  const side = (): [number, number] => {
    const first = sample.word();
    return isExpanded ? [first, sample.word()] : [first >>> 30, first & 0x3fff_ffff];
  };
  putInterfaces(record, type, index, side(), side());
  return readRecords(record, sample, rate > 0 ? plausibleRate(rate) : undefined);
}

function readDiscard(sample: Xdr): RecordFields {
  const record: RecordFields = new Map([["flow.record.type", "discard"]]);
  record.set("flow.sample.sequence", sample.word());
  const type = sample.word();
  const index = sample.word();
  record.set("flow.sample.source.type.id", type);
  record.set("flow.sample.source.index", index);
  record.set("flow.sample.drops", sample.word());
  const input = sample.word();
  const output = sample.word();
  putReason(record, sample.word());
  putInterfaces(record, type, index, [0, input], [0, output]);
  return readRecords(record, sample, undefined);
}

function putReason(record: RecordFields, code: number): void {
  record.set("flow.drop.reason.id", code);
  const name = sflowDropReasons.get(code);
  if (name !== undefined) record.set("flow.drop.reason.name", name);
}

function putInterfaces(
  record: RecordFields,
  type: number,
  index: number,
  ...sides: readonly (readonly [format: number, value: number])[]
): void {
  const [isIn, isOut] = sides.map(([format, value], i) => {
    const group = i === 0 ? "flow.in.netif" : "flow.out.netif";
    if (format === 0 && value === 0x3fff_ffff) record.set(`${group}.isInternal`, true);
    else if (format === 0) {
      record.set(`${group}.index`, value);
      return value === index;
    } else if (format === 1 && i === 1) putReason(record, value);
    else if (format === 2 && i === 1) {
      record.set(`${group}.count`, value);
      return undefined;
    } else {
      record.set(`${group}.format.id`, format);
      record.set(`${group}.value`, value);
    }
    return false;
  });
  const atOut = isOut ?? isIn !== true;
  if (type === 0 && isIn !== atOut) record.set("flow.direction.name", isIn === true ? "ingress" : "egress");
}

function putAddress(xdr: Xdr, put: (address: string) => void): void {
  const family = xdr.word();
  if (family > 2) throw new Cut();
  if (family > 0) put(formatAddressBytes(xdr.take(family === 1 ? 4 : 16), 0, family === 1 ? 4 : 6));
}

const starts: Readonly<Record<number, PacketStart>> = {
  1: "ethernet",
  7: "ppp",
  11: "ipv4",
  12: "ipv6",
  13: "mpls",
  14: "ppp",
  15: "wireless",
  17: "ethernet",
};

/** Formats that have names in common. */
const groups: readonly (readonly number[])[] = [
  [3, 4],
  [1023, 1025],
  [1024, 1026],
  [2100, 2101],
];

function readRecords(record: RecordFields, sample: Xdr, rate: number | undefined): RecordFields {
  const structures: { key: number; content: Buffer }[] = [];
  const count = sample.word();
  while (structures.length < count && sample.bytes.length - sample.at >= 8) {
    const key = sample.word();
    const length = sample.word();
    structures.push({ key, content: sample.take(Math.min(length, sample.bytes.length - sample.at)) });
    sample.at = Math.min(sample.bytes.length, sample.at + ((4 - (length % 4)) % 4));
  }
  record.set("flow.raw.packets", 1);
  const header = structures.find(({ key, content }) => key === 1 && content.length >= 16)?.content;
  const hexes = new Map<string, string[]>();
  const first = new Map<number, { key: number; content: Buffer }>();
  // What the agent read in the packet, and then what it says otherwise; the packet's own headers come last and win.
  for (const own of structures.filter(({ content }) => content !== header)) {
    const { key, content } = own;
    const group = groups.find((keys) => keys.includes(key))?.[0] ?? key;
    const before = first.get(group);
    const isKnown = key !== 1 && ([2, 3, 4, 1003].includes(key) || flowRecordLayouts.has(key));
    if (isKnown && before === undefined) first.set(group, own);
    if (isKnown && before?.key === key && before.content.equals(content)) continue;
    if (isKnown && before === undefined && isWhole(record, key, content)) continue;
    const name = `flow.ie.sflow.flow.${key >>> 12}.${key & 0xfff}`;
    hexes.set(name, [...(hexes.get(name) ?? []), `0x${content.toString("hex")}`]);
  }
  const agentLength = (record.get("agent.length") ?? 0) as number;
  const ip = (header === undefined ? undefined : putHeader(record, header)) ?? { length: agentLength, at: 0 };
  const frame = header?.readUInt32BE(4) ?? record.get("agent.frame");
  if (frame === undefined && record.has("agent.length")) putLength(record, "l3", agentLength);
  else if (typeof frame === "number") {
    const hasLength = ip.length > 0 && ip.length <= 0x10100;
    const canBe = hasLength ? frame >= ip.length && frame <= 0x10100 : frame <= 0x100000;
    if (canBe) putLength(record, "l2", frame);
    else if (hasLength) putLength(record, "l2", ip.at + ip.length);
    else if (record.has("agent.length")) putLength(record, "l3", agentLength);
  }
  record.delete("agent.frame");
  record.delete("agent.length");
  for (const [name, texts] of hexes) record.set(name, texts);
  addIcmp(record);
  completeFlow(record, rate, scaledCounters);
  return record;
}

function putLength(record: RecordFields, layer: "l2" | "l3", length: number): void {
  record.set("flow.bytes_layer", layer);
  record.set("flow.raw.bytes", length);
}

/** Returns the length of the outermost IP packet, 0 where its header does not say it, and where it begins. */
function putHeader(record: RecordFields, content: Buffer): { length: number; at: number } | undefined {
  const protocol = content.readUInt32BE(0);
  const bytes = content.subarray(16, 16 + content.readUInt32BE(12));
  const start = starts[protocol];
  const packet = createParsedPacket();
  const whole: RecordFields = new Map();
  if (start !== undefined && bytes.length > 0) {
    parsePacket(bytes, 0, bytes.length, start, packet);
    putPackets(whole, bytes, packet);
  }
  if (start === undefined || (whole.size === 0 && bytes.length > 0)) {
    record.set("flow.sample.header.protocol.id", protocol);
    record.set("flow.ie.dataLinkFrameSection", `0x${bytes.toString("hex")}`);
  }
  if (whole.size === 0) return undefined;
  // What the agent read is of the packet as it came: it adds nothing where the packet has something, around the flow's or itself.
  for (const [part, names] of agentNames) {
    const isThere = packet.levels.some((level, i) => (i === 0 || i === flowLevelOf(packet)) && level[part] >= 0);
    if (isThere) for (const name of names) record.delete(name);
  }
  putPackets(record, bytes, packet);
  const { ipVersion, source, ipLength } = packet.levels[0] as PacketHeader;
  if (ipVersion === 4) return { length: ipLength, at: source - 12 };
  return ipVersion === 6 ? { length: ipLength === 40 ? 0 : ipLength, at: source - 8 } : undefined;
}

const agentNames = [
  ["sourceMac", ["flow.src.mac.addr"]],
  ["destinationMac", ["flow.dst.mac.addr"]],
  ["etherType", ["flow.ie.ethernetType"]],
  ["ipVersion", ["flow.ie.ipTotalLength", "flow.src.ip.addr", "flow.dst.ip.addr"]],
  ["protocol", ["l4.proto.id", "l4.proto.name"]],
  ["sourcePort", ["flow.src.l4.port.id"]],
  ["destinationPort", ["flow.dst.l4.port.id"]],
  ["tcpFlags", ["tcp.flags.bits", "tcp.flags.tags"]],
  ["trafficClass", ["ip.dscp.id", "ip.ecn.id"]],
] as const;

/** Puts the fields of a structure as far as they go. Returns whether these are all of it. */
function isWhole(record: RecordFields, key: number, content: Buffer): boolean {
  const xdr = new Xdr(content);
  try {
    if (key === 1003) putGateway(record, xdr);
    else if (key <= 4) putSampled(record, xdr, key);
    else if (key === 1001 && isOtherSwitch(content)) return false;
    else {
      for (const [i, [name, type]] of (flowRecordLayouts.get(key) ?? []).entries()) {
        if (xdr.isAtEnd && i > 0) break;
        putField(record, xdr, name, type);
      }
    }
  } catch (error) {
    if (error instanceof Cut) return false;
    throw error;
  }
  return xdr.isAtEnd;
}

function isOtherSwitch(content: Buffer): boolean {
  const isShort = content.length >= 4 && content.length < 16;
  return isShort && content.readUInt32BE(0) > 4095 && content.readUInt32BE(0) !== 0xffff_ffff;
}

function putField(record: RecordFields, xdr: Xdr, name: string, type: string): void {
  const put = (value: Value): void => void record.set(name, value);
  if (type === "uint32") put(xdr.word());
  else if (type === "count32") {
    const value = xdr.word();
    if (value !== 0xffff_ffff) put(value);
  } else if (type === "uint64") {
    const value = xdr.take(8).readBigUInt64BE();
    put(value <= Number.MAX_SAFE_INTEGER ? Number(value) : value);
  } else if (type === "mac" || type === "shortMac")
    put(
      xdr
        .take(type === "mac" ? 8 : 6)
        .toString("hex", 0, 6)
        .replaceAll(/..(?!$)/g, "$&:"),
    );
  else if (type === "ipv4") put(formatAddressBytes(xdr.take(4), 0, 4));
  else if (type === "ipv6") put(formatAddressBytes(xdr.take(16), 0, 6));
  else if (type === "address") putAddress(xdr, put);
  else if (type === "text") put(xdr.text());
  else if (type === "labels") put(xdr.list().map((entry) => entry >>> 12));
  else if (type === "tags") put(xdr.list().map((entry) => entry & 0xfff));
  else throw new TypeError(type);
}

function putSampled(record: RecordFields, xdr: Xdr, key: number): void {
  const put = (name: string, value: Value | undefined): void => {
    if (value !== undefined) record.set(name, value);
  };
  if (key === 2) {
    put("agent.frame", xdr.word());
    const mac = xdr.bytes.length === 20 ? "shortMac" : "mac";
    for (const [name, type] of [
      ["flow.src.mac.addr", mac],
      ["flow.dst.mac.addr", mac],
      ["flow.ie.ethernetType", "uint32"],
    ] as const) {
      if (xdr.isAtEnd) return;
      putField(record, xdr, name, type);
    }
    return;
  }
  const family = key === 3 ? "ipv4" : "ipv6";
  const steps: (() => void)[] = [
    () => {
      const length = xdr.word();
      put("flow.ie.ipTotalLength", length);
      put("agent.length", length);
    },
    () => {
      const protocol = xdr.word();
      put("l4.proto.id", protocol);
      put("l4.proto.name", protocolNames[protocol]);
    },
    () => putField(record, xdr, "flow.src.ip.addr", family),
    () => putField(record, xdr, "flow.dst.ip.addr", family),
    () => put("flow.src.l4.port.id", xdr.word()),
    () => put("flow.dst.l4.port.id", xdr.word()),
    () => {
      const flags = xdr.word() & 0xfff;
      put("tcp.flags.bits", flags);
      put("tcp.flags.tags", tcpFlagNames(flags));
    },
    () => {
      const byte = xdr.word() & 0xff;
      put("ip.dscp.id", byte >> 2);
      put("ip.ecn.id", byte & 3);
    },
  ];
  for (const [i, step] of steps.entries()) {
    if (xdr.isAtEnd && i > 0) return;
    step();
  }
}

function putHop(record: RecordFields, name: string, number: number): void {
  record.set(`${name}.asn`, number);
  if (number > 0) record.set(`${name}.label`, `AS${number}`);
}

function putGateway(record: RecordFields, xdr: Xdr): void {
  putAddress(xdr, (address) => void record.set("flow.bgp.next_hop.ip.addr", address));
  const own = xdr.word();
  record.set("flow.export.as.asn", own);
  const source = xdr.word();
  record.set("flow.src.as.asn", source === 0 ? own : source);
  putHop(record, "hop.src.as", xdr.word());
  const texts: string[] = [];
  const path: number[] = [];
  for (let segments = xdr.word(); segments > 0; segments--) {
    const isSet = xdr.word() === 1;
    const numbers = xdr.list();
    path.push(...numbers);
    texts.push(isSet ? `{${numbers.join(",")}}` : numbers.join(" "));
  }
  if (path.length > 0) {
    record.set("flow.bgp.as_path", texts.join(" "));
    putHop(record, "hop.dst.as", path[0] as number);
    record.set("flow.dst.as.asn", path.at(-1) as number);
  } else if (own > 0) record.set("flow.dst.as.asn", own);
  const communities = xdr.list();
  if (communities.length > 0) {
    record.set(
      "flow.bgp.communities",
      communities.map((value) => `${value >>> 16}:${value & 0xffff}`),
    );
  }
  record.set("flow.bgp.local_pref", xdr.word());
}
