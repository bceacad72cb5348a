import {
  compileFilter,
  findField,
  Regex,
  type FieldValues,
  type Filter,
  type Matches,
  type Value,
} from "../../record/index.ts";
import { regexTerms, type GivenValue, type Rule, type Template } from "./read-rules.ts";

/** The scope of a rule: an exporter, the interface by which a flow came in (`in`) or left (`out`), or a single record. */
export type RuleScope = "exporter" | "in" | "out" | "record";

const isNetif = (name: string, way: "in" | "out"): boolean => {
  const object = `flow.${way}.netif.`;
  if (!name.startsWith(object)) return false;
  const field = findField(name);
  const own = name.slice(object.length);
  return (
    field === undefined || "pattern" in field || field.group === "enriched" || ["index", "name", "descr"].includes(own)
  );
};

function scopeOfField(name: string): RuleScope {
  if (isNetif(name, "in")) return "in";
  if (isNetif(name, "out")) return "out";
  if (name === "flow.export.ip.addr") return "exporter";
  if (!name.startsWith("flow.export.")) return "record";
  const field = findField(name);
  return field === undefined || "pattern" in field || field.group === "enriched" ? "exporter" : "record";
}

/** Returns the fields that a filter reads. */
export function fieldsOf(filter: Filter): readonly string[] {
  if ("fields" in filter) return filter.fields;
  return filter.kind === "not" ? fieldsOf(filter.filter) : filter.filters.flatMap(fieldsOf);
}

/** Reports whether a filter is false for each record without the fields for which `isNeeded` is true. */
function needs(filter: Filter, isNeeded: (field: string) => boolean): boolean {
  if ("fields" in filter) return filter.fields.every(isNeeded);
  if (filter.kind === "not") return false;
  const each = (one: Filter): boolean => needs(one, isNeeded);
  return filter.kind === "and" ? filter.filters.some(each) : filter.filters.every(each);
}

/** Reports whether a field may be decided without the record: the addresses of the record's ends must not write below it. */
function isApart(name: string, scope: RuleScope): boolean {
  if (!name.includes(".")) return true;
  return /^flow\.(?:in|out)\./.test(name) || (scope === "exporter" && name.startsWith("flow.export."));
}

/** Returns the scope of a rule by itself, without regard to the other rules. */
function ownScope({ when, set }: Rule): RuleScope {
  const fields = fieldsOf(when);
  const scopes = new Set(fields.map(scopeOfField));
  if (scopes.has("record") || (scopes.has("in") && scopes.has("out"))) return "record";
  const scope = scopes.has("in") ? "in" : scopes.has("out") ? "out" : "exporter";
  if (scope !== "exporter" && !needs(when, (field) => scopeOfField(field) === scope)) return "record";
  return [...set.keys()].every((name) => isApart(name, scope)) ? scope : "record";
}

/** A rule that is ready to apply. */
export class CompiledRule {
  readonly name: string;
  readonly rule: Rule;
  /** The scope, chosen so that each record has the same fields as if all rules had been applied to it in order. */
  readonly scope: RuleScope;
  readonly #matches: Matches;
  readonly #regexes: readonly { readonly fields: readonly string[]; readonly regex: Regex }[];

  constructor(rule: Rule, scope: RuleScope) {
    this.rule = rule;
    this.name = rule.name;
    this.scope = scope;
    this.#matches = compileFilter(rule.when);
    this.#regexes = regexTerms(rule.when).map(({ fields, expression }) => ({ fields, regex: new Regex(expression) }));
  }

  /** Adds the rule's fields to the given ones if it is true of a record. @returns true if it is. */
  apply(of: FieldValues, given: Map<string, Value>): boolean {
    if (!this.#matches(of)) return false;
    const found = this.#found(of);
    for (const [name, value] of this.rule.set) {
      const text = render(value, found);
      if (text !== undefined) given.set(name, text);
    }
    return true;
  }

  /** Returns the texts that groups found. If several expressions have a group of one name, the first that found something counts. */
  #found(of: FieldValues): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    for (const { fields, regex } of this.#regexes) {
      if (regex.groups.length === 0) continue;
      for (const text of fields.flatMap((field) => of.get(field) ?? [])) {
        for (const [group, part] of regex.find(String(text)) ?? []) if (!found.has(group)) found.set(group, part);
      }
    }
    return found;
  }
}

/** Returns the value; undefined if a group found nothing, and then the field is not given. */
function render(value: GivenValue, found: ReadonlyMap<string, string>): Value | undefined {
  if (typeof value !== "object") return value;
  if ("parts" in value) return renderText(value, found);
  const texts = value.flatMap((each) => renderText(each, found) ?? []);
  return texts.length === 0 ? undefined : [...new Set(texts)];
}

