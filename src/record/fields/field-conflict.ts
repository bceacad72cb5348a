import { recordFields } from "./field-table.ts";

/** How a further name stands to the names that records have. */
export interface FieldConflict {
  /** It is a field's name, fields lie below it, or it lies below a field. */
  readonly kind: "same" | "above" | "below";
  /** The first such field. */
  readonly field: string;
}

/**
 * Finds the field whose name gets in the way of a further one: no name of a record may be there twice, or be a value and a group of
 * others at once (`ip` and `ip.addr`).
 */
export function createFindConflict(): (name: string) => FieldConflict | undefined {
  const names = new Set(recordFields.map(({ name }) => name));
  const groups = new Map<string, string>();
  for (const name of names) {
    for (const above of groupsOf(name)) if (!groups.has(above)) groups.set(above, name);
  }
  return (name) => {
    if (names.has(name)) return { kind: "same", field: name };
    const below = groups.get(name);
    if (below !== undefined) return { kind: "above", field: below };
    const above = groupsOf(name).find((group) => names.has(group));
    return above === undefined ? undefined : { kind: "below", field: above };
  };
}

/** `a.b.c`: `a`, `a.b`. */
function groupsOf(name: string): string[] {
  const groups: string[] = [];
  for (let dot = name.indexOf(".", 1); dot >= 0; dot = name.indexOf(".", dot + 1)) groups.push(name.slice(0, dot));
  return groups;
}
