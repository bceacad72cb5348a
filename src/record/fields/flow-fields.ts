import { fieldRows } from "./record-field.ts";

/** What every record of a flow has, and what the header of its datagram says. */
export const exportFields = fieldRows(`
@timestamp | date | | 2026-11-22T04:00:00.250Z | when the datagram was received; of SNMP, when the answer came | all
flow.export.ip.addr | ip | | 192.0.2.254 | the exporter: the sender of the datagram | all
flow.export.relay.ip.addr | ip | | 198.51.100.9 | the sender, where it is a relay whose record names the exporter | IE 130, 131; sFlow
flow.export.type | keyword | | ipfix | netflow, ipfix or sflow | all
flow.export.version.ver | long | | 10 | version of the protocol: NetFlow 1, 5, 7, 9; IPFIX 10; sFlow 5 | all
flow.export.version.name | keyword | | IPFIX | the protocol and its version | all
flow.export.timestamp | date_nanos | | 2026-11-22T04:00:00Z | when the datagram left, by its header | NetFlow, IPFIX
flow.export.sequence | long | | 4711 | sequence number of the datagram | NetFlow v5, v7, v9, IPFIX, sFlow
flow.export.domain.id | long | | 1 | Source ID (v9), observation domain (IPFIX) or sub-agent (sFlow) | NetFlow v9, IPFIX, sFlow
flow.export.domain.name | keyword | | core | name of the observation domain | options: IE 300
flow.export.uptime | long | milliseconds | 86400000 | uptime of the exporter | NetFlow v1, v5, v7, v9, sFlow
flow.export.engine.type | long | | 0 | type of the flow switching engine | NetFlow v5, IE 38
flow.export.engine.id | long | | 1 | number of the flow switching engine | NetFlow v5, IE 39
flow.export.agent.ip.addr | ip | | 192.0.2.253 | the sFlow agent; another than the sender behind a relay | sFlow
flow.export.as.asn | long | | 64496 | the router's own AS | sFlow gateway
flow.record.type | keyword | | options | what is no flow: options, counters, discard (a discarded packet) or sample (of an unknown format); rollup: several flows | all
`);

