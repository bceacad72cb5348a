import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { OutputAdapter } from "../../../src/output/index.ts";
import { adapterOf } from "../adapter-fixture.ts";
import { batchOf } from "../delivery/batch-fixture.ts";
import { startFaultProxy } from "../delivery/fault-proxy.ts";
import { keepLedger, numberedFlow } from "../delivery/output-contract.ts";
import { startFakeNats, type FakeNats } from "./fake-nats.ts";
import { natsServer, type NatsSettings } from "./nats-fixture.ts";
import { cleanUp } from "../../support/clean-up.ts";

const signal = new AbortController().signal;
const accepted = { refused: [], retry: [] };

function outputTo(t: TestContext, port: number, given: Partial<NatsSettings> = {}): OutputAdapter {
  const adapter = adapterOf("NATS", natsServer(`127.0.0.1:${port}`, given));
  cleanUp(t, () => adapter.close());
  return adapter;
}

const numbersIn = ({ stored }: FakeNats): number[] => stored.map(({ line }) => (JSON.parse(line) as { n: number }).n);

test("the stream is made as it is asked for, once; records have subjects and identities", async (t) => {
  const fake = await startFakeNats(t);
  const adapter = outputTo(t, fake.port, { USERNAME: "me", PASSWORD: "secret" });
  assert.deepEqual(await adapter.open(signal), []);
  assert.deepEqual(await adapter.open(signal), []);
  assert.equal(fake.requests.filter((name) => name.startsWith("STREAM.CREATE.")).length, 1);
  const { name, subjects, duplicate_window: window, max_bytes: bytes } = fake.stream ?? {};
  assert.deepEqual([name, subjects, window, bytes], ["NETGLOSS", ["netgloss.>"], 120e9, -1]);
  assert.deepEqual([fake.hellos[0]?.["user"], fake.hellos[0]?.["pass"]], ["me", "secret"]);

  const lines = [numberedFlow(3), '{"n":4}', '{"system.ip.addr":"a b.*>","n":5}'];
  assert.deepEqual(await adapter.send(batchOf(lines, 36), signal), accepted);
  const again = { ...batchOf([lines[2] ?? "", numberedFlow(9)], 36), positions: [2, 7] };
  assert.deepEqual(await adapter.send(again, signal), accepted);
  assert.deepEqual(
    fake.stored.map(({ subject, id }) => [subject, id]),
    [
      ["netgloss.flow.192_0_2_3", "abc-10-0"],
      ["netgloss.telemetry", "abc-10-1"],
      ["netgloss.telemetry.a_b___", "abc-10-2"],
      ["netgloss.flow.192_0_2_2", "abc-10-7"],
    ],
  );
});

test("each answer means what it says", async (t) => {
  const fake = await startFakeNats(t);
  fake.maxPayload = 600;
  const adapter = outputTo(t, fake.port);
  await adapter.open(signal);
  const error = (err_code: number, description: string) => ({ error: { code: 400, err_code, description } });
  fake.answer = ({ line }) => {
    const { n } = JSON.parse(line) as { n: number };
    if (n === 1) return error(10_054, "message size exceeds maximum allowed");
    return n === 2 ? error(10_167, "too many requests") : { stream: "NETGLOSS", seq: n };
  };
  const long = `{"flow.export.ip.addr":"192.0.2.1","pad":"${"x".repeat(500)}","n":4}`;
  const outcome = await adapter.send(batchOf([numberedFlow(2), numberedFlow(1), numberedFlow(0), long]), signal);
  assert.deepEqual(outcome.retry, [0]);
  assert.deepEqual(
    outcome.refused.toSorted((a, b) => a.index - b.index),
    [
      { index: 1, reason: "message size exceeds maximum allowed" },
      { index: 3, reason: "the record is longer than the server's max_payload" },
    ],
  );
  await assert.rejects(adapter.send(batchOf([numberedFlow(2)]), signal), {
    blame: "store",
    code: "nats_10167",
    message: "netgloss: too many requests",
  });
});

test("a server that says nothing is left, and connected to again", async (t) => {
  const fake = await startFakeNats(t);
  const adapter = outputTo(t, fake.port);
  await adapter.open(signal);
  fake.answer = () => undefined;
  // More than may be without an answer at the same time.
  const lines = Array.from({ length: 5000 }, (_, n) => numberedFlow(n));
  await assert.rejects(adapter.send(batchOf(lines), AbortSignal.timeout(50)), /TimeoutError/);
  fake.answer = () => ({ stream: "NETGLOSS", seq: 1 });
  assert.deepEqual(await adapter.send(batchOf(lines), signal), accepted);
  assert.equal(fake.hellos.length, 2);
  assert.equal(fake.stored.length, 5000);
});

test("the ledger: nothing is missing, nothing twice", async (t) => {
  const fake = await startFakeNats(t);
  const proxy = await startFaultProxy(t, "127.0.0.1", fake.port);
  const adapter = outputTo(t, proxy.port, { TIMEOUT: 0.2 });
  const store = { adapter, proxy, isExactlyOnce: true, numbers: async () => numbersIn(fake) };
  await keepLedger(t, store, { records: 2000, step: 20, faultMs: 20, config: { TIMEOUT: 0.2 } });
});
