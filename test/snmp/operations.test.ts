import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import type { RecordFields } from "../../src/record/index.ts";
import { baseFiles, type Files } from "../support/definition-tree.ts";
import { createSnmpAgent, octets, oidOf, type SnmpAgent } from "../support/snmp-agent/index.ts";
import { patientDevice, rigTable, startSnmpRig, type SnmpRig } from "../support/snmp-rig.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const id = "192.0.2.1:161";
const patient: Files = { "devices/lab.yml": patientDevice };
/** For tests of silence: they wait for the time-out, and a busy machine answers in less. */
const shortDevice = patientDevice.replace("timeout: 10000", "timeout: 500");
const objects = baseFiles["objects/if.yml"] as string;
const changed = (from: string, to: string): Files => {
  assert.ok(objects.includes(from), from);
  return { "objects/if.yml": objects.replace(from, to) };
};

interface Row {
  readonly name: string;
  readonly files: Files;
  /** Whether the device is rediscovered without and with force, and whether the change is pending without. */
  readonly plain: "discovery" | "pending" | "none";
  readonly forced: "discovery" | "none";
  /** What records show without a discovery. */
  readonly shows?: (rig: SnmpRig) => boolean;
}

const ifTable = (rig: SnmpRig): Readonly<Record<string, unknown>> | undefined => rig.of("IF-MIB::ifTable").at(-1);

/** The table of changes, the rows about a device that stays. */
const rows: readonly Row[] = [
  {
    name: "credentials",
    files: { "devices/lab.yml": patientDevice.replace("[public]", "[public, wrong]") },
    plain: "discovery",
    forced: "discovery",
  },
  {
    name: "device groups",
    files: { "devices/lab.yml": patientDevice.replace("[router]", "[generic]") },
    plain: "discovery",
    forced: "discovery",
  },
  {
    name: "time-out and maxima",
    files: { "devices/lab.yml": `${patientDevice.replace("timeout: 10000", "timeout: 11000")}  max_oids: 2\n` },
    plain: "none",
    forced: "none",
  },
  {
    name: "an enumeration's labels",
    files: {
      "enums/integer/if.yml": ".1.3.6.1.2.1.2.2.1.8:\n  1: 'running'\n  2: 'down'\n",
    },
    plain: "none",
    forced: "none",
    shows: (rig) => ifTable(rig)?.["netif.state.oper.name"] === "running",
  },
  {
    name: "an attribute's name",
    files: changed("name: netif.descr", "name: netif.title"),
    plain: "none",
    forced: "discovery",
    shows: (rig) => ifTable(rig)?.["netif.title"] !== undefined,
  },
  {
    name: "an attribute's syntax",
    files: changed("syntax: DisplayString", "syntax: HexString"),
    plain: "none",
    forced: "discovery",
    shows: (rig) => /^6c6f$|657468/i.test(String(ifTable(rig)?.["netif.descr"])),
  },
  {
    name: "overrides",
    files: changed("      overrides:\n        object: IF-MIB::ifTable\n        attribute: ifInOctets\n", ""),
    plain: "none",
    forced: "discovery",
    shows: (rig) => typeof ifTable(rig)?.["netif.bytes.in"] === "number",
  },
  {
    name: "an attribute removed",
    files: changed(
      "    ifOperStatus:\n      oid: .1.3.6.1.2.1.2.2.1.8\n      name: netif.state.oper\n      syntax: EnumInteger\n",
      "",
    ),
    plain: "none",
    forced: "discovery",
    shows: (rig) => ifTable(rig) !== undefined && ifTable(rig)?.["netif.state.oper.name"] === undefined,
  },
  {
    name: "an object removed from its group",
    files: {
      "object_groups/all.yml": (baseFiles["object_groups/all.yml"] as string).replace("    - IF-MIB::ifXTable\n", ""),
    },
    plain: "none",
    forced: "discovery",
    shows: (rig) => typeof ifTable(rig)?.["netif.bytes.in"] === "number",
  },
  {
    name: "an attribute added",
    files: changed(
      "    ifInOctets:\n",
      "    ifSpeed:\n      oid: .1.3.6.1.2.1.2.2.1.5\n      name: netif.speed\n      syntax: BandwidthBits\n    ifInOctets:\n",
    ),
    plain: "pending",
    forced: "discovery",
  },
  {
    name: "an attribute's OID",
    files: changed("oid: .1.3.6.1.2.1.2.2.1.8", "oid: .1.3.6.1.2.1.2.2.1.7"),
    plain: "pending",
    forced: "discovery",
    shows: (rig) => ifTable(rig)?.["netif.state.oper.id"] === 1,
  },
  {
    name: "the discovery attribute",
    files: changed("discovery_attribute: ifDescr", "discovery_attribute: ifInOctets"),
    plain: "pending",
    forced: "discovery",
  },
  {
    name: "an object added",
    files: {
      "objects/more.yml":
        "SNMPv2-MIB::more:\n  attributes:\n    sysName:\n      oid: .1.3.6.1.2.1.1.5\n      name: more.name\n      syntax: DisplayString\n",
      "object_groups/all.yml": (baseFiles["object_groups/all.yml"] as string).replace(
        "system:\n  objects:\n",
        "system:\n  objects:\n    - SNMPv2-MIB::more\n",
      ),
    },
    plain: "pending",
    forced: "discovery",
  },
  {
    name: "a comment and another file",
    files: { "objects/if.yml": undefined, "objects/moved.yml": `# moved\n${objects}` },
    plain: "none",
    forced: "none",
  },
];

