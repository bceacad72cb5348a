import type { RecordType } from "../delivery/record-type.ts";
import type { TlsConfig } from "../delivery/tls-options.ts";

/** How records are compressed; the words of Kafka. */
export type KafkaCompression = "none" | "gzip" | "snappy" | "lz4" | "zstd";

export type KafkaSaslConfig =
  | {
      readonly mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512";
      readonly username: string;
      readonly password: string;
    }
  | {
      readonly mechanism: "OAUTHBEARER";
      /** A file with a token. It is read at each connection, because tokens expire. */
      readonly tokenPath: string;
    };

/** What the settings say of an output to Kafka; plain data. */
export interface KafkaOutputConfig {
  readonly kind: "kafka";
  /** Brokers of first contact, each `<host>:<port>`; the others are learned from them. One or more. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** The topic of each type of record that the output takes. */
  readonly topics: Readonly<Partial<Record<RecordType, string>>>;
  /** Asks the broker to make a topic that it does not have; what it makes then is the broker's affair. */
  readonly autoCreateTopics: boolean;
  /** The first of these fields that a record has is its key, by which its partition is chosen. */
  readonly keyFields: readonly string[];
  /** -1: all replicas in sync have the records; 1: the leader has. */
  readonly acks: -1 | 1;
  /** A batch that is sent again is recognised by the broker. Needs acks of -1. */
  readonly isIdempotent: boolean;
  readonly compression: KafkaCompression;
  /** Records of one partition that are sent together have no more bytes than this, before compression. */
  readonly maxMessageBytes: number;
  readonly sasl: KafkaSaslConfig | undefined;
  /** undefined: no TLS. */
  readonly tls: TlsConfig | undefined;
  readonly maxInFlight: number;
  readonly timeoutMs: number;
  /** How long a leader waits for its replicas, at most half of {@link timeoutMs}. Left out: that half. */
  readonly replicasMs?: number;
}
