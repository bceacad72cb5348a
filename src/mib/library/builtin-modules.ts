/**
 * The names and types that almost every module imports, so that a vendor's module can be read where the modules of the
 * IETF are not installed. They have no descriptions, and only what others import. A module that is found in a directory
 * comes before the one here.
 */
export const builtinModules: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    "SNMPv2-SMI": `
      org OBJECT IDENTIFIER ::= { iso 3 }  dod OBJECT IDENTIFIER ::= { org 6 }
      internet OBJECT IDENTIFIER ::= { dod 1 }  directory OBJECT IDENTIFIER ::= { internet 1 }
      mgmt OBJECT IDENTIFIER ::= { internet 2 }  mib-2 OBJECT IDENTIFIER ::= { mgmt 1 }
      transmission OBJECT IDENTIFIER ::= { mib-2 10 }  experimental OBJECT IDENTIFIER ::= { internet 3 }
      private OBJECT IDENTIFIER ::= { internet 4 }  enterprises OBJECT IDENTIFIER ::= { private 1 }
      security OBJECT IDENTIFIER ::= { internet 5 }  snmpV2 OBJECT IDENTIFIER ::= { internet 6 }
      snmpDomains OBJECT IDENTIFIER ::= { snmpV2 1 }  snmpProxys OBJECT IDENTIFIER ::= { snmpV2 2 }
      snmpModules OBJECT IDENTIFIER ::= { snmpV2 3 }  zeroDotZero OBJECT IDENTIFIER ::= { 0 0 }
      ${base("Integer32", "INTEGER (-2147483648..2147483647)")}
      ${["Counter32", "Counter64", "Gauge32", "Unsigned32", "TimeTicks", "UInteger32"].map(number).join("\n")}
      ${base("IpAddress", "OCTET STRING (SIZE (4))")} ${base("Opaque", "OCTET STRING")}`,
    "SNMPv2-CONF": "",
    "RFC-1212": "",
    "RFC-1215": "",
    "RFC1155-SMI": `
      org OBJECT IDENTIFIER ::= { iso 3 }  dod OBJECT IDENTIFIER ::= { org 6 }
      internet OBJECT IDENTIFIER ::= { dod 1 }  directory OBJECT IDENTIFIER ::= { internet 1 }
      mgmt OBJECT IDENTIFIER ::= { internet 2 }  experimental OBJECT IDENTIFIER ::= { internet 3 }
      private OBJECT IDENTIFIER ::= { internet 4 }  enterprises OBJECT IDENTIFIER ::= { private 1 }
      ${["Counter", "Gauge", "TimeTicks"].map(number).join("\n")}
      ${base("IpAddress", "OCTET STRING (SIZE (4))")} ${base("NetworkAddress", "IpAddress")} ${base("Opaque", "OCTET STRING")}`,
    "SNMPv2-TC": `
      ${convention("DisplayString", "OCTET STRING (SIZE (0..255))", "255a")}
      ${convention("PhysAddress", "OCTET STRING", "1x:")} ${convention("MacAddress", "OCTET STRING (SIZE (6))", "1x:")}
      ${convention("TruthValue", "INTEGER { true(1), false(2) }")} ${convention("TestAndIncr", "INTEGER (0..2147483647)")}
      ${convention("AutonomousType", "OBJECT IDENTIFIER")} ${convention("InstancePointer", "OBJECT IDENTIFIER")}
      ${convention("VariablePointer", "OBJECT IDENTIFIER")} ${convention("RowPointer", "OBJECT IDENTIFIER")}
      ${convention("RowStatus", "INTEGER { active(1), notInService(2), notReady(3), createAndGo(4), createAndWait(5), destroy(6) }")}
      ${convention("StorageType", "INTEGER { other(1), volatile(2), nonVolatile(3), permanent(4), readOnly(5) }")}
      ${convention("TimeStamp", "TimeTicks")} ${convention("TimeInterval", "INTEGER (0..2147483647)")}
      ${convention("DateAndTime", "OCTET STRING (SIZE (8 | 11))", "2d-1d-1d,1d:1d:1d.1d,1a1d:1d")}
      ${convention("TDomain", "OBJECT IDENTIFIER")} ${convention("TAddress", "OCTET STRING (SIZE (1..255))")}`,
    "SNMP-FRAMEWORK-MIB": `
      ${convention("SnmpAdminString", "OCTET STRING (SIZE (0..255))", "255t")}
      ${convention("SnmpEngineID", "OCTET STRING (SIZE (5..32))")}`,
    "INET-ADDRESS-MIB": `
      ${convention("InetAddressType", "INTEGER { unknown(0), ipv4(1), ipv6(2), ipv4z(3), ipv6z(4), dns(16) }")}
      ${convention("InetAddress", "OCTET STRING (SIZE (0..255))")}
      ${convention("InetAddressIPv4", "OCTET STRING (SIZE (4))", "1d.1d.1d.1d")}
      ${convention("InetAddressIPv6", "OCTET STRING (SIZE (16))", "2x:2x:2x:2x:2x:2x:2x:2x")}
      ${convention("InetAddressPrefixLength", "Unsigned32 (0..2040)", "d")} ${convention("InetPortNumber", "Unsigned32 (0..65535)", "d")}
      ${convention("InetAutonomousSystemNumber", "Unsigned32", "d")}
      ${convention("InetVersion", "INTEGER { unknown(0), ipv4(1), ipv6(2) }")}`,
    "HCNUM-TC": `
      ${convention("CounterBasedGauge64", "Counter64")} ${convention("ZeroBasedCounter64", "Counter64")}`,
    "RMON2-MIB": convention("ZeroBasedCounter32", "Gauge32"),
    "UUID-TC-MIB": convention("UUID", "OCTET STRING (SIZE (16))", "4x-2x-2x-1x1x-6x"),
    "RFC1213-MIB": `
      mib-2 OBJECT IDENTIFIER ::= { mgmt 1 }  system OBJECT IDENTIFIER ::= { mib-2 1 }
      interfaces OBJECT IDENTIFIER ::= { mib-2 2 }  ip OBJECT IDENTIFIER ::= { mib-2 4 }
      transmission OBJECT IDENTIFIER ::= { mib-2 10 }  DisplayString ::= OCTET STRING  PhysAddress ::= OCTET STRING
      ${scalar("sysDescr", "DisplayString", "system 1")} ${scalar("sysObjectID", "OBJECT IDENTIFIER", "system 2")}
      ${scalar("sysUpTime", "TimeTicks", "system 3")} ${scalar("sysName", "DisplayString", "system 5")}
      ifTable OBJECT-TYPE SYNTAX SEQUENCE OF IfEntry ACCESS not-accessible STATUS mandatory ::= { interfaces 2 }
      ifEntry OBJECT-TYPE SYNTAX IfEntry ACCESS not-accessible STATUS mandatory INDEX { ifIndex } ::= { ifTable 1 }
      IfEntry ::= SEQUENCE { ifIndex INTEGER } ${scalar("ifIndex", "INTEGER", "ifEntry 1")}
      ${scalar("ifDescr", "DisplayString", "ifEntry 2")}`,
    "SNMPv2-MIB": `
      system OBJECT IDENTIFIER ::= { mib-2 1 }  ${scalar("sysDescr", "DisplayString", "system 1")}
      ${scalar("sysObjectID", "OBJECT IDENTIFIER", "system 2")} ${scalar("sysUpTime", "TimeTicks", "system 3")}
      ${scalar("sysName", "DisplayString", "system 5")}`,
    "IF-MIB": `
      interfaces OBJECT IDENTIFIER ::= { mib-2 2 }
      ${convention("InterfaceIndex", "Integer32 (1..2147483647)", "d")}
      ${convention("InterfaceIndexOrZero", "Integer32 (0..2147483647)", "d")}
      ${convention("OwnerString", "OCTET STRING (SIZE (0..255))", "255a")}
      ifTable OBJECT-TYPE SYNTAX SEQUENCE OF IfEntry MAX-ACCESS not-accessible STATUS current ::= { interfaces 2 }
      ifEntry OBJECT-TYPE SYNTAX IfEntry MAX-ACCESS not-accessible STATUS current INDEX { ifIndex } ::= { ifTable 1 }
      IfEntry ::= SEQUENCE { ifIndex InterfaceIndex } ${scalar("ifIndex", "InterfaceIndex", "ifEntry 1")}
      ${scalar("ifDescr", "DisplayString", "ifEntry 2")}`,
    "ENTITY-MIB": `
      entityMIB OBJECT IDENTIFIER ::= { mib-2 47 }  entityMIBObjects OBJECT IDENTIFIER ::= { entityMIB 1 }
      entityPhysical OBJECT IDENTIFIER ::= { entityMIBObjects 1 }
      ${convention("PhysicalIndex", "Integer32 (1..2147483647)", "d")}
      ${convention("PhysicalIndexOrZero", "Integer32 (0..2147483647)", "d")}
      entPhysicalTable OBJECT-TYPE SYNTAX SEQUENCE OF EntPhysicalEntry MAX-ACCESS not-accessible STATUS current ::= { entityPhysical 1 }
      entPhysicalEntry OBJECT-TYPE SYNTAX EntPhysicalEntry MAX-ACCESS not-accessible STATUS current INDEX { entPhysicalIndex } ::= { entPhysicalTable 1 }
      EntPhysicalEntry ::= SEQUENCE { entPhysicalIndex PhysicalIndex }
      entPhysicalIndex OBJECT-TYPE SYNTAX PhysicalIndex MAX-ACCESS not-accessible STATUS current ::= { entPhysicalEntry 1 }`,
  }).map(([name, body]) => [name, `${name} DEFINITIONS ::= BEGIN ${imports(name)} ${body} END`]),
);