async function startedRig(t: TestContext, device = patientDevice): Promise<SnmpRig> {
  const up = [1, 2, 7].map((index) => ({
    oid: oidOf(`1.3.6.1.2.1.2.2.1.8.${index}`),
    value: { type: "Integer32", value: 1 } as const,
  }));
  const rig = await startSnmpRig(t, { agent: { table: rigTable.with(up) }, files: { "devices/lab.yml": device } });
  await rig.polled();
  await until("the tables", () => rig.of("IF-MIB::ifTable").length >= 3 && rig.of("IF-MIB::ifXTable").length >= 1);
  return rig;
}

// Each waits for polls once a second; at the same time they take no longer than one.
describe("the table of changes", { concurrency: 8 }, () => {
  for (const row of rows) {
    for (const force of [false, true]) {
      test(`apply, force_rediscovery=${force}: ${row.name}`, async (t) => {
        const rig = await startedRig(t);
        await rig.tree.write(row.files);
        rig.records.length = 0;
        const applied = await rig.snmp.applyDefinitions(force);
        assert.ok(applied.ok);
        const { report } = applied;
        const expected = force ? row.forced : row.plain;
        assert.deepEqual(report["rediscovering"], expected === "discovery" ? [id] : []);
        assert.equal((report["pending"] as unknown[]).length, expected === "pending" ? 1 : 0);
        assert.equal(rig.device().pending.length, expected === "pending" ? 1 : 0);
        if (expected === "discovery") {
          await until("the discovery", async () => (await rig.discoveries()) === 2);
        }
        if (row.shows !== undefined && expected !== "discovery")
          await until("the effect", () => row.shows?.(rig) === true);
        else await until("a poll", () => rig.of("SNMPv2-MIB::system").length > 0);
        if (expected !== "discovery") assert.equal(await rig.discoveries(), 1, "no discovery");
        assert.equal(rig.device().state, "up");
      });
    }
  }

  for (const force of [false, true]) {
    test(`apply, force_rediscovery=${force}: devices added, removed, and at another port`, async (t) => {
      const rig = await startedRig(t);
      const other = createSnmpAgent({ table: rigTable });
      rig.network.attachAgent("192.0.2.1", 1161, other);
      await rig.tree.write({
        "devices/lab.yml": patientDevice.replace("ip: 192.0.2.1\n", "ip: 192.0.2.1\n  port: 1161\n"),
      });
      const applied = await rig.snmp.applyDefinitions(force);
      assert.ok(applied.ok);
      assert.deepEqual(applied.report["affected_devices"], [id, "192.0.2.1:1161"].sort());
      assert.equal(rig.snmp.device(id), undefined);
      await until("the discovery", () => rig.snmp.device("192.0.2.1:1161")?.state === "up");
      const before = rig.agent.requests;
      await until("polls of the other", () => other.requests > 12);
      assert.equal(rig.agent.requests, before, "the removed device is left alone");
    });
  }
});

