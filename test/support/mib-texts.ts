/** A vendor's module that has each construct once. Its enterprise number is the one for examples (RFC 5612). */
export const acmeModule = `
ACME-MIB DEFINITIONS ::= BEGIN
IMPORTS
    MODULE-IDENTITY, OBJECT-TYPE, NOTIFICATION-TYPE, enterprises, Integer32, Unsigned32, Gauge32, Counter32,
    Counter64, TimeTicks, IpAddress            FROM SNMPv2-SMI
    TEXTUAL-CONVENTION, DisplayString, TruthValue, MacAddress, DateAndTime, RowStatus FROM SNMPv2-TC
    InetAddressType, InetAddress               FROM INET-ADDRESS-MIB
    SnmpAdminString                            FROM SNMP-FRAMEWORK-MIB
    ifIndex, ifEntry, InterfaceIndex           FROM IF-MIB;

acme MODULE-IDENTITY
    LAST-UPDATED "202601010000Z"
    ORGANIZATION "Acme" CONTACT-INFO "nobody" DESCRIPTION "It has a -- in it."
    ::= { enterprises 32473 }

acmeObjects OBJECT IDENTIFIER ::= { acme objects(1) }

-- A comment -- AcmeTenths ::= TEXTUAL-CONVENTION
    DISPLAY-HINT "d-1" STATUS current DESCRIPTION "Tenths." SYNTAX Integer32
AcmeState ::= TEXTUAL-CONVENTION
    STATUS current DESCRIPTION "A state." SYNTAX INTEGER { up(1), notReady(2), it-s(3) }
AcmeSlot ::= OCTET STRING (SIZE (2))
AcmeFanEntry ::= SEQUENCE { acmeFanName SnmpAdminString, acmeFanSpeed Gauge32 }

acmeSerial OBJECT-TYPE
    SYNTAX DisplayString MAX-ACCESS read-only STATUS current
    DESCRIPTION "The serial number."
    ::= { acmeObjects 1 }
acmeLoad OBJECT-TYPE
    SYNTAX Gauge32 (0..100) UNITS "percent" MAX-ACCESS read-only STATUS current
    DESCRIPTION "Load of the CPU." ::= { acmeObjects 2 }
acmeStarted OBJECT-TYPE
    SYNTAX DateAndTime MAX-ACCESS read-only STATUS current DESCRIPTION "When it started." ::= { acmeObjects 3 }

acmeFanTable OBJECT-TYPE
    SYNTAX SEQUENCE OF AcmeFanEntry MAX-ACCESS not-accessible STATUS current
    DESCRIPTION "All fans, 'quoted' and # marked." ::= { acmeObjects 4 }
acmeFanEntry OBJECT-TYPE
    SYNTAX AcmeFanEntry MAX-ACCESS not-accessible STATUS current DESCRIPTION "A fan."
    INDEX { acmeFanSlot, IMPLIED acmeFanName } ::= { acmeFanTable 1 }
acmeFanSlot OBJECT-TYPE
    SYNTAX AcmeSlot MAX-ACCESS not-accessible STATUS current DESCRIPTION "Its slot." ::= { acmeFanEntry 1 }
acmeFanName OBJECT-TYPE
    SYNTAX SnmpAdminString MAX-ACCESS not-accessible STATUS current DESCRIPTION "Its name." ::= { acmeFanEntry 2 }
acmeFanSpeed OBJECT-TYPE
    SYNTAX Gauge32 UNITS "rpm" MAX-ACCESS read-only STATUS current DESCRIPTION "A value of -1 is unknown."
    ::= { acmeFanEntry 3 }
acmeFanState OBJECT-TYPE
    SYNTAX AcmeState MAX-ACCESS read-only STATUS current DESCRIPTION "Its state." ::= { acmeFanEntry 4 }
acmeFanHot OBJECT-TYPE
    SYNTAX TruthValue MAX-ACCESS read-only STATUS current DESCRIPTION "Is it hot?" ::= { acmeFanEntry 5 }
acmeFanTemperature OBJECT-TYPE
    SYNTAX AcmeTenths UNITS "degrees Celsius" MAX-ACCESS read-only STATUS current DESCRIPTION "Its temperature."
    ::= { acmeFanEntry 6 }
acmeFanAlarms OBJECT-TYPE
    SYNTAX BITS { stuck(0), loud(9) } MAX-ACCESS read-only STATUS current DESCRIPTION "Its alarms." ::= { acmeFanEntry 7 }
acmeFanOld OBJECT-TYPE
    SYNTAX Integer32 MAX-ACCESS read-only STATUS obsolete DESCRIPTION "No more." ::= { acmeFanEntry 8 }
acmeFanRowStatus OBJECT-TYPE
    SYNTAX RowStatus MAX-ACCESS read-create STATUS current DESCRIPTION "The row." ::= { acmeFanEntry 9 }

acmePortTable OBJECT-TYPE
    SYNTAX SEQUENCE OF AcmePortEntry MAX-ACCESS not-accessible STATUS current DESCRIPTION "Ports." ::= { acmeObjects 5 }
acmePortEntry OBJECT-TYPE
    SYNTAX AcmePortEntry MAX-ACCESS not-accessible STATUS current DESCRIPTION "A port."
    AUGMENTS { ifEntry } ::= { acmePortTable 1 }
AcmePortEntry ::= SEQUENCE { acmePortInOctets Counter32, acmePortHCInOctets Counter64, acmePortPeak AcmeTenths }
acmePortInOctets OBJECT-TYPE
    SYNTAX Counter32 MAX-ACCESS read-only STATUS current DESCRIPTION "Octets." ::= { acmePortEntry 1 }
acmePortHCInOctets OBJECT-TYPE
    SYNTAX Counter64 MAX-ACCESS read-only STATUS current DESCRIPTION "Octets." ::= { acmePortEntry 2 }
acmePortPeak OBJECT-TYPE
    SYNTAX AcmeTenths MAX-ACCESS read-only STATUS deprecated DESCRIPTION "Tenths of something." ::= { acmePortEntry 3 }

acmePeerTable OBJECT-TYPE
    SYNTAX SEQUENCE OF AcmePeerEntry MAX-ACCESS not-accessible STATUS current DESCRIPTION "Peers." ::= { acmeObjects 6 }
acmePeerEntry OBJECT-TYPE
    SYNTAX AcmePeerEntry MAX-ACCESS not-accessible STATUS current DESCRIPTION "A peer."
    INDEX { ifIndex, acmePeerAddressType, acmePeerAddress, acmePeerMac } ::= { acmePeerTable 1 }
AcmePeerEntry ::= SEQUENCE { acmePeerAddressType InetAddressType, acmePeerAddress InetAddress }
acmePeerAddressType OBJECT-TYPE
    SYNTAX InetAddressType MAX-ACCESS not-accessible STATUS current DESCRIPTION "." ::= { acmePeerEntry 1 }
acmePeerAddress OBJECT-TYPE
    SYNTAX InetAddress (SIZE (4|16)) MAX-ACCESS not-accessible STATUS current DESCRIPTION "." ::= { acmePeerEntry 2 }
acmePeerMac OBJECT-TYPE
    SYNTAX MacAddress MAX-ACCESS not-accessible STATUS current DESCRIPTION "." ::= { acmePeerEntry 3 }
acmePeerUptime OBJECT-TYPE
    SYNTAX TimeTicks MAX-ACCESS read-only STATUS current DESCRIPTION "." ::= { acmePeerEntry 4 }
acmePeerSourceType OBJECT-TYPE
    SYNTAX InetAddressType MAX-ACCESS read-only STATUS current DESCRIPTION "." ::= { acmePeerEntry 5 }
acmePeerSource OBJECT-TYPE
    SYNTAX InetAddress MAX-ACCESS read-only STATUS current DESCRIPTION "." ::= { acmePeerEntry 6 }

acmeFanFailed NOTIFICATION-TYPE OBJECTS { acmeFanState } STATUS current DESCRIPTION "A fan failed." ::= { acme 0 1 }
END
`;

