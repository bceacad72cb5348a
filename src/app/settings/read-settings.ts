import { checkSettings } from "./check-settings.ts";
import { nearName } from "../../text/index.ts";
import { settingNames, settingOf, type SettingName, type Settings } from "./settings-table.ts";
import { SettingsError } from "./settings-error.ts";
import type { GivenSetting } from "./settings-source.ts";

/** Settings and what is worth saying about them. */
export interface SettingsReading {
  readonly settings: Settings;
  /** Where each value comes from; `default` where nothing was given. */
  readonly origins: ReadonlyMap<SettingName, string>;
  /** Names that start with `SVC_` and mean nothing, each with its origin. */
  readonly unknown: readonly string[];
  /** What is allowed and probably not meant. */
  readonly warnings: readonly string[];
}

const fileSuffix = "_FILE";
const secretFileNames = settingNames
  .filter((name) => settingOf(name).type.secret)
  .map((name): [string, SettingName] => [name + fileSuffix, name]);
const secretOfFileName = new Map(secretFileNames);
const knownNames: readonly string[] = [...settingNames, ...secretOfFileName.keys()];

/**
 * Settles every setting: a later layer beats an earlier one, the default comes before all.
 *
 * @param layers what was given, weakest first: settings file, environment, flags.
 * @param readFile reads the file that `<NAME>_FILE` names; one line feed at its end does not count.
 * @throws SettingsError with all problems: values of the wrong type, names one or two edits from a known one, names
 * that do not start with `SVC_`, a secret given twice in one layer, combinations that cannot work.
 */
export function readSettings(
  layers: readonly (readonly GivenSetting[])[],
  readFile: (path: string) => string,
): SettingsReading {
  const values = new Map<SettingName, unknown>(settingNames.map((name) => [name, settingOf(name).default]));
  const origins = new Map<SettingName, string>(settingNames.map((name) => [name, "default"]));
  const problems: string[] = [];
  const unknown: string[] = [];

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

  for (const layer of layers) {
    const names = new Set(layer.map((given) => given.name));
    for (const { name, text, origin } of layer) {
      const secretName = secretOfFileName.get(name);
      if (isSettingName(name)) take(name, text, origin);
      else if (secretName === undefined) judgeUnknown(name, origin, problems, unknown);
      else if (names.has(secretName)) problems.push(`${origin}: ${name} and ${secretName} are both set: keep one`);
      else takeFile(secretName, text, origin);
    }
  }

  const settings = Object.fromEntries(values) as Settings;
  const found = checkSettings(settings);
  problems.push(...found.problems);
  if (problems.length > 0) throw new SettingsError(problems);
  return { settings, origins, unknown, warnings: found.warnings };
}

function isSettingName(name: string): name is SettingName {
  return (settingNames as readonly string[]).includes(name);
}

function judgeUnknown(name: string, origin: string, problems: string[], unknown: string[]): void {
  const near = nearName(name, knownNames);
  if (near !== undefined) problems.push(`${origin}: ${name} is not a setting: is ${near} meant?`);
  else if (name.startsWith("SVC_")) unknown.push(`${name} (${origin})`);
  else if (name.startsWith("EF_")) problems.push(`${origin}: ${name} is not a setting: names start with SVC_, not EF_`);
  else problems.push(`${origin}: ${JSON.stringify(name)} is not a setting`);
}
