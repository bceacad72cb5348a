import { keyContains, KeyError, parseKey, type Key } from "../base/ip/index.ts";
import { nearName } from "../base/text/index.ts";
import { columnOf, compileFilter, FilterError, parseFilter, type Filter } from "../record/index.ts";
import type { Alert, AlertFilter } from "./alerts.ts";
import { sources } from "./sources.ts";

/** A query for alerts; plain data. A missing condition matches all alerts. */
export interface AlertQuery {
  readonly states?: readonly Alert["state"][];
  readonly rule?: string;
  /** An expression over the fields of keys, and those of alerts. */
  readonly filter?: string;
  /** Passes alerts that went on at this time or later, in milliseconds since the epoch. */
  readonly from?: number;
  /** Passes alerts that began before this time. */
  readonly to?: number;
  /** A value of the key, or one of the largest values in the evidence. An address also matches the networks around it. */
  readonly names?: string;
  readonly limit?: number;
  /** False leaves out the series and the largest values, which are most of an alert. */
  readonly hasEvidence?: boolean;
}

/** Keys of alerts use the names of every kind of record. The rules tell which of them exist. */
const alertVocabulary = sources.snmp.vocabulary;

/** Fields of alerts in addition to those of their keys. */
const ownFields = new Map<string, (alert: Alert) => string | number>([
  ["alert.rule.name", ({ rule }: Alert) => rule],
  ["alert.id", ({ id }: Alert) => id],
  ["alert.text", ({ text }: Alert) => text],
  ["alert.value", ({ value }: Alert) => value],
  ["alert.peak", ({ peak }: Alert) => peak],
]);

/**
 * Reads a filter over alerts.
 *
 * @param keys the fields that keys of alerts have; a filter that asks for none of them would never pass any. Left out: no check.
 * @returns the filter, or one line for each fault.
 */
export function readAlertFilter(text: string, keys?: ReadonlySet<string>): AlertFilter | { readonly fault: string } {
  try {
    const filter = parseFilter(text, "filter", alertVocabulary);
    const unknown = keys === undefined ? [] : unknownFields(filter, new Set([...keys, ...ownFields.keys()]));
    if (unknown.length > 0) return { fault: unknown.join("\n") };
    const matches = compileFilter(filter);
    return (alert) => matches({ get: (field) => valueOf(alert, field) });
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    return { fault: `${error.fault}, column ${error.location.column}` };
  }
}

/** Returns a function that reports whether an alert matches a query. @param keys the fields that keys of alerts have. */
export function readAlertQuery(
  { states, rule, filter, from = -Infinity, to = Infinity, names }: AlertQuery,
  keys: ReadonlySet<string>,
): AlertFilter | { readonly fault: string } {
  const read = filter === undefined ? undefined : readAlertFilter(filter, keys);
  if (typeof read === "object") return read;
  const isNamed = names === undefined ? undefined : namer(names);
  return (alert) =>
    states?.includes(alert.state) !== false &&
    (rule === undefined || alert.rule === rule) &&
    alert.since < to &&
    (alert.clearedAt ?? Infinity) >= from &&
    isNamed?.(alert) !== false &&
    read?.(alert) !== false;
}

/**
 * Returns a function that reports whether an alert names a value in its key or its evidence. Addresses and networks also match those that contain them
 * or lie within them.
 */
function namer(wanted: string): (alert: Alert) => boolean {
  const network = keyOf(wanted);
  const isIt = (value: string): boolean => {
    if (value === wanted || network === undefined) return value === wanted;
    const other = keyOf(value);
    return other !== undefined && (keyContains(other, network) || keyContains(network, other));
  };
  return ({ key, top }) =>
    Object.values(key).some(isIt) || Object.values(top).some((values) => values.some(({ value }) => value === wanted));
}

/** Returns an address or a network as a key; undefined for any other text. */
function keyOf(text: string): Key | undefined {
  if (!/^[\da-f.:]{2,45}(?:\/\d{1,3})?$/i.test(text)) return undefined;
  try {
    return parseKey(text);
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    return undefined;
  }
}

/** Returns the value of a field of an alert for a filter. */
function valueOf(alert: Alert, field: string): string | number | undefined {
  const text = alert.key[field];
  if (text === undefined) return ownFields.get(field)?.(alert);
  const type = columnOf(field)?.type;
  return type === undefined || type === "text" || type === "address" ? text : Number(text);
}

/** Returns a fault for each part of a filter that asks only for fields that no alert has. A silence with such a filter would never match. */
function unknownFields(filter: Filter, known: ReadonlySet<string>): readonly string[] {
  if (filter.kind === "not") return unknownFields(filter.filter, known);
  if (!("fields" in filter)) return filter.filters.flatMap((one) => unknownFields(one, known));
  if (filter.fields.some((field) => known.has(field))) return [];
  const [field = ""] = filter.fields;
  const near = nearName(field, known);
  const hint = near === undefined ? `, expected one of ${[...known].join(", ")}` : `, did you mean ${near}?`;
  return [`no rule has alerts with ${field}${hint}`];
}
