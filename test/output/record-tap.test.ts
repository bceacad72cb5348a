import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordTap } from "../../src/output/index.ts";

const clock = { at: 0, now: () => clock.at, monotonic: () => clock.at };
const line = (i: number): string => `{"@timestamp":"t","flow.export.ip.addr":"192.0.2.1","n":${i}}\n`;
const batch = (from: number, count: number): Buffer =>
  Buffer.from(Array.from({ length: count }, (_, i) => line(from + i)).join(""));

test("a tap gives everything on, whoever listens, and lends only where it can", () => {
  const seen: number[] = [];
  const lent: number[] = [];
  let done = 0;
  const tap = new RecordTap({
    write: (_, count) => void seen.push(count),
    lease: (_, count, end) => {
      lent.push(count);
      end();
    },
  });
  const listener = tap.listen({ maxRate: 10, clock });
  tap.write(batch(0, 3), 3);
  tap.lease(batch(3, 2), 2, () => void done++);
  assert.deepEqual([seen, lent, done], [[3], [2], 1]);
  assert.equal(Buffer.from(listener.take()).toString("utf8"), Array.from({ length: 5 }, (_, i) => line(i)).join(""));
  assert.equal(listener.take().length, 0);
  listener.close();
  tap.write(batch(0, 1), 1);
  assert.deepEqual(listener.counts(), { seen: 5, examined: 5, matched: 5, passed: 5 });
  // A sink that cannot be lent to is given a copy.
  const copies: Uint8Array[] = [];
  const lines = new Uint8Array(batch(0, 1));
  new RecordTap({ write: (bytes) => void copies.push(bytes) }).lease(lines, 1, () => lines.fill(0));
  assert.equal(Buffer.from(copies[0] ?? []).toString("utf8"), line(0));
});

test("what a listener gets is bounded by its rate, what is looked at by the tap, in each second", () => {
  const tap = new RecordTap({ write() {} });
  const isEven = (bytes: Buffer, start: number, end: number): boolean =>
    /[02468]\}/.test(bytes.toString("utf8", start, end));
  const listener = tap.listen({ maxRate: 100, matches: isEven, clock });
  for (let i = 0; i < 25; i++) tap.write(batch(0, 1000), 1000);
  assert.deepEqual(listener.counts(), { seen: 25_000, examined: 20_000, matched: 10_000, passed: 100 });
  clock.at += 1000;
  tap.write(batch(0, 1000), 1000);
  assert.deepEqual(listener.counts(), { seen: 1000, examined: 1000, matched: 500, passed: 100 });
  clock.at = 0;
});

test("records of devices are no flows; bytes that nobody takes are bounded", () => {
  const tap = new RecordTap({ write() {} });
  const listener = tap.listen({ maxRate: 1_000_000, clock });
  tap.write(Buffer.from('{"system.ip.addr":"192.0.2.9"}\n'), 1);
  assert.deepEqual(listener.counts(), { seen: 1, examined: 1, matched: 0, passed: 0 });
  const long = `{"flow.export.ip.addr":"192.0.2.1","x":"${"y".repeat(1_000_000)}"}\n`;
  for (let i = 0; i < 10; i++) tap.write(Buffer.from(long), 1);
  assert.equal(listener.counts().passed, 4);
  assert.ok(listener.take().length <= 4 * 2 ** 20);
});

test("lent bytes are copied before they are given back", () => {
  const tap = new RecordTap({ write() {}, lease: (_, __, end) => end() });
  const listener = tap.listen({ maxRate: 10, clock });
  const bytes = batch(1, 1);
  tap.lease(bytes, 1, () => bytes.fill(0));
  assert.equal(Buffer.from(listener.take()).toString("utf8"), line(1));
});
