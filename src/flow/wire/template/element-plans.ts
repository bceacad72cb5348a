import { elementKey } from "../../elements/registry/registry.ts";
import type { PlanTemplate } from "../../exporters/templates/build-plan.ts";
import type { Plan } from "../../exporters/templates/plan.ts";
import type { FieldSpecifier } from "../../exporters/templates/template.ts";

/** Elements in lists come from the network, so the number of plans kept is limited. */
const maxPlans = 512;

/** Plans of records that have one field, made when first asked for. */
export interface ElementPlans {
  /** @returns undefined when such records would take no bytes. */
  get(field: FieldSpecifier): Plan | undefined;
}

export function createElementPlans(planTemplate: PlanTemplate): ElementPlans {
  const plans = new Map<string, Plan | undefined>();
  return {
    get(field) {
      const key = `${elementKey(field.pen, field.id)} ${field.length}`;
      if (plans.has(key)) return plans.get(key);
      const plan = planTemplate({ id: 0, dialect: "ipfix", fields: [field], scopeCount: undefined });
      if (plans.size >= maxPlans) plans.clear();
      plans.set(key, plan);
      return plan;
    },
  };
}