/** What a flow is: its ends, its counters, its times. */
export const flowFields = fieldRows(`
flow.src.ip.addr | ip | | 192.0.2.1 | source address | IE 8, 27; NetFlow v1, v5, v7; packet
flow.dst.ip.addr | ip | | 198.51.100.2 | destination address | IE 12, 28; NetFlow v1, v5, v7; packet
flow.src.l4.port.id | long | | 49152 | source port | IE 7, 182, 180; NetFlow v1, v5, v7; packet
flow.dst.l4.port.id | long | | 443 | destination port | IE 11, 183, 181; NetFlow v1, v5, v7; packet
flow.src.mac.addr | keyword | | 00:00:5e:00:53:01 | source MAC address | IE 56, 81; packet
flow.dst.mac.addr | keyword | | 00:00:5e:00:53:ff | destination MAC address | IE 80, 57; packet
flow.in.src.mac.addr | keyword | | 00:00:5e:00:53:01 | source MAC address of the packets that came in | IE 56
flow.in.dst.mac.addr | keyword | | 00:00:5e:00:53:ff | destination MAC address of the packets that came in | IE 80
flow.out.src.mac.addr | keyword | | 00:00:5e:00:53:02 | source MAC address of the packets that went out | IE 81
flow.out.dst.mac.addr | keyword | | 00:00:5e:00:53:fe | destination MAC address of the packets that went out | IE 57
flow.src.as.asn | long | | 64496 | autonomous system of the source | IE 16; NetFlow v5, v7; sFlow gateway; MaxMind
flow.dst.as.asn | long | | 64511 | autonomous system of the destination | IE 17; NetFlow v5, v7; sFlow gateway; MaxMind
flow.src.vlan.tag.id | long | | 100 | VLAN on the way in | IE 58, 243; sFlow flow 1001; packet
flow.dst.vlan.tag.id | long | | 200 | VLAN on the way out | IE 59, 254; sFlow flow 1001
flow.in.vlan.tag.id | long | | 100 | VLAN on the way in: as flow.src.vlan.tag.id, as the exporter says it | derived
flow.out.vlan.tag.id | long | | 200 | VLAN on the way out: as flow.dst.vlan.tag.id, as the exporter says it | derived
vlan.tag.id | long[] | | [100,200] | VLANs of both ways, without 0 | derived
hop.src.as.asn | long | | 64500 | autonomous system from which the flow came | IE 129; sFlow gateway
hop.src.as.label | keyword | | AS64500 | its label | IE 129; sFlow gateway
hop.dst.as.asn | long | | 64501 | autonomous system to which the flow went | IE 128; sFlow gateway
hop.dst.as.label | keyword | | AS64501 | its label | IE 128; sFlow gateway
flow.src.vlan.priority | long | | 0 | 802.1p priority on the way in | sFlow flow 1001
flow.dst.vlan.priority | long | | 0 | 802.1p priority on the way out | sFlow flow 1001
flow.src.ip.prefix.length | long | bits | 24 | length of the source's prefix in the routing table | IE 9, 29; NetFlow v5, v7; sFlow flow 1002
flow.dst.ip.prefix.length | long | bits | 24 | length of the destination's prefix in the routing table | IE 13, 30; NetFlow v5, v7; sFlow flow 1002
flow.src.ip.prefix.addr | ip | | 192.0.2.0 | prefix of the source | IE 44, 170
flow.dst.ip.prefix.addr | ip | | 198.51.100.0 | prefix of the destination | IE 45, 169
flow.src.user.name | keyword | | alice | user at the source | sFlow flow 1004
flow.dst.user.name | keyword | | bob | user at the destination | sFlow flow 1004
flow.src.user.charset.id | long | | 106 | character set of the name (MIBenum) | sFlow flow 1004
flow.dst.user.charset.id | long | | 106 | character set of the name (MIBenum) | sFlow flow 1004
flow.user.name | keyword | | alice | user of the flow | IE 371, 40000, 56702; sFlow flow 2206
flow.next_hop.ip.addr | ip | | 203.0.113.9 | next hop; of BGP where sFlow says so | IE 15, 62; NetFlow v1, v5, v7; sFlow flow 1002
flow.bgp.next_hop.ip.addr | ip | | 203.0.113.10 | next hop of BGP | IE 18, 63; sFlow gateway
flow.bgp.as_path | keyword | | 64500 64501 {64502,64503} | AS path to the destination, sets in braces | sFlow gateway
flow.bgp.communities | keyword[] | | ["64496:100","65535:65281"] | communities of the route | sFlow gateway
flow.bgp.local_pref | long | | 100 | local preference of the route | sFlow gateway
flow.bytes | unsigned_long | bytes | 1536000 | bytes that passed: those exported times the sampling rate, rounded; counts since the last record before counts since the beginning | IE 1, 23, 231, 352, 85, 171, 353; NetFlow v1, v5, v7; sFlow
flow.raw.bytes | unsigned_long | bytes | 1500 | bytes as exported; absent where counters are not scaled | IE 1, 23, 231, 352, 85, 171, 353; NetFlow v1, v5, v7; sFlow
flow.bytes_layer | keyword | | l3 | what the bytes are the length of: l2 frames, l3 IP packets, l4 what TCP and UDP carry | IE 1, 23, 231, 352, 85, 171, 353; NetFlow v1, v5, v7; sFlow
flow.packets | unsigned_long | packets | 3072 | packets that passed: those exported times the sampling rate, rounded; counts since the last record before counts since the beginning | IE 2, 24, 298, 86, 172; NetFlow v1, v5, v7; sFlow
flow.raw.packets | unsigned_long | packets | 3 | packets as exported; absent where counters are not scaled | IE 2, 24, 298, 86, 172; NetFlow v1, v5, v7; sFlow
flow.reverse.bytes | unsigned_long | bytes | 9216000 | bytes of the reverse direction, like flow.bytes | IE 232; RFC 5103
flow.reverse.raw.bytes | unsigned_long | bytes | 9000 | bytes of the reverse direction as exported | IE 232; RFC 5103
flow.reverse.bytes_layer | keyword | | l4 | what the bytes of the reverse direction are the length of | IE 232; RFC 5103
flow.reverse.packets | unsigned_long | packets | 12288 | packets of the reverse direction, like flow.packets | IE 299; RFC 5103
flow.reverse.raw.packets | unsigned_long | packets | 12 | packets of the reverse direction as exported | IE 299; RFC 5103
flow.start.timestamp | date_nanos | | 2026-11-22T03:59:55Z | when the first packet was seen; of sFlow, when the sample was received; of the beginning of a packet, when it was observed | IE 156, 154, 152, 158, 150, 22, 325, 324, 323, 322; NetFlow v1, v5, v7; sFlow
flow.end.timestamp | date_nanos | | 2026-11-22T03:59:59Z | when the last packet was seen; of sFlow, when the sample was received; of the beginning of a packet, when it was observed | IE 157, 155, 153, 159, 151, 21, 325, 324, 323, 322; NetFlow v1, v5, v7; sFlow
flow.end.reason.id | long | | 3 | why the flow ended | IE 136
flow.end.reason.name | keyword | | end of flow | why the flow ended, IANA's text | IE 136
flow.direction.name | keyword | | ingress | ingress or egress: where the flow was seen | IE 61; sFlow
flow.biflow.direction.id | long | | 1 | who of source and destination began the flow | IE 239
flow.biflow.direction.name | keyword | | initiator | who of source and destination began the flow, IANA's text | IE 239
flow.sample_rate | double | | 1024 | one packet of this many was sampled | sampling
flow.scaled.bytes | unsigned_long | bytes | 1536000 | where counters are not scaled: the estimate, flow.bytes times the sampling rate, rounded | sampling
flow.scaled.packets | unsigned_long | packets | 3072 | where counters are not scaled: the estimate, flow.packets times the sampling rate, rounded | sampling
flow.reverse.scaled.bytes | unsigned_long | bytes | 9216000 | the same for flow.reverse.bytes | sampling
flow.reverse.scaled.packets | unsigned_long | packets | 12288 | the same for flow.reverse.packets | sampling
flow.sampling.assumed | boolean |  | true | nobody says the sampling rate: it counts as 1; else absent | derived
flow.sampling.overflow | boolean | | true | an estimate is beyond 2^64 - 1 and was cut there; else absent | derived
flow.community.id | keyword | | 1:tmIDbdVY/GLXuTE0vrCPeV25xCg= | Community ID version 1: the same for both directions and in every tool | derived
flow.in.netif.index | long | | 7 | ifIndex of the way in; 0 is not known | IE 10, 252; NetFlow v1, v5, v7; sFlow
flow.out.netif.index | long | | 8 | ifIndex of the way out; 0 is not known | IE 14, 253; NetFlow v1, v5, v7; sFlow
flow.in.netif.name | keyword | | xe-0/0/7 | name of the interface | IE 82 in options or for both interfaces; SNMP; interface file
flow.out.netif.name | keyword | | xe-0/0/8 | name of the interface | IE 82 in options or for both interfaces; SNMP; interface file
flow.in.netif.descr | keyword | | to core-1 | description of the interface | IE 83 in options or for both interfaces; interface file
flow.out.netif.descr | keyword | | to core-2 | description of the interface | IE 83 in options or for both interfaces; interface file
flow.in.netif.isInternal | boolean | | true | in place of an index: the packet came from the device itself | sFlow
flow.out.netif.isInternal | boolean | | true | in place of an index: the packet went to the device itself | sFlow
flow.in.netif.format.id | long | | 3 | format of an interface value that is not known | sFlow
flow.in.netif.value | long | | 5 | interface value of a format that is not known | sFlow
flow.out.netif.count | long | | 2 | in place of an index: the number of interfaces that the packet was sent to, 0 when that is not known | sFlow
flow.out.netif.format.id | long | | 3 | format of an interface value that is not known | sFlow
flow.out.netif.value | long | | 5 | interface value of a format that is not known | sFlow
flow.in.vrf.id | long | | 1 | VRF of the way in | IE 234
flow.out.vrf.id | long | | 2 | VRF of the way out | IE 235
flow.in.vrf.name | keyword | | red | name of the VRF | options: IE 236
flow.out.vrf.name | keyword | | blue | name of the VRF | options: IE 236
flow.in.vrf.rd | keyword | | 65000:100 | route distinguisher of the VRF | options: IE 90
flow.out.vrf.rd | keyword | | 192.0.2.1:5 | route distinguisher of the VRF | options: IE 90
flow.in.acl.id | keyword | | 0x0badc0de0000000100000002 | access list of the way in, in hex | IE 33000
flow.out.acl.id | keyword | | 0x0badc0de0000000100000002 | access list of the way out, in hex | IE 33001
flow.acl.id | long | | 100 | number of the access list | sFlow flow 1037
flow.acl.name | keyword | | edge-in | name of the access list | sFlow flow 1037
flow.acl.direction.id | long | | 1 | 1 is ingress, 2 egress | sFlow flow 1037
flow.forwarding.status.id | long | | 64 | forwarding status and reason | IE 89; Juniper 2636/137
flow.forwarding.status.name | keyword | | Forwarded | forwarding status by the upper two bits | IE 89; Juniper 2636/137
flow.forwarding.reason.name | keyword | | Unknown | reason of the status, IANA's text | IE 89
flow.forwarding.exception.id | long | | 66 | code of a forwarding exception; 0 is none | Juniper 2636/137
flow.http.user_agent | keyword | | curl/8.5.0 | user agent of an HTTP request | Cisco 9/12235; sFlow flow 2206
flow.http.referer | keyword | | http://www.example.com/ | referer of an HTTP request | Cisco 9/12235; sFlow flow 2206
flow.tls.common_name | keyword | | www.example.com | common name of the certificate | Cisco 9/12235
flow.rtsp.host | keyword | | media.example.com | host of RTSP | Cisco 9/12235
flow.smtp.server | keyword | | mail.example.com | server of SMTP | Cisco 9/12235
flow.smtp.sender | keyword | | alice@example.com | sender of SMTP | Cisco 9/12235
flow.pop3.server | keyword | | mail.example.com | server of POP3 | Cisco 9/12235
flow.nntp.group | keyword | | comp.protocols | group of NNTP | Cisco 9/12235
flow.sip.src.domain | keyword | | example.com | source domain of SIP | Cisco 9/12235
flow.sip.dst.domain | keyword | | example.net | destination domain of SIP | Cisco 9/12235
flow.firewall.event.id | long | | 2 | event of the firewall | IE 233, 40005
flow.firewall.event.name | keyword | | Flow Deleted | event of the firewall, IANA's text | IE 233, 40005
flow.firewall.extended_event.id | long | | 1001 | cause of a denied flow (Cisco) | IE 33002
flow.firewall.extended_event.name | keyword | | denied by ingress ACL | cause of a denied flow (Cisco) | IE 33002
flow.src.nat.ip.addr | ip | | 203.0.113.7 | source address after translation | IE 225, 281, 40001; sFlow flow 1007
flow.dst.nat.ip.addr | ip | | 10.0.0.7 | destination address after translation | IE 226, 282, 40002; sFlow flow 1007
flow.src.nat.l4.port.id | long | | 40000 | source port after translation | IE 227, 40003; sFlow flow 1020
flow.dst.nat.l4.port.id | long | | 8080 | destination port after translation | IE 228, 40004; sFlow flow 1020
flow.nat.event.id | long | | 4 | event of address translation | IE 230
flow.nat.event.name | keyword | | NAT44 session create | event of address translation, IANA's text | IE 230
flow.nat.type.id | long | | 1 | kind of address translation | IE 297
flow.nat.type.name | keyword | | NAT44 translated | kind of address translation, IANA's text | IE 297
flow.nat.quota_event.id | long | | 1 | which limit of address translation was reached | IE 466
flow.nat.quota_event.name | keyword | | Maximum session entries | which limit of address translation was reached, IANA's text | IE 466
flow.nat.threshold_event.id | long | | 1 | which threshold of address translation was crossed | IE 467
flow.nat.threshold_event.name | keyword | | Address pool high threshold event | which threshold of address translation was crossed, IANA's text | IE 467
flow.router_shortcut.ip.addr | ip | | 192.0.2.253 | router whose work the switch took over | NetFlow v7
flow.netflow7.flags.fields | long | | 0 | which fields are not valid | NetFlow v7
flow.netflow7.flags.flow | long | | 0 | flags of the flow | NetFlow v7
flow.list.semantics | keyword[] | | ["all_of"] | what each list of the record says of its elements (RFC 6313) | IE 291, 292, 293
app.id | keyword | | 13:495 | application: engine, colon, selector (RFC 6759) | IE 95
app.name | keyword | | ssh | name of the application | IE 96, 56701; options: IE 96; application files
`);

