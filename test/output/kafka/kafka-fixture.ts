import type { SettingsOf } from "../../../src/output/index.ts";
import { settingsFor } from "../adapter-fixture.ts";

export type KafkaSettings = SettingsOf<"KAFKA">;

export function kafkaSettings(broker: string, given: Partial<KafkaSettings> = {}): KafkaSettings {
  return settingsFor("KAFKA", {
    BROKERS: [broker],
    TOPIC: "flows",
    TOPIC_FLOW_OPTION: "options",
    TOPIC_TELEMETRY: "counters",
    PARTITION_KEY: ["flow.export.ip.addr"],
    PRODUCER_COMPRESSION: "none",
    PRODUCER_TIMEOUT: 0,
    TIMEOUT: 5,
    ...given,
  });
}

/** Only flows are sent, to one topic. */
export function flowsTo(topic: string): Partial<KafkaSettings> {
  return { ALLOWED_RECORD_TYPES: ["flow"], TOPIC: topic };
}
