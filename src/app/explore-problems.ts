import { columnOf, exploreColumns, isMetadataName } from "../explore/index.ts";
import { quote } from "../text/index.ts";
import type { PlainSettings } from "./settings/index.ts";

/** What is wrong with the fields that Explore is to keep. */
export function exploreFieldProblems(settings: PlainSettings): string[] {
  const unknown = settings.SVC_EXPLORE_FIELDS.filter((field) => columnOf(field) === undefined);
  if (unknown.length > 0) {
    return unknown.map((field) => `SVC_EXPLORE_FIELDS: records have no field ${quote(field)} of a known type`);
  }
  const kept = new Set(exploreColumns(settings.SVC_EXPLORE_FIELDS).map(({ field }) => field));
  const lacking = settings.SVC_EXPLORE_ROLLUP_FIELDS.filter((field) => !kept.has(field) && !isMetadataName(field));
  return lacking.map(
    (field) => `SVC_EXPLORE_ROLLUP_FIELDS: Explore does not keep ${quote(field)}: SVC_EXPLORE_FIELDS adds it`,
  );
}
