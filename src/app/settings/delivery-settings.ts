import type { Compression, RecordType, SpoolMode } from "../../output/index.ts";
import { GiB, MiB, row, type Setting } from "./setting-row.ts";
import { kafkaRows } from "./kafka-settings.ts";
import { natsRows } from "./nats-settings.ts";
import { syslogRows } from "./syslog-settings.ts";
import { Secret } from "../../text/index.ts";
import {
  bool,
  cloudId,
  filterText,
  headers,
  indexPart,
  int,
  list,
  listOrNone,
  oneOf,
  orEmpty,
  orNone,
  path,
  plainText,
  secret,
  serverAddress,
  size,
  sqlName,
  userName,
} from "./setting-type.ts";

const group = "Outputs";

// All of output's; its room is too large to be loaded for their names.
const recordTypes = keysOf<RecordType>({ flow: 1, flow_option: 1, telemetry: 1, as_path_hop: 1 });
const spoolModes = keysOf<SpoolMode>({ off: 1, overflow: 1, always: 1 });
const compressions = keysOf<Compression>({ none: 1, gzip: 1, zstd: 1 });

/** The word of each output to a store in the names of its settings. */
export const storeWords = [
  "ELASTICSEARCH",
  "OPENSEARCH",
  "GENERIC_HTTP",
  "CRIBL",
  "CLICKHOUSE",
  "SPLUNK_HEC",
  "LOKI",
  "VICTORIALOGS",
  "OTLP",
  "KAFKA",
  "NATS",
  "SYSLOG",
] as const;
export type StoreWord = (typeof storeWords)[number];

/** Settings that every output to a store has. */
const commonRows = (store: string) => ({
  ENABLE: row(group, bool, false, `Sends records to ${store}.`),
  ALLOWED_RECORD_TYPES: row(
    group,
    list(oneOf(recordTypes)),
    ["as_path_hop", "flow_option", "flow", "telemetry"],
    "The records that this output takes: `flow`, `flow_option` (options data of exporters), `telemetry` (SNMP and sFlow counters). `as_path_hop` is accepted; no such records exist.",
  ),
  FILTER: row(
    group,
    filterText,
    "",
    "Only records that this filter is true of go to this output. Empty is all records.",
    "src in 10.0.0.0/8 and dst.tag = pci",
  ),
  THIN_RATE: row(
    group,
    int(0, 10_000_000, "records a second"),
    0,
    "The most flow records that go to this output. Of more, one stands for several: its sampling rate, bytes and packets are multiplied. 0 is no limit.",
  ),
  ROLLUP_FIELDS: row(
    group,
    list(plainText),
    [],
    "Fields by which flow records of SVC_PROCESSOR_ROLLUP_INTERVAL become one, with their bytes and packets added up. Empty is every record as it is.",
    "src.as,dst.as,proto",
  ),
  DROP_FIELDS: row(
    group,
    list(plainText),
    [],
    "Fields that this output leaves out of its records.",
    "flow.export.sequence,flow.export.uptime",
  ),
  TIMESTAMP_SOURCE: row(
    group,
    oneOf(["collect", "export", "start", "end"]),
    "collect",
    "What `@timestamp` is of flows: when they were received, exported, began or ended. Records without that time keep the time of receipt.",
  ),
  ECS_ENABLE: row(
    group,
    bool,
    false,
    "Gives fields the names of the Elastic Common Schema where it has them. Filters, DROP_FIELDS and other settings name fields as before.",
  ),
  BATCH_DEADLINE: row(
    group,
    int(1, 600_000, "milliseconds"),
    2000,
    "The longest time that a record waits for its batch to fill.",
  ),
  BATCH_MAX_BYTES: row(
    group,
    size(1024, 256 * MiB),
    8 * MiB,
    "The most bytes of a batch, before compression. A longer record is a batch by itself.",
  ),
  QUEUE_SIZE: row(
    group,
    size(MiB, 4 * GiB),
    64 * MiB,
    "The queue in memory, requests in flight included. When it is full, records go to the spool, or are dropped and counted.",
  ),
  SPOOL_MODE: row(
    group,
    oneOf(spoolModes),
    "overflow",
    "Where batches wait. `off`: in memory. `overflow`: on disk while half the queue is full or the store does not answer. `always`: on disk, synced. Without SVC_STATE_DIRECTORY_PATH it is `off`.",
  ),
  SPOOL_MAX_SIZE: row(group, size(8 * MiB, 1024 * GiB), 4 * GiB, "The most bytes of the spool on disk."),
  SPOOL_WHEN_FULL: row(
    group,
    oneOf(["drop_oldest", "drop_newest"]),
    "drop_oldest",
    "Which records are dropped and counted when the spool is full.",
  ),
  DEAD_LETTER_MAX_SIZE: row(
    group,
    size(MiB, 64 * GiB),
    64 * MiB,
    "Rotates the file of dead letters (refused records) to `.1` when it has reached this size. One rotated file is kept.",
  ),
  REQUESTS_IN_FLIGHT: row(group, int(1, 64, "requests"), 4, "The most batches that are sent at the same time."),
  TIMEOUT: row(
    group,
    int(1, 3600, "seconds"),
    30,
    "How long to wait for the answer to a request before it is sent again.",
  ),
  RETRY_BACKOFF: row(
    group,
    int(1, 600_000, "milliseconds"),
    1000,
    "How long to wait before the first retry. The wait doubles with each further one. Retries do not end.",
  ),
  RETRY_BACKOFF_MAX: row(group, int(1, 3_600_000, "milliseconds"), 30_000, "The longest wait between retries."),
});

