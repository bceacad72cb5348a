import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { BoundedQueue } from "../../src/output/index.ts";
import { runs } from "../support/runs.ts";

const operation = fc.oneof(
  { weight: 3, arbitrary: fc.record({ put: fc.integer({ min: 1, max: 400 }) }) },
  { weight: 2, arbitrary: fc.record({ lend: fc.integer({ min: 1, max: 400 }) }) },
  { weight: 1, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 2000 }) }) },
);

test("chunks come out whole, in order and unchanged, within the bound", () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 200 }), fc.integer({ min: 300, max: 3000 }), (operations, limit) => {
      const queue = new BoundedQueue(limit);
      const model: Buffer[] = [];
      let taken: { bytes: Uint8Array; expected: Buffer } | undefined;
      let serial = 0;
      let slab = Buffer.alloc(1000);
      let slabEnd = 0;
      let lent = 0;
      let back = 0;
      for (const op of operations) {
        const waiting = model.reduce((sum, chunk) => sum + chunk.length, 0);
        if ("lend" in op) {
          // As a slab has it: one behind the other, in memory that is used again when it is given back.
          if (slabEnd + op.lend > slab.length) {
            slab = Buffer.alloc(1000);
            slabEnd = 0;
          }
          const chunk = slab.subarray(slabEnd, (slabEnd += op.lend)).fill(serial++ % 251);
          const fits = waiting + chunk.length <= limit;
          if (fits) model.push(Buffer.from(chunk));
          let isBack = false;
          const isTaken = queue.lease(chunk, op.lend, () => {
            assert.ok(!isBack, "given back twice");
            isBack = true;
            back++;
            chunk.fill(254);
          });
          assert.equal(isTaken, fits);
          if (fits) lent++;
        } else if ("put" in op) {
          const chunk = Buffer.alloc(op.put, serial++ % 251);
          const fits = waiting + chunk.length <= limit;
          assert.equal(queue.put(chunk, op.put), fits);
          if (fits) model.push(Buffer.from(chunk));
          chunk.fill(255);
        } else {
          // What was taken last must not have been written over since.
          assert.ok(taken?.expected.equals(taken.bytes) ?? true);
          taken = undefined;
          const batch = queue.take(op.take);
          assert.equal(batch === undefined, model.length === 0);
          if (batch === undefined) continue;
          const expected = Buffer.concat(model);
          let chunks = 0;
          let length = 0;
          while (length < batch.bytes.length) length += model[chunks++]?.length ?? Infinity;
          assert.equal(length, batch.bytes.length, "chunks are whole");
          assert.ok(chunks === 1 || length <= op.take);
          assert.equal(batch.count, length);
          taken = { bytes: batch.bytes, expected: expected.subarray(0, length) };
          model.splice(0, chunks);
        }
        assert.equal(
          queue.byteLength,
          model.reduce((sum, chunk) => sum + chunk.length, 0),
        );
        assert.equal(queue.count, queue.byteLength);
      }
      while (queue.take(Infinity) !== undefined);
      assert.equal(back, lent, "everything lent was given back");
    }),
    runs(300),
  );
});

test("a queue of several blocks drains completely", () => {
  const queue = new BoundedQueue(8 * 1024 * 1024);
  const chunk = Buffer.alloc(300_000, 7);
  let put = 0;
  while (queue.put(chunk, 1)) put++;
  assert.equal(put, 27);
  let count = 0;
  let bytes = 0;
  for (let batch = queue.take(1024 * 1024); batch !== undefined; batch = queue.take(1024 * 1024)) {
    count += batch.count;
    bytes += batch.bytes.length;
  }
  assert.deepEqual([count, bytes, queue.count, queue.byteLength], [27, 27 * 300_000, 0, 0]);
});

test("a chunk longer than a block is taken", () => {
  const queue = new BoundedQueue(8 * 1024 * 1024);
  assert.ok(queue.put(Buffer.from("a\n"), 1));
  assert.ok(queue.put(Buffer.alloc(5_000_000, 1), 9));
  assert.ok(queue.put(Buffer.from("b\n"), 1));
  const lengths: number[] = [];
  for (let batch = queue.take(1); batch !== undefined; batch = queue.take(1)) lengths.push(batch.bytes.length);
  assert.deepEqual(lengths, [2, 5_000_000, 2]);
});
