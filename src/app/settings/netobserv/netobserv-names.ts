import { settingOf, type SettingName, settingNames } from "../settings-table.ts";

/** What is to be said of a name of ElastiFlow NetObserv. A name that is a setting here under the same suffix needs no words. */
interface NameNotes {
  /** The setting that it means under another name, and values that are called otherwise. */
  readonly as?: { readonly setting: string; readonly values?: Readonly<Record<string, string>> };
  /** Why it has no meaning here. */
  readonly accepted?: string;
  /** Why it has no effect here, and what to do instead. */
  readonly missing?: string;
  /** The name that turns on what this one belongs to. */
  readonly needs?: string;
  /** How its meaning or its effect differs. */
  readonly differs?: string;
}

/** A public name of a setting of ElastiFlow NetObserv, without its prefix. */
interface KnownName extends NameNotes {
  /** The value in public examples, often the default; empty where none was seen. */
  readonly example: string;
}

function known(example: string, notes: NameNotes = {}): KnownName {
  return { example, ...notes };
}

const neverLost = {
  accepted: "records are sent until the store has them, and wait in memory and on disk",
  differs: "Retries do not end, so that no record is lost.",
};

/** Names of the outputs. */
const outputNames = {
  OUTPUT_CRIBL_ADDRESSES: known("127.0.0.1:10080"),
  OUTPUT_CRIBL_BATCH_DEADLINE: known("2000"),
  OUTPUT_CRIBL_BATCH_MAX_BYTES: known("8388608"),
  OUTPUT_CRIBL_DROP_FIELDS: known(""),
  OUTPUT_CRIBL_ENABLE: known("false"),
  OUTPUT_CRIBL_TLS_CA_CERT_FILEPATH: known(""),
  OUTPUT_CRIBL_TLS_ENABLE: known("false"),
  OUTPUT_CRIBL_TLS_SKIP_VERIFICATION: known("false"),
  OUTPUT_CRIBL_TOKEN: known(""),
  OUTPUT_ELASTICSEARCH_ADDRESSES: known("127.0.0.1:9200"),
  OUTPUT_ELASTICSEARCH_ALLOWED_RECORD_TYPES: known("as_path_hop,flow_option,flow,telemetry"),
  OUTPUT_ELASTICSEARCH_API_KEY: known(""),
  OUTPUT_ELASTICSEARCH_BATCH_DEADLINE: known("2000"),
  OUTPUT_ELASTICSEARCH_BATCH_MAX_BYTES: known("8388608"),
  OUTPUT_ELASTICSEARCH_CLIENT_CA_CERT_FILEPATH: known(""),
  OUTPUT_ELASTICSEARCH_CLIENT_CERT_FILEPATH: known(""),
  OUTPUT_ELASTICSEARCH_CLIENT_KEY_FILEPATH: known(""),
  OUTPUT_ELASTICSEARCH_CLOUD_ID: known(""),
  OUTPUT_ELASTICSEARCH_DROP_FIELDS: known(""),
  OUTPUT_ELASTICSEARCH_ECS_ENABLE: known(""),
  OUTPUT_ELASTICSEARCH_ENABLE: known("true"),
  OUTPUT_ELASTICSEARCH_INDEX_PERIOD: known("rollover"),
  OUTPUT_ELASTICSEARCH_INDEX_SUFFIX: known(""),
  OUTPUT_ELASTICSEARCH_INDEX_TEMPLATE_CODEC: known("best_compression"),
  OUTPUT_ELASTICSEARCH_INDEX_TEMPLATE_ENABLE: known("true"),
  OUTPUT_ELASTICSEARCH_INDEX_TEMPLATE_ILM_LIFECYCLE: known("elastiflow"),
  OUTPUT_ELASTICSEARCH_INDEX_TEMPLATE_OVERWRITE: known("true"),
  OUTPUT_ELASTICSEARCH_INDEX_TEMPLATE_PIPELINE_DEFAULT: known("_none"),
  OUTPUT_ELASTICSEARCH_INDEX_TEMPLATE_PIPELINE_FINAL: known("_none"),
  OUTPUT_ELASTICSEARCH_INDEX_TEMPLATE_REFRESH_INTERVAL: known("10s"),
  OUTPUT_ELASTICSEARCH_INDEX_TEMPLATE_REPLICAS: known("0"),
  OUTPUT_ELASTICSEARCH_INDEX_TEMPLATE_SHARDS: known("1"),
  OUTPUT_ELASTICSEARCH_MAX_RETRIES: known("3", neverLost),
  OUTPUT_ELASTICSEARCH_PASSWORD: known(""),
  OUTPUT_ELASTICSEARCH_RETRY_BACKOFF: known("1000"),
  OUTPUT_ELASTICSEARCH_RETRY_ENABLE: known("true", neverLost),
  OUTPUT_ELASTICSEARCH_RETRY_ON_TIMEOUT_ENABLE: known("true", neverLost),
  OUTPUT_ELASTICSEARCH_TIMESTAMP_SOURCE: known("collect"),
  OUTPUT_ELASTICSEARCH_TLS_CA_CERT_FILEPATH: known(""),
  OUTPUT_ELASTICSEARCH_TLS_ENABLE: known("true"),
  OUTPUT_ELASTICSEARCH_TLS_SKIP_VERIFICATION: known("true"),
  OUTPUT_ELASTICSEARCH_TSDS_ENABLE: known("false", {
    missing: "time series data streams are not made; INDEX_PERIOD rollover makes data streams",
  }),
  OUTPUT_ELASTICSEARCH_USERNAME: known("elastic"),
  OUTPUT_GENERIC_HTTP_ADDRESSES: known(""),
  OUTPUT_GENERIC_HTTP_BATCH_DEADLINE: known("2000"),
  OUTPUT_GENERIC_HTTP_BATCH_MAX_BYTES: known("8388608"),
  OUTPUT_GENERIC_HTTP_DROP_FIELDS: known(""),
  OUTPUT_GENERIC_HTTP_ECS_ENABLE: known("false"),
  OUTPUT_GENERIC_HTTP_ENABLE: known("false"),
  OUTPUT_GENERIC_HTTP_PASSWORD: known(""),
  OUTPUT_GENERIC_HTTP_TIMESTAMP_SOURCE: known("collect"),
  OUTPUT_GENERIC_HTTP_TLS_CA_CERT_FILEPATH: known(""),
  OUTPUT_GENERIC_HTTP_TLS_ENABLE: known("false"),
  OUTPUT_GENERIC_HTTP_TLS_SKIP_VERIFICATION: known("false"),
  OUTPUT_GENERIC_HTTP_USERNAME: known(""),
  OUTPUT_KAFKA_ALLOWED_RECORD_TYPES: known("as_path_hop,flow_option,flow,telemetry"),
  OUTPUT_KAFKA_BROKERS: known(""),
  OUTPUT_KAFKA_CLIENT_ID: known("elastiflow-flowcoll"),
  OUTPUT_KAFKA_DROP_FIELDS: known(""),
  OUTPUT_KAFKA_ENABLE: known("false"),
  OUTPUT_KAFKA_FLAT_RECORD_ENABLE: known("true", {
    accepted: "records are always flat",
    differs: "Records are never nested.",
  }),
  OUTPUT_KAFKA_PARTITION_KEY: known("flow.export.ip.addr"),
  OUTPUT_KAFKA_PRODUCER_COMPRESSION: known("3"),
  OUTPUT_KAFKA_PRODUCER_COMPRESSION_LEVEL: known("-1000", {
    accepted: "each compression has its usual level",
    differs: "The level cannot be chosen.",
  }),
  OUTPUT_KAFKA_PRODUCER_FLUSH_BYTES: known("1000000", {
    as: { setting: "SVC_OUTPUT_KAFKA_BATCH_MAX_BYTES", values: { "0": "8MiB" } },
  }),
  OUTPUT_KAFKA_PRODUCER_FLUSH_FREQUENCY: known("1000", {
    as: { setting: "SVC_OUTPUT_KAFKA_BATCH_DEADLINE", values: { "0": "2000" } },
  }),
  OUTPUT_KAFKA_PRODUCER_FLUSH_MAX_MESSAGES: known("0"),
  OUTPUT_KAFKA_PRODUCER_FLUSH_MESSAGES: known("1024"),
  OUTPUT_KAFKA_PRODUCER_MAX_MESSAGE_BYTES: known("1000000"),
  OUTPUT_KAFKA_PRODUCER_REQUIRED_ACKS: known("1", { differs: "0 is refused: losses would not be noticed." }),
  OUTPUT_KAFKA_PRODUCER_RETRY_BACKOFF: known("100", { as: { setting: "SVC_OUTPUT_KAFKA_RETRY_BACKOFF" } }),
  OUTPUT_KAFKA_PRODUCER_RETRY_MAX: known("3", neverLost),
  OUTPUT_KAFKA_PRODUCER_TIMEOUT: known("10"),
  OUTPUT_KAFKA_RACK_ID: known("", { accepted: "a rack matters to consumers; a producer always writes to the leader" }),
  OUTPUT_KAFKA_SASL_ENABLE: known("false"),
  OUTPUT_KAFKA_SASL_PASSWORD: known(""),
  OUTPUT_KAFKA_SASL_USERNAME: known(""),
  OUTPUT_KAFKA_TIMEOUT: known("30"),
  OUTPUT_KAFKA_TLS_CA_CERT_FILEPATH: known(""),
  OUTPUT_KAFKA_TLS_CERT_FILEPATH: known(""),
  OUTPUT_KAFKA_TLS_ENABLE: known("false"),
  OUTPUT_KAFKA_TLS_KEY_FILEPATH: known(""),
  OUTPUT_KAFKA_TLS_SKIP_VERIFICATION: known("false"),
  OUTPUT_KAFKA_TOPIC: known("elastiflow-flow-codex"),
  OUTPUT_KAFKA_VERSION: known("1.0.0", { accepted: "the version of the protocol is negotiated with the brokers" }),
  OUTPUT_MONITOR_ENABLE: known("false"),
  OUTPUT_MONITOR_INTERVAL: known(""),
  OUTPUT_OPENSEARCH_ADDRESSES: known("127.0.0.1:9200"),
  OUTPUT_OPENSEARCH_ALLOWED_RECORD_TYPES: known("as_path_hop,flow_option,flow,telemetry"),
  OUTPUT_OPENSEARCH_BATCH_DEADLINE: known("2000"),
  OUTPUT_OPENSEARCH_BATCH_MAX_BYTES: known("8388608"),
  OUTPUT_OPENSEARCH_CLIENT_CA_CERT_FILEPATH: known(""),
  OUTPUT_OPENSEARCH_CLIENT_CERT_FILEPATH: known(""),
  OUTPUT_OPENSEARCH_CLIENT_KEY_FILEPATH: known(""),
  OUTPUT_OPENSEARCH_DROP_FIELDS: known(""),
  OUTPUT_OPENSEARCH_ECS_ENABLE: known("false"),
  OUTPUT_OPENSEARCH_ENABLE: known("false"),
  OUTPUT_OPENSEARCH_INDEX_PERIOD: known("daily"),
  OUTPUT_OPENSEARCH_INDEX_SUFFIX: known(""),
  OUTPUT_OPENSEARCH_INDEX_TEMPLATE_CODEC: known("best_compression"),
  OUTPUT_OPENSEARCH_INDEX_TEMPLATE_ENABLE: known("true"),
  OUTPUT_OPENSEARCH_INDEX_TEMPLATE_ISM_POLICY: known("elastiflow"),
  OUTPUT_OPENSEARCH_INDEX_TEMPLATE_OVERWRITE: known("true"),
  OUTPUT_OPENSEARCH_INDEX_TEMPLATE_PIPELINE_DEFAULT: known("_none"),
  OUTPUT_OPENSEARCH_INDEX_TEMPLATE_PIPELINE_FINAL: known("_none"),
  OUTPUT_OPENSEARCH_INDEX_TEMPLATE_REFRESH_INTERVAL: known("10s"),
  OUTPUT_OPENSEARCH_INDEX_TEMPLATE_REPLICAS: known("0"),
  OUTPUT_OPENSEARCH_INDEX_TEMPLATE_SHARDS: known("1"),
  OUTPUT_OPENSEARCH_MAX_RETRIES: known("3", neverLost),
  OUTPUT_OPENSEARCH_PASSWORD: known("admin"),
  OUTPUT_OPENSEARCH_RETRY_BACKOFF: known("1000"),
  OUTPUT_OPENSEARCH_RETRY_ENABLE: known("true", neverLost),
  OUTPUT_OPENSEARCH_RETRY_ON_TIMEOUT_ENABLE: known("true", neverLost),
  OUTPUT_OPENSEARCH_TIMESTAMP_SOURCE: known("collect"),
  OUTPUT_OPENSEARCH_TLS_CA_CERT_FILEPATH: known(""),
  OUTPUT_OPENSEARCH_TLS_ENABLE: known("false"),
  OUTPUT_OPENSEARCH_TLS_SKIP_VERIFICATION: known("false"),
  OUTPUT_OPENSEARCH_USERNAME: known("admin"),
  OUTPUT_SPLUNK_HEC_ADDRESSES: known("127.0.0.1:8088"),
  OUTPUT_SPLUNK_HEC_BATCH_DEADLINE: known("2000"),
  OUTPUT_SPLUNK_HEC_BATCH_MAX_BYTES: known("8388608"),
  OUTPUT_SPLUNK_HEC_CIM_ENABLE: known("false"),
  OUTPUT_SPLUNK_HEC_DROP_FIELDS: known(""),
  OUTPUT_SPLUNK_HEC_ENABLE: known("false"),
  OUTPUT_SPLUNK_HEC_TLS_CA_CERT_FILEPATH: known(""),
  OUTPUT_SPLUNK_HEC_TLS_ENABLE: known("true"),
  OUTPUT_SPLUNK_HEC_TLS_SKIP_VERIFICATION: known("false"),
  OUTPUT_SPLUNK_HEC_TOKEN: known(""),
  OUTPUT_STDOUT_ENABLE: known("false"),
  OUTPUT_STDOUT_FORMAT: known("json_pretty"),
};

