/** How an element's bytes become a field's value. `value` goes by the element's abstract data type. */
export type Conversion =
  | "value"
  | "uptime"
  | "microsecondsBefore"
  | "dscp"
  | "ecn"
  | "protocolName"
  | "tunnelTypeName"
  | "tcpBits"
  | "tcpTags"
  | "tcpOptionTags"
  | "asLabel"
  | "directionName"
  | "endReasonName"
  | "forwardingStatusName"
  | "forwardingReasonName"
  | "natEventName"
  | "natTypeName"
  | "natQuotaEventName"
  | "natThresholdEventName"
  | "firewallEventName"
  | "firewallExtendedEventName"
  | "biflowDirectionName"
  | "mplsLabelTypeName"
  | "icmpType"
  | "icmpCode"
  | "applicationId"
  | "routeDistinguisher"
  | "l2"
  | "l3"
  | "l4";

/** One element under one of our names. */
export type FieldName = readonly [element: number, name: string, conversion: Conversion];

/**
 * Our names for IANA's elements (and for those of NetFlow v9 alone, from 32768 on). An element that is not here comes
 * out as `flow.ie.<IANA name>`.
 *
 * Where several elements of a template claim one name, the order of this table is the order of preference. An element
 * with several names gives the first to its value; the others are derived from it.
 */
