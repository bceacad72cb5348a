import { ecsNames, recordVocabulary } from "../record/index.ts";
import { storesOf, type PlainSettings } from "./settings/index.ts";

/**
 * Warns of names in lists of fields to leave out that are no fields and nearly are: nothing would be left out by them. Other names that the table
 * of fields lacks may be metadata.
 */
export function droppedFieldWarnings(settings: PlainSettings): string[] {
  const all = [
    { name: "SVC_PROCESSOR_DROP_FIELDS", fields: settings.SVC_PROCESSOR_DROP_FIELDS },
    ...storesOf(settings).map(({ values, show }) => ({ name: show("DROP_FIELDS"), fields: values.DROP_FIELDS })),
  ];
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
