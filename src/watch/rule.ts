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
  Shape,
  textLine,
  type FileNode,
} from "../base/yaml/index.ts";
import { columnOf, FilterError, parseFilter, type Column, type Filter } from "../record/index.ts";
import { readCondition, readComparison, readQuantity, readSpan, usualClear, type Condition } from "./condition.ts";
import { sources, type Source } from "./sources.ts";

/** The measure of a rule, over the records that pass its filter. */
export type Measure =
  /** Amounts per second. */
  | { readonly kind: "bits" | "packets" | "flows" }
  /** Records in the window. */
  | { readonly kind: "records" }
  /** The share of a key in everything that passes the filter, in percent. */
  | { readonly kind: "share"; readonly of: "bits" | "packets" | "flows" }
  /** The number of different values of a field, how often it changed, its last value, or its growth per second. */
  | { readonly kind: "distinct"; readonly column: Column }
  | { readonly kind: "changes"; readonly column: Column }
  | { readonly kind: "value"; readonly column: Column }
  | { readonly kind: "rate"; readonly column: Column }
  /** The number of consecutive short flows at equal intervals. */
  | { readonly kind: "beats" }
  /** The utilisation of an interface in percent of its speed; the fuller direction counts. */
  | { readonly kind: "utilisation" };

/** A field whose values, or their networks, are keys. `bits` is the prefix length; for IPv6 it doubles. */
export type KeyField = Column & { readonly bits?: number };

/** A rule of the file; plain data. */
export interface Rule {
  readonly name: string;
  /** The kind of records that it watches. */
  readonly of: Source;
  /** The filter; undefined passes every record. */
  readonly filter: Filter | undefined;
  /** The fields whose values form the key. Without fields there is a single series. */
  readonly by: readonly KeyField[];
  readonly measure: Measure;
  /** The length of the window in milliseconds. */
  readonly overMs: number;
  readonly when: Condition;
  /** The condition that ends an alert. Undefined: records come again, or the key is no longer new. */
  readonly clear: Condition | undefined;
  /** The value below which there is no alert, in the unit of the measure. For a share it is in the unit of the whole. */
  readonly least: number;
  readonly say: string;
  /** The names of the actions that get notices. */
  readonly act: readonly string[];
}

const maxBy = 3;
const mostDistinct = 8000;
const maxSay = 1000;
const usualText = "{{rule}}: {{key}} is at {{value}}";
const newText = "{{rule}}: {{key}} is new";

function columnNamed(name: string, source: Source, at: FileNode): Column | undefined {
  const { vocabulary } = sources[source];
  const known = vocabulary.find(name);
  const [field, ...others] = known?.fields ?? [];
  const near = known === undefined ? nearName(name, vocabulary.names()) : vocabulary.slip(name);
  if (field === undefined || near !== undefined) return at.error(`there is no field ${quote(name)}`, near);
  if (others.length > 0)
    return at.error(`${name} stands for several fields, expected one of ${[field, ...others].join(", ")}`);
  const column = columnOf(field) ?? { field, type: "text", isArray: false };
  if (column.isArray) return at.error(`${name} has no single value`);
  return column;
}

/** Reads a field of `by`: a name, or the name of an address field with a prefix length. */
function keyField(given: string, source: Source, at: FileNode): KeyField | undefined {
  const [, name = given, bits] = /^([^/]+)\/(\d{1,2})$/.exec(given) ?? [];
  const column = columnNamed(name, source, at);
  if (bits === undefined || column === undefined) return column;
  if (column.type !== "address") return at.error(`${name} is no address, and has no prefixes`);
  const length = Number(bits);
  if (length < 1 || length > 32) return at.error(`expected a prefix of 1 to 32 bits, found ${length}`);
  return { ...column, bits: length };
}

/** The measures: the records to which each applies, and how it is read from the word after its name. */
const measures: Readonly<
  Record<string, { readonly of: readonly Source[]; readonly make: (column: Column | undefined) => Measure | undefined }>
