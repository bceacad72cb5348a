import type { SettingType } from "./setting-type.ts";

/** One row of the table. `help` says in sentences what the setting does; the type says what its values are. */
export interface Setting<T> {
  readonly type: SettingType<T>;
  readonly default: T;
  readonly group: SettingGroup;
  readonly help: string;
  /** A value for the page of settings, where the default does not show what one looks like. */
  readonly example?: string;
}

export const settingGroups = [
  "Metadata",
  "API",
  "Flows",
  "SNMP",
  "Fleet",
  "Records",
  "Enrichment",
  "Outputs",
  "Explore",
  "Log",
  "First steps",
] as const;
export type SettingGroup = (typeof settingGroups)[number];

export const MiB = 2 ** 20;
export const GiB = 2 ** 30;

export function row<T>(
  group: SettingGroup,
  type: SettingType<T>,
  fallback: NoInfer<T>,
  help: string,
  example?: string,
): Setting<T> {
  return { type, default: fallback, group, help, ...(example !== undefined && { example }) };
}
