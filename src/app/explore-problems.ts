import { columnOf } from "../explore/index.ts";
import { quote } from "../text/index.ts";
import type { PlainSettings } from "./settings/index.ts";

/** What is wrong with the fields that Explore is to keep. */
export function exploreFieldProblems(settings: PlainSettings): string[] {
  const unknown = settings.SVC_EXPLORE_FIELDS.filter((field) => columnOf(field) === undefined);
  return unknown.map((field) => `SVC_EXPLORE_FIELDS: records have no field ${quote(field)} of a known type`);
}
