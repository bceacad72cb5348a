import { anonymizingProblems } from "./anonymizing.ts";
import { exploreFieldProblems } from "./explore-problems.ts";
import { filterProblems } from "./filters.ts";
import { rollupProblems } from "./rollups.ts";
import { SettingsError, type PlainSettings } from "./settings/index.ts";

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
