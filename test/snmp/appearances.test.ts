import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { systemClock, type Clock } from "../../src/base/report/index.ts";
import type { Device } from "../../src/snmp/definitions/definitions.ts";
import { deviceCredentials } from "../../src/snmp/definitions/definitions.ts";
import type { DevicePlan } from "../../src/snmp/discovery/device-plan.ts";
import { discover } from "../../src/snmp/discovery/discover.ts";
import { MemoryBudget } from "../../src/snmp/limits.ts";
import { Appearances } from "../../src/snmp/poller/appearances.ts";
import { DeviceCounts } from "../../src/snmp/poller/device-counts.ts";
import type { Message } from "../../src/snmp/session/message-codec.ts";
import type { Pdu } from "../../src/snmp/session/message-codec.ts";
import type { Credential } from "../../src/snmp/session/security.ts";
import { errorStatus } from "../../src/snmp/session/snmp-error.ts";
import { oidStartsWith } from "../../src/snmp/session/ber.ts";
import { cleanUp } from "../support/clean-up.ts";
import { DefinitionTree, type Files } from "../support/definition-tree.ts";
import { createTable, integer, oidOf, type AgentTable, type SnmpAgent } from "../support/snmp-agent/index.ts";
import { patientDevice, rigTable, startSnmpRig, type SnmpRig } from "../support/snmp-rig.ts";
import { createManualClock, createSessionFixture, type FixtureOptions } from "../support/snmp-session-fixture.ts";
import { until } from "../support/until.ts";

const lookEveryMs = 600_000;
const peerState = "1.3.6.1.2.1.15.3.1.2";
const peerTable = "BGP4-MIB::bgpPeerTable";
const withPeer = (table: AgentTable): AgentTable =>
  table.with([{ oid: oidOf(`${peerState}.192.0.2.9`), value: integer(6) }]);

const shortDevice = patientDevice.replace("timeout: 10000", "timeout: 1000");
const withoutObjects = createTable(rigTable.rows.filter(({ oid }) => oidStartsWith(oid, oidOf("1.3.6.1.2.1.1.2"))));
const isGetNext = (message: Message): boolean => message.version !== 3 && message.pdu.type === "getNext";

/** Twenty tables that no device has, before and after that of the peers. */
const absent = Array.from(
  { length: 20 },
  (_, i) =>
    `ABSENT-MIB::table${i}:\n  type: dynamic\n  index: [{type: Integer, oid: .1.3.6.1.2.1.${10 + i}.9.1.1, name: x${i}.index, syntax: Integer32}]\n` +
    `  attributes:\n    absent${i}: {oid: .1.3.6.1.2.1.${10 + i}.9.1.2, name: x${i}.y, syntax: Integer32}\n`,
).join("");
const bgp: Files = {
  "devices/lab.yml": patientDevice,
  "objects/bgp.yml":
    `${peerTable}:\n  type: dynamic\n  index:\n` +
    "    - {type: IpAddress, oid: .1.3.6.1.2.1.15.3.1.7, name: bgp.peer.ip.addr, syntax: IpAddress}\n" +
    `  attributes:\n    bgpPeerState: {oid: .${peerState}, name: bgp.peer.state, syntax: Integer32}\n` +
    absent,
  "object_groups/bgp.yml": `bgp:\n  objects: [${[peerTable, ...Array.from({ length: 20 }, (_, i) => `ABSENT-MIB::table${i}`)].join(", ")}]\n`,
  "device_groups/all.yml": "generic:\n  object_groups: [system]\nrouter:\n  object_groups: [system, netif, bgp]\n",
};

/** The room polls the device, and time passes in leaps. */
interface Lab {
  readonly rig: SnmpRig;
  /** This many times of a look pass, each with a poll. */
  readonly pass: (times: number) => Promise<void>;
}

async function startLab(t: TestContext, files: Files = {}, table = rigTable): Promise<Lab> {
  // Only `pass` moves the time of day: a test that crossed a time of a look by itself would see one more.
  let now = systemClock.now();
  const clock: Clock = { now: () => now, monotonic: () => systemClock.monotonic() };
  const rig = await startSnmpRig(t, { agent: { uptime: 1e6, table }, files: { ...bgp, ...files }, clock });
  await until("the first poll", () => rig.device().lastPoll !== undefined && rig.device().state === "up");
  return {
    rig,
    async pass(times) {
      for (let i = 0; i < times; i++) {
        now += lookEveryMs;
        const polls = Number(await rig.count("polls_total"));
        // A poll that ran meanwhile has looked, or the next one does.
        await until("polls", async () => Number(await rig.count("polls_total")) >= polls + 3);
      }
    },
  };
}

