import { factRows as rows } from "./fact-rows.ts";

/**
 * What five of Juniper's modules say of the objects that definitions have, in the columns of the facts of all others:
 * module, name, OID, type, convention, access, units, hint, labels, index.
 */
export const juniperFacts = [
  ...rows("JUNIPER-ALARM-MIB", "1.3.6.1.4.1.2636.3.4.2", [
    "jnxYellowAlarmState 2.1 INTEGER labels:other=1,off=2,on=3",
    "jnxYellowAlarmCount 2.2 GAUGE",
    "jnxRedAlarmState 3.1 INTEGER labels:other=1,off=2,on=3",
    "jnxRedAlarmCount 3.2 GAUGE",
  ]),
  ...rows("JUNIPER-DOM-MIB", "1.3.6.1.4.1.2636.3.60.1", [
    "jnxDomCurrentEntry 1.1.1 ROW index:ifIndex",
    "jnxDomCurrentRxLaserPower 1.1.1.5 INTEGER32 units:0.01 dbm",
    "jnxDomCurrentTxLaserBiasCurrent 1.1.1.6 INTEGER32 units:0.001 mA",
    "jnxDomCurrentTxLaserOutputPower 1.1.1.7 INTEGER32 units:0.01 dbm",
    "jnxDomCurrentModuleTemperature 1.1.1.8 INTEGER32 units:Celsius (degrees C)",
    "jnxDomCurrentModuleVoltage 1.1.1.25 INTEGER32 units:0.001 V",
    "jnxDomCurrentLaneEntry 2.1.1 ROW index:ifIndex,jnxDomLaneIndex",
    "jnxDomLaneIndex 2.1.1.1 INTEGER32",
    "jnxDomCurrentLaneRxLaserPower 2.1.1.6 INTEGER32 units:0.01 dbm",
    "jnxDomCurrentLaneTxLaserBiasCurrent 2.1.1.7 INTEGER32 units:0.001 mA",
    "jnxDomCurrentLaneTxLaserOutputPower 2.1.1.8 INTEGER32 units:0.01 dbm",
    "jnxDomCurrentLaneLaserTemperature 2.1.1.9 INTEGER32 units:Celsius (degrees C)",
  ]),
  ...rows("JUNIPER-SRX5000-SPU-MONITORING-MIB", "1.3.6.1.4.1.2636.3.39.1.12.1", [
    "jnxJsSPUMonitoringObjectsEntry 1.1 ROW index:jnxJsSPUMonitoringIndex",
    "jnxJsSPUMonitoringIndex 1.1.1 UNSIGNED32",
    "jnxJsSPUMonitoringCPUUsage 1.1.4 UNSIGNED32 units:percent",
    "jnxJsSPUMonitoringMemoryUsage 1.1.5 UNSIGNED32 units:percent",
    "jnxJsSPUMonitoringCurrentFlowSession 1.1.6 UNSIGNED32",
    "jnxJsSPUMonitoringMaxFlowSession 1.1.7 UNSIGNED32",
    "jnxJsSPUMonitoringNodeDescr 1.1.11 OCTETSTR convention:DisplayString",
  ]),
  ...rows("JUNIPER-VIRTUALCHASSIS-MIB", "1.3.6.1.4.1.2636.3.40.1.4.1", [
    "jnxVirtualChassisMemberEntry 1.1 ROW index:jnxVirtualChassisMemberId",
    "jnxVirtualChassisMemberId 1.1.1 INTEGER",
    "jnxVirtualChassisMemberSerialnumber 1.1.2 OCTETSTR convention:DisplayString",
    "jnxVirtualChassisMemberRole 1.1.3 INTEGER labels:master=1,backup=2,linecard=3",
    "jnxVirtualChassisMemberSWVersion 1.1.5 OCTETSTR convention:DisplayString",
    "jnxVirtualChassisMemberModel 1.1.8 OCTETSTR convention:DisplayString",
  ]),
  // Agents leave the lengths of the addresses out: the definition takes the rest of the instance as it is.
  ...rows("BGP4-V2-MIB-JUNIPER", "1.3.6.1.4.1.2636.5.1.1.2.1.1", [
    "jnxBgpM2PeerEntry 1 ROW index:jnxBgpM2PeerRoutingInstance,jnxBgpM2PeerRemoteAddrType",
    "jnxBgpM2PeerIdentifier 1.1 OCTETSTR hint:1d.",
    "jnxBgpM2PeerState 1.2 INTEGER labels:idle=1,connect=2,active=3,opensent=4,openconfirm=5,established=6",
    "jnxBgpM2PeerStatus 1.3 INTEGER labels:halted=1,running=2",
    "jnxBgpM2PeerLocalAddr 1.7 OCTETSTR convention:InetAddress",
    "jnxBgpM2PeerLocalAs 1.9 UNSIGNED32 convention:InetAutonomousSystemNumber",
    "jnxBgpM2PeerRemoteAddrType 1.10 INTEGER convention:InetAddressType",
    "jnxBgpM2PeerRemoteAddr 1.11 OCTETSTR convention:InetAddress",
    "jnxBgpM2PeerRemoteAs 1.13 UNSIGNED32 convention:InetAutonomousSystemNumber",
    "jnxBgpM2PeerIndex 1.14 UNSIGNED32",
    "jnxBgpM2PeerRoutingInstance 1.15 UNSIGNED32",
  ]),
  ...rows("BGP4-V2-MIB-JUNIPER", "1.3.6.1.4.1.2636.5.1.1.2.6.2", [
    "jnxBgpM2PrefixCountersEntry 1 ROW index:jnxBgpM2PeerIndex,jnxBgpM2PrefixCountersAfi,jnxBgpM2PrefixCountersSafi",
    "jnxBgpM2PrefixCountersAfi 1.1 INTEGER labels:ipv4=1,ipv6=2",
    "jnxBgpM2PrefixCountersSafi 1.2 INTEGER",
    "jnxBgpM2PrefixInPrefixes 1.7 GAUGE",
    "jnxBgpM2PrefixInPrefixesAccepted 1.8 GAUGE",
    "jnxBgpM2PrefixInPrefixesRejected 1.9 GAUGE",
    "jnxBgpM2PrefixOutPrefixes 1.10 GAUGE",
  ]),
];
