import type { ElementRow } from "./information-element.ts";

/**
 * Field types that exist in NetFlow v9 alone: from 32768 on, where IPFIX has its enterprise bit. 33000 to 40005 are sent by
 * Cisco's firewalls ("NetFlow Implementation Guide, Cisco Secure Firewall ASA", NSEL), 56701 and 56702 by those of Palo
 * Alto Networks ("PAN-OS Administrator's Guide", NetFlow templates).
 */
export const netflow9Elements: readonly ElementRow[] = [
  [33_000, "ciscoIngressAclId", "octetArray", "identifier", ""],
  [33_001, "ciscoEgressAclId", "octetArray", "identifier", ""],
  [33_002, "ciscoFirewallExtendedEvent", "unsigned16", "identifier", ""],
  [40_000, "ciscoUserName", "string", "default", ""],
  [40_001, "ciscoTranslatedSourceIPv4Address", "ipv4Address", "default", ""],
  [40_002, "ciscoTranslatedDestinationIPv4Address", "ipv4Address", "default", ""],
  [40_003, "ciscoTranslatedSourcePort", "unsigned16", "identifier", ""],
  [40_004, "ciscoTranslatedDestinationPort", "unsigned16", "identifier", ""],
  [40_005, "ciscoFirewallEvent", "unsigned8", "identifier", ""],
  [56_701, "paloAltoApplication", "string", "default", ""],
  [56_702, "paloAltoUser", "string", "default", ""],
];
