import { yamlScalar } from "../read-settings.ts";
import {
  inputsTurnedOn,
  isOff,
  meaningOf,
  nearSetting,
  partsOf,
  prefixes,
  programsOf,
  secretOfFileName,
  theirDefault,
} from "../name-settings.ts";
import { parseInstanceName } from "../output-settings.ts";
import type { GivenSetting } from "../settings-source.ts";
import { settingOf, type SettingName } from "../settings-table.ts";
import { netObservNames } from "./netobserv-names.gen.ts";
import { mappingOf, isSettingName, missingDefaults } from "./netobserv-names.ts";

/** The outcome for one given name. */
export interface Migrated {
  readonly given: GivenSetting;
  /**
   * `unset`: nothing was given. `wrong`: not a value of its setting. `overridden`: set elsewhere, too. `unfilled`: a variable in it has
   * no value.
   */
  readonly result: "same" | "accepted" | "missing" | "unknown" | "wrong" | "unset" | "overridden" | "unfilled";
  /** The line of a settings file: a setting, or a comment. */
  readonly line: string;
  /** The change, or advice; empty where nothing changes. */
  readonly comment: string;
}

/** Results after which a requested feature is missing. */
export const lostResults: ReadonlySet<Migrated["result"]> = new Set(["missing", "unknown", "wrong", "unfilled"]);

/**
 * Returns the same settings by our names, in the given order. A later one wins, `SVC_` over `EF_`, and a
 * setting's own name over another name for it. Of a secret and its `_FILE` only one remains. A setting for something that is off is `unset`
 * rather than missing. The defaults of NetObserv that differ here follow, if settings of its prefix rely on them.
 *
 * @param given of all files, the later ones last.
 */
export function migrateSettings(given: readonly GivenSetting[]): Migrated[] {
  const texts = new Map(given.map(({ name, text }) => [suffixOf(name) ?? name, text]));
  const winners = new Map<string, GivenSetting>();
  for (const one of given) {
    const setting = targetOf(one);
    if (setting === undefined || one.text.trim() === "") continue;
    const key = withoutFile(setting);
    const before = winners.get(key);
    if (before === undefined || rankOf(one, setting) >= rankOf(before, targetOf(before) ?? "")) winners.set(key, one);
  }
  const migrated = given.map((one) => migrate(one, winners, texts));
  const turnedOn = inputsTurnedOn(given);
  const isTheirs = given.some(({ name, text }) => name.startsWith(prefixes.old) && text.trim() !== "");
  const said = new Map([
    ...[...winners.values()].map((one): [string, string] => [
      targetOf(one) ?? "",
      meaningOf(one.name)?.toText(one.text) ?? one.text,
    ]),
    ...turnedOn.map(({ name, text }): [string, string] => [name, text]),
  ]);
  return [
    ...migrated,
    ...turnedOn.map(turnedOnLine),
    ...(isTheirs ? missingDefaults(said, programsOf(given)) : []).map(({ name, text, why }) =>
      defaultLine(name, text, why),
    ),
  ];
}

function turnedOnLine(given: GivenSetting): Migrated {
  const by = given.origin.split(", ").at(-1) ?? given.origin;
  const comment = by !== theirDefault ? `${by} turns it on` : by;
  return { given, result: "same", line: withComment(`${given.name}: ${yamlScalar(given.text)}`, comment), comment };
}

function defaultLine(name: string, text: string, why: string): Migrated {
  const comment = `${theirDefault}: ${why}`;
  const given = { name, text, origin: theirDefault };
  return { given, result: "same", line: withComment(`${name}: ${yamlScalar(text)}`, comment), comment };
}

/** Returns a rank of precedence; of equal ranks the later one wins. */
function rankOf({ name }: GivenSetting, setting: string): number {
  return (name.startsWith(prefixes.own) ? 2 : 0) + (suffixOf(name) === suffixOf(setting) ? 1 : 0);
}

/** Returns the name after either prefix, and after a namespace. */
function suffixOf(name: string): string | undefined {
  return partsOf(name).suffix;
}

/** Returns the secret for the name of its file, because only one of the two may be set. Other names stay. */
function withoutFile(name: string): string {
  const instance = parseInstanceName(name);
  const setting = typeof instance === "object" ? instance.setting : name;
  return secretOfFileName.has(setting) ? name.replace(/_FILE$/, "") : name;
}

