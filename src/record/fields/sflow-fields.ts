import { fieldRows } from "./record-field.ts";

/** What samples of sFlow say, other than the headers of their packets. */
export const sflowFields = fieldRows(`
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
