import { parseFilter, recordVocabulary } from "../record/index.ts";
import { rolledUpFields } from "../output/index.ts";
import { outputsOf, type PlainSettings } from "./settings/index.ts";

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
  return outputsOf(settings).flatMap(({ values, show }) =>
    values.ROLLUP_FIELDS.flatMap((field) => {
      try {
        rollupFields(show("ROLLUP_FIELDS"), [field]);
        return [];
      } catch (error) {
        return [(error as Error).message];
      }
    }),
  );
}
