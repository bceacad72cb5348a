import {
  compileFilter,
  FilterError,
  parseFilter,
  type Matches,
  recordVocabulary,
  type Filter,
} from "../record/index.ts";
import { instanceSetting, outputWords, type OutputWord, type PlainSettings } from "./settings/index.ts";

/** The settings that are filters. */
type FilterSetting = `SVC_OUTPUT_${OutputWord}_FILTER` | "SVC_PROCESSOR_FILTER_KEEP" | "SVC_PROCESSOR_FILTER_DROP";

const filterSettings: readonly FilterSetting[] = [
  "SVC_PROCESSOR_FILTER_KEEP",
  "SVC_PROCESSOR_FILTER_DROP",
  ...outputWords.map((word) => `SVC_OUTPUT_${word}_FILTER` as const),
];

/**
 * The filter that a setting has; undefined when it is empty.
 *
 * @throws FilterError, which names the setting.
 */
export function filterOf(name: string, text: string): Filter | undefined {
  return text === "" ? undefined : parseFilter(text, name, recordVocabulary);
}

/**
 * The filter that records must be true of, whatever output they go to; undefined: all are wanted.
 *
 * @throws FilterError, which names the setting.
 */
export function recordFilter(settings: PlainSettings): Filter | undefined {
  const keep = filterOf("SVC_PROCESSOR_FILTER_KEEP", settings.SVC_PROCESSOR_FILTER_KEEP);
  const drop = filterOf("SVC_PROCESSOR_FILTER_DROP", settings.SVC_PROCESSOR_FILTER_DROP);
  if (drop === undefined) return keep;
  const isNotDropped: Filter = { kind: "not", filter: drop };
  return keep === undefined ? isNotDropped : { kind: "and", filters: [keep, isNotDropped] };
}

/** The condition of a rule for traps. @throws FilterError */
export function compileTrapCondition(text: string): Matches {
  return compileFilter(parseFilter(text, "", recordVocabulary));
}

/** What is wrong with the filters of the settings. */
export function filterProblems(settings: PlainSettings): string[] {
  const all = filterSettings.map((name) => ({ name: name as string, text: settings[name] }));
  for (const instance of settings.outputInstances) {
    const name = `SVC_OUTPUT_${instance.word}_FILTER` as const;
    all.push({ name: instanceSetting(instance, name), text: instance.settings[name] });
  }
  return all.flatMap(({ name, text }) => {
    try {
      filterOf(name, text);
      return [];
    } catch (error) {
      if (error instanceof FilterError) return [error.message];
      throw error;
    }
  });
}
