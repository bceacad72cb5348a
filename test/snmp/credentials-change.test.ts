import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createSnmpAgent } from "../support/snmp-agent/index.ts";
import { quickDevice, rigTable, startSnmpRig } from "../support/snmp-rig.ts";
import { until } from "../support/until.ts";

test("a poll in flight with old credentials says nothing about a device that answers to new ones", async (t) => {
  const patient = quickDevice.replace("timeout: 400", "timeout: 500");
  const rig = await startSnmpRig(t, { files: { "devices/lab.yml": patient } });
  await rig.polled();
  const renewed = createSnmpAgent({ table: rigTable, communities: ["fresh"] });
  rig.network.attachAgent("192.0.2.1", 161, renewed);
  await until("a poll with the old community", () => renewed.requests > 0);
  await rig.tree.write({ "devices/lab.yml": patient.replace("[public]", "[fresh]") });
  const outcome = await rig.snmp.applyDefinitions(false);
  assert.ok(outcome.ok);
  await until("the discovery", async () => (await rig.discoveries()) === 2);
  const states = new Set<string>();
  for (let i = 0; i < 40; i++) {
    states.add(rig.device().state);
    await sleep(20);
  }
  assert.deepEqual([...states], ["up"]);
});
