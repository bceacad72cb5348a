import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { compressionsAlgorithms, crc32c, readRecordsBatch, Reader } from "@platformatic/kafka";
import { encodeRecordBatch } from "../../../src/output/kafka/record-batch.ts";
import { runs } from "../../support/runs.ts";

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const record = fc.record({ key: fc.option(bytes, { nil: undefined }), value: bytes });

test("a record batch is what a client reads: keys, values, producer, sequence and checksum, compressed or not", () => {
  fc.assert(
    fc.property(
      fc.array(record, { minLength: 1, maxLength: 200 }),
      fc.constantFrom("none", "gzip", "snappy", "lz4", ...(compressionsAlgorithms.zstd.available ? ["zstd"] : [])),
      fc.option(fc.record({ id: fc.bigInt({ min: 0n, max: 2n ** 62n }), epoch: fc.nat(32_767) }), { nil: undefined }),
      fc.nat(0x7fff_ffff),
      (records, name, producer, sequence) => {
        const { bitmask, compressSync } = compressionsAlgorithms[name as "gzip"];
        const encoded = encodeRecordBatch(records, {
          time: 1_800_000_000_123,
          producer,
          sequence,
          crc32c,
          compression: name === "none" ? undefined : { bits: bitmask, compress: compressSync },
        });
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
    const encoded = encodeRecordBatch([{ key: undefined, value }], {
      time: 0,
      producer: undefined,
      sequence: 0,
      crc32c,
      compression: undefined,
    });
    assert.equal(readRecordsBatch(Reader.from(encoded)).records[0]?.value?.length, length);
  }
});
