import { fieldRows, type RecordField, type FieldPattern } from "./record-field.ts";
import { flowFields, exportFields, packetFields } from "./flow-fields.ts";
import { counterFields } from "./counter-fields.ts";
import { fieldPatterns } from "./field-patterns.ts";

/** What samples of sFlow say, other than the headers of their packets. */
const sflowFields = fieldRows(`
flow.sample.sequence | long | | 17 | number of the sample | sFlow
flow.sample.pool | long | packets | 5120 | packets that could have been sampled so far | sFlow
flow.sample.drops | long | samples | 0 | samples that the agent dropped so far | sFlow
flow.sample.source.type.id | long | | 0 | kind of the data source; 0 is an interface | sFlow
flow.sample.source.index | long | | 3 | index of the data source | sFlow
flow.sample.header.protocol.id | long | | 3 | kind of link of a header that is in the record as bytes | sFlow
flow.drop.reason.id | long | | 257 | why the packet was discarded | sFlow
flow.drop.reason.name | keyword | | ttl_exceeded | why the packet was discarded | sFlow
flow.drop.function.name | keyword | | ip_forward | function of the system that discarded the packet | sFlow flow 1038
flow.drop.linux.reason.name | keyword | | NO_SOCKET | reason of the Linux kernel | sFlow flow 1042
flow.drop.trap.group | keyword | | l3_drops | group of the hardware trap | sFlow flow 1041
flow.drop.trap.name | keyword | | ttl_value_is_too_small | name of the hardware trap | sFlow flow 1041
flow.url.direction.id | long | | 1 | 1 is the source, 2 the destination | sFlow flow 1005
flow.url.text | keyword | | /index.html | URL | sFlow flow 1005, 2206; Cisco 9/12235
flow.url.host | keyword | | www.example.com | host of the URL | sFlow flow 1005, 2206; Cisco 9/12235
flow.mpls.next_hop.ip.addr | ip | | 203.0.113.9 | next hop of the label-switched path | sFlow flow 1006
flow.mpls.in.labels | long[] | | [100] | label stack on the way in | sFlow flow 1006
flow.mpls.out.labels | long[] | | [200,201] | label stack on the way out | sFlow flow 1006
flow.mpls.tunnel.name | keyword | | lsp-1 | name of the MPLS tunnel | sFlow flow 1008
flow.mpls.tunnel.id | long | | 1 | number of the MPLS tunnel | sFlow flow 1008
flow.mpls.tunnel.cos | long | | 0 | class of service of the MPLS tunnel | sFlow flow 1008
flow.mpls.vc.name | keyword | | vc-1 | name of the virtual circuit | sFlow flow 1009
flow.mpls.vc.id | long | | 1 | number of the virtual circuit | sFlow flow 1009
flow.mpls.vc.cos | long | | 0 | class of service of the virtual circuit | sFlow flow 1009
flow.mpls.ftn.descr | keyword | | to pe-2 | description of FEC to NHLFE | sFlow flow 1010
flow.mpls.ftn.mask | long | | 1 | mask of FEC to NHLFE | sFlow flow 1010
flow.mpls.fec.prefix.length | long | bits | 24 | prefix length of the forwarding equivalence class | sFlow flow 1011
flow.vlan_tunnel.tag.ids | long[] | | [100,200] | stack of VLAN tags that were taken off | sFlow flow 1012
flow.wlan.rx.ssid | keyword | | office | network that the packet came by | sFlow flow 1014
flow.wlan.rx.bssid | keyword | | 00:00:5e:00:53:02 | access point that the packet came by | sFlow flow 1014
flow.wlan.rx.version.id | long | | 3 | version of 802.11 | sFlow flow 1014
flow.wlan.rx.channel.id | long | | 36 | channel | sFlow flow 1014
flow.wlan.rx.speed.bw | unsigned_long | bits/s | 54000000 | speed | sFlow flow 1014
flow.wlan.rx.rsni | long | | 30 | received signal to noise | sFlow flow 1014
flow.wlan.rx.rcpi | long | | 120 | received channel power | sFlow flow 1014
flow.wlan.rx.duration.microseconds | long | microseconds | 300 | time that the packet took | sFlow flow 1014
flow.wlan.tx.ssid | keyword | | office | network that the packet left by | sFlow flow 1015
flow.wlan.tx.bssid | keyword | | 00:00:5e:00:53:02 | access point that the packet left by | sFlow flow 1015
flow.wlan.tx.version.id | long | | 3 | version of 802.11 | sFlow flow 1015
flow.wlan.tx.transmissions | long | | 1 | how often the packet was sent | sFlow flow 1015
flow.wlan.tx.duration.microseconds | long | microseconds | 300 | time that the packet took | sFlow flow 1015
flow.wlan.tx.retransmit_duration.microseconds | long | microseconds | 0 | time that repetitions took | sFlow flow 1015
flow.wlan.tx.channel.id | long | | 36 | channel | sFlow flow 1015
flow.wlan.tx.speed.bw | unsigned_long | bits/s | 54000000 | speed | sFlow flow 1015
flow.wlan.tx.power.milliwatts | long | milliwatts | 100 | power of transmission | sFlow flow 1015
flow.out.tunnel.frame_length | long | bytes | 1518 | frame of the tunnel on the way out | sFlow flow 1021
flow.out.tunnel.src.mac.addr | keyword | | 00:00:5e:00:53:01 | outer source on the way out | sFlow flow 1021
flow.out.tunnel.dst.mac.addr | keyword | | 00:00:5e:00:53:ff | outer destination on the way out | sFlow flow 1021
flow.out.tunnel.ethernet_type | long | | 2048 | outer EtherType on the way out | sFlow flow 1021
flow.in.tunnel.frame_length | long | bytes | 1518 | frame of the tunnel on the way in | sFlow flow 1022
flow.in.tunnel.src.mac.addr | keyword | | 00:00:5e:00:53:01 | outer source on the way in | sFlow flow 1022
flow.in.tunnel.dst.mac.addr | keyword | | 00:00:5e:00:53:ff | outer destination on the way in | sFlow flow 1022
flow.in.tunnel.ethernet_type | long | | 2048 | outer EtherType on the way in | sFlow flow 1022
flow.out.tunnel.length | long | bytes | 1500 | outer IP length on the way out | sFlow flow 1023, 1025
flow.out.tunnel.l4.proto.id | long | | 47 | outer protocol on the way out | sFlow flow 1023, 1025
flow.out.tunnel.src.ip.addr | ip | | 203.0.113.1 | outer source on the way out | sFlow flow 1023, 1025
flow.out.tunnel.dst.ip.addr | ip | | 203.0.113.2 | outer destination on the way out | sFlow flow 1023, 1025
flow.out.tunnel.src.l4.port.id | long | | 40000 | outer source port on the way out | sFlow flow 1023, 1025
flow.out.tunnel.dst.l4.port.id | long | | 4789 | outer destination port on the way out | sFlow flow 1023, 1025
flow.out.tunnel.tcp.flags.bits | long | | 0 | outer flags of TCP on the way out | sFlow flow 1023, 1025
flow.out.tunnel.traffic_class | long | | 0 | outer type of service or priority on the way out | sFlow flow 1023, 1025
flow.in.tunnel.length | long | bytes | 1500 | outer IP length on the way in | sFlow flow 1024, 1026
flow.in.tunnel.l4.proto.id | long | | 47 | outer protocol on the way in | sFlow flow 1024, 1026
flow.in.tunnel.src.ip.addr | ip | | 203.0.113.1 | outer source on the way in | sFlow flow 1024, 1026
flow.in.tunnel.dst.ip.addr | ip | | 203.0.113.2 | outer destination on the way in | sFlow flow 1024, 1026
flow.in.tunnel.src.l4.port.id | long | | 40000 | outer source port on the way in | sFlow flow 1024, 1026
flow.in.tunnel.dst.l4.port.id | long | | 4789 | outer destination port on the way in | sFlow flow 1024, 1026
flow.in.tunnel.tcp.flags.bits | long | | 0 | outer flags of TCP on the way in | sFlow flow 1024, 1026
flow.in.tunnel.traffic_class | long | | 0 | outer type of service or priority on the way in | sFlow flow 1024, 1026
flow.out.decapsulate.offset | long | bytes | 50 | where the inner header begins, on the way out | sFlow flow 1027
flow.in.decapsulate.offset | long | bytes | 50 | where the inner header begins, on the way in | sFlow flow 1028
flow.out.vni.id | long | | 4096 | VNI on the way out | sFlow flow 1029
flow.in.vni.id | long | | 4096 | VNI on the way in | sFlow flow 1030
flow.in.vlan.tag.ids | long[] | | [100,200] | stack of VLAN tags on the way in | sFlow flow 1034
flow.out.vlan.tag.ids | long[] | | [100,200] | stack of VLAN tags on the way out | sFlow flow 1035
flow.out.queue.id | long | | 3 | queue of the way out | sFlow flow 1036
flow.out.queue.depth.bytes | long | bytes | 4096 | bytes in the queue when the packet came | sFlow flow 1040
flow.sample.time.nanoseconds | unsigned_long | nanoseconds | 1000000000 | when the packet passed, since the epoch, by the agent's clock | sFlow flow 1043
flow.transit.delay.nanoseconds | long | nanoseconds | 800 | time that the packet spent in the device | sFlow flow 1039
flow.socket.l4.proto.id | long | | 6 | protocol of the socket | sFlow flow 2100, 2101
flow.socket.local.ip.addr | ip | | 192.0.2.1 | own address of the socket | sFlow flow 2100, 2101
flow.socket.remote.ip.addr | ip | | 198.51.100.2 | other end's address | sFlow flow 2100, 2101
flow.socket.local.l4.port.id | long | | 443 | own port of the socket | sFlow flow 2100, 2101
flow.socket.remote.l4.port.id | long | | 49152 | other end's port | sFlow flow 2100, 2101
flow.tcp_info.direction.id | long | | 1 | 1 is received, 2 sent | sFlow flow 2209
flow.tcp_info.mss.send | long | bytes | 1448 | largest segment to be sent | sFlow flow 2209
flow.tcp_info.mss.receive | long | bytes | 1448 | largest segment to be received | sFlow flow 2209
flow.tcp_info.unacknowledged | long | packets | 2 | segments that are not acknowledged yet | sFlow flow 2209
flow.tcp_info.lost | long | packets | 0 | segments lost | sFlow flow 2209
flow.tcp_info.retransmitted | long | packets | 0 | segments sent again | sFlow flow 2209
flow.tcp_info.path_mtu | long | bytes | 1500 | largest packet of the path | sFlow flow 2209
flow.tcp_info.rtt.microseconds | long | microseconds | 12000 | round-trip time | sFlow flow 2209
flow.tcp_info.rtt_variance.microseconds | long | microseconds | 900 | variance of the round-trip time | sFlow flow 2209
flow.tcp_info.congestion_window | long | packets | 10 | congestion window | sFlow flow 2209
flow.tcp_info.reordering | long | packets | 3 | reordering metric | sFlow flow 2209
flow.tcp_info.rtt_min.microseconds | long | microseconds | 9000 | least round-trip time | sFlow flow 2209
flow.proxy.socket.l4.proto.id | long | | 6 | protocol of a proxy's socket to the server | sFlow flow 2102, 2103
flow.proxy.socket.local.ip.addr | ip | | 192.0.2.1 | the proxy's address there | sFlow flow 2102, 2103
flow.proxy.socket.remote.ip.addr | ip | | 198.51.100.2 | the server's address | sFlow flow 2102, 2103
flow.proxy.socket.local.l4.port.id | long | | 49152 | the proxy's port there | sFlow flow 2102, 2103
flow.proxy.socket.remote.l4.port.id | long | | 8080 | the server's port | sFlow flow 2102, 2103
flow.proxy.url.text | keyword | | /index.html | URL that a proxy asks the server for | sFlow flow 2207
flow.proxy.url.host | keyword | | app-1.example.com | host of that URL | sFlow flow 2207
flow.http.method.id | long | | 2 | method of an HTTP request: 1 OPTIONS, 2 GET, 3 HEAD, 4 POST, 5 PUT, 6 DELETE, 7 TRACE, 8 CONNECT, 0 another | sFlow flow 2206
flow.http.version.id | long | | 1001 | version of HTTP: 1000 for the major number, and the minor one | sFlow flow 2206
flow.http.x_forwarded_for | keyword | | 198.51.100.2 | X-Forwarded-For of an HTTP request | sFlow flow 2206
flow.http.mime_type | keyword | | text/html | type of the response | sFlow flow 2206
flow.http.request.bytes | unsigned_long | bytes | 120 | content of the request | sFlow flow 2206
flow.http.response.bytes | unsigned_long | bytes | 5400 | content of the response | sFlow flow 2206
flow.http.duration.microseconds | long | microseconds | 800 | time until the response was sent | sFlow flow 2206
flow.http.status.id | long | | 200 | status of the response | sFlow flow 2206
flow.application.name | keyword | | shop | application that did an operation | sFlow flow 2202
flow.application.operation | keyword | | payment | the operation | sFlow flow 2202
flow.application.attributes | keyword | | cc=visa | its attributes | sFlow flow 2202
flow.application.status.id | long | | 0 | how it ended: 0 success, 1 other, 2 time-out, 3 internal error, 4 bad request, 5 forbidden, 6 too large, 7 not implemented, 8 not found, 9 unavailable, 10 unauthorized | sFlow flow 2202
flow.application.status.descr | keyword | | unknown client | more of how it ended | sFlow flow 2202
flow.application.request.bytes | unsigned_long | bytes | 120 | content of the request | sFlow flow 2202
flow.application.response.bytes | unsigned_long | bytes | 5400 | content of the response | sFlow flow 2202
flow.application.duration.microseconds | long | microseconds | 800 | time that it took | sFlow flow 2202
flow.application.parent.name | keyword | | portal | application for which it was done | sFlow flow 2203
flow.application.parent.operation | keyword | | checkout | operation for which it was done | sFlow flow 2203
flow.application.parent.attributes | keyword | | step=3 | attributes of that operation | sFlow flow 2203
flow.application.initiator | keyword | | alice | who asked for it | sFlow flow 2204
flow.application.target | keyword | | bob | whom it was for | sFlow flow 2205
`);

