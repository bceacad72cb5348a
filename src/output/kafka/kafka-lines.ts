import { forEachLine, type Batch } from "../delivery/batch.ts";
import { endOfKey, type KeyFinder } from "../delivery/line-fields.ts";
import { bufferOf } from "../outlet.ts";
import { recordTypeOf } from "../delivery/output-adapter.ts";
import { recordTypes, type RecordType } from "../delivery/settings.ts";
import type { KafkaSettings } from "./settings.ts";

/**
 * Where the records of a batch lie, by the index of the record. Numbers in arrays, because an object for each record
 * costs as much as compressing it.
 */
export interface RecordPlaces {
  readonly count: number;
  /** The memory may be shared with other threads, and is the batch's: nothing keeps it when the batch is dealt with. */
  readonly memories: readonly Buffer[];
  /** The memory that a record lies in. */
  readonly memoryOf: Uint32Array;
  /** Where its line begins and ends in that memory, without its line feed. */
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  /** Where its key begins and ends; -1: it has none. */
  readonly keyFrom: Int32Array;
  readonly keyTo: Int32Array;
}

/** What the protocol adds to a record, at most. */
export const recordOverhead = 32;

/** Bytes of a record's line and its key. */
export function lengthOf({ from, to, keyFrom, keyTo }: RecordPlaces, index: number): number {
  return (to[index] as number) - (from[index] as number) + (keyTo[index] as number) - (keyFrom[index] as number);
}

/** The records of a batch that is sent. */
export interface BatchLines extends RecordPlaces {
  /** The topic of each record, by its number. */
  readonly topicOf: Uint8Array;
  /** The record that has a position in the batch as it was first made. */
  indexOf(position: number): number;
  /** Whether it is among these: they may be a part of the batch. */
  has(position: number): boolean;
}

export function readLines(batch: Batch, findKey: KeyFinder, topicOf: TopicOf): BatchLines {
  const { count } = batch;
  const memories = batch.chunks.map(bufferOf);
  const [from, to, memoryOf] = [new Uint32Array(count), new Uint32Array(count), new Uint32Array(count)];
  const [keyFrom, keyTo] = [new Int32Array(count), new Int32Array(count)];
  const topics = new Uint8Array(count);
  let memory = 0;
  forEachLine({ chunks: memories }, (lines, begin, end, index) => {
    while (memories[memory] !== lines) memory++;
    memoryOf[index] = memory;
    from[index] = begin;
    to[index] = end;
    const key = findKey(lines, begin, end);
    keyFrom[index] = key;
    keyTo[index] = key < 0 ? -1 : endOfKey(lines, key, end);
    topics[index] = topicOf(lines, begin, end);
  });
  return { count, memories, memoryOf, from, to, keyFrom, keyTo, topicOf: topics, ...createIndex(batch) };
}

function createIndex({ positions, count }: Batch): Pick<BatchLines, "indexOf" | "has"> {
  if (positions === undefined) return { indexOf: (position) => position, has: (position) => position < count };
  const indexes = new Map(positions.map((position, index) => [position, index]));
  return {
    has: (position) => indexes.has(position),
    indexOf(position) {
      const index = indexes.get(position);
      if (index === undefined) throw new RangeError(`the batch has no record ${position}`);
      return index;
    },
  };
}

/** The number of the topic of the line at `from` … `to`. */
type TopicOf = (line: Buffer, from: number, to: number) => number;

/**
 * Reads the topics of an output, and which of them a line goes to. A type without a topic goes with flows, or where others go: the
 * routing before has seen to it that there is none.
 */
export function createKafkaTopics(settings: KafkaSettings): {
  readonly names: readonly string[];
  readonly topicOf: TopicOf;
} {
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