const noIfa = "in-band flow analysis is not decoded";

/** Names of decoding, enrichment and what records look like. */
const noTrapRules =
  "its rules are not read: values of traps get their names from the SNMP definitions, and SVC_INPUT_TRAP_RULES_PATH names a file of rules";

const processorNames = {
  PROCESSOR_DECODE_IPFIX_ENABLE: known(""),
  PROCESSOR_DECODE_MAX_RECORDS_PER_PACKET: known("64", {
    accepted: "every record of a datagram is decoded, however many there are",
    differs: "No limit: all records of a datagram are decoded.",
  }),
  PROCESSOR_DECODE_NETFLOW1_ENABLE: known("true"),
  PROCESSOR_DECODE_NETFLOW5_ENABLE: known("true"),
  PROCESSOR_DECODE_NETFLOW6_ENABLE: known("true", {
    accepted: "datagrams of NetFlow v6 are counted and not decoded",
    differs: "NetFlow v6 is not decoded.",
  }),
  PROCESSOR_DECODE_NETFLOW7_ENABLE: known("true"),
  PROCESSOR_DECODE_NETFLOW9_ENABLE: known("true"),
  PROCESSOR_DECODE_SFLOW5_ENABLE: known("true"),
  PROCESSOR_DECODE_SFLOW_COUNTERS_ENABLE: known("true"),
  PROCESSOR_DECODE_SFLOW_FLOWS_ENABLE: known("true"),
  PROCESSOR_DECODE_SFLOW_FLOWS_KEEP_SAMPLES: known("false"),
  PROCESSOR_DROP_FIELDS: known(""),
  PROCESSOR_DURATION_PRECISION: known("ms", {
    accepted: "flows have a start and an end and no duration; durations of SNMP are in milliseconds",
    differs: "Durations are always in milliseconds.",
  }),
  PROCESSOR_ENRICH_APP_ID_ENABLE: known("false"),
  PROCESSOR_ENRICH_APP_ID_PATH: known("/etc/elastiflow/app/appid.yml"),
  PROCESSOR_ENRICH_APP_ID_TTL: known("7200", { accepted: "a changed file counts as soon as it is read" }),
  PROCESSOR_ENRICH_APP_IPPORT_ENABLE: known("true"),
  PROCESSOR_ENRICH_APP_IPPORT_PATH: known("/etc/elastiflow/app/ipport.yml"),
  PROCESSOR_ENRICH_APP_IPPORT_PRIVATE: known("true"),
  PROCESSOR_ENRICH_APP_IPPORT_PUBLIC: known("false"),
  PROCESSOR_ENRICH_APP_IPPORT_TTL: known("7200", { accepted: "a changed file counts as soon as it is read" }),
  PROCESSOR_ENRICH_APP_REFRESH_RATE: known("15"),
  PROCESSOR_ENRICH_ASN_PREF: known("lookup", {
    accepted: "the database fills in where the exporter does not say the AS",
    differs: "What the exporter says counts first.",
  }),
  PROCESSOR_ENRICH_COMMUNITYID_ENABLE: known("true"),
  PROCESSOR_ENRICH_COMMUNITYID_SEED: known("0"),
  PROCESSOR_ENRICH_CONVERSATIONID_ENABLE: known("true"),
  PROCESSOR_ENRICH_CONVERSATIONID_SEED: known("0"),
  PROCESSOR_ENRICH_IPADDR_DNS_ENABLE: known("true"),
  PROCESSOR_ENRICH_IPADDR_DNS_INCLEXCL_PATH: known("/etc/elastiflow/hostname/incl_excl.yml"),
  PROCESSOR_ENRICH_IPADDR_DNS_INCLEXCL_REFRESH_RATE: known("15"),
  PROCESSOR_ENRICH_IPADDR_DNS_NAMESERVER_IP: known(""),
  PROCESSOR_ENRICH_IPADDR_DNS_NAMESERVER_TIMEOUT: known("3000"),
  PROCESSOR_ENRICH_IPADDR_DNS_RESOLVE_PRIVATE: known("true"),
  PROCESSOR_ENRICH_IPADDR_DNS_RESOLVE_PUBLIC: known("true"),
  PROCESSOR_ENRICH_IPADDR_DNS_USERDEF_PATH: known("/etc/elastiflow/hostname/user_defined.yml"),
  PROCESSOR_ENRICH_IPADDR_DNS_USERDEF_REFRESH_RATE: known("15"),
  PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE: known("false"),
  PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH: known("/etc/elastiflow/maxmind/GeoLite2-ASN.mmdb"),
  PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE: known("false"),
  PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_INCLEXCL_PATH: known("/etc/elastiflow/maxmind/incl_excl.yml"),
  PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_INCLEXCL_REFRESH_RATE: known("15"),
  PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_LANG: known("en"),
  PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH: known("/etc/elastiflow/maxmind/GeoLite2-City.mmdb"),
  PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_VALUES: known("city,country,country_code,location,timezone"),
  PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: known("true"),
  PROCESSOR_ENRICH_IPADDR_METADATA_REFRESH_RATE: known("15"),
  PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: known("/etc/elastiflow/metadata/ipaddrs.yml"),
  PROCESSOR_ENRICH_IPADDR_NETINTEL_ENABLE: known("", {
    missing: "the reputation service of another vendor; give tags to networks in the metadata file",
  }),
  PROCESSOR_ENRICH_IPADDR_NETINTEL_TIMEOUT: known("60", { needs: "PROCESSOR_ENRICH_IPADDR_NETINTEL_ENABLE" }),
  PROCESSOR_ENRICH_IPADDR_TTL: known("7200"),
  PROCESSOR_ENRICH_JOIN_ASN: known("true"),
  PROCESSOR_ENRICH_JOIN_GEOIP: known("true"),
  PROCESSOR_ENRICH_JOIN_NETATTR: known("true", {
    missing: "the joins are those of AS, places, subnets and threats (PROCESSOR_ENRICH_JOIN_*)",
  }),
  PROCESSOR_ENRICH_JOIN_SEC: known("true"),
  PROCESSOR_ENRICH_JOIN_SUBNETATTR: known("true"),
  PROCESSOR_ENRICH_NETIF_FLOW_OPTIONS_ENABLE: known("true", {
    accepted: "names of interfaces that an exporter sends are always used",
    differs: "Always on.",
  }),
  PROCESSOR_ENRICH_NETIF_METADATA_ENABLE: known("true"),
  PROCESSOR_ENRICH_NETIF_METADATA_REFRESH_RATE: known("15"),
  PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH: known("/etc/elastiflow/metadata/netifs.yml"),
  PROCESSOR_ENRICH_NETIF_SNMP_COMMUNITIES: known("public"),
  PROCESSOR_ENRICH_NETIF_SNMP_ENABLE: known("true"),
  PROCESSOR_ENRICH_NETIF_SNMP_PORT: known("161"),
  PROCESSOR_ENRICH_NETIF_SNMP_RETRIES: known("1"),
  PROCESSOR_ENRICH_NETIF_SNMP_TIMEOUT: known("2"),
  PROCESSOR_ENRICH_NETIF_SNMP_V3_AUTHENTICATION_PASSPHRASE: known(""),
  PROCESSOR_ENRICH_NETIF_SNMP_V3_AUTHENTICATION_PROTOCOL: known("noauth"),
  PROCESSOR_ENRICH_NETIF_SNMP_V3_PRIVACY_PASSPHRASE: known(""),
  PROCESSOR_ENRICH_NETIF_SNMP_V3_PRIVACY_PROTOCOL: known("nopriv"),
  PROCESSOR_ENRICH_NETIF_SNMP_V3_USERNAME: known(""),
  PROCESSOR_ENRICH_NETIF_SNMP_VERSION: known("2"),
  PROCESSOR_ENRICH_NETIF_TTL: known("7200"),
  PROCESSOR_ENRICH_SAMPLERATE_CACHE_SIZE: known("32768", {
    accepted: "the memory for exporters is bounded by SVC_FLOW_DECODER_MEMORY_MAX_SIZE",
  }),
  PROCESSOR_ENRICH_SAMPLERATE_USERDEF_ENABLE: known("false"),
  PROCESSOR_ENRICH_SAMPLERATE_USERDEF_OVERRIDE: known("false"),
  PROCESSOR_ENRICH_SAMPLERATE_USERDEF_PATH: known("/etc/elastiflow/settings/sample_rate.yml"),
  PROCESSOR_ENRICH_TOTALS_IF_NO_DELTAS: known("false", {
    accepted: "total counters always stand in for missing deltas",
  }),
  PROCESSOR_EXPAND_CLISRV: known("true"),
  PROCESSOR_EXPAND_CLISRV_NO_L4_PORTS: known("true"),
  PROCESSOR_IFA_ENABLE: known("false", { missing: noIfa }),
  PROCESSOR_IFA_WORKER_SIZE: known("0", { needs: "PROCESSOR_IFA_ENABLE" }),
  PROCESSOR_KEEP_CPU_TICKS: known("false", {
    accepted: "records have the ticks of a CPU, and no percentages made of them",
    differs: "Always kept.",
  }),
  PROCESSOR_PERCENT_NORM: known("100", {
    accepted: "percentages are always of 100",
    differs: "Always 100.",
  }),
  PROCESSOR_POOL_SIZE: known(""),
  PROCESSOR_SNMP_ENUM_DEFINITIONS_DIRECTORY_PATH: known("/etc/elastiflow/snmp/enums"),
  PROCESSOR_TIMESTAMP_PRECISION: known("ms", {
    differs: "the default keeps all decimals that an exporter sends",
  }),
  PROCESSOR_TRANSLATE_KEEP_IDS: known("default", {
    accepted: "records have both numbers and names; PROCESSOR_DROP_FIELDS leaves out what is not wanted",
    differs: "All numbers are kept.",
  }),
  PROCESSOR_TRAP_DSL_ENABLE: known("true", { missing: noTrapRules }),
  PROCESSOR_TRAP_DSL_ENTERPRISE_FILE_PATH: known("/etc/elastiflow/snmp/traps/enterprises.yml", {
    missing: noTrapRules,
  }),
  PROCESSOR_TRAP_DSL_ENUM_DEFINITIONS_DIRECTORY_PATH: known("/etc/elastiflow/snmp/enums", { missing: noTrapRules }),
  PROCESSOR_TRAP_DSL_GENERIC_FILE_PATH: known("/etc/elastiflow/snmp/traps/generic.yml", { missing: noTrapRules }),
  PROCESSOR_TRAP_DSL_RULES_DIRECTORY_PATH: known("/etc/elastiflow/snmp/traps/rules", { missing: noTrapRules }),
};

