import { renderValue, type FieldValues, type Value } from "../../record/index.ts";
import type { Rule } from "./read-rules.ts";
import { fieldsOf, RuleProgram, type CompiledRule, type RuleScope } from "./rule-program.ts";

/** How often a rule counted. */
export interface TriedRule {
  readonly name: string;
  /** What it is asked of when records come: `record` is each of them, the others are decided once. */
  readonly of: RuleScope;
  /** Records that it is true of. */
  readonly fits: number;
  /** Records in which a field is another than now, and it is the last that gave that field. */
  readonly changes: number;
  /** Fields that it asks for and that the records tried cannot have. */
  readonly lacks: readonly string[];
}

/** What becomes of a field that rules give. */
export interface TriedField {
  readonly field: string;
  /** Records that have it with the rules tried, and not with those of now. */
  readonly gained: number;
  readonly lost: number;
  /** Records that have another value. */
  readonly changed: number;
  /** The most frequent values with the rules tried, as texts. */
  readonly values: readonly { readonly value: string; readonly records: number }[];
}

export interface TrialReport {
  /** Records of which the rules were asked. */
  readonly records: number;
  /** Records of which a field is another than with the rules of now. */
  readonly changed: number;
  readonly rules: readonly TriedRule[];
  readonly fields: readonly TriedField[];
}

interface FieldCounts {
  gained: number;
  lost: number;
  changed: number;
  /** Records, by the value as a text. */
  readonly values: Map<string, number>;
}

/** Different values that are counted, of all fields together. Those beyond are not. */
const maxValues = 10_000;
const shownValues = 5;
/** Of a longer text, the beginning counts and is shown. */
const maxShown = 200;
/** Fields of a report, those with the most changes. */
const maxFields = 1000;

/** Counts what rules would change on records, one by one, against the rules of now. */
export class RuleTrial {
  readonly #tried: readonly CompiledRule[];
  readonly #now: readonly CompiledRule[];
  /** Fields of the rules of now: records that were kept have them from these. */
  readonly #own: ReadonlySet<string>;
  readonly #fits: number[];
  readonly #changes: number[];
  readonly #lacks: readonly (readonly string[])[];
  readonly #fields = new Map<string, FieldCounts>();
  #values = 0;
  #records = 0;
  #changed = 0;

  /** @param has tells whether the records that will be given can have a field. */
  constructor(rules: readonly Rule[], now: readonly Rule[], has: (field: string) => boolean) {
    // As the files have them: the program says what would be decided once, and is not needed for single records.
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

  /** Asks the rules of a record. It yields after each rule, so that it can be interrupted; a record that is left off does not count. */
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
