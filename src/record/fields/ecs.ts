import { recordFields } from "./field-table.ts";

/**
 * Names of the Elastic Common Schema by names of records. A MAC address is written otherwise there, an interface's index is a text: these
 * keep their names, as all others do.
 */
export const ecsNames: ReadonlyMap<string, string> = new Map(
  recordFields.flatMap(({ name, ecs }): [string, string][] => (ecs === undefined ? [] : [[name, ecs]])),
);

/** The fields whose values the Elastic Common Schema wants in small letters. */
export const ecsLowered: ReadonlySet<string> = new Set(
  recordFields.flatMap(({ ecs, isLowerInEcs }) => (ecs !== undefined && isLowerInEcs ? [ecs] : [])),
);

/** The name of a field in the Elastic Common Schema, else its own. */
export function ecsName(name: string): string {
  return ecsNames.get(name) ?? name;
}
