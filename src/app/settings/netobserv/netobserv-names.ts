import { settingOf, type SettingName, settingNames } from "../settings-table.ts";
import { inputNames, noLicence } from "./input-names.ts";
import type { KnownName } from "./known-name.ts";
import { outputNames } from "./output-names.ts";
import { processorNames } from "./processor-names.ts";

/** Every public name of ElastiFlow NetObserv, without its prefix. Names are facts; what is said of each is this table's. */
export const netObservNames: Readonly<Record<string, KnownName>> = { ...inputNames, ...processorNames, ...outputNames };

/** What happens to a name of NetObserv. */
export type Fate =
  | {
      readonly kind: "same";
      readonly setting: SettingName;
      /** Whether the setting has another suffix here. */
      readonly isAlias: boolean;
      /** The text that the setting takes for a given one. */
      readonly toText: (text: string) => string;
    }
  | { readonly kind: "accepted"; readonly why: string }
  | { readonly kind: "missing"; readonly advice: string; readonly needs?: string };

/** Their names differ by program and version. */
const isOfLicence = /^(?:(?:FLOW|SNMP|TRAP)_)?(?:ACCOUNT_ID|LICENSED?_\w+)$/;

const noEffect = "netgloss has no such setting";

/**
 * What happens to a name, without prefix: a setting of ours by the same suffix first, then what the table says.
 *
 * @returns undefined for a name that is neither a setting nor in the table.
 */
export function fateOf(suffix: string): Fate | undefined {
  const own = `SVC_${suffix}`;
  if (isSettingName(own)) return { kind: "same", setting: own, isAlias: false, toText: (text) => text };
  const name = Object.hasOwn(netObservNames, suffix) ? netObservNames[suffix] : undefined;
  if (name === undefined) return isOfLicence.test(suffix) ? { kind: "accepted", why: noLicence } : undefined;
  if (name.as !== undefined) {
    const { setting, values = {} } = name.as;
    if (!isSettingName(setting)) throw new Error(`${suffix} stands for ${setting}, which is no setting`);
    return { kind: "same", setting, isAlias: true, toText: (text) => values[text] ?? text };
  }
  if (name.accepted !== undefined) return { kind: "accepted", why: name.accepted };
  return { kind: "missing", advice: missingAdvice(name), ...(name.needs !== undefined && { needs: name.needs }) };
}

function missingAdvice(name: KnownName): string {
  const ruling = name.needs === undefined ? name : (netObservNames[name.needs] ?? name);
  return ruling.missing ?? noEffect;
}

const names: ReadonlySet<string> = new Set(settingNames);

export function isSettingName(name: string): name is SettingName {
  return names.has(name);
}

/** How many of the table's names have each fate. */
export function countFates(): Readonly<Record<Fate["kind"], number>> {
  const counts = { same: 0, accepted: 0, missing: 0 };
  for (const suffix of Object.keys(netObservNames)) counts[fateOf(suffix)?.kind ?? "missing"]++;
  return counts;
}

/** The default of the setting that a name means, as text; undefined for secrets. */
export function defaultOf(setting: SettingName): string | undefined {
  const { type, default: fallback } = settingOf(setting);
  return type.secret ? undefined : type.format(fallback);
}
