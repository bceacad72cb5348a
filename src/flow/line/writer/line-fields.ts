import type { FieldsUnderWay, RecordFields, Value } from "../../../record/index.ts";
import type { FieldSource } from "../../elements/mapping/field-source.ts";
import { putLabels } from "../../wire/structured/put-labels.ts";
import type { Plan, Step } from "../../exporters/templates/plan.ts";
import { readStep, type FieldPlaces } from "../../wire/template/read-step.ts";

/** What a line has already, for those who add to it: fields are read from the record only where somebody asks for them. */
export interface LineFields extends FieldsUnderWay {
  /** Begins a record, whose fields have been located. */
  begin(plan: Plan, head: readonly (readonly [name: string, value: Value])[], source: FieldSource): void;
  /** Whether the record itself has a name, without what was set since. */
  isOfRecord(name: string): boolean;
  /** What was set since. */
  readonly added: RecordFields;
}

/** By the names that they may give. */
type StepsByName = ReadonlyMap<string, readonly Step[]>;

/** @param places of the fields of the record. */
export function createLineFields(places: FieldPlaces): LineFields {
  const stepsByName = new WeakMap<Plan, StepsByName>();
  const added: RecordFields = new Map();
  const scratch: RecordFields = new Map();
  let record: { plan: Plan; source: FieldSource } | undefined;
  let head: readonly (readonly [name: string, value: Value])[] = [];
  let byName: StepsByName = new Map();

  const stepsOf = (plan: Plan): StepsByName => {
    const known = stepsByName.get(plan) ?? indexSteps(plan);
    stepsByName.set(plan, known);
    return known;
  };

  const read = (name: string): Value | undefined => {
    const steps = byName.get(name);
    const isLabel = name.startsWith("mpls.") && record?.plan.slowSteps.some(({ kind }) => kind === "labels") === true;
    if ((steps === undefined && !isLabel) || record === undefined) return inHead(name);
    const { plan, source } = record;
    scratch.clear();
    for (const step of steps ?? []) readStep(scratch, source, step, places);
    if (isLabel) readLabels(plan, source);
    return scratch.get(name) ?? inHead(name);
  };

  const inHead = (name: string): Value | undefined => {
    for (let i = 0; i < head.length; i++) if (head[i]?.[0] === name) return head[i]?.[1];
    return undefined;
  };

  const readLabels = (plan: Plan, source: FieldSource): void => {
    for (const step of plan.slowSteps) {
      if (step.kind !== "labels") continue;
      const spans = step.fields.map(({ field, hexName }) => ({
        at: places.offsets[field] as number,
        length: places.lengths[field] as number,
        hexName,
      }));
      putLabels(scratch, source, spans);
    }
  };

  return {
    added,
    begin(plan, fields, source) {
      added.clear();
      if (record?.plan !== plan) byName = stepsOf(plan);
      record = { plan, source };
      head = fields;
    },
    isOfRecord: (name) => read(name) !== undefined,
    has: (name) => added.has(name) || read(name) !== undefined,
    get: (name) => added.get(name) ?? read(name),
    set: (name, value) => added.set(name, value),
  };
}

function indexSteps({ steps }: Plan): StepsByName {
  const index = new Map<string, Step[]>();
  for (const step of steps) {
    const names = step.outputs.flatMap(({ name, fallback }) =>
      fallback === undefined ? [name] : [name, fallback.name, fallback.hexName],
    );
    for (const name of new Set(names)) {
      const others = index.get(name);
      if (others === undefined) index.set(name, [step]);
      else others.push(step);
    }
  }
  return index;
}
