// A collector polls the devices that it is given, by the plans that come with them, and says where the others are.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeviceSharing, DeviceTaker } from "../../src/snmp/index.ts";
import { startSnmpRig } from "../support/snmp-rig.ts";
import { until } from "../support/until.ts";

const device = "192.0.2.1:161";

test("devices are polled while they are given, by the plan that came with them", async (t) => {
  let taker: DeviceTaker | undefined;
  const offered: string[][] = [];
  const held = new Set<string>();
  const plans = new Map<string, string>();
  const sharing: DeviceSharing = {
    member: "here",
    async start(first) {
      await Promise.resolve();
      taker = first;
    },
    offer: (ids) => void offered.push([...ids]),
    holds: (id) => held.has(id),
    memberOf: (id) => (held.has(id) ? "here" : "there"),
    keep: async (id, plan) => void (await Promise.resolve(plans.set(id, plan))),
    leads: () => true,
    rediscover: async () => await Promise.reject(new Error("the collector there does not answer")),
    stop: async () => {},
  };
  const rig = await startSnmpRig(t, { sharing });
  const give = async (plan: string | undefined): Promise<void> => {
    held.add(device);
    await taker?.take([{ deviceId: device, plan, idleMs: undefined }]);
  };

  assert.deepEqual(offered, [[device]]);
  assert.deepEqual([rig.device().state, rig.device().polledBy], ["elsewhere", "there"]);
  const refused = await rig.snmp.rediscoverDevice({ ip: "192.0.2.1", port: 161 });
  assert.deepEqual([refused?.isDone, refused?.report["result"]], [true, "failed"]);
  assert.match(String(refused?.report["error"]), /there does not answer/);

  await give(undefined);
  await rig.polled();
  assert.deepEqual([rig.device().state, rig.device().polledBy], ["up", "here"]);
  assert.ok(plans.has(device));
  assert.equal(await rig.discoveries(), 1);

  held.delete(device);
  const kept = await taker?.release([device]);
  assert.equal(kept?.get(device), plans.get(device));
  const requests = rig.agent.requests;
  await new Promise((resolve) => setTimeout(resolve, 1200));
  assert.equal(rig.agent.requests, requests);

  await give(kept?.get(device));
  await until("a poll", () => rig.agent.requests > requests);
  assert.equal(await rig.discoveries(), 0);
});
