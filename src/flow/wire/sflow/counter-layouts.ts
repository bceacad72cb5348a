import type { CounterType, XdrLayout } from "./xdr-reader.ts";

/**
 * Fields of a structure written short: names below a group with a blank between them, each with its type behind a colon;
 * without one it is a 32-bit counter.
 */
function row(group: string, names: string): XdrLayout<CounterType> {
  return names.split(/\s+/).map((entry) => {
    const [name = "", type = "count32"] = entry.split(":");
    return [`${group}.${name}`, type as CounterType] as const;
  });
}

/** An enterprise number. */
const nvidia = 5703;

/**
 * Counter records of sFlow.org by format: "sFlow Version 5", and those for 802.11, LAG, hosts, virtual machines, Java,
 * HTTP, applications, Memcached, Open vSwitch, energy; that of NVIDIA for its processors. Names are those that SNMP's records have for the same, where there are.
 */
export const counterLayouts: ReadonlyMap<number, XdrLayout<CounterType>> = new Map<number, XdrLayout<CounterType>>([
  [
    1,
    row(
      "netif",
      `index:uint32 type.id:uint32 bandwidth.bw:count64 direction.id:uint32 state.bits:uint32 bytes.in:count64 packets.ucast.in
      packets.mcast.in packets.bcast.in packets.discard.in packets.error.in packets.unkproto.in bytes.out:count64
      packets.ucast.out packets.mcast.out packets.bcast.out packets.discard.out packets.error.out promiscuous.id`,
    ),
  ],
  [
    2,
    row(
      "ethernet",
      `errors.alignment.in errors.fcs.in collisions.single collisions.multiple errors.sqe_test deferred.out collisions.late
      collisions.excessive errors.internal.out errors.carrier_sense errors.too_long.in errors.internal.in errors.symbol.in`,
    ),
  ],
  [
    3,
    row(
      "token_ring",
      `errors.line errors.burst errors.ac errors.abort_trans errors.internal errors.lost_frame receive_congestions
      errors.frame_copied errors.token errors.soft errors.hard signal_loss transmit_beacons recoveries lobe_wires removes
      singles errors.frequency`,
    ),
  ],
  [
    4,
    row(
      "vg",
      `frames.high.in bytes.high.in:count64 frames.normal.in bytes.normal.in:count64 errors.ipm.in errors.oversize.in
      errors.data.in frames.null_addressed.in frames.high.out bytes.high.out:count64 trainings hc.bytes.high.in:count64
      hc.bytes.normal.in:count64 hc.bytes.high.out:count64`,
    ),
  ],
  [5, row("vlan", "id:uint32 bytes:count64 packets.ucast packets.mcast packets.bcast packets.discard")],
  [
    6,
    row(
      "wlan",
      `fragments.out frames.mcast.out failed retries retries_multiple frames.duplicate rts.success rts.failure ack_failure
      fragments.in frames.mcast.in errors.fcs frames.out wep_undecryptable qos.fragments_discarded stations
      qos.cf_polls.received qos.cf_polls.unused qos.cf_polls.unusable qos.cf_polls.lost`,
    ),
  ],
  [
    7,
    row(
      "lag",
      `actor.mac:mac partner.mac:mac aggregator.id:uint32 port_state:bytes4 lacp.in marker.in marker_response.in unknown.in
      illegal.in lacp.out marker.out marker_response.out`,
    ),
  ],
  [
    1001,
    row(
      "processor",
      "util_5s.pct:percent util_1m.pct:percent util_5m.pct:percent mem.total.bytes:count64 mem.free.bytes:count64",
    ),
  ],
  [1002, row("radio", "elapsed.milliseconds on_channel.milliseconds busy.milliseconds")],
  [1004, row("openflow", "datapath.id:uint64 port.id:uint32")],
  [1005, row("netif", "name:text")],
  [2000, row("host", "name:text uuid:bytes16 machine.type.id:uint32 os.type.id:uint32 os.release:text")],
  [2002, row("host.parent", "source.type.id:uint32 source.index:uint32")],
  [
    2003,
    row(
      "host.cpu",
      `load_1m:float load_5m:float load_15m:float processes.running processes.total count speed.mhz uptime.seconds
      user.milliseconds nice.milliseconds system.milliseconds idle.milliseconds io_wait.milliseconds
      interrupt.milliseconds soft_interrupt.milliseconds interrupts context_switches steal.milliseconds guest.milliseconds
      guest_nice.milliseconds`,
    ),
  ],
  [
    2004,
    row(
      "host.mem",
      `total.bytes:count64 free.bytes:count64 shared.bytes:count64 buffers.bytes:count64 cached.bytes:count64
      swap.total.bytes:count64 swap.free.bytes:count64 page.in page.out swap.in swap.out`,
    ),
  ],
  [
    2005,
    row(
      "host.disk",
      `total.bytes:count64 free.bytes:count64 partition_max_used.pct:percent read.count read.bytes:count64
      read.milliseconds write.count write.bytes:count64 write.milliseconds`,
    ),
  ],
  [
    2006,
    row(
      "host.net",
      "bytes.in:count64 packets.in errors.in discards.in bytes.out:count64 packets.out errors.out discards.out",
    ),
  ],
  [
    2007,
    row(
      "host.ip",
      `forwarding default_ttl in_receives in_hdr_errors in_addr_errors forw_datagrams in_unknown_protos in_discards in_delivers
      out_requests out_discards out_no_routes reasm_timeout reasm_reqds reasm_oks reasm_fails frag_oks frag_fails frag_creates`,
    ),
  ],
  [
    2008,
    row(
      "host.icmp",
      `in_msgs in_errors in_dest_unreachs in_time_excds in_parm_probs in_src_quenchs in_redirects in_echos in_echo_reps
      in_timestamps in_addr_masks in_addr_mask_reps out_msgs out_errors out_dest_unreachs out_time_excds out_parm_probs
      out_src_quenchs out_redirects out_echos out_echo_reps out_timestamps out_timestamp_reps out_addr_masks
      out_addr_mask_reps`,
    ),
  ],
  [
    2009,
    row(
      "host.tcp",
      `rto_algorithm rto_min rto_max max_conn active_opens passive_opens attempt_fails estab_resets curr_estab in_segs out_segs
      retrans_segs in_errs out_rsts in_csum_errors`,
    ),
  ],
  [2010, row("host.udp", "in_datagrams no_ports in_errors out_datagrams rcvbuf_errors sndbuf_errors in_csum_errors")],
  [2100, row("virt.node", "speed.mhz cpus mem.total.bytes:count64 mem.free.bytes:count64 domains")],
  [2101, row("virt.cpu", "state.id used.milliseconds count")],
  [2102, row("virt.mem", "used.bytes:count64 max.bytes:count64")],
  [
    2103,
    row(
      "virt.disk",
      `capacity.bytes:count64 allocation.bytes:count64 available.bytes:count64 read.count read.bytes:count64 write.count
      write.bytes:count64 errors`,
    ),
  ],
  [
    2104,
    row(
      "virt.net",
      "bytes.in:count64 packets.in errors.in discards.in bytes.out:count64 packets.out errors.out discards.out",
    ),
  ],
  [2105, row("jvm", "name:text vendor:text version:text")],
  [
    2106,
    row(
      "jvm",
      `heap.initial.bytes:count64 heap.used.bytes:count64 heap.committed.bytes:count64 heap.max.bytes:count64
      non_heap.initial.bytes:count64 non_heap.used.bytes:count64 non_heap.committed.bytes:count64 non_heap.max.bytes:count64
      gc.count gc.milliseconds classes.loaded classes.total classes.unloaded compilation.milliseconds threads.live
      threads.daemon threads.started fd.open fd.max`,
    ),
  ],
  [
    2201,
    row(
      "http",
      `method.option method.get method.head method.post method.put method.delete method.trace method.connect method.other
      status.1xx status.2xx status.3xx status.4xx status.5xx status.other`,
    ),
  ],
  [
    2202,
    row(
      "application",
      `name:text status.success status.other status.timeout status.internal_error status.bad_request status.forbidden
      status.too_large status.not_implemented status.not_found status.unavailable status.unauthorized`,
    ),
  ],
  [
    2203,
    row(
      "application",
      "user.milliseconds system.milliseconds mem.used.bytes:count64 mem.max.bytes:count64 fd.open fd.max connections.open connections.max",
    ),
  ],
  [
    2204,
    row(
      "memcache",
      `commands.set commands.touch commands.flush get.hits get.misses delete.hits delete.misses incr.hits incr.misses decr.hits
      decr.misses cas.hits cas.misses cas.bad_values auth.commands auth.errors threads connections.yields
      connections.listen_disabled connections.open connections.rejected connections.total connections.structures
      items.evicted items.reclaimed items.current items.total bytes.in:count64 bytes.out:count64 mem.used.bytes:count64
      mem.max.bytes:count64`,
    ),
  ],
  [2206, row("application", "workers.active workers.idle workers.max requests.delayed requests.dropped")],
  [2207, row("ovs", "hits misses lost mask_hits flows masks")],
  [
    3000,
    row(
      "energy",
      "voltage.millivolts current.milliamperes power.milliwatts power_factor.hundredths energy.millijoules errors",
    ),
  ],
  [3001, row("temperature", "min.celsius:int32 max.celsius:int32 errors")],
  [3002, row("humidity", "relative.pct:uint32")],
  [3003, row("cooling_fan", "total failed speed.pct:uint32")],
  [
    nvidia * 4096 + 1,
    row(
      "gpu",
      `count processes.running busy.milliseconds mem.busy.milliseconds mem.total.bytes:count64 mem.free.bytes:count64 errors.ecc
      energy.millijoules temperature.celsius fan.pct`,
    ),
  ],
]);