export const fieldNames: readonly FieldName[] = [
  [8, "flow.src.ip.addr", "value"],
  [27, "flow.src.ip.addr", "value"],
  [12, "flow.dst.ip.addr", "value"],
  [28, "flow.dst.ip.addr", "value"],
  [7, "flow.src.l4.port.id", "value"],
  [182, "flow.src.l4.port.id", "value"],
  [180, "flow.src.l4.port.id", "value"],
  [11, "flow.dst.l4.port.id", "value"],
  [183, "flow.dst.l4.port.id", "value"],
  [181, "flow.dst.l4.port.id", "value"],
  [56, "flow.src.mac.addr", "value"],
  [81, "flow.src.mac.addr", "value"],
  [80, "flow.dst.mac.addr", "value"],
  [57, "flow.dst.mac.addr", "value"],
  [56, "flow.in.src.mac.addr", "value"],
  [80, "flow.in.dst.mac.addr", "value"],
  [81, "flow.out.src.mac.addr", "value"],
  [57, "flow.out.dst.mac.addr", "value"],
  [16, "flow.src.as.asn", "value"],
  [17, "flow.dst.as.asn", "value"],
  [129, "hop.src.as.asn", "value"],
  [129, "hop.src.as.label", "asLabel"],
  [128, "hop.dst.as.asn", "value"],
  [128, "hop.dst.as.label", "asLabel"],
  [58, "flow.src.vlan.tag.id", "value"],
  [243, "flow.src.vlan.tag.id", "value"],
  [59, "flow.dst.vlan.tag.id", "value"],
  [254, "flow.dst.vlan.tag.id", "value"],
  [9, "flow.src.ip.prefix.length", "value"],
  [29, "flow.src.ip.prefix.length", "value"],
  [13, "flow.dst.ip.prefix.length", "value"],
  [30, "flow.dst.ip.prefix.length", "value"],
  [44, "flow.src.ip.prefix.addr", "value"],
  [170, "flow.src.ip.prefix.addr", "value"],
  [45, "flow.dst.ip.prefix.addr", "value"],
  [169, "flow.dst.ip.prefix.addr", "value"],
  [15, "flow.next_hop.ip.addr", "value"],
  [62, "flow.next_hop.ip.addr", "value"],
  [18, "flow.bgp.next_hop.ip.addr", "value"],
  [63, "flow.bgp.next_hop.ip.addr", "value"],

  [225, "flow.src.nat.ip.addr", "value"],
  [281, "flow.src.nat.ip.addr", "value"],
  [40_001, "flow.src.nat.ip.addr", "value"],
  [226, "flow.dst.nat.ip.addr", "value"],
  [282, "flow.dst.nat.ip.addr", "value"],
  [40_002, "flow.dst.nat.ip.addr", "value"],
  [227, "flow.src.nat.l4.port.id", "value"],
  [40_003, "flow.src.nat.l4.port.id", "value"],
  [228, "flow.dst.nat.l4.port.id", "value"],
  [40_004, "flow.dst.nat.l4.port.id", "value"],
  [230, "flow.nat.event.id", "value"],
  [230, "flow.nat.event.name", "natEventName"],
  [297, "flow.nat.type.id", "value"],
  [297, "flow.nat.type.name", "natTypeName"],
  [466, "flow.nat.quota_event.id", "value"],
  [466, "flow.nat.quota_event.name", "natQuotaEventName"],
  [467, "flow.nat.threshold_event.id", "value"],
  [467, "flow.nat.threshold_event.name", "natThresholdEventName"],
  [233, "flow.firewall.event.id", "value"],
  [40_005, "flow.firewall.event.id", "value"],
  [233, "flow.firewall.event.name", "firewallEventName"],
  [40_005, "flow.firewall.event.name", "firewallEventName"],
  [33_002, "flow.firewall.extended_event.id", "value"],
  [33_002, "flow.firewall.extended_event.name", "firewallExtendedEventName"],
  [33_000, "flow.in.acl.id", "value"],
  [33_001, "flow.out.acl.id", "value"],

  [10, "flow.in.netif.index", "value"],
  [252, "flow.in.netif.index", "value"],
  [14, "flow.out.netif.index", "value"],
  [253, "flow.out.netif.index", "value"],
  [234, "flow.in.vrf.id", "value"],
  [235, "flow.out.vrf.id", "value"],
  [61, "flow.direction.name", "directionName"],

  // Counts since the last record of the flow, then counts since its beginning: adding these up would count twice.
  [1, "flow.bytes", "value"],
  [23, "flow.bytes", "value"],
  [231, "flow.bytes", "value"],
  [352, "flow.bytes", "value"],
  [85, "flow.bytes", "value"],
  [171, "flow.bytes", "value"],
  [353, "flow.bytes", "value"],
  // What these are the length of: frames, IP packets, or what is in TCP and UDP.
  [1, "flow.bytes_layer", "l3"],
  [23, "flow.bytes_layer", "l3"],
  [231, "flow.bytes_layer", "l4"],
  [352, "flow.bytes_layer", "l2"],
  [85, "flow.bytes_layer", "l3"],
  [171, "flow.bytes_layer", "l3"],
  [353, "flow.bytes_layer", "l2"],
  [2, "flow.packets", "value"],
  [24, "flow.packets", "value"],
  [298, "flow.packets", "value"],
  [86, "flow.packets", "value"],
  [172, "flow.packets", "value"],
  [232, "flow.reverse.bytes", "value"],
  [232, "flow.reverse.bytes_layer", "l4"],
  [299, "flow.reverse.packets", "value"],

  [156, "flow.start.timestamp", "value"],
  [154, "flow.start.timestamp", "value"],
  [152, "flow.start.timestamp", "value"],
  [158, "flow.start.timestamp", "microsecondsBefore"],
  [150, "flow.start.timestamp", "value"],
  [22, "flow.start.timestamp", "uptime"],
  [157, "flow.end.timestamp", "value"],
  [155, "flow.end.timestamp", "value"],
  [153, "flow.end.timestamp", "value"],
  [159, "flow.end.timestamp", "microsecondsBefore"],
  [151, "flow.end.timestamp", "value"],
  [21, "flow.end.timestamp", "uptime"],
  [136, "flow.end.reason.id", "value"],
  [136, "flow.end.reason.name", "endReasonName"],
  [89, "flow.forwarding.status.id", "value"],
  [89, "flow.forwarding.status.name", "forwardingStatusName"],
  [89, "flow.forwarding.reason.name", "forwardingReasonName"],
  [239, "flow.biflow.direction.id", "value"],
  [239, "flow.biflow.direction.name", "biflowDirectionName"],

  [60, "ip.version.ver", "value"],
  [195, "ip.dscp.id", "value"],
  [5, "ip.dscp.id", "dscp"],
  [5, "ip.ecn.id", "ecn"],
  [4, "l4.proto.id", "value"],
  [4, "l4.proto.name", "protocolName"],
  [6, "tcp.flags.bits", "tcpBits"],
  [6, "tcp.flags.tags", "tcpTags"],
  [209, "tcp.options.bits", "value"],
  [209, "tcp.options.tags", "tcpOptionTags"],
  [176, "icmp.type.id", "value"],
  [178, "icmp.type.id", "value"],
  [32, "icmp.type.id", "icmpType"],
  [139, "icmp.type.id", "icmpType"],
  [177, "icmp.code.id", "value"],
  [179, "icmp.code.id", "value"],
  [32, "icmp.code.id", "icmpCode"],
  [139, "icmp.code.id", "icmpCode"],

  [46, "mpls.top_label.type.id", "value"],
  [46, "mpls.top_label.type.name", "mplsLabelTypeName"],

  [90, "mpls.vpn.rd", "routeDistinguisher"],

  [95, "app.id", "applicationId"],
  [96, "app.name", "value"],
  [56_701, "app.name", "value"],
  [371, "flow.user.name", "value"],
  [40_000, "flow.user.name", "value"],
  [56_702, "flow.user.name", "value"],
  [38, "flow.export.engine.type", "value"],
  [39, "flow.export.engine.id", "value"],
];
