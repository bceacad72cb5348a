import { nearName, quote } from "../../../base/text/index.ts";
import { udmContexts, type UdmContext } from "../../model/entry.ts";
import { ExchangeError } from "../import-rows.ts";
import { isObject } from "../rows/json-rows.ts";
import {
  metadataColumn,
  plainTargets,
  takes,
  type ColumnMap,
  type ColumnRule,
  type FixedValues,
  type Target,
  readyMap,
  readyMapNames,
  type ReadyMapName,
} from "./column-map.ts";

const mapFields = ["ready", "columns", "defaults", "constants", "rest", "where", "duplicates"] as const;
const ruleFields = ["to", "mask", "until", "take", "split", "default", "values", "optional"] as const;
const fixedFields = ["name", "tags", "vlan", "internal", "contexts", "metadata"] as const;

/**
 * A column map as a person writes it: the name of a ready one, or
 * `{ready, columns: {<column>: <target> | {to, mask, until, take, split, default, values, optional} | [both]}, defaults,
 * constants, rest, where, duplicates}`. What is written comes before what the ready map says.
 *
 * @param field the path of the map, for errors.
 * @throws ExchangeError that names the field.
 */
export function readColumnMap(given: unknown, field = "map"): ColumnMap {
  if (given === undefined || given === null) return readyMap("netgloss");
  if (typeof given === "string") return readyMap(readyName(given, field));
  const map = objectOf(given, field, mapFields);
  const base = readyMap(map["ready"] === undefined ? "sheet" : readyName(map["ready"], `${field}.ready`));
  const columns = map["columns"] === undefined ? {} : objectOf(map["columns"], `${field}.columns`);
  const rules = Object.entries(columns).flatMap(([column, rule]) =>
    [rule].flat().map((one) => readRule(column, one, `${field}.columns[${quote(column)}]`)),
  );
  const isOwn = map["ready"] === undefined;
  return {
    ...base,
    rules: isOwn ? rules : [...rules, ...base.rules],
    rest: choice(map["rest"], ["ignore", "metadata", "refuse"], isOwn ? "ignore" : base.rest, `${field}.rest`),
    duplicates: choice(map["duplicates"], ["refuse", "first", "last"], base.duplicates, `${field}.duplicates`),
    defaults: readFixed(map["defaults"], `${field}.defaults`),
    constants: readFixed(map["constants"], `${field}.constants`),
    where: readWhere(map["where"], `${field}.where`),
  };
}

/** Values for each entry: `{name, tags, vlan, internal, contexts, metadata}`. @throws ExchangeError that names the field. */
export function readFixed(given: unknown, field: string): FixedValues {
  if (given === undefined || given === null) return {};
  const fixed = objectOf(given, field, fixedFields);
  const { name, tags, vlan, internal, contexts, metadata } = fixed;
  return {
    ...(name === undefined ? {} : { name: textOf(name, `${field}.name`) }),
    ...(tags === undefined ? {} : { tags: textsOf(tags, `${field}.tags`) }),
    ...(vlan === undefined ? {} : { vlan: vlanOf(vlan, `${field}.vlan`) }),
    ...(internal === undefined ? {} : { internal: boolOf(internal, `${field}.internal`) }),
    ...(contexts === undefined ? {} : { contexts: contextsOf(contexts, `${field}.contexts`) }),
    ...(metadata === undefined ? {} : { metadata: textMap(metadata, `${field}.metadata`) }),
  };
}