function renderText({ parts }: Template, found: ReadonlyMap<string, string>): string | undefined {
  let text = "";
  for (const part of parts) {
    const piece = typeof part === "string" ? part : found.get(part.group);
    if (piece === undefined) return undefined;
    text += piece;
  }
  return text;
}

/** The rules that decide an interface or an exporter, with those of its exporter, and the fields that its own rules set. */
interface AskedRules {
  readonly rules: readonly CompiledRule[];
  readonly sets: ReadonlySet<string>;
}

/** The rules in order, split into those that are decided once and those that need each record. */
export class RuleProgram {
  readonly rules: readonly CompiledRule[];
  /** The rules about records, which are applied after all others. */
  readonly ofRecords: readonly CompiledRule[];
  /** The rules that are decided once. */
  readonly decided: readonly CompiledRule[];
  /** The fields that these set. */
  readonly decidedNames: ReadonlySet<string>;
  readonly #asked: Readonly<Record<"in" | "out" | "exporter", AskedRules>>;

  constructor(rules: readonly Rule[]) {
    this.rules = scopesOf(rules).map((scope, i) => new CompiledRule(rules[i] as Rule, scope));
    this.ofRecords = this.rules.filter(({ scope }) => scope === "record");
    this.decided = this.rules.filter(({ scope }) => scope !== "record");
    this.decidedNames = new Set(this.decided.flatMap(({ rule }) => [...rule.set.keys()]));
    const asked = (own: RuleScope): AskedRules => ({
      rules: this.decided.filter(({ scope }) => scope === own || scope === "exporter"),
      sets: new Set(this.decided.flatMap(({ scope, rule }) => (scope === own ? [...rule.set.keys()] : []))),
    });
    this.#asked = { in: asked("in"), out: asked("out"), exporter: asked("exporter") };
  }

  /** Returns the rules that decide an interface (by which flows come in or leave) or an exporter. */
  asked(scope: "in" | "out" | "exporter"): AskedRules {
    return this.#asked[scope];
  }

  /** Reports whether a rule of a scope that is decided once reads one of these fields. */
  asks(scope: RuleScope, fields: readonly string[]): boolean {
    return this.decided.some(
      (rule) => rule.scope === scope && fieldsOf(rule.rule.when).some((name) => fields.includes(name)),
    );
  }

  has(scope: RuleScope): boolean {
    return this.decided.some((rule) => rule.scope === scope);
  }
}

/**
 * Returns the scopes of rules. Rules that are decided once come before those about records, and each side is decided by itself. A rule
 * whose outcome this order could change becomes a rule about records.
 */
function scopesOf(rules: readonly Rule[]): readonly RuleScope[] {
  const scopes = rules.map(ownScope);
  const sets = rules.map(({ set }) => new Set(set.keys()));
  const reads = rules.map(({ when }) => new Set(fieldsOf(when)));
  const setting = indexed(sets);
  const reading = indexed(reads);
  /** Returns the rules that share a name with a rule: one that it sets, or one that it reads and others set. */
  const neighbours = (i: number): ReadonlySet<number> => {
    const found = new Set<number>();
    for (const name of sets[i] ?? []) {
      for (const k of setting.get(name) ?? []) found.add(k);
      for (const k of reading.get(name) ?? []) found.add(k);
    }
    for (const name of reads[i] ?? []) for (const k of setting.get(name) ?? []) found.add(k);
    found.delete(i);
    return found;
  };
  type Names = readonly ReadonlySet<string>[];
  const meets = (some: Names, i: number, others: Names, k: number): boolean =>
    [...(some[i] ?? [])].some((name) => others[k]?.has(name) === true);
  const isMoved = (i: number, k: number): boolean => {
    if (scopes[i] === "record" || scopes[i] === scopes[k]) return false;
    if (meets(sets, i, sets, k)) return true;
    // The rules of an exporter are applied together with those of each of its interfaces.
    if (scopes[k] !== "record") return scopes[k] !== "exporter" && meets(sets, k, reads, i);
    return k < i && (meets(sets, k, reads, i) || meets(sets, i, reads, k));
  };
  const moved = rules.flatMap((_, i) => ([...neighbours(i)].some((k) => isMoved(i, k)) ? [i] : []));
  for (const i of moved) scopes[i] = "record";
  for (const [i, scope] of scopes.entries()) if (scope === "record" && !moved.includes(i)) moved.push(i);
  // The list grows during the loop, because a rule that moves may move others.
  for (const k of moved) {
    for (const i of neighbours(k)) {
      if (!isMoved(i, k)) continue;
      scopes[i] = "record";
      moved.push(i);
    }
  }
  return scopes;
}

/** Returns the positions of the sets that contain a name, by the name. */
function indexed(sets: readonly ReadonlySet<string>[]): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>();
  for (const [i, names] of sets.entries()) {
    for (const name of names) {
      const known = found.get(name);
      if (known === undefined) found.set(name, [i]);
      else known.push(i);
    }
  }
  return found;
}
