import { hostname } from "node:os";
import { join } from "node:path";
import type { DeliveryConfig, StoreConfig } from "../../output/index.ts";
import {
  cloudIdUrl,
  instanceSetting,
  storeWords,
  syslogNumber,
  type Settings,
  type StoreWord,
} from "../settings/index.ts";
import { kafkaBatchRecords, kafkaStore } from "./kafka-store.ts";
import { natsStore } from "./nats-store.ts";
import { searchStore } from "./search-store.ts";
import { logServerOf, serverOf, tlsOf } from "./store-server.ts";

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
