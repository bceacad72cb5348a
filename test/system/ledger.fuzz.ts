import { test } from "node:test";
import { keepLedgers } from "./ledger/ledger-size.ts";

test("two million records, a thousand faults: nothing is missing, nothing is twice where that is promised", (t) =>
  keepLedgers(t, {
    records: 2_000_000,
    faults: 1000,
    faultMs: 100,
    serverKills: 8,
    collectorKills: 8,
    rate: 40_000,
  }));