test("apply takes all or nothing, and says where every error is", async (t) => {
  const rig = await startedRig(t);
  await rig.tree.write({
    ...changed("syntax: Counter32", "syntax: Counter33"),
    "devices/bad.yml": "r2:\n  ip: 192.0.2.300\n  communities: [hush]\n",
  });
  const applied = await rig.snmp.applyDefinitions(false);
  assert.ok(!applied.ok);
  assert.equal(applied.findings.length, 2);
  assert.ok(applied.findings.every(({ place }) => /\.yml:\d+:\d+$/.test(place)));
  assert.match(JSON.stringify(applied.findings), /did you mean \\"Counter32\\"/);
  assert.ok(!JSON.stringify(applied.findings).includes("hush"));
  const check = rig.health.checks().find(({ name }) => name === "snmp definitions");
  assert.match(check?.detail ?? "", /stays: the files have 2 errors: .*:\d+:\d+/);
  rig.records.length = 0;
  await until("polls go on", () => rig.of("IF-MIB::ifTable").length > 0);
  assert.equal(await rig.metrics.value("netgloss_snmp_applies_total", { result: "rejected" }), 1);
});

test("a start leaves out what is wrong, says so, and runs the rest", async (t) => {
  const rig = await startSnmpRig(t, { files: { ...patient, "objects/broken.yml": "a: [" } });
  await rig.polled();
  const check = rig.health.checks().find(({ name }) => name === "snmp definitions");
  assert.equal(check?.ready, true);
  assert.match(check?.detail ?? "", /broken\.yml/);
});

test("rediscover: unknown devices are named, others answer with the state or the outcome", async (t) => {
  const rig = await startedRig(t, shortDevice);
  assert.equal(await rig.snmp.rediscoverDevice({ ip: "192.0.2.9", port: 161 }), undefined);
  const device = { ip: "192.0.2.1", port: 161 };
  const begun = await rig.snmp.rediscoverDevice(device);
  assert.equal(begun?.isDone, false);
  assert.ok(["queued", "running"].includes(String(begun?.report["discovery"])));
  const { signal } = new AbortController();
  const done = await rig.snmp.rediscoverDevice(device, { seconds: 20, signal });
  assert.equal(done?.isDone, true);
  assert.equal(done?.report["result"], "discovered");
  assert.equal(await rig.discoveries(), 2, "the second joined the first");
  rig.agent.faults.drops = () => true;
  const failed = await rig.snmp.rediscoverDevice(device, { seconds: 20, signal });
  assert.equal(failed?.report["result"], "failed");
  assert.ok((rig.device().plan?.objects ?? 0) > 0, "a failed discovery never empties a plan");
  const impatient = await rig.snmp.rediscoverDevice(device, { seconds: 20, signal: AbortSignal.abort() });
  assert.equal(impatient?.isDone, false);
});