function readRule(column: string, given: unknown, field: string): ColumnRule {
  if (typeof given === "string") return { from: [column], to: targetOf(given, field), isOptional: false };
  const { to, mask, until, take, split, default: absent, values, optional } = objectOf(given, field, ruleFields);
  const target = targetOf(to, `${field}.to`);
  if (target !== "key" && (mask !== undefined || until !== undefined)) {
    throw new ExchangeError(field, `mask and until are for the key, not for ${target}`);
  }
  return {
    from: [column],
    to: target,
    ...(mask === undefined ? {} : { mask: textsOf(mask, `${field}.mask`) }),
    ...(until === undefined ? {} : { until: textsOf(until, `${field}.until`) }),
    ...(take === undefined ? {} : { take: choice(take, takes, "host", `${field}.take`) }),
    ...(split === undefined ? {} : { split: textOf(split, `${field}.split`) }),
    ...(absent === undefined ? {} : { default: textOf(absent, `${field}.default`) }),
    ...(values === undefined ? {} : { values: textMap(values, `${field}.values`) }),
    isOptional: optional === undefined ? false : boolOf(optional, `${field}.optional`),
  };
}

function targetOf(given: unknown, field: string): Target {
  const text = textOf(given, field);
  if (text.startsWith(metadataColumn) && text.length > metadataColumn.length) return text as Target;
  const known = plainTargets.find((target) => target === text);
  if (known !== undefined) return known;
  const near = nearName(text, plainTargets);
  const hint = near === undefined ? `one of ${plainTargets.join(", ")} or metadata:<key>` : `did you mean ${near}?`;
  throw new ExchangeError(field, `unknown target ${quote(text)}: ${hint}`);
}

function readyName(given: unknown, field: string): ReadyMapName {
  return choice(given, readyMapNames, "sheet", field);
}

function readWhere(given: unknown, field: string): ReadonlyMap<string, readonly string[]> {
  if (given === undefined || given === null) return new Map();
  const columns = Object.entries(objectOf(given, field));
  return new Map(columns.map(([column, texts]) => [column, textsOf(texts, `${field}[${quote(column)}]`)]));
}

function objectOf(given: unknown, field: string, known?: readonly string[]): Readonly<Record<string, unknown>> {
  if (!isObject(given)) throw new ExchangeError(field, `${field} must be a mapping`);
  for (const name of known === undefined ? [] : Object.keys(given)) {
    if (known?.includes(name) === true) continue;
    const near = nearName(name, known ?? []);
    const hint = near === undefined ? `one of ${known?.join(", ")}` : `did you mean ${near}?`;
    throw new ExchangeError(`${field}.${name}`, `${field} has no ${quote(name)}: ${hint}`);
  }
  return given;
}

function choice<T extends string>(given: unknown, known: readonly T[], absent: T, field: string): T {
  if (given === undefined) return absent;
  const found = known.find((one) => one === given);
  if (found !== undefined) return found;
  const shown = typeof given === "string" ? quote(given) : "it";
  throw new ExchangeError(field, `${field} must be one of ${known.join(", ")}, not ${shown}`);
}

function textOf(given: unknown, field: string): string {
  if (typeof given === "string") return given;
  if (typeof given === "number" || typeof given === "boolean") return String(given);
  throw new ExchangeError(field, `${field} must be a text`);
}

function textsOf(given: unknown, field: string): readonly string[] {
  return Array.isArray(given) ? given.map((text, i) => textOf(text, `${field}[${i}]`)) : [textOf(given, field)];
}

function textMap(given: unknown, field: string): ReadonlyMap<string, string> {
  const pairs = Object.entries(objectOf(given, field));
  return new Map(pairs.map(([key, value]) => [key, textOf(value, `${field}[${quote(key)}]`)]));
}

function vlanOf(given: unknown, field: string): bigint {
  const text = textOf(given, field);
  if (!/^\d{1,20}$/.test(text)) throw new ExchangeError(field, `${field} must be a whole number`);
  return BigInt(text);
}

function boolOf(given: unknown, field: string): boolean {
  if (given === true || given === "true") return true;
  if (given === false || given === "false") return false;
  throw new ExchangeError(field, `${field} must be true or false`);
}

function contextsOf(given: unknown, field: string): readonly UdmContext[] {
  return textsOf(given, field).map((text) => choice(text, udmContexts, "endpoint", field));
}
