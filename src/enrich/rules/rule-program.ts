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

/** What a rule speaks of: an exporter, its interface by which a flow came in, or left, or a single record. */
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

/** The fields that a filter asks for. */
export function fieldsOf(filter: Filter): readonly string[] {
  if ("fields" in filter) return filter.fields;
  return filter.kind === "not" ? fieldsOf(filter.filter) : filter.filters.flatMap(fieldsOf);
}

/** Tells whether a filter is false of a record that has none of the fields that a test names. */
function needs(filter: Filter, isNeeded: (field: string) => boolean): boolean {
  if ("fields" in filter) return filter.fields.every(isNeeded);
  if (filter.kind === "not") return false;
  const each = (one: Filter): boolean => needs(one, isNeeded);
  return filter.kind === "and" ? filter.filters.some(each) : filter.filters.every(each);
}

/** Where a field may lie that is decided without the record: below what addresses of its ends do not write. */
function isApart(name: string, scope: RuleScope): boolean {
  if (!name.includes(".")) return true;
  return /^flow\.(?:in|out)\./.test(name) || (scope === "exporter" && name.startsWith("flow.export."));
}

/** What a rule speaks of by itself, whatever the others do. */
function ownScope({ when, set }: Rule): RuleScope {
  const fields = fieldsOf(when);
  const scopes = new Set(fields.map(scopeOfField));
  if (scopes.has("record") || (scopes.has("in") && scopes.has("out"))) return "record";
  const scope = scopes.has("in") ? "in" : scopes.has("out") ? "out" : "exporter";
  if (scope !== "exporter" && !needs(when, (field) => scopeOfField(field) === scope)) return "record";
  return [...set.keys()].every((name) => isApart(name, scope)) ? scope : "record";
}

/** A rule that can be asked. */
export class CompiledRule {
  readonly name: string;
  readonly rule: Rule;
  /** Decided so that the fields of a record are as if each rule had been asked of it in turn. */
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

  /** Adds the fields that it gives to those that were given, if it is true of a record. @returns whether it is. */
  apply(of: FieldValues, given: Map<string, Value>): boolean {
    if (!this.#matches(of)) return false;
    const found = this.#found(of);
    for (const [name, value] of this.rule.set) {
      const text = render(value, found);
      if (text !== undefined) given.set(name, text);
    }
    return true;
  }

  /** What groups found; of several expressions with a group of one name, the first that found something. */
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

/** Undefined where a group found nothing: then the field is not given. */
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

/** What is asked to decide something: its rules, with those of its exporter, and the fields that its own rules set. */
interface AskedRules {
  readonly rules: readonly CompiledRule[];
  readonly sets: ReadonlySet<string>;
}

/** Rules in their order, and which of them need a look at each record. */
export class RuleProgram {
  readonly rules: readonly CompiledRule[];
  /** Rules about records, which come behind all others. */
  readonly ofRecords: readonly CompiledRule[];
  /** Rules that are decided once. */
  readonly decided: readonly CompiledRule[];
  /** Fields that these set. */
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

  /** Returns what is asked to decide an interface by which flows come in or leave, or an exporter. */
  asked(scope: "in" | "out" | "exporter"): AskedRules {
    return this.#asked[scope];
  }

  /** Tells whether a rule that is decided once, of a scope, asks for one of these fields. */
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
 * Each rule that is decided once is decided before those that look at records, and each side for itself. One whose outcome could be another
 * for that looks at records, too.
 */
function scopesOf(rules: readonly Rule[]): readonly RuleScope[] {
  const scopes = rules.map(ownScope);
  const sets = rules.map(({ set }) => new Set(set.keys()));
  const reads = rules.map(({ when }) => new Set(fieldsOf(when)));
  const setting = indexed(sets);
  const reading = indexed(reads);
  /** The rules that share a name with one: what it sets, or what it asks for and others set. */
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
    // The rules of an exporter are asked with those of each of its interfaces.
    if (scopes[k] !== "record") return scopes[k] !== "exporter" && meets(sets, k, reads, i);
    return k < i && (meets(sets, k, reads, i) || meets(sets, i, reads, k));
  };
  const moved = rules.flatMap((_, i) => ([...neighbours(i)].some((k) => isMoved(i, k)) ? [i] : []));
  for (const i of moved) scopes[i] = "record";
  for (const [i, scope] of scopes.entries()) if (scope === "record" && !moved.includes(i)) moved.push(i);
  // The list grows while it is gone through: what moves may move others.
  for (const k of moved) {
    for (const i of neighbours(k)) {
      if (!isMoved(i, k)) continue;
      scopes[i] = "record";
      moved.push(i);
    }
  }
  return scopes;
}

/** The numbers of the sets that have a name. */
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