test("plans outlive a restart, for as long as they fit; a broken one costs a discovery", async (t) => {
  const persist = tempDirectory(t);
  const rig = await startSnmpRig(t, { persist, files: patient });
  await rig.polled();
  await until("the file", () => readdirSync(persist).includes("192.0.2.1_161.json"));
  rig.records.length = 0;
  await rig.restart();
  await rig.polled();
  assert.equal(await rig.discoveries(), 0);
  assert.deepEqual(rig.device().interfaces, { 1: "lo", 2: "eth0", 7: "eth1" });
  await rig.tree.write({ "devices/lab.yml": patientDevice.replace("[router]", "[generic]") });
  await rig.restart();
  await until("a discovery", async () => (await rig.discoveries()) === 1);
  await rig.snmp.stop();
  writeFileSync(join(persist, "192.0.2.1_161.json"), "{");
  await rig.restart();
  await until("another", async () => (await rig.discoveries()) === 1);
  assert.equal(await rig.metrics.value("netgloss_snmp_plan_failures_total", { operation: "load" }), 1);
});

test("interface names go to the flows of the device, by its ip or an address of its tables", async (t) => {
  const address = {
    oid: oidOf("1.3.6.1.2.1.4.20.1.1.198.51.100.7"),
    value: { type: "IpAddress", value: Buffer.from([198, 51, 100, 7]) } as const,
  };
  const loopback = {
    oid: oidOf("1.3.6.1.2.1.4.20.1.1.127.0.0.1"),
    value: { type: "IpAddress", value: Buffer.from([127, 0, 0, 1]) } as const,
  };
  const rig = await startSnmpRig(t, { files: patient, agent: { table: rigTable.with([address, loopback]) } });
  await until("up", () => rig.device().state === "up");
  assert.deepEqual(rig.device().addresses, ["198.51.100.7"]);
  const flow = (exporter: string): RecordFields =>
    new Map<string, string | number>([
      ["flow.export.ip.addr", exporter],
      ["flow.in.netif.index", 2],
      ["flow.out.netif.index", 7],
      ["flow.out.netif.name", "own"],
    ]);
  for (const exporter of ["192.0.2.1", "198.51.100.7"]) {
    const record = flow(exporter);
    rig.snmp.interfaceEnricher.enrich(record);
    assert.equal(record.get("flow.in.netif.name"), "eth0");
    assert.equal(record.get("flow.out.netif.name"), "own", "what the exporter announced stays");
  }
  const stranger = flow("203.0.113.1");
  rig.snmp.interfaceEnricher.enrich(stranger);
  assert.ok(!stranger.has("flow.in.netif.name"));
  assert.equal(await rig.metrics.value("netgloss_snmp_flow_interfaces_named_total"), 2);
});

test("plans of devices that are no more, and what an interrupted save left, go at the start; other files stay", async (t) => {
  const persist = tempDirectory(t);
  const rig = await startSnmpRig(t, { persist, files: patient });
  const plan = join(persist, "192.0.2.1_161.json");
  await until("the file", () => existsSync(plan));
  await rig.snmp.stop();
  const text = readFileSync(plan, "utf8");
  writeFileSync(join(persist, "192.0.2.9_161.json"), text.replaceAll("192.0.2.1:161", "192.0.2.9:161"));
  writeFileSync(`${plan}.tmp`, text.slice(0, 40));
  writeFileSync(join(persist, "notes.json"), "{}");
  await rig.restart();
  assert.deepEqual(readdirSync(persist).sort(), ["192.0.2.1_161.json", "notes.json"]);
  assert.equal(await rig.discoveries(), 0, "the plan is used as before");
});

