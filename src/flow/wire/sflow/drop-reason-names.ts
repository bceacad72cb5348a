/** Why a packet was discarded ("sFlow Version 5", the codes of ICMP; "sFlow Dropped Packet Notification Structures"). */
const icmpReasons = [
  "net_unreachable",
  "host_unreachable",
  "protocol_unreachable",
  "port_unreachable",
  "frag_needed",
  "src_route_failed",
  "dst_net_unknown",
  "dst_host_unknown",
  "src_host_isolated",
  "dst_net_prohibited",
  "dst_host_prohibited",
  "dst_net_tos_unreachable",
  "dst_host_tos_unreachable",
  "comm_admin_prohibited",
  "host_precedence_violation",
  "precedence_cutoff",
];

const firstOther = 256;
const otherReasons = [
  "unknown",
  "ttl_exceeded",
  "acl",
  "no_buffer_space",
  "red",
  "traffic_shaping",
  "pkt_too_big",
  "src_mac_is_multicast",
  "vlan_tag_mismatch",
  "ingress_vlan_filter",
  "ingress_spanning_tree_filter",
  "port_list_is_empty",
  "port_loopback_filter",
  "blackhole_route",
  "non_ip",
  "uc_dip_over_mc_dmac",
  "dip_is_loopback_address",
  "sip_is_mc",
  "sip_is_loopback_address",
  "ip_header_corrupted",
  "ipv4_sip_is_limited_bc",
  "ipv6_mc_dip_reserved_scope",
  "ipv6_mc_dip_interface_local_scope",
  "unresolved_neigh",
  "mc_reverse_path_forwarding",
  "non_routable_packet",
  "decap_error",
  "overlay_smac_is_mc",
  "unknown_l2",
  "unknown_l3",
  "unknown_l3_exception",
  "unknown_buffer",
  "unknown_tunnel",
  "unknown_l4",
];

/** Codes from here on have no name. */
export const dropReasonCount = firstOther + otherReasons.length;

/** Undefined for a code without a name here. */
export function dropReasonName(code: number): string | undefined {
  return code < firstOther ? icmpReasons[code] : otherReasons[code - firstOther];
}
