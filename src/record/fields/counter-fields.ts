import { fieldRows } from "./record-field.ts";

/** Counter records of sFlow, by structure. Names are those that SNMP's records have for the same, where there are. */
export const counterFields = fieldRows(`
netif.bandwidth.bw | unsigned_long | bits/s | 1 | speed | sFlow counters 1
netif.bytes.in | unsigned_long | bytes | 1 | bytes received | sFlow counters 1
netif.bytes.out | unsigned_long | bytes | 1 | bytes sent | sFlow counters 1
netif.direction.id | long |  | 1 | 1 is full duplex, 2 half, 3 in, 4 out | sFlow counters 1
netif.index | long |  | 1 | ifIndex | sFlow counters 1
netif.packets.bcast.in | long | packets | 1 | broadcast packets received | sFlow counters 1
netif.packets.bcast.out | long | packets | 1 | broadcast packets sent | sFlow counters 1
netif.packets.discard.in | long | packets | 1 | packets discarded on the way in | sFlow counters 1
netif.packets.discard.out | long | packets | 1 | packets discarded on the way out | sFlow counters 1
netif.packets.error.in | long | packets | 1 | packets received with errors | sFlow counters 1
netif.packets.error.out | long | packets | 1 | packets that could not be sent for errors | sFlow counters 1
netif.packets.mcast.in | long | packets | 1 | multicast packets received | sFlow counters 1
netif.packets.mcast.out | long | packets | 1 | multicast packets sent | sFlow counters 1
netif.packets.ucast.in | long | packets | 1 | unicast packets received | sFlow counters 1
netif.packets.ucast.out | long | packets | 1 | unicast packets sent | sFlow counters 1
netif.packets.unkproto.in | long | packets | 1 | packets received of an unknown protocol | sFlow counters 1
netif.promiscuous.id | long |  | 1 | 1 in promiscuous mode | sFlow counters 1
netif.state.bits | long |  | 1 | bit 0 is the administrative state, bit 1 the operational one | sFlow counters 1
netif.type.id | long |  | 1 | ifType | sFlow counters 1
ethernet.collisions.excessive | long |  | 1 | frames not sent for too many collisions | sFlow counters 2
ethernet.collisions.late | long |  | 1 | late collisions | sFlow counters 2
ethernet.collisions.multiple | long |  | 1 | frames sent after several collisions | sFlow counters 2
ethernet.collisions.single | long |  | 1 | frames sent after one collision | sFlow counters 2
ethernet.deferred.out | long |  | 1 | frames whose sending was deferred | sFlow counters 2
ethernet.errors.alignment.in | long |  | 1 | frames received that are no whole number of bytes | sFlow counters 2
ethernet.errors.carrier_sense | long |  | 1 | lost carriers | sFlow counters 2
ethernet.errors.fcs.in | long |  | 1 | frames received with a wrong check sequence | sFlow counters 2
ethernet.errors.internal.in | long |  | 1 | frames not received for an internal error | sFlow counters 2
ethernet.errors.internal.out | long |  | 1 | frames not sent for an internal error | sFlow counters 2
ethernet.errors.sqe_test | long |  | 1 | SQE test errors | sFlow counters 2
ethernet.errors.symbol.in | long |  | 1 | invalid symbols received | sFlow counters 2
ethernet.errors.too_long.in | long |  | 1 | frames received that are too long | sFlow counters 2
token_ring.errors.abort_trans | long |  | 1 | aborted transmissions | sFlow counters 3
token_ring.errors.ac | long |  | 1 | AC errors | sFlow counters 3
token_ring.errors.burst | long |  | 1 | burst errors | sFlow counters 3
token_ring.errors.frame_copied | long |  | 1 | frames copied by another station | sFlow counters 3
token_ring.errors.frequency | long |  | 1 | frequency errors | sFlow counters 3
token_ring.errors.hard | long |  | 1 | hard errors | sFlow counters 3
token_ring.errors.internal | long |  | 1 | internal errors | sFlow counters 3
token_ring.errors.line | long |  | 1 | line errors | sFlow counters 3
token_ring.errors.lost_frame | long |  | 1 | lost frames | sFlow counters 3
token_ring.errors.soft | long |  | 1 | soft errors | sFlow counters 3
token_ring.errors.token | long |  | 1 | token errors | sFlow counters 3
token_ring.lobe_wires | long |  | 1 | open or short lobes | sFlow counters 3
token_ring.receive_congestions | long |  | 1 | frames not received for want of buffers | sFlow counters 3
token_ring.recoveries | long |  | 1 | recoveries of the ring | sFlow counters 3
token_ring.removes | long |  | 1 | commands to leave the ring | sFlow counters 3
token_ring.signal_loss | long |  | 1 | losses of the signal | sFlow counters 3
token_ring.singles | long |  | 1 | times of being alone on the ring | sFlow counters 3
token_ring.transmit_beacons | long |  | 1 | beacons sent | sFlow counters 3
vg.bytes.high.in | unsigned_long | bytes | 1 | bytes of high priority received | sFlow counters 4
vg.bytes.high.out | unsigned_long | bytes | 1 | bytes of high priority sent | sFlow counters 4
vg.bytes.normal.in | unsigned_long | bytes | 1 | bytes of normal priority received | sFlow counters 4
vg.errors.data.in | long |  | 1 | frames received with data errors | sFlow counters 4
vg.errors.ipm.in | long |  | 1 | frames received with an invalid packet marker | sFlow counters 4
vg.errors.oversize.in | long |  | 1 | frames received that are too long | sFlow counters 4
vg.frames.high.in | long |  | 1 | frames of high priority received | sFlow counters 4
vg.frames.high.out | long |  | 1 | frames of high priority sent | sFlow counters 4
vg.frames.normal.in | long |  | 1 | frames of normal priority received | sFlow counters 4
vg.frames.null_addressed.in | long |  | 1 | frames received without a destination | sFlow counters 4
vg.hc.bytes.high.in | unsigned_long | bytes | 1 | bytes of high priority received, 64 bits | sFlow counters 4
vg.hc.bytes.high.out | unsigned_long | bytes | 1 | bytes of high priority sent, 64 bits | sFlow counters 4
vg.hc.bytes.normal.in | unsigned_long | bytes | 1 | bytes of normal priority received, 64 bits | sFlow counters 4
vg.trainings | long |  | 1 | trainings of the link | sFlow counters 4
vlan.bytes | unsigned_long | bytes | 1 | bytes | sFlow counters 5
vlan.id | long |  | 1 | number of the VLAN | sFlow counters 5
vlan.packets.bcast | long | packets | 1 | broadcast packets | sFlow counters 5
vlan.packets.discard | long | packets | 1 | packets discarded | sFlow counters 5
vlan.packets.mcast | long | packets | 1 | multicast packets | sFlow counters 5
vlan.packets.ucast | long | packets | 1 | unicast packets | sFlow counters 5
wlan.ack_failure | long |  | 1 | acknowledgements missing | sFlow counters 6
wlan.errors.fcs | long |  | 1 | frames received with a wrong check sequence | sFlow counters 6
wlan.failed | long |  | 1 | frames not sent for too many tries | sFlow counters 6
wlan.fragments.in | long |  | 1 | fragments received | sFlow counters 6
wlan.fragments.out | long |  | 1 | fragments sent | sFlow counters 6
wlan.frames.duplicate | long |  | 1 | frames received twice | sFlow counters 6
wlan.frames.mcast.in | long |  | 1 | multicast frames received | sFlow counters 6
wlan.frames.mcast.out | long |  | 1 | multicast frames sent | sFlow counters 6
wlan.frames.out | long |  | 1 | frames sent | sFlow counters 6
wlan.qos.cf_polls.lost | long |  | 1 | QoS polls lost | sFlow counters 6
wlan.qos.cf_polls.received | long |  | 1 | QoS polls received | sFlow counters 6
wlan.qos.cf_polls.unusable | long |  | 1 | QoS polls not usable | sFlow counters 6
wlan.qos.cf_polls.unused | long |  | 1 | QoS polls not used | sFlow counters 6
wlan.qos.fragments_discarded | long |  | 1 | QoS fragments discarded | sFlow counters 6
wlan.retries | long |  | 1 | frames sent after one repetition | sFlow counters 6
wlan.retries_multiple | long |  | 1 | frames sent after several repetitions | sFlow counters 6
wlan.rts.failure | long |  | 1 | no CTS after RTS | sFlow counters 6
wlan.rts.success | long |  | 1 | CTS received after RTS | sFlow counters 6
wlan.stations | long |  | 1 | associated stations | sFlow counters 6
wlan.wep_undecryptable | long |  | 1 | frames that WEP could not decrypt | sFlow counters 6
lag.actor.mac | keyword |  | 00:00:5e:00:53:01 | system identifier of this end | sFlow counters 7
lag.aggregator.id | long |  | 1 | aggregator that the port is attached to | sFlow counters 7
lag.illegal.in | long |  | 1 | malformed frames received | sFlow counters 7
lag.lacp.in | long |  | 1 | LACPDUs received | sFlow counters 7
lag.lacp.out | long |  | 1 | LACPDUs sent | sFlow counters 7
lag.marker.in | long |  | 1 | markers received | sFlow counters 7
lag.marker.out | long |  | 1 | markers sent | sFlow counters 7
lag.marker_response.in | long |  | 1 | marker responses received | sFlow counters 7
lag.marker_response.out | long |  | 1 | marker responses sent | sFlow counters 7
lag.partner.mac | keyword |  | 00:00:5e:00:53:02 | system identifier of the other end | sFlow counters 7
lag.port_state | keyword |  | 0x3d3d3d3d | administrative and operational states of both ends, in hex | sFlow counters 7
lag.unknown.in | long |  | 1 | frames of an unknown slow protocol received | sFlow counters 7
optical.lane.ids | long[] |  | [1] | numbers of the lanes | sFlow counters 10
optical.lane.rx.power.microwatts | long[] | microwatts | [1] | power received, by lane | sFlow counters 10
optical.lane.rx.power_max.microwatts | long[] | microwatts | [1] | most power received, by lane | sFlow counters 10
optical.lane.rx.power_min.microwatts | long[] | microwatts | [1] | least power received, by lane | sFlow counters 10
optical.lane.rx.wavelength.nanometers | long[] | nanometers | [1] | wavelength received, by lane | sFlow counters 10
optical.lane.tx.bias.microamperes | long[] | microamperes | [1] | bias current of the transmitter, by lane | sFlow counters 10
optical.lane.tx.power.microwatts | long[] | microwatts | [1] | power sent, by lane | sFlow counters 10
optical.lane.tx.power_max.microwatts | long[] | microwatts | [1] | most power sent, by lane | sFlow counters 10
optical.lane.tx.power_min.microwatts | long[] | microwatts | [1] | least power sent, by lane | sFlow counters 10
optical.lane.tx.wavelength.nanometers | long[] | nanometers | [1] | wavelength sent, by lane | sFlow counters 10
optical.lanes.total | long |  | 1 | lanes of the module | sFlow counters 10
optical.module.id | long |  | 1 | number of the module | sFlow counters 10
optical.supply_voltage.millivolts | long | millivolts | 1 | supply voltage | sFlow counters 10
optical.temperature.millicelsius | long | m°C | 1 | temperature | sFlow counters 10
processor.mem.free.bytes | unsigned_long | bytes | 1 | memory that is free | sFlow counters 1001
processor.mem.total.bytes | unsigned_long | bytes | 1 | memory | sFlow counters 1001
processor.util_1m.pct | double | percent | 0.5 | CPU use over a minute | sFlow counters 1001
processor.util_5m.pct | double | percent | 0.5 | CPU use over 5 minutes | sFlow counters 1001
processor.util_5s.pct | double | percent | 0.5 | CPU use over 5 seconds | sFlow counters 1001
radio.busy.milliseconds | long | milliseconds | 1 | time that the channel was busy | sFlow counters 1002
radio.elapsed.milliseconds | long | milliseconds | 1 | time measured | sFlow counters 1002
radio.on_channel.milliseconds | long | milliseconds | 1 | time on the channel | sFlow counters 1002
openflow.datapath.id | unsigned_long |  | 1 | datapath | sFlow counters 1004
openflow.port.id | long |  | 1 | port | sFlow counters 1004
netif.name | keyword |  | xe-0/0/7 | name of the interface | sFlow counters 1005
host.machine.type.id | long |  | 1 | kind of processor | sFlow counters 2000
host.name | keyword |  | server-1 | name of the host | sFlow counters 2000
host.os.release | keyword |  | 6.1.0 | release of the operating system | sFlow counters 2000
host.os.type.id | long |  | 1 | kind of operating system | sFlow counters 2000
host.uuid | keyword |  | 0x00112233445566778899aabbccddeeff | UUID, in hex | sFlow counters 2000
host.adapter.mac.addrs | keyword[] |  | ["00:00:5e:00:53:01"] | MAC addresses of the adapters | sFlow counters 2001
host.adapter.netif.indexes | long[] |  | [1] | ifIndex of each adapter address | sFlow counters 2001
host.parent.source.index | long |  | 1 | index of the data source of the host below | sFlow counters 2002
host.parent.source.type.id | long |  | 1 | kind of the data source of the host below | sFlow counters 2002
host.cpu.context_switches | long |  | 1 | context switches | sFlow counters 2003
host.cpu.count | long |  | 1 | processors | sFlow counters 2003
host.cpu.guest.milliseconds | long | milliseconds | 1 | CPU time given to virtual machines | sFlow counters 2003
host.cpu.guest_nice.milliseconds | long | milliseconds | 1 | CPU time given to virtual machines of low priority | sFlow counters 2003
host.cpu.idle.milliseconds | long | milliseconds | 1 | CPU time without work | sFlow counters 2003
host.cpu.interrupt.milliseconds | long | milliseconds | 1 | CPU time of interrupts | sFlow counters 2003
host.cpu.interrupts | long |  | 1 | interrupts | sFlow counters 2003
host.cpu.io_wait.milliseconds | long | milliseconds | 1 | CPU time of waiting for input and output | sFlow counters 2003
host.cpu.load_15m | double |  | 0.5 | load over 15 minutes | sFlow counters 2003
host.cpu.load_1m | double |  | 0.5 | load over a minute | sFlow counters 2003
host.cpu.load_5m | double |  | 0.5 | load over 5 minutes | sFlow counters 2003
host.cpu.nice.milliseconds | long | milliseconds | 1 | CPU time of programs of low priority | sFlow counters 2003
host.cpu.processes.running | long |  | 1 | processes running | sFlow counters 2003
host.cpu.processes.total | long |  | 1 | processes | sFlow counters 2003
host.cpu.soft_interrupt.milliseconds | long | milliseconds | 1 | CPU time of soft interrupts | sFlow counters 2003
host.cpu.speed.mhz | long | MHz | 1 | clock of the processors | sFlow counters 2003
host.cpu.steal.milliseconds | long | milliseconds | 1 | CPU time taken by other virtual machines | sFlow counters 2003
host.cpu.system.milliseconds | long | milliseconds | 1 | CPU time of the system | sFlow counters 2003
host.cpu.uptime.seconds | long | seconds | 1 | uptime of the host | sFlow counters 2003
host.cpu.user.milliseconds | long | milliseconds | 1 | CPU time of programs | sFlow counters 2003
host.mem.buffers.bytes | unsigned_long | bytes | 1 | memory of buffers | sFlow counters 2004
host.mem.cached.bytes | unsigned_long | bytes | 1 | memory of the page cache | sFlow counters 2004
host.mem.free.bytes | unsigned_long | bytes | 1 | memory that is free | sFlow counters 2004
host.mem.page.in | long |  | 1 | pages read in | sFlow counters 2004
host.mem.page.out | long |  | 1 | pages written out | sFlow counters 2004
host.mem.shared.bytes | unsigned_long | bytes | 1 | memory that is shared | sFlow counters 2004
host.mem.swap.free.bytes | unsigned_long | bytes | 1 | swap space that is free | sFlow counters 2004
host.mem.swap.in | long |  | 1 | pages swapped in | sFlow counters 2004
host.mem.swap.out | long |  | 1 | pages swapped out | sFlow counters 2004
host.mem.swap.total.bytes | unsigned_long | bytes | 1 | swap space | sFlow counters 2004
host.mem.total.bytes | unsigned_long | bytes | 1 | memory | sFlow counters 2004
host.disk.free.bytes | unsigned_long | bytes | 1 | disk space that is free | sFlow counters 2005
host.disk.partition_max_used.pct | double | percent | 0.5 | use of the fullest partition | sFlow counters 2005
host.disk.read.bytes | unsigned_long | bytes | 1 | bytes read | sFlow counters 2005
host.disk.read.count | long |  | 1 | reads | sFlow counters 2005
host.disk.read.milliseconds | long | milliseconds | 1 | time of reading | sFlow counters 2005
host.disk.total.bytes | unsigned_long | bytes | 1 | disk space | sFlow counters 2005
host.disk.write.bytes | unsigned_long | bytes | 1 | bytes written | sFlow counters 2005
host.disk.write.count | long |  | 1 | writes | sFlow counters 2005
host.disk.write.milliseconds | long | milliseconds | 1 | time of writing | sFlow counters 2005
host.net.bytes.in | unsigned_long | bytes | 1 | bytes received | sFlow counters 2006
host.net.bytes.out | unsigned_long | bytes | 1 | bytes sent | sFlow counters 2006
host.net.discards.in | long |  | 1 | packets discarded on the way in | sFlow counters 2006
host.net.discards.out | long |  | 1 | packets discarded on the way out | sFlow counters 2006
host.net.errors.in | long |  | 1 | packets received with errors | sFlow counters 2006
host.net.errors.out | long |  | 1 | packets not sent for errors | sFlow counters 2006
host.net.packets.in | long | packets | 1 | packets received | sFlow counters 2006
host.net.packets.out | long | packets | 1 | packets sent | sFlow counters 2006
host.ip.default_ttl | long |  | 1 | default time to live | sFlow counters 2007
host.ip.forw_datagrams | long | packets | 1 | packets forwarded | sFlow counters 2007
host.ip.forwarding | long |  | 1 | 1 where the host forwards packets | sFlow counters 2007
host.ip.frag_creates | long |  | 1 | fragments made | sFlow counters 2007
host.ip.frag_fails | long |  | 1 | packets that could not be fragmented | sFlow counters 2007
host.ip.frag_oks | long |  | 1 | packets fragmented | sFlow counters 2007
host.ip.in_addr_errors | long |  | 1 | packets received with a wrong destination | sFlow counters 2007
host.ip.in_delivers | long |  | 1 | packets delivered to protocols | sFlow counters 2007
host.ip.in_discards | long |  | 1 | packets received and discarded | sFlow counters 2007
host.ip.in_hdr_errors | long |  | 1 | packets received with a wrong header | sFlow counters 2007
host.ip.in_receives | long | packets | 1 | packets received | sFlow counters 2007
host.ip.in_unknown_protos | long |  | 1 | packets received of an unknown protocol | sFlow counters 2007
host.ip.out_discards | long |  | 1 | packets to be sent and discarded | sFlow counters 2007
host.ip.out_no_routes | long |  | 1 | packets without a route | sFlow counters 2007
host.ip.out_requests | long |  | 1 | packets handed over by protocols | sFlow counters 2007
host.ip.reasm_fails | long |  | 1 | packets not put together | sFlow counters 2007
host.ip.reasm_oks | long |  | 1 | packets put together | sFlow counters 2007
host.ip.reasm_reqds | long |  | 1 | fragments received | sFlow counters 2007
host.ip.reasm_timeout | long | seconds | 1 | longest wait for fragments | sFlow counters 2007
host.icmp.in_addr_mask_reps | long |  | 1 | ICMP messages received: address mask reply | sFlow counters 2008
host.icmp.in_addr_masks | long |  | 1 | ICMP messages received: address mask request | sFlow counters 2008
host.icmp.in_dest_unreachs | long |  | 1 | ICMP messages received: destination unreachable | sFlow counters 2008
host.icmp.in_echo_reps | long |  | 1 | ICMP messages received: echo reply | sFlow counters 2008
host.icmp.in_echos | long |  | 1 | ICMP messages received: echo request | sFlow counters 2008
host.icmp.in_errors | long |  | 1 | ICMP messages with errors received | sFlow counters 2008
host.icmp.in_msgs | long |  | 1 | ICMP messages received | sFlow counters 2008
host.icmp.in_parm_probs | long |  | 1 | ICMP messages received: parameter problem | sFlow counters 2008
host.icmp.in_redirects | long |  | 1 | ICMP messages received: redirect | sFlow counters 2008
host.icmp.in_src_quenchs | long |  | 1 | ICMP messages received: source quench | sFlow counters 2008
host.icmp.in_time_excds | long |  | 1 | ICMP messages received: time exceeded | sFlow counters 2008
host.icmp.in_timestamps | long |  | 1 | ICMP messages received: timestamp request | sFlow counters 2008
host.icmp.out_addr_mask_reps | long |  | 1 | ICMP messages sent: address mask reply | sFlow counters 2008
host.icmp.out_addr_masks | long |  | 1 | ICMP messages sent: address mask request | sFlow counters 2008
host.icmp.out_dest_unreachs | long |  | 1 | ICMP messages sent: destination unreachable | sFlow counters 2008
host.icmp.out_echo_reps | long |  | 1 | ICMP messages sent: echo reply | sFlow counters 2008
host.icmp.out_echos | long |  | 1 | ICMP messages sent: echo request | sFlow counters 2008
host.icmp.out_errors | long |  | 1 | ICMP messages with errors sent | sFlow counters 2008
host.icmp.out_msgs | long |  | 1 | ICMP messages sent | sFlow counters 2008
host.icmp.out_parm_probs | long |  | 1 | ICMP messages sent: parameter problem | sFlow counters 2008
host.icmp.out_redirects | long |  | 1 | ICMP messages sent: redirect | sFlow counters 2008
host.icmp.out_src_quenchs | long |  | 1 | ICMP messages sent: source quench | sFlow counters 2008
host.icmp.out_time_excds | long |  | 1 | ICMP messages sent: time exceeded | sFlow counters 2008
host.icmp.out_timestamp_reps | long |  | 1 | ICMP messages sent: timestamp reply | sFlow counters 2008
host.icmp.out_timestamps | long |  | 1 | ICMP messages sent: timestamp request | sFlow counters 2008
host.tcp.active_opens | long |  | 1 | connections opened by this end | sFlow counters 2009
host.tcp.attempt_fails | long |  | 1 | attempts to connect that failed | sFlow counters 2009
host.tcp.curr_estab | long |  | 1 | connections established | sFlow counters 2009
host.tcp.estab_resets | long |  | 1 | connections that were reset | sFlow counters 2009
host.tcp.in_csum_errors | long |  | 1 | segments received with a wrong checksum | sFlow counters 2009
host.tcp.in_errs | long |  | 1 | segments received with errors | sFlow counters 2009
host.tcp.in_segs | long |  | 1 | segments received | sFlow counters 2009
host.tcp.max_conn | long |  | 1 | most connections, -1 where that varies | sFlow counters 2009
host.tcp.out_rsts | long |  | 1 | resets sent | sFlow counters 2009
host.tcp.out_segs | long |  | 1 | segments sent | sFlow counters 2009
host.tcp.passive_opens | long |  | 1 | connections opened by other ends | sFlow counters 2009
host.tcp.retrans_segs | long |  | 1 | segments sent again | sFlow counters 2009
host.tcp.rto_algorithm | long |  | 1 | algorithm of the retransmission timeout | sFlow counters 2009
host.tcp.rto_max | long | milliseconds | 1 | greatest retransmission timeout | sFlow counters 2009
host.tcp.rto_min | long | milliseconds | 1 | least retransmission timeout | sFlow counters 2009
host.udp.in_csum_errors | long |  | 1 | datagrams received with a wrong checksum | sFlow counters 2010
host.udp.in_datagrams | long | packets | 1 | datagrams received | sFlow counters 2010
host.udp.in_errors | long |  | 1 | datagrams not delivered for other errors | sFlow counters 2010
host.udp.no_ports | long |  | 1 | datagrams for ports without a listener | sFlow counters 2010
host.udp.out_datagrams | long | packets | 1 | datagrams sent | sFlow counters 2010
host.udp.rcvbuf_errors | long |  | 1 | datagrams dropped for want of a receive buffer | sFlow counters 2010
host.udp.sndbuf_errors | long |  | 1 | datagrams dropped for want of a send buffer | sFlow counters 2010
virt.node.cpus | long |  | 1 | processors | sFlow counters 2100
virt.node.domains | long |  | 1 | virtual machines | sFlow counters 2100
virt.node.mem.free.bytes | unsigned_long | bytes | 1 | memory that is free | sFlow counters 2100
virt.node.mem.total.bytes | unsigned_long | bytes | 1 | memory | sFlow counters 2100
virt.node.speed.mhz | long | MHz | 1 | clock of the processors | sFlow counters 2100
virt.cpu.count | long |  | 1 | virtual processors | sFlow counters 2101
virt.cpu.state.id | long |  | 1 | state of the virtual machine | sFlow counters 2101
virt.cpu.used.milliseconds | long | milliseconds | 1 | CPU time used | sFlow counters 2101
virt.mem.max.bytes | unsigned_long | bytes | 1 | memory allowed | sFlow counters 2102
virt.mem.used.bytes | unsigned_long | bytes | 1 | memory in use | sFlow counters 2102
virt.disk.allocation.bytes | unsigned_long | bytes | 1 | space allocated | sFlow counters 2103
virt.disk.available.bytes | unsigned_long | bytes | 1 | space left | sFlow counters 2103
virt.disk.capacity.bytes | unsigned_long | bytes | 1 | size of the virtual disks | sFlow counters 2103
virt.disk.errors | long |  | 1 | errors of reading and writing | sFlow counters 2103
virt.disk.read.bytes | unsigned_long | bytes | 1 | bytes read | sFlow counters 2103
virt.disk.read.count | long |  | 1 | reads | sFlow counters 2103
virt.disk.write.bytes | unsigned_long | bytes | 1 | bytes written | sFlow counters 2103
virt.disk.write.count | long |  | 1 | writes | sFlow counters 2103
virt.net.bytes.in | unsigned_long | bytes | 1 | bytes received | sFlow counters 2104
virt.net.bytes.out | unsigned_long | bytes | 1 | bytes sent | sFlow counters 2104
virt.net.discards.in | long |  | 1 | packets discarded on the way in | sFlow counters 2104
virt.net.discards.out | long |  | 1 | packets discarded on the way out | sFlow counters 2104
virt.net.errors.in | long |  | 1 | packets received with errors | sFlow counters 2104
virt.net.errors.out | long |  | 1 | packets not sent for errors | sFlow counters 2104
virt.net.packets.in | long | packets | 1 | packets received | sFlow counters 2104
virt.net.packets.out | long | packets | 1 | packets sent | sFlow counters 2104
jvm.name | keyword |  | OpenJDK | name of the virtual machine | sFlow counters 2105
jvm.vendor | keyword |  | Eclipse | vendor | sFlow counters 2105
jvm.version | keyword |  | 21.0.2 | version | sFlow counters 2105
jvm.classes.loaded | long |  | 1 | classes loaded | sFlow counters 2106
jvm.classes.total | long |  | 1 | classes loaded since the start | sFlow counters 2106
jvm.classes.unloaded | long |  | 1 | classes unloaded | sFlow counters 2106
jvm.compilation.milliseconds | long | milliseconds | 1 | time of compilation | sFlow counters 2106
jvm.fd.max | long |  | 1 | most file descriptors | sFlow counters 2106
jvm.fd.open | long |  | 1 | open file descriptors | sFlow counters 2106
jvm.gc.count | long |  | 1 | garbage collections | sFlow counters 2106
jvm.gc.milliseconds | long | milliseconds | 1 | time of garbage collections | sFlow counters 2106
jvm.heap.committed.bytes | unsigned_long | bytes | 1 | heap committed | sFlow counters 2106
jvm.heap.initial.bytes | unsigned_long | bytes | 1 | heap at the start | sFlow counters 2106
jvm.heap.max.bytes | unsigned_long | bytes | 1 | most heap | sFlow counters 2106
jvm.heap.used.bytes | unsigned_long | bytes | 1 | heap in use | sFlow counters 2106
jvm.non_heap.committed.bytes | unsigned_long | bytes | 1 | other memory committed | sFlow counters 2106
jvm.non_heap.initial.bytes | unsigned_long | bytes | 1 | other memory at the start | sFlow counters 2106
jvm.non_heap.max.bytes | unsigned_long | bytes | 1 | most other memory | sFlow counters 2106
jvm.non_heap.used.bytes | unsigned_long | bytes | 1 | other memory in use | sFlow counters 2106
jvm.threads.daemon | long |  | 1 | daemon threads | sFlow counters 2106
jvm.threads.live | long |  | 1 | threads | sFlow counters 2106
jvm.threads.started | long |  | 1 | threads started | sFlow counters 2106
http.method.connect | long |  | 1 | HTTP requests: CONNECT | sFlow counters 2201
http.method.delete | long |  | 1 | HTTP requests: DELETE | sFlow counters 2201
http.method.get | long |  | 1 | HTTP requests: GET | sFlow counters 2201
http.method.head | long |  | 1 | HTTP requests: HEAD | sFlow counters 2201
http.method.option | long |  | 1 | HTTP requests: OPTIONS | sFlow counters 2201
http.method.other | long |  | 1 | HTTP requests of other methods | sFlow counters 2201
http.method.post | long |  | 1 | HTTP requests: POST | sFlow counters 2201
http.method.put | long |  | 1 | HTTP requests: PUT | sFlow counters 2201
http.method.trace | long |  | 1 | HTTP requests: TRACE | sFlow counters 2201
http.status.1xx | long |  | 1 | HTTP responses 1xx | sFlow counters 2201
http.status.2xx | long |  | 1 | HTTP responses 2xx | sFlow counters 2201
http.status.3xx | long |  | 1 | HTTP responses 3xx | sFlow counters 2201
http.status.4xx | long |  | 1 | HTTP responses 4xx | sFlow counters 2201
http.status.5xx | long |  | 1 | HTTP responses 5xx | sFlow counters 2201
http.status.other | long |  | 1 | HTTP responses of other statuses | sFlow counters 2201
memcache.commands.set | long |  | 1 | commands to store a value | sFlow counters 2204
memcache.commands.touch | long |  | 1 | touch commands | sFlow counters 2204
memcache.commands.flush | long |  | 1 | flush_all commands | sFlow counters 2204
memcache.get.hits | long |  | 1 | keys asked for and found | sFlow counters 2204
memcache.get.misses | long |  | 1 | keys asked for and not found | sFlow counters 2204
memcache.delete.hits | long |  | 1 | deletions of keys that were there | sFlow counters 2204
memcache.delete.misses | long |  | 1 | deletions of keys that were not there | sFlow counters 2204
memcache.incr.hits | long |  | 1 | increments of keys that were there | sFlow counters 2204
memcache.incr.misses | long |  | 1 | increments of keys that were not there | sFlow counters 2204
memcache.decr.hits | long |  | 1 | decrements of keys that were there | sFlow counters 2204
memcache.decr.misses | long |  | 1 | decrements of keys that were not there | sFlow counters 2204
memcache.cas.hits | long |  | 1 | compare and set of keys that were there | sFlow counters 2204
memcache.cas.misses | long |  | 1 | compare and set of keys that were not there | sFlow counters 2204
memcache.cas.bad_values | long |  | 1 | compare and set of values changed meanwhile | sFlow counters 2204
memcache.auth.commands | long |  | 1 | authentications | sFlow counters 2204
memcache.auth.errors | long |  | 1 | failed authentications | sFlow counters 2204
memcache.threads | long |  | 1 | worker threads | sFlow counters 2204
memcache.connections.yields | long |  | 1 | connections that had to let others go first | sFlow counters 2204
memcache.connections.listen_disabled | long |  | 1 | times that no connection was taken because there were too many | sFlow counters 2204
memcache.connections.open | long |  | 1 | open connections | sFlow counters 2204
memcache.connections.rejected | long |  | 1 | connections rejected | sFlow counters 2204
memcache.connections.total | long |  | 1 | connections so far | sFlow counters 2204
memcache.connections.structures | long |  | 1 | structures for connections | sFlow counters 2204
memcache.items.evicted | long |  | 1 | items evicted for want of memory | sFlow counters 2204
memcache.items.reclaimed | long |  | 1 | expired items whose memory was used again | sFlow counters 2204
memcache.items.current | long |  | 1 | items stored | sFlow counters 2204
memcache.items.total | long |  | 1 | items stored so far | sFlow counters 2204
memcache.bytes.in | unsigned_long | bytes | 1 | bytes received | sFlow counters 2204
memcache.bytes.out | unsigned_long | bytes | 1 | bytes sent | sFlow counters 2204
memcache.mem.used.bytes | unsigned_long | bytes | 1 | memory of items | sFlow counters 2204
memcache.mem.max.bytes | unsigned_long | bytes | 1 | most memory for items | sFlow counters 2204
gpu.count | long |  | 1 | graphics processors | sFlow counters 5703.1
gpu.processes.running | long |  | 1 | processes that use them | sFlow counters 5703.1
gpu.busy.milliseconds | long | milliseconds | 1 | time in which they computed | sFlow counters 5703.1
gpu.mem.busy.milliseconds | long | milliseconds | 1 | time in which their memory was used | sFlow counters 5703.1
gpu.mem.total.bytes | unsigned_long | bytes | 1 | their memory | sFlow counters 5703.1
gpu.mem.free.bytes | unsigned_long | bytes | 1 | free memory | sFlow counters 5703.1
gpu.errors.ecc | long |  | 1 | errors of their memory | sFlow counters 5703.1
gpu.energy.millijoules | long | millijoules | 1 | energy used | sFlow counters 5703.1
gpu.temperature.celsius | long | °C | 1 | highest temperature | sFlow counters 5703.1
gpu.fan.pct | long | percent | 1 | highest speed of a fan | sFlow counters 5703.1
application.name | keyword |  | shop | name of the application | sFlow counters 2202
application.status.bad_request | long |  | 1 | operations that ended with: bad request | sFlow counters 2202
application.status.forbidden | long |  | 1 | operations that ended with: forbidden | sFlow counters 2202
application.status.internal_error | long |  | 1 | operations that ended with: internal error | sFlow counters 2202
application.status.not_found | long |  | 1 | operations that ended with: not found | sFlow counters 2202
application.status.not_implemented | long |  | 1 | operations that ended with: not implemented | sFlow counters 2202
application.status.other | long |  | 1 | operations that ended with: other | sFlow counters 2202
application.status.success | long |  | 1 | operations that ended with: success | sFlow counters 2202
application.status.timeout | long |  | 1 | operations that ended with: timeout | sFlow counters 2202
application.status.too_large | long |  | 1 | operations that ended with: too large | sFlow counters 2202
application.status.unauthorized | long |  | 1 | operations that ended with: unauthorized | sFlow counters 2202
application.status.unavailable | long |  | 1 | operations that ended with: unavailable | sFlow counters 2202
application.connections.max | long |  | 1 | most connections | sFlow counters 2203
application.connections.open | long |  | 1 | open connections | sFlow counters 2203
application.fd.max | long |  | 1 | most file descriptors | sFlow counters 2203
application.fd.open | long |  | 1 | open file descriptors | sFlow counters 2203
application.mem.max.bytes | unsigned_long | bytes | 1 | most memory | sFlow counters 2203
application.mem.used.bytes | unsigned_long | bytes | 1 | memory in use | sFlow counters 2203
application.system.milliseconds | long | milliseconds | 1 | CPU time of the system for it | sFlow counters 2203
application.user.milliseconds | long | milliseconds | 1 | CPU time of the program | sFlow counters 2203
application.requests.delayed | long |  | 1 | requests that had to wait | sFlow counters 2206
application.requests.dropped | long |  | 1 | requests dropped | sFlow counters 2206
application.workers.active | long |  | 1 | workers that work | sFlow counters 2206
application.workers.idle | long |  | 1 | workers without work | sFlow counters 2206
application.workers.max | long |  | 1 | most workers | sFlow counters 2206
ovs.flows | long |  | 1 | flows of the datapath | sFlow counters 2207
ovs.hits | long |  | 1 | packets that matched a flow of the datapath | sFlow counters 2207
ovs.lost | long |  | 1 | packets lost on the way to user space | sFlow counters 2207
ovs.mask_hits | long |  | 1 | masks tried | sFlow counters 2207
ovs.masks | long |  | 1 | masks of the datapath | sFlow counters 2207
ovs.misses | long |  | 1 | packets that matched none | sFlow counters 2207
energy.current.milliamperes | long | milliamperes | 1 | current | sFlow counters 3000
energy.energy.millijoules | long | millijoules | 1 | energy used | sFlow counters 3000
energy.errors | long |  | 1 | readings that failed | sFlow counters 3000
energy.power.milliwatts | long | milliwatts | 1 | power | sFlow counters 3000
energy.power_factor.hundredths | long |  | 1 | power factor, hundredths | sFlow counters 3000
energy.voltage.millivolts | long | millivolts | 1 | voltage | sFlow counters 3000
temperature.errors | long |  | 1 | readings that failed | sFlow counters 3001
temperature.max.celsius | long | °C | 1 | highest reading | sFlow counters 3001
temperature.min.celsius | long | °C | 1 | lowest reading | sFlow counters 3001
humidity.relative.pct | long | percent | 1 | relative humidity | sFlow counters 3002
cooling_fan.failed | long |  | 1 | fans that failed | sFlow counters 3003
cooling_fan.speed.pct | long | percent | 1 | mean speed | sFlow counters 3003
cooling_fan.total | long |  | 1 | fans | sFlow counters 3003
`);