describe("what a device has only after its discovery", { concurrency: 4 }, () => {
  test("is polled after two looks, though nothing else about the device changes", async (t) => {
    const { rig, pass } = await startLab(t);
    await pass(1);
    assert.deepEqual([peerTable in rig.device().objects, await rig.count("looks_total")], [false, 1]);
    assert.deepEqual([await rig.discoveries(), await rig.count("appearances_total")], [1, 0]);
    rig.agent.table = withPeer(rig.agent.table);
    await pass(2);
    await until("the table", () => rig.of(peerTable).length > 0);
    assert.equal(rig.of(peerTable)[0]?.["bgp.peer.ip.addr"], "192.0.2.9");
    assert.deepEqual([await rig.discoveries(), await rig.count("appearances_total")], [2, 1]);
  });

  test("a definition that waits for a discovery waits on: a look does not anticipate it", async (t) => {
    const later = { "object_groups/bgp.yml": "bgp:\n  objects: [ABSENT-MIB::table1, ABSENT-MIB::table2]\n" };
    const { rig, pass } = await startLab(t, later, withPeer(rigTable));
    await rig.tree.write({ "object_groups/bgp.yml": bgp["object_groups/bgp.yml"] });
    assert.ok((await rig.snmp.applyDefinitions(false)).ok);
    await pass(2);
    assert.deepEqual([await rig.count("looks_total"), await rig.count("appearances_total")], [2, 0]);
    assert.deepEqual([await rig.discoveries(), peerTable in rig.device().objects], [1, false]);
  });

  test("a look that is not answered disturbs no poll", async (t) => {
    const { rig, pass } = await startLab(t, { "devices/lab.yml": shortDevice });
    let looks = 0;
    rig.agent.faults.drops = (message) => isGetNext(message) && ++looks > 0;
    await pass(2);
    await until("the silence", async () => (await rig.count("timeouts_total")) === looks);
    assert.equal(looks, 2);
    assert.deepEqual([rig.device().state, await rig.discoveries()], ["up", 1]);
    assert.equal(await rig.count("polls_partial_total"), 0);
  });

  test("a device that shows no objects is asked each interval, found down, and discovered when it has some", async (t) => {
    const { rig, pass } = await startLab(t, { "devices/lab.yml": shortDevice }, withoutObjects);
    assert.deepEqual(rig.device().objects, {});
    rig.agent.faults.drops = () => true;
    await until("down", () => rig.device().state === "down");
    rig.agent.faults.drops = undefined;
    await until("up", () => rig.device().state === "up");
    rig.agent.table = rigTable;
    await pass(1);
    await until("the tables", () => rig.of("IF-MIB::ifTable").length > 0);
  });
});

/** Looks one after the other, without polls between them. */
interface Looks {
  readonly agent: SnmpAgent;
  readonly device: Device;
  readonly counts: DeviceCounts;
  /** Names that were found. */
  readonly found: string[];
  /** The OIDs of each look. */
  readonly asked: string[][];
  readonly appearances: Appearances;
  /** Takes this many looks, each in its time. */
  readonly look: (times: number) => Promise<void>;
  readonly discover: () => Promise<DevicePlan>;
}

async function prepare(t: TestContext, deviceLines = "", options: FixtureOptions = {}): Promise<Looks> {
  const { agent, client, open } = createSessionFixture({ table: rigTable, ...options });
  const tree = await DefinitionTree.make(t, {
    ...bgp,
    "devices/lab.yml": `${patientDevice.replace("timeout: 10000", "timeout: 30")}${deviceLines}`,
  });
  const { definitions } = await tree.load();
  assert.ok(definitions);
  const device = definitions.devices.get("192.0.2.1:161");
  assert.ok(device);
  const clock = createManualClock();
  const counts = new DeviceCounts();
  const found: string[] = [];
  const asked: string[][] = [];
  const appearances = new Appearances(clock, counts, (name) => found.push(name));
  const session = open({ timeout: device.timeoutMs, credential: deviceCredentials(device)[0] as Credential });
  const getNext = session.getNext.bind(session);
  session.getNext = (oids) => {
    asked.push(oids.map((oid) => oid.join(".")));
    return getNext(oids);
  };
  cleanUp(t, () => client.close());
  const parts = { client, memory: new MemoryBudget(1e6), now: () => clock.now(), isWanted: () => true };
  const looks: Looks = {
    agent,
    device,
    counts,
    found,
    asked,
    appearances,
    async look(times) {
      for (let i = 0; i < times; i++) {
        clock.advance(lookEveryMs);
        assert.ok(appearances.isDue(device));
        await appearances.look(device, session);
        assert.ok(!appearances.isDue(device), "once in its time");
      }
    },
    async discover() {
      const plan = await discover(parts, device, definitions);
      appearances.discovered(plan, definitions, device);
      return plan;
    },
  };
  await looks.discover();
  return looks;
}

