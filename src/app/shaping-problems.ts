import { columnOf, exploreColumns, isMetadataName } from "../explore/index.ts";
import { quote } from "../base/text/index.ts";
import { type PlainSettings, SettingsError } from "./settings/index.ts";
import { anonymizingProblems } from "./anonymizing.ts";
import { filterProblems } from "./filters.ts";
import { rollupProblems } from "./rollups.ts";

/** What is wrong with the fields that Explore is to keep. */
function exploreFieldProblems(settings: PlainSettings): string[] {
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

/** What is wrong with filters, with fields to add records up by or to keep, and with the key for anonymising. */
export function shapingProblems(settings: PlainSettings): string[] {
  return [
    ...filterProblems(settings),
    ...rollupProblems(settings),
    ...anonymizingProblems(settings),
    ...exploreFieldProblems(settings),
  ];
}

/** @throws SettingsError with {@link shapingProblems}, if there are some. */
export function checkShaping(settings: PlainSettings): void {
  const problems = shapingProblems(settings);
  if (problems.length > 0) throw new SettingsError(problems);
}
