import assert from "node:assert/strict";
import { test } from "node:test";
import { fuzzFlows } from "../support/flow-fuzz.ts";

test("damaged datagrams of many exporters: no bug shows, and no exporter hurts another", async (t) => {
  const count = Number(process.env["NETGLOSS_FUZZ_COUNT"] ?? 10_000_000);
  const seed = Number(process.env["NETGLOSS_FUZZ_SEED"] ?? 1 + (Date.now() % 0xfffffffe));
  t.diagnostic(`NETGLOSS_FUZZ_COUNT=${count} NETGLOSS_FUZZ_SEED=${seed}`);
  const outcome = await fuzzFlows(count, seed);
  assert.equal(outcome.datagrams, count);
  assert.ok(outcome.records > count / 10);
  t.diagnostic(JSON.stringify(outcome));
});
