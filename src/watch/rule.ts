import { nearName, quote } from "../base/text/index.ts";
import {
  defaulted,
  list,
  mapping,
  oneOf,
  oneOrList,
  optional,
  required,
  scalar,
  textLine,
  type FileNode,
} from "../base/yaml/index.ts";
import { columnOf, FilterError, parseFilter, recordVocabulary, type Column, type Filter } from "../record/index.ts";

/** What a rule measures of the records that pass its filter. */
export type Measure =
  | { readonly kind: "bits" | "packets" | "flows" }
  /** The number of different values of a field. */
  | { readonly kind: "distinct"; readonly column: Column };

/** A comparison with a limit that holds for a time, or records that stay away. */
export type Condition =
  | { readonly kind: "compare"; readonly operator: Operator; readonly limit: number; readonly forMs: number }
  | { readonly kind: "silent"; readonly forMs: number };

const operators = [">=", "<=", ">", "<"] as const;
type Operator = (typeof operators)[number];

/** A rule of the file; plain data. */
export interface Rule {
  readonly name: string;
  /** Undefined: every flow. */
  readonly filter: Filter | undefined;
  /** The fields whose values together are a key; none: there is one series. */
  readonly by: readonly Column[];
  readonly measure: Measure;
  /** The length of the window, milliseconds. */
  readonly overMs: number;
  readonly when: Condition;
  /** When an alert ends; undefined: when records come again. */
  readonly clear: Condition | undefined;
  readonly say: string;
  /** The names of the actions that get notices. */
  readonly act: readonly string[];
}

