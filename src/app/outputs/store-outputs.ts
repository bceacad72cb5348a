import { hostname } from "node:os";
import { join } from "node:path";
import type { StoreConfig, RecordType, DeliveryConfig } from "../../output/index.ts";
import type { Secret } from "../../base/text/index.ts";
import {
  type Settings,
  cloudIdUrl,
  instanceSetting,
  storeWords,
  syslogNumber,
  type StoreWord,
} from "../settings/index.ts";

type HttpStoreConfig = Extract<StoreConfig, { kind: "http" }>;

/** Words of stores that take basic authentication, a bearer token and headers. */
type LogWord = "GENERIC_HTTP" | "LOKI" | "VICTORIALOGS" | "OTLP";

/** How a store that takes basic authentication, a bearer token and headers is reached. @param path of addresses that are no URLs. */
function logServerOf(word: LogWord, settings: Settings, path: string): Omit<HttpStoreConfig, "kind" | "format"> {
  const of = <Name extends string>(name: Name): `SVC_OUTPUT_${LogWord}_${Name}` => `SVC_OUTPUT_${word}_${name}`;
  const token = settings[of("TOKEN")];
  return {
    ...serverOf(word, settings, path),
    compression: settings[of("COMPRESSION")],
    headers: {
      ...Object.fromEntries(settings[of("HEADERS")]),
      ...basicAuthorization(settings[of("USERNAME")], settings[of("PASSWORD")]),
      ...(token.isSet && { authorization: `Bearer ${token.reveal()}` }),
    },
  };
}

/** Words of stores over HTTP whose client certificate is set as that of TLS. */
type HttpWord = LogWord | "CRIBL" | "CLICKHOUSE" | "SPLUNK_HEC";

/** How a store over HTTP is reached. @param path of addresses that are no URLs. */
function serverOf(
  word: HttpWord,
  settings: Settings,
  path: string,
): Pick<HttpStoreConfig, "urls" | "tls" | "maxConnections"> {
  const of = <Name extends string>(name: Name): `SVC_OUTPUT_${HttpWord}_${Name}` => `SVC_OUTPUT_${word}_${name}`;
  return {
    urls: settings[of("ADDRESSES")].map((address) => urlOf(address, settings[of("TLS_ENABLE")], path)),
    tls: tlsOf(word, settings),
    maxConnections: settings[of("REQUESTS_IN_FLIGHT")],
  };
}

/** TLS of a store whose client certificate is set as that of TLS. */
function tlsOf(word: HttpWord | "KAFKA" | "NATS" | "SYSLOG", settings: Settings): HttpStoreConfig["tls"] {
  const of = <Name extends string>(name: Name): `SVC_OUTPUT_${typeof word}_${Name}` => `SVC_OUTPUT_${word}_${name}`;
  return {
    caPath: settings[of("TLS_CA_CERT_FILEPATH")],
    certPath: settings[of("TLS_CERT_FILEPATH")],
    keyPath: settings[of("TLS_KEY_FILEPATH")],
    skipVerification: settings[of("TLS_SKIP_VERIFICATION")],
  };
}

/** An address as a URL; the path is for those that are none. */
function urlOf(address: string, isTls: boolean, path: string): string {
  return /^https?:/i.test(address) ? address : `${isTls ? "https" : "http"}://${address}${path}`;
}

/** The header of basic authentication; none without a user or a password. */
function basicAuthorization(user: string, password: Secret): { readonly authorization?: string } {
  if (user === "" || !password.isSet) return {};
  return { authorization: `Basic ${Buffer.from(`${user}:${password.reveal()}`).toString("base64")}` };
}

type KafkaStoreConfig = Extract<StoreConfig, { kind: "kafka" }>;

