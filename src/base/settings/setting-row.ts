import { Secret } from "../text/index.ts";
import type { SettingType } from "./setting-type.ts";

/** One row of a table of settings. `help` says what the setting does; the type describes its values. */
export interface Setting<T> extends SettingRules<T> {
  readonly type: SettingType<T>;
  readonly default: T;
  readonly help: string;
  /** An example value for the page of settings, where the default does not show the form. */
  readonly example?: string;
}

/** Rules about a value in relation to other settings of the same table. */
export interface SettingRules<T> {
  readonly needs?: readonly Need[];
  /** Settings without which this one has no effect: a problem where it is set and they are not. */
  readonly belongsTo?: readonly string[];
  /** Settings of which only one may be set, including this one. */
  readonly conflicts?: readonly string[];
  /** Returns what is wrong with a value, on this host or with other settings, as a text to follow the name of the setting. */
  fault?(this: void, value: T, valueOf: ValueOf): string | undefined;
  /** Returns what is unusual about a value, as a text to follow the name of the setting. */
  warning?(this: void, value: T, valueOf: ValueOf): string | undefined;
}

/** Returns the value of another setting by its name. */
type ValueOf = (name: string) => unknown;

/** Settings that this one requires. */
export interface Need {
  /** The value of this setting that causes the need; absent: true, or any text. */
  readonly is?: string;
  /** Further conditions: other settings, with the values that they must have. */
  readonly when?: Readonly<Record<string, readonly unknown[]>>;
  /** The required values of others: `set`, or a value. */
  readonly must: Readonly<Record<string, string | boolean>>;
}

export const MiB = 2 ** 20;
export const GiB = 2 ** 30;

/** @param more an example, or an example with rules. */
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

/** Values with secrets as plain text, for a component in another thread. */
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
 * Returns the violations of the rules of rows.
 *
 * @param valueOf returns the value of a setting that a rule names; it may be of another table.
 * @param show returns the name under which a setting is given.
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

/** Returns what is unusual about values, by the rules of their rows. */
export function oddities(rows: SettingRows, valueOf: ValueOf): string[] {
  return Object.entries(rows).flatMap(([name, rules]) => {
    const warning = rules.warning?.(valueOf(name), valueOf);
    return warning === undefined ? [] : [`${name} ${warning}`];
  });
}

/** Reports whether a value is neither false nor empty. */
export function isSet(value: unknown): boolean {
  if (value instanceof Secret) return value.isSet;
  if (value instanceof Map) return value.size > 0;
  return Array.isArray(value) ? value.length > 0 : value !== false && value !== "";
}
