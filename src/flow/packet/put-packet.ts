import { formatAddressBytes } from "../../ip/index.ts";
import type { RecordFields } from "../../record/index.ts";
import { tcpFlagNames } from "../mapping/convert-field.ts";
import { formatMac } from "../mapping/convert-type.ts";
import { protocolNames } from "../registry/protocol-names.gen.ts";
import { tunnels, type PacketHeader } from "./packet-header.ts";

/** Names of the fields of a packet. Those of the packet within a tunnel have `flow.inner.` before them in place of `flow.`. */
export const outerNames = {
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
} as const;
export type PacketNames = Readonly<Record<keyof typeof outerNames, string>>;

export const innerNames = Object.fromEntries(
  Object.entries(outerNames).map(([key, name]) => [key, `flow.inner.${name.replace(/^flow\./, "")}`]),
) as PacketNames;

/** Puts what a parsed packet says into a record, under names of ours where there are, else those of IPFIX elements. */
export function putPacket(record: RecordFields, bytes: Uint8Array, header: PacketHeader): void {
  put(record, bytes, header, outerNames);
}

/** The same for the packet within a tunnel. */
export function putInnerPacket(record: RecordFields, bytes: Uint8Array, header: PacketHeader): void {
  put(record, bytes, header, innerNames);
}

function put(record: RecordFields, bytes: Uint8Array, header: PacketHeader, names: PacketNames): void {
  if (header.macs >= 0) {
    record.set(names.sourceMac, formatMac(bytes, header.macs + 6));
    record.set(names.destinationMac, formatMac(bytes, header.macs));
  }
  if (header.etherType >= 0) record.set(names.etherType, header.etherType);
  if (header.outerTag >= 0) putTags(record, header, names);
  if (header.labelCount > 0) {
    const entries = Array.from({ length: header.labelCount }, (_, i) => header.labels + 4 * i);
    const labels = entries.map((at) => labelAt(bytes, at));
    record.set(names.topLabel, labels[0] as number);
    record.set(names.labels, labels);
    record.set(
      names.labelExperimental,
      entries.map((at) => ((bytes[at + 2] as number) >> 1) & 7),
    );
  }
  if (header.ipVersion >= 0) putIp(record, bytes, header, names);
  if (header.tunnel >= 0) {
    record.set(names.tunnel, tunnels[header.tunnel] as string);
    if (header.tunnelId >= 0) record.set(names.tunnelId, header.tunnelId);
  }
}

/** The upper twenty bits of an entry of the stack (RFC 3032). */
function labelAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 12) | ((bytes[at + 1] as number) << 4) | ((bytes[at + 2] as number) >> 4);
}

function putTags(record: RecordFields, { outerTag, innerTag }: PacketHeader, names: PacketNames): void {
  const vlan = outerTag & 0xfff;
  // What the switch says of the VLAN comes first.
  const told = record.get(names.vlan);
  if (told === undefined || told === 0) record.set(names.vlan, vlan);
  else if (told !== vlan) record.set(names.otherVlan, vlan);
  record.set(names.priority, outerTag >> 13);
  if (innerTag < 0) return;
  record.set(names.innerVlan, innerTag & 0xfff);
  record.set(names.innerPriority, innerTag >> 13);
}

function putIp(record: RecordFields, bytes: Uint8Array, header: PacketHeader, names: PacketNames): void {
  const version = header.ipVersion === 4 ? 4 : 6;
  record.set(names.version, version);
  record.set(names.source, formatAddressBytes(bytes, header.source, version));
  record.set(names.destination, formatAddressBytes(bytes, header.destination, version));
  record.set(names.dscp, header.trafficClass >> 2);
  record.set(names.ecn, header.trafficClass & 3);
  record.set(names.ttl, header.ttl);
  record.set(names.length, header.ipLength);
  if (header.flowLabel >= 0) record.set(names.flowLabel, header.flowLabel);
  if (header.fragmentId >= 0) {
    record.set(names.fragmentId, header.fragmentId);
    record.set(names.fragmentOffset, header.fragmentOffset);
    record.set(names.fragmentFlags, header.fragmentFlags);
  }
  record.set(names.protocol, header.protocol);
  const protocol = protocolNames[header.protocol];
  if (protocol !== undefined) record.set(names.protocolName, protocol);
  putTransport(record, header, names);
}

function putTransport(record: RecordFields, header: PacketHeader, names: PacketNames): void {
  if (header.sourcePort >= 0) {
    record.set(names.sourcePort, header.sourcePort);
    record.set(names.destinationPort, header.destinationPort);
  }
  if (header.tcpFlags >= 0) {
    record.set(names.tcpFlags, header.tcpFlags);
    const tags = tcpFlagNames(header.tcpFlags);
    if (tags !== undefined) record.set(names.tcpTags, tags);
  }
  if (header.icmpType >= 0) {
    record.set(names.icmpType, header.icmpType);
    record.set(names.icmpCode, header.icmpCode);
  }
  if (header.igmpType >= 0) record.set(names.igmpType, header.igmpType);
}
