import { readFileSync } from "node:fs";
import { readElements, type CustomElement } from "../../flow/index.ts";
import { SettingsError, type Settings } from "../settings/index.ts";

export interface FlowElements {
  readonly elements: readonly CustomElement[];
  /** What is in the files and has no effect. */
  readonly warnings: readonly string[];
}

/**
 * Reads the files of information elements that the settings name.
 *
 * @throws SettingsError with everything that is wrong with them.
 */
export function flowElements(settings: Pick<Settings, "SVC_FLOW_DECODER_ELEMENTS_PATH">): FlowElements {
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
