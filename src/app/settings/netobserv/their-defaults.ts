import { instanceSetting, parseInstanceName, type OutputInstance } from "../output-settings.ts";
import { settingOf, type SettingName } from "../settings-table.ts";
import { netObservNames } from "./netobserv-names.ts";

/** A default of NetObserv that is another one here. What its files do not say, they rely on. */
export interface TheirDefault {
  readonly setting: SettingName;
  readonly text: string;
  /** What has to be on for it to matter: a program of NetObserv's, or a switch. */
  readonly of: "flow" | "snmp" | "trap" | SettingName;
  readonly why: string;
}

type Row = readonly [setting: SettingName, text: string, why: string];

const rows = (of: TheirDefault["of"], ...given: readonly Row[]): TheirDefault[] =>
  given.map(([setting, text, why]) => ({ of, setting, text, why }));

/** A setting whose default is what the table of NetObserv's names shows. */
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
 * The defaults of NetObserv that matter for settings and that they do not say; those of outputs for each output that has a name, too.
 *
 * @param said the texts of the settings, by their names here.
 * @param programs of NetObserv whose settings they are.
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

/** The outputs with names that settings are of; one may be there several times. */
function instancesOf(names: Iterable<string>): Pick<OutputInstance, "word" | "name">[] {
  return [...names].flatMap((name) => {
    const of = parseInstanceName(name);
    return typeof of === "object" ? [{ word: of.word, name: of.instance }] : [];
  });
}