/** What records of SNMP have of any object. */
const snmpFields = fieldRows(`
system.ip.addr | ip | | 192.0.2.254 | address of the device | SNMP
system.host.name | keyword | | core-1 | name of the device | SNMP
snmp.context | keyword | | vlan-10 | context of the agent that the object was read in, where it is not that of the device | SNMP
snmp.object.name | keyword | | IF-MIB::ifXTable | object that was polled | SNMP
snmp.object.entity | keyword | | IF-MIB::ifXTable.7 | row of the object: its name, and of a table the instance | SNMP
snmp.object.instance | keyword | | 7 | row of the object, where no index names it | SNMP
snmp.object.isOddIndex | boolean | | true | the row's instance is no index of the object, and so in snmp.object.instance | SNMP
snmp.trap.oid | keyword | | .1.3.6.1.6.3.1.1.5.3 | which notification it is (RFC 3584) | traps
snmp.trap.name | keyword | | linkDown | its name, or that which a rule gives it | traps
snmp.trap.kind | keyword | | trap | trap or inform | traps
snmp.trap.version | keyword | | 2c | version of SNMP | traps
snmp.trap.user | keyword | | operator | user of version 3 | traps
snmp.trap.uptime | long | milliseconds | 12340 | sysUpTime of the sender | traps
snmp.trap.enterprise | keyword | | .1.3.6.1.4.1.318 | of version 1, or of a trap that was forwarded | traps
snmp.trap.sender.ip.addr | ip | | 192.0.2.9 | the sender, where the trap names another agent | traps
snmp.trap.suppressed | long | | 12 | traps of the sender that were left out before this one | traps
snmp.trap.varbinds | keyword[] | | [".1.3.6.1.4.1.99999.1.0 = hot"] | values that no definition knows | traps
event.severity.level | keyword | | critical | severity that a rule gives | traps
event.category.name | keyword | | availability | category that a rule gives | traps
snmp.rate.interval | double | seconds | 60.02 | time between the two polls that rates and deltas are of | SNMP
snmp.rate.refused | keyword[] | | ["netif.bytes.in narrow"] | counters without a rate, with the reason: reset, narrow, step | SNMP
snmp.object.isPartial | boolean | | true | some of the object's values did not come, or its rows came out of order | SNMP
`);

