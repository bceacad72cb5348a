import { checkSettings } from "./check-settings.ts";
import { nameSettings, secretOfFileName } from "./name-settings.ts";
import { instanceSetting, parseInstanceName, settingsOfInstance, type OutputInstance } from "./output-instances.ts";
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
  const named = nameSettings(layers);
  const problems = [...named.problems];
  const base = createScope((name) => name);
  for (const name of settingNames) {
    base.values.set(name, settingOf(name).default);
    base.origins.set(name, "default");
  }
  const instances = new Map<string, InstanceScope>();

  const take = (scope: Scope, name: SettingName, text: string, origin: string): void => {
    const { type } = settingOf(name);
    const value = type.parse(text);
    if (value === undefined) {
      const shown = type.secret ? "" : `, not ${JSON.stringify(text)}`;
      problems.push(`${origin}: ${scope.show(name)} must be ${type.expected}${shown}`);
      return;
    }
    scope.values.set(name, value);
    scope.origins.set(name, origin);
  };

  const takeFile = (scope: Scope, name: SettingName, path: string, origin: string): void => {
    try {
      take(scope, name, readFile(path).replace(/\r?\n$/, ""), `${origin}, file ${path}`);
    } catch (error) {
      problems.push(`${origin}: cannot read the file of ${scope.show(name)}: ${(error as Error).message}`);
    }
  };

  for (const group of named.groups) {
    const names = new Set(group.map((given) => given.name));
    for (const { name, text, origin } of group) {
      const { scope, setting } = scopeOf(name, base, instances);
      const secretName = secretOfFileName.get(setting);
      if (isSettingName(setting)) take(scope, setting, text, origin);
      else if (secretName === undefined) continue;
      else if (names.has(scope.show(secretName))) {
        problems.push(`${origin}: ${name} and ${scope.show(secretName)} are both set: keep one`);
      } else takeFile(scope, secretName, text, origin);
    }
  }

  const withoutNames = { ...Object.fromEntries(base.values), outputInstances: [] } as unknown as Settings;
  const outputInstances = [...instances.values()].map(({ word, name, values, origins }): OutputInstance => {
    return { word, name, origins, settings: settingsOfInstance(withoutNames, word, values) };
  });
  const settings = { ...withoutNames, outputInstances };
  const found = checkSettings(settings, base.origins);
  problems.push(...found.problems);
  if (problems.length > 0) throw new SettingsError(problems);
  const { origins } = base;
  const { unknown, notes, warnings } = named;
  return { settings, origins, unknown, notes, warnings: [...warnings, ...found.warnings] };
}

/** Values, and where they come from, of the collector or of an output that has a name. */
interface Scope {
  readonly values: Map<SettingName, unknown>;
  readonly origins: Map<SettingName, string>;
  /** The name by which a setting is given here. */
  readonly show: (name: string) => string;
}

type InstanceScope = Scope & Pick<OutputInstance, "word" | "name">;

const createScope = (show: Scope["show"]): Scope => ({ values: new Map(), origins: new Map(), show });

/** Where a name belongs, and which setting it is there. */
function scopeOf(
  name: string,
  base: Scope,
  instances: Map<string, InstanceScope>,
): { readonly scope: Scope; readonly setting: string } {
  const parsed = parseInstanceName(name);
  if (parsed === undefined || typeof parsed === "string") return { scope: base, setting: name };
  const { word, instance, setting } = parsed;
  const key = `${word} ${instance}`;
  const scope = instances.get(key) ?? {
    word,
    name: instance,
    ...createScope((one) => instanceSetting({ word, name: instance }, one)),
  };
  instances.set(key, scope);
  return { scope, setting };
}
