import type { Compression, RecordType, SpoolMode } from "../../output/index.ts";
import { GiB, MiB, row, type Setting } from "./setting-row.ts";
import { Secret } from "../../text/index.ts";
import {
  bool,
  headers,
  indexSuffix,
  int,
  list,
  oneOf,
  orEmpty,
  path,
  plainText,
  secret,
  serverAddress,
  size,
  userName,
} from "./setting-type.ts";

const group = "Outputs";

// All of output's; its room is too large to be loaded for their names.
const recordTypes = keysOf<RecordType>({ flow: 1, flow_option: 1, telemetry: 1, as_path_hop: 1 });
const spoolModes = keysOf<SpoolMode>({ off: 1, overflow: 1, always: 1 });
const compressions = keysOf<Compression>({ none: 1, gzip: 1, zstd: 1 });

/** The word of each output to a store in the names of its settings. */
export const storeWords = ["ELASTICSEARCH", "OPENSEARCH", "GENERIC_HTTP", "CRIBL"] as const;
export type StoreWord = (typeof storeWords)[number];

/** Settings that every output to a store has. */
const commonRows = (store: string) => ({
  ENABLE: row(group, bool, false, `Sends records to ${store}.`),
  ALLOWED_RECORD_TYPES: row(
    group,
    list(oneOf(recordTypes)),
    ["as_path_hop", "flow_option", "flow", "telemetry"],
    "The records that this output takes: `flow`, `flow_option` (what exporters report about themselves), `telemetry` (SNMP and sFlow counters). `as_path_hop` is accepted and there are none.",
  ),
  DROP_FIELDS: row(group, list(plainText), [], "Fields that this output leaves out of its records."),
  BATCH_DEADLINE: row(
    group,
    int(1, 600_000, "milliseconds"),
    2000,
    "How long the first record of a batch waits for others at most.",
  ),
  BATCH_MAX_BYTES: row(
    group,
    size(1024, 256 * MiB),
    8 * MiB,
    "A batch has no more bytes than this, before compression; a record that is longer is a batch by itself.",
  ),
  QUEUE_SIZE: row(
    group,
    size(MiB, 4 * GiB),
    64 * MiB,
    "How much waits in memory, what is being sent included, before records are dropped and counted, or go to the spool.",
  ),
  SPOOL_MODE: row(
    group,
    oneOf(spoolModes),
    "overflow",
    "Where batches wait. `off`: in memory. `overflow`: on disk when half the queue is full or the store is away. `always`: on disk, synced, before they count as taken. Without SVC_STATE_DIRECTORY_PATH it is `off`.",
  ),
  SPOOL_MAX_SIZE: row(group, size(8 * MiB, 1024 * GiB), 4 * GiB, "The spool has no more bytes on disk than this."),
  SPOOL_WHEN_FULL: row(
    group,
    oneOf(["drop_oldest", "drop_newest"]),
    "drop_oldest",
    "Which records are dropped, and counted, when the spool is full.",
  ),
  DEAD_LETTER_MAX_SIZE: row(
    group,
    size(MiB, 64 * GiB),
    64 * MiB,
    "A file of refused records that has reached this size is renamed to `.1`, in place of an earlier one.",
  ),
  REQUESTS_IN_FLIGHT: row(group, int(1, 64, "requests"), 4, "How many batches are sent at the same time."),
  TIMEOUT: row(group, int(1, 3600, "seconds"), 30, "How long a request may take before it is tried again."),
  RETRY_BACKOFF: row(
    group,
    int(1, 600_000, "milliseconds"),
    1000,
    "How long to wait after a failure; twice as long after each further one. A batch is tried until it is delivered.",
  ),
  RETRY_BACKOFF_MAX: row(group, int(1, 3_600_000, "milliseconds"), 30_000, "The longest of these waits."),
});

const addressesRow = (fallback: readonly string[]): Setting<readonly string[]> =>
  row(
    group,
    list(serverAddress),
    fallback,
    "Where the store is: each `<host>:<port>` or a URL. With several, requests go round those that work.",
  );

