import { formatAddressBytes } from "../../../base/ip/index.ts";
import type { FieldValues, RecordFields } from "../../../record/index.ts";
import { type ByteSource, type StepSink, stackAt, StepList } from "../steps/steps.ts";
import { flowLevelOf, type ParsedPacket, createParsedPacket, parsePacket } from "./parse-packet.ts";
import { tcpFlagNames } from "../../elements/mapping/convert-field.ts";
import { protocolNames } from "../../elements/registry/protocol-names.gen.ts";
import * as layout from "../../kernel/layout.gen.ts";
import { type Step, InstructionTable } from "../steps/instruction-table.ts";
import { tunnels, type PacketHeader } from "./packet-header.ts";
import type { PacketStart } from "./parse-headers.ts";

/** Finds the packet that is the flow's, where a record says the addresses of one of them; else {@link flowLevelOf}. */
export function levelWithin(packet: ParsedPacket, { bytes }: ByteSource, of: FieldValues): number {
  const last = flowLevelOf(packet);
  if (last === 0) return last;
  const source = of.get("flow.src.ip.addr");
  const destination = of.get("flow.dst.ip.addr");
  if (source === undefined || destination === undefined) return last;
  const found = packet.levels.findIndex(
    (header, i) =>
      i <= last &&
      header.ipVersion >= 0 &&
      formatAddressBytes(bytes, header.source, header.ipVersion === 4 ? 4 : 6) === source &&
      formatAddressBytes(bytes, header.destination, header.ipVersion === 4 ? 4 : 6) === destination,
  );
  return found < 0 ? last : found;
}

/** The length of an IP packet, by the outermost IP header; -1 when there was none. */
export function ipLengthOf({ levels, count }: ParsedPacket): number {
  for (let i = 0; i < count; i++) {
    const header = levels[i];
    if (header !== undefined && header.ipVersion >= 0) return header.ipLength;
  }
  return -1;
}

/** Names of the fields of a packet: of ours where there are, else those of IPFIX elements. */
const flowNames = {
  sourceMac: "flow.src.mac.addr",
  destinationMac: "flow.dst.mac.addr",
  etherType: "flow.ie.ethernetType",
  vlan: "flow.src.vlan.tag.id",
  priority: "flow.ie.dot1qPriority",
  innerVlan: "flow.ie.dot1qCustomerVlanId",
  innerPriority: "flow.ie.dot1qCustomerPriority",
  otherVlan: "flow.ie.dot1qVlanId",
  topLabel: "mpls.top_label.id",
  labels: "mpls.label.id",
  labelExperimental: "mpls.label.exp",
  version: "ip.version.ver",
  source: "flow.src.ip.addr",
  destination: "flow.dst.ip.addr",
  dscp: "ip.dscp.id",
  ecn: "ip.ecn.id",
  ttl: "flow.ie.ipTTL",
  length: "flow.ie.ipTotalLength",
  flowLabel: "flow.ie.flowLabelIPv6",
  fragmentId: "flow.ie.fragmentIdentification",
  fragmentOffset: "flow.ie.fragmentOffset",
  fragmentFlags: "flow.ie.fragmentFlags",
  protocol: "l4.proto.id",
  protocolName: "l4.proto.name",
  sourcePort: "flow.src.l4.port.id",
  destinationPort: "flow.dst.l4.port.id",
  tcpFlags: "tcp.flags.bits",
  tcpTags: "tcp.flags.tags",
  icmpType: "icmp.type.id",
  icmpCode: "icmp.code.id",
  igmpType: "flow.ie.igmpType",
  tunnel: "flow.tunnel.type.name",
  tunnelId: "flow.tunnel.id",
  servicePath: "flow.tunnel.service_path.id",
  serviceIndex: "flow.tunnel.service_path.index",
} as const;
type PacketNames = Readonly<Record<keyof typeof flowNames, string>>;

/** The role of a packet for the flow: the flow's own, the outermost around it, one between these two, or one within it. */
type PacketRole = "flow" | "outer" | "middle" | "inner";

/** The names of a packet; of all but the flow's own with `flow.outer.` and so on before them instead of `flow.`. */
export function packetNames(role: PacketRole): PacketNames {
  if (role === "flow") return flowNames;
  return Object.fromEntries(
    Object.entries(flowNames).map(([key, name]) => [key, `flow.${role}.${name.replace(/^flow\./, "")}`]),
  ) as PacketNames;
}

