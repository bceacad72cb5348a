import type { Entry } from "../../api/entry.ts";
import { holds, spanOf } from "../../format/addresses.ts";

/** Of entries that cover the first address of a prefix or a range, those that cover all of it and more. */
export function widerEntries(text: string, covering: readonly Entry[]): readonly Entry[] {
  const inner = spanOf(text);
  if (inner === undefined) return [];
  return covering.filter(({ key }) => {
    const outer = spanOf(key);
    return outer !== undefined && holds(outer, inner) && !holds(inner, outer);
  });
}
