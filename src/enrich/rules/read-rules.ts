import {
  integer,
  list,
  mapOf,
  mapping,
  optional,
  required,
  Shape,
  textLine,
  type FileNode,
  type ShapeReport,
} from "../../base/yaml/index.ts";
import { checkValues } from "../../metadata/index.ts";
import {
  createFindConflict,
  FilterError,
  parseFilter,
  recordVocabulary,
  Regex,
  regexCost,
  type Filter,
  type Scalar,
  type TermOf,
} from "../../record/index.ts";
import { fileReader, type ReadFile } from "../files/operator-file.ts";

/** A text with references to the groups of a regular expression: texts, with names of groups between them. */
export interface Template {
  readonly parts: readonly (string | { readonly group: string })[];
}

/** The value that a rule gives a field. */
export type GivenValue = Template | Scalar | readonly Template[];

/** A rule as in the file. */
export interface Rule {
  readonly name: string;
  readonly when: Filter;
  /** The values by the names that records have. */
  readonly set: ReadonlyMap<string, GivenValue>;
}

export const maxRules = 1000;
const maxFields = 32;
const maxLists = 64;
/** The most that the regular expressions of a file may cost, because each thread that decodes keeps them compiled. */
const maxRegexCost = 100_000;

/** Matches `$name` and `${name}` (the text that a group found) and `$$` (a dollar sign). */
const reference = /\$(?:\$|\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g;

function templateOf(text: string): Template {
  const parts: Template["parts"][number][] = [];
  let at = 0;
  for (const found of text.matchAll(reference)) {
    const [all, braced, plain] = found;
    const group = braced ?? plain;
    if (found.index > at) parts.push(text.slice(at, found.index));
    parts.push(group === undefined ? "$" : { group });
    at = found.index + all.length;
  }
  if (at < text.length) parts.push(text.slice(at));
  return { parts };
}

/** Returns the terms with a regular expression that are true whenever the filter is, in the order of the text. */
export function regexTerms(filter: Filter): readonly TermOf<"regex">[] {
  if (filter.kind === "regex") return [filter];
  return filter.kind === "and" || filter.kind === "or" ? filter.filters.flatMap(regexTerms) : [];
}

function regexCosts(filter: Filter): number {
  if (filter.kind === "regex") return regexCost(filter.expression);
  if (filter.kind === "not") return regexCosts(filter.filter);
  return "filters" in filter ? filter.filters.reduce((sum, each) => sum + regexCosts(each), 0) : 0;
}

/** The cost so far of the regular expressions that a reading has compiled, by its report. */
const costs = new WeakMap<ShapeReport, number>();
const costOf = ({ report }: FileNode): number => costs.get(report) ?? 0;

const condition: Shape<Filter> = new Shape("a filter", (at) => {
  if (at.node.kind !== "scalar" || at.isAbsent) return at.expected("a filter");
  const { text } = at.node;
  try {
    const filter = parseFilter(text, "when", recordVocabulary);
    costs.set(at.report, costOf(at) + regexCosts(filter));
    return filter;
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    // The cost includes what was compiled before the fault was found.
    if (text.includes("=~")) costs.set(at.report, costOf(at) + regexCost(text));
    const { line, column } = error.location;
    const place = line === 1 ? `character ${column}` : `line ${line}, character ${column}`;
    return at.error(`${error.fault} (${place} of the filter)`);
  }
});

const findConflict = createFindConflict();
/** The objects of a record below which rules may add names of their own. */
const objects = /^flow\.(?:in|out|src|dst|export)\./;

/** Returns the name that records have; undefined if a rule may not set it. */
function fieldName(key: string, at: FileNode): string | undefined {
  const name = key.startsWith(".") ? `flow${key}` : key;
  if (!/^[A-Za-z][\w.-]{0,199}$/.test(name) || /\.(?:\.|$)/.test(name)) {
    return at.error("a name of a field is letters, digits, _ - and single dots", undefined, "key");
  }
  if (name.startsWith("flow.") && !objects.test(name)) {
    return at.error(
      "below flow rules give names below .in, .out, .src, .dst and .export: others belong to the collector",
      undefined,
      "key",
    );
  }
  const conflict = findConflict(name);
  if (conflict === undefined) return name;
  const { kind, field } = conflict;
  const why = { same: `${field} is a field`, above: `${field} lies below it`, below: `it lies below ${field}` }[kind];
  return at.error(`${why} that the collector gives: rules give names of their own`, undefined, "key");
}

/** Reports a text that no record may have. */
function isText(text: string, at: FileNode): boolean {
  const found = checkValues({ name: "", tags: [], vlan: 0n, internal: false, metadata: [["x", text]] });
  for (const { description } of found) at.error(description);
  return found.length === 0;
}

const template: Shape<Template> = new Shape("a text", (at) => {
  if (at.node.kind !== "scalar" || at.isNull) return at.expected("a text");
  return isText(at.node.text, at) ? templateOf(at.node.text) : undefined;
});
const templates = list(template);
const whole = integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);

