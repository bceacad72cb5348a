import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeMessage, decodeScopedPdu } from "../../src/snmp/session/message-codec.ts";
import type { UsmCredential } from "../../src/snmp/index.ts";
import { createSnmpAgent, integer, tableOf, type AgentTable, type SnmpAgent } from "../support/snmp-agent/index.ts";
import { baseFiles, DefinitionTree } from "../support/definition-tree.ts";
import { patientDevice, rigTable, startSnmpRig, type SnmpRig } from "../support/snmp-rig.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const fdb = "BRIDGE-MIB::dot1dTpFdbTable";

/** A table that some switches have once for each VLAN. */
const fdbObject = (contexts = ""): string => `${fdb}:
  type: dynamic
${contexts}  index:
    - {type: MacAddress, oid: .1.3.6.1.2.1.17.4.3.1.1, name: fdb.mac, syntax: MacAddress}
  attributes:
    dot1dTpFdbPort: {oid: .1.3.6.1.2.1.17.4.3.1.2, name: bridge.port.index, syntax: Integer32, tag: true}
`;
const groups = {
  "object_groups/bridge.yml": `bridge:\n  objects: [${fdb}]\n`,
  "device_groups/all.yml": `${String(baseFiles["device_groups/all.yml"])}    - bridge\n`,
};

/** The same station is in both VLANs, behind another port. */
const vlan = (port: number): AgentTable => tableOf({ "1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.0.1": integer(port) });

/** What answers is chosen by the community. */
function answerByCommunity(rig: SnmpRig, agents: Readonly<Record<string, SnmpAgent>>): Map<string, number> {
  const asked = new Map<string, number>();
  rig.network.attach("192.0.2.1", 161, (datagram) => {
    const message = decodeMessage(datagram);
    const community = message.version === 3 ? "" : Buffer.from(message.community).toString();
    asked.set(community, (asked.get(community) ?? 0) + 1);
    return (agents[community]?.handle(datagram) ?? []).map((answer) => ({ datagram: answer }));
  });
  return asked;
}

const switchWith = (ports: Readonly<Record<string, number>>): Record<string, SnmpAgent> => ({
  public: createSnmpAgent({ table: rigTable }),
  ...Object.fromEntries(
    Object.entries(ports).map(([context, port]) => [
      `public@${context}`,
      createSnmpAgent({ table: vlan(port), communities: [`public@${context}`] }),
    ]),
  ),
});

const seen = (rig: SnmpRig): unknown[] =>
  [
    ...new Set(rig.of(fdb).map((record) => JSON.stringify([record["snmp.context"], record["bridge.port.index"]]))),
  ].sort();

test("an object is read in each of its contexts, by the community; one that the device does not have is left out", async (t) => {
  const rig = await startSnmpRig(t, {
    files: {
      ...groups,
      "objects/bridge.yml": fdbObject("  contexts: [10, 20, 30]\n"),
      "devices/lab.yml": patientDevice.replace("timeout: 10000", "timeout: 200"),
    },
    persist: tempDirectory(t),
    start: false,
  });
  const asked = answerByCommunity(rig, switchWith({ "10": 3, "20": 5 }));
  await rig.snmp.start();
  await until("both contexts", () => seen(rig).length === 2);
  assert.deepEqual(seen(rig), ['["10",3]', '["20",5]']);
  const [record] = rig.of(fdb);
  assert.equal(record?.["snmp.object.entity"], `${fdb}@${String(record?.["snmp.context"])}.2.0.0.0.0.1`);
  assert.match(rig.device().lastError?.message ?? "", /context "30": no answer/);
  // What has no contexts of its own is asked in none.
  assert.equal(
    rig.of("IF-MIB::ifTable").some((one) => "snmp.context" in one),
    false,
  );
  assert.equal(rig.device().interfaces["1"], "lo");

  const discoveries = asked.get("public@30");
  rig.records.length = 0;
  await rig.restart();
  await until("the plan of the earlier run", () => seen(rig).length === 2);
  assert.equal(asked.get("public@30"), discoveries);
});

test("a device names the contexts of its objects, in the place of those of the definition", async (t) => {
  const device = `${patientDevice}  object_contexts: {${fdb}: [20]}\n`;
  const rig = await startSnmpRig(t, {
    files: { ...groups, "objects/bridge.yml": fdbObject("  contexts: [10]\n"), "devices/lab.yml": device },
    start: false,
  });
  const asked = answerByCommunity(rig, switchWith({ "10": 3, "20": 5 }));
  await rig.snmp.start();
  await until("the context", () => seen(rig).length === 1);
  assert.deepEqual(seen(rig), ['["20",5]']);
  assert.equal(asked.has("public@10"), false);

  // Other contexts of a device are discovered at once, those of a definition with the next discovery.
  await rig.tree.write({ "devices/lab.yml": device.replace("[20]", "[10]") });
  const outcome = await rig.snmp.applyDefinitions(false);
  assert.ok(outcome.ok);
  assert.deepEqual(outcome.report["rediscovering"], ["192.0.2.1:161"]);
  await until("the other context", () => seen(rig).includes('["10",3]'));
  await rig.tree.write({ "devices/lab.yml": patientDevice, "objects/bridge.yml": fdbObject("  contexts: [10, 20]\n") });
  const later = await rig.snmp.applyDefinitions(false);
  assert.ok(later.ok);
});

test("in version 3 the context of an object is its contextName", async (t) => {
  const guest: UsmCredential = {
    version: "3",
    username: "guest",
    authenticationProtocol: "noauth",
    privacyProtocol: "nopriv",
  };
  const device = patientDevice.replace("communities: [public]", "version: 3\n  v3_credentials: [{username: guest}]");
  const rig = await startSnmpRig(t, {
    files: {
      ...groups,
      "objects/bridge.yml": fdbObject(),
      "devices/lab.yml": `${device}  context: core\n  object_contexts: {${fdb}: [vlan-10]}\n`,
    },
    agent: { users: [guest], table: rigTable.with(vlan(7).rows) },
    start: false,
  });
  const contexts = new Set<string>();
  rig.agent.faults.drops = (request) => {
    if (request.version === 3 && request.user.length > 0)
      contexts.add(Buffer.from(decodeScopedPdu(request.data).contextName).toString());
    return false;
  };
  await rig.snmp.start();
  await until("the context", () => seen(rig).length === 1);
  assert.deepEqual(seen(rig), ['["vlan-10",7]']);
  assert.deepEqual([...contexts].sort(), ["core", "vlan-10"]);
});

test("the check names contexts that are there twice, and objects that nobody knows", async (t) => {
  const tree = await DefinitionTree.make(t, {
    ...groups,
    "objects/bridge.yml": fdbObject("  contexts: [10, 10]\n"),
    "devices/lab.yml": `${patientDevice}  object_contexts:\n    BRIDGE-MIB::dot1dTpFdbTabel: [1]\n`,
  });
  const findings = tree.format(await tree.load());
  assert.ok(
    findings.some((finding) => /bridge\.yml:3:18.*contexts 2: "10" is there twice/.test(finding)),
    findings.join("\n"),
  );
  assert.ok(
    findings.some((finding) => /object_contexts: object .*dot1dTpFdbTabel/.test(finding)),
    findings.join("\n"),
  );
});
