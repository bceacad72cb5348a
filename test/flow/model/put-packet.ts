import { formatAddressBytes } from "../../../src/base/ip/index.ts";
import type { RecordFields } from "../../../src/record/index.ts";
import { tcpFlagNames } from "../../../src/flow/elements/mapping/convert-field.ts";
import { tunnels, type PacketHeader } from "../../../src/flow/wire/packet/packet-header.ts";
import type { ParsedPacket } from "../../../src/flow/wire/packet/parse-packet.ts";
import { protocolNames } from "../../../src/flow/elements/registry/protocol-names.gen.ts";

/** Puts a packet and those around it into a record, field by field: the innermost with addresses is the flow's. */
export function putPackets(record: RecordFields, bytes: Buffer, { levels, count }: ParsedPacket): void {
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

const mac = (bytes: Buffer, at: number): string =>
  [...bytes.subarray(at, at + 6)].map((byte) => byte.toString(16).padStart(2, "0")).join(":");

function putPacket(record: RecordFields, bytes: Buffer, header: PacketHeader, role: string): void {
  const put = (name: string, value: string | number | readonly (string | number)[] | undefined): void => {
    if (value !== undefined && !(typeof value === "number" && value < 0)) record.set(under(role, name), value);
  };
  if (header.destinationMac >= 0) {
    put("flow.src.mac.addr", mac(bytes, header.sourceMac));
    put("flow.dst.mac.addr", mac(bytes, header.destinationMac));
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
