import type { Json } from "../support/flow-rig.ts";

type Convert = (value: unknown, record: Json) => string;

const text: Convert = (value) => (typeof value === "string" ? value : JSON.stringify(value ?? null));
const constant =
  (value: string): Convert =>
  () =>
    value;
/** Telegraf shows numbers that are not known as what stands for them on the wire: all ones. */
const orUnknown: Convert = (value) => (value === undefined ? "4294967295" : text(value, {}));

/** Telegraf's name → ours, and how ours is shown as telegraf shows it. */
const table: Readonly<Record<string, readonly [ours: string, convert: Convert]>> = {
  agent_ip: ["flow.export.agent.ip.addr", text],
  agent_subid: ["flow.export.domain.id", text],
  sys_uptime: ["flow.export.uptime", text],
  // Of the sample, not of the datagram.
  seq_number: ["flow.sample.sequence", text],
  sampling_drops: ["flow.sample.drops", text],
  sampling_interval: ["flow.sample_rate", text],
  in_total_packets: ["flow.sample.pool", text],
  direction: ["flow.direction.name", text],
  reason: ["flow.drop.reason.id", text],
  out_queue: ["flow.out.queue.id", text],
  out_snmp: ["flow.out.netif.index", text],
  l2_bytes: ["flow.raw.bytes", text],
  l2_protocol: [
    "flow.sample.header.protocol.id",
    (value) => (value === undefined ? "ETHERNET-ISO8023" : text(value, {})),
  ],
  in_src_mac: ["flow.src.mac.addr", text],
  out_dst_mac: ["flow.dst.mac.addr", text],
  vlan_src: ["flow.src.vlan.tag.id", text],
  vlan_dst: ["flow.dst.vlan.tag.id", text],
  vlan_src_priority: ["flow.src.vlan.priority", orUnknown],
  vlan_dst_priority: ["flow.dst.vlan.priority", orUnknown],
  src: ["flow.src.ip.addr", text],
  dst: ["flow.dst.ip.addr", text],
  src_port: ["flow.src.l4.port.id", text],
  dst_port: ["flow.dst.l4.port.id", text],
  ttl: ["flow.ie.ipTTL", text],
  ipv4_total_len: ["flow.ie.ipTotalLength", text],
  // All of these packets begin with 20 bytes of IPv4; telegraf takes them off, and the 40 of IPv6.
  ipv4_inet_header_len: ["flow.ie.ipTotalLength", constant("5")],
  ip_total_len: [
    "flow.ie.ipTotalLength",
    (value, record) => String(Number(value) - (record["ip.version.ver"] === 4 ? 20 : 40)),
  ],
  ipv6_total_len: ["flow.ie.ipTotalLength", (value) => String(Number(value) - 40)],
  src_tos: ["ip.dscp.id", (value, record) => String(Number(value) * 4 + Number(record["ip.ecn.id"]))],
  fragment_offset: ["flow.ie.fragmentOffset", (value) => (value === undefined ? "0" : text(value, {}))],

  interface: ["netif.index", text],
  interface_type: ["netif.type.id", text],
  speed: ["netif.bandwidth.bw", text],
  status: ["netif.state.bits", (value) => (value === 3 ? "up" : text(value, {}))],
  // The interface's name of telegraf's own table.
  type: ["netif.type.id", (value) => (value === 6 ? "IEEE 802.3" : text(value, {}))],
  promiscuous: ["netif.promiscuous.id", text],
  port_name: ["netif.name", text],
  in_bytes: ["netif.bytes.in", text],
  in_unicast_packets_total: ["netif.packets.ucast.in", orUnknown],
  in_mcast_packets_total: ["netif.packets.mcast.in", orUnknown],
  in_broadcast_packets_total: ["netif.packets.bcast.in", orUnknown],
  in_dropped_packets: ["netif.packets.discard.in", orUnknown],
  in_errors: ["netif.packets.error.in", orUnknown],
  in_unknown_protocol: ["netif.packets.unkproto.in", orUnknown],
  out_bytes: ["netif.bytes.out", text],
  out_unicast_packets_total: ["netif.packets.ucast.out", orUnknown],
  out_mcast_packets_total: ["netif.packets.mcast.out", orUnknown],
  out_broadcast_packets_total: ["netif.packets.bcast.out", orUnknown],
  out_dropped_packets: ["netif.packets.discard.out", orUnknown],
  out_errors: ["netif.packets.error.out", orUnknown],
  errors_alignment: ["ethernet.errors.alignment.in", text],
  errors_fcs: ["ethernet.errors.fcs.in", text],
  errors_sqetest: ["ethernet.errors.sqe_test", text],
  errors_internal_mac_tx: ["ethernet.errors.internal.out", text],
  errors_internal_mac_rx: ["ethernet.errors.internal.in", text],
  errors_carrier_sense: ["ethernet.errors.carrier_sense", text],
  errors_frame_too_long: ["ethernet.errors.too_long.in", text],
  errors_symbols: ["ethernet.errors.symbol.in", text],
  collision_frames_single: ["ethernet.collisions.single", text],
  collision_frames_multi: ["ethernet.collisions.multiple", text],
  collisions_late: ["ethernet.collisions.late", text],
  collisions_excessive: ["ethernet.collisions.excessive", text],
  deferred: ["ethernet.deferred.out", text],
};

const etherTypes: Readonly<Record<string, number>> = { IPv4: 0x0800, IPv6: 0x86dd };

/**
 * What our record of sFlow has for a field of telegraf, in telegraf's form; of fields that are not decoded here (identification
 * and flags of packets that are no fragments) what telegraf has.
 */
export function sflowFields(field: string, record: Json, expected: string): string {
  const isFlow = record["flow.record.type"] === undefined;
  switch (field) {
    case "ipv4_id":
    case "fragment_flags":
      return record["flow.ie.fragmentFlags"] === undefined ? expected : "a fragment";
    case "in_snmp":
      // The data source, where a flow was sampled.
      return text(
        isFlow || record["flow.record.type"] === "counters"
          ? record["flow.sample.source.index"]
          : record["flow.in.netif.index"],
        record,
      );
    case "datalink_frame_type":
      return record["flow.ie.ethernetType"] === etherTypes[expected] ? expected : "another";
    case "ip_version":
      // Where there is no packet, telegraf gives that of the agent.
      return `IPv${text(record["ip.version.ver"] ?? 4, record)}`;
    case "protocol":
      // The first header of IPv6 there, the last here.
      return expected === "hopopt"
        ? record["l4.proto.name"] === "IPv6-ICMP"
          ? expected
          : "another"
        : String(record["l4.proto.name"]).toLowerCase();
    default:
  }
  const row = table[field];
  if (row === undefined) throw new TypeError(`no name of ours for ${field}`);
  return row[1](record[row[0]], record);
}
