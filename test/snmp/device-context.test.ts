import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeScopedPdu } from "../../src/snmp/session/message-codec.ts";
import type { UsmCredential } from "../../src/snmp/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createSnmpAgent, listenTcp } from "../support/snmp-agent/index.ts";
import { quickDevice, rigTable, startSnmpRig } from "../support/snmp-rig.ts";
import { until } from "../support/until.ts";

const patient = quickDevice.replace("timeout: 400", "timeout: 5000");

test("a context follows the community of versions 1 and 2c, and another one is other access", async (t) => {
  const rig = await startSnmpRig(t, {
    files: { "devices/lab.yml": `${patient}  context: "10"\n` },
    agent: { communities: ["public@10"] },
  });
  await rig.polled();
  rig.network.attachAgent("192.0.2.1", 161, createSnmpAgent({ table: rigTable, communities: ["public@20"] }));
  await rig.tree.write({ "devices/lab.yml": `${patient}  context: "20"\n` });
  const outcome = await rig.snmp.applyDefinitions(false);
  assert.ok(outcome.ok);
  assert.deepEqual(outcome.report["rediscovering"], ["192.0.2.1:161"]);
  await until("the discovery", async () => (await rig.discoveries()) === 2);
});

test("a context of version 3 is the contextName of each request", async (t) => {
  const guest: UsmCredential = {
    version: "3",
    username: "guest",
    authenticationProtocol: "noauth",
    privacyProtocol: "nopriv",
  };
  const device = patient.replace("communities: [public]", "version: 3\n  v3_credentials: [{username: guest}]");
  const rig = await startSnmpRig(t, {
    files: { "devices/lab.yml": `${device}  context: vrf-1\n` },
    agent: { users: [guest] },
    start: false,
  });
  const contexts = new Set<string>();
  rig.agent.faults.drops = (request) => {
    // The first request of all asks for the engine.
    if (request.version === 3 && request.user.length > 0)
      contexts.add(Buffer.from(decodeScopedPdu(request.data).contextName).toString());
    return false;
  };
  await rig.snmp.start();
  await rig.polled();
  assert.deepEqual([...contexts], ["vrf-1"]);
});

test("a device is discovered and polled by TCP", async (t) => {
  const agent = await listenTcp(createSnmpAgent({ table: rigTable }));
  cleanUp(t, () => agent.close());
  const file = patient
    .replace("192.0.2.1", "127.0.0.1")
    .replace("  communities", `  port: ${agent.port}\n  transport: tcp\n  communities`);
  const rig = await startSnmpRig(t, { files: { "devices/lab.yml": file } });
  await rig.polled();
  assert.equal(agent.connections, 1);
});
