import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { BackgroundTurns } from "../../src/snmp/index.ts";
import { createSnmpAgent } from "../support/snmp-agent/index.ts";
import { patientDevice, quickDevice, rigTable, startSnmpRig } from "../support/snmp-rig.ts";
import { startPatientClock } from "../support/patient-clock.ts";
import { until } from "../support/until.ts";

const count = 300;
/** Seconds. */
const interval = 1;
/** Object types of the definitions, each polled at the interval. */
const types = 2;
/** How often each type of each device is polled while definitions are applied. */
const rounds = 2;

test("definitions applied again and again while devices are polled with 1 000 requests a second: no poll is missed", async (t) => {
  const addresses = Array.from({ length: count }, (_, i) => `198.51.${100 + (i >> 8)}.${i & 255}`);
  const devices = addresses.map((address, i) =>
    quickDevice
      .replace("r1:", `d${i}:`)
      .replace("192.0.2.1", address)
      .replace("timeout: 400", "timeout: 60000")
      .replace("poll_interval: 1", `poll_interval: ${interval}`)
      .replace("{dynamic: 1, stable: 1}", `{dynamic: ${interval}, stable: ${interval}}`),
  );
  const clock = startPatientClock(t);
  const rig = await startSnmpRig(t, { clock, start: false, files: { "devices/lab.yml": devices.join("") } });
  for (const address of addresses) {
    rig.network.attachAgent(address, 161, createSnmpAgent({ table: rigTable }));
  }
  await rig.snmp.start();
  const counts = (address: string): Readonly<Record<string, number>> => rig.device(`${address}:161`).counts;
  const polls = (address: string): number => counts(address)["polls"] ?? 0;
  await until("all are polled", () => addresses.every((address) => polls(address) >= types), 60_000);
  const before = new Map(addresses.map((address) => [address, counts(address)]));
  const since = (address: string, name: string): number =>
    (counts(address)[name] ?? 0) - (before.get(address)?.[name] ?? 0);
  const isDone = (): boolean => addresses.every((address) => since(address, "polls") >= types * rounds);
  let applied = 0;
  while (!isDone() || applied < 3) {
    await rig.tree.write({ "enums/integer/if.yml": `.1.3.6.1.2.1.2.2.1.8:\n  1: 'up ${applied++}'\n` });
    const outcome = await rig.snmp.applyDefinitions(false);
    assert.ok(outcome.ok);
    assert.equal((outcome.report["affected_devices"] as unknown[]).length, count);
  }
  const sum = (name: string): number => addresses.reduce((all, address) => all + since(address, name), 0);
  // By the grid each device is polled once an interval for each type, so that polls show the time.
  const seconds = (sum("polls") / (count * types)) * interval;
  assert.ok(sum("requests") / seconds >= 1000, `${sum("requests")} requests in ${seconds} s of polls`);
  assert.equal(sum("skipped"), 0);
  assert.equal(sum("timeouts"), 0);
  assert.ok(addresses.every((address) => rig.device(`${address}:161`).state === "up"));
});

test("applies that come while one runs are one apply", async (t) => {
  const rig = await startSnmpRig(t, { files: { "devices/lab.yml": patientDevice } });
  await rig.polled();
  const [first, ...others] = await Promise.all(Array.from({ length: 6 }, () => rig.snmp.applyDefinitions(false)));
  for (const outcome of [first, ...others]) assert.equal(outcome?.ok, true);
  // The first runs at once in the next turn, so that all of one turn may join it.
  const runs = await rig.metrics.value("netgloss_snmp_applies_total", { result: "applied" });
  assert.ok(runs === 1 || runs === 2, `${runs} applies`);
});

/** Returns how many messages go in each turn while a turn takes so long. */
async function messagesByTurn(t: TestContext, turnMs: number): Promise<readonly number[]> {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const turns = new BackgroundTurns({ monotonic: () => now });
  let sent = 0;
  const all = Array.from({ length: 200 }, () => turns.next().then(() => sent++));
  const byTurn: number[] = [];
  while (sent < all.length) {
    const before = sent;
    now += turnMs;
    t.mock.timers.tick(1);
    await new Promise((resolve) => setImmediate(resolve));
    byTurn.push(sent - before);
  }
  await Promise.all(all);
  return byTurn;
}

test("discoveries send few messages in a turn of a busy event loop, and go on; many in one that is idle", async (t) => {
  const idle = await messagesByTurn(t, 1);
  assert.deepEqual(idle.slice(0, 3), [8, 16, 32]);
  t.mock.timers.reset();
  const busy = await messagesByTurn(t, 20);
  assert.deepEqual([...new Set(busy)], [4]);
});
