import type { LayerChanges } from "../../udm/index.ts";
import type { SourceGuard } from "../source-config.ts";

/**
 * Why changes must wait for a person's yes; undefined: they need not. The first entries of a source are always taken.
 *
 * @param before how many entries the source has.
 */
export function guardAgainst(
  { added, changed, removed }: LayerChanges,
  before: number,
  { maxShrink, maxChange, maxEntries }: SourceGuard,
): string | undefined {
  const after = before + added.length - removed.length;
  if (after > maxEntries) return `${after} entries are more than max_entries (${maxEntries})`;
  if (before === 0) return undefined;
  const percent = (part: number): string => `${Math.round(100 * part)} %`;
  const shrink = (before - after) / before;
  if (shrink > maxShrink) {
    return `${after} entries in place of ${before} are ${percent(shrink)} fewer: more than max_shrink (${percent(maxShrink)})`;
  }
  const change = (changed.length + removed.length) / before;
  if (change > maxChange) {
    return `${changed.length + removed.length} of ${before} entries change or go, ${percent(change)}: more than max_change (${percent(maxChange)})`;
  }
  return undefined;
}
