// Generated from definitions/fields.tsv by scripts/generate-definitions.js; do not edit.
export const fieldsTable = `group	name	type	unit	elements	ecs	distinct	label	explore	short	values	example	text	from
export	@timestamp	date					time received	1	time=when the record was received		2026-11-22T04:00:00.250Z	when the datagram was received; of SNMP, when the answer came	all
export	flow.export.ip.addr	ip			host.ip		address	38r	exporter=address of the exporter		192.0.2.254	the exporter: the sender of the datagram	all
export	flow.export.relay.ip.addr	ip									198.51.100.9	the sender, where it is a relay whose record names the exporter	IE 130, 131; sFlow
export	flow.export.type	keyword			event.dataset		protocol	41r	protocol=netflow, ipfix or sflow	netflow,ipfix,sflow	ipfix	netflow, ipfix or sflow	all
export	flow.export.version.ver	long									10	version of the protocol: NetFlow 1, 5, 7, 9; IPFIX 10; sFlow 5	all
export	flow.export.version.name	keyword									IPFIX	the protocol and its version	all
export	flow.export.timestamp	date_nanos									2026-11-22T04:00:00Z	when the datagram left, by its header	NetFlow, IPFIX
export	flow.export.sequence	long									4711	sequence number of the datagram	NetFlow v5, v7, v9, IPFIX, sFlow
export	flow.export.domain.id	long									1	Source ID (v9), observation domain (IPFIX) or sub-agent (sFlow)	NetFlow v9, IPFIX, sFlow
export	flow.export.domain.name	keyword									core	name of the observation domain	options: IE 300
export	flow.export.uptime	long	milliseconds								86400000	uptime of the exporter	NetFlow v1, v5, v7, v9, sFlow
export	flow.export.engine.type	long		38							0	type of the flow switching engine	NetFlow v5
export	flow.export.engine.id	long		39							1	number of the flow switching engine	NetFlow v5
export	flow.export.agent.ip.addr	ip									192.0.2.253	the sFlow agent; another than the sender behind a relay	sFlow
export	flow.export.as.asn	long					AS number				64496	the router's own AS	sFlow gateway
export	flow.record.type	keyword							type=what is no flow: options, counters, …		options	what is no flow: options, counters, discard (a discarded packet) or sample (of an unknown format); rollup: several flows	all
flow	flow.src.ip.addr	ip		8 27	source.ip		address	6 client:17 server:18	src=source address; addr; src.ip=address of the source; ip		192.0.2.1	source address	NetFlow v1, v5, v7; packet
flow	flow.dst.ip.addr	ip		12 28	destination.ip		address	7	dst=destination address; addr=address of either end; dst.ip=address of the destination; ip=address of either end		198.51.100.2	destination address	NetFlow v1, v5, v7; packet
flow	flow.src.l4.port.id	long		7 182 180	source.port		port	10 server:21r	src.port=port of the source; port		49152	source port	NetFlow v1, v5, v7; packet
flow	flow.dst.l4.port.id	long		11 183 181	destination.port		port	11	dst.port=port of the destination; port=port of either end		443	destination port	NetFlow v1, v5, v7; packet
flow	flow.src.mac.addr	keyword		56 81		distinct			src.mac=MAC address of the source; mac		00:00:5e:00:53:01	source MAC address	packet
flow	flow.dst.mac.addr	keyword		80 57		distinct			dst.mac=MAC address of the destination; mac=MAC address of either end		00:00:5e:00:53:ff	destination MAC address	packet
flow	flow.in.src.mac.addr	keyword		56		distinct					00:00:5e:00:53:01	source MAC address of the packets that came in	
flow	flow.in.dst.mac.addr	keyword		80		distinct					00:00:5e:00:53:ff	destination MAC address of the packets that came in	
flow	flow.out.src.mac.addr	keyword		81		distinct					00:00:5e:00:53:02	source MAC address of the packets that went out	
flow	flow.out.dst.mac.addr	keyword		57		distinct					00:00:5e:00:53:fe	destination MAC address of the packets that went out	
flow	flow.src.as.asn	long		16	source.as.number		AS number	28r	src.as=autonomous system of the source; as		64496	autonomous system of the source	NetFlow v5, v7; sFlow gateway; MaxMind
flow	flow.dst.as.asn	long		17	destination.as.number		AS number	29r	dst.as=autonomous system of the destination; as=autonomous system of either end		64511	autonomous system of the destination	NetFlow v5, v7; sFlow gateway; MaxMind
flow	flow.src.vlan.tag.id	long		58 243			VLAN	50r	src.vlan=VLAN of the source; vlan		100	VLAN on the way in	sFlow flow 1001; packet
flow	flow.dst.vlan.tag.id	long		59 254			VLAN	51r	dst.vlan=VLAN of the destination; vlan=VLAN of either end		200	VLAN on the way out	sFlow flow 1001
flow	flow.in.vlan.tag.id	long			network.vlan.id		VLAN				100	VLAN on the way in: as flow.src.vlan.tag.id, as the exporter says it	derived
flow	flow.out.vlan.tag.id	long					VLAN				200	VLAN on the way out: as flow.dst.vlan.tag.id, as the exporter says it	derived
flow	vlan.tag.id	long[]					VLAN				[100,200]	VLANs of both ways, without 0	derived
flow	hop.src.as.asn	long		129							64500	autonomous system from which the flow came	sFlow gateway
flow	hop.src.as.label	keyword		129:asLabel							AS64500	its label	sFlow gateway
flow	hop.dst.as.asn	long		128							64501	autonomous system to which the flow went	sFlow gateway
flow	hop.dst.as.label	keyword		128:asLabel							AS64501	its label	sFlow gateway
flow	flow.src.vlan.priority	long									0	802.1p priority on the way in	sFlow flow 1001
flow	flow.dst.vlan.priority	long									0	802.1p priority on the way out	sFlow flow 1001
flow	flow.src.ip.prefix.length	long	bits	9 29							24	length of the source's prefix in the routing table	NetFlow v5, v7; sFlow flow 1002
flow	flow.dst.ip.prefix.length	long	bits	13 30							24	length of the destination's prefix in the routing table	NetFlow v5, v7; sFlow flow 1002
flow	flow.src.ip.prefix.addr	ip		44 170							192.0.2.0	prefix of the source	
flow	flow.dst.ip.prefix.addr	ip		45 169							198.51.100.0	prefix of the destination	
flow	flow.src.user.name	keyword			source.user.name						alice	user at the source	sFlow flow 1004
flow	flow.dst.user.name	keyword			destination.user.name						bob	user at the destination	sFlow flow 1004
flow	flow.src.user.charset.id	long									106	character set of the name (MIBenum)	sFlow flow 1004
flow	flow.dst.user.charset.id	long									106	character set of the name (MIBenum)	sFlow flow 1004
flow	flow.user.name	keyword		371 40000 56702	user.name						alice	user of the flow	sFlow flow 2206
flow	flow.next_hop.ip.addr	ip		15 62			next hop	49	next_hop=next hop		203.0.113.9	next hop; of BGP where sFlow says so	NetFlow v1, v5, v7; sFlow flow 1002
flow	flow.bgp.next_hop.ip.addr	ip		18 63							203.0.113.10	next hop of BGP	sFlow gateway
flow	flow.bgp.as_path	keyword				distinct					64500 64501 {64502,64503}	AS path to the destination, sets in braces	sFlow gateway
flow	flow.bgp.communities	keyword[]									["64496:100","65535:65281"]	communities of the route	sFlow gateway
flow	flow.bgp.local_pref	long									100	local preference of the route	sFlow gateway
flow	flow.bytes	unsigned_long	bytes	1 23 231 352 85 171 353	network.bytes			62	bytes=bytes		1536000	bytes that passed: those exported times the sampling rate, rounded; counts since the last record before counts since the beginning	NetFlow v1, v5, v7; sFlow
flow	flow.raw.bytes	unsigned_long	bytes								1500	bytes as exported; absent where counters are not scaled	IE 1, 23, 231, 352, 85, 171, 353; NetFlow v1, v5, v7; sFlow
flow	flow.bytes_layer	keyword		1:l3 23:l3 231:l4 352:l2 85:l3 171:l3 353:l2							l3	what the bytes are the length of: l2 frames, l3 IP packets, l4 what TCP and UDP carry	NetFlow v1, v5, v7; sFlow
flow	flow.packets	unsigned_long	packets	2 24 298 86 172	network.packets			63	packets=packets		3072	packets that passed: those exported times the sampling rate, rounded; counts since the last record before counts since the beginning	NetFlow v1, v5, v7; sFlow
flow	flow.raw.packets	unsigned_long	packets								3	packets as exported; absent where counters are not scaled	IE 2, 24, 298, 86, 172; NetFlow v1, v5, v7; sFlow
flow	flow.reverse.bytes	unsigned_long	bytes	232							9216000	bytes of the reverse direction, like flow.bytes	RFC 5103
flow	flow.reverse.raw.bytes	unsigned_long	bytes								9000	bytes of the reverse direction as exported	IE 232; RFC 5103
flow	flow.reverse.bytes_layer	keyword		232:l4							l4	what the bytes of the reverse direction are the length of	RFC 5103
flow	flow.reverse.packets	unsigned_long	packets	299							12288	packets of the reverse direction, like flow.packets	RFC 5103
flow	flow.reverse.raw.packets	unsigned_long	packets								12	packets of the reverse direction as exported	IE 299; RFC 5103
flow	flow.start.timestamp	date_nanos		156 154 152 158:microsecondsBefore 150 22:uptime	event.start		time of the first packet	60	start=when the first packet was seen		2026-11-22T03:59:55Z	when the first packet was seen; of sFlow, when the sample was received; of the beginning of a packet, when it was observed	IE 325, 324, 323, 322; NetFlow v1, v5, v7; sFlow
flow	flow.end.timestamp	date_nanos		157 155 153 159:microsecondsBefore 151 21:uptime	event.end		time of the last packet	61	end=when the last packet was seen		2026-11-22T03:59:59Z	when the last packet was seen; of sFlow, when the sample was received; of the beginning of a packet, when it was observed	IE 325, 324, 323, 322; NetFlow v1, v5, v7; sFlow
flow	flow.end.reason.id	long		136							3	why the flow ended	
flow	flow.end.reason.name	keyword		136:endReasonName							end of flow	why the flow ended, IANA's text	
flow	flow.direction.name	keyword		61:directionName	network.direction lower		direction	48r	direction=ingress or egress	ingress,egress	ingress	ingress or egress: where the flow was seen	sFlow
flow	flow.biflow.direction.id	long		239							1	who of source and destination began the flow	
flow	flow.biflow.direction.name	keyword		239:biflowDirectionName							initiator	who of source and destination began the flow, IANA's text	
flow	flow.sample_rate	double					sampling rate	59			1024	one packet of this many was sampled	sampling
flow	flow.scaled.bytes	unsigned_long	bytes				bytes (estimate)	64			1536000	where counters are not scaled: the estimate, flow.bytes times the sampling rate, rounded	sampling
flow	flow.scaled.packets	unsigned_long	packets				packets (estimate)	65			3072	where counters are not scaled: the estimate, flow.packets times the sampling rate, rounded	sampling
flow	flow.reverse.scaled.bytes	unsigned_long	bytes								9216000	the same for flow.reverse.bytes	sampling
flow	flow.reverse.scaled.packets	unsigned_long	packets								12288	the same for flow.reverse.packets	sampling
flow	flow.sampling.assumed	boolean									true	nobody says the sampling rate: it counts as 1; else absent	derived
flow	flow.sampling.overflow	boolean									true	an estimate is beyond 2^64 - 1 and was cut there; else absent	derived
flow	flow.community.id	keyword			network.community_id	distinct					1:tmIDbdVY/GLXuTE0vrCPeV25xCg=	Community ID version 1: the same for both directions and in every tool	derived
flow	flow.in.netif.index	long		10 252			interface index	42r	in.if=ifIndex of the way in		7	ifIndex of the way in; 0 is not known	NetFlow v1, v5, v7; sFlow
flow	flow.out.netif.index	long		14 253			interface index	43r	out.if=ifIndex of the way out		8	ifIndex of the way out; 0 is not known	NetFlow v1, v5, v7; sFlow
flow	flow.in.netif.name	keyword			observer.ingress.interface.name		interface	44r	in.if.name=name of the interface of the way in		xe-0/0/7	name of the interface	IE 82 in options or for both interfaces; SNMP; interface file
flow	flow.out.netif.name	keyword			observer.egress.interface.name		interface	45r	out.if.name=name of the interface of the way out		xe-0/0/8	name of the interface	IE 82 in options or for both interfaces; SNMP; interface file
flow	flow.in.netif.descr	keyword									to core-1	description of the interface	IE 83 in options or for both interfaces; interface file
flow	flow.out.netif.descr	keyword									to core-2	description of the interface	IE 83 in options or for both interfaces; interface file
flow	flow.in.netif.isInternal	boolean									true	in place of an index: the packet came from the device itself	sFlow
flow	flow.out.netif.isInternal	boolean									true	in place of an index: the packet went to the device itself	sFlow
flow	flow.in.netif.format.id	long									3	format of an interface value that is not known	sFlow
flow	flow.in.netif.value	long									5	interface value of a format that is not known	sFlow
flow	flow.out.netif.count	long									2	in place of an index: the number of interfaces that the packet was sent to, 0 when that is not known	sFlow
flow	flow.out.netif.format.id	long									3	format of an interface value that is not known	sFlow
flow	flow.out.netif.value	long									5	interface value of a format that is not known	sFlow
flow	flow.in.vrf.id	long		234							1	VRF of the way in	
flow	flow.out.vrf.id	long		235							2	VRF of the way out	
flow	flow.in.vrf.name	keyword									red	name of the VRF	options: IE 236
flow	flow.out.vrf.name	keyword									blue	name of the VRF	options: IE 236
flow	flow.in.vrf.rd	keyword									65000:100	route distinguisher of the VRF	options: IE 90
flow	flow.out.vrf.rd	keyword									192.0.2.1:5	route distinguisher of the VRF	options: IE 90
flow	flow.in.acl.id	keyword		33000							0x0badc0de0000000100000002	access list of the way in, in hex	
flow	flow.out.acl.id	keyword		33001							0x0badc0de0000000100000002	access list of the way out, in hex	
flow	flow.acl.id	long									100	number of the access list	sFlow flow 1037
flow	flow.acl.name	keyword									edge-in	name of the access list	sFlow flow 1037
flow	flow.acl.direction.id	long									1	1 is ingress, 2 egress	sFlow flow 1037
flow	flow.forwarding.status.id	long		89							64	forwarding status and reason	Juniper 2636/137
flow	flow.forwarding.status.name	keyword		89:forwardingStatusName							Forwarded	forwarding status by the upper two bits	Juniper 2636/137
flow	flow.forwarding.reason.name	keyword		89:forwardingReasonName							Unknown	reason of the status, IANA's text	
flow	flow.forwarding.exception.id	long									66	code of a forwarding exception; 0 is none	Juniper 2636/137
flow	flow.http.user_agent	keyword			user_agent.original						curl/8.5.0	user agent of an HTTP request	Cisco 9/12235; sFlow flow 2206
flow	flow.http.referer	keyword			http.request.referrer	distinct					http://www.example.com/	referer of an HTTP request	Cisco 9/12235; sFlow flow 2206
flow	flow.tls.common_name	keyword									www.example.com	common name of the certificate	Cisco 9/12235
flow	flow.rtsp.host	keyword									media.example.com	host of RTSP	Cisco 9/12235
flow	flow.smtp.server	keyword									mail.example.com	server of SMTP	Cisco 9/12235
flow	flow.smtp.sender	keyword									alice@example.com	sender of SMTP	Cisco 9/12235
flow	flow.pop3.server	keyword									mail.example.com	server of POP3	Cisco 9/12235
flow	flow.nntp.group	keyword									comp.protocols	group of NNTP	Cisco 9/12235
flow	flow.sip.src.domain	keyword									example.com	source domain of SIP	Cisco 9/12235
flow	flow.sip.dst.domain	keyword									example.net	destination domain of SIP	Cisco 9/12235
flow	flow.firewall.event.id	long		233 40005							2	event of the firewall	
flow	flow.firewall.event.name	keyword		233:firewallEventName 40005:firewallEventName							Flow Deleted	event of the firewall, IANA's text	
flow	flow.firewall.extended_event.id	long		33002							1001	cause of a denied flow (Cisco)	
flow	flow.firewall.extended_event.name	keyword		33002:firewallExtendedEventName							denied by ingress ACL	cause of a denied flow (Cisco)	
flow	flow.src.nat.ip.addr	ip		225 281 40001	source.nat.ip						203.0.113.7	source address after translation	sFlow flow 1007
flow	flow.dst.nat.ip.addr	ip		226 282 40002	destination.nat.ip						10.0.0.7	destination address after translation	sFlow flow 1007
flow	flow.src.nat.l4.port.id	long		227 40003	source.nat.port						40000	source port after translation	sFlow flow 1020
flow	flow.dst.nat.l4.port.id	long		228 40004	destination.nat.port						8080	destination port after translation	sFlow flow 1020
flow	flow.nat.event.id	long		230							4	event of address translation	
flow	flow.nat.event.name	keyword		230:natEventName							NAT44 session create	event of address translation, IANA's text	
flow	flow.nat.type.id	long		297							1	kind of address translation	
flow	flow.nat.type.name	keyword		297:natTypeName							NAT44 translated	kind of address translation, IANA's text	
flow	flow.nat.quota_event.id	long		466							1	which limit of address translation was reached	
flow	flow.nat.quota_event.name	keyword		466:natQuotaEventName							Maximum session entries	which limit of address translation was reached, IANA's text	
flow	flow.nat.threshold_event.id	long		467							1	which threshold of address translation was crossed	
flow	flow.nat.threshold_event.name	keyword		467:natThresholdEventName							Address pool high threshold event	which threshold of address translation was crossed, IANA's text	
flow	flow.router_shortcut.ip.addr	ip									192.0.2.253	router whose work the switch took over	NetFlow v7
flow	flow.netflow7.flags.fields	long									0	which fields are not valid	NetFlow v7
flow	flow.netflow7.flags.flow	long									0	flags of the flow	NetFlow v7
flow	flow.list.semantics	keyword[]									["all_of"]	what each list of the record says of its elements (RFC 6313)	IE 291, 292, 293
flow	app.id	keyword		95:applicationId							13:495	application: engine, colon, selector (RFC 6759)	
flow	app.name	keyword		96 56701	network.application lower		application	16r			ssh	name of the application	options: IE 96; application files
packet	ip.version.ver	long		60			IP version	54r	ip.version=IP version		4	IP version; by the addresses where the exporter does not send it	packet; derived
packet	ip.version.name	keyword			network.type lower						IPv4	IPv4 or IPv6	derived
packet	ip.dscp.id	long		195 5:dscp					dscp=code point of DiffServ		46	code point of DiffServ	NetFlow v1, v5, v7; packet
packet	ip.ecn.id	long		5:ecn							0	explicit congestion notification	NetFlow v1, v5, v7; packet
packet	l4.proto.id	long		4			protocol number	15r	proto=IP protocol: a number, or a name such as tcp		6	IP protocol	NetFlow v1, v5, v7; packet
packet	l4.proto.name	keyword		4:protocolName	network.transport lower		protocol	14r			TCP	IP protocol, IANA's keyword	NetFlow v1, v5, v7; packet
packet	tcp.flags.bits	long		6:tcpBits			TCP flags (bits)	56			18	flags of TCP, of all packets together	NetFlow v1, v5, v7; packet
packet	tcp.flags.tags	keyword[]		6:tcpTags			TCP flag	57	tcp.flag=flag of TCP that is set, such as SYN	FIN,SYN,RST,PSH,ACK,URG,ECE,CWR,AE	["SYN","ACK"]	flags of TCP that are set, lowest bit first	NetFlow v1, v5, v7; packet
packet	tcp.options.bits	unsigned_long		209							284	options of TCP: the bit of each kind	
packet	tcp.options.tags	keyword[]		209:tcpOptionTags							["MSS","WSOPT","SACKPERM","TSOPT"]	options of TCP, lowest kind first; of IE 209 where the order of its bits is clear	IE 520
packet	l4.session.established	boolean									true	whether a session of TCP was established, where the flags say it	derived
packet	icmp.type.id	long		176 178 32:icmpType 139:icmpType			ICMP type	58	icmp.type=type of ICMP		8	type of ICMP; by the destination port where the exporter sends it so	packet; derived
packet	icmp.code.id	long		177 179 32:icmpCode 139:icmpCode					icmp.code=code of ICMP		0	code of ICMP	packet; derived
packet	icmp.type.name	keyword									Destination Unreachable	type of ICMP, IANA's name	derived
packet	icmp.code.name	keyword									Port Unreachable	code of ICMP, IANA's name	derived
packet	mpls.top_label.id	long									100	topmost label	IE 70; packet
packet	mpls.top_label.type.id	long		46							4	who gave the topmost label	
packet	mpls.top_label.type.name	keyword		46:mplsLabelTypeName							BGP	who gave the topmost label, IANA's text	
packet	mpls.vpn.rd	keyword		90:routeDistinguisher							65000:100	route distinguisher (RFC 4364)	
packet	mpls.label.id	long[]									[100,101]	labels, the top first	IE 70; packet
packet	mpls.label.exp	long[]									[0,0]	experimental bits of the labels	IE 70; packet
packet	mpls.label.bottom	boolean[]									[false,true]	bottom-of-stack bits of the labels	IE 70
packet	flow.tunnel.type.name	keyword									vxlan	tunnel that the packet came in: ipip, gre, erspan, vxlan, geneve, gtp-u, mpls-in-ip, etherip, eompls, pbb, teredo, mpls-in-udp, vxlan-gpe, nsh, capwap, wccp, l2tp, pptp, ethernet-in-ip, gre-in-udp, fabricpath, nvgre	packet; IE 4, 351
packet	flow.tunnel.id	long									4096	VNI, key, session, TEID, I-SID, radio or service of the tunnel; forwarding tag of FabricPath	packet; IE 351
packet	flow.tunnel.service_path.id	long									42	service path of an NSH (RFC 8300)	packet
packet	flow.tunnel.service_path.index	long									255	place on the service path	packet
sflow	flow.sample.sequence	long									17	number of the sample	sFlow
sflow	flow.sample.pool	long	packets								5120	packets that could have been sampled so far	sFlow
sflow	flow.sample.drops	long	samples								0	samples that the agent dropped so far	sFlow
sflow	flow.sample.source.type.id	long									0	kind of the data source; 0 is an interface	sFlow
sflow	flow.sample.source.index	long									3	index of the data source	sFlow
sflow	flow.sample.header.protocol.id	long									3	kind of link of a header that is in the record as bytes	sFlow
sflow	flow.drop.reason.id	long									257	why the packet was discarded	sFlow
sflow	flow.drop.reason.name	keyword									ttl_exceeded	why the packet was discarded	sFlow
sflow	flow.drop.function.name	keyword									ip_forward	function of the system that discarded the packet	sFlow flow 1038
sflow	flow.drop.linux.reason.name	keyword									NO_SOCKET	reason of the Linux kernel	sFlow flow 1042
sflow	flow.drop.trap.group	keyword									l3_drops	group of the hardware trap	sFlow flow 1041
sflow	flow.drop.trap.name	keyword									ttl_value_is_too_small	name of the hardware trap	sFlow flow 1041
sflow	flow.url.direction.id	long									1	1 is the source, 2 the destination	sFlow flow 1005
sflow	flow.url.text	keyword			url.original	distinct					/index.html	URL	sFlow flow 1005, 2206; Cisco 9/12235
sflow	flow.url.host	keyword			url.domain						www.example.com	host of the URL	sFlow flow 1005, 2206; Cisco 9/12235
sflow	flow.mpls.next_hop.ip.addr	ip									203.0.113.9	next hop of the label-switched path	sFlow flow 1006
sflow	flow.mpls.in.labels	long[]									[100]	label stack on the way in	sFlow flow 1006
sflow	flow.mpls.out.labels	long[]									[200,201]	label stack on the way out	sFlow flow 1006
sflow	flow.mpls.tunnel.name	keyword									lsp-1	name of the MPLS tunnel	sFlow flow 1008
sflow	flow.mpls.tunnel.id	long									1	number of the MPLS tunnel	sFlow flow 1008
sflow	flow.mpls.tunnel.cos	long									0	class of service of the MPLS tunnel	sFlow flow 1008
sflow	flow.mpls.vc.name	keyword									vc-1	name of the virtual circuit	sFlow flow 1009
sflow	flow.mpls.vc.id	long									1	number of the virtual circuit	sFlow flow 1009
sflow	flow.mpls.vc.cos	long									0	class of service of the virtual circuit	sFlow flow 1009
sflow	flow.mpls.ftn.descr	keyword									to pe-2	description of FEC to NHLFE	sFlow flow 1010
sflow	flow.mpls.ftn.mask	long									1	mask of FEC to NHLFE	sFlow flow 1010
sflow	flow.mpls.fec.prefix.length	long	bits								24	prefix length of the forwarding equivalence class	sFlow flow 1011
sflow	flow.vlan_tunnel.tag.ids	long[]									[100,200]	stack of VLAN tags that were taken off	sFlow flow 1012
sflow	flow.wlan.rx.ssid	keyword									office	network that the packet came by	sFlow flow 1014
sflow	flow.wlan.rx.bssid	keyword				distinct					00:00:5e:00:53:02	access point that the packet came by	sFlow flow 1014
sflow	flow.wlan.rx.version.id	long									3	version of 802.11	sFlow flow 1014
sflow	flow.wlan.rx.channel.id	long									36	channel	sFlow flow 1014
sflow	flow.wlan.rx.speed.bw	unsigned_long	bits/s								54000000	speed	sFlow flow 1014
sflow	flow.wlan.rx.rsni	long									30	received signal to noise	sFlow flow 1014
sflow	flow.wlan.rx.rcpi	long									120	received channel power	sFlow flow 1014
sflow	flow.wlan.rx.duration.microseconds	long	microseconds								300	time that the packet took	sFlow flow 1014
sflow	flow.wlan.tx.ssid	keyword									office	network that the packet left by	sFlow flow 1015
sflow	flow.wlan.tx.bssid	keyword				distinct					00:00:5e:00:53:02	access point that the packet left by	sFlow flow 1015
sflow	flow.wlan.tx.version.id	long									3	version of 802.11	sFlow flow 1015
sflow	flow.wlan.tx.transmissions	long									1	how often the packet was sent	sFlow flow 1015
sflow	flow.wlan.tx.duration.microseconds	long	microseconds								300	time that the packet took	sFlow flow 1015
sflow	flow.wlan.tx.retransmit_duration.microseconds	long	microseconds								0	time that repetitions took	sFlow flow 1015
sflow	flow.wlan.tx.channel.id	long									36	channel	sFlow flow 1015
sflow	flow.wlan.tx.speed.bw	unsigned_long	bits/s								54000000	speed	sFlow flow 1015
sflow	flow.wlan.tx.power.milliwatts	long	milliwatts								100	power of transmission	sFlow flow 1015
sflow	flow.out.tunnel.frame_length	long	bytes								1518	frame of the tunnel on the way out	sFlow flow 1021
sflow	flow.out.tunnel.src.mac.addr	keyword				distinct					00:00:5e:00:53:01	outer source on the way out	sFlow flow 1021
sflow	flow.out.tunnel.dst.mac.addr	keyword				distinct					00:00:5e:00:53:ff	outer destination on the way out	sFlow flow 1021
sflow	flow.out.tunnel.ethernet_type	long									2048	outer EtherType on the way out	sFlow flow 1021
sflow	flow.in.tunnel.frame_length	long	bytes								1518	frame of the tunnel on the way in	sFlow flow 1022
sflow	flow.in.tunnel.src.mac.addr	keyword				distinct					00:00:5e:00:53:01	outer source on the way in	sFlow flow 1022
sflow	flow.in.tunnel.dst.mac.addr	keyword				distinct					00:00:5e:00:53:ff	outer destination on the way in	sFlow flow 1022
sflow	flow.in.tunnel.ethernet_type	long									2048	outer EtherType on the way in	sFlow flow 1022
sflow	flow.out.tunnel.length	long	bytes								1500	outer IP length on the way out	sFlow flow 1023, 1025
sflow	flow.out.tunnel.l4.proto.id	long									47	outer protocol on the way out	sFlow flow 1023, 1025
sflow	flow.out.tunnel.src.ip.addr	ip									203.0.113.1	outer source on the way out	sFlow flow 1023, 1025
sflow	flow.out.tunnel.dst.ip.addr	ip									203.0.113.2	outer destination on the way out	sFlow flow 1023, 1025
sflow	flow.out.tunnel.src.l4.port.id	long									40000	outer source port on the way out	sFlow flow 1023, 1025
sflow	flow.out.tunnel.dst.l4.port.id	long									4789	outer destination port on the way out	sFlow flow 1023, 1025
sflow	flow.out.tunnel.tcp.flags.bits	long									0	outer flags of TCP on the way out	sFlow flow 1023, 1025
sflow	flow.out.tunnel.traffic_class	long									0	outer type of service or priority on the way out	sFlow flow 1023, 1025
sflow	flow.in.tunnel.length	long	bytes								1500	outer IP length on the way in	sFlow flow 1024, 1026
sflow	flow.in.tunnel.l4.proto.id	long									47	outer protocol on the way in	sFlow flow 1024, 1026
sflow	flow.in.tunnel.src.ip.addr	ip									203.0.113.1	outer source on the way in	sFlow flow 1024, 1026
sflow	flow.in.tunnel.dst.ip.addr	ip									203.0.113.2	outer destination on the way in	sFlow flow 1024, 1026
sflow	flow.in.tunnel.src.l4.port.id	long									40000	outer source port on the way in	sFlow flow 1024, 1026
sflow	flow.in.tunnel.dst.l4.port.id	long									4789	outer destination port on the way in	sFlow flow 1024, 1026
sflow	flow.in.tunnel.tcp.flags.bits	long									0	outer flags of TCP on the way in	sFlow flow 1024, 1026
sflow	flow.in.tunnel.traffic_class	long									0	outer type of service or priority on the way in	sFlow flow 1024, 1026
sflow	flow.out.decapsulate.offset	long	bytes								50	where the inner header begins, on the way out	sFlow flow 1027
sflow	flow.in.decapsulate.offset	long	bytes								50	where the inner header begins, on the way in	sFlow flow 1028
sflow	flow.out.vni.id	long									4096	VNI on the way out	sFlow flow 1029
sflow	flow.in.vni.id	long									4096	VNI on the way in	sFlow flow 1030
sflow	flow.in.vlan.tag.ids	long[]									[100,200]	stack of VLAN tags on the way in	sFlow flow 1034
sflow	flow.out.vlan.tag.ids	long[]									[100,200]	stack of VLAN tags on the way out	sFlow flow 1035
sflow	flow.out.queue.id	long									3	queue of the way out	sFlow flow 1036
sflow	flow.out.queue.depth.bytes	long	bytes								4096	bytes in the queue when the packet came	sFlow flow 1040
sflow	flow.sample.time.nanoseconds	unsigned_long	nanoseconds								1000000000	when the packet passed, since the epoch, by the agent's clock	sFlow flow 1043
sflow	flow.transit.delay.nanoseconds	long	nanoseconds								800	time that the packet spent in the device	sFlow flow 1039
sflow	flow.socket.l4.proto.id	long									6	protocol of the socket	sFlow flow 2100, 2101
sflow	flow.socket.local.ip.addr	ip									192.0.2.1	own address of the socket	sFlow flow 2100, 2101
sflow	flow.socket.remote.ip.addr	ip									198.51.100.2	other end's address	sFlow flow 2100, 2101
sflow	flow.socket.local.l4.port.id	long									443	own port of the socket	sFlow flow 2100, 2101
sflow	flow.socket.remote.l4.port.id	long									49152	other end's port	sFlow flow 2100, 2101
sflow	flow.tcp_info.direction.id	long									1	1 is received, 2 sent	sFlow flow 2209
sflow	flow.tcp_info.mss.send	long	bytes								1448	largest segment to be sent	sFlow flow 2209
sflow	flow.tcp_info.mss.receive	long	bytes								1448	largest segment to be received	sFlow flow 2209
sflow	flow.tcp_info.unacknowledged	long	packets								2	segments that are not acknowledged yet	sFlow flow 2209
sflow	flow.tcp_info.lost	long	packets								0	segments lost	sFlow flow 2209
sflow	flow.tcp_info.retransmitted	long	packets								0	segments sent again	sFlow flow 2209
sflow	flow.tcp_info.path_mtu	long	bytes								1500	largest packet of the path	sFlow flow 2209
sflow	flow.tcp_info.rtt.microseconds	long	microseconds								12000	round-trip time	sFlow flow 2209
sflow	flow.tcp_info.rtt_variance.microseconds	long	microseconds								900	variance of the round-trip time	sFlow flow 2209
sflow	flow.tcp_info.congestion_window	long	packets								10	congestion window	sFlow flow 2209
sflow	flow.tcp_info.reordering	long	packets								3	reordering metric	sFlow flow 2209
sflow	flow.tcp_info.rtt_min.microseconds	long	microseconds								9000	least round-trip time	sFlow flow 2209
sflow	flow.proxy.socket.l4.proto.id	long									6	protocol of a proxy's socket to the server	sFlow flow 2102, 2103
sflow	flow.proxy.socket.local.ip.addr	ip									192.0.2.1	the proxy's address there	sFlow flow 2102, 2103
sflow	flow.proxy.socket.remote.ip.addr	ip									198.51.100.2	the server's address	sFlow flow 2102, 2103
sflow	flow.proxy.socket.local.l4.port.id	long									49152	the proxy's port there	sFlow flow 2102, 2103
sflow	flow.proxy.socket.remote.l4.port.id	long									8080	the server's port	sFlow flow 2102, 2103
sflow	flow.proxy.url.text	keyword									/index.html	URL that a proxy asks the server for	sFlow flow 2207
sflow	flow.proxy.url.host	keyword									app-1.example.com	host of that URL	sFlow flow 2207
sflow	flow.http.method.id	long									2	method of an HTTP request: 1 OPTIONS, 2 GET, 3 HEAD, 4 POST, 5 PUT, 6 DELETE, 7 TRACE, 8 CONNECT, 0 another	sFlow flow 2206
sflow	flow.http.version.id	long									1001	version of HTTP: 1000 for the major number, and the minor one	sFlow flow 2206
sflow	flow.http.x_forwarded_for	keyword									198.51.100.2	X-Forwarded-For of an HTTP request	sFlow flow 2206
sflow	flow.http.mime_type	keyword									text/html	type of the response	sFlow flow 2206
sflow	flow.http.request.bytes	unsigned_long	bytes								120	content of the request	sFlow flow 2206
sflow	flow.http.response.bytes	unsigned_long	bytes								5400	content of the response	sFlow flow 2206
sflow	flow.http.duration.microseconds	long	microseconds								800	time until the response was sent	sFlow flow 2206
sflow	flow.http.status.id	long									200	status of the response	sFlow flow 2206
sflow	flow.application.name	keyword									shop	application that did an operation	sFlow flow 2202
sflow	flow.application.operation	keyword									payment	the operation	sFlow flow 2202
sflow	flow.application.attributes	keyword									cc=visa	its attributes	sFlow flow 2202
sflow	flow.application.status.id	long									0	how it ended: 0 success, 1 other, 2 time-out, 3 internal error, 4 bad request, 5 forbidden, 6 too large, 7 not implemented, 8 not found, 9 unavailable, 10 unauthorized	sFlow flow 2202
sflow	flow.application.status.descr	keyword									unknown client	more of how it ended	sFlow flow 2202
sflow	flow.application.request.bytes	unsigned_long	bytes								120	content of the request	sFlow flow 2202
sflow	flow.application.response.bytes	unsigned_long	bytes								5400	content of the response	sFlow flow 2202
sflow	flow.application.duration.microseconds	long	microseconds								800	time that it took	sFlow flow 2202
sflow	flow.application.parent.name	keyword									portal	application for which it was done	sFlow flow 2203
sflow	flow.application.parent.operation	keyword									checkout	operation for which it was done	sFlow flow 2203
sflow	flow.application.parent.attributes	keyword									step=3	attributes of that operation	sFlow flow 2203
sflow	flow.application.initiator	keyword									alice	who asked for it	sFlow flow 2204
sflow	flow.application.target	keyword									bob	whom it was for	sFlow flow 2205
counters	netif.bandwidth.bw	unsigned_long	bits/s								1	speed	sFlow counters 1
counters	netif.bytes.in	unsigned_long	bytes								1	bytes received	sFlow counters 1
counters	netif.bytes.out	unsigned_long	bytes								1	bytes sent	sFlow counters 1
counters	netif.direction.id	long									1	1 is full duplex, 2 half, 3 in, 4 out	sFlow counters 1
counters	netif.index	long					interface index				1	ifIndex	sFlow counters 1
counters	netif.packets.bcast.in	long	packets								1	broadcast packets received	sFlow counters 1
counters	netif.packets.bcast.out	long	packets								1	broadcast packets sent	sFlow counters 1
counters	netif.packets.discard.in	long	packets								1	packets discarded on the way in	sFlow counters 1
counters	netif.packets.discard.out	long	packets								1	packets discarded on the way out	sFlow counters 1
counters	netif.packets.error.in	long	packets								1	packets received with errors	sFlow counters 1
counters	netif.packets.error.out	long	packets								1	packets that could not be sent for errors	sFlow counters 1
counters	netif.packets.mcast.in	long	packets								1	multicast packets received	sFlow counters 1
counters	netif.packets.mcast.out	long	packets								1	multicast packets sent	sFlow counters 1
counters	netif.packets.ucast.in	long	packets								1	unicast packets received	sFlow counters 1
counters	netif.packets.ucast.out	long	packets								1	unicast packets sent	sFlow counters 1
counters	netif.packets.unkproto.in	long	packets								1	packets received of an unknown protocol	sFlow counters 1
counters	netif.promiscuous.id	long									1	1 in promiscuous mode	sFlow counters 1
counters	netif.state.bits	long									1	bit 0 is the administrative state, bit 1 the operational one	sFlow counters 1
counters	netif.type.id	long									1	ifType	sFlow counters 1
counters	ethernet.collisions.excessive	long									1	frames not sent for too many collisions	sFlow counters 2
counters	ethernet.collisions.late	long									1	late collisions	sFlow counters 2
counters	ethernet.collisions.multiple	long									1	frames sent after several collisions	sFlow counters 2
counters	ethernet.collisions.single	long									1	frames sent after one collision	sFlow counters 2
counters	ethernet.deferred.out	long									1	frames whose sending was deferred	sFlow counters 2
counters	ethernet.errors.alignment.in	long									1	frames received that are no whole number of bytes	sFlow counters 2
counters	ethernet.errors.carrier_sense	long									1	lost carriers	sFlow counters 2
counters	ethernet.errors.fcs.in	long									1	frames received with a wrong check sequence	sFlow counters 2
counters	ethernet.errors.internal.in	long									1	frames not received for an internal error	sFlow counters 2
counters	ethernet.errors.internal.out	long									1	frames not sent for an internal error	sFlow counters 2
counters	ethernet.errors.sqe_test	long									1	SQE test errors	sFlow counters 2
counters	ethernet.errors.symbol.in	long									1	invalid symbols received	sFlow counters 2
counters	ethernet.errors.too_long.in	long									1	frames received that are too long	sFlow counters 2
counters	token_ring.errors.abort_trans	long									1	aborted transmissions	sFlow counters 3
counters	token_ring.errors.ac	long									1	AC errors	sFlow counters 3
counters	token_ring.errors.burst	long									1	burst errors	sFlow counters 3
counters	token_ring.errors.frame_copied	long									1	frames copied by another station	sFlow counters 3
counters	token_ring.errors.frequency	long									1	frequency errors	sFlow counters 3
counters	token_ring.errors.hard	long									1	hard errors	sFlow counters 3
counters	token_ring.errors.internal	long									1	internal errors	sFlow counters 3
counters	token_ring.errors.line	long									1	line errors	sFlow counters 3
counters	token_ring.errors.lost_frame	long									1	lost frames	sFlow counters 3
counters	token_ring.errors.soft	long									1	soft errors	sFlow counters 3
counters	token_ring.errors.token	long									1	token errors	sFlow counters 3
counters	token_ring.lobe_wires	long									1	open or short lobes	sFlow counters 3
counters	token_ring.receive_congestions	long									1	frames not received for want of buffers	sFlow counters 3
counters	token_ring.recoveries	long									1	recoveries of the ring	sFlow counters 3
counters	token_ring.removes	long									1	commands to leave the ring	sFlow counters 3
counters	token_ring.signal_loss	long									1	losses of the signal	sFlow counters 3
counters	token_ring.singles	long									1	times of being alone on the ring	sFlow counters 3
counters	token_ring.transmit_beacons	long									1	beacons sent	sFlow counters 3
counters	vg.bytes.high.in	unsigned_long	bytes								1	bytes of high priority received	sFlow counters 4
counters	vg.bytes.high.out	unsigned_long	bytes								1	bytes of high priority sent	sFlow counters 4
counters	vg.bytes.normal.in	unsigned_long	bytes								1	bytes of normal priority received	sFlow counters 4
counters	vg.errors.data.in	long									1	frames received with data errors	sFlow counters 4
counters	vg.errors.ipm.in	long									1	frames received with an invalid packet marker	sFlow counters 4
counters	vg.errors.oversize.in	long									1	frames received that are too long	sFlow counters 4
counters	vg.frames.high.in	long									1	frames of high priority received	sFlow counters 4
counters	vg.frames.high.out	long									1	frames of high priority sent	sFlow counters 4
counters	vg.frames.normal.in	long									1	frames of normal priority received	sFlow counters 4
counters	vg.frames.null_addressed.in	long									1	frames received without a destination	sFlow counters 4
counters	vg.hc.bytes.high.in	unsigned_long	bytes								1	bytes of high priority received, 64 bits	sFlow counters 4
counters	vg.hc.bytes.high.out	unsigned_long	bytes								1	bytes of high priority sent, 64 bits	sFlow counters 4
counters	vg.hc.bytes.normal.in	unsigned_long	bytes								1	bytes of normal priority received, 64 bits	sFlow counters 4
counters	vg.trainings	long									1	trainings of the link	sFlow counters 4
counters	vlan.bytes	unsigned_long	bytes								1	bytes	sFlow counters 5
counters	vlan.id	long									1	number of the VLAN	sFlow counters 5
counters	vlan.packets.bcast	long	packets								1	broadcast packets	sFlow counters 5
counters	vlan.packets.discard	long	packets								1	packets discarded	sFlow counters 5
counters	vlan.packets.mcast	long	packets								1	multicast packets	sFlow counters 5
counters	vlan.packets.ucast	long	packets								1	unicast packets	sFlow counters 5
counters	wlan.ack_failure	long									1	acknowledgements missing	sFlow counters 6
counters	wlan.errors.fcs	long									1	frames received with a wrong check sequence	sFlow counters 6
counters	wlan.failed	long									1	frames not sent for too many tries	sFlow counters 6
counters	wlan.fragments.in	long									1	fragments received	sFlow counters 6
counters	wlan.fragments.out	long									1	fragments sent	sFlow counters 6
counters	wlan.frames.duplicate	long									1	frames received twice	sFlow counters 6
counters	wlan.frames.mcast.in	long									1	multicast frames received	sFlow counters 6
counters	wlan.frames.mcast.out	long									1	multicast frames sent	sFlow counters 6
counters	wlan.frames.out	long									1	frames sent	sFlow counters 6
counters	wlan.qos.cf_polls.lost	long									1	QoS polls lost	sFlow counters 6
counters	wlan.qos.cf_polls.received	long									1	QoS polls received	sFlow counters 6
counters	wlan.qos.cf_polls.unusable	long									1	QoS polls not usable	sFlow counters 6
counters	wlan.qos.cf_polls.unused	long									1	QoS polls not used	sFlow counters 6
counters	wlan.qos.fragments_discarded	long									1	QoS fragments discarded	sFlow counters 6
counters	wlan.retries	long									1	frames sent after one repetition	sFlow counters 6
counters	wlan.retries_multiple	long									1	frames sent after several repetitions	sFlow counters 6
counters	wlan.rts.failure	long									1	no CTS after RTS	sFlow counters 6
counters	wlan.rts.success	long									1	CTS received after RTS	sFlow counters 6
counters	wlan.stations	long									1	associated stations	sFlow counters 6
counters	wlan.wep_undecryptable	long									1	frames that WEP could not decrypt	sFlow counters 6
counters	lag.actor.mac	keyword									00:00:5e:00:53:01	system identifier of this end	sFlow counters 7
counters	lag.aggregator.id	long									1	aggregator that the port is attached to	sFlow counters 7
counters	lag.illegal.in	long									1	malformed frames received	sFlow counters 7
counters	lag.lacp.in	long									1	LACPDUs received	sFlow counters 7
counters	lag.lacp.out	long									1	LACPDUs sent	sFlow counters 7
counters	lag.marker.in	long									1	markers received	sFlow counters 7
counters	lag.marker.out	long									1	markers sent	sFlow counters 7
counters	lag.marker_response.in	long									1	marker responses received	sFlow counters 7
counters	lag.marker_response.out	long									1	marker responses sent	sFlow counters 7
counters	lag.partner.mac	keyword									00:00:5e:00:53:02	system identifier of the other end	sFlow counters 7
counters	lag.port_state	keyword									0x3d3d3d3d	administrative and operational states of both ends, in hex	sFlow counters 7
counters	lag.unknown.in	long									1	frames of an unknown slow protocol received	sFlow counters 7
counters	optical.lane.ids	long[]									[1]	numbers of the lanes	sFlow counters 10
counters	optical.lane.rx.power.microwatts	long[]	microwatts								[1]	power received, by lane	sFlow counters 10
counters	optical.lane.rx.power_max.microwatts	long[]	microwatts								[1]	most power received, by lane	sFlow counters 10
counters	optical.lane.rx.power_min.microwatts	long[]	microwatts								[1]	least power received, by lane	sFlow counters 10
counters	optical.lane.rx.wavelength.nanometers	long[]	nanometers								[1]	wavelength received, by lane	sFlow counters 10
counters	optical.lane.tx.bias.microamperes	long[]	microamperes								[1]	bias current of the transmitter, by lane	sFlow counters 10
counters	optical.lane.tx.power.microwatts	long[]	microwatts								[1]	power sent, by lane	sFlow counters 10
counters	optical.lane.tx.power_max.microwatts	long[]	microwatts								[1]	most power sent, by lane	sFlow counters 10
counters	optical.lane.tx.power_min.microwatts	long[]	microwatts								[1]	least power sent, by lane	sFlow counters 10
counters	optical.lane.tx.wavelength.nanometers	long[]	nanometers								[1]	wavelength sent, by lane	sFlow counters 10
counters	optical.lanes.total	long									1	lanes of the module	sFlow counters 10
counters	optical.module.id	long									1	number of the module	sFlow counters 10
counters	optical.supply_voltage.millivolts	long	millivolts								1	supply voltage	sFlow counters 10
counters	optical.temperature.millicelsius	long	m°C								1	temperature	sFlow counters 10
counters	processor.mem.free.bytes	unsigned_long	bytes								1	memory that is free	sFlow counters 1001
counters	processor.mem.total.bytes	unsigned_long	bytes								1	memory	sFlow counters 1001
counters	processor.util_1m.pct	double	percent								0.5	CPU use over a minute	sFlow counters 1001
counters	processor.util_5m.pct	double	percent								0.5	CPU use over 5 minutes	sFlow counters 1001
counters	processor.util_5s.pct	double	percent								0.5	CPU use over 5 seconds	sFlow counters 1001
counters	radio.busy.milliseconds	long	milliseconds								1	time that the channel was busy	sFlow counters 1002
counters	radio.elapsed.milliseconds	long	milliseconds								1	time measured	sFlow counters 1002
counters	radio.on_channel.milliseconds	long	milliseconds								1	time on the channel	sFlow counters 1002
counters	openflow.datapath.id	unsigned_long									1	datapath	sFlow counters 1004
counters	openflow.port.id	long									1	port	sFlow counters 1004
counters	netif.name	keyword					interface				xe-0/0/7	name of the interface	sFlow counters 1005
counters	host.machine.type.id	long									1	kind of processor	sFlow counters 2000
counters	host.name	keyword			host.hostname		host name				server-1	name of the host	sFlow counters 2000
counters	host.os.release	keyword									6.1.0	release of the operating system	sFlow counters 2000
counters	host.os.type.id	long									1	kind of operating system	sFlow counters 2000
counters	host.uuid	keyword									0x00112233445566778899aabbccddeeff	UUID, in hex	sFlow counters 2000
counters	host.adapter.mac.addrs	keyword[]				distinct					["00:00:5e:00:53:01"]	MAC addresses of the adapters	sFlow counters 2001
counters	host.adapter.netif.indexes	long[]									[1]	ifIndex of each adapter address	sFlow counters 2001
counters	host.parent.source.index	long									1	index of the data source of the host below	sFlow counters 2002
counters	host.parent.source.type.id	long									1	kind of the data source of the host below	sFlow counters 2002
counters	host.cpu.context_switches	long									1	context switches	sFlow counters 2003
counters	host.cpu.count	long									1	processors	sFlow counters 2003
counters	host.cpu.guest.milliseconds	long	milliseconds								1	CPU time given to virtual machines	sFlow counters 2003
counters	host.cpu.guest_nice.milliseconds	long	milliseconds								1	CPU time given to virtual machines of low priority	sFlow counters 2003
counters	host.cpu.idle.milliseconds	long	milliseconds								1	CPU time without work	sFlow counters 2003
counters	host.cpu.interrupt.milliseconds	long	milliseconds								1	CPU time of interrupts	sFlow counters 2003
counters	host.cpu.interrupts	long									1	interrupts	sFlow counters 2003
counters	host.cpu.io_wait.milliseconds	long	milliseconds								1	CPU time of waiting for input and output	sFlow counters 2003
counters	host.cpu.load_15m	double									0.5	load over 15 minutes	sFlow counters 2003
counters	host.cpu.load_1m	double									0.5	load over a minute	sFlow counters 2003
counters	host.cpu.load_5m	double									0.5	load over 5 minutes	sFlow counters 2003
counters	host.cpu.nice.milliseconds	long	milliseconds								1	CPU time of programs of low priority	sFlow counters 2003
counters	host.cpu.processes.running	long									1	processes running	sFlow counters 2003
counters	host.cpu.processes.total	long									1	processes	sFlow counters 2003
counters	host.cpu.soft_interrupt.milliseconds	long	milliseconds								1	CPU time of soft interrupts	sFlow counters 2003
counters	host.cpu.speed.mhz	long	MHz								1	clock of the processors	sFlow counters 2003
counters	host.cpu.steal.milliseconds	long	milliseconds								1	CPU time taken by other virtual machines	sFlow counters 2003
counters	host.cpu.system.milliseconds	long	milliseconds								1	CPU time of the system	sFlow counters 2003
counters	host.cpu.uptime.seconds	long	seconds								1	uptime of the host	sFlow counters 2003
counters	host.cpu.user.milliseconds	long	milliseconds								1	CPU time of programs	sFlow counters 2003
counters	host.mem.buffers.bytes	unsigned_long	bytes								1	memory of buffers	sFlow counters 2004
counters	host.mem.cached.bytes	unsigned_long	bytes								1	memory of the page cache	sFlow counters 2004
counters	host.mem.free.bytes	unsigned_long	bytes								1	memory that is free	sFlow counters 2004
counters	host.mem.page.in	long									1	pages read in	sFlow counters 2004
counters	host.mem.page.out	long									1	pages written out	sFlow counters 2004
counters	host.mem.shared.bytes	unsigned_long	bytes								1	memory that is shared	sFlow counters 2004
counters	host.mem.swap.free.bytes	unsigned_long	bytes								1	swap space that is free	sFlow counters 2004
counters	host.mem.swap.in	long									1	pages swapped in	sFlow counters 2004
counters	host.mem.swap.out	long									1	pages swapped out	sFlow counters 2004
counters	host.mem.swap.total.bytes	unsigned_long	bytes								1	swap space	sFlow counters 2004
counters	host.mem.total.bytes	unsigned_long	bytes								1	memory	sFlow counters 2004
counters	host.disk.free.bytes	unsigned_long	bytes								1	disk space that is free	sFlow counters 2005
counters	host.disk.partition_max_used.pct	double	percent								0.5	use of the fullest partition	sFlow counters 2005
counters	host.disk.read.bytes	unsigned_long	bytes								1	bytes read	sFlow counters 2005
counters	host.disk.read.count	long									1	reads	sFlow counters 2005
counters	host.disk.read.milliseconds	long	milliseconds								1	time of reading	sFlow counters 2005
counters	host.disk.total.bytes	unsigned_long	bytes								1	disk space	sFlow counters 2005
counters	host.disk.write.bytes	unsigned_long	bytes								1	bytes written	sFlow counters 2005
counters	host.disk.write.count	long									1	writes	sFlow counters 2005
counters	host.disk.write.milliseconds	long	milliseconds								1	time of writing	sFlow counters 2005
counters	host.net.bytes.in	unsigned_long	bytes								1	bytes received	sFlow counters 2006
counters	host.net.bytes.out	unsigned_long	bytes								1	bytes sent	sFlow counters 2006
counters	host.net.discards.in	long									1	packets discarded on the way in	sFlow counters 2006
counters	host.net.discards.out	long									1	packets discarded on the way out	sFlow counters 2006
counters	host.net.errors.in	long									1	packets received with errors	sFlow counters 2006
counters	host.net.errors.out	long									1	packets not sent for errors	sFlow counters 2006
counters	host.net.packets.in	long	packets								1	packets received	sFlow counters 2006
counters	host.net.packets.out	long	packets								1	packets sent	sFlow counters 2006
counters	host.ip.default_ttl	long			host.net.ip.default_ttl						1	default time to live	sFlow counters 2007
counters	host.ip.forw_datagrams	long	packets		host.net.ip.forw_datagrams						1	packets forwarded	sFlow counters 2007
counters	host.ip.forwarding	long			host.net.ip.forwarding						1	1 where the host forwards packets	sFlow counters 2007
counters	host.ip.frag_creates	long			host.net.ip.frag_creates						1	fragments made	sFlow counters 2007
counters	host.ip.frag_fails	long			host.net.ip.frag_fails						1	packets that could not be fragmented	sFlow counters 2007
counters	host.ip.frag_oks	long			host.net.ip.frag_oks						1	packets fragmented	sFlow counters 2007
counters	host.ip.in_addr_errors	long			host.net.ip.in_addr_errors						1	packets received with a wrong destination	sFlow counters 2007
counters	host.ip.in_delivers	long			host.net.ip.in_delivers						1	packets delivered to protocols	sFlow counters 2007
counters	host.ip.in_discards	long			host.net.ip.in_discards						1	packets received and discarded	sFlow counters 2007
counters	host.ip.in_hdr_errors	long			host.net.ip.in_hdr_errors						1	packets received with a wrong header	sFlow counters 2007
counters	host.ip.in_receives	long	packets		host.net.ip.in_receives						1	packets received	sFlow counters 2007
counters	host.ip.in_unknown_protos	long			host.net.ip.in_unknown_protos						1	packets received of an unknown protocol	sFlow counters 2007
counters	host.ip.out_discards	long			host.net.ip.out_discards						1	packets to be sent and discarded	sFlow counters 2007
counters	host.ip.out_no_routes	long			host.net.ip.out_no_routes						1	packets without a route	sFlow counters 2007
counters	host.ip.out_requests	long			host.net.ip.out_requests						1	packets handed over by protocols	sFlow counters 2007
counters	host.ip.reasm_fails	long			host.net.ip.reasm_fails						1	packets not put together	sFlow counters 2007
counters	host.ip.reasm_oks	long			host.net.ip.reasm_oks						1	packets put together	sFlow counters 2007
counters	host.ip.reasm_reqds	long			host.net.ip.reasm_reqds						1	fragments received	sFlow counters 2007
counters	host.ip.reasm_timeout	long	seconds		host.net.ip.reasm_timeout						1	longest wait for fragments	sFlow counters 2007
counters	host.icmp.in_addr_mask_reps	long									1	ICMP messages received: address mask reply	sFlow counters 2008
counters	host.icmp.in_addr_masks	long									1	ICMP messages received: address mask request	sFlow counters 2008
counters	host.icmp.in_dest_unreachs	long									1	ICMP messages received: destination unreachable	sFlow counters 2008
counters	host.icmp.in_echo_reps	long									1	ICMP messages received: echo reply	sFlow counters 2008
counters	host.icmp.in_echos	long									1	ICMP messages received: echo request	sFlow counters 2008
counters	host.icmp.in_errors	long									1	ICMP messages with errors received	sFlow counters 2008
counters	host.icmp.in_msgs	long									1	ICMP messages received	sFlow counters 2008
counters	host.icmp.in_parm_probs	long									1	ICMP messages received: parameter problem	sFlow counters 2008
counters	host.icmp.in_redirects	long									1	ICMP messages received: redirect	sFlow counters 2008
counters	host.icmp.in_src_quenchs	long									1	ICMP messages received: source quench	sFlow counters 2008
counters	host.icmp.in_time_excds	long									1	ICMP messages received: time exceeded	sFlow counters 2008
counters	host.icmp.in_timestamps	long									1	ICMP messages received: timestamp request	sFlow counters 2008
counters	host.icmp.out_addr_mask_reps	long									1	ICMP messages sent: address mask reply	sFlow counters 2008
counters	host.icmp.out_addr_masks	long									1	ICMP messages sent: address mask request	sFlow counters 2008
counters	host.icmp.out_dest_unreachs	long									1	ICMP messages sent: destination unreachable	sFlow counters 2008
counters	host.icmp.out_echo_reps	long									1	ICMP messages sent: echo reply	sFlow counters 2008
counters	host.icmp.out_echos	long									1	ICMP messages sent: echo request	sFlow counters 2008
counters	host.icmp.out_errors	long									1	ICMP messages with errors sent	sFlow counters 2008
counters	host.icmp.out_msgs	long									1	ICMP messages sent	sFlow counters 2008
counters	host.icmp.out_parm_probs	long									1	ICMP messages sent: parameter problem	sFlow counters 2008
counters	host.icmp.out_redirects	long									1	ICMP messages sent: redirect	sFlow counters 2008
counters	host.icmp.out_src_quenchs	long									1	ICMP messages sent: source quench	sFlow counters 2008
counters	host.icmp.out_time_excds	long									1	ICMP messages sent: time exceeded	sFlow counters 2008
counters	host.icmp.out_timestamp_reps	long									1	ICMP messages sent: timestamp reply	sFlow counters 2008
counters	host.icmp.out_timestamps	long									1	ICMP messages sent: timestamp request	sFlow counters 2008
counters	host.tcp.active_opens	long									1	connections opened by this end	sFlow counters 2009
counters	host.tcp.attempt_fails	long									1	attempts to connect that failed	sFlow counters 2009
counters	host.tcp.curr_estab	long									1	connections established	sFlow counters 2009
counters	host.tcp.estab_resets	long									1	connections that were reset	sFlow counters 2009
counters	host.tcp.in_csum_errors	long									1	segments received with a wrong checksum	sFlow counters 2009
counters	host.tcp.in_errs	long									1	segments received with errors	sFlow counters 2009
counters	host.tcp.in_segs	long									1	segments received	sFlow counters 2009
counters	host.tcp.max_conn	long									1	most connections, -1 where that varies	sFlow counters 2009
counters	host.tcp.out_rsts	long									1	resets sent	sFlow counters 2009
counters	host.tcp.out_segs	long									1	segments sent	sFlow counters 2009
counters	host.tcp.passive_opens	long									1	connections opened by other ends	sFlow counters 2009
counters	host.tcp.retrans_segs	long									1	segments sent again	sFlow counters 2009
counters	host.tcp.rto_algorithm	long									1	algorithm of the retransmission timeout	sFlow counters 2009
counters	host.tcp.rto_max	long	milliseconds								1	greatest retransmission timeout	sFlow counters 2009
counters	host.tcp.rto_min	long	milliseconds								1	least retransmission timeout	sFlow counters 2009
counters	host.udp.in_csum_errors	long									1	datagrams received with a wrong checksum	sFlow counters 2010
counters	host.udp.in_datagrams	long	packets								1	datagrams received	sFlow counters 2010
counters	host.udp.in_errors	long									1	datagrams not delivered for other errors	sFlow counters 2010
counters	host.udp.no_ports	long									1	datagrams for ports without a listener	sFlow counters 2010
counters	host.udp.out_datagrams	long	packets								1	datagrams sent	sFlow counters 2010
counters	host.udp.rcvbuf_errors	long									1	datagrams dropped for want of a receive buffer	sFlow counters 2010
counters	host.udp.sndbuf_errors	long									1	datagrams dropped for want of a send buffer	sFlow counters 2010
counters	virt.node.cpus	long									1	processors	sFlow counters 2100
counters	virt.node.domains	long									1	virtual machines	sFlow counters 2100
counters	virt.node.mem.free.bytes	unsigned_long	bytes								1	memory that is free	sFlow counters 2100
counters	virt.node.mem.total.bytes	unsigned_long	bytes								1	memory	sFlow counters 2100
counters	virt.node.speed.mhz	long	MHz								1	clock of the processors	sFlow counters 2100
counters	virt.cpu.count	long									1	virtual processors	sFlow counters 2101
counters	virt.cpu.state.id	long									1	state of the virtual machine	sFlow counters 2101
counters	virt.cpu.used.milliseconds	long	milliseconds								1	CPU time used	sFlow counters 2101
counters	virt.mem.max.bytes	unsigned_long	bytes								1	memory allowed	sFlow counters 2102
counters	virt.mem.used.bytes	unsigned_long	bytes								1	memory in use	sFlow counters 2102
counters	virt.disk.allocation.bytes	unsigned_long	bytes								1	space allocated	sFlow counters 2103
counters	virt.disk.available.bytes	unsigned_long	bytes								1	space left	sFlow counters 2103
counters	virt.disk.capacity.bytes	unsigned_long	bytes								1	size of the virtual disks	sFlow counters 2103
counters	virt.disk.errors	long									1	errors of reading and writing	sFlow counters 2103
counters	virt.disk.read.bytes	unsigned_long	bytes								1	bytes read	sFlow counters 2103
counters	virt.disk.read.count	long									1	reads	sFlow counters 2103
counters	virt.disk.write.bytes	unsigned_long	bytes								1	bytes written	sFlow counters 2103
counters	virt.disk.write.count	long									1	writes	sFlow counters 2103
counters	virt.net.bytes.in	unsigned_long	bytes								1	bytes received	sFlow counters 2104
counters	virt.net.bytes.out	unsigned_long	bytes								1	bytes sent	sFlow counters 2104
counters	virt.net.discards.in	long									1	packets discarded on the way in	sFlow counters 2104
counters	virt.net.discards.out	long									1	packets discarded on the way out	sFlow counters 2104
counters	virt.net.errors.in	long									1	packets received with errors	sFlow counters 2104
counters	virt.net.errors.out	long									1	packets not sent for errors	sFlow counters 2104
counters	virt.net.packets.in	long	packets								1	packets received	sFlow counters 2104
counters	virt.net.packets.out	long	packets								1	packets sent	sFlow counters 2104
counters	jvm.name	keyword									OpenJDK	name of the virtual machine	sFlow counters 2105
counters	jvm.vendor	keyword									Eclipse	vendor	sFlow counters 2105
counters	jvm.version	keyword									21.0.2	version	sFlow counters 2105
counters	jvm.classes.loaded	long									1	classes loaded	sFlow counters 2106
counters	jvm.classes.total	long									1	classes loaded since the start	sFlow counters 2106
counters	jvm.classes.unloaded	long									1	classes unloaded	sFlow counters 2106
counters	jvm.compilation.milliseconds	long	milliseconds								1	time of compilation	sFlow counters 2106
counters	jvm.fd.max	long									1	most file descriptors	sFlow counters 2106
counters	jvm.fd.open	long									1	open file descriptors	sFlow counters 2106
counters	jvm.gc.count	long									1	garbage collections	sFlow counters 2106
counters	jvm.gc.milliseconds	long	milliseconds								1	time of garbage collections	sFlow counters 2106
counters	jvm.heap.committed.bytes	unsigned_long	bytes								1	heap committed	sFlow counters 2106
counters	jvm.heap.initial.bytes	unsigned_long	bytes								1	heap at the start	sFlow counters 2106
counters	jvm.heap.max.bytes	unsigned_long	bytes								1	most heap	sFlow counters 2106
counters	jvm.heap.used.bytes	unsigned_long	bytes								1	heap in use	sFlow counters 2106
counters	jvm.non_heap.committed.bytes	unsigned_long	bytes								1	other memory committed	sFlow counters 2106
counters	jvm.non_heap.initial.bytes	unsigned_long	bytes								1	other memory at the start	sFlow counters 2106
counters	jvm.non_heap.max.bytes	unsigned_long	bytes								1	most other memory	sFlow counters 2106
counters	jvm.non_heap.used.bytes	unsigned_long	bytes								1	other memory in use	sFlow counters 2106
counters	jvm.threads.daemon	long									1	daemon threads	sFlow counters 2106
counters	jvm.threads.live	long									1	threads	sFlow counters 2106
counters	jvm.threads.started	long									1	threads started	sFlow counters 2106
counters	http.method.connect	long									1	HTTP requests: CONNECT	sFlow counters 2201
counters	http.method.delete	long									1	HTTP requests: DELETE	sFlow counters 2201
counters	http.method.get	long									1	HTTP requests: GET	sFlow counters 2201
counters	http.method.head	long									1	HTTP requests: HEAD	sFlow counters 2201
counters	http.method.option	long									1	HTTP requests: OPTIONS	sFlow counters 2201
counters	http.method.other	long									1	HTTP requests of other methods	sFlow counters 2201
counters	http.method.post	long									1	HTTP requests: POST	sFlow counters 2201
counters	http.method.put	long									1	HTTP requests: PUT	sFlow counters 2201
counters	http.method.trace	long									1	HTTP requests: TRACE	sFlow counters 2201
counters	http.status.1xx	long									1	HTTP responses 1xx	sFlow counters 2201
counters	http.status.2xx	long									1	HTTP responses 2xx	sFlow counters 2201
counters	http.status.3xx	long									1	HTTP responses 3xx	sFlow counters 2201
counters	http.status.4xx	long									1	HTTP responses 4xx	sFlow counters 2201
counters	http.status.5xx	long									1	HTTP responses 5xx	sFlow counters 2201
counters	http.status.other	long									1	HTTP responses of other statuses	sFlow counters 2201
counters	memcache.commands.set	long									1	commands to store a value	sFlow counters 2204
counters	memcache.commands.touch	long									1	touch commands	sFlow counters 2204
counters	memcache.commands.flush	long									1	flush_all commands	sFlow counters 2204
counters	memcache.get.hits	long									1	keys asked for and found	sFlow counters 2204
counters	memcache.get.misses	long									1	keys asked for and not found	sFlow counters 2204
counters	memcache.delete.hits	long									1	deletions of keys that were there	sFlow counters 2204
counters	memcache.delete.misses	long									1	deletions of keys that were not there	sFlow counters 2204
counters	memcache.incr.hits	long									1	increments of keys that were there	sFlow counters 2204
counters	memcache.incr.misses	long									1	increments of keys that were not there	sFlow counters 2204
counters	memcache.decr.hits	long									1	decrements of keys that were there	sFlow counters 2204
counters	memcache.decr.misses	long									1	decrements of keys that were not there	sFlow counters 2204
counters	memcache.cas.hits	long									1	compare and set of keys that were there	sFlow counters 2204
counters	memcache.cas.misses	long									1	compare and set of keys that were not there	sFlow counters 2204
counters	memcache.cas.bad_values	long									1	compare and set of values changed meanwhile	sFlow counters 2204
counters	memcache.auth.commands	long									1	authentications	sFlow counters 2204
counters	memcache.auth.errors	long									1	failed authentications	sFlow counters 2204
counters	memcache.threads	long									1	worker threads	sFlow counters 2204
counters	memcache.connections.yields	long									1	connections that had to let others go first	sFlow counters 2204
counters	memcache.connections.listen_disabled	long									1	times that no connection was taken because there were too many	sFlow counters 2204
counters	memcache.connections.open	long									1	open connections	sFlow counters 2204
counters	memcache.connections.rejected	long									1	connections rejected	sFlow counters 2204
counters	memcache.connections.total	long									1	connections so far	sFlow counters 2204
counters	memcache.connections.structures	long									1	structures for connections	sFlow counters 2204
counters	memcache.items.evicted	long									1	items evicted for want of memory	sFlow counters 2204
counters	memcache.items.reclaimed	long									1	expired items whose memory was used again	sFlow counters 2204
counters	memcache.items.current	long									1	items stored	sFlow counters 2204
counters	memcache.items.total	long									1	items stored so far	sFlow counters 2204
counters	memcache.bytes.in	unsigned_long	bytes								1	bytes received	sFlow counters 2204
counters	memcache.bytes.out	unsigned_long	bytes								1	bytes sent	sFlow counters 2204
counters	memcache.mem.used.bytes	unsigned_long	bytes								1	memory of items	sFlow counters 2204
counters	memcache.mem.max.bytes	unsigned_long	bytes								1	most memory for items	sFlow counters 2204
counters	gpu.count	long									1	graphics processors	sFlow counters 5703.1
counters	gpu.processes.running	long									1	processes that use them	sFlow counters 5703.1
counters	gpu.busy.milliseconds	long	milliseconds								1	time in which they computed	sFlow counters 5703.1
counters	gpu.mem.busy.milliseconds	long	milliseconds								1	time in which their memory was used	sFlow counters 5703.1
counters	gpu.mem.total.bytes	unsigned_long	bytes								1	their memory	sFlow counters 5703.1
counters	gpu.mem.free.bytes	unsigned_long	bytes								1	free memory	sFlow counters 5703.1
counters	gpu.errors.ecc	long									1	errors of their memory	sFlow counters 5703.1
counters	gpu.energy.millijoules	long	millijoules								1	energy used	sFlow counters 5703.1
counters	gpu.temperature.celsius	long	°C								1	highest temperature	sFlow counters 5703.1
counters	gpu.fan.pct	long	percent								1	highest speed of a fan	sFlow counters 5703.1
counters	application.name	keyword									shop	name of the application	sFlow counters 2202
counters	application.status.bad_request	long									1	operations that ended with: bad request	sFlow counters 2202
counters	application.status.forbidden	long									1	operations that ended with: forbidden	sFlow counters 2202
counters	application.status.internal_error	long									1	operations that ended with: internal error	sFlow counters 2202
counters	application.status.not_found	long									1	operations that ended with: not found	sFlow counters 2202
counters	application.status.not_implemented	long									1	operations that ended with: not implemented	sFlow counters 2202
counters	application.status.other	long									1	operations that ended with: other	sFlow counters 2202
counters	application.status.success	long									1	operations that ended with: success	sFlow counters 2202
counters	application.status.timeout	long									1	operations that ended with: timeout	sFlow counters 2202
counters	application.status.too_large	long									1	operations that ended with: too large	sFlow counters 2202
counters	application.status.unauthorized	long									1	operations that ended with: unauthorized	sFlow counters 2202
counters	application.status.unavailable	long									1	operations that ended with: unavailable	sFlow counters 2202
counters	application.connections.max	long									1	most connections	sFlow counters 2203
counters	application.connections.open	long									1	open connections	sFlow counters 2203
counters	application.fd.max	long									1	most file descriptors	sFlow counters 2203
counters	application.fd.open	long									1	open file descriptors	sFlow counters 2203
counters	application.mem.max.bytes	unsigned_long	bytes								1	most memory	sFlow counters 2203
counters	application.mem.used.bytes	unsigned_long	bytes								1	memory in use	sFlow counters 2203
counters	application.system.milliseconds	long	milliseconds								1	CPU time of the system for it	sFlow counters 2203
counters	application.user.milliseconds	long	milliseconds								1	CPU time of the program	sFlow counters 2203
counters	application.requests.delayed	long									1	requests that had to wait	sFlow counters 2206
counters	application.requests.dropped	long									1	requests dropped	sFlow counters 2206
counters	application.workers.active	long									1	workers that work	sFlow counters 2206
counters	application.workers.idle	long									1	workers without work	sFlow counters 2206
counters	application.workers.max	long									1	most workers	sFlow counters 2206
counters	ovs.flows	long									1	flows of the datapath	sFlow counters 2207
counters	ovs.hits	long									1	packets that matched a flow of the datapath	sFlow counters 2207
counters	ovs.lost	long									1	packets lost on the way to user space	sFlow counters 2207
counters	ovs.mask_hits	long									1	masks tried	sFlow counters 2207
counters	ovs.masks	long									1	masks of the datapath	sFlow counters 2207
counters	ovs.misses	long									1	packets that matched none	sFlow counters 2207
counters	energy.current.milliamperes	long	milliamperes								1	current	sFlow counters 3000
counters	energy.energy.millijoules	long	millijoules								1	energy used	sFlow counters 3000
counters	energy.errors	long									1	readings that failed	sFlow counters 3000
counters	energy.power.milliwatts	long	milliwatts								1	power	sFlow counters 3000
counters	energy.power_factor.hundredths	long									1	power factor, hundredths	sFlow counters 3000
counters	energy.voltage.millivolts	long	millivolts								1	voltage	sFlow counters 3000
counters	temperature.errors	long									1	readings that failed	sFlow counters 3001
counters	temperature.max.celsius	long	°C								1	highest reading	sFlow counters 3001
counters	temperature.min.celsius	long	°C								1	lowest reading	sFlow counters 3001
counters	humidity.relative.pct	long	percent								1	relative humidity	sFlow counters 3002
counters	cooling_fan.failed	long									1	fans that failed	sFlow counters 3003
counters	cooling_fan.speed.pct	long	percent								1	mean speed	sFlow counters 3003
counters	cooling_fan.total	long									1	fans	sFlow counters 3003
enriched	flow.src.ip.subnet.name	keyword					name	2r client:19r server:20r	src.name=name by metadata of the source; name		office	name by metadata: of the most specific entry around the address that has one	metadata
enriched	flow.src.ip.subnet.tags	keyword[]					tag	4r	src.tag=tag by metadata of the source; tag		["dmz"]	tags by metadata, of all entries around the address	metadata
enriched	flow.src.isInternal	boolean					is internal	23r	src.internal=whether metadata calls an address internal, of the source; internal		true	true where an entry of metadata says so	metadata
enriched	flow.dst.ip.subnet.name	keyword					name	3r	dst.name=name by metadata of the destination; name=name by metadata of either end		office	name by metadata: of the most specific entry around the address that has one	metadata
enriched	flow.dst.ip.subnet.tags	keyword[]					tag	5r	dst.tag=tag by metadata of the destination; tag=tag by metadata of either end		["dmz"]	tags by metadata, of all entries around the address	metadata
enriched	flow.dst.isInternal	boolean					is internal	24r	dst.internal=whether metadata calls an address internal, of the destination; internal=whether metadata calls an address internal, of either end		true	true where an entry of metadata says so	metadata
enriched	flow.export.ip.subnet.name	keyword					name	39r	exporter.name=name of the exporter by metadata		office	name by metadata: of the most specific entry around the address that has one	metadata
enriched	flow.export.ip.subnet.tags	keyword[]					tag	40r	exporter.tag=tag of the exporter by metadata		["dmz"]	tags by metadata, of all entries around the address	metadata
enriched	flow.export.isInternal	boolean					is internal				true	true where an entry of metadata says so	metadata
enriched	system.ip.subnet.name	keyword							system.name=name of an SNMP device by metadata		office	name by metadata: of the most specific entry around the address that has one	metadata
enriched	system.ip.subnet.tags	keyword[]							system.tag=tag of an SNMP device by metadata		["dmz"]	tags by metadata, of all entries around the address	metadata
enriched	system.isInternal	boolean									true	true where an entry of metadata says so	metadata
enriched	flow.export.vlan.tag.id	unsigned_long					VLAN				100	VLAN by metadata	metadata
enriched	system.vlan.tag.id	unsigned_long									100	VLAN by metadata	metadata
enriched	flow.src.host.name	keyword			source.domain		host name	8	src.host=host name by DNS of the source; host		mail.example.com	host name by reverse DNS	DNS
enriched	flow.dst.host.name	keyword			destination.domain		host name	9	dst.host=host name by DNS of the destination; host=host name by DNS of either end		mail.example.com	host name by reverse DNS	DNS
enriched	flow.export.host.name	keyword			host.name		host name				mail.example.com	host name by reverse DNS	DNS
enriched	flow.src.as.org	keyword			source.as.organization.name		AS organisation		src.as.org=organisation of the autonomous system of the source; as.org		Example Net	organisation of the autonomous system; if so set, PRIVATE of private addresses	MaxMind
enriched	flow.src.as.label	keyword					AS	30r			Example Net (64496)	organisation and number of the autonomous system; without an organisation \`AS64496\`	MaxMind; derived
enriched	flow.src.geo.country.code	keyword			source.geo.country_iso_code		country code	32r	src.country=country code of the source; country		NL	country	MaxMind
enriched	flow.src.geo.country.name	keyword			source.geo.country_name		country	34r			Netherlands	country	MaxMind
enriched	flow.src.geo.city.name	keyword			source.geo.city_name		city	36	src.city=city of the source; city		Amsterdam	city	MaxMind
enriched	flow.src.geo.continent.code	keyword			source.geo.continent_code						EU	continent	MaxMind
enriched	flow.src.geo.continent.name	keyword			source.geo.continent_name						Europe	continent	MaxMind
enriched	flow.src.geo.loc.coord	geo_point			source.geo.location						52.374,4.8897	place	MaxMind
enriched	flow.src.geo.tz.name	keyword									Europe/Amsterdam	time zone	MaxMind
enriched	flow.src.l4.port.name	keyword					service	12 server:22r	src.service=service by the port of the source; service		https	service, by transport protocol and port	port names
enriched	flow.src.locality	keyword						25r	src.locality=locality of the source; locality	internal,private,public,multicast	private	internal, private, public or multicast	locality
enriched	flow.dst.as.org	keyword			destination.as.organization.name		AS organisation		dst.as.org=organisation of the autonomous system of the destination; as.org=organisation of the autonomous system of either end		Example Net	organisation of the autonomous system; if so set, PRIVATE of private addresses	MaxMind
enriched	flow.dst.as.label	keyword					AS	31r			Example Net (64496)	organisation and number of the autonomous system; without an organisation \`AS64496\`	MaxMind; derived
enriched	flow.dst.geo.country.code	keyword			destination.geo.country_iso_code		country code	33r	dst.country=country code of the destination; country=country code of either end		NL	country	MaxMind
enriched	flow.dst.geo.country.name	keyword			destination.geo.country_name		country	35r			Netherlands	country	MaxMind
enriched	flow.dst.geo.city.name	keyword			destination.geo.city_name		city	37	dst.city=city of the destination; city=city of either end		Amsterdam	city	MaxMind
enriched	flow.dst.geo.continent.code	keyword			destination.geo.continent_code						EU	continent	MaxMind
enriched	flow.dst.geo.continent.name	keyword			destination.geo.continent_name						Europe	continent	MaxMind
enriched	flow.dst.geo.loc.coord	geo_point			destination.geo.location						52.374,4.8897	place	MaxMind
enriched	flow.dst.geo.tz.name	keyword									Europe/Amsterdam	time zone	MaxMind
enriched	flow.dst.l4.port.name	keyword					service	13	dst.service=service by the port of the destination; service=service by the port of either end		https	service, by transport protocol and port	port names
enriched	flow.dst.locality	keyword						26r	dst.locality=locality of the destination; locality=locality of either end	internal,private,public,multicast	private	internal, private, public or multicast	locality
enriched	flow.in.netif.alias	keyword			observer.ingress.interface.alias		interface alias	46r			uplink	alias of the interface	interface file
enriched	flow.in.netif.type.name	keyword									ethernetCsmacd	type of the interface	interface file
enriched	flow.in.netif.speed	long	bits/s								10000000000	speed of the interface	interface file
enriched	flow.in.netif.tags	keyword[]							in.if.tag=tag of the interface of the way in		["transit"]	tags of the interface	interface file
enriched	flow.out.netif.alias	keyword			observer.egress.interface.alias		interface alias	47r			uplink	alias of the interface	interface file
enriched	flow.out.netif.type.name	keyword									ethernetCsmacd	type of the interface	interface file
enriched	flow.out.netif.speed	long	bits/s								10000000000	speed of the interface	interface file
enriched	flow.out.netif.tags	keyword[]							out.if.tag=tag of the interface of the way out		["transit"]	tags of the interface	interface file
enriched	flow.locality	keyword						27r		internal,private,public,multicast	public	public when one of the ends is, else private when one is that, else internal	locality
enriched	app.category.name	keyword									meetings	category of the application	application files
enriched	app.subcategory.name	keyword									video	category within the category	application files
enriched	ip.dscp.name	keyword					DSCP	55r			EF	name of the code point	DSCP names
enriched	flow.in.ip.dscp.name	keyword					DSCP				EF	the same: code points are those with which packets came in	DSCP names
ends	flow.clisrv.method	keyword									tcp_syn	the rule that says which end is the client: biflow_direction, initiator, event, tcp_syn, icmp_type, learnt or port	derived
ends	flow.conversation.id	keyword				distinct					9b1fd0e2c3a45768	the same for all sessions of a client with a service	derived
ends	flow.session.id	keyword				distinct					0f5d3c2b1a998877	the same for both directions of a session	derived
ends	as.label	keyword[]					AS				["Example Net (64496)","AS64511"]	autonomous systems of both ends	flow.src, flow.dst
ends	geo.city.name	keyword[]					city				["Amsterdam","Paris"]	cities of both ends	flow.src, flow.dst
ends	geo.country.name	keyword[]					country				["Netherlands","France"]	countries of both ends	flow.src, flow.dst
ends	ip.subnet.tags	keyword[]					tag				["dmz"]	tags of both ends	flow.src, flow.dst
ends	sec.threat.name	keyword[]					threat				["botnet"]	threats of both ends	flow.src, flow.dst
ends	flow.src.sec.threat.name	keyword					threat	52r			botnet	threat by metadata (\`.sec.threat.name\`)	metadata
ends	flow.dst.sec.threat.name	keyword					threat	53r			botnet	threat by metadata (\`.sec.threat.name\`)	metadata
ends	mitre.attack.tactic.name	keyword									Exfiltration	tactic by metadata	metadata
ends	mitre.attack.technique.name	keyword									Data Transfer Size Limits	technique by metadata	metadata
rollup	flow.rollup.records	long	records								17	how many records were added up	rollup
snmp	system.ip.addr	ip			host.ip				system=address of an SNMP device		192.0.2.254	address of the device	SNMP
snmp	system.host.name	keyword			host.name						core-1	name of the device	SNMP
snmp	snmp.context	keyword									vlan-10	context of the agent that the object was read in, where it is not that of the device	SNMP
snmp	snmp.object.name	keyword							object=SNMP object that was polled		IF-MIB::ifXTable	object that was polled	SNMP
snmp	snmp.object.entity	keyword				distinct					IF-MIB::ifXTable.7	row of the object: its name, and of a table the instance	SNMP
snmp	snmp.object.instance	keyword									7	row of the object, where no index names it	SNMP
snmp	snmp.object.isOddIndex	boolean									true	the row's instance is no index of the object, and so in snmp.object.instance	SNMP
snmp	snmp.trap.oid	keyword									.1.3.6.1.6.3.1.1.5.3	which notification it is (RFC 3584)	traps
snmp	snmp.trap.name	keyword									linkDown	its name, or that which a rule gives it	traps
snmp	snmp.trap.kind	keyword									trap	trap or inform	traps
snmp	snmp.trap.version	keyword									2c	version of SNMP	traps
snmp	snmp.trap.user	keyword									operator	user of version 3	traps
snmp	snmp.trap.uptime	long	milliseconds								12340	sysUpTime of the sender	traps
snmp	snmp.trap.enterprise	keyword									.1.3.6.1.4.1.318	of version 1, or of a trap that was forwarded	traps
snmp	snmp.trap.sender.ip.addr	ip									192.0.2.9	the sender, where the trap names another agent	traps
snmp	snmp.trap.suppressed	long									12	traps of the sender that were left out before this one	traps
snmp	snmp.trap.varbinds	keyword[]									[".1.3.6.1.4.1.99999.1.0 = hot"]	values that no definition knows	traps
snmp	event.severity.level	keyword									critical	severity that a rule gives	traps
snmp	event.category.name	keyword									availability	category that a rule gives	traps
snmp	snmp.rate.interval	double	seconds								60.02	time between the two polls that rates and deltas are of	SNMP
snmp	snmp.rate.refused	keyword[]									["netif.bytes.in narrow"]	counters without a rate, with the reason: reset, narrow, step	SNMP
snmp	snmp.object.isPartial	boolean									true	some of the object's values did not come, or its rows came out of order	SNMP
mibs	netif.mac.addr	keyword				distinct					00:00:5e:00:53:01	physical address	ifPhysAddress
mibs	netif.mtu	long	bytes								1500	largest packet	ifMtu
mibs	netif.type.name	keyword									ethernetCsmacd	kind of the interface	ifType
mibs	netif.state.admin.name	keyword									up	state that is wanted	ifAdminStatus
mibs	netif.state.oper.name	keyword									up	state	ifOperStatus
mibs	netif.connector.present.state	boolean									true	has a physical connector	ifConnectorPresent
mibs	netif.descr	keyword									GigabitEthernet0/0/7	description by the device	ifDescr
mibs	netif.alias	keyword					interface alias				uplink to ams2	description by the operator	ifAlias
mibs	ip.dgrms.in	long	packets								1	datagrams received	ipInReceives
mibs	ip.dgrms.discard.header_error.in	long	packets								1	datagrams with errors in their header	ipInHdrErrors
mibs	ip.dgrms.discard.addr_error.in	long	packets								1	datagrams to an address that is not valid here	ipInAddrErrors
mibs	ip.dgrms.fwd.in	long	packets								1	datagrams to be forwarded	ipForwDatagrams
mibs	ip.dgrms.discard.unkproto.in	long	packets								1	datagrams of an unknown protocol	ipInUnknownProtos
mibs	ip.dgrms.discard.no_error.in	long	packets								1	datagrams discarded on the way in without an error	ipInDiscards
mibs	ip.dgrms.deliver.in	long	packets								1	datagrams delivered to protocols of this host	ipInDelivers
mibs	ip.dgrms.req.out	long	packets								1	datagrams that protocols of this host sent	ipOutRequests
mibs	ip.dgrms.discard.no_error.out	long	packets								1	datagrams discarded on the way out without an error	ipOutDiscards
mibs	ip.dgrms.discard.no_route.out	long	packets								1	datagrams without a route	ipOutNoRoutes
mibs	ip.dgrms.reassem.ok	long	packets								1	datagrams put together	ipReasmOKs
mibs	ip.dgrms.reassem.fail	long	packets								1	datagrams that could not be put together	ipReasmFails
mibs	ip.dgrms.frag.ok.out	long	packets								1	datagrams fragmented	ipFragOKs
mibs	ip.dgrms.frag.fail.out	long	packets								1	datagrams that could not be fragmented	ipFragFails
mibs	icmp.msgs.in	long	packets								1	messages, received	icmpInMsgs
mibs	icmp.msgs.error.in	long	packets								1	messages with errors, received	icmpInErrors
mibs	icmp.msgs.dst_unreach.in	long	packets								1	destination unreachable, received	icmpInDestUnreachs
mibs	icmp.msgs.time_exceed.in	long	packets								1	time exceeded, received	icmpInTimeExcds
mibs	icmp.msgs.param_prob.in	long	packets								1	parameter problem, received	icmpInParmProbs
mibs	icmp.msgs.src_quench.in	long	packets								1	source quench, received	icmpInSrcQuenchs
mibs	icmp.msgs.redirect.in	long	packets								1	redirect, received	icmpInRedirects
mibs	icmp.msgs.echo_req.in	long	packets								1	echo request, received	icmpInEchos
mibs	icmp.msgs.echo_reply.in	long	packets								1	echo reply, received	icmpInEchoReps
mibs	icmp.msgs.timestamp_req.in	long	packets								1	timestamp request, received	icmpInTimestamps
mibs	icmp.msgs.timestamp_reply.in	long	packets								1	timestamp reply, received	icmpInTimestampReps
mibs	icmp.msgs.addr_mask_req.in	long	packets								1	address mask request, received	icmpInAddrMasks
mibs	icmp.msgs.addr_mask_reply.in	long	packets								1	address mask reply, received	icmpInAddrMaskReps
mibs	icmp.msgs.out	long	packets								1	messages, sent	icmpOutMsgs
mibs	icmp.msgs.error.out	long	packets								1	messages with errors, sent	icmpOutErrors
mibs	icmp.msgs.dst_unreach.out	long	packets								1	destination unreachable, sent	icmpOutDestUnreachs
mibs	icmp.msgs.time_exceed.out	long	packets								1	time exceeded, sent	icmpOutTimeExcds
mibs	icmp.msgs.param_prob.out	long	packets								1	parameter problem, sent	icmpOutParmProbs
mibs	icmp.msgs.src_quench.out	long	packets								1	source quench, sent	icmpOutSrcQuenchs
mibs	icmp.msgs.redirect.out	long	packets								1	redirect, sent	icmpOutRedirects
mibs	icmp.msgs.echo_req.out	long	packets								1	echo request, sent	icmpOutEchos
mibs	icmp.msgs.echo_reply.out	long	packets								1	echo reply, sent	icmpOutEchoReps
mibs	icmp.msgs.timestamp_req.out	long	packets								1	timestamp request, sent	icmpOutTimestamps
mibs	icmp.msgs.timestamp_reply.out	long	packets								1	timestamp reply, sent	icmpOutTimestampReps
mibs	icmp.msgs.addr_mask_req.out	long	packets								1	address mask request, sent	icmpOutAddrMasks
mibs	icmp.msgs.addr_mask_reply.out	long	packets								1	address mask reply, sent	icmpOutAddrMaskReps
mibs	tcp.rto.algo.name	keyword									rfc2988	how the time of a retransmission is computed	tcpRtoAlgorithm
mibs	tcp.rto.min	long	ms								200	shortest time until a retransmission	tcpRtoMin
mibs	tcp.rto.max	long	ms								120000	longest time until a retransmission	tcpRtoMax
mibs	tcp.conns.open_active	long									1	connections opened by this host	tcpActiveOpens
mibs	tcp.conns.open_passive	long									1	connections opened by others	tcpPassiveOpens
mibs	tcp.conns.fail	long									1	attempts that failed	tcpAttemptFails
mibs	tcp.conns.reset	long									1	connections reset while established	tcpEstabResets
mibs	tcp.conns.establish	long									1	connections that are established	tcpCurrEstab
mibs	tcp.segs.in	unsigned_long	packets								1	segments received	tcpInSegs, tcpHCInSegs
mibs	tcp.segs.out	unsigned_long	packets								1	segments sent, without those that are only sent again	tcpOutSegs, tcpHCOutSegs
mibs	tcp.segs.retrans	long	packets								1	segments sent again	tcpRetransSegs
mibs	tcp.errors.in	long	packets								1	segments received with errors	tcpInErrs
mibs	tcp.errors.out	long	packets								1	segments sent with RST	tcpOutRsts
mibs	udp.dgrms.in	unsigned_long	packets								1	datagrams delivered	udpInDatagrams, udpHCInDatagrams
mibs	udp.dgrms.out	unsigned_long	packets								1	datagrams sent	udpOutDatagrams, udpHCOutDatagrams
mibs	udp.dgrms.unkproto.in	long	packets								1	datagrams to a port where nobody listens	udpNoPorts
mibs	udp.dgrms.error.in	long	packets								1	datagrams that could not be delivered otherwise	udpInErrors
mibs	snmp.packets.in	long	packets								1	messages received by the agent	snmpInPkts
mibs	snmp.packets.out	long	packets								1	messages sent by the agent	snmpOutPkts
mibs	snmp.errors.too_big.out	long									1	answers tooBig	snmpOutTooBigs
mibs	snmp.errors.no_such_names.out	long									1	answers noSuchName	snmpOutNoSuchNames
mibs	snmp.errors.bad_values.out	long									1	answers badValue	snmpOutBadValues
mibs	snmp.errors.gen_err.out	long									1	answers genErr	snmpOutGenErrs
mibs	snmp.pdus.get_req.in	long									1	Get requests received	snmpInGetRequests
mibs	snmp.pdus.get_resp.out	long									1	responses sent	snmpOutGetResponses
`;
