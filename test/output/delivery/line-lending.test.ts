import assert from "node:assert/strict";
import { test } from "node:test";
import { LineLessee, LineLessor, type LeasedLines } from "../../../src/output/index.ts";
import { until } from "../../support/until.ts";

const nextCycle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function shared(text: string): Uint8Array {
  const bytes = new Uint8Array(new SharedArrayBuffer(text.length));
  bytes.set(Buffer.from(text));
  return bytes;
}

interface Lending {
  readonly lessor: LineLessor;
  readonly messages: (readonly LeasedLines[])[];
  readonly dropped: [reason: string, records: number][];
}

function lend(maxBytes: number, gatherMs = 60_000): Lending {
  const messages: (readonly LeasedLines[])[] = [];
  const dropped: [string, number][] = [];
  const lessor = new LineLessor(
    { maxBytes, maxLeaseBytes: 5, gatherMs, gatherBytes: 4 << 20 },
    { dropped: (reason, records) => void dropped.push([reason, records]) },
    // As postMessage does it.
    (lines) => void messages.push(structuredClone(lines)),
  );
  return { lessor, messages, dropped };
}

test("lines in shared memory are lent, those one behind the other as one; others are copied; all goes in one message", async () => {
  const { lessor, messages, dropped } = lend(1000);
  const slab = shared("a\nb\nc\nd\n");
  const done: string[] = [];
  lessor.lease(slab.subarray(0, 2), 1, () => done.push("a"));
  lessor.lease(slab.subarray(2, 4), 1, () => done.push("b"));
  lessor.lease(slab.subarray(6, 8), 1, () => done.push("d"));
  lessor.lease(Buffer.from("e\n"), 1, () => done.push("e"));
  lessor.write(Buffer.from("f\n"), 1);
  assert.deepEqual(done, ["e"], "what is copied is not needed any more");
  lessor.lease(slab.subarray(0, 4), 2, () => done.push("ab again"));
  lessor.lease(slab.subarray(4, 6), 1, () => done.push("c"));
  await nextCycle();
  assert.equal(messages.length, 0, "a message waits for more");
  lessor.flush();
  lessor.flush();
  assert.equal(messages.length, 1);
  assert.equal(lessor.byteLength, 16);

  const taken: { text: string; count: number; done: () => void }[] = [];
  const returned: (readonly number[])[] = [];
  const lessee = new LineLessee(
    (lines, count, givenBack) => taken.push({ text: Buffer.from(lines).toString(), count, done: givenBack }),
    (leases) => returned.push(leases),
  );
  for (const message of messages) lessee.take(message);
  assert.deepEqual(
    taken.map(({ text, count }) => [text, count]),
    [
      ["a\nb\n", 2],
      ["d\n", 1],
      ["e\n", 1],
      ["f\n", 1],
      ["a\nb\n", 2],
      ["c\n", 1],
    ],
  );
  for (const one of taken.toReversed()) one.done();
  await nextCycle();
  assert.equal(returned.length, 1, "all of a cycle in one message");
  for (const leases of returned) lessor.returned(leases);
  assert.deepEqual(done, ["e", "c", "ab again", "d", "a", "b"]);
  assert.equal(lessor.byteLength, 0);
  assert.deepEqual(dropped, []);
});

test("no more is lent than the queue may hold, and what a dead thread had is counted", async () => {
  const { lessor, messages, dropped } = lend(10);
  let done = 0;
  const one = (): void => void done++;
  lessor.lease(shared("12345\n"), 1, one);
  lessor.lease(shared("12345\n"), 1, one);
  assert.deepEqual([done, dropped], [1, [["queue_full", 1]]]);
  lessor.write(Buffer.from("123\n"), 1);
  lessor.write(Buffer.from("1\n"), 1);
  assert.deepEqual(dropped.slice(1), [["queue_full", 1]]);
  assert.equal(messages.length, 2);
  lessor.reset();
  assert.deepEqual([done, lessor.byteLength], [2, 0]);
  assert.deepEqual(dropped.slice(2), [
    ["thread_died", 1],
    ["thread_died", 1],
  ]);
  lessor.returned([0, 1, 2]);
  assert.equal(done, 2, "leases of the dead thread are not returned twice");
});

test("what waits when the other thread dies is lost with it, and counted", () => {
  const { lessor, messages, dropped } = lend(1000);
  let done = 0;
  lessor.lease(shared("1\n"), 1, () => void done++);
  lessor.reset();
  lessor.flush();
  assert.deepEqual([done, messages.length, dropped], [1, 0, [["thread_died", 1]]]);
});

test("a message goes when there is much to bring, or after its time", async () => {
  const { lessor, messages } = lend(80, 1);
  lessor.lease(shared("123456789\n"), 1, () => {});
  assert.equal(messages.length, 1, "an eighth of the queue");
  lessor.lease(shared("1234\n"), 1, () => {});
  lessor.lease(shared("1\n"), 1, () => {});
  assert.equal(messages.length, 1);
  await until("the others follow", () => messages.length === 2);
  assert.equal(messages[1]?.length, 2);
});
