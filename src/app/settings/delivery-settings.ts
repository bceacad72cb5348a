import { clickHouseRows } from "./clickhouse-settings.ts";
import { commonRows } from "./common-delivery-settings.ts";
import { gzipRow, httpRows, labelsRow } from "./http-settings.ts";
import { kafkaRows } from "./kafka-settings.ts";
import { natsRows } from "./nats-settings.ts";
import { policyRow, searchRows } from "./search-settings.ts";
import {
  addressesRow,
  clientCertificateRows,
  credentialRows,
  headersRow,
  tlsRows,
  tokenRow,
} from "./server-settings.ts";
import { row } from "./setting-row.ts";
import { bool, orEmpty, plainText, secret } from "./setting-type.ts";
import { cloudId } from "./address-types.ts";
import { splunkRows } from "./splunk-settings.ts";
import { syslogRows } from "./syslog-settings.ts";
import { Secret } from "../../base/text/index.ts";

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

const group = "Outputs";

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
    TOKEN: tokenRow,
    HEADERS: headersRow,
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