/** The steps that the kernel lists by itself of the flow's own packet, by the numbers that the layout has for them. */
export function listedSteps({ flow }: PacketSteps): readonly (readonly [number: number, step: Step])[] {
  return [
    [layout.frameStep, flow.frame],
    [layout.taggedFrameStep, flow.taggedFrame],
    [layout.sourceMacStep, flow.sourceMac],
    [layout.destinationMacStep, flow.destinationMac],
    [layout.etherTypeStep, flow.etherType],
    [layout.vlanStep, flow.vlan],
    [layout.otherVlanStep, flow.otherVlan],
    [layout.priorityStep, flow.priority],
    [layout.innerVlanStep, flow.innerVlan],
    [layout.innerPriorityStep, flow.innerPriority],
    [layout.ipv4Step, flow.ipv4],
    [layout.ipv6Step, flow.ipv6],
    [layout.trafficClassStep, flow.trafficClass],
    [layout.lengthStep, flow.length],
    [layout.flowLabelStep, flow.flowLabel],
    [layout.protocolStep, flow.protocol],
    [layout.portsStep, flow.ports],
    [layout.tcpStep, flow.tcp],
    [layout.icmpTypeStep, flow.icmpType],
    [layout.icmpCodeStep, flow.icmpCode],
  ];
}

type LevelSteps = ReturnType<typeof createLevelSteps>;

/** Makes steps of packets. */
export class PacketSteps {
  /** The steps of the flow's own packet, for who knows the same from elsewhere. */
  readonly flow: LevelSteps;
  readonly #instructions: InstructionTable;
  /** Most packets are in no tunnel, so the steps of others are made when they are needed. */
  readonly #others = new Map<PacketRole, LevelSteps>();

  constructor(instructions: InstructionTable) {
    this.#instructions = instructions;
    this.flow = createLevelSteps(instructions, "flow");
  }

