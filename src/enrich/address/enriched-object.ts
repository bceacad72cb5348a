import { renderFields, lineObjects } from "../../record/index.ts";
import type { AddressScope } from "./address-limbs.ts";
import { udmContexts, type UdmContext } from "../../metadata/index.ts";

/** Returns the label of an autonomous system for people: its organisation and number, or the number alone. */
export function asLabel(number: number, organisation?: string): string {
  return organisation === undefined ? `AS${number}` : `${organisation} (${number})`;
}

/** The locality of an address: `internal` if metadata says so, otherwise by its range. */
type Locality = "internal" | AddressScope;

/** All localities at their numbers in memory; 0 means none. */
export const localities: readonly (Locality | undefined)[] = [undefined, "internal", "private", "public", "multicast"];

/**
 * Returns the locality of an address.
 *
 * @param internal the name for internal addresses if metadata calls the address internal; otherwise undefined.
 */
export function localityOf(scope: AddressScope, internal: "internal" | "private" | undefined): Locality {
  return internal ?? scope;
}

/**
 * Returns the locality of a flow by its ends: `public` if either end is public, else `private` if either is private, else `internal`.
 * Multicast groups do not count. A flow between multicast groups, or without a known end, has no locality.
 */
export function flowLocality(
  source: Locality | undefined,
  destination: Locality | undefined,
): "internal" | "private" | "public" | undefined {
  if (source === "public" || destination === "public") return "public";
  if (source === "private" || destination === "private") return "private";
  return source === "internal" || destination === "internal" ? "internal" : undefined;
}

/** The name of the field for the locality of a flow. */
export const localityName = "flow.locality";

export const renderedLocalities = {
  internal: renderFields([[localityName, "internal"]]),
  private: renderFields([[localityName, "private"]]),
  public: renderFields([[localityName, "public"]]),
} as const;

/** A part of a record that has an address of its own at `<name>.ip.addr`. */
export interface EnrichedObject {
  readonly name: string;
  readonly addressName: string;
  /** The VLAN field, which a record may already have and then keeps. */
  readonly vlanName: string;
  readonly asNumberName: string;
  readonly asOrganisationName: string;
  readonly asLabelName: string;
  /** The bit of the object's context, in the order of {@link udmContexts}, for entries that are limited to one context. */
  readonly contextBit: number;
  /**
   * True if a decoder gives the other names of the object, so that they are known. Names of SNMP objects come from definition files.
   */
  readonly hasKnownNames: boolean;
}

/**
 * The objects in the order of their values, where several objects give one. {@link lineObjects} determines the positions of its
 * objects.
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
