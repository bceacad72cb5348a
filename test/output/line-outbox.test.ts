import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createLineInbox, createLineOutbox, type LineNote } from "../../src/output/index.ts";
import { createLineBuffer, type Value } from "../../src/record/index.ts";

const slabBytes = 2 * 1024 * 1024;

function rig(slabCount: number) {
  const returned = new SharedArrayBuffer(4 * slabCount);
  const notes: LineNote[] = [];
  const got: string[] = [];
  const lost = { records: 0, bytes: 0 };
  let records = 0;
  const outbox = createLineOutbox({
    returned,
    slabBytes,
    post: (note) => void notes.push(note),
    dropped(count, bytes) {
      lost.records += count;
      lost.bytes += bytes;
    },
  });
  const inbox = createLineInbox(returned, {
    write(lines, count) {
      got.push(Buffer.from(lines).toString());
      records += count;
    },
  });
  const lines = createLineBuffer((bytes) => outbox.allocate(bytes));
  let number = 0;
  return {
    outbox,
    got,
    lost,
    records: () => records,
    /** Writes one piece of so many records, each about so long. */
    write: (count: number, length: number) => {
      for (let i = 0; i < count; i++)
        lines.append(
          new Map<string, Value>([
            ["n", number++],
            ["x", "x".repeat(length)],
          ]),
        );
      outbox.write(lines.take(), count);
    },
    /** The other thread deals with so many notes. */
    deliver: (count: number) => {
      for (const note of notes.splice(0, count)) inbox(note);
    },
    written: () => number,
  };
}

function numbersIn(texts: readonly string[]): number[] {
  return texts
    .join("")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (JSON.parse(line) as { n: number }).n);
}

test("every line arrives once, whole and in order, whenever the other thread gets round to it", () => {
  const step = fc.oneof(
    fc.record({ count: fc.integer({ min: 1, max: 40 }), length: fc.integer({ min: 0, max: 3000 }) }),
    fc.record({ deliver: fc.integer({ min: 0, max: 6 }) }),
    fc.constant("flush" as const),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      const { outbox, got, lost, write, deliver, written, records } = rig(64);
      for (const what of steps) {
        if (what === "flush") outbox.flush();
        else if ("deliver" in what) deliver(what.deliver);
        else write(what.count, what.length);
      }
      outbox.flush();
      deliver(Infinity);
      assert.deepEqual(lost, { records: 0, bytes: 0 });
      assert.equal(records(), written());
      assert.deepEqual(
        numbersIn(got),
        Array.from({ length: written() }, (_, i) => i),
      );
    }),
    { numRuns: 60 },
  );
});

test("when the other thread takes nothing, what does not fit is dropped and counted, and it goes on afterwards", () => {
  const { outbox, got, lost, write, deliver, written, records } = rig(3);
  assert.equal(outbox.hasRoom(), true);
  for (let i = 0; i < 300; i++) write(50, 1000);
  assert.equal(outbox.hasRoom(), false);
  outbox.flush();
  deliver(Infinity);
  assert.ok(lost.records > 0 && lost.bytes > lost.records * 1000);
  assert.equal(records() + lost.records, written());
  assert.equal(outbox.hasRoom(), true);
  const before = lost.records;
  for (let i = 0; i < 100; i++) {
    write(50, 1000);
    outbox.flush();
    deliver(Infinity);
  }
  assert.equal(lost.records, before);
  const numbers = numbersIn(got);
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  );
});

test("a piece longer than a slab is dropped and counted", () => {
  const { outbox, got, lost, write, deliver } = rig(3);
  write(1, 2 * slabBytes);
  write(1, 10);
  outbox.flush();
  deliver(Infinity);
  assert.equal(lost.records, 1);
  assert.deepEqual(numbersIn(got), [1]);
});
