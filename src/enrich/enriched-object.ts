import type { UdmContext } from "../udm/index.ts";

/** A part of a record that has an address of its own at `<name>.ip.addr`. */
export interface EnrichedObject {
  readonly name: string;
  readonly addressName: string;
  /** Names of what entries add. Kept, because a text made anew for each address is another one to a map or a cache line. */
  readonly names: Readonly<Record<"subnetName" | "subnetTags" | "isInternal" | "vlan" | "asNumber" | "asOrg", string>>;
  /** What the address is, for entries that are limited to a context. */
  readonly context: UdmContext;
  /** Whether the names beside it are a decoder's, and so known; those of SNMP objects come from definition files. */
  readonly hasKnownNames: boolean;
}

/** In the order in which their values are listed where several give one. */
export const enrichedObjects: readonly EnrichedObject[] = [
  enrichedObject("flow.src", "endpoint", true),
  enrichedObject("flow.dst", "endpoint", true),
  enrichedObject("flow.export", "exporter", true),
  enrichedObject("system", "exporter", false),
];

function enrichedObject(name: string, context: UdmContext, hasKnownNames: boolean): EnrichedObject {
  const names = {
    subnetName: `${name}.ip.subnet.name`,
    subnetTags: `${name}.ip.subnet.tags`,
    isInternal: `${name}.isInternal`,
    vlan: `${name}.vlan.tag.id`,
    asNumber: `${name}.as.asn`,
    asOrg: `${name}.as.org`,
  };
  return { name, addressName: `${name}.ip.addr`, names, context, hasKnownNames };
}
