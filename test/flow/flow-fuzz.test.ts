// A process of its own: it watches how much memory the process has.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fuzzFlows } from "../support/flow-fuzz.ts";

// With the first seed the interpreter decodes everything as well, with the second every template is compiled at once.
for (const [seed, count] of [
  [4, 3000],
  [6, 2000],
  [7, 8000],
] as const) {
  test(`${count} damaged datagrams of seed ${seed}: no bug shows, and no exporter hurts another`, async () => {
    const { records, good, compared } = await fuzzFlows(count, seed);
    assert.ok(records > count / 10);
    assert.ok(good > count / 100);
    assert.equal(compared, seed === 4 ? count : 0);
  });
}