const givenValue: Shape<GivenValue> = new Shape("a text, a whole number, true, false or a list of texts", (at) => {
  const { node } = at;
  if (node.kind === "sequence") {
    const texts = templates.read(at);
    if (texts !== undefined && (texts.length === 0 || texts.length > maxLists)) {
      return at.error(`a list has 1 to ${maxLists} texts`);
    }
    return texts;
  }
  if (node.kind !== "scalar" || at.isNull) return at.expected("a text, a whole number, true, false or a list of texts");
  if (node.isPlain) {
    if (node.text === "true" || node.text === "false") return node.text === "true";
    if (/^(?:0|-?[1-9]\d*)$/.test(node.text)) return whole.read(at);
  }
  return template.read(at);
});

const setShape: Shape<ReadonlyMap<string, GivenValue>> = mapOf(
  textLine,
  new Shape("a value", (at): readonly [string, GivenValue] | undefined => {
    const name = fieldName(String(at.step), at);
    const value = givenValue.read(at);
    return name === undefined || value === undefined ? undefined : [name, value];
  }),
  { each: "field", name: "<field>" },
).to((pairs, at) => {
  const given = new Map<string, GivenValue>();
  for (const [name, value] of pairs.values()) {
    if (given.has(name)) return at.error(`${name} is set twice`);
    given.set(name, value);
  }
  // Values that are there and cannot be used already have a finding.
  const isEmpty = at.node.kind !== "mapping" || at.node.pairs.length === 0;
  if (isEmpty || given.size > maxFields) return at.error(`a rule sets 1 to ${maxFields} fields`);
  return given;
});

const groupsOf = (value: GivenValue): readonly string[] => {
  const all = typeof value !== "object" ? [] : "parts" in value ? [value] : value;
  return all.flatMap(({ parts }) => parts.flatMap((part) => (typeof part === "string" ? [] : [part.group])));
};

const ruleShape = mapping({
  name: optional(textLine, "What it is called where it is explained. Left out: its number."),
  when: required(condition, "A filter over the fields of the record."),
  set: required(
    setShape,
    "Fields and their values: a text, a whole number, true, false, or a list of texts. `.src.x` is `flow.src.x`. `$name` in a text is what the group `(?<name>…)` of a regular expression of the filter found.",
  ),
}).to(({ name, when, set }, at) => {
  const groups = new Set(regexTerms(when).flatMap(({ expression }) => new Regex(expression).groups));
  for (const [field, value] of set) {
    const unknown = groupsOf(value).find((group) => !groups.has(group));
    if (unknown !== undefined) return at.error(`${field} takes $${unknown}, a group that when does not have`);
  }
  return { name: name ?? String(Number(at.step ?? 0) + 1), when, set };
});

/** Returns the names that a name lies below: `a` and `a.b` for `a.b.c`. */
function namesAbove(name: string): readonly string[] {
  const segments = name.split(".").slice(0, -1);
  return segments.map((_, i) => segments.slice(0, i + 1).join("."));
}

const ruleList = list(ruleShape);
/** The shape stops at a limit, because somebody may send huge lists to cause work. */
const boundedList = new Shape(
  ruleList.expected,
  (at): readonly Rule[] | undefined => {
    if (at.node.kind !== "sequence") return ruleList.read(at);
    if (at.node.items.length > maxRules) return at.error(`more than ${maxRules} rules`);
    const rules: Rule[] = [];
    for (const child of at.children()) {
      const rule = ruleShape.read(child);
      if (rule !== undefined) rules.push(rule);
      if (costOf(at) > maxRegexCost) {
        return at.error("the regular expressions of the rules are too large together: repeat less in them");
      }
    }
    return rules;
  },
  ruleList.rows,
);

/** The shape of a file of rules. */
export const rulesShape: Shape<readonly Rule[]> = boundedList.to((rules, at) => {
  const names = new Set<string>();
  for (const { name } of rules) {
    if (names.has(name)) return at.error(`two rules are called ${name}`);
    names.add(name);
  }
  const fields = new Set(rules.flatMap(({ set }) => [...set.keys()]));
  const above = [...fields]
    .toSorted()
    .flatMap(namesAbove)
    .find((name) => fields.has(name));
  if (above !== undefined) return at.error(`${above} is set, and fields below it, too`);
  return rules;
});

/** Reads the rules of a file in their order. */
export const readRules: (bytes: Uint8Array) => ReadFile<readonly Rule[]> = fileReader(rulesShape);
