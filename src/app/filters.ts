import { FilterError, parseFilter, recordVocabulary, type Filter } from "../filter/index.ts";
import { instanceSetting, outputWords, SettingsError, type OutputWord, type PlainSettings } from "./settings/index.ts";

/** The settings that are filters. */
type FilterSetting = `SVC_OUTPUT_${OutputWord}_FILTER`;

const filterSettings: readonly FilterSetting[] = outputWords.map((word) => `SVC_OUTPUT_${word}_FILTER` as const);

/**
 * The filter that a setting has; undefined when it is empty.
 *
 * @throws FilterError, which names the setting.
 */
export function filterOf(name: string, text: string): Filter | undefined {
  return text === "" ? undefined : parseFilter(text, name, recordVocabulary);
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

/** @throws SettingsError when a filter of the settings is none. */
export function checkFilters(settings: PlainSettings): void {
  const problems = filterProblems(settings);
  if (problems.length > 0) throw new SettingsError(problems);
}
