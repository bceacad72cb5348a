import { nearName } from "../../base/text/index.ts";
import { instanceSetting, parseInstanceName, storeWordOf } from "./output-settings.ts";
import { netObservNames } from "./netobserv/netobserv-names.gen.ts";
import { mappingOf, type NameMapping } from "./netobserv/netobserv-names.ts";
import { settingNames, settingOf, type SettingName } from "./settings-table.ts";
import type { GivenSetting } from "./settings-source.ts";

/** The prefix of our names, and that of ElastiFlow NetObserv's. */
export const prefixes = { own: "SVC_", old: "EF_" } as const;

export interface NamedSettings {
  /** The given settings, by our names: groups without duplicates, weakest first. */
  readonly groups: readonly (readonly GivenSetting[])[];
  /** Unknown names, each with its origin. */
  readonly unknown: readonly string[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  /** Notes for the log that need no action. */
  readonly notes: readonly string[];
}

const fileSuffix = "_FILE";
const secretFileNames = settingNames
  .filter((name) => settingOf(name).type.secret)
  .map((name): [string, SettingName] => [name + fileSuffix, name]);

/** The secret whose file each `<NAME>_FILE` names. */
export const secretOfFileName: ReadonlyMap<string, SettingName> = new Map(secretFileNames);
const knownNames: readonly string[] = [...settingNames, ...secretOfFileName.keys()];
const knownOldNames: ReadonlySet<string> = new Set(
  [...Object.keys(netObservNames), ...knownNames.map(suffixOf)].map((suffix) => prefixes.old + suffix),
);

/** Returns the known name, of the same prefix, that is closest to an unknown one. */
export function nearSetting(name: string): string | undefined {
  return nearName(name, name.startsWith(prefixes.old) ? knownOldNames : knownNames);
}

/** The origin of settings missing in all files, because NetObserv has them by default. */
export const theirDefault = "NetObserv's default";

/** An input of ours that is a separate program of NetObserv's, which is on without a setting. */
interface Input {
  readonly program: "flow" | "trap" | "snmp";
  readonly where: SettingName;
  readonly enable: SettingName;
  /** The default of NetObserv's program for `where`; undefined: the same as ours. */
  readonly theirs: string | undefined;
  /** Matches names, without prefix, that only this program knows. */
  readonly known: RegExp;
}

const inputs: readonly Input[] = [
  {
    program: "flow",
    where: "SVC_FLOW_SERVER_UDP_PORT",
    enable: "SVC_FLOW_SERVER_UDP_ENABLE",
    theirs: undefined,
    known: /^(?:(?:FLOW|INPUT_FLOW|LICENSE_FLOW|PROCESSOR_DECODE)_|PROCESSOR_ENRICH_(?!IPADDR_(?:DNS|METADATA|TTL)))/,
  },
  {
    program: "trap",
    where: "SVC_INPUT_TRAP_LISTENER_PORT",
    enable: "SVC_INPUT_TRAP_ENABLE",
    theirs: undefined,
    known: /^(?:INPUT_TRAP|PROCESSOR_TRAP)_/,
  },
  {
    program: "snmp",
    where: "SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH",
    enable: "SVC_INPUT_SNMP_ENABLE",
    theirs: netObservNames["INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH"]?.example,
    known: /^(?:INPUT_SNMP|PROCESSOR_SNMP|SNMP)_/,
  },
];

/**
 * Finds the setting for each name. `SVC_` always wins over `EF_`, a later layer over an earlier
 * one, and a setting's own name over another name for it. An empty text counts as absent.
 */
export function nameSettings(layers: readonly (readonly GivenSetting[])[]): NamedSettings {
  const byPrefix = { own: layers.map(() => newGroup()), old: layers.map(() => newGroup()) };
  const report = createReport();
  for (const [i, layer] of layers.entries()) {
    const seen = new Map<string, GivenSetting>();
    for (const given of layer) {
      warnOfAnother(given, seen, report);
      const group = given.name.startsWith(prefixes.old) ? byPrefix.old[i] : byPrefix.own[i];
      if (group !== undefined) place(given, group, report);
    }
  }
  const all = [...byPrefix.old, ...byPrefix.own];
  return {
    groups: [inputsTurnedOn(layers.flat()), ...all.flatMap(({ aliases, plain }) => [aliases, plain])],
    ...report.result(byPrefix.old.reduce((sum, { aliases, plain }) => sum + aliases.length + plain.length, 0)),
  };
}

interface Group {
  /** Settings that were given by another name than their own. */
  readonly aliases: GivenSetting[];
  readonly plain: GivenSetting[];
}

const newGroup = (): Group => ({ aliases: [], plain: [] });

/** The meaning of a name of either prefix: a setting, the `_FILE` of a secret, or one of these of an instance. */
export interface Meaning {
  readonly name: string;
  /** True if the setting has another suffix here. */
  readonly isAlias: boolean;
  /** Converts a given text to the setting's text. */
  readonly toText: (text: string) => string;
}

const asItIs = (text: string): string => text;

/** @returns undefined for a name without a meaning here. */
export function meaningOf(name: string): Meaning | undefined {
  if (typeof parseInstanceName(name) === "object") return { name, isAlias: false, toText: asItIs };
  const { suffix, namespace } = partsOf(name);
  if (suffix === undefined) return undefined;
  const ofNamespace = (setting: string): string => {
    const word = namespace && storeWordOf(setting);
    return word ? instanceSetting({ word, name: namespace }, setting) : setting;
  };
  const own = prefixes.own + suffix;
  if (secretOfFileName.has(own)) return { name: ofNamespace(own), isAlias: false, toText: asItIs };
  const mapping = mappingOf(suffix);
  if (mapping?.kind !== "same") return undefined;
  return { name: ofNamespace(mapping.setting), isAlias: mapping.isAlias, toText: mapping.toText };
}

/** Returns the name after either prefix. NetObserv distinguishes several outputs of one kind by namespaces: `EF_EDGE_OUTPUT_KAFKA_TOPIC`. */
export function partsOf(name: string): { readonly suffix?: string; readonly namespace?: string } {
  const [, namespace, output] = /^EF_([A-Z0-9]+(?:_[A-Z0-9]+)*?)_(OUTPUT_.+)$/.exec(name) ?? [];
  if (namespace !== undefined && output !== undefined) return { suffix: output, namespace };
  const suffix = /^(?:SVC|EF)_(.*)$/.exec(name)?.[1];
  return suffix === undefined ? {} : { suffix };
}

/**
 * Warns of a value that replaces another service's. The services of a Compose file are separate programs of NetObserv, but one here; likewise
 * outputs without names.
 *
 * @param seen earlier settings of the same layer, by their meaning.
 */
function warnOfAnother(
  given: GivenSetting,
  seen: Map<string, GivenSetting>,
  report: ReturnType<typeof createReport>,
): void {
  const meaning = meaningOf(given.name);
  const text = given.text.trim();
  if (meaning === undefined || text === "") return;
  const key = `${given.name.startsWith(prefixes.old)} ${meaning.isAlias} ${meaning.name}`;
  const before = seen.get(key);
  seen.set(key, given);
  if (before !== undefined && text !== before.text.trim()) {
    report.warning(`${given.origin}: ${given.name} counts, and not ${before.name} (${before.origin}): keep one`);
  }
}

function place(given: GivenSetting, group: Group, report: ReturnType<typeof createReport>): void {
  const { name, text, origin, unfilled } = given;
  const isOld = name.startsWith(prefixes.old);
  const { suffix = "" } = partsOf(name);
  if (unfilled !== undefined) {
    if (mappingOf(suffix)?.kind !== "accepted") report.warning(`${origin}: ${name} is left out: ${unfilled}`);
    return;
  }
  if (!isOld && !name.startsWith(prefixes.own)) {
    const near = nearSetting(name);
    report.problem(
      near === undefined
        ? `${origin}: ${JSON.stringify(name)} is not a setting`
        : `${origin}: ${name} is not a setting: is ${near} meant?`,
    );
    return;
  }
  const isEmpty = text.trim() === "";
  const meaning = meaningOf(name);
  const ofInstance = parseInstanceName(meaning?.name ?? name);
  if (typeof ofInstance === "string") {
    report.problem(`${isOld ? `${origin}, ${name}` : origin}: ${ofInstance}`);
    return;
  }
  if (meaning !== undefined) {
    const { isAlias, toText } = meaning;
    const shown = isOld || isAlias ? `${origin}, ${name}` : origin;
    if (!isEmpty) group[isAlias ? "aliases" : "plain"].push({ name: meaning.name, text: toText(text), origin: shown });
    return;
  }
  const mapping = mappingOf(suffix);
  if (mapping === undefined) {
    const near = nearSetting(name);
    if (near === undefined) report.unknown(`${name} (${origin})`);
    else if (isOld) report.unknown(`${name} (${origin}; is ${near} meant?)`);
    else report.problem(`${origin}: ${name} is not a setting: is ${near} meant?`);
  } else if (!isEmpty && mapping.kind !== "same") report.withoutEffect(given, suffix, mapping);
}

/** Returns the programs of NetObserv to which settings belong. */
export function programsOf(given: readonly GivenSetting[]): Input["program"][] {
  const said = given.filter(({ text }) => text.trim() !== "");
  const old = said.filter(({ name }) => name.startsWith(prefixes.old));
  const found = inputs.filter(({ known }) => old.some(({ name }) => known.test(suffixOf(name))));
  if (found.length > 0) return found.map(({ program }) => program);
  // All programs need an accepted licence. Settings without any input's own are those of the program for flows.
  const isOfAnInput = said.some(({ name }) => inputs.some(({ known }) => known.test(suffixOf(name))));
  return !isOfAnInput && old.some(({ name }) => suffixOf(name) === "LICENSE_ACCEPTED") ? ["flow"] : [];
}

/**
 * Returns the settings of inputs that are on by default in NetObserv's programs, at their usual ports and directories if these
 * are not given. An input that is switched on or off explicitly is left out.
 */
export function inputsTurnedOn(given: readonly GivenSetting[]): GivenSetting[] {
  const said = given.filter(({ text }) => text.trim() !== "");
  const programs = programsOf(said);
  return inputs.flatMap(({ program, where, enable, theirs }) => {
    const isSaid = (setting: SettingName): boolean => said.some(({ name }) => suffixOf(name) === suffixOf(setting));
    const placed = said.find(({ name }) => name === prefixes.old + suffixOf(where));
    if (isSaid(enable)) return [];
    if (placed !== undefined) return [{ name: enable, text: "true", origin: `${placed.origin}, ${placed.name}` }];
    if (!programs.includes(program) || isSaid(where)) return [];
    const on = { name: enable, text: "true", origin: theirDefault };
    return theirs === undefined ? [on] : [on, { name: where, text: theirs, origin: theirDefault }];
  });
}

function suffixOf(name: string): string {
  return name.slice(name.indexOf("_") + 1);
}

/** Reports whether the value of a switch means off, or is empty. */
export function isOff(text: string): boolean {
  return /^(?:false|no|0)?$/i.test(text.trim());
}

/** Creates a report about names, with one line for each reason. */
function createReport() {
  const unknown: string[] = [];
  const problems: string[] = [];
  const left: string[] = [];
  const given = new Map<string, { readonly name: string; readonly text: string }>();
  const accepted = new Map<string, Set<string>>();
  const missing: { readonly name: string; readonly advice: string; readonly switch: string }[] = [];
  const isOn = (suffix: string): boolean => !isOff(given.get(suffix)?.text ?? "");
  return {
    unknown: (name: string) => void unknown.push(name),
    problem: (problem: string) => void problems.push(problem),
    warning: (warning: string) => void left.push(warning),
    withoutEffect({ name, text }: GivenSetting, suffix: string, mapping: Exclude<NameMapping, { kind: "same" }>): void {
      given.set(suffix, { name, text });
      if (mapping.kind === "missing") missing.push({ name, advice: mapping.advice, switch: mapping.needs ?? suffix });
      else accepted.set(mapping.why, (accepted.get(mapping.why) ?? new Set()).add(name));
    },
    result(fromOld: number): Omit<NamedSettings, "groups"> {
      const notes = [...accepted].map(([why, names]) => `${[...names].join(", ")} without effect: ${why}`);
      if (fromOld > 0) notes.unshift(`${fromOld} ${fromOld === 1 ? "setting" : "settings"} by the prefix EF_`);
      // Do not warn of missing settings for something that is off.
      const missed = missing.filter((one) => isOn(one.switch));
      const byAdvice = new Map<string, Set<string>>();
      for (const { name, advice } of missed) byAdvice.set(advice, (byAdvice.get(advice) ?? new Set()).add(name));
      const warnings = [...byAdvice].map(
        ([advice, names]) => `${[...names].join(", ")} not supported, without effect: ${advice}`,
      );
      return { unknown, problems, warnings: [...left, ...warnings], notes };
    },
  };
}
