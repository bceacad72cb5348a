import { bufferOf, forEachLine, type Batch } from "../delivery/batch.ts";
import { endOfKey, type KeyFinder } from "../delivery/line-fields.ts";
import { recordTypeOf } from "../delivery/line-fields.ts";
import { recordTypes, type RecordType } from "../delivery/settings.ts";
import type { KafkaSettings } from "./settings.ts";
import { copyBytes, copyLines, fewBytes, viewOf } from "../../record/index.ts";

/**
 * The places of a batch's records, by the index of the record. Arrays of numbers, because an object for each record
 * costs as much as compressing it.
 */
export interface RecordPlaces {
  readonly count: number;
  /** The memories of the batch. They may be shared with other threads, and must not be kept once the batch is dealt with. */
  readonly memories: readonly Buffer[];
  /** The memory that holds each record. */
  readonly memoryOf: Uint32Array;
  /** The start and end of each line in its memory, without its line feed. */
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  /** The start and end of each key; -1: the record has none. */
  readonly keyFrom: Int32Array;
  readonly keyTo: Int32Array;
}

/** The most bytes that the protocol adds to a record. */
export const recordOverhead = 32;

/** Returns the bytes of a record's line and its key. */
export function lengthOf({ from, to, keyFrom, keyTo }: RecordPlaces, index: number): number {
  return (to[index] as number) - (from[index] as number) + (keyTo[index] as number) - (keyFrom[index] as number);
}

