import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { errorStatus, type ErrorStatusName } from "../../src/snmp/index.ts";
import { createSnmpAgent, identifier, oidOf, tableOf } from "../support/snmp-agent/index.ts";
import { patientDevice, rigTable, startSnmpRig } from "../support/snmp-rig.ts";
import { until } from "../support/until.ts";

const refuses = (name: ErrorStatusName, isMeant: (oid: string) => boolean) => ({
  liesAbout: <R extends { errorStatus: number; errorIndex: number }>(
    response: R,
    request: { varbinds: readonly { oid: readonly number[] }[] },
  ): R => {
    const at = request.varbinds.findIndex(({ oid }) => isMeant(oid.join(".")));
    return at < 0
      ? response
      : { ...response, errorStatus: errorStatus[name], errorIndex: name === "tooBig" ? 0 : at + 1 };
  },
});
const isTable = (oid: string): boolean => !oid.startsWith("1.3.6.1.2.1.1.");

describe("a discovery that is answered with errors", { concurrency: 6 }, () => {
  for (const name of ["tooBig", "genErr", "authorizationError"] as const) {
    test(`${name} to everything below the identity: not up, and the error is shown`, async (t) => {
      const files = {
        "devices/lab.yml": patientDevice,
        "device_groups/all.yml": "generic:\n  object_groups: []\nrouter:\n  object_groups: [netif]\n",
      };
      const rig = await startSnmpRig(t, { start: false, files });
      Object.assign(rig.agent.faults, refuses(name, isTable));
      await rig.snmp.start();
      await until("an attempt", async () => ((await rig.discoveries("failed")) ?? 0) >= 1);
      assert.equal(rig.device().state, "undiscovered");
      assert.match(rig.device().lastError?.message ?? "", new RegExp(name));
      rig.agent.faults.liesAbout = undefined;
      await until("up", () => rig.device().state === "up");
      assert.ok("IF-MIB::ifTable" in rig.device().objects);
    });
  }

  test("a credential that is answered with an error is not the one: the next is tried", async (t) => {
    const files = { "devices/lab.yml": patientDevice.replace("[public]", "[lowly, public]") };
    const rig = await startSnmpRig(t, { start: false, files });
    const lowly = createSnmpAgent({ table: rigTable, communities: ["lowly"] });
    Object.assign(
      lowly.faults,
      refuses("authorizationError", () => true),
    );
    rig.network.attach("192.0.2.1", 161, (datagram) =>
      [...lowly.handle(datagram), ...rig.agent.handle(datagram)].map((answer) => ({ datagram: answer })),
    );
    await rig.snmp.start();
    await until("up", () => rig.device().state === "up");
    assert.ok("IF-MIB::ifTable" in rig.device().objects);
  });

  test("an error about one table leaves that as it was in the plan before", async (t) => {
    const rig = await startSnmpRig(t, { files: { "devices/lab.yml": patientDevice } });
    await rig.polled();
    Object.assign(
      rig.agent.faults,
      refuses("genErr", (oid) => oid.startsWith("1.3.6.1.2.1.2.2")),
    );
    await rig.snmp.rediscoverDevice(
      { ip: "192.0.2.1", port: 161 },
      { seconds: 5, signal: new AbortController().signal },
    );
    assert.equal(await rig.discoveries(), 2);
    assert.ok("IF-MIB::ifTable" in rig.device().objects);
    assert.match(rig.device().lastError?.message ?? "", /genErr/);
  });

  test("a device that shows nothing is up, and says so", async (t) => {
    const table = tableOf({ "1.3.6.1.2.1.1.2.0": identifier("1.3.6.1.4.1.9.1") });
    const rig = await startSnmpRig(t, { agent: { table }, files: { "devices/lab.yml": patientDevice } });
    await until("up", () => rig.device().state === "up");
    assert.match(rig.device().lastError?.message ?? "", /shows none of the objects/);
    assert.equal(rig.device().plan?.objects, 0);
  });
});

test("auto goes together with other device groups", async (t) => {
  const rig = await startSnmpRig(t, {
    agent: {
      table: rigTable.with([
        { oid: oidOf("1.3.6.1.2.1.1.2.0"), value: { type: "ObjectIdentifier", value: oidOf("1.3.6.1.4.1.9.1.7") } },
      ]),
    },
    files: {
      "devices/lab.yml": patientDevice.replace("[router]", "[more, auto]"),
      "device_groups/more.yml": "more:\n  object_groups: [system]\n",
    },
  });
  await until("up", () => rig.device().state === "up");
  assert.deepEqual(rig.device().groups, ["more", "router"]);
});