const maxBy = 3;
const maxSay = 1000;
const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const factors: Readonly<Record<string, number>> = { "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12 };

/** Reads a time such as `20s` or `5m`, up to seven days. @returns milliseconds; undefined for another text. */
function readSpan(text: string): number | undefined {
  const [, digits, unit = ""] = /^(\d{1,6})\s?([smhd])$/.exec(text) ?? [];
  const ms = 1000 * Number(digits) * (units[unit] ?? Number.NaN);
  return ms > 0 && ms <= 7 * 86_400_000 ? ms : undefined;
}

function readCondition(text: string): Condition | undefined {
  const silent = /^silent for (\S+)$/.exec(text);
  if (silent !== null) {
    const forMs = readSpan(silent[1] ?? "");
    return forMs === undefined ? undefined : { kind: "silent", forMs };
  }
  return readComparison(text);
}

function readComparison(text: string): (Condition & { kind: "compare" }) | undefined {
  const found = /^([<>]=?) ?(\d{1,15}(?:\.\d{1,6})?) ?([kKMGT]?)(?: for (\S+))?$/.exec(text);
  if (found === null) return undefined;
  const [, operator, digits, factor = "", span] = found;
  const forMs = span === undefined ? 0 : readSpan(span);
  if (forMs === undefined) return undefined;
  return { kind: "compare", operator: operator as Operator, limit: Number(digits) * (factors[factor] ?? 1), forMs };
}

const comparisons: Readonly<Record<Operator, (value: number, limit: number) => boolean>> = {
  ">": (value, limit) => value > limit,
  ">=": (value, limit) => value >= limit,
  "<": (value, limit) => value < limit,
  "<=": (value, limit) => value <= limit,
};

/** Tells whether a value is as a comparison says. */
export function holds({ operator, limit }: Condition & { kind: "compare" }, value: number): boolean {
  return comparisons[operator](value, limit);
}

function columnNamed(name: string, at: FileNode): Column | undefined {
  const known = recordVocabulary.find(name);
  const [field, ...others] = known?.fields ?? [];
  const near = known === undefined ? nearName(name, recordVocabulary.names()) : recordVocabulary.slip(name);
  if (field === undefined || near !== undefined) return at.error(`there is no field ${quote(name)}`, near);
  if (others.length > 0)
    return at.error(`${name} stands for several fields, expected one of ${[field, ...others].join(", ")}`);
  const column = columnOf(field);
  if (column === undefined || column.isArray) return at.error(`${name} has no single value`);
  return column;
}

const field = scalar("the name of a field", columnNamed);
const measure = scalar(
  "bits_per_second, packets_per_second, flows_per_second, or distinct <field>",
  (text, at): Measure | undefined => {
    const rate = /^(bits|packets|flows)_per_second$/.exec(text);
    if (rate !== null) return { kind: rate[1] as "bits" };
    const distinct = /^distinct (\S+)$/.exec(text);
    if (distinct === null) return undefined;
    const column = columnNamed(distinct[1] ?? "", at);
    return column && { kind: "distinct", column };
  },
);
const filter = scalar("a filter, see docs/filters.md", (text, at): Filter | undefined => {
  try {
    return parseFilter(text, "filter", recordVocabulary);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    return at.error(`${error.fault}, column ${error.location.column} of ${quote(text.slice(0, 80))}`);
  }
});
const ruleName = scalar("a name of up to 100 characters", (text) =>
  text.length <= 100 && !/\p{Cc}/u.test(text) ? text : undefined,
);
const sayText = scalar(`a text of up to ${maxSay} characters`, (text) => (text.length <= maxSay ? text : undefined));

/** A window slides by a tenth of it, and rules are judged each second. */
const overForm = scalar("a time from 5s to 1h", (text) => {
  const ms = readSpan(text);
  return ms !== undefined && ms >= 5000 && ms <= 3_600_000 ? ms : undefined;
});

/** Alerts end where a value stays this part below, or above, the limit. */
const hysteresis = 0.2;
const usualClearMs = 60_000;

/** The condition that ends an alert where the rule names none; undefined: the first record does. */
function usualClear(when: Condition): Condition | undefined {
  if (when.kind === "silent") return undefined;
  const isAbove = when.operator.startsWith(">");
  return {
    kind: "compare",
    operator: isAbove ? "<" : ">",
    limit: when.limit * (isAbove ? 1 - hysteresis : 1 + hysteresis),
    forMs: Math.max(when.forMs, usualClearMs),
  };
}

/** A rule as the file has it. */
export const ruleShape = mapping(
  {
    name: required(ruleName, "Alerts are named by it; no other rule has it."),
    of: defaulted(oneOf(["flow"]), "flow", "The records that are watched."),
    filter: optional(filter, "Only records that pass it count. Left out: all."),
    by: defaulted(
      list(field),
      [],
      `Up to ${maxBy} fields: each combination of their values is watched by itself. Left out: all records together.`,
    ),
    measure: required(measure, "What is compared. Sampling is taken into account."),
    over: defaulted(overForm, 10_000, "The window, which slides by a tenth of it."),
    when: required(
      scalar("such as `> 500M for 20s`, `< 1k for 5m` or `silent for 5m`", readCondition),
      "When there is an alert.",
    ),
    clear: optional(
      scalar("such as `< 300M for 2m`", readComparison),
      "When it ends. Left out: when the value is a fifth below the limit (above, where `when` says below) for a minute, or as long as `when` says.",
    ),
    say: defaulted(
      sayText,
      "{{rule}}: {{key}} is at {{value}}",
      "The text of the alert: {{rule}}, {{key}}, {{value}}, {{limit}}, {{<field of by>}} and {{top.<field>}} are replaced.",
    ),
    act: defaulted(
      oneOrList(textLine),
      [],
      "Names of `actions` that get a notice when an alert begins and when it ends.",
    ),
  },
  {
    check(given, at) {
      if (given.by !== undefined && given.by.length > maxBy)
        at.error(`by has ${given.by.length} fields, expected at most ${maxBy}`);
      if (given.when?.kind === "silent" && given.by?.length === 0 && !at.has("filter"))
        at.error("a rule of silence needs `by` or `filter`: what is it that stays away?");
    },
  },
).to(({ name, filter: only, by, measure: measured, over, when, clear, say, act }): Rule => ({
  name,
  filter: only,
  by,
  measure: measured,
  overMs: over,
  when,
  clear: clear ?? usualClear(when),
  say,
  act,
}));
