import assert from "node:assert/strict";
import { test } from "node:test";
import { fuzzFlows } from "../support/flow-fuzz.ts";

// Of an even seed every template is compiled at once, which takes time.
for (const [seed, count] of [
  [6, 2000],
  [7, 18_000],
] as const) {
  test(`${count} damaged datagrams of seed ${seed}: no bug shows, and no exporter hurts another`, async () => {
    const { records, good } = await fuzzFlows(count, seed);
    assert.ok(records > count / 10);
    assert.ok(good > count / 100);
  });
}
