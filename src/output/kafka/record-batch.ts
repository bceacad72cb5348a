import { copyLines } from "../../record/index.ts";
import { lengthOf, recordOverhead, type RecordPlaces } from "./kafka-lines.ts";

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

export interface RecordBatchOptions {
  /** Absent: records are not compressed. */
  readonly compression: { readonly bits: number; readonly compress: (bytes: Buffer) => Uint8Array } | undefined;
  readonly crc32c: (bytes: Buffer) => number;
}

/** What a batch says of its records. */
export interface RecordBatchHead {
  /** Of all records; milliseconds since the epoch. */
  readonly time: number;
  readonly producer: { readonly id: bigint; readonly epoch: number } | undefined;
  /** Of the first record; of use with a producer only. */
  readonly sequence: number;
}

/**
 * Writes records into a record batch.
 *
 * @param indexes of the records.
 */
export type RecordBatchEncoder = (records: RecordPlaces, indexes: readonly number[], head: RecordBatchHead) => Buffer;

/** Written here because a library's way, with some objects for each field, takes ten times as long. */
export function createRecordBatchEncoder({ compression, crc32c }: RecordBatchOptions): RecordBatchEncoder {
  /** Of records before they are compressed. Fresh memory would cost more than writing to it. */
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

/** No fewer bytes than the records take. */
function maxLength(records: RecordPlaces, indexes: readonly number[]): number {
  let length = 0;
  for (const index of indexes) length += lengthOf(records, index) + recordOverhead;
  return length;
}

/** @returns where the records end. */
function writeRecords(out: Buffer, start: number, records: RecordPlaces, indexes: readonly number[]): number {
  const { memories, memoryOf, from, to, keyFrom, keyTo } = records;
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
    at = copyLines(memory, begin, end, out, at);
    out[at++] = 0;
  }
  return at;
}

/** Attributes, time and headers take a byte each. @param keyLength -1: no key. */
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
