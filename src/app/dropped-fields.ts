import { recordVocabulary, ecsNames } from "../record/index.ts";
import { instanceSetting, storeWords, type PlainSettings, type StoreWord } from "./settings/index.ts";

type DropSetting = `SVC_OUTPUT_${StoreWord}_DROP_FIELDS`;

const dropSettings: readonly DropSetting[] = storeWords.map((word) => `SVC_OUTPUT_${word}_DROP_FIELDS` as const);

/**
 * Warns of names in lists of fields to leave out that are no fields and nearly are: nothing would be left out by them. Other names that the table
 * of fields lacks may be metadata.
 */
export function droppedFieldWarnings(settings: PlainSettings): string[] {
  const all = ["SVC_PROCESSOR_DROP_FIELDS" as const, ...dropSettings].map((name) => ({
    name: name as string,
    fields: settings[name],
  }));
  for (const instance of settings.outputInstances) {
    const name = `SVC_OUTPUT_${instance.word}_DROP_FIELDS` as const;
    all.push({ name: instanceSetting(instance, name), fields: instance.settings[name] });
  }
  return all.flatMap(({ name, fields }) =>
    fields.flatMap((field) => {
      const meant = fieldsMeant(field);
      return meant.length === 0 ? [] : [`${name}: records have no field ${field}: is ${meant.join(", ")} meant?`];
    }),
  );
}

/** The fields that a name would mean in a filter or in ECS, or that it nearly is; none for the name of a field, and for one of something else. */
function fieldsMeant(name: string): readonly string[] {
  const known = recordVocabulary.find(name);
  if (known !== undefined && !known.fields.includes(name)) return known.fields;
  const near = recordVocabulary.slip(name);
  if (near !== undefined) return [near];
  return known === undefined ? [...ecsNames].filter(([, ecs]) => ecs === name).map(([own]) => own) : [];
}
