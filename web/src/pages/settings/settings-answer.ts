import type { GetSettingsAnswer } from "../../api/answers.gen.ts";

export type Setting = GetSettingsAnswer["settings"][number];

/** A value as it is shown: what is empty says so, what is secret hides. */
export function shownValue({
  value,
  isSecret = false,
  isSet = false,
}: Pick<Setting, "value" | "isSecret" | "isSet">): string {
  if (isSecret) return isSet ? "hidden" : "not set";
  return value === undefined || value === "" ? "empty" : value;
}
