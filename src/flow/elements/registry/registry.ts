import type { ElementRow, InformationElement, VendorRow } from "./information-element.ts";
import { ianaElements } from "./iana-elements.gen.ts";
import { vendorElements } from "./vendor-elements.gen.ts";
import { vendorTypes } from "./vendor-types.gen.ts";

/**
 * Field types that exist in NetFlow v9 alone: from 32768 on, where IPFIX has its enterprise bit. 33000 to 40005 are sent by
 * Cisco's firewalls ("NetFlow Implementation Guide, Cisco Secure Firewall ASA", NSEL), 56701 and 56702 by those of Palo
 * Alto Networks ("PAN-OS Administrator's Guide", NetFlow templates).
 */
const netflow9Elements: readonly ElementRow[] = [
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

/** The private enterprise number under which an IANA element speaks of the reverse direction (RFC 5103 section 6.1). */
export const reversePen = 29_305;

/** The first of vendors' elements among the field types of NetFlow v9, by enterprise number. */
const netflow9Bases: ReadonlyMap<number, number> = new Map([
  [9, 0x8000],
  [35_632, 57_472],
]);

const elements = new Map<number, InformationElement>();
addAll(0, ianaElements);
addAll(0, netflow9Elements);
for (const [pen, rows] of vendorElements) addAll(pen, rows);
for (const [pen, rows] of vendorTypes) addAll(pen, rows.map(elementRow));
addAll(0, netflow9VendorRows());

/**
 * The element of this number; undefined when no registry here has it.
 *
 * @param pen private enterprise number, 0 for IANA and for everything of NetFlow v9.
 */
export function findElement(pen: number, id: number): InformationElement | undefined {
  return elements.get(elementKey(pen, id));
}

/** All known elements, IANA's first. */
export function knownElements(): Iterable<InformationElement> {
  return elements.values();
}

/** One number for both, exact: 32 bits of enterprise and 16 of id. */
export function elementKey(pen: number, id: number): number {
  return pen * 0x10000 + id;
}

/** Returns the row of an element. It says nothing of what is not known. */
function elementRow([id, name, type]: VendorRow): ElementRow {
  return [id, name, type, "default", ""];
}

/**
 * NetFlow v9 has no enterprise numbers: Cisco's elements are behind 32768 there, those of ntop behind 57472. The field types of
 * firewalls in between stay what they are.
 */
function netflow9VendorRows(): ElementRow[] {
  const taken = new Set(netflow9Elements.map(([id]) => id));
  return vendorTypes.flatMap(([pen, rows]) => {
    const base = netflow9Bases.get(pen);
    if (base === undefined) return [];
    return rows
      .filter(([id]) => base + id <= 0xffff && !taken.has(base + id))
      .map(([id, name, type]) => elementRow([base + id, name, type]));
  });
}

function addAll(pen: number, rows: readonly ElementRow[]): void {
  for (const [id, name, type, semantics, units] of rows) {
    elements.set(elementKey(pen, id), { pen, id, name, type, semantics, units });
  }
}
