import type { GeoValue } from "../../enrich/index.ts";
import { logFormats, logLevels } from "../../base/report/index.ts";
import {
  addressOrCidr,
  addressOrPrefix,
  bool,
  filterText,
  GiB,
  hostName,
  int,
  list,
  listenAddress,
  MiB,
  nameServer,
  oneOf,
  orEmpty,
  orWord,
  partsOf,
  path,
  plainText,
  row,
  secret,
  size,
  userName,
  type Setting,
  type SettingType,
} from "../../base/settings/index.ts";
import { Secret } from "../../base/text/index.ts";
import { defaultApi } from "./settings-source.ts";
import { exploreSettings } from "./explore-settings.ts";
import { fleetSettings } from "./fleet-settings.ts";
import { metadataDatabaseSettings } from "./metadata-database-settings.ts";
import { netifSnmpSettings } from "./netif-snmp-settings.ts";
import { oidcSettings } from "./oidc-settings.ts";
import { outputSettings, plainInstance, type OutputInstance } from "./output-settings.ts";
import { snmpDiscoverySettings } from "./snmp-discovery-settings.ts";

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

/** A language of MaxMind's names. */
const languageCode: SettingType<string> = {
  expected: "a language code such as en or pt-BR",
  parse: (value) => (/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$/.test(value) ? value : undefined),
  format: (value) => value,
};

