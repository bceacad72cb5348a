import { known } from "./known-name.ts";

export const noLicence = "netgloss needs no licence";
const noS3 = "flow logs of AWS are not read";
const noOtlp = "traces are not received by OTLP";
const noSecureStore =
  "credentials are plain files in SVC_INPUT_TRAP_LISTENER_CREDENTIALS_DIRECTORY_PATH; let only the collector read them";
const noTrapDevices = "traps need no store of devices: they are named by the devices that are polled";

/** Names of the API, the licence, the log and the inputs. */
export const inputNames = {
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