/** Metrics and tags that the definitions of standard MIBs give, and dashboards ask for; `netif.*` of sFlow are in its table. */
const mibFields = fieldRows(`
netif.mac.addr | keyword | | 00:00:5e:00:53:01 | physical address | ifPhysAddress
netif.mtu | long | bytes | 1500 | largest packet | ifMtu
netif.type.name | keyword | | ethernetCsmacd | kind of the interface | ifType
netif.state.admin.name | keyword | | up | state that is wanted | ifAdminStatus
netif.state.oper.name | keyword | | up | state | ifOperStatus
netif.connector.present.state | boolean | | true | has a physical connector | ifConnectorPresent
netif.descr | keyword | | GigabitEthernet0/0/7 | description by the device | ifDescr
netif.alias | keyword | | uplink to ams2 | description by the operator | ifAlias
ip.dgrms.in | long | packets | 1 | datagrams received | ipInReceives
ip.dgrms.discard.header_error.in | long | packets | 1 | datagrams with errors in their header | ipInHdrErrors
ip.dgrms.discard.addr_error.in | long | packets | 1 | datagrams to an address that is not valid here | ipInAddrErrors
ip.dgrms.fwd.in | long | packets | 1 | datagrams to be forwarded | ipForwDatagrams
ip.dgrms.discard.unkproto.in | long | packets | 1 | datagrams of an unknown protocol | ipInUnknownProtos
ip.dgrms.discard.no_error.in | long | packets | 1 | datagrams discarded on the way in without an error | ipInDiscards
ip.dgrms.deliver.in | long | packets | 1 | datagrams delivered to protocols of this host | ipInDelivers
ip.dgrms.req.out | long | packets | 1 | datagrams that protocols of this host sent | ipOutRequests
ip.dgrms.discard.no_error.out | long | packets | 1 | datagrams discarded on the way out without an error | ipOutDiscards
ip.dgrms.discard.no_route.out | long | packets | 1 | datagrams without a route | ipOutNoRoutes
ip.dgrms.reassem.ok | long | packets | 1 | datagrams put together | ipReasmOKs
ip.dgrms.reassem.fail | long | packets | 1 | datagrams that could not be put together | ipReasmFails
ip.dgrms.frag.ok.out | long | packets | 1 | datagrams fragmented | ipFragOKs
ip.dgrms.frag.fail.out | long | packets | 1 | datagrams that could not be fragmented | ipFragFails
icmp.msgs.in | long | packets | 1 | messages, received | icmpInMsgs
icmp.msgs.error.in | long | packets | 1 | messages with errors, received | icmpInErrors
icmp.msgs.dst_unreach.in | long | packets | 1 | destination unreachable, received | icmpInDestUnreachs
icmp.msgs.time_exceed.in | long | packets | 1 | time exceeded, received | icmpInTimeExcds
icmp.msgs.param_prob.in | long | packets | 1 | parameter problem, received | icmpInParmProbs
icmp.msgs.src_quench.in | long | packets | 1 | source quench, received | icmpInSrcQuenchs
icmp.msgs.redirect.in | long | packets | 1 | redirect, received | icmpInRedirects
icmp.msgs.echo_req.in | long | packets | 1 | echo request, received | icmpInEchos
icmp.msgs.echo_reply.in | long | packets | 1 | echo reply, received | icmpInEchoReps
icmp.msgs.timestamp_req.in | long | packets | 1 | timestamp request, received | icmpInTimestamps
icmp.msgs.timestamp_reply.in | long | packets | 1 | timestamp reply, received | icmpInTimestampReps
icmp.msgs.addr_mask_req.in | long | packets | 1 | address mask request, received | icmpInAddrMasks
icmp.msgs.addr_mask_reply.in | long | packets | 1 | address mask reply, received | icmpInAddrMaskReps
icmp.msgs.out | long | packets | 1 | messages, sent | icmpOutMsgs
icmp.msgs.error.out | long | packets | 1 | messages with errors, sent | icmpOutErrors
icmp.msgs.dst_unreach.out | long | packets | 1 | destination unreachable, sent | icmpOutDestUnreachs
icmp.msgs.time_exceed.out | long | packets | 1 | time exceeded, sent | icmpOutTimeExcds
icmp.msgs.param_prob.out | long | packets | 1 | parameter problem, sent | icmpOutParmProbs
icmp.msgs.src_quench.out | long | packets | 1 | source quench, sent | icmpOutSrcQuenchs
icmp.msgs.redirect.out | long | packets | 1 | redirect, sent | icmpOutRedirects
icmp.msgs.echo_req.out | long | packets | 1 | echo request, sent | icmpOutEchos
icmp.msgs.echo_reply.out | long | packets | 1 | echo reply, sent | icmpOutEchoReps
icmp.msgs.timestamp_req.out | long | packets | 1 | timestamp request, sent | icmpOutTimestamps
icmp.msgs.timestamp_reply.out | long | packets | 1 | timestamp reply, sent | icmpOutTimestampReps
icmp.msgs.addr_mask_req.out | long | packets | 1 | address mask request, sent | icmpOutAddrMasks
icmp.msgs.addr_mask_reply.out | long | packets | 1 | address mask reply, sent | icmpOutAddrMaskReps
tcp.rto.algo.name | keyword | | rfc2988 | how the time of a retransmission is computed | tcpRtoAlgorithm
tcp.rto.min | long | ms | 200 | shortest time until a retransmission | tcpRtoMin
tcp.rto.max | long | ms | 120000 | longest time until a retransmission | tcpRtoMax
tcp.conns.open_active | long | | 1 | connections opened by this host | tcpActiveOpens
tcp.conns.open_passive | long | | 1 | connections opened by others | tcpPassiveOpens
tcp.conns.fail | long | | 1 | attempts that failed | tcpAttemptFails
tcp.conns.reset | long | | 1 | connections reset while established | tcpEstabResets
tcp.conns.establish | long | | 1 | connections that are established | tcpCurrEstab
tcp.segs.in | unsigned_long | packets | 1 | segments received | tcpInSegs, tcpHCInSegs
tcp.segs.out | unsigned_long | packets | 1 | segments sent, without those that are only sent again | tcpOutSegs, tcpHCOutSegs
tcp.segs.retrans | long | packets | 1 | segments sent again | tcpRetransSegs
tcp.errors.in | long | packets | 1 | segments received with errors | tcpInErrs
tcp.errors.out | long | packets | 1 | segments sent with RST | tcpOutRsts
udp.dgrms.in | unsigned_long | packets | 1 | datagrams delivered | udpInDatagrams, udpHCInDatagrams
udp.dgrms.out | unsigned_long | packets | 1 | datagrams sent | udpOutDatagrams, udpHCOutDatagrams
udp.dgrms.unkproto.in | long | packets | 1 | datagrams to a port where nobody listens | udpNoPorts
udp.dgrms.error.in | long | packets | 1 | datagrams that could not be delivered otherwise | udpInErrors
snmp.packets.in | long | packets | 1 | messages received by the agent | snmpInPkts
snmp.packets.out | long | packets | 1 | messages sent by the agent | snmpOutPkts
snmp.errors.too_big.out | long | | 1 | answers tooBig | snmpOutTooBigs
snmp.errors.no_such_names.out | long | | 1 | answers noSuchName | snmpOutNoSuchNames
snmp.errors.bad_values.out | long | | 1 | answers badValue | snmpOutBadValues
snmp.errors.gen_err.out | long | | 1 | answers genErr | snmpOutGenErrs
snmp.pdus.get_req.in | long | | 1 | Get requests received | snmpInGetRequests
snmp.pdus.get_resp.out | long | | 1 | responses sent | snmpOutGetResponses
`);

