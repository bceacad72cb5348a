import type { ExploreField } from "../../api/explore.ts";

/** What people call a field; its name where it has no other. */
export function fieldLabel(fields: readonly ExploreField[], name: string): string {
  return fields.find((field) => field.name === name)?.label ?? name;
}
