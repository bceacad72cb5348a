import type { Json } from "../support/flow-rig.ts";

export interface TelegrafLine {
  readonly isOptions: boolean;
  /** Values as text, without the mark of an unsigned integer. */
  readonly fields: Readonly<Record<string, string>>;
}

/** One record in InfluxDB's line protocol: measurement and tags, fields, sometimes a time. */
export function parseTelegrafLine(line: string): TelegrafLine {
  const fields = [...line.slice(line.indexOf(" ")).matchAll(/([a-z0-9_]+)=(?:"([^"]*)"|(\d+)u)/g)];
  return {
    isOptions: line.startsWith("netflow_options,"),
    fields: Object.fromEntries(fields.map(([, name = "", text, number]) => [name, text ?? number ?? ""])),
  };
}

type Convert = (value: unknown, record: Json) => string;

const text: Convert = (value) => (typeof value === "string" ? value : JSON.stringify(value ?? null));
const milliseconds: Convert = (value) => String(Date.parse(String(value)));
const seconds: Convert = (value) => String(Date.parse(String(value)) / 1000);
/** Bytes in hex as telegraf shows small numbers. */
const hexOf =
  (bytes: number): Convert =>
  (value) =>
    `0x${Number(value)
      .toString(16)
      .padStart(2 * bytes, "0")}`;
const number: Convert = (value) => String(value);
/** Telegraf shows 0 or the empty text where a field has no bytes; here it is absent then. */
const or =
  (empty: string, convert: Convert): Convert =>
  (value, record) =>
    value === undefined ? empty : convert(value, record);

/** Uptimes of a NetFlow v5 record, reckoned back from the times that they became. */
const uptime: Convert = (value, record) =>
  String(
    Number(record["flow.export.uptime"]) -
      (Math.floor(Date.parse(String(record["flow.export.timestamp"]))) - Date.parse(String(value))),
  );

const tcpFlags: Convert = (value) => {
  const bits = Number(value);
  return Array.from("CEUAPRSF", (letter, i) => (bits & (0x80 >> i) ? letter : ".")).join("");
};

/** Telegraf's name → ours, and how ours is shown as telegraf shows it. */
const table: Readonly<Record<string, readonly [ours: string, convert: Convert]>> = {
  protocol: ["l4.proto.name", (value) => String(value).toLowerCase()],
  src: ["flow.src.ip.addr", text],
  dst: ["flow.dst.ip.addr", text],
  src_port: ["flow.src.l4.port.id", text],
  dst_port: ["flow.dst.l4.port.id", text],
  src_mask: ["flow.src.ip.prefix.length", text],
  dst_mask: ["flow.dst.ip.prefix.length", text],
  next_hop: ["flow.next_hop.ip.addr", text],
  in_bytes: ["flow.bytes", text],
  in_packets: ["flow.packets", text],
  in_total_bytes: ["flow.bytes", text],
  in_total_packets: ["flow.packets", text],
  in_snmp: ["flow.in.netif.index", text],
  out_snmp: ["flow.out.netif.index", text],
  in_src_mac: ["flow.src.mac.addr", text],
  out_dst_mac: ["flow.dst.mac.addr", text],
  vlan_src: ["flow.src.vlan.tag.id", text],
  bgp_src_as: ["flow.src.as.asn", text],
  bgp_dst_as: ["flow.dst.as.asn", text],
  direction: ["flow.direction.name", text],
  ip_version: ["ip.version.ver", (value) => `IPv${String(value)}`],
  icmp_type: ["icmp.type.id", text],
  icmp_code: ["icmp.code.id", text],
  tcp_flags: ["tcp.flags.bits", tcpFlags],
  flow_end_reason: ["flow.end.reason.name", text],
  flow_start_ms: ["flow.start.timestamp", milliseconds],
  flow_end_ms: ["flow.end.timestamp", milliseconds],
  flow_start: ["flow.ie.flowStartSeconds", or("0", seconds)],
  flow_end: ["flow.ie.flowEndSeconds", or("0", seconds)],
  dst_tos: ["flow.ie.postIpClassOfService", hexOf(1)],
  fwd_status: ["flow.forwarding.status.name", (value) => String(value).toLowerCase()],
  fwd_reason: ["flow.forwarding.reason.name", (value) => (typeof value === "string" ? value.toLowerCase() : "unknown")],
  sys_uptime: ["flow.export.uptime", text],
  seq_number: ["flow.export.sequence", text],
  sampling_interval: ["flow.ie.samplingInterval", or("0", text)],
  engine_type: ["flow.export.engine.type", text],
  engine_id: ["flow.export.engine.id", hexOf(1)],

  dropped_packets_total: ["flow.ie.droppedPacketTotalCount", text],
  ignored_packet_total: ["flow.ie.ignoredPacketTotalCount", text],
  notsent_packet_total: ["flow.ie.notSentPacketTotalCount", text],
  total_flows_exported: ["flow.ie.exportedFlowRecordTotalCount", text],
  event_time: ["flow.ie.observationTimeSeconds", seconds],
  system_init_ms: ["flow.ie.systemInitTimeMilliseconds", milliseconds],
  exporter: ["flow.ie.exporterIPv4Address", text],
  exporting_pid: ["flow.ie.exportingProcessId", text],
  observation_domain_id: ["flow.ie.observationDomainId", text],
  interface: ["flow.ie.interfaceName", text],
  interface_desc: ["flow.ie.interfaceDescription", text],

  client_nw_latency_ms: ["flow.ie.35632.123", number],
  server_nw_latency_ms: ["flow.ie.35632.124", number],
  app_latency_ms: ["flow.ie.35632.125", number],
  retransmitted_in_pkts: ["flow.ie.35632.109", number],
  retransmitted_out_pkts: ["flow.ie.35632.110", number],
  retransmitted_in_bytes: ["flow.ie.35632.127", number],
  retransmitted_out_bytes: ["flow.ie.35632.128", number],
  l7_proto: ["flow.ie.35632.118", number],
  ssl_server_name: ["flow.ie.35632.188", or("", text)],
  ja3c_hash: ["flow.ie.35632.489", or("", text)],
  ja3s_hash: ["flow.ie.35632.490", or("", text)],
  ssl_cipher: ["flow.ie.35632.493", number],
  ssl_unsafe_cipher: ["flow.ie.35632.494", number],
  ssl_version: ["flow.ie.35632.495", number],
};

/** Elements of the reverse direction, which telegraf leaves as bytes. */
const reverse: Readonly<Record<string, readonly [ours: string, convert: Convert]>> = {
  5: ["flow.reverse.ip.dscp.id", (value, record) => hexOf(1)(tos(value, record["flow.reverse.ip.ecn.id"]), record)],
  58: ["flow.reverse.src.vlan.tag.id", hexOf(2)],
  85: ["flow.reverse.bytes", hexOf(4)],
  86: ["flow.reverse.packets", hexOf(4)],
};

const enterpriseBit = 0x8000;
/** CERT marks the reverse direction by a bit of its own. */
const certReverse = 0x4000;
/** Bytes of those of CERT's elements that do not have four; telegraf leaves all as bytes. */
const certLengths: Readonly<Record<number, number>> = { 33: 2, 40: 2, [40 + certReverse]: 2, 551: 2, 552: 2 };

/**
 * What our record has for a field of telegraf, in telegraf's form.
 *
 * @param flows how many flows the datagrams of the case held.
 */
export function telegrafFields(field: string, record: Json, flows: number): string {
  if (field === "src_tos") return hexOf(1)(tos(record["ip.dscp.id"], record["ip.ecn.id"]), record);
  // Padding is not emitted.
  if (field === "padding") return "0x000000000000";
  if (field === "flows") return text(record["flow.ie.deltaFlowCount"] ?? flows, record);
  if (field === "first_switched" || field === "last_switched") return switched(field, record);
  // Telegraf takes the scope "system" of NetFlow v9 for the element of that number.
  if (field === "in_bytes" && record["flow.scope.system"] !== undefined)
    return text(record["flow.scope.system"], record);

  const unknown = /^type_(\d+)_(rev_)?(\d+)$/.exec(field);
  if (unknown !== null) {
    const [, pen = "", isReverse, id = ""] = unknown;
    const element = (Number(id) % enterpriseBit) + (isReverse === undefined ? 0 : certReverse);
    const length =
      pen === "6871" && typeof record[`flow.ie.6871.${element}`] === "number" ? (certLengths[element] ?? 4) : undefined;
    const [ours, convert] =
      pen === "29305"
        ? (reverse[id] ?? ["", text])
        : [`flow.ie.${pen}.${element}`, length === undefined ? text : hexOf(length)];
    return convert(record[ours], record);
  }
  const row = table[field];
  if (row === undefined) throw new TypeError(`no name of ours for ${field}`);
  return row[1](record[row[0]], record);
}

function tos(dscp: unknown, ecn: unknown): number {
  return Number(dscp) * 4 + Number(ecn);
}

function switched(field: string, record: Json): string {
  const [raw, time] =
    field === "first_switched"
      ? ["flow.ie.flowStartSysUpTime", "flow.start.timestamp"]
      : ["flow.ie.flowEndSysUpTime", "flow.end.timestamp"];
  return record[raw] === undefined ? uptime(record[time], record) : text(record[raw], record);
}