/** What metadata adds for an address, below its object. */
const ofAddress = (object: string): string => `
${object}.ip.subnet.name | keyword | | office | name by metadata: of the most specific entry around the address that has one | metadata
${object}.ip.subnet.tags | keyword[] | | ["dmz"] | tags by metadata, of all entries around the address | metadata
${object}.isInternal | boolean | | true | true where an entry of metadata says so | metadata
`;

const ofExporter = (object: string): string => `
${object}.vlan.tag.id | unsigned_long | | 100 | VLAN by metadata | metadata
`;

const ofResolved = (object: string): string => `
${object}.host.name | keyword | | mail.example.com | host name by reverse DNS | DNS
`;

const ofEndpoint = (object: string): string => `
${object}.as.org | keyword | | Example Net | organisation of the autonomous system; if so set, PRIVATE of private addresses | MaxMind
${object}.as.label | keyword | | Example Net (64496) | organisation and number of the autonomous system; without an organisation \`AS64496\` | MaxMind; derived
${object}.geo.country.code | keyword | | NL | country | MaxMind
${object}.geo.country.name | keyword | | Netherlands | country | MaxMind
${object}.geo.city.name | keyword | | Amsterdam | city | MaxMind
${object}.geo.continent.code | keyword | | EU | continent | MaxMind
${object}.geo.continent.name | keyword | | Europe | continent | MaxMind
${object}.geo.loc.coord | geo_point | | 52.374,4.8897 | place | MaxMind
${object}.geo.tz.name | keyword | | Europe/Amsterdam | time zone | MaxMind
${object}.l4.port.name | keyword | | https | service, by transport protocol and port | port names
${object}.locality | keyword | | private | internal, private, public or multicast | locality
`;

