import { parseFilter, recordVocabulary } from "../record/index.ts";
import { rolledUpFields } from "../output/index.ts";
import { instanceSetting, outputWords, type OutputWord, type PlainSettings } from "./settings/index.ts";

type RollupSetting = `SVC_OUTPUT_${OutputWord}_ROLLUP_FIELDS`;

const rollupSettings: readonly RollupSetting[] = outputWords.map((word) => `SVC_OUTPUT_${word}_ROLLUP_FIELDS` as const);

/**
 * The fields by which records are added up: names of fields, or short names of filters that stand for one.
 *
 * @param setting for messages.
 * @throws Error for one that cannot be, with the reason.
 */
export function rollupFields(setting: string, names: readonly string[]): string[] {
  return [...new Set(names.map((name) => fieldOf(setting, name)))];
}

function fieldOf(setting: string, name: string): string {
  const term = parseFilter(`${name} exists`, setting, recordVocabulary);
  const fields = term.kind === "exists" ? term.fields : [];
  const [field] = fields;
  if (field === undefined) throw fault(setting, `${name} is no name of a field`);
  if (fields.length > 1) throw fault(setting, `${name} stands for several fields: ${fields.join(", ")}`);
  if (rolledUpFields.has(field)) throw fault(setting, `${name} is made of all records of a group`);
  return field;
}

const fault = (setting: string, why: string): Error => new Error(`${setting}: ${why}`);

/** What is wrong with the fields of rollups of the settings. */
export function rollupProblems(settings: PlainSettings): string[] {
  const all = rollupSettings.map((name) => ({ name: name as string, fields: settings[name] }));
  for (const instance of settings.outputInstances) {
    const name = `SVC_OUTPUT_${instance.word}_ROLLUP_FIELDS` as const;
    all.push({ name: instanceSetting(instance, name), fields: instance.settings[name] });
  }
  return all.flatMap(({ name, fields }) =>
    fields.flatMap((field) => {
      try {
        rollupFields(name, [field]);
        return [];
      } catch (error) {
        return [(error as Error).message];
      }
    }),
  );
}