const addressesRow = (fallback: readonly string[]): Setting<readonly string[]> =>
  row(
    group,
    list(serverAddress),
    fallback,
    "The servers of the store. Requests are spread over those that answer.",
    "https://store-1.example.com,https://store-2.example.com",
  );

const tlsRows = {
  TLS_ENABLE: row(
    group,
    bool,
    false,
    "Uses TLS for addresses without a scheme. `https://` and `tls://` say it themselves.",
  ),
  TLS_CA_CERT_FILEPATH: row(
    group,
    path,
    "",
    "CA certificates in PEM. They replace those of the system.",
    "/etc/netgloss/tls/ca.pem",
  ),
  TLS_SKIP_VERIFICATION: row(
    group,
    bool,
    false,
    "Accepts any server certificate. Insecure: others on the path can read and change the records.",
  ),
};

const clientCertificateRows = {
  TLS_CERT_FILEPATH: row(group, path, "", "The client's certificate in PEM.", "/etc/netgloss/tls/client.pem"),
  TLS_KEY_FILEPATH: row(group, path, "", "The client's private key in PEM.", "/etc/netgloss/tls/client-key.pem"),
};

const credentialRows = (user: string) => ({
  USERNAME: row(
    group,
    userName,
    user,
    "The user name of basic authentication, which needs a password, too.",
    "netgloss",
  ),
  PASSWORD: row(group, secret, new Secret(""), "The password of basic authentication."),
});

const httpRows = {
  FORMAT: row(
    group,
    oneOf(["ndjson", "array"]),
    "ndjson",
    "The format of a request: one record a line, or one JSON array.",
  ),
  COMPRESSION: row(group, oneOf(compressions), "none", "The compression of requests. zstd needs Node 22.15 or later."),
};

const searchRows = {
  CLIENT_CA_CERT_FILEPATH: row(
    group,
    path,
    "",
    "Another name of TLS_CA_CERT_FILEPATH, which counts first.",
    "/etc/netgloss/tls/ca.pem",
  ),
  CLIENT_CERT_FILEPATH: row(group, path, "", "The client's certificate in PEM.", "/etc/netgloss/tls/client.pem"),
  CLIENT_KEY_FILEPATH: row(group, path, "", "The client's private key in PEM.", "/etc/netgloss/tls/client-key.pem"),
  COMPRESSION: row(group, oneOf(["none", "gzip"]), "none", "The compression of requests."),
  INDEX_PERIOD: row(
    group,
    oneOf(["rollover", "daily", "monthly"]),
    "rollover",
    "`rollover` writes to data streams; `daily` and `monthly` to indices with the day or month of `@timestamp` (UTC) in their names.",
  ),
  INDEX_PREFIX: row(
    group,
    indexPart,
    "netgloss",
    "The beginning of the names of indices: `<prefix>-flow`.",
    "elastiflow",
  ),
  INDEX_SUFFIX: row(
    group,
    orEmpty(indexPart),
    "",
    "The end of the names of indices: `netgloss-flow-<suffix>`.",
    "edge",
  ),
  INDEX_TEMPLATE_ENABLE: row(group, bool, true, "Creates the index template with the types of all fields."),
  INDEX_TEMPLATE_OVERWRITE: row(
    group,
    bool,
    true,
    "Replaces an existing index template, unless it has a newer version.",
  ),
  INDEX_TEMPLATE_SHARDS: row(group, int(1, 1024, "shards"), 1, "Primary shards of an index."),
  INDEX_TEMPLATE_REPLICAS: row(group, int(0, 64, "replicas"), 0, "Replicas of each shard."),
  INDEX_TEMPLATE_REFRESH_INTERVAL: row(group, plainText, "10s", "How soon records can be searched."),
  INDEX_TEMPLATE_CODEC: row(group, plainText, "best_compression", "The codec that compresses an index."),
  INDEX_TEMPLATE_PIPELINE_DEFAULT: row(group, plainText, "_none", "The default ingest pipeline of the indices."),
  INDEX_TEMPLATE_PIPELINE_FINAL: row(group, plainText, "_none", "The final ingest pipeline of the indices."),
};

