import { nearName, Secret } from "../../base/text/index.ts";
import type { Setting, SettingRows } from "../../base/settings/index.ts";
import {
  fileRows,
  monitorRows,
  outputKinds,
  stdoutRows,
  type CommonValues,
  type StoreKind,
  type StoreWord,
} from "../../output/kinds.ts";

const prefix = "SVC_OUTPUT_";

type Named<Word extends string, Rows> = {
  readonly [Name in keyof Rows & string as `SVC_OUTPUT_${Word}_${Name}`]: Rows[Name];
};
type NamedKind<Kind> = Kind extends { readonly word: infer Word extends string; readonly rows: infer Rows }
  ? Named<Word, Rows>
  : never;
type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

function named<const Word extends string, Rows extends object>(word: Word, rows: Rows): Named<Word, Rows> {
  const entries = Object.entries(rows).map(([name, row]) => [`${prefix}${word}_${name}`, row as unknown]);
  return Object.fromEntries(entries) as Named<Word, Rows>;
}

/** The rows of the outputs of this host, by the words in the names of their settings. */
export const localRows = { STDOUT: stdoutRows, FILE: fileRows, MONITOR: monitorRows };

/** The settings of all outputs by their full names. */
export const outputSettings = {
  ...named("STDOUT", stdoutRows),
  ...named("FILE", fileRows),
  ...named("MONITOR", monitorRows),
  ...(Object.assign({}, ...outputKinds.map(({ word, rows }) => named(word, rows))) as Intersection<
    NamedKind<(typeof outputKinds)[number]>
  >),
};

/** A further output of a kind: `SVC_OUTPUT_<word>__<name>__…`. It takes no values from the output without a name. */
export interface OutputInstance {
  readonly word: StoreWord;
  /** The name as in its settings: `EDGE`. */
  readonly name: string;
  /** Its values, by the names of the kind's rows. */
  readonly values: CommonValues;
  /** The origin of each of its values, by the full names of the kind's settings; absent: the default. */
  readonly origins: ReadonlyMap<string, string>;
}

/** The settings of every output that has a queue. */
type OutputValues = Pick<CommonValues, "ENABLE" | "FILTER" | "ROLLUP_FIELDS" | "QUEUE_SIZE"> & Partial<CommonValues>;

/** An output as the settings have it, enabled or not. */
export interface OutputSettings<Values = OutputValues> {
  /** The name of the output: `stdout`, `kafka`, `kafka-edge`. */
  readonly name: string;
  readonly values: Values;
  /** Returns the full name of one of its settings: `SVC_OUTPUT_KAFKA__EDGE__TOPIC` for `TOPIC`. */
  show(this: void, name: string): string;
}

/** An output to a store as the settings have it, enabled or not. */
export interface StoreSettings extends OutputSettings<CommonValues> {
  readonly kind: StoreKind;
  /** The origins of its instance; undefined for the output without a name. */
  readonly origins: ReadonlyMap<string, string> | undefined;
}

/** The values of all outputs, and the outputs with names. */
interface AllOutputs {
  readonly [name: `SVC_${string}`]: unknown;
  readonly outputInstances: readonly OutputInstance[];
}

/** Returns all outputs to stores: one of each kind, and those with names. */
export function storesOf(settings: AllOutputs): StoreSettings[] {
  const plain = outputKinds.map((kind) => ({
    kind,
    name: kind.name,
    values: valuesOf(kind.word, kind.rows, settings) as unknown as CommonValues,
    show: (name: string) => fullName(kind.word, name),
    origins: undefined,
  }));
  const instances = settings.outputInstances.flatMap((instance) => {
    const { word, name, values, origins } = instance;
    const kind = kindOf(word);
    const ownName = `${kind.name}-${name.toLowerCase().replaceAll("_", "-")}`;
    return { kind, name: ownName, values, origins, show: (of: string) => fullName(word, of, name) };
  });
  return [...plain, ...instances];
}

