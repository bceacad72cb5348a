import {
  netflow9ScopeNames,
  registeredElements,
  type ElementNames,
  type ElementSource,
} from "../mapping/element-names.ts";
import { elementKey } from "../registry/registry.ts";
import { samplingElements } from "../sampling/record-rate.ts";
import { buildSlowSteps, slowFields } from "./build-slow-steps.ts";
import type { Output, Plan, Step } from "./plan.ts";
import { variableLength, type Template } from "./template.ts";

const paddingOctets = 210;
const systemInitTimeMilliseconds = 160;

export interface PlanOptions {
  /** Default: those of the registries. */
  readonly elements?: ElementSource;
  /** Whether a record of both directions becomes one of each. Default: no. */
  readonly splitBiflows?: boolean;
}

/** {@link buildPlan} with its options settled. */
export type PlanTemplate = (template: Template) => Plan | undefined;

/**
 * Works out how records of a template are read.
 *
 * @returns undefined when a record would take no bytes: a set would hold any number of them.
 */
export function buildPlan(template: Template, options: PlanOptions = {}): Plan | undefined {
  const { fields } = template;
  const minLength = fields.reduce((sum, { length }) => sum + (length === variableLength ? 1 : length), 0);
  if (minLength === 0) return undefined;
  const { elements = registeredElements, splitBiflows = false } = options;
  const slowSteps = buildSlowSteps(template, elements, splitBiflows);
  return {
    template,
    steps: buildSteps(template, elements, slowFields(slowSteps)),
    slowSteps,
    lengths: fields.map(({ length }) => length),
    hasVariableLength: fields.some(({ length }) => length === variableLength),
    minLength,
    bootTimeField: fields.findIndex(({ pen, id }) => pen === 0 && id === systemInitTimeMilliseconds),
    namesSampling: fields.some(({ pen, id }) => pen === 0 && samplingElements.has(id)),
  };
}

/** An element under one name: one output, or several where the template repeats the element. */
interface Claim {
  readonly outputs: readonly [Output, ...Output[]];
  readonly preference: number;
}

function buildSteps(template: Template, elements: ElementSource, slow: ReadonlySet<number>): Step[] {
  const claims = new Map<string, Claim[]>();
  for (const { names, fallback, takesEmpty, fields } of groupByElement(template, elements, slow)) {
    // An array of values with arrays derived from it would be hard to read: such an element keeps its plain value.
    const chosen = fields.length > 1 && names.length > 1 ? [{ ...fallback, preference: 0 }] : names;
    chosen.forEach(({ name, convert, preference }, i) => {
      const outputs = fields.map((field) => ({
        field,
        name,
        convert,
        fallback: i === 0 ? fallback : undefined,
        takesEmpty,
      })) as [Output, ...Output[]];
      const claim = { outputs, preference };
      const others = claims.get(name);
      if (others === undefined) claims.set(name, [claim]);
      else others.push(claim);
    });
  }
  return [...claims.values()].flatMap(stepsOf);
}

/** The steps for one name. Where it is contested, an element that is repeated does not compete. */
function stepsOf(claims: readonly Claim[]): Step[] {
  const ranked = claims.toSorted((a, b) => a.preference - b.preference);
  const single = ranked.filter(({ outputs }) => outputs.length === 1).map(({ outputs: [output] }) => output);
  const repeated = ranked.filter(({ outputs }) => outputs.length > 1);
  const [first, ...rest] = single;
  const steps: Step[] = [];
  if (first !== undefined) steps.push({ kind: rest.length > 0 ? "contest" : "field", outputs: [first, ...rest] });
  for (const { outputs } of repeated) {
    const [head, ...tail] = claims.length > 1 ? outputs.map(plainOutput) : outputs;
    if (head !== undefined) steps.push({ kind: "list", outputs: [head, ...tail] });
  }
  return steps;
}

/** The output under the name of its fallback. */
function plainOutput(output: Output): Output {
  const { fallback } = output;
  return fallback === undefined ? output : { ...output, name: fallback.name, convert: fallback.convert };
}

interface ElementFields extends ElementNames {
  /** Which fields of the template are this element. */
  readonly fields: number[];
}

/** The elements of a template in the order of their first field, without padding, what takes slow steps and what has no bytes. */
function groupByElement(
  { fields, dialect, scopeCount = 0 }: Template,
  elements: ElementSource,
  slow: ReadonlySet<number>,
): Iterable<ElementFields> {
  const groups = new Map<number, ElementFields>();
  fields.forEach(({ pen, id, length }, index) => {
    const isNetflow9Scope = dialect === "netflow9" && index < scopeCount;
    if (!isNetflow9Scope && pen === 0 && id === paddingOctets) return;
    // Nothing can come of a field without bytes; thousands of them in a template would make much of little.
    if (slow.has(index) || length === 0) return;
    const key = isNetflow9Scope ? -1 - id : elementKey(pen, id);
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, { ...(isNetflow9Scope ? netflow9ScopeNames(id) : elements.names(pen, id)), fields: [index] });
    } else group.fields.push(index);
  });
  return groups.values();
}