const policyRow = (kind: string): Setting<string> =>
  row(
    group,
    orNone(plainText),
    "netgloss",
    `The ${kind} policy of data streams. If it does not exist, it is created: a new index after a day or 30 GB, no deletion. none is no policy.`,
  );

const clickHouseRows = {
  COMPRESSION: row(group, oneOf(["none", "gzip"]), "none", "The compression of requests."),
  DATABASE: row(group, sqlName, "default", "The database of the tables."),
  TABLE_PREFIX: row(
    group,
    sqlName,
    "netgloss_",
    "The beginning of the names of tables: `<prefix>flow`, `<prefix>flow_option`, `<prefix>telemetry`.",
  ),
  TABLE_CREATE: row(group, bool, true, "Creates missing databases, tables and columns."),
  TABLE_TTL: row(
    group,
    int(0, 36_500, "days"),
    30,
    "How long new tables keep rows. 0 is for ever. Existing tables keep their TTL.",
  ),
};

const splunkRows = {
  TLS_ENABLE: row(group, bool, true, "Uses TLS for addresses that are no URLs."),
  FORMAT: row(
    group,
    oneOf(["event", "raw"]),
    "event",
    "`event`: each record is an event with time and host. `raw`: lines, which Splunk takes apart by the source type.",
  ),
  COMPRESSION: row(group, oneOf(["none", "gzip"]), "none", "Of requests."),
  INDEX: row(group, orEmpty(plainText), "", "The index; empty: the one of the token.", "network"),
  SOURCE: row(group, orEmpty(plainText), "", "The source; empty: the one of the token.", "netgloss-1"),
  SOURCETYPE: row(group, plainText, "netgloss", "The source type."),
  CIM_ENABLE: row(
    group,
    bool,
    false,
    "Adds indexed fields of the data model Network Traffic, such as `src_ip`, to events (not to `raw`).",
  ),
};

const labelsRow = (what: string): Setting<readonly string[]> =>
  row(group, listOrNone(plainText), ["flow.export.ip.addr", "system.ip.addr"], what);

const tokenRow = row(group, secret, new Secret(""), "Sent as `Authorization: Bearer <token>`.");
const headersRow = row(group, headers, new Map(), "Further headers of every request.", "x-tenant=edge,x-site=north");
const gzipRow = row(group, oneOf(["none", "gzip"]), "none", "Of requests.");