const ofInterface = (object: string): string => `
${object}.alias | keyword | | uplink | alias of the interface | interface file
${object}.type.name | keyword | | ethernetCsmacd | type of the interface | interface file
${object}.speed | long | bits/s | 10000000000 | speed of the interface | interface file
${object}.tags | keyword[] | | ["transit"] | tags of the interface | interface file
`;

/** What enrichment adds. */
const enrichedFields: readonly RecordField[] = [
  ...["flow.src", "flow.dst", "flow.export", "system"].flatMap((object) => fieldRows(ofAddress(object))),
  ...["flow.export", "system"].flatMap((object) => fieldRows(ofExporter(object))),
  ...["flow.src", "flow.dst", "flow.export"].flatMap((object) => fieldRows(ofResolved(object))),
  ...["flow.src", "flow.dst"].flatMap((object) => fieldRows(ofEndpoint(object))),
  ...["flow.in.netif", "flow.out.netif"].flatMap((object) => fieldRows(ofInterface(object))),
  ...fieldRows(`
flow.locality | keyword | | public | public when one of the ends is, else private when one is that, else internal | locality
app.category.name | keyword | | meetings | category of the application | application files
app.subcategory.name | keyword | | video | category within the category | application files
ip.dscp.name | keyword | | EF | name of the code point | DSCP names
flow.in.ip.dscp.name | keyword | | EF | the same: code points are those with which packets came in | DSCP names
`),
];