/** Sampling rates by address or CIDR in canonical text: `192.0.2.1=1000,2001:db8::/32=512`. */
const samplingRates: SettingType<ReadonlyMap<string, number>> = {
  expected:
    "a list separated by commas, nothing twice, each <IP address>=<rate> or <CIDR>=<rate>, the rate an integer from 1 to 4294967295",
  parse(value) {
    const rate = int(1, 0xffff_ffff);
    const pairs = partsOf(value).map((pair) => pair.split("="));
    const rates = new Map<string, number>();
    for (const [exporter = "", rateText = "", ...rest] of pairs) {
      const key = addressOrCidr(exporter);
      const each = rate.parse(rateText);
      if (key === undefined || each === undefined || rest.length > 0) return undefined;
      rates.set(key, each);
    }
    return rates.size === pairs.length ? rates : undefined;
  },
  format: (rates) => [...rates].map(([exporter, rate]) => `${exporter}=${rate}`).join(","),
};

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
    "/etc/netgloss/ipaddrs.yml",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_REFRESH_RATE: row(
    "Metadata",
    int(0, 35_791, "minutes"),
    15,
    "How often the metadata file is checked, and read again when it changed, while the metadata API is off. 0 is never.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_MAX_ENTRIES: row(
    "Metadata",
    int(1, 8_000_000, "entries"),
    2_000_000,
    "The most metadata entries. 1 KB of address space is reserved for each (4 GB at most); memory is used only by entries that exist.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_HISTORY_SIZE: row(
    "Metadata",
    size(0, 64 * GiB),
    64 * MiB,
    "The most bytes of the history of metadata changes, kept in SVC_STATE_DIRECTORY_PATH or in the database: the oldest go first. 0 keeps none.",
  ),
  ...metadataDatabaseSettings,
  SVC_PROCESSOR_ENRICH_IPADDR_SOURCES_PATH: row(
    "Metadata",
    path,
    "",
    "A YAML file that lists sources of metadata: an IPAM, published ranges, DHCP leases; see docs/sources.md. Needs the metadata to be on.",
    { example: "/etc/netgloss/sources.yml", needs: [{ must: { SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: true } }] },
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_TTL: row(
    "Metadata",
    int(1, 31_536_000, "seconds"),
    7200,
    "How long the metadata and host name of an address stay in the cache.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_CACHE_SIZE: row(
    "Metadata",
    int(1, 4_194_304, "addresses"),
    262_144,
    "The most addresses in the cache of each thread. When it is full, the oldest are dropped.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_METADATA_INVALIDATE: row(
    "Metadata",
    bool,
    true,
    "Applies a change of the metadata from the next datagram on. With false, cached addresses keep their old values until their TTL ends.",
  ),

  SVC_API_IP: row("API", listenAddress, defaultApi.ip, "The address on which the port listens."),
  SVC_API_PORT: row(
    "API",
    int(0, 65_535),
    defaultApi.port,
    "The port of the API, health and metrics. 0 lets the system choose.",
  ),
  SVC_API_BASIC_AUTH_ENABLE: row(
    "API",
    bool,
    false,
    "Requires a user name and password on all paths except /livez, /readyz, /metrics and gRPC's health check.",
    { needs: [{ must: { SVC_API_BASIC_AUTH_USERNAME: "set", SVC_API_BASIC_AUTH_PASSWORD: "set" } }] },
  ),
  SVC_API_BASIC_AUTH_USERNAME: row("API", userName, "", "The user name of basic authentication.", "operator"),
  SVC_API_BASIC_AUTH_PASSWORD: row("API", secret, new Secret(""), "The password of basic authentication."),
  SVC_API_BASIC_AUTH_METRICS_ENABLE: row("API", bool, false, "Requires the password on /metrics, too."),
  SVC_API_USERS_PATH: row(
    "API",
    path,
    "",
    "A file of further users and API tokens with roles. It is read again when it changes. Credentials are required then.",
    "/etc/netgloss/users.yml",
  ),
  ...oidcSettings,
  SVC_API_TLS_ENABLE: row("API", bool, false, "Serves the port by TLS instead of plain TCP.", {
    needs: [{ must: { SVC_API_TLS_CERT_FILEPATH: "set", SVC_API_TLS_KEY_FILEPATH: "set" } }],
  }),
  SVC_API_TLS_CERT_FILEPATH: row(
    "API",
    path,
    "",
    "The certificate chain in PEM. SIGHUP reads it and the key again.",
    "/etc/netgloss/tls/cert.pem",
  ),
  SVC_API_TLS_KEY_FILEPATH: row("API", path, "", "The private key in PEM.", "/etc/netgloss/tls/key.pem"),
  SVC_API_TLS_CLIENT_CA_CERT_FILEPATH: row(
    "API",
    path,
    "",
    "Certificates in PEM that sign those of clients. A client with one is the user of SVC_API_USERS_PATH who has its subject.",
    { example: "/etc/netgloss/tls/clients.pem", belongsTo: ["SVC_API_TLS_ENABLE", "SVC_API_USERS_PATH"] },
  ),
  SVC_API_ALLOWED_HOSTS: row(
    "API",
    list(hostName),
    [],
    "Further host names that the API answers to on a loopback address, such as one that a proxy passes on. localhost and addresses are always allowed.",
    "netgloss.example.com",
  ),
  SVC_API_TRUSTED_PROXIES: row(
    "API",
    list(addressOrPrefix),
    [],
    "Addresses and CIDRs of proxies in front of the port. The client is whom their X-Forwarded-For names: for the log, the history and the limit of failed sign-ins.",
    "127.0.0.1,10.0.0.0/24",
  ),
  SVC_API_MAX_BODY_SIZE: row(
    "API",
    size(1024, GiB),
    64 * MiB,
    "The longest request body. Longer ones are refused with resource_exhausted.",
  ),
  SVC_API_MAX_BATCH_SIZE: row(
    "API",
    int(1, 10_000_000, "entries"),
    100_000,
    "The most entries of one BatchCreateUdms or BatchUpdateUdms. More are refused with resource_exhausted.",
  ),
  SVC_API_UNKNOWN_FIELDS: row(
    "API",
    oneOf(["reject", "ignore"]),
    "reject",
    "What to do with a JSON request that has an unknown field. With ignore, a mistyped update_mask clears an entry.",
  ),

  SVC_FLOW_SERVER_UDP_ENABLE: row("Flows", bool, false, "Receives flow records by UDP."),
  SVC_FLOW_SERVER_UDP_IP: row(
    "Flows",
    orEmpty(listenAddress),
    "",
    "The address on which flows are received. Empty is all addresses: `::` for IPv4 and IPv6, `0.0.0.0` on a host without IPv6.",
    "192.0.2.10",
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
    "The receive buffer that is requested for each port. When the kernel grants less, the log says how to raise its limit.",
  ),
  SVC_FLOW_SERVER_TCP_ENABLE: row("Flows", bool, false, "Receives IPFIX by TCP."),
  SVC_FLOW_SERVER_TCP_IP: row(
    "Flows",
    orEmpty(listenAddress),
    "",
    "The address on which IPFIX is received by TCP. Empty is all addresses.",
    "192.0.2.10",
  ),
  SVC_FLOW_SERVER_TCP_PORT: row(
    "Flows",
    int(0, 65_535),
    4739,
    "The port on which IPFIX is received by TCP. 0 lets the system choose.",
  ),
  SVC_FLOW_SERVER_TCP_MAX_CONNECTIONS: row(
    "Flows",
    int(1, 60_000, "connections"),
    1000,
    "The most connections of exporters, of TCP and TLS together. Further ones are refused and counted.",
  ),
  SVC_FLOW_SERVER_TCP_MAX_CONNECTIONS_PER_HOST: row(
    "Flows",
    int(1, 60_000, "connections"),
    100,
    "The most connections of one host, of TCP and TLS together. Further ones are refused and counted.",
  ),
  SVC_FLOW_SERVER_TCP_IDLE_TIMEOUT: row(
    "Flows",
    int(1, 1_000_000, "seconds"),
    3600,
    "A connection of TCP or TLS on which nothing comes for this time is closed.",
  ),
  SVC_FLOW_SERVER_TLS_ENABLE: row("Flows", bool, false, "Receives IPFIX by TLS, on a port of its own.", {
    needs: [{ must: { SVC_FLOW_SERVER_TLS_CERT_FILEPATH: "set", SVC_FLOW_SERVER_TLS_KEY_FILEPATH: "set" } }],
  }),
  SVC_FLOW_SERVER_TLS_IP: row(
    "Flows",
    orEmpty(listenAddress),
    "",
    "The address on which IPFIX is received by TLS. Empty is all addresses.",
    "192.0.2.10",
  ),
  SVC_FLOW_SERVER_TLS_PORT: row(
    "Flows",
    int(0, 65_535),
    4740,
    "The port on which IPFIX is received by TLS. 0 lets the system choose.",
  ),
  SVC_FLOW_SERVER_TLS_CERT_FILEPATH: row(
    "Flows",
    path,
    "",
    "The certificate chain for flows in PEM. SIGHUP reads it, the key and the authorities again.",
    "/etc/netgloss/tls/cert.pem",
  ),
  SVC_FLOW_SERVER_TLS_KEY_FILEPATH: row("Flows", path, "", "The private key in PEM.", "/etc/netgloss/tls/key.pem"),
  SVC_FLOW_SERVER_TLS_CA_CERT_FILEPATH: row(
    "Flows",
    path,
    "",
    "Authorities in PEM: exporters need a certificate of one of them. Empty: exporters need none.",
    "/etc/netgloss/tls/exporters.pem",
  ),
  SVC_PROCESSOR_POOL_SIZE: row(
    "Flows",
    orWord("auto", orWord("main", int(0, 64, "threads"))),
    "auto",
    "Threads that decode flows. Each exporter belongs to one of them. `auto` and 0 are one for each core of the host, 8 at most. With `main` the main thread decodes.",
  ),
  SVC_PROCESSOR_DECODE_IPFIX_ENABLE: row(
    "Flows",
    bool,
    true,
    "Decodes IPFIX. With false its datagrams are counted and dropped.",
  ),
  SVC_PROCESSOR_DECODE_NETFLOW1_ENABLE: row(
    "Flows",
    bool,
    true,
    "Decodes NetFlow v1. With false its datagrams are counted and dropped.",
  ),
  SVC_PROCESSOR_DECODE_NETFLOW5_ENABLE: row(
    "Flows",
    bool,
    true,
    "Decodes NetFlow v5. With false its datagrams are counted and dropped.",
  ),
  SVC_PROCESSOR_DECODE_NETFLOW7_ENABLE: row(
    "Flows",
    bool,
    true,
    "Decodes NetFlow v7. With false its datagrams are counted and dropped.",
  ),
  SVC_PROCESSOR_DECODE_NETFLOW9_ENABLE: row(
    "Flows",
    bool,
    true,
    "Decodes NetFlow v9. With false its datagrams are counted and dropped.",
  ),
  SVC_PROCESSOR_DECODE_SFLOW5_ENABLE: row(
    "Flows",
    bool,
    true,
    "Decodes sFlow v5. With false its datagrams are counted and dropped.",
  ),
  SVC_PROCESSOR_DECODE_SFLOW_FLOWS_ENABLE: row("Flows", bool, true, "Makes records of the packet samples of sFlow."),
  SVC_PROCESSOR_DECODE_SFLOW_FLOWS_KEEP_SAMPLES: row(
    "Flows",
    bool,
    false,
    "Keeps the bytes of each sampled header, in hex (flow.ie.dataLinkFrameSection). Records become longer, and decoding of sFlow takes more time.",
  ),
  SVC_PROCESSOR_DECODE_SFLOW_COUNTERS_ENABLE: row("Flows", bool, true, "Makes records of the counters of sFlow."),
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
    "YAML files of further information elements, see docs/reference/records.md.",
    "/etc/netgloss/elements.yml",
  ),
  SVC_FLOW_DECODER_BIFLOW_SPLIT_ENABLE: row(
    "Flows",
    bool,
    false,
    "Splits a record with both directions of a flow into two records.",
  ),
  SVC_FLOW_DECODER_RELAYS: row(
    "Flows",
    list(addressOrPrefix),
    [],
    "Addresses and CIDRs of relays: their NetFlow v9 and IPFIX records may name the exporter (exporterIPv4Address, exporterIPv6Address), their sFlow datagrams the agent. Anybody else's are taken as the sender's own.",
    "192.0.2.9,198.51.100.0/28",
  ),
  SVC_FLOW_DECODER_TEMPLATE_TTL: row(
    "Flows",
    int(0, 525_600, "minutes"),
    0,
    "Forgets templates that were not sent again within this time. Use at least three times the interval in which exporters resend them. 0 is never.",
  ),
  SVC_FLOW_DECODER_MEMORY_MAX_SIZE: row(
    "Flows",
    size(MiB, 64 * GiB),
    256 * MiB,
    "Memory for templates, options, and data sets that wait for their template, of all exporters. When it is full, the exporters that use most lose their oldest state. An exporter that was silent for an hour keeps at most 1/256 of it.",
  ),
  SVC_STATE_DIRECTORY_PATH: row(
    "Flows",
    path,
    "",
    "The directory for state that is kept over a restart: templates, sampling rates and names of exporters, the spool and dead letters of outputs. A metadata file that is mounted on its own is saved through it. Each collector needs its own. Empty keeps no state.",
    "/var/lib/netgloss",
  ),
  SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF: row(
    "Flows",
    samplingRates,
    new Map(),
    "Sampling rates by exporter address or CIDR, for exporters that report none or a wrong one. They replace reported rates. The most specific one counts.",
    "192.0.2.1=1000,2001:db8::/32=512",
  ),
  SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_ENABLE: row(
    "Flows",
    bool,
    false,
    "Reads sampling rates from a file, for exporters that report none.",
    { needs: [{ must: { SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_PATH: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_OVERRIDE: row(
    "Flows",
    bool,
    false,
    "The file's rates replace those that exporters report.",
  ),
  SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_PATH: row(
    "Flows",
    path,
    "",
    "The YAML file of sampling rates, see docs/enrichment.md.",
    "/etc/netgloss/sample_rate.yml",
  ),

  SVC_INPUT_SNMP_ENABLE: row("SNMP", bool, false, "Polls devices by SNMP."),
  SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: row(
    "SNMP",
    list(path),
    [],
    "Directories of device definitions. Empty is definitions/devices of the program, which has none.",
    "/etc/netgloss/devices",
  ),
  SVC_INPUT_SNMP_DEVICE_GROUP_DEFINITIONS_DIRECTORY_PATH: row(
    "SNMP",
    list(path),
    [],
    "Directories of device groups. Empty is definitions/device_groups of the program. To add to these, list both directories.",
    "/usr/lib/netgloss/definitions/device_groups,/etc/netgloss/device_groups",
  ),
  SVC_INPUT_SNMP_OBJECT_GROUP_DEFINITIONS_DIRECTORY_PATH: row(
    "SNMP",
    list(path),
    [],
    "Directories of object groups. Empty is definitions/object_groups of the program.",
    "/usr/lib/netgloss/definitions/object_groups,/etc/netgloss/object_groups",
  ),
  SVC_INPUT_SNMP_OBJECT_DEFINITIONS_DIRECTORY_PATH: row(
    "SNMP",
    list(path),
    [],
    "Directories of objects. Empty is definitions/objects of the program.",
    "/usr/lib/netgloss/definitions/objects,/etc/netgloss/objects",
  ),
  SVC_INPUT_SNMP_DEFAULTS_DIRECTORY_PATH: row(
    "SNMP",
    list(path),
    [],
    "Directories of defaults. A later one overrides an earlier one. Empty is definitions/defaults of the program.",
    "/usr/lib/netgloss/definitions/defaults,/etc/netgloss/defaults",
  ),
  SVC_INPUT_SNMP_AUTODISCOVER_DIRECTORY_PATH: row(
    "SNMP",
    list(path),
    [],
    "Directories that map sysObjectIDs to device groups. Empty is definitions/autodiscover of the program, unless the device groups are without those of the program.",
    "/usr/lib/netgloss/definitions/autodiscover,/etc/netgloss/autodiscover",
  ),
  SVC_PROCESSOR_SNMP_ENUM_DEFINITIONS_DIRECTORY_PATH: row(
    "SNMP",
    list(path),
    [],
    "Directories of enumerations. Empty is definitions/enums of the program.",
    "/usr/lib/netgloss/definitions/enums,/etc/netgloss/enums",
  ),
  SVC_INPUT_SNMP_NAMING: row(
    "SNMP",
    oneOf(["netgloss", "netobserv"]),
    "netgloss",
    "How values are called: `netobserv` as NetObserv's dashboards filter them, tables by their rows (`IF-MIB::ifXEntry`), severities of traps as `Critical` and `Informational`.",
  ),
  SVC_INPUT_SNMP_PROMETHEUS_ENABLE: row(
    "SNMP",
    bool,
    false,
    "Keeps the readings of the last polls and serves them at GET /metrics/snmp in the Prometheus text format.",
  ),
  SVC_INPUT_SNMP_RATES_ENABLE: row(
    "SNMP",
    bool,
    false,
    "Adds to each counter of a record its change since the previous poll: <field>_delta, and <field>_rate per second.",
  ),
  ...snmpDiscoverySettings,
  SVC_INPUT_TRAP_ENABLE: row("SNMP", bool, false, "Receives SNMP traps and informs of versions 1, 2c and 3 by UDP."),
  SVC_INPUT_TRAP_LISTENER_IP: row("SNMP", listenAddress, "0.0.0.0", "The address on which traps are received.", "::"),
  SVC_INPUT_TRAP_LISTENER_PORT: row(
    "SNMP",
    int(0, 65_535),
    8162,
    "The port on which traps are received. The usual one, 162, needs rights that a service has by its unit. 0 lets the system choose.",
  ),
  SVC_INPUT_TRAP_LISTENER_TCP_ENABLE: row(
    "SNMP",
    bool,
    false,
    "Receives traps and informs by TCP (RFC 3430), too, on the same port.",
  ),
  SVC_INPUT_TRAP_LISTENER_CREDENTIALS_DIRECTORY_PATH: row(
    "SNMP",
    path,
    "",
    "The directory of files with `communities` and `v3_credentials` whose traps count. Empty: every community, and the users of polled devices.",
    "/etc/netgloss/traps",
  ),
  SVC_INPUT_TRAP_RULES_PATH: row(
    "SNMP",
    path,
    "",
    "A YAML file of rules that drop traps, rename them, or give them a severity and a category; see docs/snmp.md. Empty: there are none.",
    "/etc/netgloss/traps/rules.yml",
  ),
  SVC_INPUT_TRAP_LISTENER_AUTHORITATIVE_ENGINE_ID: row(
    "SNMP",
    orEmpty(plainText),
    "",
    "The engine id under which informs of version 3 are received: hexadecimal, else taken as text. Empty: one made from the name of the host.",
    "80000000056e6574676c6f7373",
  ),
  SVC_INPUT_TRAP_LISTENER_SOURCES: row(
    "SNMP",
    list(addressOrPrefix),
    [],
    "Addresses and CIDRs whose traps count. Empty is all.",
    "192.0.2.0/24,2001:db8::/32",
  ),
  SVC_INPUT_TRAP_LISTENER_UNTIMELY_SOURCES: row(
    "SNMP",
    list(addressOrPrefix),
    [],
    "Addresses and CIDRs of senders whose engine boots do not grow when they start again: their traps of version 3 count although they look like old ones. Old traps can be repeated from there.",
    "192.0.2.0/24,2001:db8::/32",
  ),
  SVC_INPUT_TRAP_LISTENER_MAX_RATE: row(
    "SNMP",
    int(0, 1_000_000, "traps per second"),
    100,
    "Traps of one sender in a second that become records, five seconds' worth at once. The next record says how many were left out. 0 is no limit.",
  ),
  SVC_INPUT_SNMP_PERSIST_ENABLE: row(
    "SNMP",
    bool,
    true,
    "Keeps the plans of discovered devices over a restart, where SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH names a directory.",
  ),
  SVC_INPUT_SNMP_PERSIST_DIRECTORY_PATH: row(
    "SNMP",
    path,
    "",
    "The directory that keeps the plans of discovered devices over a restart. Empty: each start discovers again.",
    "/var/lib/netgloss/snmp",
  ),

  ...fleetSettings,

  SVC_PROCESSOR_FILTER_KEEP: row(
    "Records",
    filterText,
    "",
    "Only records that match this filter are kept, of flows and of SNMP; see docs/filters.md. Empty is all records.",
    "system exists or addr in 10.0.0.0/8",
  ),
  SVC_PROCESSOR_FILTER_DROP: row(
    "Records",
    filterText,
    "",
    "Records that match this filter are dropped, of flows and of SNMP. Empty is none.",
    "proto = udp and port = 161",
  ),
  SVC_PROCESSOR_SCALE_COUNTERS_ENABLE: row(
    "Records",
    bool,
    true,
    "Whether flow.bytes and flow.packets are multiplied by the sampling rate; flow.raw.* then has them as exported. Otherwise they are as exported, and flow.scaled.* has the products.",
  ),
  SVC_PROCESSOR_THIN_EXPORTER_RATE: row(
    "Records",
    int(0, 10_000_000, "records a second"),
    0,
    "The most flow records of each exporter. Of more, one stands for several: its sampling rate, bytes and packets are multiplied. 0 is no limit.",
  ),
  SVC_PROCESSOR_ROLLUP_INTERVAL: row(
    "Records",
    int(1, 3600, "seconds"),
    60,
    "For how long flow records are added up for outputs with ROLLUP_FIELDS. Intervals begin with the epoch. See docs/shaping.md.",
  ),
  SVC_PROCESSOR_ROLLUP_MAX_GROUPS: row(
    "Records",
    int(1, 10_000_000, "groups"),
    100_000,
    "How many sums an output keeps at most. Records of further groups leave as they are, and are counted.",
  ),
  SVC_PROCESSOR_ANONYMIZE_METHOD: row(
    "Records",
    oneOf(["off", "prefix", "cryptopan"]),
    "off",
    "What happens to addresses in flow records, behind enrichment: they stay, are cut to a prefix, or are replaced by Crypto-PAn. See docs/shaping.md.",
  ),
  SVC_PROCESSOR_ANONYMIZE_IPV4_PREFIX: row(
    "Records",
    int(0, 32, "bits"),
    24,
    "How many bits of IPv4 addresses stay with the method prefix.",
  ),
  SVC_PROCESSOR_ANONYMIZE_IPV6_PREFIX: row(
    "Records",
    int(0, 128, "bits"),
    48,
    "How many bits of IPv6 addresses stay with the method prefix.",
  ),
  SVC_PROCESSOR_ANONYMIZE_KEY_PATH: row(
    "Records",
    path,
    "",
    "A file with the key of the method cryptopan: 32 characters, or 64 hexadecimal digits with 0x in front. nfanon takes the same.",
    "/run/secrets/cryptopan",
  ),
  SVC_PROCESSOR_ANONYMIZE_KEEP_PRIVATE: row(
    "Records",
    bool,
    false,
    "Whether private addresses stay: RFC 1918, RFC 6598, RFC 4193, link-local, loopback.",
  ),
  SVC_PROCESSOR_ANONYMIZE_EXPORTER_ENABLE: row(
    "Records",
    bool,
    false,
    "Whether addresses of exporters and agents are anonymised, too.",
  ),
  SVC_PROCESSOR_DROP_FIELDS: row(
    "Records",
    list(plainText),
    [],
    "Fields that all records leave without. Filters see them; outputs have further lists of their own.",
    "flow.export.sequence,flow.export.uptime",
  ),
  SVC_PROCESSOR_TIMESTAMP_PRECISION: row(
    "Records",
    oneOf(["s", "ms", "us", "ns"]),
    "ns",
    "The most decimals of times in records: none, 3, 6 or 9. Times are cut, not rounded; none gets more than it has.",
  ),
  SVC_PROCESSOR_ENRICH_COMMUNITYID_ENABLE: row(
    "Records",
    bool,
    true,
    "Adds flow.community.id, the Community ID of the flow: a hash of addresses, ports and protocol that many tools share.",
  ),
  SVC_PROCESSOR_ENRICH_COMMUNITYID_SEED: row(
    "Records",
    int(0, 65_535),
    0,
    "The seed of Community IDs. Tools must have the same one for the same IDs; most have 0.",
  ),

  SVC_PROCESSOR_EXPAND_CLISRV: row(
    "Enrichment",
    bool,
    true,
    "Says what is known of source and destination again of client and server (`flow.client.*`, `flow.server.*`), where a rule says which is which.",
  ),
  SVC_PROCESSOR_EXPAND_CLISRV_NO_L4_PORTS: row(
    "Enrichment",
    bool,
    true,
    "Finds client and server of ICMP requests and replies, too.",
  ),
  SVC_PROCESSOR_ENRICH_CONVERSATIONID_ENABLE: row(
    "Enrichment",
    bool,
    true,
    "Adds `flow.conversation.id` and `flow.session.id` to flows.",
  ),
  SVC_PROCESSOR_ENRICH_CONVERSATIONID_SEED: row(
    "Enrichment",
    int(0, 65_535),
    0,
    "Makes the identifiers of conversations and sessions differ from those of another seed.",
  ),
  SVC_PROCESSOR_ENRICH_JOIN_ASN: row(
    "Enrichment",
    bool,
    true,
    "Joins the autonomous systems of both ends (`as.label`).",
  ),
  SVC_PROCESSOR_ENRICH_JOIN_GEOIP: row(
    "Enrichment",
    bool,
    true,
    "Joins cities and countries of both ends (`geo.city.name`, `geo.country.name`).",
  ),
  SVC_PROCESSOR_ENRICH_JOIN_SUBNETATTR: row(
    "Enrichment",
    bool,
    true,
    "Joins the tags of both ends (`ip.subnet.tags`).",
  ),
  SVC_PROCESSOR_ENRICH_JOIN_SEC: row("Enrichment", bool, true, "Joins the threats of both ends (`sec.threat.name`)."),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Adds the autonomous system of public addresses where the exporter does not report it, and its organisation.",
    { needs: [{ must: { SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH: row(
    "Enrichment",
    path,
    "",
    "The MaxMind database of autonomous systems. It is read again when it changes.",
    "/var/lib/GeoIP/GeoLite2-ASN.mmdb",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Adds the location of public addresses: country, city, coordinates, time zone.",
    { needs: [{ must: { SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH: row(
    "Enrichment",
    path,
    "",
    "The MaxMind database of locations. It is read again when it changes.",
    "/var/lib/GeoIP/GeoLite2-City.mmdb",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_VALUES: row(
    "Enrichment",
    list(oneOf(geoValues)),
    ["city", "country", "country_code", "location", "timezone"],
    "Which parts of a location are added.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_LANG: row(
    "Enrichment",
    languageCode,
    "en",
    "The language of names of locations. Names that the database lacks in it are English.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_INCLEXCL_PATH: row(
    "Enrichment",
    path,
    "",
    "A YAML file of the addresses whose location is looked up, see docs/enrichment.md. Empty is all public addresses.",
    "/etc/netgloss/maxmind/incl_excl.yml",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_INCLEXCL_REFRESH_RATE: row(
    "Enrichment",
    int(0, 35_791, "minutes"),
    15,
    "How often that file is checked, and read again when it changed. 0 is on SIGHUP only.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Adds the host names of addresses by reverse DNS. Records do not wait: the first ones of an address have no name.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_NAMESERVER_IP: row(
    "Enrichment",
    list(nameServer),
    [],
    "The name servers to query. Empty is those of the host.",
    "192.0.2.53,192.0.2.54:5353",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_NAMESERVER_TIMEOUT: row(
    "Enrichment",
    int(10, 60_000, "milliseconds"),
    3000,
    "How long to wait for an answer. Each server is queried twice.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_RESOLVE_PRIVATE: row(
    "Enrichment",
    bool,
    true,
    "Resolves private addresses (RFC 1918, 4193, 6598).",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_RESOLVE_PUBLIC: row("Enrichment", bool, true, "Resolves public addresses."),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_INCLEXCL_PATH: row(
    "Enrichment",
    path,
    "",
    "A YAML file of the addresses that name servers are asked about, see docs/enrichment.md. Empty is all.",
    "/etc/netgloss/hostname/incl_excl.yml",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_INCLEXCL_REFRESH_RATE: row(
    "Enrichment",
    int(0, 35_791, "minutes"),
    15,
    "How often that file is checked, and read again when it changed. 0 is on SIGHUP only.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_USERDEF_PATH: row(
    "Enrichment",
    path,
    "",
    "A YAML file of your own host names by address, see docs/enrichment.md. They count before name servers, and without them too.",
    "/etc/netgloss/hostname/user_defined.yml",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_USERDEF_REFRESH_RATE: row(
    "Enrichment",
    int(0, 35_791, "minutes"),
    15,
    "How often that file is checked, and read again when it changed. 0 is on SIGHUP only.",
  ),
  SVC_PROCESSOR_ENRICH_IPADDR_DNS_CONCURRENCY: row(
    "Enrichment",
    int(1, 4096, "queries"),
    64,
    "The most queries at the same time.",
  ),
  SVC_PROCESSOR_ENRICH_LOCALITY_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Adds the locality of the ends of a flow and of the flow: internal (by metadata), private or public.",
  ),
  SVC_PROCESSOR_ENRICH_LOCALITY_INTERNAL: row(
    "Enrichment",
    oneOf(["internal", "private"]),
    "internal",
    "What the locality is called of addresses that metadata call internal. NetObserv's dashboards know private and public.",
  ),
  SVC_PROCESSOR_ENRICH_ASN_PRIVATE_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Says `PRIVATE` in place of an organisation (`as.org`, `as.label`) at private addresses, as NetObserv's dashboards expect.",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_METADATA_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Adds attributes of interfaces from a file. They replace those of SNMP and of the exporter.",
    { needs: [{ must: { SVC_PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH: row(
    "Enrichment",
    path,
    "",
    "The YAML file of interfaces, see docs/enrichment.md.",
    "/etc/netgloss/netifs.yml",
  ),
  SVC_PROCESSOR_ENRICH_NETIF_METADATA_REFRESH_RATE: row(
    "Enrichment",
    int(0, 35_791, "minutes"),
    15,
    "How often the files of interfaces and port names are checked, and read again when they changed. 0 is on SIGHUP only.",
  ),
  SVC_PROCESSOR_ENRICH_APP_ID_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Names applications by the ids that exporters send (app.id), from a file. It counts before names in options data.",
    { needs: [{ must: { SVC_PROCESSOR_ENRICH_APP_ID_PATH: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_APP_ID_PATH: row(
    "Enrichment",
    path,
    "",
    "The YAML file of application ids, see docs/enrichment.md.",
    "/etc/netgloss/appid.yml",
  ),
  SVC_PROCESSOR_ENRICH_APP_IPPORT_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Names applications by the address and port of an end of the flow, from a file, where the exporter names none.",
    { needs: [{ must: { SVC_PROCESSOR_ENRICH_APP_IPPORT_PATH: "set" } }] },
  ),
  SVC_PROCESSOR_ENRICH_APP_IPPORT_PATH: row(
    "Enrichment",
    path,
    "",
    "The YAML file of applications by address and port, see docs/enrichment.md.",
    "/etc/netgloss/ipport.yml",
  ),
  SVC_PROCESSOR_ENRICH_APP_IPPORT_PRIVATE: row(
    "Enrichment",
    bool,
    true,
    "Looks for applications at private addresses.",
  ),
  SVC_PROCESSOR_ENRICH_APP_IPPORT_PUBLIC: row(
    "Enrichment",
    bool,
    false,
    "Looks for applications at addresses that are not private.",
  ),
  SVC_PROCESSOR_ENRICH_APP_REFRESH_RATE: row(
    "Enrichment",
    int(0, 35_791, "minutes"),
    15,
    "How often the files of applications are checked, and read again when they changed. 0 is on SIGHUP only.",
  ),
  ...netifSnmpSettings,
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
    "A YAML file of your own port names: `{tcp: {8443: portal}}`. They replace the built-in ones.",
    "/etc/netgloss/ports.yml",
  ),
  SVC_PROCESSOR_ENRICH_DSCP_NAME_ENABLE: row(
    "Enrichment",
    bool,
    false,
    "Adds the name of the DiffServ code point, such as EF or AF41.",
  ),

  ...outputSettings,
  ...exploreSettings,

  SVC_LOG_LEVEL: row("Log", oneOf(logLevels), "info", "Messages of this level and above are logged."),
  SVC_LOG_FORMAT: row("Log", oneOf(logFormats), "text", "The format of the log, which goes to the standard error."),

  SVC_LOGGER_FILE_LOG_ENABLE: row(
    "Log",
    bool,
    false,
    "Writes the log to a file, too. A file that cannot be written does not stop the collector.",
  ),
  SVC_LOGGER_FILE_LOG_FILENAME: row(
    "Log",
    path,
    "/var/log/netgloss/netgloss.log",
    "The file of the log. SIGUSR2 opens it again.",
  ),
  SVC_LOGGER_FILE_LOG_MAX_SIZE: row(
    "Log",
    int(0, 1_048_576, "MiB"),
    100,
    "Rotates the file of the log when it would be larger. 0 is never.",
  ),
  SVC_LOGGER_FILE_LOG_MAX_BACKUPS: row(
    "Log",
    int(0, 100_000, "files"),
    4,
    "How many rotated files of the log are kept. 0 is all.",
  ),
  SVC_LOGGER_FILE_LOG_MAX_AGE: row(
    "Log",
    int(0, 36_500, "days"),
    0,
    "Removes rotated files of the log that are older, at each rotation. 0 is none.",
  ),
  SVC_LOGGER_FILE_LOG_COMPRESS: row("Log", bool, false, "Compresses rotated files of the log with gzip."),
  SVC_INSTANCE_NAME: row(
    "Log",
    orEmpty(plainText),
    "",
    "A name for this collector: it is the field `instance` of each log line, and a label of netgloss_instance_info.",
    "ams-1",
  ),

  SVC_QUICKSTART_ENABLE: row(
    "First steps",
    bool,
    false,
    "Creates the directories of the files above, creates a sample metadata file if there is none, and prints commands to try.",
  ),
} as const;

export type SettingName = keyof typeof settingsTable;

type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** The value of every setting, checked. */
export type Settings = { readonly [Name in SettingName]: ValueOf<(typeof settingsTable)[Name]> } & {
  /** Outputs that have names. */
  readonly outputInstances: readonly OutputInstance[];
};

export const settingNames = Object.keys(settingsTable) as readonly SettingName[];

/** The row of a setting, for code that treats all alike. */
export function settingOf(name: SettingName): Setting<unknown> {
  return settingsTable[name];
}

/** The settings without the secrets: plain data, which may be handed to another thread. */
export type PlainSettings = {
  readonly [Name in SettingName as Settings[Name] extends Secret ? never : Name]: Settings[Name];
} & Pick<Settings, "outputInstances">;

export function plainSettings(settings: Settings): PlainSettings {
  const plain = settingNames.filter((name) => settingOf(name).type.secret !== true);
  return {
    ...Object.fromEntries(plain.map((name) => [name, settings[name]])),
    outputInstances: settings.outputInstances.map(plainInstance),
  } as unknown as PlainSettings;
}