const noLicence = "netgloss needs no licence";
const noS3 = "flow logs of AWS are not read";
const noOtlp = "traces are not received by OTLP";
const noSecureStore =
  "credentials are plain files in SVC_INPUT_TRAP_LISTENER_CREDENTIALS_DIRECTORY_PATH; let only the collector read them";
const noTrapDevices = "traps need no store of devices: they are named by the devices that are polled";

/** Names of the API, the licence, the log and the inputs. */
const inputNames = {
  ACCOUNT_ID: known("", { accepted: noLicence }),
  API_BASIC_AUTH_ENABLE: known("false"),
  API_BASIC_AUTH_PASSWORD: known(""),
  API_BASIC_AUTH_USERNAME: known(""),
  API_PORT: known("8080", { differs: "The API listens on 127.0.0.1 alone. SVC_API_IP opens it to others." }),
  API_TLS_CERT_FILEPATH: known(""),
  API_TLS_ENABLE: known(""),
  API_TLS_KEY_FILEPATH: known(""),
  AWS_VPC_FLOW_LOG_S3_BUCKET: known("", { needs: "AWS_VPC_FLOW_LOG_S3_ENABLE" }),
  AWS_VPC_FLOW_LOG_S3_ENABLE: known("", { missing: noS3 }),
  AWS_VPC_FLOW_LOG_S3_PREFIX: known("AWSLogs", { needs: "AWS_VPC_FLOW_LOG_S3_ENABLE" }),
  AWS_VPC_FLOW_LOG_S3_TLS_CA_CERT_FILEPATH: known("", { needs: "AWS_VPC_FLOW_LOG_S3_ENABLE" }),
  AWS_VPC_FLOW_LOG_S3_TLS_ENABLE: known("false", { needs: "AWS_VPC_FLOW_LOG_S3_ENABLE" }),
  AWS_VPC_FLOW_LOG_S3_TLS_MIN_VERSION: known("1.2", { needs: "AWS_VPC_FLOW_LOG_S3_ENABLE" }),
  AWS_VPC_FLOW_LOG_S3_TLS_SKIP_VERIFICATION: known("false", { needs: "AWS_VPC_FLOW_LOG_S3_ENABLE" }),
  INPUT_FLOW_BENCHMARK_ENABLE: known("false", {
    missing: "use `netgloss replay FILE.pcap` to send a capture through the pipeline",
  }),
  INPUT_FLOW_BENCHMARK_PACKET_FILEPATH: known("/etc/elastiflow/benchmark/flow/packets.txt", {
    needs: "INPUT_FLOW_BENCHMARK_ENABLE",
  }),
  INPUT_OTLP_HEALTH_GRPC_ADDR_PORT: known("", { needs: "INPUT_OTLP_TRACE_SERVER_ENABLE" }),
  INPUT_OTLP_HEALTH_SERVER_ADDR_PORT: known("", { needs: "INPUT_OTLP_TRACE_SERVER_ENABLE" }),
  INPUT_OTLP_TRACE_SERVER_ENABLE: known("", { missing: noOtlp }),
  INPUT_OTLP_TRACE_SERVER_TLS_CERT_FILE: known("", { needs: "INPUT_OTLP_TRACE_SERVER_ENABLE" }),
  INPUT_OTLP_TRACE_SERVER_TLS_ENABLE: known("", { needs: "INPUT_OTLP_TRACE_SERVER_ENABLE" }),
  INPUT_OTLP_TRACE_SERVER_TLS_KEY_FILE: known("", { needs: "INPUT_OTLP_TRACE_SERVER_ENABLE" }),
  INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: known("/etc/elastiflow/snmp/devices"),
  INPUT_SNMP_DEVICE_GROUP_DEFINITIONS_DIRECTORY_PATH: known("/etc/elastiflow/snmp/device_groups"),
  INPUT_SNMP_OBJECT_DEFINITIONS_DIRECTORY_PATH: known("/etc/elastiflow/snmp/objects"),
  INPUT_SNMP_OBJECT_GROUP_DEFINITIONS_DIRECTORY_PATH: known("/etc/elastiflow/snmp/object_groups"),
  INPUT_SNMP_PERSIST_DIRECTORY_PATH: known("/usr/share/elastiflow/snmpcoll"),
  INPUT_SNMP_PERSIST_ENABLE: known("false"),
  INPUT_SNMP_POLLER_ERROR_HANDLING: known("partial", {
    accepted: "what a device answers is always kept, also when it answers only in part",
  }),
  INPUT_SNMP_POLLER_WORKER_POOL_SIZE: known("", { accepted: "polls share one event loop and need no workers" }),
  INPUT_TRAP_ENABLE: known("true"),
  INPUT_TRAP_LISTENER_AUTHORITATIVE_ENGINE_ID: known("authoritative_engine_id"),
  INPUT_TRAP_LISTENER_CREDENTIALS_DIRECTORY_PATH: known("/etc/elastiflow/snmp/traps/credentials"),
  INPUT_TRAP_LISTENER_CREDENTIALS_SECURE_STORE_CREATE: known("false", { missing: noSecureStore }),
  INPUT_TRAP_LISTENER_CREDENTIALS_SECURE_STORE_ENABLE: known("false", { missing: noSecureStore }),
  INPUT_TRAP_LISTENER_CREDENTIALS_SECURE_STORE_PASSWORD: known("", { missing: noSecureStore }),
  INPUT_TRAP_LISTENER_CREDENTIALS_SECURE_STORE_PRIVATE_KEY_FILE_PATH: known("/etc/elastiflow/snmp/traps/.age/key.age", {
    missing: noSecureStore,
  }),
  INPUT_TRAP_LISTENER_CREDENTIALS_SECURE_STORE_PUBLIC_KEY: known("", { missing: noSecureStore }),
  INPUT_TRAP_LISTENER_CREDENTIALS_SECURE_STORE_PUBLIC_KEY_FILE_PATH: known(
    "/etc/elastiflow/snmp/traps/.age/public-age-keys.txt",
    { missing: noSecureStore },
  ),
  INPUT_TRAP_LISTENER_CREDENTIALS_SECURE_STORE_TYPE: known("standard", { missing: noSecureStore }),
  INPUT_TRAP_LISTENER_DEVICE_STORE_CHANGE_DETECTION_ENABLE: known("true", { accepted: noTrapDevices }),
  INPUT_TRAP_LISTENER_DEVICE_STORE_PATH: known("/var/lib/elastiflow/trapcoll/devices.yml", { accepted: noTrapDevices }),
  INPUT_TRAP_LISTENER_DEVICE_STORE_TTL: known("30", { accepted: noTrapDevices }),
  INPUT_TRAP_LISTENER_IP: known("0.0.0.0"),
  INPUT_TRAP_LISTENER_NORMALIZER_POOL_SIZE: known("3", { accepted: "traps share one event loop and need no workers" }),
  INPUT_TRAP_LISTENER_PORT: known("8162"),
  INPUT_TRAP_LISTENER_TRANSPORT: known("udp", {
    as: { setting: "SVC_INPUT_TRAP_LISTENER_TCP_ENABLE", values: { udp: "false", tcp: "true" } },
    differs: "with tcp, traps are received by UDP, too",
  }),
  INSTANCE_NAME: known(""),
  LICENSE_ACCEPTED: known("true", { accepted: noLicence }),
  LICENSE_FLOW_RECORDS_PER_SECOND: known("", { accepted: noLicence }),
  LICENSE_KEY: known("", { accepted: noLicence }),
  LICENSE_TELEMETRY_HOSTS: known("", { accepted: noLicence }),
  LOGGER_ENCODING: known("json", { as: { setting: "SVC_LOG_FORMAT", values: { console: "text" } } }),
  LOGGER_FILE_LOG_COMPRESS: known("false"),
  LOGGER_FILE_LOG_ENABLE: known("true"),
  LOGGER_FILE_LOG_FILENAME: known("/var/log/elastiflow/flowcoll/flowcoll.log"),
  LOGGER_FILE_LOG_MAX_AGE: known(""),
  LOGGER_FILE_LOG_MAX_BACKUPS: known("4"),
  LOGGER_FILE_LOG_MAX_SIZE: known("100"),
  LOGGER_LEVEL: known("info", {
    as: { setting: "SVC_LOG_LEVEL", values: { dpanic: "error", panic: "error", fatal: "error" } },
  }),
  SNMP_LICENSED_UNITS: known("", { accepted: noLicence }),
  SNMP_LICENSE_KEY: known("", { accepted: noLicence }),
};

