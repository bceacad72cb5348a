import { checkSettings } from "./check-settings.ts";
import { nameSettings, secretOfFileName } from "./name-settings.ts";
import { isSettingName } from "./netobserv/netobserv-names.ts";
import { settingNames, settingOf, type SettingName, type Settings } from "./settings-table.ts";
import { SettingsError } from "./settings-error.ts";
import type { GivenSetting } from "./settings-source.ts";

/** Settings and what is worth saying about them. */
export interface SettingsReading {
  readonly settings: Settings;
  /** Where each value comes from; `default` where nothing was given. */
  readonly origins: ReadonlyMap<SettingName, string>;
  /** Names that start with `SVC_` or `EF_` and mean nothing, each with its origin. */
  readonly unknown: readonly string[];
  /** What is allowed and probably not meant. */
  readonly warnings: readonly string[];
  /** What is worth a line in the log and asks for nothing. */
  readonly notes: readonly string[];
}

/**
 * Settles every setting: a later layer beats an earlier one, the default comes before all. Names of both prefixes are
 * taken as {@link nameSettings} says; empty text is as if it were not there.
 *
 * @param layers what was given, weakest first: settings file, environment, flags.
 * @param readFile reads the file that `<NAME>_FILE` names; one line feed at its end does not count.
 * @throws SettingsError with all problems: values of the wrong type, names one or two edits from a known one, names
 * of another prefix in a file, a secret given twice in one layer, combinations that cannot work.
 */
export function readSettings(
  layers: readonly (readonly GivenSetting[])[],
  readFile: (path: string) => string,
): SettingsReading {
  const values = new Map<SettingName, unknown>(settingNames.map((name) => [name, settingOf(name).default]));
  const origins = new Map<SettingName, string>(settingNames.map((name) => [name, "default"]));
  const named = nameSettings(layers);
  const problems = [...named.problems];

  const take = (name: SettingName, text: string, origin: string): void => {
    const { type } = settingOf(name);
    const value = type.parse(text);
    if (value === undefined) {
      const shown = type.secret ? "" : `, not ${JSON.stringify(text)}`;
      problems.push(`${origin}: ${name} must be ${type.expected}${shown}`);
      return;
    }
    values.set(name, value);
    origins.set(name, origin);
  };

  const takeFile = (name: SettingName, path: string, origin: string): void => {
    try {
      take(name, readFile(path).replace(/\r?\n$/, ""), `${origin}, file ${path}`);
    } catch (error) {
      problems.push(`${origin}: cannot read the file of ${name}: ${(error as Error).message}`);
    }
  };

  for (const group of named.groups) {
    const names = new Set(group.map((given) => given.name));
    for (const { name, text, origin } of group) {
      const secretName = secretOfFileName.get(name);
      if (isSettingName(name)) take(name, text, origin);
      else if (secretName === undefined) continue;
      else if (names.has(secretName)) problems.push(`${origin}: ${name} and ${secretName} are both set: keep one`);
      else takeFile(secretName, text, origin);
    }
  }

  const settings = Object.fromEntries(values) as Settings;
  const found = checkSettings(settings);
  problems.push(...found.problems);
  if (problems.length > 0) throw new SettingsError(problems);
  const { unknown, notes, warnings } = named;
  return { settings, origins, unknown, notes, warnings: [...warnings, ...found.warnings] };
}
