import type { GeoValue } from "../../enrich/index.ts";
import { logFormats, logLevels } from "../../report/index.ts";
import { Secret } from "../../text/index.ts";
import {
  bool,
  hostName,
  int,
  languageCode,
  list,
  listenAddress,
  nameServer,
  oneOf,
  orEmpty,
  orWord,
  path,
  samplingRates,
  secret,
  size,
  userName,
} from "./setting-type.ts";
import { deliverySettings } from "./delivery-settings.ts";
import { GiB, MiB, row, type Setting } from "./setting-row.ts";

export { settingGroups } from "./setting-row.ts";

/** All of enrich's; its room is too large to be loaded for their names. */
const geoValues = Object.keys({
  city: true,
  continent: true,
  continent_code: true,
  country: true,
  country_code: true,
  location: true,
  timezone: true,
} satisfies Record<GeoValue, true>) as GeoValue[];

/**
 * Every setting there is, in the order in which they are documented. Names follow ElastiFlow NetObserv's, with `SVC_`
 * for `EF_`. A setting stands here only if something honours it.
 */
export const settingsTable = {
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: row(
    "Metadata",
    bool,
    false,
    "Enriches records with user-defined metadata.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: row(
    "Metadata",
    bool,
    false,
    "Lets the API read and change the metadata. The collector then owns the file and rewrites it after each change.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: row(
    "Metadata",
    path,
    "",
    "The YAML file of the metadata, conventionally named ipaddrs.yml. A missing file is an empty database.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_REFRESH_RATE: row(
    "Metadata",
    int(0, 35_791, "minutes"),
    15,
    "With the metadata API off: how often the file is looked at and, when it changed, read again. 0 is never.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_MAX_ENTRIES: row(
    "Metadata",
    int(1, 8_000_000, "entries"),
    2_000_000,
    "How many entries there may be. Address space of a kilobyte for each (4 GB at most) is reserved, memory is taken as entries need it.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_TTL: row(
    "Metadata",
    int(1, 31_536_000, "seconds"),
    7200,
    "How long what is known about an address stays in the cache; host names, too.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_CACHE_SIZE: row(
    "Metadata",
    int(1, 4_194_304, "addresses"),
    262_144,
    "How many addresses the cache holds; beyond that the oldest go.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_INVALIDATE: row(
    "Metadata",
    bool,
    true,
    "A change of the metadata shows in the next datagram. With false it may take as long as the cache keeps addresses.",
  ),

  SVC_API_IP: row("API", listenAddress, "127.0.0.1", "The address on which the port listens."),
  SVC_API_PORT: row("API", int(0, 65_535), 8080, "The port of the API, health and metrics. 0 lets the system choose."),
  SVC_API_BASIC_AUTH_ENABLE: row(
    "API",
    bool,
    false,
    "Asks for a user name and password on all paths but /livez, /readyz, /metrics and gRPC's health check.",
  ),
  SVC_API_BASIC_AUTH_USERNAME: row("API", userName, "", "The user name."),
  SVC_API_BASIC_AUTH_PASSWORD: row("API", secret, new Secret(""), "The password."),
  SVC_API_BASIC_AUTH_METRICS_ENABLE: row("API", bool, false, "Asks for the password on /metrics, too."),
  SVC_API_TLS_ENABLE: row("API", bool, false, "Serves the port by TLS instead of in clear."),
  SVC_API_TLS_CERT_FILEPATH: row(
    "API",
    path,
    "",
    "The certificate chain in PEM. It is read again, as is the key, on SIGHUP.",
  ),
  SVC_API_TLS_KEY_FILEPATH: row("API", path, "", "The private key in PEM."),
  SVC_API_ALLOWED_HOSTS: row(
    "API",
    list(hostName),
    [],
    "On a loopback address only requests to localhost or an address are answered, and to these: what a proxy passes on.",
  ),
  SVC_API_MAX_BODY_SIZE: row("API", size(1024, GiB), 64 * MiB, "A longer request is refused with resource_exhausted."),
  SVC_API_MAX_BATCH_SIZE: row(
    "API",
    int(1, 10_000_000, "entries"),
    100_000,
    "Most entries of one BatchCreateUdms or BatchUpdateUdms; more are refused with resource_exhausted.",
  ),
  SVC_API_UNKNOWN_FIELDS: row(
    "API",
    oneOf(["reject", "ignore"]),
    "reject",
    "What happens to a JSON request with a field that does not exist: a mistyped update_mask would clear an entry.",
  ),

  SVC_FLOW_SERVER_UDP_ENABLE: row("Flows", bool, false, "Receives flow records by UDP."),
  SVC_FLOW_SERVER_UDP_IP: row(
    "Flows",
    orEmpty(listenAddress),
    "",
    "The address on which flows are received. Empty is all: `::` for both families, `0.0.0.0` on a host without IPv6.",
  ),
  SVC_FLOW_SERVER_UDP_PORT: row(
    "Flows",
    list(int(0, 65_535)),
    [2055, 4739, 6343, 9995],
    "The ports on which flows are received. Each takes every protocol. 0 lets the system choose.",
  ),
  SVC_FLOW_SERVER_UDP_READ_BUFFER_MAX_SIZE: row(
    "Flows",
    size(4096, GiB),
    32 * MiB,
    "The receive buffer asked for on each port. The kernel may grant less; the log then says how to raise its limit.",
  ),
  SVC_PROCESSOR_POOL_SIZE: row(
    "Flows",
    orWord("auto", int(0, 64, "threads")),
    "auto",
    "Threads that decode flows; each has the exporters that fall to it. `auto` is as many as the host has cores, 8 at most. With 0 one thread does all.",
  ),
  SVC_FLOW_DECODER_OPTIONS_RECORDS_ENABLE: row(
    "Flows",
    bool,
    false,
    "Writes what exporters report in options data (interface names, sampling) as records, too.",
  ),
  SVC_FLOW_DECODER_ELEMENTS_PATH: row(
    "Flows",
    list(path),
    [],
    "YAML files of further information elements: see docs/records.md.",
  ),
  SVC_FLOW_DECODER_BIFLOW_SPLIT_ENABLE: row(
    "Flows",
    bool,
    false,
    "Makes two records of one that has both directions of a flow, the second in reverse.",
  ),
  SVC_FLOW_DECODER_TEMPLATE_TTL: row(
    "Flows",
    int(0, 525_600, "minutes"),
    0,
    "Forgets templates that were not sent again within this time. Set three times the interval in which exporters resend them, or more. 0 is never.",
  ),
  SVC_FLOW_DECODER_MEMORY_MAX_SIZE: row(
    "Flows",
    size(MiB, 64 * GiB),
    256 * MiB,
    "Memory for what exporters say once: templates, options, data sets that wait for their template. When it is full, those who hold most lose what is oldest; who is silent for an hour keeps a 256th of it.",
  ),
  SVC_STATE_DIRECTORY_PATH: row(
    "Flows",
    path,
    "",
    "The directory in which templates, sampling rates and names from exporters outlive a restart, and through which a metadata file that is mounted on its own can be saved. Each collector needs one of its own: a second one that is given it does not start. Empty: none do.",
  ),
  SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF: row(
    "Flows",
    samplingRates,
    new Map(),
    "Sampling rates by exporter address or CIDR, for exporters that report none or a wrong one. They win over reported rates; an address wins over a CIDR, a small one over a big one.",
  ),

  SVC_INPUT_SNMP_ENABLE: row("SNMP", bool, false, "Polls devices by SNMP."),
  SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: row(
    "SNMP",
    list(path),
    [],
    "Directories of the devices that are polled. Empty is definitions/devices of the program, where there are none.",
  ),
  SVC_INPUT_SNMP_DEVICE_GROUP_DEFINITIONS_DIRECTORY_PATH: row(
    "SNMP",
    list(path),
    [],
    "Directories of device groups. Empty is definitions/device_groups of the program; name it, too, to add to it.",
  ),
  SVC_INPUT_SNMP_OBJECT_GROUP_DEFINITIONS_DIRECTORY_PATH: row(
    "SNMP",
    list(path),
    [],
    "Directories of object groups. Empty is definitions/object_groups of the program.",
  ),
  SVC_INPUT_SNMP_OBJECT_DEFINITIONS_DIRECTORY_PATH: row(
    "SNMP",
    list(path),
    [],
    "Directories of objects. Empty is definitions/objects of the program.",
  ),
  SVC_INPUT_SNMP_DEFAULTS_DIRECTORY_PATH: row(
    "SNMP",
    list(path),
    [],
    "Directories of defaults, a later one before an earlier. Empty is definitions/defaults of the program.",
  ),
  SVC_INPUT_SNMP_AUTODISCOVER_DIRECTORY_PATH: row(
    "SNMP",
    list(path),
    [],
    "Directories of what a sysObjectID leads to. Empty is definitions/autodiscover of the program.",
  ),
  SVC_PROCESSOR_SNMP_ENUM_DEFINITIONS_DIRECTORY_PATH: row(
    "SNMP",
    list(path),
    [],
    "Directories of enumerations. Empty is definitions/enums of the program.",
  ),
  SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH: row(
    "SNMP",
    path,
    "",
    "The directory in which the plans of discovered devices outlive a restart. Empty: each start discovers again.",
  ),

  SVC_PROCESSOR_ENRICH_COMMUNITYID_ENABLE: row(
    "Records",
    bool,
    true,
    "Adds flow.community.id, the hash of addresses, ports and protocol that other tools know a flow by.",
  ),

  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Adds the autonomous system of public addresses, where the exporter does not report it, and its organisation.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH: row(
    "Enrichment",
    path,
    "",
    "The MaxMind database of autonomous systems, GeoLite2-ASN.mmdb for instance. It is read again when it changes.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Adds where public addresses are: country, city, coordinates, time zone.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH: row(
    "Enrichment",
    path,
    "",
    "The MaxMind database of places, GeoLite2-City.mmdb for instance. It is read again when it changes.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_VALUES: row(
    "Enrichment",
    list(oneOf(geoValues)),
    ["city", "country", "country_code", "location", "timezone"],
    "Which facts of a place are added.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_LANG: row(
    "Enrichment",
    languageCode,
    "en",
    "The language of the names of places. A name that the database does not have in it is English.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Adds the host names of addresses by reverse DNS. No record waits for one: the first of an address goes without.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_NAMESERVER_IP: row(
    "Enrichment",
    list(nameServer),
    [],
    "The name servers that are asked. Empty: those of the host.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_NAMESERVER_TIMEOUT: row(
    "Enrichment",
    int(10, 60_000, "milliseconds"),
    3000,
    "How long an answer is waited for. A server is asked twice.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_RESOLVE_PRIVATE: row(
    "Enrichment",
    bool,
    true,
    "Asks for private addresses (RFC 1918, 4193, 6598).",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_RESOLVE_PUBLIC: row("Enrichment", bool, true, "Asks for public addresses."),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_CONCURRENCY: row(
    "Enrichment",
    int(1, 4096, "queries"),
    64,
    "How many queries are under way at most.",
  ),
  SVC_PROCESSOR_ENRICH_LOCALITY_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Adds whether the ends of a flow, and the flow, are internal (by metadata), private or public.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_METADATA_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Adds what a file says of the interfaces of exporters. It counts before what SNMP and the exporter say.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH: row(
    "Enrichment",
    path,
    "",
    "The YAML file of interfaces, conventionally named netifs.yml.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_METADATA_REFRESH_RATE: row(
    "Enrichment",
    int(0, 35_791, "minutes"),
    15,
    "How often the files of interfaces and of port names are looked at and, when changed, read again. 0 is on SIGHUP only.",
  ),
  SVC_PROCESSOR_ENRICH_PORT_NAME_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Adds the names of ports, such as https, by transport protocol.",
  ),
  SVC_PROCESSOR_ENRICH_PORT_NAME_USERDEF_PATH: row(
    "Enrichment",
    path,
    "",
    "A YAML file of names of ports of your own: `{tcp: {8443: portal}}`. They count before the known ones.",
  ),
  SVC_PROCESSOR_ENRICH_DSCP_NAME_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Adds the name of the DiffServ code point, such as EF or AF41.",
  ),

  SVC_OUTPUT_STDOUT_ENABLE: row(
    "Outputs",
    bool,
    false,
    "Writes records to the standard output, one JSON object a line.",
  ),
  SVC_OUTPUT_STDOUT_RATE: row(
    "Outputs",
    int(0, 1_000_000, "records a second"),
    0,
    "Writes at most so many records to the standard output and leaves the others out. 0 is no limit.",
  ),
  SVC_OUTPUT_STDOUT_QUEUE_SIZE: row(
    "Outputs",
    size(64 * 1024, GiB),
    64 * MiB,
    "How much waits for a slow reader of the standard output before records are dropped and counted.",
  ),
  SVC_OUTPUT_FILE_ENABLE: row("Outputs", bool, false, "Writes records to a file, one JSON object a line."),
  SVC_OUTPUT_FILE_PATH: row("Outputs", path, "", "That file. It is appended to, and opened again on SIGUSR2."),
  SVC_OUTPUT_FILE_MAX_SIZE: row(
    "Outputs",
    size(0, 1024 * GiB),
    0,
    "A file that has reached this size is renamed and a fresh one begun. 0 is never: leave it to logrotate and SIGUSR2.",
  ),
  SVC_OUTPUT_FILE_MAX_BACKUPS: row("Outputs", int(1, 1000, "files"), 10, "How many renamed files are kept."),
  SVC_OUTPUT_FILE_QUEUE_SIZE: row(
    "Outputs",
    size(64 * 1024, GiB),
    64 * MiB,
    "How much waits for a slow disk before records are dropped and counted.",
  ),
  ...deliverySettings,

  SVC_LOG_LEVEL: row("Log", oneOf(logLevels), "info", "The least important messages that are logged."),
  SVC_LOG_FORMAT: row(
    "Log",
    oneOf(logFormats),
    "text",
    "Lines for people, or JSON. The log goes to the standard error.",
  ),

  SVC_QUICKSTART_ENABLE: row(
    "First steps",
    bool,
    false,
    "Makes the directories of the files above, puts a sample where the metadata file is missing, says what to try next.",
  ),
} as const;

export type SettingName = keyof typeof settingsTable;

type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** The value of every setting, checked. */
export type Settings = { readonly [Name in SettingName]: ValueOf<(typeof settingsTable)[Name]> };

export const settingNames = Object.keys(settingsTable) as readonly SettingName[];

/** The row of a setting, for code that treats all alike. */
export function settingOf(name: SettingName): Setting<unknown> {
  return settingsTable[name];
}