  /**
   * Adds what a packet and those around it and within it say.
   *
   * @param agentVlan the VLAN of the source that the list has already, -1 when it has none. That of the packet's tag is then
   *   another field, if it differs.
   * @param flowLevel which is the flow's. Default: {@link flowLevelOf}.
   */
  add(list: StepSink, packet: ParsedPacket, agentVlan: number, flowLevel = flowLevelOf(packet)): void {
    const { levels, count } = packet;
    // Only the innermost of the packets within the flow's has names.
    for (let i = flowLevel + 1 < count ? count - 1 : flowLevel; i >= 0; i = i > flowLevel ? flowLevel : i - 1) {
      const header = levels[i] as PacketHeader;
      addHeader(list, this.#stepsOf(i, flowLevel), header, i === flowLevel ? agentVlan : -1);
      if (header.tunnel < 0) continue;
      // The header of a tunnel is about the packet within, unless the flow's is the outermost.
      const about = flowLevel === 0 ? i : i + 1;
      if (about < count) addTunnel(list, this.#stepsOf(about, flowLevel), header);
    }
  }

  #stepsOf(level: number, flowLevel: number): LevelSteps {
    if (level === flowLevel) return this.flow;
    const role = level > flowLevel ? "inner" : level === 0 ? "outer" : "middle";
    let steps = this.#others.get(role);
    if (steps === undefined) {
      steps = createLevelSteps(this.#instructions, role);
      this.#others.set(role, steps);
    }
    return steps;
  }
}

type EntryFields = Parameters<InstructionTable["entry"]>[1];

interface LevelEntries {
  readonly trafficClass: EntryFields;
  readonly protocol: EntryFields;
  readonly tcpFlags: EntryFields;
  readonly tunnel: EntryFields;
}

/** The same functions for all books. */
const levelEntries = new Map<PacketRole, LevelEntries>();

function entriesOf(role: PacketRole): LevelEntries {
  let entries = levelEntries.get(role);
  if (entries === undefined) {
    const names = packetNames(role);
    entries = {
      trafficClass: (value) => [
        [names.dscp, value >> 2],
        [names.ecn, value & 3],
      ],
      protocol: (value) => [
        [names.protocol, value],
        [names.protocolName, protocolNames[value]],
      ],
      tcpFlags: (value) => [
        [names.tcpFlags, value],
        [names.tcpTags, tcpFlagNames(value)],
      ],
      tunnel: (value) => [[names.tunnel, tunnels[value]]],
    };
    levelEntries.set(role, entries);
  }
  return entries;
}

function createLevelSteps(instructions: InstructionTable, role: PacketRole) {
  const names = packetNames(role);
  const entries = entriesOf(role);
  const steps = {
    sourceMac: instructions.field(names.sourceMac, "mac"),
    destinationMac: instructions.field(names.destinationMac, "mac"),
    etherType: instructions.field(names.etherType, "number"),
    vlan: instructions.field(names.vlan, "number"),
    otherVlan: instructions.field(names.otherVlan, "number"),
    priority: instructions.field(names.priority, "number"),
    innerVlan: instructions.field(names.innerVlan, "number"),
    innerPriority: instructions.field(names.innerPriority, "number"),
    topLabel: instructions.field(names.topLabel, "number"),
    labels: instructions.field(names.labels, "stackLabels"),
    labelExperimental: instructions.field(names.labelExperimental, "stackExperimental"),
    // That of the flow follows from its addresses.
    version: role === "flow" ? undefined : instructions.field(names.version, "number"),
    source4: instructions.field(names.source, "ipv4"),
    source6: instructions.field(names.source, "ipv6"),
    destination4: instructions.field(names.destination, "ipv4"),
    destination6: instructions.field(names.destination, "ipv6"),
    trafficClass: instructions.entry(256, entries.trafficClass, undefined, names.dscp),
    ttl: instructions.field(names.ttl, "number"),
    length: instructions.field(names.length, "number"),
    flowLabel: instructions.field(names.flowLabel, "number"),
    fragmentId: instructions.field(names.fragmentId, "number"),
    fragmentOffset: instructions.field(names.fragmentOffset, "number"),
    fragmentFlags: instructions.field(names.fragmentFlags, "number"),
    protocol: instructions.entry(256, entries.protocol, names.protocol),
    sourcePort: instructions.field(names.sourcePort, "number"),
    destinationPort: instructions.field(names.destinationPort, "number"),
    tcpFlags: instructions.entry(512, entries.tcpFlags, names.tcpFlags),
    icmpType: instructions.field(names.icmpType, "number"),
    icmpCode: instructions.field(names.icmpCode, "number"),
    igmpType: instructions.field(names.igmpType, "number"),
    tunnel: instructions.entry(tunnels.length, entries.tunnel),
    tunnelId: instructions.field(names.tunnelId, "number"),
    servicePath: instructions.field(names.servicePath, "number"),
    serviceIndex: instructions.field(names.serviceIndex, "number"),
  };
  return {
    ...steps,
    /** The fields that lie together in most packets, each from its first byte. */
    frame: instructions.block([
      [steps.sourceMac, 6, "place"],
      [steps.destinationMac, 0, "place"],
      [steps.etherType, 12, "uint16"],
    ]),
    taggedFrame: instructions.block([
      [steps.sourceMac, 6, "place"],
      [steps.destinationMac, 0, "place"],
      [steps.etherType, 16, "uint16"],
      [steps.priority, 14, "priority"],
    ]),
    ipv4: instructions.block([
      [steps.source4, 12, "place"],
      [steps.destination4, 16, "place"],
      [steps.trafficClass, 1, "uint8"],
      [steps.ttl, 8, "uint8"],
      [steps.length, 2, "uint16"],
      [steps.protocol, 9, "uint8"],
    ]),
    ipv6: instructions.block([
      [steps.source6, 8, "place"],
      [steps.destination6, 24, "place"],
      [steps.ttl, 7, "uint8"],
    ]),
    ports: instructions.block([
      [steps.sourcePort, 0, "uint16"],
      [steps.destinationPort, 2, "uint16"],
    ]),
    tcp: instructions.block([
      [steps.sourcePort, 0, "uint16"],
      [steps.destinationPort, 2, "uint16"],
      [steps.tcpFlags, 12, "flags"],
    ]),
  };
}

function addTunnel(list: StepSink, steps: LevelSteps, { tunnel, tunnelId, servicePath }: PacketHeader): void {
  if (tunnel < 0) return;
  list.add(steps.tunnel, tunnel);
  if (tunnelId >= 0) list.add(steps.tunnelId, tunnelId);
  if (servicePath < 0) return;
  list.add(steps.servicePath, Math.trunc(servicePath / 256));
  list.add(steps.serviceIndex, servicePath % 256);
}

function addHeader(list: StepSink, steps: LevelSteps, header: PacketHeader, agentVlan: number): void {
  const { destinationMac } = header;
  if (destinationMac >= 0) {
    const isTyped = header.sourceMac === destinationMac + 6 && header.typeAt >= 0;
    if (isTyped && header.typeAt === destinationMac + 12) list.add(steps.frame, destinationMac);
    else if (isTyped && header.typeAt === destinationMac + 16 && header.outerTag >= 0) {
      list.add(steps.taggedFrame, destinationMac);
      addVlan(list, steps, header, agentVlan);
    } else {
      list.add(steps.sourceMac, header.sourceMac);
      list.add(steps.destinationMac, destinationMac);
      addType(list, steps, header, agentVlan);
    }
  } else addType(list, steps, header, agentVlan);
  if (header.labelCount > 0) {
    const stack = stackAt(header.labels, header.labelCount);
    list.add(steps.topLabel, header.topLabel);
    list.add(steps.labels, stack);
    list.add(steps.labelExperimental, stack);
  }
  if (header.ipVersion >= 0) addIp(list, steps, header);
}

function addType(list: StepSink, steps: LevelSteps, header: PacketHeader, agentVlan: number): void {
  if (header.etherType >= 0) list.add(steps.etherType, header.etherType);
  if (header.outerTag < 0) return;
  addVlan(list, steps, header, agentVlan);
  list.add(steps.priority, header.outerTag >> 13);
  if (header.innerTag < 0) return;
  list.add(steps.innerVlan, header.innerTag & 0xfff);
  list.add(steps.innerPriority, header.innerTag >> 13);
}

/** Adds the VLAN. What the switch says of it comes first. */
function addVlan(list: StepSink, steps: LevelSteps, { outerTag }: PacketHeader, agentVlan: number): void {
  const vlan = outerTag & 0xfff;
  if (agentVlan < 0) list.add(steps.vlan, vlan);
  else if (agentVlan !== vlan) list.add(steps.otherVlan, vlan);
}

/** The offsets of the addresses in their headers. */
const sourceOffset = { 4: 12, 6: 8 } as const;

function addIp(list: StepSink, steps: LevelSteps, header: PacketHeader): void {
  const { version } = steps;
  if (version !== undefined) list.add(version, header.ipVersion);
  if (header.ipVersion === 4) list.add(steps.ipv4, header.source - sourceOffset[4]);
  else {
    list.add(steps.ipv6, header.source - sourceOffset[6]);
    list.add(steps.trafficClass, header.trafficClass);
    list.add(steps.length, header.ipLength);
    list.add(steps.flowLabel, header.flowLabel);
    list.add(steps.protocol, header.protocol);
  }
  if (header.fragmentId >= 0) {
    list.add(steps.fragmentId, header.fragmentId);
    list.add(steps.fragmentOffset, header.fragmentOffset);
    list.add(steps.fragmentFlags, header.fragmentFlags);
  }
  if (header.portsAt >= 0) list.add(header.tcpFlags >= 0 ? steps.tcp : steps.ports, header.portsAt);
  if (header.icmpType >= 0) {
    list.add(steps.icmpType, header.icmpType);
    list.add(steps.icmpCode, header.icmpCode);
  }
  if (header.igmpType >= 0) list.add(steps.igmpType, header.igmpType);
}

/** Reads the beginning of a packet into fields. */
export class PacketFields {
  readonly #packet = createParsedPacket();
  /** Made with the first packet: thousands of entries, and most exporters send none. */
  #made: { readonly list: StepList; readonly steps: PacketSteps } | undefined;

  /** The length of the IP packet that was read last, by the outermost IP header; -1 when there was none. */
  get ipLength(): number {
    return ipLengthOf(this.#packet);
  }

  /**
   * @param of what is known of the flow: where its addresses are those of one of the packets, that one is the flow's and what is
   *   within it has names with `flow.inner.`; else the innermost is.
   */
  read(source: ByteSource, at: number, end: number, start: PacketStart, of: FieldValues): RecordFields {
    parsePacket(source.bytes, at, end, start, this.#packet);
    const { list, steps } = (this.#made ??= fieldSteps());
    list.clear();
    steps.add(list, this.#packet, -1, levelWithin(this.#packet, source, of));
    const fields: RecordFields = new Map();
    list.putInto(fields, 0, list.end, source);
    return fields;
  }
}

/** Makes steps that only make fields. */
function fieldSteps() {
  const instructions = new InstructionTable(undefined);
  return { list: new StepList(instructions, undefined), steps: new PacketSteps(instructions) };
}
