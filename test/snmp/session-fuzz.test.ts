import assert from "node:assert/strict";
import { test } from "node:test";
import { fuzzSession } from "../support/snmp-session-fuzz.ts";

test("8 000 damaged datagrams: not one exception leaves the session, and it works afterwards", async () => {
  const outcome = await fuzzSession(8_000, 0x5eed);
  assert.ok(outcome.datagrams >= 8_000);
  // The damage reaches every layer.
  assert.ok((outcome.failed["malformed"] ?? 0) > 200);
  for (const reason of [
    "malformed",
    "duplicate",
    "unknown_id",
    "pdu_type",
    "version",
    "credential",
    "engine",
    "digest",
  ]) {
    assert.ok((outcome.ignored[reason] ?? 0) > 0, reason);
  }
});
