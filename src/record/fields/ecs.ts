import { recordFields } from "./field-table.ts";

/**
 * Names of the Elastic Common Schema by names of records. The schema writes MAC addresses in another form, and interface indices as texts:
 * these fields keep their own names, as all fields without a name there do.
 */
export const ecsNames: ReadonlyMap<string, string> = new Map(
  recordFields.flatMap(({ name, ecs }): [string, string][] => (ecs === undefined ? [] : [[name, ecs]])),
);

/** The fields whose values the Elastic Common Schema wants in lower case. */
export const ecsLowered: ReadonlySet<string> = new Set(
  recordFields.flatMap(({ ecs, isLowerInEcs }) => (ecs !== undefined && isLowerInEcs ? [ecs] : [])),
);

/** Returns the name of a field in the Elastic Common Schema, or its own name. */
export function ecsName(name: string): string {
  return ecsNames.get(name) ?? name;
}