/** The records of a batch that is sent. */
export interface BatchLines extends RecordPlaces {
  /** The topic of each record, by its number. */
  readonly topicOf: Uint8Array;
  /** Returns the index of the record with a position in the original batch. */
  indexOf(position: number): number;
  /** Reports whether the record of a position is among these: they may be a part of the batch. */
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

/** Returns the number of the topic for the line at `from` … `to`. */
type TopicOf = (line: Buffer, from: number, to: number) => number;

/**
 * Reads the topics of an output, and returns a function that chooses the topic of a line. A type without a topic goes to that of
 * flows or others; earlier routing ensures that there are no such records.
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

/*
 * A record batch of Kafka, version 2. Numbers are big-endian.
 *
 *     offset  bytes
 *     0       8      first offset, the broker's: 0
 *     8       4      bytes behind this number
 *     12      4      epoch of the partition's leader, the broker's: -1
 *     16      1      2
 *     17      4      CRC-32C of all behind it
 *     21      2      attributes: the three lower bits are the compression
 *     23      4      records, less one
 *     27      8      time of the first record, milliseconds since the epoch
 *     35      8      the latest time of a record
 *     43      8      producer, or -1
 *     51      2      epoch of the producer, or -1
 *     53      4      sequence of the first record, or -1
 *     57      4      records
 *     61             the records, compressed together
 *
 * A record: its length, attributes (0), milliseconds and offset behind the first record, key, value, headers. Lengths and
 * differences are variable in length, and zigzag.
 */
const headBytes = 61;
const checkedFrom = 21;

interface RecordBatchOptions {
  /** Absent: records are not compressed. */
  readonly compression: { readonly bits: number; readonly compress: (bytes: Buffer) => Uint8Array } | undefined;
  readonly crc32c: (bytes: Buffer) => number;
}

/** The head of a record batch. */
interface RecordBatchHead {
  /** The time of all records; milliseconds since the epoch. */
  readonly time: number;
  readonly producer: { readonly id: bigint; readonly epoch: number } | undefined;
  /** The sequence number of the first record; used only with a producer. */
  readonly sequence: number;
}

/**
 * Encodes records as a record batch.
 *
 * @param indexes of the records.
 */
export type RecordBatchEncoder = (records: RecordPlaces, indexes: readonly number[], head: RecordBatchHead) => Buffer;

/** Returns an encoder. It does not use a library, because one that makes objects for each field takes ten times as long. */
export function createRecordBatchEncoder({ compression, crc32c }: RecordBatchOptions): RecordBatchEncoder {
  /** Memory of records before they are compressed. Fresh memory would cost more than writing to it. */
  let scratch = Buffer.alloc(0);

  const compressed = (records: RecordPlaces, indexes: readonly number[]): Buffer => {
    if (compression === undefined) {
      const batch = Buffer.allocUnsafeSlow(headBytes + maxLength(records, indexes));
      return batch.subarray(0, writeRecords(batch, headBytes, records, indexes));
    }
    const length = maxLength(records, indexes);
    if (scratch.length < length) scratch = Buffer.allocUnsafeSlow(length);
    const body = compression.compress(scratch.subarray(0, writeRecords(scratch, 0, records, indexes)));
    const batch = Buffer.allocUnsafeSlow(headBytes + body.length);
    batch.set(body, headBytes);
    return batch;
  };

  return (records, indexes, { time, producer, sequence }) => {
    const batch = compressed(records, indexes);
    batch.writeBigInt64BE(0n, 0);
    batch.writeInt32BE(batch.length - 12, 8);
    batch.writeInt32BE(-1, 12);
    batch.writeInt8(2, 16);
    batch.writeInt16BE(compression?.bits ?? 0, checkedFrom);
    batch.writeInt32BE(indexes.length - 1, 23);
    batch.writeBigInt64BE(BigInt(time), 27);
    batch.writeBigInt64BE(BigInt(time), 35);
    batch.writeBigInt64BE(producer?.id ?? -1n, 43);
    batch.writeInt16BE(producer?.epoch ?? -1, 51);
    batch.writeInt32BE(producer === undefined ? -1 : sequence, 53);
    batch.writeInt32BE(indexes.length, 57);
    batch.writeUInt32BE(crc32c(batch.subarray(checkedFrom)) >>> 0, 17);
    return batch;
  };
}

/** Returns an upper bound of the bytes that the records take. */
function maxLength(records: RecordPlaces, indexes: readonly number[]): number {
  let length = 0;
  for (const index of indexes) length += lengthOf(records, index) + recordOverhead;
  return length;
}

/** Writes records. @returns their end. */
function writeRecords(out: Buffer, start: number, records: RecordPlaces, indexes: readonly number[]): number {
  const { memories, memoryOf, from, to, keyFrom, keyTo } = records;
  const views = memories.map(viewOf);
  const outView = viewOf(out);
  let at = start;
  for (let i = 0; i < indexes.length; i++) {
    const index = indexes[i] as number;
    const memory = memories[memoryOf[index] as number] as Buffer;
    const [begin, end] = [from[index] as number, to[index] as number];
    const [keyBegin, keyEnd] = [keyFrom[index] as number, keyTo[index] as number];
    const keyLength = keyBegin < 0 ? -1 : keyEnd - keyBegin;
    at = writeVarint(out, at, recordLength(i, keyLength, end - begin));
    out[at++] = 0;
    out[at++] = 0;
    at = writeVarint(out, at, i);
    at = writeVarint(out, at, keyLength);
    for (let byte = keyBegin; byte < keyEnd; byte++) out[at++] = memory[byte] as number;
    at = writeVarint(out, at, end - begin);
    // Messages of Protocol Buffers are short.
    if (end - begin > fewBytes) at = copyLines(memory, begin, end, out, at);
    else at = copyBytes(views[memoryOf[index] as number] as DataView, begin, end, outView, at);
    out[at++] = 0;
  }
  return at;
}

/** Returns the length of a record; attributes, time and headers take a byte each. @param keyLength -1: no key. */
function recordLength(index: number, keyLength: number, valueLength: number): number {
  const ofKey = varintLength(keyLength) + Math.max(0, keyLength);
  return 3 + varintLength(index) + ofKey + varintLength(valueLength) + valueLength;
}

const zigzag = (value: number): number => ((value << 1) ^ (value >> 31)) >>> 0;

function varintLength(value: number): number {
  let length = 1;
  for (let rest = zigzag(value); rest > 0x7f; rest >>>= 7) length++;
  return length;
}

function writeVarint(out: Buffer, at: number, value: number): number {
  let rest = zigzag(value);
  for (; rest > 0x7f; rest >>>= 7) out[at++] = (rest & 0x7f) | 0x80;
  out[at++] = rest;
  return at;
}
