// It takes 10 minutes.
import { test } from "node:test";
import { keepLedgers } from "./ledger/ledger-size.ts";

test("what a collector took is in its store, once where that is promised, whatever fails or is killed", (t) =>
  keepLedgers(t, { records: 60_000, faults: 25, faultMs: 150, serverKills: 1, collectorKills: 2, rate: 20_000 }));
