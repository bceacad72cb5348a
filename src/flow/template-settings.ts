import type { CustomElement } from "./elements/custom/custom-element.ts";
import { createElementSource } from "./elements/custom/element-source.ts";
import { type CounterNames, nameCounters } from "./elements/mapping/counter-names.ts";
import { rememberNames } from "./elements/mapping/remember-names.ts";
import { buildPlan } from "./exporters/templates/build-plan.ts";
import type { TemplateSettings } from "./wire/template/decode-sets.ts";

export interface TemplateSettingsOptions {
  /** Elements in addition to those of the registries. Left out: none. */
  readonly elements?: readonly CustomElement[] | undefined;
  /** Those of flows; options keep the names that exporters give them. */
  readonly counters: CounterNames;
  readonly splitBiflows: boolean;
  readonly maxFields: number;
}

/** How a pipeline reads templates: with the registries and the user's own elements. */
export function templateSettings(options: TemplateSettingsOptions): TemplateSettings {
  const { counters, splitBiflows, maxFields } = options;
  const exported = createElementSource(options.elements ?? []);
  const ofFlows = rememberNames(nameCounters(exported, counters));
  const ofOptions = rememberNames(exported);
  return {
    maxFields,
    planTemplate: (template) =>
      buildPlan(template, { elements: template.scopeCount === undefined ? ofFlows : ofOptions, splitBiflows }),
  };
}