/** The settings of every output to a store, by the word in their names. */
export const deliverySettings = {
  ...named("ELASTICSEARCH", {
    ...commonRows("Elasticsearch"),
    ADDRESSES: addressesRow(["127.0.0.1:9200"]),
    ...tlsRows,
    ...credentialRows("elastic"),
    CLOUD_ID: row(
      group,
      cloudId,
      "",
      "The Cloud ID of a deployment of Elastic Cloud. It replaces ADDRESSES.",
      "edge:ZXhhbXBsZS5jb20kYWJjJGRlZg==",
    ),
    API_KEY: row(group, secret, new Secret(""), "The API key. It replaces user name and password."),
    ...searchRows,
    INDEX_TEMPLATE_ILM_LIFECYCLE: policyRow("ILM"),
  }),
  ...named("OPENSEARCH", {
    ...commonRows("OpenSearch"),
    ADDRESSES: addressesRow(["127.0.0.1:9200"]),
    ...tlsRows,
    ...credentialRows("admin"),
    ...searchRows,
    INDEX_TEMPLATE_ISM_POLICY: policyRow("ISM"),
  }),
  ...named("GENERIC_HTTP", {
    ...commonRows("any server that accepts JSON by HTTP"),
    ADDRESSES: addressesRow([]),
    ...tlsRows,
    ...clientCertificateRows,
    ...credentialRows(""),
    TOKEN: row(group, secret, new Secret(""), "Sent as `Authorization: Bearer <token>`."),
    HEADERS: row(group, headers, new Map(), "Further headers of every request.", "x-tenant=edge,x-site=north"),
    ...httpRows,
  }),
  ...named("CRIBL", {
    ...commonRows("Cribl Stream"),
    ADDRESSES: addressesRow(["127.0.0.1:10080"]),
    ...tlsRows,
    ...clientCertificateRows,
    TOKEN: row(group, secret, new Secret(""), "The token of the HTTP source, sent as `Authorization: <token>`."),
    ...httpRows,
  }),
  ...named("CLICKHOUSE", {
    ...commonRows("ClickHouse"),
    ADDRESSES: addressesRow(["127.0.0.1:8123"]),
    ...tlsRows,
    ...clientCertificateRows,
    ...credentialRows("default"),
    ...clickHouseRows,
  }),
  ...named("SPLUNK_HEC", {
    ...commonRows("Splunk's HTTP Event Collector"),
    ADDRESSES: addressesRow(["127.0.0.1:8088"]),
    ...tlsRows,
    ...clientCertificateRows,
    TOKEN: row(group, secret, new Secret(""), "The token of the collector, sent as `Authorization: Splunk <token>`."),
    ...splunkRows,
  }),
  ...named("LOKI", {
    ...commonRows("Grafana Loki"),
    ADDRESSES: addressesRow(["127.0.0.1:3100"]),
    ...tlsRows,
    ...clientCertificateRows,
    ...credentialRows(""),
    TOKEN: tokenRow,
    HEADERS: headersRow,
    COMPRESSION: gzipRow,
    TENANT: row(group, orEmpty(plainText), "", "The tenant, sent as `X-Scope-OrgID`.", "network"),
    LABEL_FIELDS: labelsRow(
      "Fields that are labels of the streams. They must have few values: each set of them is a stream.",
    ),
  }),
  ...named("VICTORIALOGS", {
    ...commonRows("VictoriaLogs"),
    ADDRESSES: addressesRow(["127.0.0.1:9428"]),
    ...tlsRows,
    ...clientCertificateRows,
    ...credentialRows(""),
    TOKEN: tokenRow,
    HEADERS: headersRow,
    COMPRESSION: gzipRow,
    STREAM_FIELDS: labelsRow("Fields that define the streams. They must have few values."),
  }),
  ...named("OTLP", {
    ...commonRows("a server that takes logs by OTLP/HTTP"),
    ADDRESSES: addressesRow(["127.0.0.1:4318"]),
    ...tlsRows,
    ...clientCertificateRows,
    ...credentialRows(""),
    TOKEN: tokenRow,
    HEADERS: headersRow,
    COMPRESSION: gzipRow,
    ATTRIBUTE_FIELDS: labelsRow("Fields that are attributes of the log records, too."),
  }),
  ...named("KAFKA", {
    ...commonRows("Kafka"),
    ...kafkaRows,
    ...tlsRows,
    ...clientCertificateRows,
  }),
  ...named("NATS", {
    ...commonRows("NATS JetStream"),
    ...natsRows,
    ...tlsRows,
    ...clientCertificateRows,
  }),
  ...named("SYSLOG", {
    ...commonRows("receivers of syslog"),
    ...syslogRows,
    ...tlsRows,
    TLS_ENABLE: row(group, bool, false, "Uses TLS over TCP."),
    ...clientCertificateRows,
  }),
};

type Named<Word extends string, Rows> = {
  readonly [Name in keyof Rows & string as `SVC_OUTPUT_${Word}_${Name}`]: Rows[Name];
};

function named<const Word extends string, Rows extends object>(word: Word, rows: Rows): Named<Word, Rows> {
  const entries = Object.entries(rows).map(([name, value]) => [`SVC_OUTPUT_${word}_${name}`, value as unknown]);
  return Object.fromEntries(entries) as Named<Word, Rows>;
}

function keysOf<Key extends string>(keys: Readonly<Record<Key, 1>>): readonly Key[] {
  return Object.keys(keys) as Key[];
}
