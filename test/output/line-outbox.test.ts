import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import * as fc from "fast-check";
import { LineInbox, createLineMemory, LineOutbox } from "../../src/output/index.ts";
import { LineBuffer, type Value } from "../../src/record/index.ts";
import { until } from "../support/until.ts";
import { runs } from "../support/runs.ts";

const slabBytes = 2 * 1024 * 1024;

/** @param takesWhileWaiting the other thread takes and gives back all while the outbox waits; else it does not come round. */
function rig(slabs: number, takesWhileWaiting = false) {
  const memory = createLineMemory(slabs, slabBytes);
  const got: string[] = [];
  const dones: (() => void)[] = [];
  const lost = { records: 0, bytes: 0 };
  let records = 0;
  let wakes = 0;
  const waits: number[] = [];
  const outbox = new LineOutbox({
    memory,
    wake: () => void wakes++,
    wait(times) {
      waits.push(times);
      if (times < 3) return true;
      if (!takesWhileWaiting) return false;
      inbox.end();
      for (const done of dones.splice(0)) done();
      return true;
    },
    dropped(count, bytes) {
      lost.records += count;
      lost.bytes += bytes;
    },
  });
  const inbox = new LineInbox(memory, {
    write: () => assert.fail("lent lines are not copied"),
    lease(lines, count, done) {
      got.push(Buffer.from(lines).toString());
      records += count;
      dones.push(done);
    },
  });
  const lines = new LineBuffer((bytes) => outbox.allocate(bytes));
  let number = 0;
  return {
    outbox,
    got,
    lost,
    records: () => records,
    wakes: () => wakes,
    waits,
    /** Writes one piece of this many records, each about this long. */
    write: (count: number, length: number) => {
      for (let i = 0; i < count; i++) {
        lines.append(new Map<string, Value>(Object.entries({ n: number++, x: "x".repeat(length) })));
      }
      outbox.write(lines.take(), count);
    },
    /** The other thread takes all lines that were announced to it. */
    take: () => inbox.end(),
    wake: () => inbox.wake(),
    /** This many of the lines that it was lent are not needed any more. */
    giveBack: (count: number) => {
      for (const done of dones.splice(0, count)) done();
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
    fc.record({ giveBack: fc.integer({ min: 0, max: 6 }) }),
    fc.constantFrom("flush" as const, "take" as const),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      const { outbox, got, lost, write, take, giveBack, written, records } = rig(64);
      for (const what of steps) {
        if (what === "flush") outbox.flush();
        else if (what === "take") take();
        else if ("giveBack" in what) giveBack(what.giveBack);
        else write(what.count, what.length);
      }
      outbox.flush();
      take();
      assert.deepEqual(lost, { records: 0, bytes: 0 });
      assert.equal(records(), written());
      assert.deepEqual(
        numbersIn(got),
        Array.from({ length: written() }, (_, i) => i),
      );
    }),
    runs(60),
  );
});

test("when nothing is given back, what does not fit is dropped and counted, and it goes on afterwards", () => {
  const { outbox, got, lost, write, take, giveBack, written, records } = rig(3);
  assert.equal(outbox.hasRoom(), true);
  for (let i = 0; i < 300; i++) {
    write(50, 1000);
    take();
  }
  assert.equal(outbox.hasRoom(), false);
  outbox.flush();
  take();
  assert.ok(lost.records > 0 && lost.bytes > lost.records * 1000);
  assert.equal(records() + lost.records, written());
  giveBack(Infinity);
  assert.equal(outbox.hasRoom(), true);
  const before = lost.records;
  for (let i = 0; i < 300; i++) {
    write(50, 1000);
    outbox.flush();
    take();
    giveBack(Infinity);
  }
  assert.equal(lost.records, before);
  const numbers = numbersIn(got);
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  );
});

test("lines of one long message are more than was free: it waits for the other thread, and nothing is lost", () => {
  const { outbox, got, lost, write, take, written, waits } = rig(3, true);
  for (let i = 0; i < 300; i++) write(50, 1000);
  outbox.flush();
  take();
  assert.deepEqual(lost, { records: 0, bytes: 0 });
  assert.deepEqual(
    numbersIn(got),
    Array.from({ length: written() }, (_, i) => i),
  );
  assert.deepEqual(waits.slice(0, 5), [0, 1, 2, 3, 0]);
});

test("when nothing is taken, notes run out in time, and what cannot be announced yet gathers", () => {
  const { outbox, got, lost, write, take, giveBack, written } = rig(3);
  for (let i = 0; i < 6000; i++) {
    write(1, 10);
    outbox.flush();
  }
  assert.equal(outbox.hasRoom(), false);
  take();
  giveBack(Infinity);
  outbox.flush();
  take();
  assert.equal(lost.records, 0);
  assert.equal(numbersIn(got).length, written());
  assert.equal(outbox.hasRoom(), true);
});

test("a piece longer than a slab is dropped and counted", () => {
  const { outbox, got, lost, write, take } = rig(3);
  write(1, 2 * slabBytes);
  write(1, 10);
  outbox.flush();
  take();
  assert.equal(lost.records, 1);
  assert.deepEqual(numbersIn(got), [1]);
});

test("a reader looks by itself while there are lines, then sleeps, and is woken once by the next ones", async () => {
  const { outbox, write, wake, wakes, records } = rig(3);
  wake();
  write(1, 10);
  outbox.flush();
  await until("the first line", () => records() === 1);
  assert.equal(wakes(), 0, "it was looking");
  await until("the reader to sleep", async () => {
    await pause(100);
    write(1, 10);
    outbox.flush();
    return wakes() === 1;
  });
  const before = records();
  write(1, 10);
  outbox.flush();
  assert.equal(wakes(), 1);
  assert.equal(records(), before);
  wake();
  assert.equal(records(), before + 2);
});