/** Returns the name of the setting here. */
function targetOf({ name }: GivenSetting): string | undefined {
  return meaningOf(name)?.name;
}

function migrate(
  given: GivenSetting,
  winners: ReadonlyMap<string, GivenSetting>,
  texts: ReadonlyMap<string, string>,
): Migrated {
  const { name, text } = given;
  const suffix = suffixOf(name) ?? name;
  const target = targetOf(given);
  const mapping = suffixOf(name) === undefined ? undefined : mappingOf(suffix);
  if (given.unfilled !== undefined && mapping?.kind !== "accepted") {
    const comment = `left out: ${given.unfilled}`;
    return { given, result: "unfilled", line: `# ${target ?? name}:  # ${comment}`, comment };
  }
  const asComment = (result: Migrated["result"], comment: string): Migrated => {
    const isSecret = /PASSWORD|TOKEN|KEY$|PASSPHRASE|SECRET/.test(suffix);
    const shown = text.trim() === "" ? "" : isSecret ? " …" : ` ${yamlScalar(text)}`;
    return { given, result, line: `# ${name}:${shown}${comment === "" ? "" : `  # ${comment}`}`, comment };
  };
  if (text.trim() === "") return asComment("unset", "");
  if (target !== undefined) {
    const winner = winners.get(withoutFile(target)) ?? given;
    const winning = targetOf(winner) ?? target;
    if (winning !== target)
      return asComment("overridden", `${winner.origin} says ${winning}, only one of both may be set`);
    if (winner !== given) return asComment("overridden", `${winner.origin} says ${target}`);
    const instance = parseInstanceName(target);
    if (typeof instance === "string") return asComment("wrong", instance);
    const setting = typeof instance === "object" ? instance.setting : target;
    if (!isSettingName(setting)) return { given, result: "same", line: `${target}: ${yamlScalar(text)}`, comment: "" };
    const meant = meaningOf(name)?.toText(text) ?? text;
    return migrateSame(given, { name: target, setting, text: meant }, asComment);
  }
  if (mapping === undefined) return asComment("unknown", whyUnknown(name));
  if (mapping.kind === "accepted") return asComment("accepted", `not needed: ${mapping.why}`);
  if (mapping.kind === "same") throw new Error(`${name} has a setting`);
  const { advice, needs = suffix } = mapping;
  if (isOff(texts.get(needs) ?? "")) return asComment("unset", "it is off");
  return asComment("missing", needs === suffix ? `missing: ${advice}` : `missing with ${needs}`);
}

/** @param meant the name and text to use here, and the setting whose values it has. */
function migrateSame(
  given: GivenSetting,
  { name, setting, text }: { readonly name: string; readonly setting: SettingName; readonly text: string },
  asComment: (result: Migrated["result"], comment: string) => Migrated,
): Migrated {
  const { type } = settingOf(setting);
  const value = type.parse(text);
  if (value === undefined) return asComment("wrong", `wrong: ${name} must be ${type.expected}`);
  const shown = type.secret ? text : type.format(value);
  const suffix = suffixOf(given.name) ?? "";
  const changes = [
    ...(name === prefixes.own + given.name.replace(/^(?:SVC|EF)_/, "") ? [] : [`${given.name} becomes ${name}`]),
    ...(text === given.text ? [] : [`was ${given.text}`]),
    ...(given.name.startsWith(prefixes.old) ? [netObservNames[suffix]?.differs ?? ""] : []),
    ...(type.secret ? [`a file is safer: ${name}_FILE`] : []),
  ].filter((change) => change !== "");
  const comment = changes.join("; ");
  return { given, result: "same", line: withComment(`${name}: ${yamlScalar(shown)}`, comment), comment };
}

/** Explains why a name is not a setting, with advice. */
function whyUnknown(name: string): string {
  const instance = parseInstanceName(name);
  if (typeof instance === "string") return instance;
  const near = nearSetting(name);
  return `netgloss does not know this name: ${near === undefined ? "remove it" : `is ${near} meant?`}`;
}

function withComment(line: string, comment: string): string {
  return comment === "" ? line : `${line}  # ${comment}`;
}
