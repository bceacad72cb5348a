import {
  compileFilter,
  FilterError,
  parseFilter,
  type Matches,
  recordVocabulary,
  type Filter,
} from "../record/index.ts";
import { outputsOf, type PlainSettings } from "./settings/index.ts";

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
  const all = [
    { name: "SVC_PROCESSOR_FILTER_KEEP", text: settings.SVC_PROCESSOR_FILTER_KEEP },
    { name: "SVC_PROCESSOR_FILTER_DROP", text: settings.SVC_PROCESSOR_FILTER_DROP },
    ...outputsOf(settings).map(({ values, show }) => ({ name: show("FILTER"), text: values.FILTER })),
  ];
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