/** What the headers of a packet say. */
export const packetFields = fieldRows(`
ip.version.ver | long | | 4 | IP version; by the addresses where the exporter does not send it | IE 60; packet; derived
ip.version.name | keyword | | IPv4 | IPv4 or IPv6 | derived
ip.dscp.id | long | | 46 | code point of DiffServ | IE 195, 5; NetFlow v1, v5, v7; packet
ip.ecn.id | long | | 0 | explicit congestion notification | IE 5; NetFlow v1, v5, v7; packet
l4.proto.id | long | | 6 | IP protocol | IE 4; NetFlow v1, v5, v7; packet
l4.proto.name | keyword | | TCP | IP protocol, IANA's keyword | IE 4; NetFlow v1, v5, v7; packet
tcp.flags.bits | long | | 18 | flags of TCP, of all packets together | IE 6; NetFlow v1, v5, v7; packet
tcp.flags.tags | keyword[] | | ["SYN","ACK"] | flags of TCP that are set, lowest bit first | IE 6; NetFlow v1, v5, v7; packet
tcp.options.bits | unsigned_long | | 284 | options of TCP: the bit of each kind | IE 209
tcp.options.tags | keyword[] | | ["MSS","WSOPT","SACKPERM","TSOPT"] | options of TCP, lowest kind first; of IE 209 where the order of its bits is clear | IE 209, 520
l4.session.established | boolean | | true | whether a session of TCP was established, where the flags say it | derived
icmp.type.id | long | | 8 | type of ICMP; by the destination port where the exporter sends it so | IE 176, 178, 32, 139; packet; derived
icmp.code.id | long | | 0 | code of ICMP | IE 177, 179, 32, 139; packet; derived
icmp.type.name | keyword | | Destination Unreachable | type of ICMP, IANA's name | derived
icmp.code.name | keyword | | Port Unreachable | code of ICMP, IANA's name | derived
mpls.top_label.id | long | | 100 | topmost label | IE 70; packet
mpls.top_label.type.id | long | | 4 | who gave the topmost label | IE 46
mpls.top_label.type.name | keyword | | BGP | who gave the topmost label, IANA's text | IE 46
mpls.vpn.rd | keyword | | 65000:100 | route distinguisher (RFC 4364) | IE 90
mpls.label.id | long[] | | [100,101] | labels, the top first | IE 70; packet
mpls.label.exp | long[] | | [0,0] | experimental bits of the labels | IE 70; packet
mpls.label.bottom | boolean[] | | [false,true] | bottom-of-stack bits of the labels | IE 70
flow.tunnel.type.name | keyword | | vxlan | tunnel that the packet came in: ipip, gre, erspan, vxlan, geneve, gtp-u, mpls-in-ip, etherip, eompls, pbb, teredo, mpls-in-udp, vxlan-gpe, nsh, capwap, wccp, l2tp, pptp, ethernet-in-ip, gre-in-udp, fabricpath, nvgre | packet; IE 4, 351
flow.tunnel.id | long | | 4096 | VNI, key, session, TEID, I-SID, radio or service of the tunnel; forwarding tag of FabricPath | packet; IE 351
flow.tunnel.service_path.id | long | | 42 | service path of an NSH (RFC 8300) | packet
flow.tunnel.service_path.index | long | | 255 | place on the service path | packet
`);
