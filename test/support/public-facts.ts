import { factRows } from "./fact-rows.ts";

/**
 * What modules say that are in no table of facts. Each line has at least two sources that are independent of one another:
 * - FASTPATH-SWITCHING-MIB of Dell: LibreNMS and Centreon's plugins (Dell N and PowerConnect series).
 * - FROGFOOT-RESOURCES-MIB: the generated modules of Prometheus exporters for airOS, and NOC's profiles.
 * - MERAKI-CLOUD-CONTROLLER-MIB: Centreon's plugin, Datadog's profile, Kentik's profile.
 * - CISCO-SYSTEM-EXT-MIB: Zabbix's template for Nexus, Centreon's plugin.
 * - RADLAN-…: Checkmk, Centreon's plugin, and the modules of Linksys, which have the same below another number.
 * - WWP-LEOS-CHASSIS-MIB: Checkmk, and the module as pysnmp has it.
 * - ALCATEL-IND1-… and ALCATEL-ENT1-…-MIB: LibreNMS, Checkmk, and the modules as pysnmp has them.
 */
export const publicFacts = [
  ...factRows("FASTPATH-SWITCHING-MIB", "1.3.6.1.4.1.674.10895.5000.2.6132.1.1.1.1.4", [
    "agentSwitchCpuProcessMemFree 1 INTEGER32 units:KBytes",
    "agentSwitchCpuProcessMemAvailable 2 INTEGER32 units:KBytes",
    "agentSwitchCpuProcessTotalUtilization 9 OCTETSTR",
  ]),
  ...factRows("FROGFOOT-RESOURCES-MIB", "1.3.6.1.4.1.10002.1.1.1.1", [
    "memTotal 1 GAUGE units:KB",
    "memFree 2 GAUGE units:KB",
    "memBuffer 3 GAUGE units:KB",
    "memCache 4 GAUGE units:KB",
  ]),
  ...factRows("MERAKI-CLOUD-CONTROLLER-MIB", "1.3.6.1.4.1.29671.1.1.4.1", [
    "devName 2 OCTETSTR",
    "devStatus 3 INTEGER labels:offline=0,online=1",
    "devClientCount 5 INTEGER32",
    "devSerial 8 OCTETSTR",
    "devProductCode 9 OCTETSTR",
    "devNetworkName 11 OCTETSTR",
  ]),
  ...factRows("MERAKI-CLOUD-CONTROLLER-MIB", "1.3.6.1.4.1.29671.1.1.4", [
    "devEntry 1 ROW index:devMac",
    "devMac 1.1 OCTETSTR",
  ]),
  ...factRows("CISCO-SYSTEM-EXT-MIB", "1.3.6.1.4.1.9.9.305.1.1", [
    "cseSysCPUUtilization 1 GAUGE units:percent",
    "cseSysMemoryUtilization 2 GAUGE units:percent",
  ]),
  ...factRows("RADLAN-rndMng", "1.3.6.1.4.1.89.1", [
    "rlCpuUtilDuringLastMinute 8 INTEGER",
    "rlCpuUtilDuringLast5Minutes 9 INTEGER",
  ]),
  ...factRows("RADLAN-Physicaldescription-MIB", "1.3.6.1.4.1.89.53.15", [
    "rlPhdUnitEnvParamEntry 1 ROW index:rlPhdUnitEnvParamStackUnit",
    "rlPhdUnitEnvParamStackUnit 1.1 INTEGER",
    "rlPhdUnitEnvParamTempSensorValue 1.9 INTEGER",
    "rlPhdUnitEnvParamTempSensorStatus 1.10 INTEGER labels:ok=1,unavailable=2,nonoperational=3",
  ]),
  ...factRows("WWP-LEOS-CHASSIS-MIB", "1.3.6.1.4.1.6141.2.60.11.1.1.5.1", [
    "wwpLeosChassisTempSensorEntry 1 ROW index:wwpLeosChassisTempSensorNum",
    "wwpLeosChassisTempSensorNum 1.1 INTEGER32",
    "wwpLeosChassisTempSensorValue 1.2 INTEGER32",
  ]),
  ...factRows("ALCATEL-IND1-HEALTH-MIB", "1.3.6.1.4.1.6486.800.1.2.1.16.1.1.1", [
    "healthDeviceMemoryLatest 9 INTEGER32",
    "healthDeviceCpuLatest 13 INTEGER32",
    "healthDeviceCpu1MinAvg 14 INTEGER32",
  ]),
  ...factRows("ALCATEL-ENT1-HEALTH-MIB", "1.3.6.1.4.1.6486.801.1.2.1.16.1.1.1.1", [
    "healthModuleEntry 1 ROW index:healthModuleSlot",
    "healthModuleSlot 1.1 INTEGER32",
    "healthModuleMemory1MinAvg 1.8 INTEGER32",
    "healthModuleCpu1MinAvg 1.11 INTEGER32",
    "healthModuleCpuLatest 1.15 INTEGER32",
  ]),
  ...factRows("ALCATEL-IND1-CHASSIS-MIB", "1.3.6.1.4.1.6486.800.1.1.1.3.1.1.3", [
    "chasChassisEntry 1 ROW index:entPhysicalIndex",
    "chasHardwareBoardTemp 1.4 INTEGER32",
  ]),
  ...factRows("ALCATEL-ENT1-CHASSIS-MIB", "1.3.6.1.4.1.6486.801.1.1.1.3.1.1.3", [
    "chasChassisEntry 1 ROW index:entPhysicalIndex",
    "chasCPMAHardwareBoardTemp 1.8 INTEGER32",
  ]),
  ...factRows("ALCATEL-IND1-PORT-MIB", "1.3.6.1.4.1.6486.800.1.2.1.5.1.1.2.5", [
    "ddmInfoEntry 1 ROW index:ifIndex",
    "ddmTemperature 1.1 INTEGER32",
    "ddmSupplyVoltage 1.6 INTEGER32",
    "ddmTxBiasCurrent 1.11 INTEGER32",
    "ddmTxOutputPower 1.16 INTEGER32",
    "ddmRxOpticalPower 1.21 INTEGER32",
  ]),
];
