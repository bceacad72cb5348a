import { createFindConflict, fieldGroups, recordFields } from "../../../record/index.ts";
import { quote } from "../../../base/text/index.ts";
import { enrichedObjects } from "../objects/enriched-object.ts";

/**
 * Judges metadata keys before any record has them.
 *
 * @returns what happens to a key that gets in the way of the collector's own fields; undefined for others. In place of what netgloss
 * itself adds (a city, an organisation), of what only metadata say (a threat), or of what a device says of itself, it is wanted, and
 * nothing is said.
 */
export function createKeyConflicts(): (key: string) => string | undefined {
  const findConflict = createFindConflict();
  const ofMetadata = recordFields.filter(({ source }) => source === "metadata");
  const wanted = new Set<string>([...fieldGroups.enriched, ...ofMetadata].map(({ name }) => name));
  return (key) => {
    const names = key.startsWith(".") ? enrichedObjects.map(({ name }) => name + key) : [key];
    for (const name of names) {
      const conflict = findConflict(name);
      if (conflict === undefined) continue;
      const { kind, field } = conflict;
      if (kind === "same" && (wanted.has(field) || field.startsWith("system."))) continue;
      const shown = quote(key);
      if (kind === "same") return `metadata key ${shown} replaces the field ${field}`;
      if (kind === "above") return `metadata key ${shown} goes out as ${quote(`${key}.value`)}: ${field} lies below it`;
      const place = key.length - (name.length - field.length);
      const as = quote(`${key.slice(0, place)}_${key.slice(place + 1)}`);
      return `metadata key ${shown} goes out as ${as} in records with ${field}: it lies below that value`;
    }
    return undefined;
  };
}
