import type { KafkaOutputConfig } from "../../../src/output/index.ts";

export function kafkaConfig(broker: string, given: Partial<KafkaOutputConfig> = {}): KafkaOutputConfig {
  return {
    kind: "kafka",
    brokers: [broker],
    clientId: "netgloss",
    topics: { flow: "flows", flow_option: "options", telemetry: "counters" },
    autoCreateTopics: true,
    keyFields: ["flow.export.ip.addr"],
    acks: -1,
    isIdempotent: true,
    compression: "none",
    maxMessageBytes: 1_000_000,
    sasl: undefined,
    tls: undefined,
    maxInFlight: 4,
    timeoutMs: 5000,
    ...given,
  };
}
