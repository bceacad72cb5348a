import { renderFields } from "../../../record/index.ts";
import type { AddressScope } from "../words/address-scope.ts";

/** Where an address is: `internal` when metadata calls it so, else by its range. */
export type Locality = "internal" | AddressScope;

/** All of them, by the numbers under which they are kept; 0 for none. */
export const localities: readonly (Locality | undefined)[] = [undefined, "internal", "private", "public", "multicast"];

/** @param internal what it is by metadata; undefined: they do not call it internal. */
export function localityOf(scope: AddressScope, internal: "internal" | "private" | undefined): Locality {
  return internal ?? scope;
}

/**
 * Where a flow is by its ends: `public` as soon as one of them is, else `private` as soon as one is that, else `internal`.
 * Multicast groups do not count; a flow between such, or with no known end, is nowhere.
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