/** What is said of both ends of a flow together. */
const ofBoth = fieldRows(`
flow.clisrv.method | keyword | | tcp_syn | the rule that says which end is the client: biflow_direction, initiator, event, tcp_syn, icmp_type, learnt or port | derived
flow.conversation.id | keyword | | 9b1fd0e2c3a45768 | the same for all sessions of a client with a service | derived
flow.session.id | keyword | | 0f5d3c2b1a998877 | the same for both directions of a session | derived
as.label | keyword[] | | ["Example Net (64496)","AS64511"] | autonomous systems of both ends | flow.src, flow.dst
geo.city.name | keyword[] | | ["Amsterdam","Paris"] | cities of both ends | flow.src, flow.dst
geo.country.name | keyword[] | | ["Netherlands","France"] | countries of both ends | flow.src, flow.dst
ip.subnet.tags | keyword[] | | ["dmz"] | tags of both ends | flow.src, flow.dst
sec.threat.name | keyword[] | | ["botnet"] | threats of both ends | flow.src, flow.dst
`);

/** What metadata says of threats, under names that dashboards ask for. */
const threats = fieldRows(`
flow.src.sec.threat.name | keyword | | botnet | threat by metadata (\`.sec.threat.name\`) | metadata
flow.dst.sec.threat.name | keyword | | botnet | threat by metadata (\`.sec.threat.name\`) | metadata
mitre.attack.tactic.name | keyword | | Exfiltration | tactic by metadata | metadata
mitre.attack.technique.name | keyword | | Data Transfer Size Limits | technique by metadata | metadata
`);