function kafkaStore(settings: Settings): KafkaStoreConfig {
  const topic = settings.SVC_OUTPUT_KAFKA_TOPIC;
  const topics: Record<RecordType, string> = {
    flow: topic,
    flow_option: settings.SVC_OUTPUT_KAFKA_TOPIC_FLOW_OPTION || topic,
    telemetry: settings.SVC_OUTPUT_KAFKA_TOPIC_TELEMETRY || topic,
    as_path_hop: topic,
  };
  const wanted = new Set(settings.SVC_OUTPUT_KAFKA_ALLOWED_RECORD_TYPES);
  const replicasMs = 1000 * settings.SVC_OUTPUT_KAFKA_PRODUCER_TIMEOUT;
  const mechanism = settings.SVC_OUTPUT_KAFKA_SASL_MECHANISM;
  const sasl: KafkaStoreConfig["sasl"] =
    mechanism === "OAUTHBEARER"
      ? { mechanism, tokenPath: settings.SVC_OUTPUT_KAFKA_SASL_TOKEN_FILEPATH }
      : {
          mechanism,
          username: settings.SVC_OUTPUT_KAFKA_SASL_USERNAME,
          password: settings.SVC_OUTPUT_KAFKA_SASL_PASSWORD.reveal(),
        };
  return {
    kind: "kafka",
    brokers: settings.SVC_OUTPUT_KAFKA_BROKERS,
    clientId: settings.SVC_OUTPUT_KAFKA_CLIENT_ID,
    topics: Object.fromEntries(Object.entries(topics).filter(([type]) => wanted.has(type as RecordType))),
    autoCreateTopics: settings.SVC_OUTPUT_KAFKA_TOPIC_AUTO_CREATE,
    keyFields: settings.SVC_OUTPUT_KAFKA_PARTITION_KEY,
    acks: settings.SVC_OUTPUT_KAFKA_PRODUCER_REQUIRED_ACKS === "all" ? -1 : 1,
    isIdempotent: settings.SVC_OUTPUT_KAFKA_PRODUCER_IDEMPOTENCE_ENABLE,
    compression: settings.SVC_OUTPUT_KAFKA_PRODUCER_COMPRESSION,
    maxMessageBytes: settings.SVC_OUTPUT_KAFKA_PRODUCER_MAX_MESSAGE_BYTES,
    sasl: settings.SVC_OUTPUT_KAFKA_SASL_ENABLE ? sasl : undefined,
    tls: settings.SVC_OUTPUT_KAFKA_TLS_ENABLE ? tlsOf("KAFKA", settings) : undefined,
    maxInFlight: settings.SVC_OUTPUT_KAFKA_REQUESTS_IN_FLIGHT,
    timeoutMs: 1000 * settings.SVC_OUTPUT_KAFKA_TIMEOUT,
    ...(replicasMs > 0 && { replicasMs }),
  };
}

/** How many records a batch may have: the least of the limits that are set. */
function kafkaBatchRecords(settings: Settings, most: number): number {
  const limits = [
    settings.SVC_OUTPUT_KAFKA_PRODUCER_FLUSH_MESSAGES,
    settings.SVC_OUTPUT_KAFKA_PRODUCER_FLUSH_MAX_MESSAGES,
    most,
  ];
  return Math.min(...limits.filter((limit) => limit > 0));
}

type SearchStoreConfig = Extract<StoreConfig, { kind: "search" }>;

/** Elasticsearch or OpenSearch. @param policy of the life of indices; empty: none. */
function searchStore(word: "ELASTICSEARCH" | "OPENSEARCH", settings: Settings, policy: string): SearchStoreConfig {
  const of = <Name extends string>(name: Name): `SVC_OUTPUT_${typeof word}_${Name}` => `SVC_OUTPUT_${word}_${name}`;
  return {
    kind: "search",
    product: word === "ELASTICSEARCH" ? "elasticsearch" : "opensearch",
    urls: settings[of("ADDRESSES")].map((address) => urlOf(address, settings[of("TLS_ENABLE")], "")),
    headers: basicAuthorization(settings[of("USERNAME")], settings[of("PASSWORD")]),
    tls: {
      caPath: settings[of("TLS_CA_CERT_FILEPATH")] || settings[of("CLIENT_CA_CERT_FILEPATH")],
      certPath: settings[of("CLIENT_CERT_FILEPATH")],
      keyPath: settings[of("CLIENT_KEY_FILEPATH")],
      skipVerification: settings[of("TLS_SKIP_VERIFICATION")],
    },
    isCompressed: settings[of("COMPRESSION")] === "gzip",
    maxConnections: settings[of("REQUESTS_IN_FLIGHT")],
    period: settings[of("INDEX_PERIOD")],
    prefix: settings[of("INDEX_PREFIX")],
    suffix: settings[of("INDEX_SUFFIX")],
    naming: settings[of("INDEX_NAMING")] === "netgloss" ? "netgloss" : settings[of("ECS_ENABLE")] ? "ecs" : "codex",
    template: settings[of("INDEX_TEMPLATE_ENABLE")]
      ? {
          overwrite: settings[of("INDEX_TEMPLATE_OVERWRITE")],
          shards: settings[of("INDEX_TEMPLATE_SHARDS")],
          replicas: settings[of("INDEX_TEMPLATE_REPLICAS")],
          refreshInterval: settings[of("INDEX_TEMPLATE_REFRESH_INTERVAL")],
          codec: settings[of("INDEX_TEMPLATE_CODEC")],
          policy,
          defaultPipeline: settings[of("INDEX_TEMPLATE_PIPELINE_DEFAULT")],
          finalPipeline: settings[of("INDEX_TEMPLATE_PIPELINE_FINAL")],
        }
      : undefined,
  };
}

