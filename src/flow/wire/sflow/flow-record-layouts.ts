import type { FlowType, XdrLayout } from "./xdr-reader.ts";

/** Formats of flow records that are more than a row of fields, and that of the switch's VLANs. */
export const flowFormats = { header: 1, ethernet: 2, ipv4: 3, ipv6: 4, switch: 1001, gateway: 1003 } as const;

/** Flow records of sFlow.org by format: "sFlow Version 5", and the extensions for tunnels, drops, transit delay, sockets, applications, HTTP. */
export const flowRecordLayouts: ReadonlyMap<number, XdrLayout<FlowType>> = new Map<number, XdrLayout<FlowType>>([
  [
    flowFormats.switch,
    [
      ["flow.src.vlan.tag.id", "count32"],
      ["flow.src.vlan.priority", "count32"],
      ["flow.dst.vlan.tag.id", "count32"],
      ["flow.dst.vlan.priority", "count32"],
    ],
  ],
  [
    1002,
    [
      ["flow.next_hop.ip.addr", "address"],
      ["flow.src.ip.prefix.length", "uint32"],
      ["flow.dst.ip.prefix.length", "uint32"],
    ],
  ],
  [
    1004,
    [
      ["flow.src.user.charset.id", "uint32"],
      ["flow.src.user.name", "text"],
      ["flow.dst.user.charset.id", "uint32"],
      ["flow.dst.user.name", "text"],
    ],
  ],
  [
    1005,
    [
      ["flow.url.direction.id", "uint32"],
      ["flow.url.text", "text"],
      ["flow.url.host", "text"],
    ],
  ],
  [
    1006,
    [
      ["flow.mpls.next_hop.ip.addr", "address"],
      ["flow.mpls.in.labels", "labels"],
      ["flow.mpls.out.labels", "labels"],
    ],
  ],
  [
    1007,
    [
      ["flow.src.nat.ip.addr", "address"],
      ["flow.dst.nat.ip.addr", "address"],
    ],
  ],
  [
    1008,
    [
      ["flow.mpls.tunnel.name", "text"],
      ["flow.mpls.tunnel.id", "uint32"],
      ["flow.mpls.tunnel.cos", "uint32"],
    ],
  ],
  [
    1009,
    [
      ["flow.mpls.vc.name", "text"],
      ["flow.mpls.vc.id", "uint32"],
      ["flow.mpls.vc.cos", "uint32"],
    ],
  ],
  [
    1010,
    [
      ["flow.mpls.ftn.descr", "text"],
      ["flow.mpls.ftn.mask", "uint32"],
    ],
  ],
  [1011, [["flow.mpls.fec.prefix.length", "uint32"]]],
  [1012, [["flow.vlan_tunnel.tag.ids", "tags"]]],
  [
    1020,
    [
      ["flow.src.nat.l4.port.id", "uint32"],
      ["flow.dst.nat.l4.port.id", "uint32"],
    ],
  ],
  [1021, l2Tunnel("out")],
  [1022, l2Tunnel("in")],
  [1023, ipTunnel("out", "ipv4")],
  [1024, ipTunnel("in", "ipv4")],
  [1025, ipTunnel("out", "ipv6")],
  [1026, ipTunnel("in", "ipv6")],
  [1027, [["flow.out.decapsulate.offset", "uint32"]]],
  [1028, [["flow.in.decapsulate.offset", "uint32"]]],
  [1029, [["flow.out.vni.id", "uint32"]]],
  [1030, [["flow.in.vni.id", "uint32"]]],
  [1034, [["flow.in.vlan.tag.ids", "tags"]]],
  [1035, [["flow.out.vlan.tag.ids", "tags"]]],
  [1036, [["flow.out.queue.id", "uint32"]]],
  [
    1037,
    [
      ["flow.acl.id", "uint32"],
      ["flow.acl.name", "text"],
      ["flow.acl.direction.id", "uint32"],
    ],
  ],
  [1038, [["flow.drop.function.name", "text"]]],
  [1039, [["flow.transit.delay.nanoseconds", "uint32"]]],
  [1040, [["flow.out.queue.depth.bytes", "uint32"]]],
  [
    1041,
    [
      ["flow.drop.trap.group", "text"],
      ["flow.drop.trap.name", "text"],
    ],
  ],
  [1042, [["flow.drop.linux.reason.name", "text"]]],
  [1043, [["flow.sample.time.nanoseconds", "uint64"]]],
  [2100, socket("flow.socket", "ipv4")],
  [2101, socket("flow.socket", "ipv6")],
  [2102, socket("flow.proxy.socket", "ipv4")],
  [2103, socket("flow.proxy.socket", "ipv6")],
  [
    2202,
    [
      ...context("flow.application"),
      ["flow.application.status.descr", "text"],
      ["flow.application.request.bytes", "uint64"],
      ["flow.application.response.bytes", "uint64"],
      ["flow.application.duration.microseconds", "uint32"],
      ["flow.application.status.id", "uint32"],
    ],
  ],
  [2203, context("flow.application.parent")],
  [2204, [["flow.application.initiator", "text"]]],
  [2205, [["flow.application.target", "text"]]],
  [
    2206,
    [
      ["flow.http.method.id", "uint32"],
      ["flow.http.version.id", "uint32"],
      ["flow.url.text", "text"],
      ["flow.url.host", "text"],
      ["flow.http.referer", "text"],
      ["flow.http.user_agent", "text"],
      ["flow.http.x_forwarded_for", "text"],
      ["flow.user.name", "text"],
      ["flow.http.mime_type", "text"],
      ["flow.http.request.bytes", "uint64"],
      ["flow.http.response.bytes", "uint64"],
      ["flow.http.duration.microseconds", "uint32"],
      ["flow.http.status.id", "uint32"],
    ],
  ],
  [
    2207,
    [
      ["flow.proxy.url.text", "text"],
      ["flow.proxy.url.host", "text"],
    ],
  ],
  [
    2209,
    [
      ["flow.tcp_info.direction.id", "uint32"],
      ["flow.tcp_info.mss.send", "uint32"],
      ["flow.tcp_info.mss.receive", "uint32"],
      ["flow.tcp_info.unacknowledged", "uint32"],
      ["flow.tcp_info.lost", "uint32"],
      ["flow.tcp_info.retransmitted", "uint32"],
      ["flow.tcp_info.path_mtu", "uint32"],
      ["flow.tcp_info.rtt.microseconds", "uint32"],
      ["flow.tcp_info.rtt_variance.microseconds", "uint32"],
      ["flow.tcp_info.congestion_window", "uint32"],
      ["flow.tcp_info.reordering", "uint32"],
      ["flow.tcp_info.rtt_min.microseconds", "uint32"],
    ],
  ],
  [
    1014,
    [
      ...wireless("rx"),
      ["flow.wlan.rx.channel.id", "uint32"],
      ["flow.wlan.rx.speed.bw", "uint64"],
      ["flow.wlan.rx.rsni", "uint32"],
      ["flow.wlan.rx.rcpi", "uint32"],
      ["flow.wlan.rx.duration.microseconds", "uint32"],
    ],
  ],
  [
    1015,
    [
      ...wireless("tx"),
      ["flow.wlan.tx.transmissions", "uint32"],
      ["flow.wlan.tx.duration.microseconds", "uint32"],
      ["flow.wlan.tx.retransmit_duration.microseconds", "uint32"],
      ["flow.wlan.tx.channel.id", "uint32"],
      ["flow.wlan.tx.speed.bw", "uint64"],
      ["flow.wlan.tx.power.milliwatts", "uint32"],
    ],
  ],
]);

