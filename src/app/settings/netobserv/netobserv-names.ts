import { instanceSetting, parseInstanceName, type OutputInstance } from "../output-settings.ts";
import { settingNames, settingOf, type SettingName } from "../settings-table.ts";
import { netObservNames } from "./netobserv-names.gen.ts";

/** A public name of a setting of ElastiFlow NetObserv; definitions/netobserv.tsv lists them, and explains each column. */
export interface KnownName {
  /** The value in public examples, often the default; empty where none was seen. */
  readonly example: string;
  /** The setting with another name that it means, and values with other names. */
  readonly as?: { readonly setting: string; readonly values: Readonly<Record<string, string>> } | undefined;
  readonly accepted?: string;
  readonly missing?: string;
  readonly needs?: string;
  readonly differs?: string;
}

/** The mapping of a name of NetObserv. */
export type NameMapping =
  | {
      readonly kind: "same";
      readonly setting: SettingName;
      /** True if the setting has another suffix here. */
      readonly isAlias: boolean;
      /** Converts a given text to the setting's text. */
      readonly toText: (text: string) => string;
    }
  | { readonly kind: "accepted"; readonly why: string }
  | { readonly kind: "missing"; readonly advice: string; readonly needs?: string };

/** Matches names about the licence, which differ by program and version. */
const isOfLicence = /^(?:(?:FLOW|SNMP|TRAP)_)?(?:ACCOUNT_ID|LICENSED?_\w+)$/;

const noLicence = netObservNames["LICENSE_KEY"]?.accepted ?? "";
const noEffect = "netgloss has no such setting";

/**
 * Maps a name, without prefix: to a setting of ours by the same suffix first, then by the table.
 *
 * @returns undefined for a name that is neither a setting nor in the table.
 */
