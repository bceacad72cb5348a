import { fieldRows } from "./record-field.ts";

/** What every record of SNMP has; its metrics and tags are those of the object's definition. */
export const snmpFields = fieldRows(`
system.ip.addr | ip | | 192.0.2.254 | address of the device | SNMP
system.host.name | keyword | | core-1 | name of the device | SNMP
snmp.object.name | keyword | | IF-MIB::ifXTable | object that was polled | SNMP
snmp.object.instance | keyword | | 7 | row of the object, where no index names it | SNMP
snmp.object.isOddIndex | boolean | | true | the row's instance is no index of the object, and so in snmp.object.instance | SNMP
snmp.object.isPartial | boolean | | true | not all of the object's values came | SNMP
`);