/** What the bodies above use of one another. */
function imports(name: string): string {
  if (/^(?:SNMPv2-SMI|SNMPv2-CONF|RFC-121[25]|RFC1155-SMI)$/.test(name)) return "";
  const smi =
    name === "RFC1213-MIB"
      ? "mgmt, TimeTicks FROM RFC1155-SMI"
      : "mib-2, TimeTicks, Integer32, Unsigned32, Gauge32, Counter64 FROM SNMPv2-SMI";
  return `IMPORTS ${smi}${/^(?:IF-MIB|SNMPv2-MIB)$/.test(name) ? " DisplayString FROM SNMPv2-TC" : ""};`;
}

function base(name: string, type: string): string {
  return `${name} ::= ${type}`;
}

function number(name: string): string {
  return base(name, name === "Counter64" ? "INTEGER (0..18446744073709551615)" : "INTEGER (0..4294967295)");
}

function convention(name: string, type: string, hint?: string): string {
  const display = hint === undefined ? "" : `DISPLAY-HINT "${hint}"`;
  return `${name} ::= TEXTUAL-CONVENTION ${display} STATUS current SYNTAX ${type}`;
}

function scalar(name: string, type: string, place: string): string {
  return `${name} OBJECT-TYPE SYNTAX ${type} MAX-ACCESS read-only STATUS current ::= { ${place} }`;
}
