// Files of Parquet in a bucket of a store with the API of S3, read by pyarrow.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { SettingsOf } from "../../src/output/index.ts";
import { adapterOf } from "../output/adapter-fixture.ts";
import { batchOf } from "../output/delivery/batch-fixture.ts";
import { keepLedger, numberedFlow } from "../output/delivery/output-contract.ts";
import { httpFaults } from "../output/delivery/fault-proxy.ts";
import { startBucket } from "./ledger/numbered-files.ts";

const signal = new AbortController().signal;
const accepted = { refused: [], retry: [] };

test("parquet: a bucket has each record once through all faults, and never a half file", async (t) => {
  const bucket = await startBucket(t);
  const { proxy } = bucket;
  const adapterTo = (given: Partial<SettingsOf<"PARQUET">>) => adapterOf("PARQUET", { ...bucket.settings, ...given });
  const numbersBelow = async (prefix: string, columns?: "all"): Promise<number[]> => {
    const numbers: number[] = [];
    await bucket.visitNumbers(prefix, (n) => void numbers.push(n), columns);
    return numbers.toSorted((a, b) => a - b);
  };

  const missing = adapterTo({ LOCATION: "s3://nobody/lake" });
  await assert.rejects(missing.open(signal), { blame: "operator", message: /there is no such bucket: create it/ });
  await missing.close();

  const adapter = adapterTo({ LOCATION: "s3://flows/a=b/lake" });
  const warnings = await adapter.open(signal);
  assert.match(warnings[0] ?? "", /without TLS/);
  const lines = Array.from({ length: 500 }, (_, n) => numberedFlow(n));
  for (let tries = 0; tries < 2; tries++) assert.deepEqual(await adapter.send(batchOf(lines), signal), accepted);
  assert.deepEqual(
    await numbersBelow("a=b/lake", "all"),
    lines.map((_, n) => n),
  );
  for (const [i, fault] of httpFaults.filter((one) => one !== "pass").entries()) {
    proxy.fault = fault;
    const batch = batchOf(lines, i + 1);
    const time = AbortSignal.timeout(fault === "slow" ? 20_000 : 1500);
    const sent = adapter.send(batch, time).then(
      () => "sent",
      (error: { blame?: string; name?: string }) => error.blame ?? error.name,
    );
    const result = await sent;
    assert.ok(["sent", "store", "TimeoutError"].includes(String(result)), `${fault}: ${String(result)}`);
    // Whatever became of it, what is there is whole.
    proxy.fault = "pass";
    proxy.cut();
    assert.equal((await numbersBelow("a=b/lake")).length % lines.length, 0, fault);
    assert.deepEqual(await adapter.send(batch, signal), accepted, fault);
    assert.equal((await numbersBelow("a=b/lake")).length, (i + 2) * lines.length, fault);
  }
  await adapter.close();

  const faulted = adapterTo({ LOCATION: "s3://flows/ledger" });
  // While it is written, each file that can be seen is whole.
  const over = new AbortController();
  const looking = (async () => {
    let looks = 0;
    for (; !over.signal.aborted; looks++) {
      await numbersBelow("ledger");
      await sleep(100);
    }
    return looks;
  })();
  const unavailable = (): void => void (proxy.fault = "unavailable");
  await keepLedger(
    t,
    {
      adapter: faulted,
      proxy,
      isExactlyOnce: true,
      numbers: () => numbersBelow("ledger"),
      moods: [() => void (proxy.fault = "pass"), unavailable],
    },
    { records: 6000, step: 50, faultMs: 200, config: { TIMEOUT: 5, BATCH_MAX_BYTES: 100_000 } },
  );
  over.abort();
  assert.ok((await looking) > 0);
});