/** The Ethernet header that a tunnel puts on. */
function l2Tunnel(side: "in" | "out"): XdrLayout<FlowType> {
  return [
    [`flow.${side}.tunnel.frame_length`, "uint32"],
    [`flow.${side}.tunnel.src.mac.addr`, "mac"],
    [`flow.${side}.tunnel.dst.mac.addr`, "mac"],
    [`flow.${side}.tunnel.ethernet_type`, "uint32"],
  ];
}

/** The network of a packet that came or went by radio ("sFlow 802.11 Structures"). */
function wireless(side: "rx" | "tx"): XdrLayout<FlowType> {
  return [
    [`flow.wlan.${side}.ssid`, "text"],
    [`flow.wlan.${side}.bssid`, "mac"],
    [`flow.wlan.${side}.version.id`, "uint32"],
  ];
}

/** The IP header that a tunnel puts on. */
function ipTunnel(side: "in" | "out", family: "ipv4" | "ipv6"): XdrLayout<FlowType> {
  return [
    [`flow.${side}.tunnel.length`, "uint32"],
    [`flow.${side}.tunnel.l4.proto.id`, "uint32"],
    [`flow.${side}.tunnel.src.ip.addr`, family],
    [`flow.${side}.tunnel.dst.ip.addr`, family],
    [`flow.${side}.tunnel.src.l4.port.id`, "uint32"],
    [`flow.${side}.tunnel.dst.l4.port.id`, "uint32"],
    [`flow.${side}.tunnel.tcp.flags.bits`, "uint32"],
    [`flow.${side}.tunnel.traffic_class`, "uint32"],
  ];
}

/** The socket at which a request came in, or the one to the back end of a proxy. */
function socket(group: "flow.socket" | "flow.proxy.socket", family: "ipv4" | "ipv6"): XdrLayout<FlowType> {
  return [
    [`${group}.l4.proto.id`, "uint32"],
    [`${group}.local.ip.addr`, family],
    [`${group}.remote.ip.addr`, family],
    [`${group}.local.l4.port.id`, "uint32"],
    [`${group}.remote.l4.port.id`, "uint32"],
  ];
}

/** What an application does ("sFlow Application Structures"). */
function context(group: "flow.application" | "flow.application.parent"): XdrLayout<FlowType> {
  return [
    [`${group}.name`, "text"],
    [`${group}.operation`, "text"],
    [`${group}.attributes`, "text"],
  ];
}
