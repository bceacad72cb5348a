import { renderValue, type FieldValues, type Value } from "../../record/index.ts";
import type { Rule } from "./read-rules.ts";
import { fieldsOf, RuleProgram, type CompiledRule, type RuleScope } from "./rule-program.ts";

/** The counts of a rule in a trial. */
export interface TriedRule {
  readonly name: string;
  /** The scope of the rule while records come: rules of `record` are applied to each record, others are decided once. */
  readonly of: RuleScope;
  /** The number of records of which the rule is true. */
  readonly fits: number;
  /** The number of records in which a field changes and this rule is the last that gave the field. */
  readonly changes: number;
  /** The fields that the rule reads and that the records tried cannot have. */
  readonly lacks: readonly string[];
}

/** The counts of a field that rules give. */
export interface TriedField {
  readonly field: string;
  /** The number of records that have the field with the rules tried, and not with the current ones. */
  readonly gained: number;
  readonly lost: number;
  /** The number of records in which the field has another value. */
  readonly changed: number;
  /** The most frequent values with the rules tried, as texts. */
  readonly values: readonly { readonly value: string; readonly records: number }[];
}

export interface TrialReport {
  /** The number of records that were tried. */
  readonly records: number;
  /** The number of records in which a field differs from that by the current rules. */
  readonly changed: number;
  readonly rules: readonly TriedRule[];
  readonly fields: readonly TriedField[];
}

interface FieldCounts {
  gained: number;
  lost: number;
  changed: number;
  /** The number of records by the value as a text. */
  readonly values: Map<string, number>;
}

/** The most different values to count, for all fields together. Further values are not counted. */
const maxValues = 10_000;
const shownValues = 5;
/** The length to which longer texts are cut before they are counted and shown. */
const maxShown = 200;
/** The most fields in a report; those with the most changes are first. */
const maxFields = 1000;

/** Counts the changes that rules would make to records, one by one, compared with the current rules. */
export class RuleTrial {
  readonly #tried: readonly CompiledRule[];
  readonly #now: readonly CompiledRule[];
  /** The fields that the current rules give: kept records have them from these rules. */
  readonly #own: ReadonlySet<string>;
  readonly #fits: number[];
  readonly #changes: number[];
  readonly #lacks: readonly (readonly string[])[];
  readonly #fields = new Map<string, FieldCounts>();
  #values = 0;
  #records = 0;
  #changed = 0;

  /** @param has reports whether the records to try can have a field. */
  constructor(rules: readonly Rule[], now: readonly Rule[], has: (field: string) => boolean) {
    // The rules stay as the files have them. The program finds which are decided once, and single records do not need that.
    this.#tried = new RuleProgram(rules).rules;
    this.#now = new RuleProgram(now).rules;
    this.#own = new Set(now.flatMap(({ set }) => [...set.keys()]));
    this.#fits = rules.map(() => 0);
    this.#changes = rules.map(() => 0);
    const given = new Set<string>();
    this.#lacks = rules.map(({ when, set }) => {
      const lacking = new Set(fieldsOf(when).filter((field) => !given.has(field) && !has(field)));
      for (const field of set.keys()) given.add(field);
      return [...lacking];
    });
  }

  /** Applies the rules to a record. It yields after each rule, so that it can be interrupted; an interrupted record does not count. */
  *take(record: ReadonlyMap<string, Value>): Generator<void, void> {
    const base: FieldValues = { get: (name) => (this.#own.has(name) ? undefined : record.get(name)) };
    const before = new Map<string, Value>();
    for (const rule of this.#now) {
      rule.apply(over(base, before), before);
      yield;
    }
    const after = new Map<string, Value>();
    const givers = new Map<string, number>();
    const fitting: number[] = [];
    for (const [i, rule] of this.#tried.entries()) {
      const given = new Map<string, Value>();
      if (rule.apply(over(base, after), given)) fitting.push(i);
      for (const [name, value] of given) {
        after.set(name, value);
        givers.set(name, i);
      }
      yield;
    }
    this.#records++;
    for (const i of fitting) this.#fits[i] = (this.#fits[i] ?? 0) + 1;
    this.#count(base, before, after, givers);
  }

  #count(
    base: FieldValues,
    before: ReadonlyMap<string, Value>,
    after: ReadonlyMap<string, Value>,
    givers: ReadonlyMap<string, number>,
  ): void {
    const changing = new Set<number>();
    let isChanged = false;
    for (const name of new Set([...before.keys(), ...after.keys()])) {
      const was = before.get(name) ?? base.get(name);
      const is = after.get(name) ?? base.get(name);
      const counts = this.#countsOf(name);
      if (after.has(name) && is !== undefined) this.#countValue(counts, is);
      if (isSame(was, is)) continue;
      isChanged = true;
      counts[was === undefined ? "gained" : is === undefined ? "lost" : "changed"]++;
      const giver = givers.get(name);
      if (giver !== undefined) changing.add(giver);
    }
    if (isChanged) this.#changed++;
    for (const i of changing) this.#changes[i] = (this.#changes[i] ?? 0) + 1;
  }

  #countsOf(name: string): FieldCounts {
    const known = this.#fields.get(name);
    if (known !== undefined) return known;
    const made = { gained: 0, lost: 0, changed: 0, values: new Map() };
    this.#fields.set(name, made);
    return made;
  }

  #countValue({ values }: FieldCounts, value: Value): void {
    const text = shown(value);
    const known = values.get(text);
    if (known === undefined && this.#values >= maxValues) return;
    if (known === undefined) this.#values++;
    values.set(text, (known ?? 0) + 1);
  }

  get report(): TrialReport {
    return {
      records: this.#records,
      changed: this.#changed,
      rules: this.#tried.map(({ name, scope }, i) => ({
        name,
        of: scope,
        fits: this.#fits[i] ?? 0,
        changes: this.#changes[i] ?? 0,
        lacks: this.#lacks[i] ?? [],
      })),
      fields: [...this.#fields]
        .toSorted(([, a], [, b]) => sumOf(b) - sumOf(a))
        .slice(0, maxFields)
        .map(([field, { gained, lost, changed, values }]) => ({
          field,
          gained,
          lost,
          changed,
          values: Array.from(values, ([value, records]) => ({ value, records }))
            .toSorted((a, b) => b.records - a.records)
            .slice(0, shownValues),
        })),
    };
  }
}

const over = (base: FieldValues, given: ReadonlyMap<string, Value>): FieldValues => ({
  get: (name) => given.get(name) ?? base.get(name),
});

const sumOf = ({ gained, lost, changed }: FieldCounts): number => gained + lost + changed;

function shown(value: Value): string {
  const text = typeof value === "string" ? value : renderValue(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}

function isSame(a: Value | undefined, b: Value | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && renderValue(a) === renderValue(b));
}