test("a device that never has more gets one request each time, with an OID for each gap", async (t) => {
  const { look, asked, found, counts } = await prepare(t);
  await look(6);
  assert.deepEqual([asked.length, counts.looks, counts.appeared, found], [6, 6, 0, []]);
  assert.equal(asked[0]?.length, 22);
  // Between the columns of ifTable, behind it, behind ifName, and behind all.
  assert.ok(Number(asked[5]?.length) <= 4, asked[5]?.join());
});

test("requests are no longer than max_oids, and what is there is found all the same", async (t) => {
  const { agent, look, asked, found } = await prepare(t, "  max_oids: 2\n");
  await look(12);
  agent.table = withPeer(agent.table);
  await look(6);
  assert.equal(Math.max(...asked.map(({ length }) => length)), 2);
  assert.ok(found.length > 0 && found.every((name) => name === "bgpPeerState"), found.join());
});

test("columns of a table that it has are found too", async (t) => {
  const { agent, look, found } = await prepare(t);
  agent.table = agent.table.with([{ oid: oidOf("1.3.6.1.2.1.2.2.1.8.1"), value: integer(1) }]);
  await look(1);
  assert.deepEqual(found, ["ifOperStatus"]);
});

test("it is left out with rediscover_interval 0", async (t) => {
  const { appearances, device } = await prepare(t);
  assert.ok(!appearances.isDue({ ...device, rediscoverIntervalMs: 0 }));
});

test("a version 1 device answers an OID at its end with an error for all: it is found in the look after", async (t) => {
  const { agent, look, found, asked } = await prepare(t, "  version: 1\n");
  await look(6);
  assert.ok(asked.slice(4).every(({ length }) => length <= 4));
  agent.table = withPeer(agent.table);
  await look(2);
  assert.equal(found[0], "bgpPeerState");
});

test("what a look finds and no discovery is found once; after a restart again", async (t) => {
  const { agent, look, discover: discoverAgain, appearances, found, counts } = await prepare(t);
  const plain = agent.table;
  for (const [restarted, times] of [
    [false, 1],
    [false, 1],
    [true, 2],
  ] as const) {
    if (restarted) appearances.restarted();
    await discoverAgain();
    agent.table = withPeer(plain);
    await look(2);
    agent.table = plain;
    await discoverAgain();
    assert.deepEqual([new Set(found), counts.appeared], [new Set(["bgpPeerState"]), times]);
  }
});

test("an agent that makes up an instance for each look is not discovered twice for the same OID", async (t) => {
  const { agent, look, discover: discoverAgain, found, asked } = await prepare(t);
  for (let i = 0; i < 20; i++) {
    agent.faults.liesAbout = (response, { varbinds }) => ({
      ...response,
      varbinds: varbinds.map(({ oid }) => ({ oid: [...oid, 1], type: "Integer32", value: 1 })),
    });
    await look(1);
    agent.faults.liesAbout = undefined;
    await discoverAgain();
  }
  assert.deepEqual([asked.length, found.length, new Set(found).size], [20, 20, 20]);
});

type Answer = (response: Pdu, request: Pdu) => Pdu;
const badAnswers: Readonly<Record<string, Answer>> = {
  "what it asked for": (response, { varbinds }) => ({ ...response, varbinds }),
  "the end of all": (response) => ({
    ...response,
    varbinds: response.varbinds.map(({ oid }) => ({ oid, type: "endOfMibView", value: null })),
  }),
  "what is before": (response) => ({
    ...response,
    varbinds: response.varbinds.map(() => ({ oid: oidOf("1.3.6.1.2.1.1.1.0"), type: "Integer32", value: 1 })),
  }),
  "genErr about nothing": (response) => ({ ...response, errorStatus: errorStatus.genErr, errorIndex: 0 }),
  "genErr about another OID": (response) => ({ ...response, errorStatus: errorStatus.genErr, errorIndex: 99 }),
  "genErr about the first": (response) => ({ ...response, errorStatus: errorStatus.genErr, errorIndex: 1 }),
  tooBig: (response) => ({ ...response, errorStatus: errorStatus.tooBig, errorIndex: 0, varbinds: [] }),
  "too few values": (response) => ({ ...response, varbinds: response.varbinds.slice(1) }),
  "another request's answer": (response) => ({ ...response, requestId: response.requestId + 1 }),
};
for (const [what, answer] of Object.entries(badAnswers)) {
  test(`answered by ${what} it asks no more often, finds nothing, and finds what is there later`, async (t) => {
    const { agent, look, found, asked } = await prepare(t);
    agent.faults.liesAbout = answer;
    await look(12);
    assert.deepEqual([asked.length, found], [12, []]);
    agent.faults.liesAbout = undefined;
    agent.table = withPeer(agent.table);
    await look(24);
    assert.equal(found[0], "bgpPeerState");
  });
}