const tlsRows = {
  TLS_ENABLE: row(group, bool, false, "Uses TLS for addresses that are no URLs."),
  TLS_CA_CERT_FILEPATH: row(group, path, "", "Certificates in PEM that are trusted in place of the usual ones."),
  TLS_SKIP_VERIFICATION: row(group, bool, false, "Takes any certificate: whoever is between can read and change all."),
};

const clientCertificateRows = {
  TLS_CERT_FILEPATH: row(group, path, "", "The client's certificate in PEM."),
  TLS_KEY_FILEPATH: row(group, path, "", "The client's private key in PEM."),
};

const credentialRows = (user: string) => ({
  USERNAME: row(group, userName, user, "The user name. Without a password there is no basic authentication."),
  PASSWORD: row(group, secret, new Secret(""), "The password."),
});

const httpRows = {
  FORMAT: row(group, oneOf(["ndjson", "array"]), "ndjson", "A record a line, or one JSON array a request."),
  COMPRESSION: row(group, oneOf(compressions), "none", "Of requests. zstd needs Node 22.15 or later."),
};

const searchRows = {
  CLIENT_CA_CERT_FILEPATH: row(group, path, "", "The same as TLS_CA_CERT_FILEPATH, which counts first."),
  CLIENT_CERT_FILEPATH: row(group, path, "", "The client's certificate in PEM."),
  CLIENT_KEY_FILEPATH: row(group, path, "", "The client's private key in PEM."),
  COMPRESSION: row(group, oneOf(["none", "gzip"]), "none", "Of requests."),
  INDEX_PERIOD: row(
    group,
    oneOf(["rollover", "daily", "monthly"]),
    "rollover",
    "Where records go. `rollover`: data streams. `daily`, `monthly`: indices named after the day or month of `@timestamp`, UTC.",
  ),
  INDEX_SUFFIX: row(group, indexSuffix, "", "Ends the names: `netgloss-flow-<suffix>`."),
  INDEX_TEMPLATE_ENABLE: row(group, bool, true, "Makes the index template, with the types of all fields."),
  INDEX_TEMPLATE_OVERWRITE: row(
    group,
    bool,
    true,
    "Replaces an index template that is there, unless it is a newer one.",
  ),
  INDEX_TEMPLATE_SHARDS: row(group, int(1, 1024, "shards"), 1, "Primary shards of an index."),
  INDEX_TEMPLATE_REPLICAS: row(group, int(0, 64, "replicas"), 0, "Replicas of each shard."),
  INDEX_TEMPLATE_REFRESH_INTERVAL: row(group, plainText, "10s", "After how long records can be found."),
  INDEX_TEMPLATE_CODEC: row(group, plainText, "best_compression", "How an index is compressed."),
  INDEX_TEMPLATE_PIPELINE_DEFAULT: row(group, plainText, "_none", "The ingest pipeline of the indices."),
  INDEX_TEMPLATE_PIPELINE_FINAL: row(group, plainText, "_none", "The ingest pipeline that always comes last."),
};

const policyRow = (kind: string): Setting<string> =>
  row(
    group,
    orEmpty(plainText),
    "netgloss",
    `The ${kind} policy of data streams. One that does not exist is made: a new index after a day or 30 GB, none deleted. Empty: none.`,
  );

/** The settings of every output to a store, by the word in their names. */
export const deliverySettings = {
  ...named("ELASTICSEARCH", {
    ...commonRows("Elasticsearch"),
    ADDRESSES: addressesRow(["127.0.0.1:9200"]),
    ...tlsRows,
    ...credentialRows("elastic"),
    API_KEY: row(group, secret, new Secret(""), "Used in place of a user name."),
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
    ...commonRows("any server that takes JSON by HTTP"),
    ADDRESSES: addressesRow([]),
    ...tlsRows,
    ...clientCertificateRows,
    ...credentialRows(""),
    TOKEN: row(group, secret, new Secret(""), "Sent as `Authorization: Bearer <token>`."),
    HEADERS: row(group, headers, new Map(), "Further headers of every request."),
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
