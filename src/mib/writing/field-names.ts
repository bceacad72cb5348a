import type { ChosenObject } from "./choose-objects.ts";

/** The words of a descriptor, lower case: `ifHCInOctets` is if, hc, in, octets. */
export function wordsOf(descriptor: string): string[] {
  const found = descriptor.replace(/IPv([46])/g, "Ipv$1").match(/[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+(?:\d+[a-z]*)*|\d+/g);
  return (found ?? [descriptor]).map((word) => word.toLowerCase());
}

/** What can flow in two directions. */
const measured =
  /^(?:octets?|bytes|pkts?|packets?|frames?|errors?|errs?|discards?|drops?|dropped|bits|msgs?|messages|cells|requests|rate|utilization|util|bandwidth|segs|datagrams|ucast|mcast|bcast|multicast|broadcast|power)$/;

/**
 * The field of an object or of a part of its index. The words that all columns (or scalars side by side) begin with are
 * the first steps: the first word, then the others joined by `_`. What is left of a descriptor is the last step; `in`
 * and `out` of what is counted come after it.
 */
export function fieldName(object: ChosenObject, descriptor: string): string {
  const common = commonWords(object);
  const words = wordsOf(descriptor);
  const isOwn = common.every((word, at) => words[at] === word);
  if (!isOwn || common.length === 0) return foreignName(words);
  const [first = "", ...others] = common;
  const steps = others.length === 0 ? first : `${first}.${others.join("_")}`;
  return `${steps}.${stepOf(words.slice(common.length))}`;
}

/** Of an object that does not begin as its neighbours do: `hrDeviceIndex` is `hr.device.index`. */
function foreignName(words: readonly string[]): string {
  const [first = "", ...others] = words;
  if (others.length === 0) return `${first}.value`;
  const last = others.at(-1) ?? "";
  if (others.length > 1 && last === "index") return `${first}.${others.slice(0, -1).join("_")}.index`;
  return `${first}.${stepOf(others)}`;
}

function stepOf(words: readonly string[]): string {
  if (words.length === 0) return "value";
  const directions = words.filter((word) => word === "in" || word === "out");
  const [direction] = directions;
  const rest = words.filter((word) => word !== direction);
  const isDirected = directions.length === 1 && rest.some((word) => measured.test(word));
  return isDirected ? `${rest.join("_")}.${String(direction)}` : words.join("_");
}

/**
 * The words that all columns begin with; where an index of another name makes these few, the words of the table as far
 * as all that is polled begins with them.
 */
function commonWords({ siblings, attributes, name }: ChosenObject): readonly string[] {
  const all = siblings.length > 1 ? commonStart(siblings.map((one) => wordsOf(one.name))) : [];
  const table = wordsOf(name.replace(/(?:Table|Entry|Objects|Group)$/, ""));
  const ofTable = commonStart([table, ...attributes.map((one) => wordsOf(one.name))]);
  return all.length >= ofTable.length ? all : ofTable;
}

function commonStart(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = []] = lists;
  const end = first.findIndex((word, at) => lists.some((words) => words[at] !== word));
  return end < 0 ? first : first.slice(0, end);
}

/** The names that stand in a record: those of a label and its number, of an interface's index and name. */
export function recordNames(field: string, syntax: string): readonly string[] {
  // A field that ends in such a word already has it replaced.
  const base = field.replace(/\.(?:name|id|oid|index)$/, "");
  if (syntax === "EnumInteger") return [`${base}.id`, `${base}.name`];
  if (syntax.startsWith("InterfaceIndex")) return [`${base}.index`, `${base}.name`];
  return syntax === "EnumBitmap" ? [`${base}.name`] : [field];
}

/**
 * Other names for those that are the start of another, or below one: `_value` at the end, or `_` for the dots
 * (Elasticsearch refuses both in one index).
 *
 * @param fields with their syntaxes.
 * @param others names that stand in records of other definitions.
 */
export function withoutNesting(
  fields: ReadonlyMap<string, string>,
  others: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const starts = new Set<string>();
  for (const [field, syntax] of fields) for (const name of recordNames(field, syntax)) addStarts(starts, name);
  for (const name of others) addStarts(starts, name);
  const renamed = new Map<string, string>();
  for (const [field, syntax] of fields) {
    const names = recordNames(field, syntax);
    const above = new Set<string>();
    for (const name of names) addStarts(above, name);
    if ([...above].some((name) => others.has(name))) renamed.set(field, field.replace(/\./g, "_"));
    else if (names.some((name) => starts.has(name) || others.has(name))) renamed.set(field, `${field}_value`);
  }
  return renamed;
}

function addStarts(starts: Set<string>, name: string): void {
  for (let dot = name.lastIndexOf("."); dot > 0; dot = name.lastIndexOf(".", dot - 1)) starts.add(name.slice(0, dot));
}