/** The fields below `flow.src` again, below `flow.client` or `flow.server`. */
function again(end: "client" | "server"): RecordField[] {
  return [...flowFields, ...enrichedFields, ...threats].flatMap((field) => {
    const [, rest] = /^flow\.src\.(.*)$/.exec(field.name) ?? [];
    if (rest === undefined) return [];
    const description = `of source or destination, whichever is the ${end}`;
    const name = `flow.${end}.${rest}`;
    const source = `flow.src.${rest}, flow.dst.${rest}`;
    return [{ ...field, name, description, source }];
  });
}

const endFields: readonly RecordField[] = [...ofBoth, ...threats, ...again("client"), ...again("server")];

/** What records have that were made of several. */
const rollupFields = fieldRows(`
flow.rollup.records | long | records | 17 | how many records were added up | rollup
`);

/** The fields of records by what they are about, in the order of the docs. */
export const fieldGroups = {
  export: exportFields,
  flow: flowFields,
  packet: packetFields,
  sflow: sflowFields,
  counters: counterFields,
  enriched: enrichedFields,
  ends: endFields,
  rollup: rollupFields,
  snmp: snmpFields,
  mibs: mibFields,
} as const satisfies Readonly<Record<string, readonly RecordField[]>>;

/** Every name that records may have, but those of {@link fieldPatterns} and others that definitions give to metrics of SNMP. */
export const recordFields: readonly RecordField[] = Object.values(fieldGroups).flat();

const byName: ReadonlyMap<string, RecordField> = new Map(recordFields.map((field) => [field.name, field]));

/**
 * What a name of a record is: a field of the table, else that which an `inner` pattern makes of one (`flow.reverse.bytes`), else the
 * pattern that covers it.
 */
export function findField(name: string): RecordField | FieldPattern | undefined {
  const own = byName.get(name);
  if (own !== undefined) return own;
  const pattern = fieldPatterns.find(({ pattern: each }) =>
    each.startsWith("*") ? name.endsWith(each.slice(1)) : name.startsWith(each.slice(0, -1)),
  );
  if (pattern?.type !== "inner") return pattern;
  const rest = name.slice(pattern.pattern.length - 1);
  const inner = findField(`flow.${rest}`) ?? findField(rest);
  return inner === undefined || "pattern" in inner ? inner : { ...inner, name };
}
