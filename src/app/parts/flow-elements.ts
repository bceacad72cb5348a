import { readFileSync } from "node:fs";
import { readElements, type CustomElement } from "../../flow/index.ts";
import { SettingsError, type Settings } from "../settings/index.ts";

/**
 * Reads the files of information elements that the settings name.
 *
 * @returns the elements, with warnings about content that has no effect.
 * @throws SettingsError with all of their faults.
 */
export function flowElements(settings: Pick<Settings, "SVC_FLOW_DECODER_ELEMENTS_PATH">): {
  readonly elements: readonly CustomElement[];
  readonly warnings: readonly string[];
} {
  const problems: string[] = [];
  const files = settings.SVC_FLOW_DECODER_ELEMENTS_PATH.flatMap((path) => {
    try {
      return [{ path, text: readFileSync(path, "utf8") }];
    } catch (error) {
      problems.push(`cannot read the file of elements: ${(error as Error).message}`);
      return [];
    }
  });
  const read = readElements(files);
  problems.push(...read.problems);
  if (problems.length > 0) throw new SettingsError(problems);
  return read;
}
