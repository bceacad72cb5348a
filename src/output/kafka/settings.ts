import {
  bool,
  brokerAddress,
  int,
  list,
  listOrNone,
  MiB,
  oneOf,
  orEmpty,
  path,
  plainText,
  row,
  secret,
  size,
  wordOrNumber,
  type SettingType,
} from "../../base/settings/index.ts";
import { Secret } from "../../base/text/index.ts";
import { zstdFault } from "../http/server-settings.ts";
import { commonRows } from "../delivery/settings.ts";
import { clientCertificateRows, tlsOf, tlsRows } from "../http/server-settings.ts";
import { outputKind, type OwnSettings } from "../output-kind.ts";

/** A topic of Kafka. */
const topicName: SettingType<string> = {
  expected: "a topic: letters, digits, dots, dashes and underscores, 249 at most",
  parse: (value) => (/^[A-Za-z0-9._-]{1,249}$/.test(value) && !/^\.\.?$/.test(value) ? value : undefined),
  format: (value) => value,
};

const userMechanisms = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] as const;

const rows = {
  ...commonRows("Kafka", "BROKERS"),
  BROKERS: row(
    list(brokerAddress),
    ["127.0.0.1:9092"],
    "The brokers of the first contact. The client learns the others from them.",
    "kafka-1.example.com:9092,kafka-2.example.com:9092",
  ),
  CLIENT_ID: row(plainText, "netgloss", "The client's name in logs and quotas of the brokers."),
  TOPIC: row(topicName, "netgloss", "The topic of all records that have no topic of their own."),
  TOPIC_FLOW_OPTION: row(
    orEmpty(topicName),
    "",
    "The topic of options data of exporters. Empty is TOPIC.",
    "netgloss-flow-option",
  ),
  TOPIC_TELEMETRY: row(
    orEmpty(topicName),
    "",
    "The topic of SNMP and sFlow counters. Empty is TOPIC.",
    "netgloss-telemetry",
  ),
  TOPIC_AUTO_CREATE: row(
    bool,
    true,
    "Asks the broker to create a topic that does not exist. The broker's settings decide whether it does, and the number of partitions.",
  ),
  FORMAT: row(
    oneOf(["json", "protobuf", "goflow2"]),
    "json",
    "What a message is: the record's line of JSON, a `Flow` of proto/flow/v1/flow.proto, or a `FlowMessage` of goflow2's flow.proto, which has fewer fields and only flows.",
    {
      needs: [
        { is: "protobuf", must: { ECS_ENABLE: false } },
        { is: "goflow2", must: { ECS_ENABLE: false } },
      ],
      fault: (format, valueOf) =>
        format === "goflow2" && String(valueOf("ALLOWED_RECORD_TYPES")) !== "flow"
          ? "must not be goflow2 for other records than flows: set ALLOWED_RECORD_TYPES to flow"
          : undefined,
    },
  ),
  PROTOBUF_DELIMITED: row(
    bool,
    false,
    "Each message of `protobuf` or `goflow2` has its length before it, as goflow2 writes them.",
    { needs: [{ when: { FORMAT: ["json"] }, must: { FORMAT: "protobuf" } }] },
  ),
  PARTITION_KEY: row(
    listOrNone(plainText),
    ["flow.export.ip.addr", "system.ip.addr"],
    "The first of these fields that a record has is its key. The key chooses the partition as Kafka's Java client does. With none: round robin.",
  ),
  PRODUCER_REQUIRED_ACKS: row(
    wordOrNumber({ all: "-1", leader: "1" }),
    "all",
    "Who has a record before it counts as delivered: all replicas in sync, or the leader. 0 is refused, because losses would not be noticed.",
  ),
  PRODUCER_IDEMPOTENCE_ENABLE: row(
    bool,
    true,
    "Brokers recognise a batch that is sent again. Needs PRODUCER_REQUIRED_ACKS all.",
  ),
  PRODUCER_COMPRESSION: row(
    wordOrNumber({ none: "0", gzip: "1", snappy: "2", lz4: "3", zstd: "4" }),
    "lz4",
    "The compression of records. zstd needs Node 22.15 or later.",
    { fault: zstdFault },
  ),
  PRODUCER_MAX_MESSAGE_BYTES: row(
    size(1024, 256 * MiB),
    1_000_000,
    "The most bytes of a record batch of one partition, before compression. At most `message.max.bytes` of the broker.",
  ),
  PRODUCER_FLUSH_MESSAGES: row(
    int(0, 1_000_000, "records"),
    0,
    "A batch with this many records is sent at once. 0: only the limit of 50000 records applies.",
  ),
  PRODUCER_FLUSH_MAX_MESSAGES: row(
    int(0, 1_000_000, "records"),
    0,
    "The most records of a batch. 0 is no limit but 50000 records.",
  ),
  PRODUCER_TIMEOUT: row(
    int(0, 3600, "seconds"),
    10,
    "How long a leader waits for its replicas. At most half of TIMEOUT, so that it can still say so; 0 is that half.",
  ),
  SASL_ENABLE: row(bool, false, "Authenticates by SASL.", {
    needs: [
      { when: { SASL_MECHANISM: ["OAUTHBEARER"] }, must: { SASL_TOKEN_FILEPATH: "set" } },
      { when: { SASL_MECHANISM: userMechanisms }, must: { SASL_USERNAME: "set", SASL_PASSWORD: "set" } },
    ],
  }),
  SASL_MECHANISM: row(oneOf([...userMechanisms, "OAUTHBEARER"]), "PLAIN", "The SASL mechanism."),
  SASL_USERNAME: row(orEmpty(plainText), "", "The user name for PLAIN and SCRAM.", "netgloss"),
  SASL_PASSWORD: row(secret, new Secret(""), "The password for PLAIN and SCRAM."),
  SASL_TOKEN_FILEPATH: row(
    path,
    "",
    "A file with the token for OAUTHBEARER. It is read at each connection.",
    "/run/secrets/kafka-token",
  ),
  ...tlsRows,
  ...clientCertificateRows,
};
export type KafkaSettings = OwnSettings<typeof rows>;

export const kafka = outputKind(rows, {
  word: "KAFKA",
  name: "kafka",
  addresses: "BROKERS",
  tls: (settings) => (settings.TLS_ENABLE ? tlsOf(settings) : undefined),
  maxBatchRecords({ PRODUCER_FLUSH_MESSAGES, PRODUCER_FLUSH_MAX_MESSAGES }) {
    const limits = [PRODUCER_FLUSH_MESSAGES, PRODUCER_FLUSH_MAX_MESSAGES].filter((limit) => limit > 0);
    return Math.min(...limits);
  },
  async load() {
    const { KafkaOutput } = await import("./kafka-output.ts");
    // Import it late: it loads a large library, which tests of the output do without.
    const { createKafkaClient } = await import("./kafka-client.ts");
    return (settings, context) => new KafkaOutput(settings, context, () => createKafkaClient(settings));
  },
});
