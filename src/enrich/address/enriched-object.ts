import { renderFields, lineObjects } from "../../record/index.ts";
import type { AddressScope } from "./address-limbs.ts";
import { udmContexts, type UdmContext } from "../../metadata/index.ts";

/** Returns the label of an autonomous system for people: its organisation and its number, or the number alone. */
export function asLabel(number: number, organisation?: string): string {
  return organisation === undefined ? `AS${number}` : `${organisation} (${number})`;
}

/** The locality of an address: `internal` when metadata calls it so, else by its range. */
type Locality = "internal" | AddressScope;

/** All of them, by the numbers under which they are kept; 0 for none. */
export const localities: readonly (Locality | undefined)[] = [undefined, "internal", "private", "public", "multicast"];

/** @param internal what it is by metadata; undefined: they do not call it internal. */
export function localityOf(scope: AddressScope, internal: "internal" | "private" | undefined): Locality {
  return internal ?? scope;
}

/**
 * Returns the locality of a flow by its ends: `public` as soon as one of them is, else `private` as soon as one is that, else
 * `internal`. Multicast groups do not count; a flow between such, or with no known end, has none.
 */
export function flowLocality(
  source: Locality | undefined,
  destination: Locality | undefined,
): "internal" | "private" | "public" | undefined {
  if (source === "public" || destination === "public") return "public";
  if (source === "private" || destination === "private") return "private";
  return source === "internal" || destination === "internal" ? "internal" : undefined;
}

/** The name of the field that says it of a flow. */
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
  /** The field that a record may have of its own, and then keeps. */
  readonly vlanName: string;
  readonly asNumberName: string;
  readonly asOrganisationName: string;
  readonly asLabelName: string;
  /** The context of the address, for entries that are limited to one: its bit, in the order of {@link udmContexts}. */
  readonly contextBit: number;
  /** True if the object's other names are a decoder's, and so known; those of SNMP objects come from definition files. */
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