/** Returns all outputs that take records: the standard output, the file and those to stores. */
export function outputsOf(settings: AllOutputs): OutputSettings[] {
  const local = (["STDOUT", "FILE"] as const).map((word) => ({
    name: word.toLowerCase(),
    values: valuesOf(word, localRows[word], settings) as unknown as OutputValues,
    show: (name: string) => fullName(word, name),
  }));
  return [...local, ...storesOf(settings)];
}

function valuesOf(word: string, rows: SettingRows, settings: AllOutputs): Record<string, unknown> {
  const names = Object.keys(rows);
  return Object.fromEntries(names.map((name) => [name, settings[`${prefix}${word}_${name}`]]));
}

/** Returns an instance without its secrets, which may be passed to another thread. */
export function plainInstance(instance: OutputInstance): OutputInstance {
  const entries = Object.entries(instance.values).filter(([, value]) => !(value instanceof Secret));
  return { ...instance, values: Object.fromEntries(entries) as unknown as CommonValues };
}

/** The words of the outputs to stores in the names of their settings. */
const storeWords: readonly StoreWord[] = outputKinds.map(({ word }) => word);

/** Returns the word of the output that a setting belongs to; empty for all other settings. */
export function outputWordOf(name: string): string {
  return ["STDOUT", "FILE", ...storeWords].find((word) => name.startsWith(`${prefix}${word}_`)) ?? "";
}

/** Returns the word of the output to a store that a setting belongs to. */
export function storeWordOf(name: string): StoreWord | undefined {
  return storeWords.find((word) => name.startsWith(`${prefix}${word}_`));
}

/** Returns the kind of a word. */
export function kindOf(word: StoreWord): StoreKind {
  return outputKinds.find((kind) => kind.word === word) as StoreKind;
}

/** The meaning of a setting's name that has an instance. */
export interface InstanceName {
  readonly word: StoreWord;
  readonly instance: string;
  /** The setting of the kind: `SVC_OUTPUT_KAFKA_TOPIC`, or for a secret in a file `SVC_OUTPUT_KAFKA_SASL_PASSWORD_FILE`. */
  readonly setting: string;
}

/** The separator; no other name of a setting has two underscores in a row. */
const separator = "__";
const instanceWord = /^(?=.{1,32}$)[A-Z0-9]+(_[A-Z0-9]+)*$/;

/**
 * Reads `SVC_OUTPUT_KAFKA__EDGE__TOPIC`.
 *
 * @returns undefined for names of another form; a text with the fault of a name of this form.
 */
export function parseInstanceName(name: string): InstanceName | string | undefined {
  if (!name.startsWith(prefix) || !name.includes(separator)) return undefined;
  const [given = "", instance = "", ...rest] = name.slice(prefix.length).split(separator);
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
  const setting = fullName(word, suffix);
  const rows: Readonly<Record<string, Setting<unknown>>> = kindOf(word).rows;
  const known = Object.entries(rows).flatMap(([one, { type }]) => {
    const full = fullName(word, one);
    return type.secret ? [full, `${full}_FILE`] : [full];
  });
  if (known.includes(setting)) return { word, instance, setting };
  const near = nearName(setting, known);
  if (near === undefined) return `${name} is not a setting: there is no ${setting}`;
  return `${name} is not a setting: is ${instanceSetting({ word, name: instance }, near)} meant?`;
}

function fullName(word: string, name: string, instance?: string): string {
  return instance === undefined
    ? `${prefix}${word}_${name}`
    : `${prefix}${word}${separator}${instance}${separator}${name}`;
}

/** Returns the name of an instance's setting: `SVC_OUTPUT_KAFKA__EDGE__TOPIC` for `SVC_OUTPUT_KAFKA_TOPIC`. */
export function instanceSetting({ word, name }: Pick<OutputInstance, "word" | "name">, setting: string): string {
  return fullName(word, setting.slice(prefix.length + word.length + 1), name);
}