> = {
  bits_per_second: { of: ["flow"], make: () => ({ kind: "bits" }) },
  packets_per_second: { of: ["flow"], make: () => ({ kind: "packets" }) },
  flows_per_second: { of: ["flow"], make: () => ({ kind: "flows" }) },
  share_of_bits: { of: ["flow"], make: () => ({ kind: "share", of: "bits" }) },
  share_of_packets: { of: ["flow"], make: () => ({ kind: "share", of: "packets" }) },
  share_of_flows: { of: ["flow"], make: () => ({ kind: "share", of: "flows" }) },
  beats: { of: ["flow"], make: () => ({ kind: "beats" }) },
  records: { of: ["flow", "snmp", "trap", "exporter", "output"], make: () => ({ kind: "records" }) },
  utilisation: { of: ["snmp"], make: () => ({ kind: "utilisation" }) },
  "distinct <field>": { of: ["flow", "snmp", "trap"], make: (column) => column && { kind: "distinct", column } },
  "changes <field>": { of: ["snmp"], make: (column) => column && { kind: "changes", column } },
  "value <field>": { of: ["snmp", "exporter", "output"], make: (column) => column && { kind: "value", column } },
  "rate <field>": { of: ["snmp", "exporter", "output"], make: (column) => column && { kind: "rate", column } },
};

function measureOf(source: Source): Shape<Measure> {
  const known = Object.entries(measures).filter(([, { of }]) => of.includes(source));
  const names = known.map(([name]) => name);
  return scalar(`${names.slice(0, -1).join(", ")}, or ${names.at(-1)}`, (text, at): Measure | undefined => {
    const [, word = "", field] = /^(\w+)(?: (\S+))?$/.exec(text) ?? [];
    const form = known.find(([name]) => name === (field === undefined ? word : `${word} <field>`))?.[1];
    if (form === undefined) return undefined;
    const column = field === undefined ? undefined : columnNamed(field, source, at);
    return field !== undefined && column === undefined ? undefined : form.make(column);
  });
}

/** Returns the shape of a filter over records of a kind. */
export function filterOf(source: Source): Shape<Filter> {
  return scalar("a filter, see docs/filters.md", (text, at): Filter | undefined => {
    try {
      return parseFilter(text, "filter", sources[source].vocabulary);
    } catch (error) {
      if (!(error instanceof FilterError)) throw error;
      return at.error(`${error.fault}, column ${error.location.column} of ${quote(text.slice(0, 80))}`);
    }
  });
}

const ruleName = scalar("a name of up to 100 characters", (text) =>
  text.length <= 100 && !/\p{Cc}/u.test(text) ? text : undefined,
);
export const sayText = scalar(`a text of up to ${maxSay} characters`, (text) =>
  text.length <= maxSay ? text : undefined,
);

/** The shape of a window length. A window slides by a tenth of it, and rules are judged each second. */
export const overForm = scalar("a time from 5s to 1h", (text) => {
  const ms = readSpan(text, 3_600_000);
  return ms !== undefined && ms >= 5000 ? ms : undefined;
});

/** The keys of a rule that are equal for all kinds of records. */
const plainKeys = {
  over: defaulted(overForm, 10_000, "The window, which slides by a tenth of it."),
  when: required(
    scalar(
      "such as `> 500M for 20s`, `> 4 x usual`, `> 90 % of speed for 5m`, `silent for 5m` or `new`",
      readCondition,
    ),
    "When there is an alert.",
  ),
  clear: optional(
    scalar("such as `< 300M for 2m`", readComparison),
    "When it ends. Left out: when the value is a fifth below the limit (above, where `when` says below) for a minute, or as long as `when` says.",
  ),
  least: defaulted(
    scalar("a number such as 10M", readQuantity),
    0,
    "Below this there is no alert; of a share it is about what it is a share of.",
  ),
  say: optional(
    sayText,
    "The text of the alert: {{rule}}, {{key}}, {{value}}, {{limit}}, {{<field of by>}} and {{top.<field>}} are replaced.",
  ),
  act: defaulted(
    oneOrList(textLine),
    [],
    "Names of `actions` that get a notice when an alert begins and when it ends.",
  ),
} as const;

const flowsMeasure: Measure = { kind: "flows" };

