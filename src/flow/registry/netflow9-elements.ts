import type { ElementRow } from "./information-element.ts";

/**
 * Field types that exist in NetFlow v9 alone: from 32768 on, where IPFIX has its enterprise bit. They are Cisco's, sent
 * by its firewalls ("NetFlow Implementation Guide, Cisco Secure Firewall ASA", NSEL).
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
];
