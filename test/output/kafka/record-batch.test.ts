import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  compressionsAlgorithms,
  crc32c,
  murmur2 as libraryMurmur2,
  readRecordsBatch,
  Reader,
} from "@platformatic/kafka";
import { murmur2 } from "../../../src/output/kafka/kafka-output.ts";
import type { RecordPlaces } from "../../../src/output/kafka/record-batch.ts";
import { createRecordBatchEncoder } from "../../../src/output/kafka/record-batch.ts";
import { runs } from "../../support/runs.ts";

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const record = fc.record({ key: fc.option(bytes, { nil: undefined }), value: bytes });
type KeyedRecord = typeof record extends fc.Arbitrary<infer T> ? T : never;

/** Each record in a memory of its own, the key behind the value and a byte. */
function placesOf(records: readonly KeyedRecord[]): RecordPlaces {
  const keyed = records.map(({ key, value }) => ({ keyFrom: key === undefined ? -1 : value.length + 1, key, value }));
  return {
    count: records.length,
    memories: keyed.map(({ key, value }) => Buffer.concat([value, Buffer.of(0x0a), key ?? Buffer.alloc(0)])),
    memoryOf: Uint32Array.from(keyed, (_, i) => i),
    from: new Uint32Array(records.length),
    to: Uint32Array.from(keyed, ({ value }) => value.length),
    keyFrom: Int32Array.from(keyed, ({ keyFrom }) => keyFrom),
    keyTo: Int32Array.from(keyed, ({ keyFrom, key }) => (key === undefined ? -1 : keyFrom + key.length)),
  };
}

const indexesOf = (records: readonly unknown[]): number[] => records.map((_, i) => i);

test("a record batch is what a client reads: keys, values, producer, sequence and checksum, compressed or not", () => {
  fc.assert(
    fc.property(
      fc.array(record, { minLength: 1, maxLength: 200 }),
      fc.constantFrom("none", "gzip", "snappy", "lz4", ...(compressionsAlgorithms.zstd.available ? ["zstd"] : [])),
      fc.option(fc.record({ id: fc.bigInt({ min: 0n, max: 2n ** 62n }), epoch: fc.nat(32_767) }), { nil: undefined }),
      fc.nat(0x7fff_ffff),
      (records, name, producer, sequence) => {
        const { bitmask, compressSync } = compressionsAlgorithms[name as "gzip"];
        const encode = createRecordBatchEncoder({
          crc32c,
          compression: name === "none" ? undefined : { bits: bitmask, compress: compressSync },
        });
        const head = { time: 1_800_000_000_123, producer, sequence };
        const all = [...records, { key: undefined, value: Buffer.from("not of this batch") }];
        // What is written first leaves nothing behind.
        encode(placesOf(all), indexesOf(all), head);
        const encoded = encode(placesOf(all), indexesOf(records), head);
        const read = readRecordsBatch(Reader.from(encoded));
        assert.equal(read.magic, 2);
        assert.equal(read.length, encoded.length - 12);
        assert.equal(read.crc, crc32c(encoded.subarray(21)) >>> 0);
        assert.equal(read.lastOffsetDelta, records.length - 1);
        assert.deepEqual([read.firstTimestamp, read.maxTimestamp], [1_800_000_000_123n, 1_800_000_000_123n]);
        assert.deepEqual([read.producerId, read.producerEpoch], [producer?.id ?? -1n, producer?.epoch ?? -1]);
        assert.equal(read.firstSequence, producer === undefined ? -1 : sequence);
        assert.deepEqual(
          read.records.map(({ key, value, offsetDelta, timestampDelta, headers }) => [
            key === null ? undefined : Buffer.from(key),
            value === null ? undefined : Buffer.from(value),
            offsetDelta,
            timestampDelta,
            headers.length,
          ]),
          records.map(({ key, value }, i) => [key, value, i, 0n, 0]),
        );
      },
    ),
    runs(100),
  );
});

test("records of any length: lengths take one to five bytes", () => {
  for (const length of [0, 1, 63, 64, 8191, 8192, 1_048_575, 1_048_576]) {
    const value = Buffer.alloc(length, 0x61);
    const records = [{ key: undefined, value }];
    const encode = createRecordBatchEncoder({ crc32c, compression: undefined });
    const encoded = encode(placesOf(records), [0], { time: 0, producer: undefined, sequence: 0 });
    assert.equal(readRecordsBatch(Reader.from(encoded)).records[0]?.value?.length, length);
  }
});

test("the hash of a key is that of Kafka's clients", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(10), (key, before) => {
      const within = Buffer.concat([Buffer.alloc(before, 1), key, Buffer.of(7)]);
      assert.equal(murmur2(within, before, before + key.length), libraryMurmur2(Buffer.from(key)) & 0x7fff_ffff);
    }),
    runs(500),
  );
  // From the tests of Kafka's Java client: Utils.murmur2("foobar") is -790332482.
  assert.equal(murmur2(Buffer.from("foobar"), 0, 6), -790_332_482 & 0x7fff_ffff);
});
