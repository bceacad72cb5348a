import { instanceSetting, parseInstanceName, type OutputInstance } from "../output-instances.ts";
import { settingOf, type SettingName } from "../settings-table.ts";

/** A default of NetObserv that is another one here. What its files do not say, they rely on. */
export interface TheirDefault {
  readonly setting: SettingName;
  readonly text: string;
  /** What has to be on for it to matter: a program of NetObserv's, or a switch. */
  readonly of: "flow" | "snmp" | "trap" | SettingName;
  readonly why: string;
}

const dashboards = "so that its dashboards find the records";
const asThere = "it is so there";

const row = (of: TheirDefault["of"], setting: SettingName, text: string, why = asThere): TheirDefault => ({
  setting,
  text,
  of,
  why,
});

export const theirDefaults: readonly TheirDefault[] = [
  row("flow", "SVC_PROCESSOR_ENRICH_PORT_NAME_ENABLE", "true", "names of ports are always on there"),
  row("flow", "SVC_PROCESSOR_ENRICH_DSCP_NAME_ENABLE", "true", "names of code points are always on there"),
  row("flow", "SVC_PROCESSOR_ENRICH_LOCALITY_ENABLE", "true", "the locality is always on there"),
  row("flow", "SVC_PROCESSOR_ENRICH_LOCALITY_INTERNAL", "private", "its dashboards know private and public"),
  row("flow", "SVC_PROCESSOR_ENRICH_ASN_PRIVATE_ENABLE", "true", "its dashboards tell private addresses by PRIVATE"),
  row("flow", "SVC_PROCESSOR_TIMESTAMP_PRECISION", "ms"),
  row("snmp", "SVC_INPUT_SNMP_NAMING", "netobserv", "its dashboards filter by these names"),
  row("trap", "SVC_INPUT_SNMP_NAMING", "netobserv", "its dashboards know these severities"),
  row("snmp", "SVC_INPUT_SNMP_DEVICE_GROUP_DEFINITIONS_DIRECTORY_PATH", "/etc/elastiflow/snmp/device_groups"),
  row("snmp", "SVC_INPUT_SNMP_OBJECT_GROUP_DEFINITIONS_DIRECTORY_PATH", "/etc/elastiflow/snmp/object_groups"),
  row("snmp", "SVC_INPUT_SNMP_OBJECT_DEFINITIONS_DIRECTORY_PATH", "/etc/elastiflow/snmp/objects"),
  row("snmp", "SVC_PROCESSOR_SNMP_ENUM_DEFINITIONS_DIRECTORY_PATH", "/etc/elastiflow/snmp/enums"),
  row(
    "SVC_PROCESSOR_ENRICH_APP_IPPORT_ENABLE",
    "SVC_PROCESSOR_ENRICH_APP_IPPORT_PATH",
    "/etc/elastiflow/app/ipport.yml",
  ),
  row("SVC_PROCESSOR_ENRICH_APP_ID_ENABLE", "SVC_PROCESSOR_ENRICH_APP_ID_PATH", "/etc/elastiflow/app/appid.yml"),
  row(
    "SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE",
    "SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH",
    "/etc/elastiflow/maxmind/GeoLite2-ASN.mmdb",
  ),
  row(
    "SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE",
    "SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH",
    "/etc/elastiflow/maxmind/GeoLite2-City.mmdb",
  ),
  row(
    "SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_ENABLE",
    "SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_PATH",
    "/etc/elastiflow/settings/sample_rate.yml",
  ),
  row("SVC_LOGGER_FILE_LOG_ENABLE", "SVC_LOGGER_FILE_LOG_FILENAME", "/var/log/elastiflow/flowcoll/flowcoll.log"),
  row("SVC_OUTPUT_STDOUT_ENABLE", "SVC_OUTPUT_STDOUT_FORMAT", "json_pretty"),
  row("SVC_OUTPUT_ELASTICSEARCH_ENABLE", "SVC_OUTPUT_ELASTICSEARCH_INDEX_NAMING", "netobserv", dashboards),
  row("SVC_OUTPUT_ELASTICSEARCH_ENABLE", "SVC_OUTPUT_ELASTICSEARCH_INDEX_PREFIX", "elastiflow", dashboards),
  row("SVC_OUTPUT_ELASTICSEARCH_ENABLE", "SVC_OUTPUT_ELASTICSEARCH_INDEX_TEMPLATE_ILM_LIFECYCLE", "elastiflow"),
  row("SVC_OUTPUT_OPENSEARCH_ENABLE", "SVC_OUTPUT_OPENSEARCH_INDEX_NAMING", "netobserv", dashboards),
  row("SVC_OUTPUT_OPENSEARCH_ENABLE", "SVC_OUTPUT_OPENSEARCH_INDEX_PREFIX", "elastiflow", dashboards),
  row("SVC_OUTPUT_OPENSEARCH_ENABLE", "SVC_OUTPUT_OPENSEARCH_INDEX_PERIOD", "daily"),
  row("SVC_OUTPUT_OPENSEARCH_ENABLE", "SVC_OUTPUT_OPENSEARCH_INDEX_TEMPLATE_ISM_POLICY", "elastiflow"),
  row("SVC_OUTPUT_KAFKA_ENABLE", "SVC_OUTPUT_KAFKA_TOPIC", "elastiflow-flow-codex", "its consumers read this topic"),
  row("SVC_OUTPUT_KAFKA_ENABLE", "SVC_OUTPUT_KAFKA_CLIENT_ID", "elastiflow-flowcoll"),
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