/** Returns the shape of a rule on one kind of records. Kinds differ in the names of fields. */
function ruleMapping(source: Source) {
  return mapping(
    {
      name: required(ruleName, "Alerts are named by it; no other rule has it."),
      of: defaulted(oneOf(Object.keys(sources) as Source[]), "flow", "The records that are watched."),
      filter: optional(filterOf(source), "Only records that pass it count. Left out: all."),
      by: defaulted(
        list(scalar("the name of a field", (name, at) => keyField(name, source, at))),
        [],
        `Up to ${maxBy} fields: each combination of their values is watched by itself. An address as dst/24: its network, of IPv6 with twice as many bits. Left out: all records together.`,
      ),
      measure: optional(
        measureOf(source),
        "What is compared. Sampling is taken into account. Only `silent` and `new` do without; records other than flows have further ones, docs/watch.md.",
      ),
      ...plainKeys,
    },
    { check: checkRule },
  );
}

/** Reports keys of a rule that do not fit together. */
function checkRule(
  given: {
    readonly by?: readonly Column[];
    readonly measure?: Measure;
    readonly when?: Condition;
    readonly clear?: Condition;
    readonly least?: number;
  },
  at: FileNode,
): void {
  const { by = [], measure, when, clear } = given;
  if (by.length > maxBy) at.error(`by has ${by.length} fields, expected at most ${maxBy}`);
  const twice = by.find(({ field }, i) => by.some((other, j) => j > i && other.field === field));
  if (twice !== undefined) at.error(`by has ${twice.field} twice`);
  if (when === undefined) return;
  if (when.kind === "new" && by.length === 0) at.error("a rule of what is new needs `by`: what is it that is new?");
  if (when.kind === "silent" && by.length === 0 && !at.has("filter"))
    at.error("a rule of silence needs `by` or `filter`: what is it that stays away?");
  if (when.kind !== "compare") return;
  if (!at.has("measure")) at.error("measure is missing", undefined, "key");
  if (measure === undefined) return;
  if (measure.kind === "distinct" && when.limit > mostDistinct)
    at.error(`more than ${mostDistinct} different values are not told apart`);
  for (const condition of [when, clear]) {
    if (condition?.kind !== "compare") continue;
    const { unit } = condition;
    if (unit === "speed" && (measure.kind !== "bits" || speedFieldOf(by) === undefined))
      at.error(
        "`of speed` needs `measure: bits_per_second` and a field of in.if or out.if in `by`: whose speed is it?",
      );
    if (unit === "usual" && measure.kind !== "bits" && measure.kind !== "packets" && measure.kind !== "flows")
      at.error("`usual` needs bits, packets or flows per second");
    if (unit === "percent" && measure.kind !== "share" && measure.kind !== "utilisation")
      at.error("`%` needs a share or the utilisation, or `% of speed`");
  }
  if (when.unit === "usual" && !when.operator.startsWith(">")) at.error("`usual` goes with > and >=");
  if (measure.kind === "share" && by.length === 0) at.error("a share needs `by`: whose share is it?");
}

/** Returns the field with the speed of the interface that a key names; undefined where it names none. */
export function speedFieldOf(by: readonly Column[]): string | undefined {
  const way = ["in", "out"].find((each) => by.some(({ field }) => field.startsWith(`flow.${each}.netif.`)));
  return way && `flow.${way}.netif.speed`;
}

const mappings = Object.fromEntries(
  (Object.keys(sources) as Source[]).map((source) => [source, ruleMapping(source)]),
) as Readonly<Record<Source, ReturnType<typeof ruleMapping>>>;

/** The shape of a rule in the file. Its fields depend on the kind of records. */
export const ruleShape = new Shape(
  mappings.flow.expected,
  (at) => {
    const { node } = at.below("of");
    const source = node.kind === "scalar" && node.text in sources ? (node.text as Source) : "flow";
    return mappings[source].read(at);
  },
  mappings.flow.rows,
).to(({ name, of, filter, by, measure = flowsMeasure, over, when, clear, least, say, act }): Rule => ({
  name,
  of,
  filter,
  by,
  measure,
  overMs: over,
  when,
  clear: clear ?? usualClear(when),
  least,
  say: say ?? (when.kind === "new" ? newText : usualText),
  act,
}));
