import { recordTypeOf } from "../delivery/record-type.ts";
import { recordTypes, type RecordType } from "../delivery/settings.ts";
import type { KafkaSettings } from "./settings.ts";

/** The number of the topic of the line at `from` … `to`. */
export type TopicOf = (line: Buffer, from: number, to: number) => number;

/** The topics of an output, and which of them a line goes to. */
export interface KafkaTopics {
  readonly names: readonly string[];
  readonly topicOf: TopicOf;
}

/** A type without a topic goes with flows, or where others go: the routing before has seen to it that there is none. */
export function createKafkaTopics(settings: KafkaSettings): KafkaTopics {
  const { TOPIC: topic } = settings;
  const all: Readonly<Record<RecordType, string>> = {
    flow: topic,
    flow_option: settings.TOPIC_FLOW_OPTION || topic,
    telemetry: settings.TOPIC_TELEMETRY || topic,
    as_path_hop: topic,
  };
  const wanted = recordTypes.filter((type) => settings.ALLOWED_RECORD_TYPES.includes(type));
  const topics: Partial<Record<RecordType, string>> = Object.fromEntries(wanted.map((type) => [type, all[type]]));
  const names = [...new Set(Object.values(topics))];
  if (names.length === 1) return { names, topicOf: () => 0 };
  const numberOf = (type: RecordType): number => Math.max(0, names.indexOf(topics[type] ?? topics.flow ?? ""));
  const numbers = Object.fromEntries(recordTypes.map((type) => [type, numberOf(type)])) as Record<RecordType, number>;
  return { names, topicOf: (line, from, to) => numbers[recordTypeOf(line, from, to)] };
}
