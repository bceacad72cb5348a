import { type Secret, nearName } from "../../base/text/index.ts";
import { settingNames, settingOf, type SettingName, type Settings } from "./settings-table.ts";
import { storeWords, type StoreWord } from "./delivery-settings.ts";

/** The settings without the secrets: plain data, which may be handed to another thread. */
export type PlainSettings = {
  readonly [Name in SettingName as Settings[Name] extends Secret ? never : Name]: Settings[Name];
} & { readonly outputInstances: readonly PlainOutputInstance[] };

export function plainSettings(settings: Settings): PlainSettings {
  const plain = settingNames.filter((name) => settingOf(name).type.secret !== true);
  const outputInstances = settings.outputInstances.map((instance) => ({
    ...instance,
    settings: plainSettings(instance.settings),
  }));
  return {
    ...Object.fromEntries(plain.map((name) => [name, settings[name]])),
    outputInstances,
  } as unknown as PlainSettings;
}

/**
 * A further output of a kind: `SVC_OUTPUT_<word>__<name>__…`. Its settings are those of the kind by their usual names; all
 * others are the collector's. It takes no values from the output without a name.
 */
export interface OutputInstance<Values = Settings> {
  readonly word: StoreWord;
  /** As in the names of its settings: `EDGE`. */
  readonly name: string;
  readonly settings: Values;
  /** Where each of its values comes from; absent: the default. */
  readonly origins: ReadonlyMap<SettingName, string>;
}

/** An instance without its secrets, which may be handed to another thread. */
export type PlainOutputInstance = OutputInstance<PlainSettings>;

/** What the name of a setting of an instance means. */
export interface InstanceName {
  readonly word: StoreWord;
  readonly instance: string;
  /** The setting of the kind: `SVC_OUTPUT_KAFKA_TOPIC`, or for a secret in a file `SVC_OUTPUT_KAFKA_SASL_PASSWORD_FILE`. */
  readonly setting: string;
}

/** No other name of a setting has two underscores in a row. */
const separator = "__";
const instanceWord = /^(?=.{1,32}$)[A-Z0-9]+(_[A-Z0-9]+)*$/;
const outputPrefix = "SVC_OUTPUT_";

/**
 * Reads `SVC_OUTPUT_KAFKA__EDGE__TOPIC`.
 *
 * @returns undefined for names of another form; a text that says what is wrong with one of this form.
 */
export function parseInstanceName(name: string): InstanceName | string | undefined {
  if (!name.startsWith(outputPrefix) || !name.includes(separator)) return undefined;
  const [given = "", instance = "", ...rest] = name.slice(outputPrefix.length).split(separator);
  const word = storeWords.find((one) => one === given);
  if (word === undefined) {
    const near = nearName(given, storeWords);
    const advice = near === undefined ? `outputs with instances are ${storeWords.join(", ")}` : `is ${near} meant?`;
    return `${name} is not a setting: ${given} is no output with instances: ${advice}`;
  }
  const suffix = rest.join(separator);
  if (!instanceWord.test(instance) || suffix === "") {
    return `${name} is not a setting: an instance is SVC_OUTPUT_${word}__<NAME>__<SETTING>, its name capital letters, digits and single underscores, 32 at most`;
  }
  const setting = `${outputPrefix}${word}_${suffix}`;
  const known = namesOf(word);
  if (known.includes(setting)) return { word, instance, setting };
  const near = nearName(setting, known);
  if (near === undefined) return `${name} is not a setting: there is no ${setting}`;
  return `${name} is not a setting: is ${instanceSetting({ word, name: instance }, near)} meant?`;
}

/** The name of an instance's setting: `SVC_OUTPUT_KAFKA__EDGE__TOPIC` for `SVC_OUTPUT_KAFKA_TOPIC`. */
export function instanceSetting({ word, name }: Pick<OutputInstance, "word" | "name">, setting: string): string {
  return `${outputPrefix}${word}${separator}${name}${separator}${setting.slice(outputPrefix.length + word.length + 1)}`;
}

/** The settings that a kind of output has. */
export function settingsOfWord(word: StoreWord): SettingName[] {
  return settingNames.filter((name) => name.startsWith(`${outputPrefix}${word}_`));
}

function namesOf(word: StoreWord): string[] {
  return settingsOfWord(word).flatMap((name) => (settingOf(name).type.secret ? [name, `${name}_FILE`] : [name]));
}

/**
 * The settings of an instance: the collector's, with every output off but its own, whose values are the given ones or
 * the defaults.
 */
export function settingsOfInstance(
  base: Settings,
  word: StoreWord,
  values: ReadonlyMap<SettingName, unknown>,
): Settings {
  const off = storeWords.map((one) => [`SVC_OUTPUT_${one}_ENABLE`, false] as const);
  const own = settingsOfWord(word).map(
    (name) => [name, values.has(name) ? values.get(name) : settingOf(name).default] as const,
  );
  return { ...base, ...Object.fromEntries([...off, ...own]), outputInstances: [] };
}
