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

export interface BatchRecord {
  readonly key: Buffer | undefined;
  readonly value: Buffer;
}

export interface RecordBatchOptions {
  /** Of all records; milliseconds since the epoch. */
  readonly time: number;
  readonly producer: { readonly id: bigint; readonly epoch: number } | undefined;
  /** Of the first record; of use with a producer only. */
  readonly sequence: number;
  /** Absent: records are not compressed. */
  readonly compression: { readonly bits: number; readonly compress: (bytes: Buffer) => Uint8Array } | undefined;
  readonly crc32c: (bytes: Buffer) => number;
}

/** Written here because a library's way, with some objects for each field, takes ten times as long. */
export function encodeRecordBatch(records: readonly BatchRecord[], options: RecordBatchOptions): Buffer {
  const { time, producer, sequence, compression, crc32c } = options;
  const encoded = encodeRecords(records);
  const body = compression === undefined ? encoded : compression.compress(encoded);
  const batch = Buffer.allocUnsafeSlow(headBytes + body.length);
  batch.writeBigInt64BE(0n, 0);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeInt32BE(-1, 12);
  batch.writeInt8(2, 16);
  batch.writeInt16BE(compression?.bits ?? 0, checkedFrom);
  batch.writeInt32BE(records.length - 1, 23);
  batch.writeBigInt64BE(BigInt(time), 27);
  batch.writeBigInt64BE(BigInt(time), 35);
  batch.writeBigInt64BE(producer?.id ?? -1n, 43);
  batch.writeInt16BE(producer?.epoch ?? -1, 51);
  batch.writeInt32BE(producer === undefined ? -1 : sequence, 53);
  batch.writeInt32BE(records.length, 57);
  batch.set(body, headBytes);
  batch.writeUInt32BE(crc32c(batch.subarray(checkedFrom)) >>> 0, 17);
  return batch;
}

function encodeRecords(records: readonly BatchRecord[]): Buffer {
  let size = 0;
  for (const [i, record] of records.entries()) {
    const length = recordLength(record, i);
    size += varintLength(length) + length;
  }
  const out = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const [i, record] of records.entries()) {
    const { key, value } = record;
    at = writeVarint(out, at, recordLength(record, i));
    out[at++] = 0;
    out[at++] = 0;
    at = writeVarint(out, at, i);
    at = writeVarint(out, at, key?.length ?? -1);
    if (key !== undefined) at += key.copy(out, at);
    at = writeVarint(out, at, value.length);
    at += value.copy(out, at);
    out[at++] = 0;
  }
  return out;
}

/** Attributes, time and headers take a byte each. */
function recordLength({ key, value }: BatchRecord, index: number): number {
  const ofKey = key === undefined ? varintLength(-1) : varintLength(key.length) + key.length;
  return 3 + varintLength(index) + ofKey + varintLength(value.length) + value.length;
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