describe("a discovery without which a change has no effect", { concurrency: 3 }, () => {
  const moved = { "devices/lab.yml": shortDevice.replace("[public]", "[other]") };
  const agentOf = (...communities: string[]): SnmpAgent =>
    createSnmpAgent({ table: rigTable, communities, uptime: 10_000 });

  test("is tried again until it succeeds, while polls go on as before", async (t) => {
    const rig = await startedRig(t, shortDevice);
    await rig.tree.write(moved);
    assert.ok((await rig.snmp.applyDefinitions(false)).ok);
    await until("failures", async () => ((await rig.discoveries("failed")) ?? 0) >= 2);
    assert.equal(rig.device().state, "up");
    rig.records.length = 0;
    await until("polls", () => rig.of("SNMPv2-MIB::system").length > 0);
    rig.network.attachAgent("192.0.2.1", 161, agentOf("public", "other"));
    await until("the discovery", async () => (await rig.discoveries()) === 2);
    rig.network.attachAgent("192.0.2.1", 161, agentOf("other"));
    rig.records.length = 0;
    await until("polls with the other community", () => rig.of("SNMPv2-MIB::system").length >= 2);
  });

  test("comes when a device that was silent answers to its new credentials", async (t) => {
    const rig = await startedRig(t, shortDevice);
    rig.agent.faults.drops = () => true;
    await until("down", () => rig.device().state === "down");
    await rig.tree.write(moved);
    assert.ok((await rig.snmp.applyDefinitions(false)).ok);
    await until("a failure", async () => ((await rig.discoveries("failed")) ?? 0) >= 1);
    const failures = await rig.discoveries("failed");
    await until("probes", async () => ((await rig.count("probes_total")) ?? 0) >= 3);
    assert.equal(await rig.discoveries("failed"), failures, "silence costs one request an interval");
    rig.network.attachAgent("192.0.2.1", 161, agentOf("other"));
    await until("up", () => rig.device().state === "up");
    await until("the discovery", async () => (await rig.discoveries()) === 2);
  });
});

test("a device that is removed leaves nothing, though a poll of it is under way; one that comes back keeps its plan", async (t) => {
  const persist = tempDirectory(t);
  // The answers that are held back must not be too late on a busy host.
  const device = patientDevice.replace("timeout: 10000", "timeout: 300000");
  const rig = await startSnmpRig(t, { persist, files: { "devices/lab.yml": device } });
  await until("the tables", () => rig.of("IF-MIB::ifTable").length >= 3);
  const flow = (): RecordFields =>
    new Map<string, string | number>([
      ["flow.export.ip.addr", "192.0.2.1"],
      ["flow.in.netif.index", 2],
    ]);
  const isNamed = (): boolean => {
    const record = flow();
    rig.snmp.interfaceEnricher.enrich(record);
    return record.has("flow.in.netif.name");
  };
  assert.ok(isNamed());
  // The poll under way finds a name that is new.
  rig.agent.table = rigTable.with([{ oid: oidOf("1.3.6.1.2.1.31.1.1.1.1.2"), value: octets("fresh") }]);
  const held: (() => void)[] = [];
  const { agent } = rig;
  rig.network.attach("192.0.2.1", 161, (datagram) => {
    const answers = agent.handle(datagram).map((answer) => ({ datagram: answer }));
    if (!answers.some(({ datagram: answer }) => Buffer.from(answer).includes("fresh"))) return answers;
    held.push(() => answers.forEach((answer) => rig.network.inject(answer.datagram, "192.0.2.1", 161)));
    return [];
  });
  await until("the poll", () => held.length > 0);
  await rig.tree.write({ "devices/lab.yml": "" });
  assert.ok((await rig.snmp.applyDefinitions(false)).ok);
  assert.deepEqual([...rig.snmp.devices()], []);
  rig.network.attachAgent("192.0.2.1", 161, createSnmpAgent({ table: rigTable }));
  await rig.tree.write({ "devices/lab.yml": device });
  assert.ok((await rig.snmp.applyDefinitions(false)).ok);
  await until("up", () => rig.device().state === "up");
  for (const release of held) release();
  await until("the end of the poll", () => rig.records.some((record) => record["netif.name"] === "fresh"));
  assert.equal(rig.device().interfaces["2"], "eth0");
  await rig.snmp.stop();
  assert.deepEqual(readdirSync(persist).sort(), ["192.0.2.1_161.json", "last-stop"]);
});
