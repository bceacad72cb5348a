import { fieldRows } from "./record-field.ts";

/** What records of SNMP have of any object. */
export const snmpFields = fieldRows(`
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
export const mibFields = fieldRows(`
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
