import assert from "node:assert/strict";
import { test } from "node:test";
import { RecentDelivery } from "../../../src/output/output-metrics.ts";

test("the last requests say how long a store takes, the slow ones before them do not", () => {
  const recent = new RecentDelivery({ now: () => 0 });
  assert.equal(recent.latency(), undefined);
  for (let i = 0; i < 10; i++) recent.request(9);
  for (let i = 1; i <= 64; i++) recent.request(i / 1000);
  assert.deepEqual(recent.latency(), { medianMs: 33, slowestMs: 64 });
});

test("reasons for refusals are added up, the newest first, and bounded in number and length", () => {
  let now = 0;
  const recent = new RecentDelivery({ now: () => now });
  recent.refused(2, "no mapping");
  now = 5;
  recent.refused(1, "too large");
  now = 7;
  recent.refused(3, "no mapping");
  assert.deepEqual(recent.refusals(), [
    { reason: "no mapping", records: 5, at: 7 },
    { reason: "too large", records: 1, at: 5 },
  ]);
  for (let i = 0; i < 100; i++) recent.refused(1, `${i} ${"x".repeat(1000)}`);
  assert.equal(recent.refusals().length, 8);
  assert.ok(recent.refusals().every(({ reason }) => reason.length <= 501));
});
