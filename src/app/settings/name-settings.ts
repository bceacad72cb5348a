import { nearName } from "../../text/index.ts";
import { parseInstanceName } from "./output-instances.ts";
import { fateOf, isSettingName, netObservNames, type Fate } from "./netobserv/netobserv-names.ts";
import { settingNames, settingOf, type SettingName } from "./settings-table.ts";
import type { GivenSetting } from "./settings-source.ts";

/** The prefix of our names, and that of ElastiFlow NetObserv's. */
export const prefixes = { own: "SVC_", old: "EF_" } as const;

export interface NamedSettings {
  /** What was given, by our names: groups in which none is there twice, weakest first. */
  readonly groups: readonly (readonly GivenSetting[])[];
  /** Names that mean nothing, each with its origin. */
  readonly unknown: readonly string[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  /** What is worth a line in the log and asks for nothing. */
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

/** The known name, of the same prefix, that an unknown one nearly is. */
export function nearSetting(name: string): string | undefined {
  return nearName(name, name.startsWith(prefixes.old) ? knownOldNames : knownNames);
}

/**
 * Inputs that are on when a file of the old prefix says where they are to be found and nothing else: NetObserv has a program for each, which
 * needs no setting to be on.
 */
const inputs: readonly { readonly where: SettingName; readonly enable: SettingName }[] = [
  { where: "SVC_FLOW_SERVER_UDP_PORT", enable: "SVC_FLOW_SERVER_UDP_ENABLE" },
  { where: "SVC_INPUT_TRAP_LISTENER_PORT", enable: "SVC_INPUT_TRAP_ENABLE" },
  { where: "SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH", enable: "SVC_INPUT_SNMP_ENABLE" },
];

/**
 * Finds the setting that each name means. `SVC_` wins over `EF_` wherever each stands, a later layer over an earlier
 * one, a setting's own name over another name for it. Empty text is as if the name were not there.
 */
export function nameSettings(layers: readonly (readonly GivenSetting[])[]): NamedSettings {
  const byPrefix = { own: layers.map(() => newGroup()), old: layers.map(() => newGroup()) };
  const report = createReport();
  for (const [i, layer] of layers.entries()) {
    for (const given of layer) {
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
  /** Those given by another name than the setting's. */
  readonly aliases: GivenSetting[];
  readonly plain: GivenSetting[];
}

const newGroup = (): Group => ({ aliases: [], plain: [] });

function place(given: GivenSetting, group: Group, report: ReturnType<typeof createReport>): void {
  const { name, text, origin } = given;
  const isOld = name.startsWith(prefixes.old);
  if (!isOld && !name.startsWith(prefixes.own)) {
    const near = nearSetting(name);
    report.problem(
      near === undefined
        ? `${origin}: ${JSON.stringify(name)} is not a setting`
        : `${origin}: ${name} is not a setting: is ${near} meant?`,
    );
    return;
  }
  const suffix = name.slice((isOld ? prefixes.old : prefixes.own).length);
  const own = prefixes.own + suffix;
  const isEmpty = text.trim() === "";
  const ofInstance = parseInstanceName(name);
  if (ofInstance !== undefined) {
    if (typeof ofInstance === "string") report.problem(`${origin}: ${ofInstance}`);
    else if (!isEmpty) group.plain.push(given);
    return;
  }
  const shown = isOld ? `${origin}, ${name}` : origin;
  if (isSettingName(own) || secretOfFileName.has(own)) {
    if (!isEmpty) group.plain.push({ name: own, text, origin: shown });
    return;
  }
  const fate = fateOf(suffix);
  if (fate === undefined) {
    const near = nearSetting(name);
    if (near === undefined) report.unknown(`${name} (${origin})`);
    else if (isOld) report.unknown(`${name} (${origin}; is ${near} meant?)`);
    else report.problem(`${origin}: ${name} is not a setting: is ${near} meant?`);
  } else if (isEmpty) return;
  else if (fate.kind === "same") {
    group.aliases.push({ name: fate.setting, text: fate.toText(text), origin: `${origin}, ${name}` });
  } else report.withoutEffect(given, suffix, fate);
}

/** The settings of inputs whose port or devices came by the old prefix while nothing is said of whether they are on. */
export function inputsTurnedOn(given: readonly GivenSetting[]): GivenSetting[] {
  const said = given.filter(({ text }) => text.trim() !== "");
  return inputs.flatMap(({ where, enable }) => {
    const placed = said.find(({ name }) => name === prefixes.old + suffixOf(where));
    const isSaid = said.some(({ name }) => suffixOf(name) === suffixOf(enable));
    if (placed === undefined || isSaid) return [];
    return [{ name: enable, text: "true", origin: `${placed.origin}, ${placed.name}` }];
  });
}

function suffixOf(name: string): string {
  return name.slice(name.indexOf("_") + 1);
}

/** Whether the value of a switch means that it is off, or nothing was said. */
export function isOff(text: string): boolean {
  return /^(?:false|no|0)?$/i.test(text.trim());
}

/** Gathers what is to be said about names, so that there is one line for each reason. */
function createReport() {
  const unknown: string[] = [];
  const problems: string[] = [];
  const given = new Map<string, { readonly name: string; readonly text: string }>();
  const accepted = new Map<string, Set<string>>();
  const missing: { readonly name: string; readonly advice: string; readonly needs: string | undefined }[] = [];
  const isOn = (suffix: string): boolean => !isOff(given.get(suffix)?.text ?? "");
  return {
    unknown: (name: string) => void unknown.push(name),
    problem: (problem: string) => void problems.push(problem),
    withoutEffect({ name, text }: GivenSetting, suffix: string, fate: Exclude<Fate, { kind: "same" }>): void {
      given.set(suffix, { name, text });
      if (fate.kind === "missing") missing.push({ name, advice: fate.advice, needs: fate.needs });
      else accepted.set(fate.why, (accepted.get(fate.why) ?? new Set()).add(name));
    },
    result(fromOld: number): Omit<NamedSettings, "groups"> {
      const notes = [...accepted].map(([why, names]) => `${[...names].join(", ")} without effect: ${why}`);
      if (fromOld > 0) notes.unshift(`${fromOld} ${fromOld === 1 ? "setting" : "settings"} by the prefix EF_`);
      // What belongs to something that is off is not missed.
      const missed = missing.filter(({ name, needs }) => isOn(needs ?? name.replace(/^(?:SVC|EF)_/, "")));
      const byAdvice = new Map<string, Set<string>>();
      for (const { name, advice } of missed) byAdvice.set(advice, (byAdvice.get(advice) ?? new Set()).add(name));
      const warnings = [...byAdvice].map(
        ([advice, names]) => `${[...names].join(", ")} not supported, without effect: ${advice}`,
      );
      return { unknown, problems, warnings, notes };
    },
  };
}