/** Every public name of ElastiFlow NetObserv, without its prefix. Names are facts; what is said of each is this table's. */
export const netObservNames: Readonly<Record<string, KnownName>> = { ...inputNames, ...processorNames, ...outputNames };

/** What happens to a name of NetObserv. */
export type Fate =
  | {
      readonly kind: "same";
      readonly setting: SettingName;
      /** Whether the setting has another suffix here. */
      readonly isAlias: boolean;
      /** The text that the setting takes for a given one. */
      readonly toText: (text: string) => string;
    }
  | { readonly kind: "accepted"; readonly why: string }
  | { readonly kind: "missing"; readonly advice: string; readonly needs?: string };

/** Their names differ by program and version. */
const isOfLicence = /^(?:(?:FLOW|SNMP|TRAP)_)?(?:ACCOUNT_ID|LICENSED?_\w+)$/;

const noEffect = "netgloss has no such setting";

/**
 * What happens to a name, without prefix: a setting of ours by the same suffix first, then what the table says.
 *
 * @returns undefined for a name that is neither a setting nor in the table.
 */
export function fateOf(suffix: string): Fate | undefined {
  const own = `SVC_${suffix}`;
  if (isSettingName(own)) return { kind: "same", setting: own, isAlias: false, toText: (text) => text };
  const name = Object.hasOwn(netObservNames, suffix) ? netObservNames[suffix] : undefined;
  if (name === undefined) return isOfLicence.test(suffix) ? { kind: "accepted", why: noLicence } : undefined;
  if (name.as !== undefined) {
    const { setting, values = {} } = name.as;
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

/** How many of the table's names have each fate. */
export function countFates(): Readonly<Record<Fate["kind"], number>> {
  const counts = { same: 0, accepted: 0, missing: 0 };
  for (const suffix of Object.keys(netObservNames)) counts[fateOf(suffix)?.kind ?? "missing"]++;
  return counts;
}

/** The default of the setting that a name means, as text; undefined for secrets. */
export function defaultOf(setting: SettingName): string | undefined {
  const { type, default: fallback } = settingOf(setting);
  return type.secret ? undefined : type.format(fallback);
}
