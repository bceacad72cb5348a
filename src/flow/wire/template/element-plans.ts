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
  const plans = new Map<string | number, Plan | undefined>();
  return {
    get(field) {
      const { pen, id, length } = field;
      const key = pen === 0 ? id * 0x1_0000 + length : `${elementKey(pen, id)} ${length}`;
      const known = plans.get(key);
      if (known !== undefined || plans.has(key)) return known;
      const plan = planTemplate({ id: 0, dialect: "ipfix", fields: [field], scopeCount: undefined });
      if (plans.size >= maxPlans) plans.clear();
      plans.set(key, plan);
      return plan;
    },
  };
}
