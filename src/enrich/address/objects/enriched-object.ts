import { lineObjects } from "../../../record/index.ts";
import { udmContexts, type UdmContext } from "../../../metadata/index.ts";

/** A part of a record that has an address of its own at `<name>.ip.addr`. */
export interface EnrichedObject {
  readonly name: string;
  readonly addressName: string;
  /** The field that a record may have of its own, and then keeps. */
  readonly vlanName: string;
  readonly asNumberName: string;
  readonly asOrganisationName: string;
  readonly asLabelName: string;
  /** What the address is, for entries that are limited to a context: its bit, in the order of {@link udmContexts}. */
  readonly contextBit: number;
  /** Whether the object's other names are a decoder's, and so known; those of SNMP objects come from definition files. */
  readonly hasKnownNames: boolean;
}

/**
 * In the order in which their values are listed where several give one. Those of {@link lineObjects} are at the positions that
 * it gives them.
 */
export const enrichedObjects: readonly EnrichedObject[] = inOrder({
  src: enrichedObject("flow.src", "endpoint", true),
  dst: enrichedObject("flow.dst", "endpoint", true),
  export: enrichedObject("flow.export", "exporter", true),
  system: enrichedObject("system", "exporter", false),
});

function inOrder({
  system,
  ...ofLines
}: Readonly<Record<keyof typeof lineObjects | "system", EnrichedObject>>): EnrichedObject[] {
  const objects: EnrichedObject[] = [];
  for (const [name, position] of Object.entries(lineObjects)) objects[position] = ofLines[name as keyof typeof ofLines];
  return [...objects, system];
}

function enrichedObject(name: string, context: UdmContext, hasKnownNames: boolean): EnrichedObject {
  return {
    name,
    addressName: `${name}.ip.addr`,
    vlanName: `${name}.vlan.tag.id`,
    asNumberName: `${name}.as.asn`,
    asOrganisationName: `${name}.as.org`,
    asLabelName: `${name}.as.label`,
    contextBit: 1 << udmContexts.indexOf(context),
    hasKnownNames,
  };
}
