import type { KeyValue } from "../../api/explore-answer.ts";
import type { ExploreField } from "../../api/explore.ts";

/** A value of a dimension as it is shown. */
export function keyText(value: KeyValue): string {
  if (value === null) return "(none)";
  return value === "" ? "(empty)" : String(value);
}

/** Values of all dimensions, as a name for a series. */
export const rowText = (key: readonly KeyValue[]): string => key.map(keyText).join(" → ");

/** What people call a field; its name where it has no other. */
export function fieldLabel(fields: readonly ExploreField[], name: string): string {
  return fields.find((field) => field.name === name)?.label ?? name;
}
