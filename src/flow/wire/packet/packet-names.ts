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
export type PacketNames = Readonly<Record<keyof typeof flowNames, string>>;

/** What a packet is to the flow: the flow's own, the outermost around it, one between these two, or one within it. */
export type PacketRole = "flow" | "outer" | "middle" | "inner";

/** The names of a packet; of all but the flow's own with `flow.outer.` and so on before them in place of `flow.`. */
export function packetNames(role: PacketRole): PacketNames {
  if (role === "flow") return flowNames;
  return Object.fromEntries(
    Object.entries(flowNames).map(([key, name]) => [key, `flow.${role}.${name.replace(/^flow\./, "")}`]),
  ) as PacketNames;
}