export function mappingOf(suffix: string): NameMapping | undefined {
  const own = `SVC_${suffix}`;
  if (isSettingName(own)) return { kind: "same", setting: own, isAlias: false, toText: (text) => text };
  const name = Object.hasOwn(netObservNames, suffix) ? netObservNames[suffix] : undefined;
  if (name === undefined) return isOfLicence.test(suffix) ? { kind: "accepted", why: noLicence } : undefined;
  if (name.as !== undefined) {
    const { setting, values } = name.as;
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

/** Counts the names of the table by mapping. */
export function countMappings(): Readonly<Record<NameMapping["kind"], number>> {
  const counts = { same: 0, accepted: 0, missing: 0 };
  for (const suffix of Object.keys(netObservNames)) counts[mappingOf(suffix)?.kind ?? "missing"]++;
  return counts;
}

/** Returns the default of the setting for a name, as text; undefined for secrets. */
export function defaultOf(setting: SettingName): string | undefined {
  const { type, default: fallback } = settingOf(setting);
  return type.secret ? undefined : type.format(fallback);
}

/** A default of NetObserv that differs from ours. Users of its files rely on it without setting it. */
export interface TheirDefault {
  readonly setting: SettingName;
  readonly text: string;
  /** The program of NetObserv's, or the switch, that must be on for it to matter. */
  readonly of: "flow" | "snmp" | "trap" | SettingName;
  readonly why: string;
}

type Row = readonly [setting: SettingName, text: string, why: string];

const rows = (of: TheirDefault["of"], ...given: readonly Row[]): TheirDefault[] =>
  given.map(([setting, text, why]) => ({ of, setting, text, why }));

/** Returns a row for a setting whose NetObserv default is the example in the table of its names. */
const asThere = (setting: SettingName): Row => {
  const { example = "" } = netObservNames[setting.replace("SVC_", "")] ?? {};
  return [setting, example, "it is so there"];
};

const dashboards = "so that its dashboards find the records";

export const theirDefaults: readonly TheirDefault[] = [
  ...rows(
    "flow",
    ["SVC_PROCESSOR_ENRICH_PORT_NAME_ENABLE", "true", "names of ports are always on there"],
    ["SVC_PROCESSOR_ENRICH_DSCP_NAME_ENABLE", "true", "names of code points are always on there"],
    ["SVC_PROCESSOR_ENRICH_LOCALITY_ENABLE", "true", "the locality is always on there"],
    ["SVC_PROCESSOR_ENRICH_LOCALITY_INTERNAL", "private", "its dashboards know private and public"],
    ["SVC_PROCESSOR_ENRICH_ASN_PRIVATE_ENABLE", "true", "its dashboards tell private addresses by PRIVATE"],
    asThere("SVC_PROCESSOR_TIMESTAMP_PRECISION"),
  ),
  ...rows(
    "snmp",
    ["SVC_INPUT_SNMP_NAMING", "netobserv", "its dashboards filter by these names"],
    asThere("SVC_INPUT_SNMP_DEVICE_GROUP_DEFINITIONS_DIRECTORY_PATH"),
    asThere("SVC_INPUT_SNMP_OBJECT_GROUP_DEFINITIONS_DIRECTORY_PATH"),
    asThere("SVC_INPUT_SNMP_OBJECT_DEFINITIONS_DIRECTORY_PATH"),
    asThere("SVC_PROCESSOR_SNMP_ENUM_DEFINITIONS_DIRECTORY_PATH"),
  ),
  ...rows("trap", ["SVC_INPUT_SNMP_NAMING", "netobserv", "its dashboards know these severities"]),
  ...rows("SVC_PROCESSOR_ENRICH_APP_IPPORT_ENABLE", asThere("SVC_PROCESSOR_ENRICH_APP_IPPORT_PATH")),
  ...rows("SVC_PROCESSOR_ENRICH_APP_ID_ENABLE", asThere("SVC_PROCESSOR_ENRICH_APP_ID_PATH")),
  ...rows("SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE", asThere("SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH")),
  ...rows(
    "SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE",
    asThere("SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH"),
  ),
  ...rows("SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_ENABLE", asThere("SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_PATH")),
  ...rows("SVC_LOGGER_FILE_LOG_ENABLE", asThere("SVC_LOGGER_FILE_LOG_FILENAME")),
  ...rows("SVC_OUTPUT_STDOUT_ENABLE", asThere("SVC_OUTPUT_STDOUT_FORMAT")),
  ...rows(
    "SVC_OUTPUT_ELASTICSEARCH_ENABLE",
    ["SVC_OUTPUT_ELASTICSEARCH_INDEX_NAMING", "netobserv", dashboards],
    ["SVC_OUTPUT_ELASTICSEARCH_INDEX_PREFIX", "elastiflow", dashboards],
    asThere("SVC_OUTPUT_ELASTICSEARCH_INDEX_TEMPLATE_ILM_LIFECYCLE"),
  ),
  ...rows(
    "SVC_OUTPUT_OPENSEARCH_ENABLE",
    ["SVC_OUTPUT_OPENSEARCH_INDEX_NAMING", "netobserv", dashboards],
    ["SVC_OUTPUT_OPENSEARCH_INDEX_PREFIX", "elastiflow", dashboards],
    asThere("SVC_OUTPUT_OPENSEARCH_INDEX_PERIOD"),
    asThere("SVC_OUTPUT_OPENSEARCH_INDEX_TEMPLATE_ISM_POLICY"),
  ),
  ...rows("SVC_OUTPUT_KAFKA_ENABLE", asThere("SVC_OUTPUT_KAFKA_TOPIC"), asThere("SVC_OUTPUT_KAFKA_CLIENT_ID")),
];

/** A default of NetObserv for a setting that was not given. */
export interface MissingDefault {
  readonly name: string;
  readonly text: string;
  readonly why: string;
}

/**
 * Returns the defaults of NetObserv that matter for settings and that these do not give, also for each output with a name.
 *
 * @param said the texts of the settings, by their names here.
 * @param programs of NetObserv to which they belong.
 */
export function missingDefaults(said: ReadonlyMap<string, string>, programs: readonly string[]): MissingDefault[] {
  const found = new Map<string, MissingDefault>();
  const add = (name: string, { text, why }: TheirDefault): void => {
    if (!said.has(name) && !found.has(name)) found.set(name, { name, text, why });
  };
  const isOn = (name: string, setting: SettingName): boolean =>
    settingOf(setting).type.parse(said.get(name) ?? "") === true;
  for (const one of theirDefaults) {
    const { setting, of } = one;
    if (of === "flow" || of === "snmp" || of === "trap") {
      if (programs.includes(of)) add(setting, one);
      continue;
    }
    if (isOn(of, of)) add(setting, one);
    for (const instance of instancesOf(said.keys())) {
      const isOfKind = setting.startsWith(`SVC_OUTPUT_${instance.word}_`);
      if (isOfKind && isOn(instanceSetting(instance, of), of)) add(instanceSetting(instance, setting), one);
    }
  }
  return [...found.values()];
}

/** Returns the outputs with names to which settings belong; one may occur several times. */
function instancesOf(all: Iterable<string>): Pick<OutputInstance, "word" | "name">[] {
  return [...all].flatMap((name) => {
    const of = parseInstanceName(name);
    return typeof of === "object" ? [{ word: of.word, name: of.instance }] : [];
  });
}
