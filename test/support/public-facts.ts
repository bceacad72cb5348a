import { factRows } from "./fact-rows.ts";

/**
 * What modules say that are in no table of facts. Beside each module stands public software that reads it, to compare with;
 * not each line was compared with all of it:
 * - FASTPATH-SWITCHING-MIB of Dell: LibreNMS and Centreon's plugins (Dell N and PowerConnect series).
 * - FROGFOOT-RESOURCES-MIB: the generated modules of Prometheus exporters for airOS, and NOC's profiles.
 * - MERAKI-CLOUD-CONTROLLER-MIB: Centreon's plugin, Datadog's profile, Kentik's profile.
 * - CISCO-SYSTEM-EXT-MIB: Zabbix's template for Nexus, Centreon's plugin.
 * - RADLAN-…: Checkmk, Centreon's plugin, and the modules of Linksys, which have the same below another number.
 * - WWP-LEOS-CHASSIS-MIB: Checkmk, and the module as pysnmp has it.
 * - ALCATEL-IND1-… and ALCATEL-ENT1-…-MIB: LibreNMS, Checkmk, and the modules as pysnmp has them.
 * - SPAGENT-MIB: Centreon's plugin, Observium, LibreNMS.
 * - CPI-UNITY-MIB: the module itself (hundredths of an ampere, tenths of a volt, volt-amperes, degrees Fahrenheit), LibreNMS.
 * - SP2-MIB: Centreon's plugin, LibreNMS (hundredths of a volt, whole degrees).
 * - KEEPALIVED-MIB: the module in keepalived's own sources, as its documentation describes it; Checkmk.
 * - SYNOLOGY-…: the vendor's guide to its MIB; the generated module of snmp_exporter; Centreon's plugin.
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
  ...factRows("SPAGENT-MIB", "1.3.6.1.4.1.3854.1.2.2.1", [
    "sensorProbeTempEntry 16.1 ROW index:sensorProbeTempIndex",
    "sensorProbeTempDescription 16.1.1 OCTETSTR",
    "sensorProbeTempDegree 16.1.3 INTEGER",
    "sensorProbeTempStatus 16.1.4 INTEGER labels:noStatus=1,normal=2,highWarning=3,highCritical=4,lowWarning=5,lowCritical=6,sensorError=7",
    "sensorProbeTempHighWarning 16.1.7 INTEGER",
    "sensorProbeTempHighCritical 16.1.8 INTEGER",
    "sensorProbeTempLowWarning 16.1.9 INTEGER",
    "sensorProbeTempLowCritical 16.1.10 INTEGER",
    "sensorProbeTempDegreeType 16.1.12 INTEGER labels:fahr=0,celsius=1",
    "sensorProbeTempIndex 16.1.15 INTEGER",
    "sensorProbeHumidityEntry 17.1 ROW index:sensorProbeHumidityIndex",
    "sensorProbeHumidityDescription 17.1.1 OCTETSTR",
    "sensorProbeHumidityPercent 17.1.3 INTEGER",
    "sensorProbeHumidityStatus 17.1.4 INTEGER labels:noStatus=1,normal=2,highWarning=3,highCritical=4,lowWarning=5,lowCritical=6,sensorError=7",
    "sensorProbeHumidityIndex 17.1.11 INTEGER",
    "sensorProbeSwitchEntry 18.1 ROW index:sensorProbeSwitchIndex",
    "sensorProbeSwitchDescription 18.1.1 OCTETSTR",
    "sensorProbeSwitchStatus 18.1.3 INTEGER labels:noStatus=1,normal=2,highWarning=3,highCritical=4,lowWarning=5,lowCritical=6,sensorError=7,outputLow=8,outputHigh=9",
    "sensorProbeSwitchIndex 18.1.5 INTEGER",
  ]),
  ...factRows("CPI-UNITY-MIB", "1.3.6.1.4.1.30932.1.10.1", [
    "cpiPduEntry 2.10.1 ROW index:cpiPduMac",
    "cpiPduMac 2.10.1.1 OCTETSTR",
    "cpiPduModel 2.10.1.2 OCTETSTR",
    "cpiPduName 2.10.1.3 OCTETSTR",
    "cpiPduVersion 2.10.1.11 OCTETSTR",
    "cpiPduTotalPower 2.10.1.16 INTEGER",
    "cpiPduLineEntry 3.10.1 ROW index:cpiPduLineId,cpiPduMac",
    "cpiPduLineId 3.10.1.2 INTEGER",
    "cpiPduLineCurrent 3.10.1.3 INTEGER",
    "cpiPduBranchEntry 3.110.1 ROW index:cpiPduBranchId,cpiPduMac",
    "cpiPduBranchId 3.110.1.2 INTEGER",
    "cpiPduBranchCurrent 3.110.1.3 INTEGER",
    "cpiPduBranchVoltage 3.110.1.5 INTEGER",
    "cpiPduBranchPower 3.110.1.6 INTEGER",
    "cpiPduBranchStatus 3.110.1.8 INTEGER labels:noalarm=0,warning=1,alarm=2",
    "cpiPduOutletEntry 4.10.1 ROW index:cpiPduOutletId,cpiPduMac",
    "cpiPduOutletId 4.10.1.2 INTEGER",
    "cpiPduOutletName 4.10.1.4 OCTETSTR",
    "cpiPduOutletCurrent 4.10.1.6 INTEGER",
    "cpiPduOutletVoltage 4.10.1.7 INTEGER",
    "cpiPduOutletPower 4.10.1.8 INTEGER",
    "cpiPduOutletStatus 4.10.1.9 INTEGER labels:noalarm=0,warning=1,alarm=2",
    "cpiPduSensorEntry 5.10.1 ROW index:cpiPduSensorId,cpiPduMac",
    "cpiPduSensorId 5.10.1.2 INTEGER",
    "cpiPduSensorName 5.10.1.3 OCTETSTR",
    "cpiPduSensorType 5.10.1.4 INTEGER labels:temperature=1,humidity=2",
    "cpiPduSensorValue 5.10.1.5 INTEGER",
  ]),
  ...factRows("SP2-MIB", "1.3.6.1.4.1.12148.10", [
    "loadStatus 9.1 INTEGER labels:error=0,normal=1,minorAlarm=2,majorAlarm=3,disabled=4,disconnected=5,notPresent=6,minorAndMajor=7,majorLow=8,minorLow=9,majorHigh=10,minorHigh=11,event=12,valueVolt=13,valueAmp=14,valueTemp=15,valueUnit=16,valuePerCent=17,critical=18,warning=19",
    "batteryVoltageValue 10.5.5 INTEGER",
    "batteryTemperaturesValue 10.7.5 INTEGER",
    "loadEnergyLogAccumulated 9.8.1 INTEGER",
    "powerSystemStatus 2.1 INTEGER",
    "loadCurrentValue 9.2.5 INTEGER",
    "batteryCurrentsValue 10.6.5 INTEGER",
  ]),
  ...factRows("KEEPALIVED-MIB", "1.3.6.1.4.1.9586.100.5.2.3", [
    "vrrpInstanceEntry 1 ROW index:vrrpInstanceIndex",
    "vrrpInstanceIndex 1.1 INTEGER",
    "vrrpInstanceName 1.2 OCTETSTR",
    "vrrpInstanceVirtualRouterId 1.3 GAUGE",
    "vrrpInstanceState 1.4 INTEGER labels:init=0,backup=1,master=2,fault=3,unknown=4",
    "vrrpInstanceBasePriority 1.7 INTEGER",
    "vrrpInstanceEffectivePriority 1.8 INTEGER",
  ]),
  ...factRows("SYNOLOGY-UPS-MIB", "1.3.6.1.4.1.6574.4", [
    "upsDeviceModel 1.1 OCTETSTR",
    "upsDeviceManufacturer 1.2 OCTETSTR",
    "upsDeviceSerial 1.3 OCTETSTR",
    "upsInfoStatus 2.1 OCTETSTR",
    "upsInfoLoadValue 2.12.1 INTEGER",
    "upsBatteryChargeValue 3.1.1 INTEGER",
    "upsBatteryRuntimeValue 3.6.1 INTEGER",
  ]),
  ...factRows("SYNOLOGY-SMART-MIB", "1.3.6.1.4.1.6574.5.1", [
    "diskSMARTEntry 1 ROW index:diskSMARTInfoIndex",
    "diskSMARTInfoIndex 1.1 INTEGER",
    "diskSMARTInfoDevName 1.2 OCTETSTR",
    "diskSMARTAttrName 1.3 OCTETSTR",
    "diskSMARTAttrId 1.4 INTEGER",
    "diskSMARTAttrCurrent 1.5 INTEGER",
    "diskSMARTAttrWorst 1.6 INTEGER",
    "diskSMARTAttrThreshold 1.7 INTEGER",
    "diskSMARTAttrRaw 1.8 INTEGER",
    "diskSMARTAttrStatus 1.9 OCTETSTR",
  ]),
  ...factRows("SYNOLOGY-SERVICES-MIB", "1.3.6.1.4.1.6574.6.1", [
    "serviceEntry 1 ROW index:serviceInfoIndex",
    "serviceInfoIndex 1.1 INTEGER",
    "serviceName 1.2 OCTETSTR",
    "serviceUsers 1.3 INTEGER",
  ]),
  ...factRows("SYNOLOGY-STORAGEIO-MIB", "1.3.6.1.4.1.6574.101.1", [
    "storageIOEntry 1 ROW index:storageIOIndex",
    "storageIOIndex 1.1 INTEGER",
    "storageIODevice 1.2 OCTETSTR",
    "storageIOReads 1.5 COUNTER",
    "storageIOWrites 1.6 COUNTER",
    "storageIOLA 1.8 INTEGER",
    "storageIOLA1 1.9 INTEGER",
    "storageIOLA5 1.10 INTEGER",
    "storageIOLA15 1.11 INTEGER",
    "storageIONReadX 1.12 COUNTER64",
    "storageIONWrittenX 1.13 COUNTER64",
  ]),
  ...factRows("SYNOLOGY-SPACEIO-MIB", "1.3.6.1.4.1.6574.102.1", [
    "spaceIOEntry 1 ROW index:spaceIOIndex",
    "spaceIOIndex 1.1 INTEGER",
    "spaceIODevice 1.2 OCTETSTR",
    "spaceIOReads 1.5 COUNTER",
    "spaceIOWrites 1.6 COUNTER",
    "spaceIOLA 1.8 INTEGER",
    "spaceIOLA1 1.9 INTEGER",
    "spaceIOLA5 1.10 INTEGER",
    "spaceIOLA15 1.11 INTEGER",
    "spaceIONReadX 1.12 COUNTER64",
    "spaceIONWrittenX 1.13 COUNTER64",
  ]),
];