/** SMIv1, as old modules are. */
export const oldModule = `
OLD-MIB DEFINITIONS ::= BEGIN
IMPORTS enterprises, Counter, Gauge, IpAddress FROM RFC1155-SMI
        OBJECT-TYPE FROM RFC-1212  TRAP-TYPE FROM RFC-1215  DisplayString FROM RFC1213-MIB;
old OBJECT IDENTIFIER ::= { enterprises 32473 2 }
oldTable OBJECT-TYPE SYNTAX SEQUENCE OF OldEntry ACCESS not-accessible STATUS mandatory DESCRIPTION "Old rows." ::= { old 1 }
oldEntry OBJECT-TYPE SYNTAX OldEntry ACCESS not-accessible STATUS mandatory DESCRIPTION "A row."
    INDEX { oldAddress, oldNumber } ::= { oldTable 1 }
OldEntry ::= SEQUENCE { oldAddress IpAddress, oldNumber INTEGER, oldPackets Counter, oldYes INTEGER }
oldAddress OBJECT-TYPE SYNTAX IpAddress ACCESS read-only STATUS mandatory DESCRIPTION "." ::= { oldEntry 1 }
oldNumber OBJECT-TYPE SYNTAX INTEGER (1..9) ACCESS read-only STATUS mandatory DESCRIPTION "." ::= { oldEntry 2 }
oldPackets OBJECT-TYPE SYNTAX Counter ACCESS read-only STATUS mandatory DESCRIPTION "." ::= { oldEntry 3 }
oldYes OBJECT-TYPE SYNTAX INTEGER { true(1), false(2) } ACCESS read-write STATUS mandatory DESCRIPTION "." ::= { oldEntry 4 }
oldUnknownTable OBJECT-TYPE SYNTAX SEQUENCE OF OldUnknownEntry ACCESS not-accessible STATUS mandatory ::= { old 2 }
oldUnknownEntry OBJECT-TYPE SYNTAX OldUnknownEntry ACCESS not-accessible STATUS mandatory INDEX { INTEGER } ::= { oldUnknownTable 1 }
OldUnknownEntry ::= SEQUENCE { oldUnknownValue Gauge }
oldUnknownValue OBJECT-TYPE SYNTAX Gauge ACCESS read-only STATUS mandatory ::= { oldUnknownEntry 1 }
oldTrap TRAP-TYPE ENTERPRISE old VARIABLES { oldNumber } DESCRIPTION "It happened." ::= 7
END
`;
