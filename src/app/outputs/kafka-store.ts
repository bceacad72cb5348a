import type { RecordType, StoreConfig } from "../../output/index.ts";
import type { Settings } from "../settings/index.ts";
import { tlsOf } from "./store-server.ts";

type KafkaStoreConfig = Extract<StoreConfig, { kind: "kafka" }>;

export function kafkaStore(settings: Settings): KafkaStoreConfig {
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
export function kafkaBatchRecords(settings: Settings, most: number): number {
  const limits = [
    settings.SVC_OUTPUT_KAFKA_PRODUCER_FLUSH_MESSAGES,
    settings.SVC_OUTPUT_KAFKA_PRODUCER_FLUSH_MAX_MESSAGES,
    most,
  ];
  return Math.min(...limits.filter((limit) => limit > 0));
}
