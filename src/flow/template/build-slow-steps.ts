import { elementNames } from "../mapping/element-names.ts";
import type { DataType, ListStructure } from "../registry/information-element.ts";
import { findElement } from "../registry/registry.ts";
import type { SlowField, SlowStep } from "./plan.ts";
import type { Template } from "./template.ts";

const topLabel = 70;
const lastLabel = 79;
const basicList = 291;
const structures: ReadonlySet<DataType> = new Set<ListStructure>([
  "basicList",
  "subTemplateList",
  "subTemplateMultiList",
]);

/** The steps of a template that only the interpreter can do. */
export function buildSlowSteps({ fields, dialect, scopeCount = 0 }: Template): SlowStep[] {
  const steps: SlowStep[] = [];
  const labels: (SlowField & { readonly id: number })[] = [];
  fields.forEach(({ pen, id }, field) => {
    if (dialect === "netflow9" && field < scopeCount) return;
    if (pen === 0 && id >= topLabel && id <= lastLabel) {
      labels.push({ id, field, hexName: elementNames(pen, id).fallback.hexName });
      return;
    }
    const type = findElement(pen, id)?.type;
    if (type !== undefined && isStructure(type)) {
      const { name, hexName } = elementNames(pen, id).fallback;
      const isNamed = type === "basicList" && !(pen === 0 && id === basicList);
      steps.push({ kind: "list", structure: type, field, valuesName: isNamed ? name : undefined, hexName });
    }
  });
  if (labels.length > 0) steps.push({ kind: "labels", fields: labels.toSorted((a, b) => a.id - b.id) });
  return steps;
}

/** The fields of the template that these steps read. */
export function slowFields(steps: readonly SlowStep[]): ReadonlySet<number> {
  return new Set(
    steps.flatMap((step) => (step.kind === "list" ? [step.field] : step.fields.map(({ field }) => field))),
  );
}

function isStructure(type: DataType): type is ListStructure {
  return structures.has(type);
}
