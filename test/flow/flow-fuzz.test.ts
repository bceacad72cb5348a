import assert from "node:assert/strict";
import { test } from "node:test";
import { fuzzFlows } from "../support/flow-fuzz.ts";

for (const seed of [6, 7]) {
  test(`10 000 damaged datagrams of seed ${seed}: no bug shows, and no exporter hurts another`, async () => {
    const { records, good } = await fuzzFlows(10_000, seed);
    assert.ok(records > 1000);
    assert.ok(good > 100);
  });
}
