import { Secret } from "../text/index.ts";
import type { SettingType } from "./setting-type.ts";

/** One row of a table of settings. `help` says in sentences what the setting does; the type says what its values are. */
export interface Setting<T> extends SettingRules<T> {
  readonly type: SettingType<T>;
  readonly default: T;
  readonly help: string;
  /** A value for the page of settings, where the default does not show what one looks like. */
  readonly example?: string;
}

/** Rules about a value and those of other settings. They name others of the same table. */
export interface SettingRules<T> {
  readonly needs?: readonly Need[];
  /** Settings without which this one has no use: a problem where it is set and they are not. */
  readonly belongsTo?: readonly string[];
  /** Settings of which only one may be set, besides this one. */
  readonly conflicts?: readonly string[];
  /** Says what is wrong with a value, on this host or beside others, behind the name of the setting. */
  fault?(this: void, value: T, valueOf: ValueOf): string | undefined;
  /** Says what is odd about a value, behind the name of the setting. */
  warning?(this: void, value: T, valueOf: ValueOf): string | undefined;
}

/** Returns the value of another setting. */
type ValueOf = (name: string) => unknown;

/** Settings that must have a value because of this one. */
export interface Need {
  /** The value of this setting that brings it about; absent: true, or any text. */
  readonly is?: string;
  /** Further conditions: other settings, with the values that they have then. */
  readonly when?: Readonly<Record<string, readonly unknown[]>>;
  /** The values that others must have: `set`, or a value. */
  readonly must: Readonly<Record<string, string | boolean>>;
}

export const MiB = 2 ** 20;
export const GiB = 2 ** 30;

/** @param more an example, or that and rules. */
export function row<T>(
  type: SettingType<T>,
  fallback: NoInfer<T>,
  help: string,
  more: string | (SettingRules<NoInfer<T>> & { readonly example?: string }) = {},
): Setting<T> {
  return { type, default: fallback, help, ...(typeof more === "string" ? { example: more } : more) };
}

/** Rows by the names of their settings. */
export type SettingRows = Readonly<Record<string, Setting<unknown>>>;

/** The values of some settings, by their names. */
export type ValuesOf<Rows> = {
  readonly [Name in keyof Rows]: Rows[Name] extends Setting<infer T> ? T : never;
};

/** Values with secrets as plain text: what a component of another thread may be given. */
export type Revealed<Values> = {
  readonly [Name in keyof Values]: Values[Name] extends Secret ? string : Values[Name];
};

export function reveal<Values extends object>(values: Values): Revealed<Values> {
  const entries = Object.entries(values).map(([name, value]) => [
    name,
    value instanceof Secret ? value.reveal() : value,
  ]);
  return Object.fromEntries(entries) as Revealed<Values>;
}

/**
 * Finds what is wrong with values by the rules of their rows.
 *
 * @param valueOf the value of a setting that a rule names; it may be of another table.
 * @param show the name under which a setting is given.
 */
export function brokenRules(
  rows: SettingRows,
  valueOf: ValueOf,
  show: (name: string) => string = (name) => name,
): string[] {
  return Object.entries(rows).flatMap(([name, rules]) => {
    const value = valueOf(name);
    const problems: string[] = [];
    const fault = rules.fault?.(value, valueOf);
    if (fault !== undefined) problems.push(`${show(name)} ${fault}`);
    for (const { is, when = {}, must } of rules.needs ?? []) {
      const isMet = is === undefined ? isSet(value) : value === is;
      if (!isMet || !Object.entries(when).every(([other, values]) => values.includes(valueOf(other)))) continue;
      const because = `because ${show(name)} is ${value === true || is !== undefined ? String(value) : "set"}`;
      for (const [other, wanted] of Object.entries(must)) {
        const isMissing = wanted === "set" ? !isSet(valueOf(other)) : valueOf(other) !== wanted;
        if (isMissing) problems.push(`${show(other)} must be ${wanted}, ${because}`);
      }
    }
    for (const other of isSet(value) ? (rules.belongsTo ?? []) : []) {
      if (!isSet(valueOf(other))) problems.push(`${show(name)} has no use without ${show(other)}`);
    }
    if (rules.conflicts !== undefined) {
      const given = [name, ...rules.conflicts].filter((one) => isSet(valueOf(one)));
      if (given.length > 1) problems.push(`only one of ${given.map(show).join(", ")} may be set`);
    }
    return problems;
  });
}

/** Finds what is odd about values by the rules of their rows. */
export function oddities(rows: SettingRows, valueOf: ValueOf): string[] {
  return Object.entries(rows).flatMap(([name, rules]) => {
    const warning = rules.warning?.(valueOf(name), valueOf);
    return warning === undefined ? [] : [`${name} ${warning}`];
  });
}

/** Tells whether a value is more than nothing: neither false nor empty. */
export function isSet(value: unknown): boolean {
  if (value instanceof Secret) return value.isSet;
  if (value instanceof Map) return value.size > 0;
  return Array.isArray(value) ? value.length > 0 : value !== false && value !== "";
}
