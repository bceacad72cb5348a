import assert from "node:assert/strict";
import { test } from "node:test";
import { fuzzSession } from "../support/snmp-session-fuzz.ts";

test("a million damaged datagrams: not one exception leaves the session, and it works afterwards", async (t) => {
  const seed = Number(process.env["NETGLOSS_FUZZ_SEED"] ?? 1 + (Date.now() % 0xfffffffe));
  t.diagnostic(`NETGLOSS_FUZZ_SEED=${seed}`);
  const outcome = await fuzzSession(1_000_000, seed);
  assert.ok(outcome.datagrams >= 1_000_000);
  t.diagnostic(JSON.stringify(outcome));
});