type NatsStoreConfig = Extract<StoreConfig, { kind: "nats" }>;

function natsStore(settings: Settings): NatsStoreConfig {
  const addresses = settings.SVC_OUTPUT_NATS_ADDRESSES;
  const isTls = settings.SVC_OUTPUT_NATS_TLS_ENABLE || addresses.some((address) => address.startsWith("tls:"));
  return {
    kind: "nats",
    servers: addresses.map((address) => address.replace(/^[a-z]+:\/\//, "")),
    credentials: natsCredentials(settings),
    subject: settings.SVC_OUTPUT_NATS_SUBJECT,
    keyFields: settings.SVC_OUTPUT_NATS_SUBJECT_KEY,
    stream: settings.SVC_OUTPUT_NATS_STREAM_CREATE
      ? {
          name: settings.SVC_OUTPUT_NATS_STREAM_NAME,
          replicas: settings.SVC_OUTPUT_NATS_STREAM_REPLICAS,
          maxAgeMs: 3_600_000 * settings.SVC_OUTPUT_NATS_STREAM_MAX_AGE,
          maxBytes: settings.SVC_OUTPUT_NATS_STREAM_MAX_SIZE,
          duplicateWindowMs: 1000 * settings.SVC_OUTPUT_NATS_STREAM_DUPLICATE_WINDOW,
        }
      : undefined,
    tls: isTls ? tlsOf("NATS", settings) : undefined,
    isTlsFirst: settings.SVC_OUTPUT_NATS_TLS_HANDSHAKE_FIRST,
    timeoutMs: 1000 * settings.SVC_OUTPUT_NATS_TIMEOUT,
  };
}

function natsCredentials(settings: Settings): NatsStoreConfig["credentials"] {
  const token = settings.SVC_OUTPUT_NATS_TOKEN;
  const seed = settings.SVC_OUTPUT_NATS_NKEY_SEED;
  const path = settings.SVC_OUTPUT_NATS_CREDENTIALS_FILEPATH;
  const username = settings.SVC_OUTPUT_NATS_USERNAME;
  if (path !== "") return { kind: "file", path };
  if (seed.isSet) return { kind: "nkey", seed: seed.reveal() };
  if (token.isSet) return { kind: "token", token: token.reveal() };
  if (username === "") return { kind: "none" };
  return { kind: "password", username, password: settings.SVC_OUTPUT_NATS_PASSWORD.reveal() };
}

/** An output to a store, as the settings want it; plain data, with secrets. */
export interface StoreOutput {
  /** The setting that has its addresses. */
  readonly addressSetting: string;
  readonly delivery: DeliveryConfig;
  readonly store: StoreConfig;
}

/** What is done to records before they are handed to a store's thread. */
export interface BeforeStore {
  /** As in the settings. Empty: nothing. */
  readonly rollupFields: readonly string[];
  readonly filter: string;
  readonly thinRate: number;
}

const maxBatchRecords = 50_000;

/** What each output is called everywhere but in the names of its settings. */
const names: Readonly<Record<StoreWord, string>> = {
  ELASTICSEARCH: "elasticsearch",
  OPENSEARCH: "opensearch",
  GENERIC_HTTP: "http",
  CRIBL: "cribl",
  CLICKHOUSE: "clickhouse",
  SPLUNK_HEC: "splunk",
  LOKI: "loki",
  VICTORIALOGS: "victorialogs",
  OTLP: "otlp",
  KAFKA: "kafka",
  NATS: "nats",
  SYSLOG: "syslog",
};

const stores: { readonly [Word in StoreWord]: (settings: Settings) => StoreConfig } = {
  ELASTICSEARCH(settings) {
    const key = settings.SVC_OUTPUT_ELASTICSEARCH_API_KEY;
    const store = searchStore(
      "ELASTICSEARCH",
      settings,
      settings.SVC_OUTPUT_ELASTICSEARCH_INDEX_TEMPLATE_ILM_LIFECYCLE,
    );
    const cloudUrl = cloudIdUrl(settings.SVC_OUTPUT_ELASTICSEARCH_CLOUD_ID);
    return {
      ...store,
      ...(cloudUrl !== undefined && { urls: [cloudUrl] }),
      ...(key.isSet && { headers: { authorization: `ApiKey ${key.reveal()}` } }),
    };
  },
  OPENSEARCH: (settings) =>
    searchStore("OPENSEARCH", settings, settings.SVC_OUTPUT_OPENSEARCH_INDEX_TEMPLATE_ISM_POLICY),
  GENERIC_HTTP: (settings) => ({
    kind: "http",
    ...logServerOf("GENERIC_HTTP", settings, ""),
    format: settings.SVC_OUTPUT_GENERIC_HTTP_FORMAT,
  }),
  CRIBL(settings) {
    const token = settings.SVC_OUTPUT_CRIBL_TOKEN;
    return {
      kind: "http",
      ...serverOf("CRIBL", settings, "/cribl/_bulk"),
      format: settings.SVC_OUTPUT_CRIBL_FORMAT,
      compression: settings.SVC_OUTPUT_CRIBL_COMPRESSION,
      headers: token.isSet ? { authorization: token.reveal() } : {},
    };
  },
  CLICKHOUSE(settings) {
    const password = settings.SVC_OUTPUT_CLICKHOUSE_PASSWORD;
    return {
      kind: "clickhouse",
      ...serverOf("CLICKHOUSE", settings, ""),
      headers: {
        "x-clickhouse-user": settings.SVC_OUTPUT_CLICKHOUSE_USERNAME,
        ...(password.isSet && { "x-clickhouse-key": password.reveal() }),
      },
      isCompressed: settings.SVC_OUTPUT_CLICKHOUSE_COMPRESSION === "gzip",
      database: settings.SVC_OUTPUT_CLICKHOUSE_DATABASE,
      tablePrefix: settings.SVC_OUTPUT_CLICKHOUSE_TABLE_PREFIX,
      isTableMade: settings.SVC_OUTPUT_CLICKHOUSE_TABLE_CREATE,
      ttlDays: settings.SVC_OUTPUT_CLICKHOUSE_TABLE_TTL,
    };
  },
  SPLUNK_HEC(settings) {
    const token = settings.SVC_OUTPUT_SPLUNK_HEC_TOKEN;
    return {
      kind: "splunk",
      ...serverOf("SPLUNK_HEC", settings, ""),
      headers: token.isSet ? { authorization: `Splunk ${token.reveal()}` } : {},
      compression: settings.SVC_OUTPUT_SPLUNK_HEC_COMPRESSION,
      format: settings.SVC_OUTPUT_SPLUNK_HEC_FORMAT,
      index: settings.SVC_OUTPUT_SPLUNK_HEC_INDEX,
      source: settings.SVC_OUTPUT_SPLUNK_HEC_SOURCE,
      sourcetype: settings.SVC_OUTPUT_SPLUNK_HEC_SOURCETYPE,
      hasCimFields: settings.SVC_OUTPUT_SPLUNK_HEC_CIM_ENABLE,
    };
  },
  LOKI(settings) {
    const tenant = settings.SVC_OUTPUT_LOKI_TENANT;
    const server = logServerOf("LOKI", settings, "");
    return {
      kind: "loki",
      ...server,
      headers: { ...server.headers, ...(tenant !== "" && { "x-scope-orgid": tenant }) },
      labelFields: settings.SVC_OUTPUT_LOKI_LABEL_FIELDS,
    };
  },
  VICTORIALOGS: (settings) => ({
    kind: "victoria_logs",
    ...logServerOf("VICTORIALOGS", settings, ""),
    streamFields: settings.SVC_OUTPUT_VICTORIALOGS_STREAM_FIELDS,
  }),
  OTLP: (settings) => ({
    kind: "otlp",
    ...logServerOf("OTLP", settings, "/v1/logs"),
    attributeFields: settings.SVC_OUTPUT_OTLP_ATTRIBUTE_FIELDS,
  }),
  KAFKA: kafkaStore,
  NATS: natsStore,
  SYSLOG: (settings) => ({
    kind: "syslog",
    servers: settings.SVC_OUTPUT_SYSLOG_ADDRESSES,
    protocol: settings.SVC_OUTPUT_SYSLOG_PROTOCOL,
    tls: settings.SVC_OUTPUT_SYSLOG_TLS_ENABLE ? tlsOf("SYSLOG", settings) : undefined,
    confirm: settings.SVC_OUTPUT_SYSLOG_CONFIRM,
    facility: syslogNumber.facility(settings.SVC_OUTPUT_SYSLOG_FACILITY),
    severity: syslogNumber.severity(settings.SVC_OUTPUT_SYSLOG_SEVERITY),
    appName: settings.SVC_OUTPUT_SYSLOG_APP_NAME,
    hostName: settings.SVC_OUTPUT_SYSLOG_HOSTNAME || hostname(),
  }),
};

/** The outputs to stores that are on. */
export function storeOutputs(settings: Settings): (StoreOutput & { readonly before: BeforeStore })[] {
  return allOutputs(settings)
    .filter(({ word, of }) => of[`SVC_OUTPUT_${word}_ENABLE`])
    .map(configure);
}

/** An output by its name, on or not; undefined: there is none of this name. */
export function storeOutput(name: string, settings: Settings): StoreOutput | undefined {
  const found = allOutputs(settings).find((one) => one.name === name);
  return found && configure(found);
}

/** What outputs are called, those that are off included. */
export function storeOutputNames(settings: Settings): string[] {
  return allOutputs(settings).map(({ name }) => name);
}

/** The names of the kinds of outputs. */
export const storeKinds: readonly string[] = Object.values(names);

interface Configurable {
  readonly name: string;
  readonly word: StoreWord;
  /** The settings in which those of its kind are its own. */
  readonly of: Settings;
  readonly addressSetting: string;
}

/** One of each kind, and those that have names: `kafka-edge` is `SVC_OUTPUT_KAFKA__EDGE__…`. */
function allOutputs(settings: Settings): Configurable[] {
  const addresses = (word: StoreWord): string => `SVC_OUTPUT_${word}_${word === "KAFKA" ? "BROKERS" : "ADDRESSES"}`;
  const plain = storeWords.map((word) => ({ name: names[word], word, of: settings, addressSetting: addresses(word) }));
  const named = settings.outputInstances.map((instance) => {
    const { word, name, settings: of } = instance;
    const addressSetting = instanceSetting(instance, addresses(word));
    return { name: `${names[word]}-${name.toLowerCase().replaceAll("_", "-")}`, word, of, addressSetting };
  });
  return [...plain, ...named];
}

function configure({ name, word, of, addressSetting }: Configurable): StoreOutput & { readonly before: BeforeStore } {
  const delivery = deliveryConfig(name, word, of);
  const store = stores[word](of);
  const fields = of[`SVC_OUTPUT_${word}_ROLLUP_FIELDS`];
  if (fields.length === 0)
    return { addressSetting, delivery, store, before: { rollupFields: [], filter: "", thinRate: 0 } };
  // Filters and rates are about the records before they are added up.
  const { filter, thinRate } = delivery;
  return {
    addressSetting,
    delivery: { ...delivery, filter: "", thinRate: 0 },
    store,
    before: { rollupFields: fields, filter, thinRate },
  };
}

function deliveryConfig(name: string, word: StoreWord, settings: Settings): DeliveryConfig {
  const of = <Name extends string>(one: Name): `SVC_OUTPUT_${StoreWord}_${Name}` => `SVC_OUTPUT_${word}_${one}`;
  const state = settings.SVC_STATE_DIRECTORY_PATH;
  return {
    name,
    recordTypes: settings[of("ALLOWED_RECORD_TYPES")],
    filter: settings[of("FILTER")],
    thinRate: settings[of("THIN_RATE")],
    hasScaledCounters: settings.SVC_PROCESSOR_SCALE_COUNTERS_ENABLE,
    dropFields: settings[of("DROP_FIELDS")],
    isEcs: settings[of("ECS_ENABLE")],
    ...timestampField(settings[of("TIMESTAMP_SOURCE")]),
    batchBytes: settings[of("BATCH_MAX_BYTES")],
    batchRecords: word === "KAFKA" ? kafkaBatchRecords(settings, maxBatchRecords) : maxBatchRecords,
    batchDeadlineMs: settings[of("BATCH_DEADLINE")],
    queueBytes: settings[of("QUEUE_SIZE")],
    spoolMode: settings[of("SPOOL_MODE")],
    stateDirectory: state === "" ? "" : join(state, "output", name),
    spoolBytes: settings[of("SPOOL_MAX_SIZE")],
    spoolWhenFull: settings[of("SPOOL_WHEN_FULL")],
    deadLetterBytes: settings[of("DEAD_LETTER_MAX_SIZE")],
    maxInFlight: settings[of("REQUESTS_IN_FLIGHT")],
    timeoutMs: 1000 * settings[of("TIMEOUT")],
    retryMs: settings[of("RETRY_BACKOFF")],
    maxRetryMs: settings[of("RETRY_BACKOFF_MAX")],
  };
}

function timestampField(source: "collect" | "export" | "start" | "end"): Pick<DeliveryConfig, "timestampField"> {
  return source === "collect" ? {} : { timestampField: `flow.${source}.timestamp` };
}
