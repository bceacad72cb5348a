import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { systemClock, type Clock } from "../../src/base/report/index.ts";
import { integer, octets, oidOf, type AgentRow } from "../support/snmp-agent/index.ts";
import { patientDevice, rigTable, startSnmpRig, type SnmpRecord, type SnmpRig } from "../support/snmp-rig.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const name = (index: number, text: string): AgentRow[] => [
  { oid: oidOf(`1.3.6.1.2.1.2.2.1.2.${index}`), value: octets(text) },
  { oid: oidOf(`1.3.6.1.2.1.31.1.1.1.1.${index}`), value: octets(text) },
];
const address = {
  "devices/lab.yml": patientDevice,
  "objects/ip.yml":
    "IP-MIB::ipAddrTable:\n  type: dynamic\n  index:\n" +
    "    - {type: IpAddress, oid: .1.3.6.1.2.1.4.20.1.1, name: ip.addr, syntax: IpAddress}\n" +
    "  attributes:\n    ipAdEntIfIndex: {oid: .1.3.6.1.2.1.4.20.1.2, name: netif, syntax: InterfaceIndex}\n",
  "object_groups/ip.yml": "ip:\n  objects: [IP-MIB::ipAddrTable]\n",
  "device_groups/all.yml": "generic:\n  object_groups: [system]\nrouter:\n  object_groups: [system, netif, ip]\n",
};

const plainSystem =
  "SNMPv2-MIB::system:\n  type: stable\n  attributes:\n    sysUpTime: {oid: .1.3.6.1.2.1.1.3, name: system.uptime, syntax: TimeTicks}\n";

describe("a device that changes", { concurrency: 6 }, () => {
  test("is discovered again when ifNumber changes: a new table is polled", async (t) => {
    const rig = await startSnmpRig(t, { files: address });
    await rig.polled();
    assert.ok(!("IP-MIB::ipAddrTable" in rig.device().objects));
    rig.agent.table = rig.agent.table.with([
      { oid: oidOf("1.3.6.1.2.1.2.1.0"), value: integer(4) },
      { oid: oidOf("1.3.6.1.2.1.4.20.1.2.192.0.2.1"), value: integer(1) },
    ]);
    await until("the table", () => rig.of("IP-MIB::ipAddrTable").length > 0);
    assert.equal(rig.of("IP-MIB::ipAddrTable")[0]?.["netif.name"], "lo");
  });

  test("is discovered again when ifNumber changed while the collector was stopped, and else not", async (t) => {
    const rig = await startSnmpRig(t, { files: address, persist: tempDirectory(t) });
    await rig.polled();
    await until("the plan", async () => (await rig.discoveries()) === 1);
    await rig.restart();
    await rig.polled();
    assert.equal(await rig.discoveries(), 0);
    await rig.snmp.stop();
    rig.agent.table = rig.agent.table.with([
      { oid: oidOf("1.3.6.1.2.1.2.1.0"), value: integer(4) },
      { oid: oidOf("1.3.6.1.2.1.4.20.1.2.192.0.2.1"), value: integer(1) },
    ]);
    await rig.restart();
    await until("the table", () => rig.of("IP-MIB::ipAddrTable").length > 0);
    assert.equal(await rig.discoveries(), 1);
  });

  for (const sysDescr of ["a small device", "a new system"]) {
    test(`after a restart as ${sysDescr} it is discovered again only if that is new, where no attribute asks for more`, async (t) => {
      const rig = await startSnmpRig(t, {
        agent: { uptime: 10_000 },
        files: { ...address, "objects/sys.yaml": plainSystem },
      });
      await rig.polled();
      rig.agent.table = rig.agent.table.with([{ oid: oidOf("1.3.6.1.2.1.1.1.0"), value: octets(sysDescr) }]);
      rig.agent.reboot();
      await until("the restart", async () => (await rig.count("restarts_total")) === 1);
      const seen = rig.records.length;
      await until("another poll", () => rig.records.length > seen + 3);
      const isNew = sysDescr !== "a small device";
      if (isNew) await until("the discovery", () => rig.device().sysDescr === sysDescr);
      assert.equal(await rig.discoveries(), isNew ? 2 : 1);
    });
  }

  test("is discovered whatever it says of itself, by patterns that other engines of regular expressions do not end with", async (t) => {
    const rule = ".1.3:\n  model:\n    - {descr: '^(a+)+$'}\n    - {descr: '^(a+)!$'}\n";
    const rig = await startSnmpRig(t, {
      files: { ...address, "autodiscover/identities/all.yml": rule },
      agent: { uptime: 10_000 },
    });
    await rig.polled();
    const text = `${"a".repeat(1000)}!`;
    rig.agent.table = rig.agent.table.with([{ oid: oidOf("1.3.6.1.2.1.1.1.0"), value: octets(text) }]);
    rig.agent.reboot();
    await until("the discovery", () => rig.device().sysDescr === text);
  });

  test("is discovered again by itself each rediscover_interval", async (t) => {
    const rig = await startSnmpRig(t, {
      files: { ...address, "devices/lab.yml": `${patientDevice}  rediscover_interval: 1\n` },
    });
    await rig.polled();
    rig.agent.table = rig.agent.table.with([{ oid: oidOf("1.3.6.1.2.1.4.20.1.2.192.0.2.1"), value: integer(1) }]);
    await until("the table", () => rig.of("IP-MIB::ipAddrTable").length > 0);
  });

  test("is discovered again when it is up for 5 minutes: it has tables that it had not after its start", async (t) => {
    let passed = 0;
    const clock: Clock = { now: () => systemClock.now() + passed, monotonic: () => systemClock.monotonic() };
    const agentClock: Clock = { now: () => clock.now(), monotonic: () => systemClock.monotonic() + passed };
    const rig = await startSnmpRig(t, { agent: { uptime: 10, clock: agentClock }, files: address, clock });
    await rig.polled();
    rig.agent.table = rig.agent.table.with([{ oid: oidOf("1.3.6.1.2.1.4.20.1.2.192.0.2.1"), value: integer(1) }]);
    passed = 295_000;
    await until("the table", () => rig.of("IP-MIB::ipAddrTable").length > 0);
    const seen = rig.records.length;
    await until("more polls", () => rig.records.length > seen + 6);
    assert.equal(await rig.discoveries(), 2);
  });

  test("has no swapped names in the poll in which its interfaces get other numbers", async (t) => {
    const before = rigTable.with([...name(1, "alpha"), ...name(2, "beta"), ...name(7, "gamma")]);
    const after = rigTable.with([...name(1, "beta"), ...name(2, "gamma"), ...name(7, "alpha")]);
    const rig = await startSnmpRig(t, {
      agent: { table: before, uptime: 10_000 },
      files: { "devices/lab.yml": patientDevice },
    });
    await until("a poll", () => rig.of("IF-MIB::ifTable").length >= 3 && rig.of("IF-MIB::ifXTable").length >= 3);
    // The device restarts between the two tables of one poll.
    rig.agent.faults.liesAbout = (response, request) => {
      const isSecond = request.varbinds.some(({ oid }) => oid.join(".").startsWith("1.3.6.1.2.1.31.1.1.1"));
      if (isSecond && request.type === "getBulk" && rig.agent.table === before) {
        rig.agent.table = after;
        rig.agent.reboot();
      }
      return response;
    };
    await until("the new names", () => rig.device().interfaces["7"] === "alpha" && rig.agent.table === after);
    const seen = rig.of("IF-MIB::ifTable").length;
    await until("two polls", () => rig.of("IF-MIB::ifTable").length >= seen + 6);
    const isSwapped = (record: SnmpRecord): boolean =>
      record["netif.name"] !== undefined && record["netif.name"] !== record["netif.descr"];
    assert.deepEqual(rig.of("IF-MIB::ifTable").filter(isSwapped), []);
    assert.equal(rig.of("IF-MIB::ifTable").at(-1)?.["netif.name"], "alpha");
  });
});

test("the 0 of a scalar behind the index of a row leaves the row its index; any other number does not", async (t) => {
  const voltage = "1.3.6.1.2.1.33.1.3.3.1.3";
  const rows = ["1.0", "2.0", "3.1"].map((suffix, i) => ({
    oid: oidOf(`${voltage}.${suffix}`),
    value: integer(230 + i),
  }));
  const rig: SnmpRig = await startSnmpRig(t, {
    agent: { table: rigTable.with(rows) },
    files: {
      ...address,
      "objects/ups.yml":
        "UPS-MIB::upsInputTable:\n  type: dynamic\n  index:\n" +
        "    - {type: Integer, oid: .1.3.6.1.2.1.33.1.3.3.1.1, name: ups.line.index, syntax: Integer32}\n" +
        `  attributes:\n    upsInputVoltage: {oid: .${voltage}, name: ups.input.voltage, syntax: VoltageVolt}\n`,
      "object_groups/ip.yml": "ip:\n  objects: [UPS-MIB::upsInputTable]\n",
    },
  });
  await until("the rows", () => rig.of("UPS-MIB::upsInputTable").length >= 3);
  const facts = rig
    .of("UPS-MIB::upsInputTable")
    .slice(0, 3)
    .map((record) => ["ups.line.index", "ups.input.voltage", "snmp.object.instance"].map((field) => record[field]));
  assert.deepEqual(facts, [
    [1, 230, ".1.0"],
    [2, 231, ".2.0"],
    [undefined, 232, ".3.1"],
  ]);
  assert.equal(await rig.count("rows_bad_index_total"), 3);
});

test("a row without the TimeFilter of its table has the rest of its index", async (t) => {
  const status = "1.3.6.1.2.1.17.7.1.4.2.1.6";
  const rows = ["0.10", "20", "0.30.1"].map((suffix) => ({ oid: oidOf(`${status}.${suffix}`), value: integer(2) }));
  const rig: SnmpRig = await startSnmpRig(t, {
    agent: { table: rigTable.with(rows) },
    files: {
      ...address,
      "objects/ip.yml":
        "Q-BRIDGE-MIB::dot1qVlanCurrentTable:\n  type: dynamic\n  index:\n" +
        "    - {type: Unsigned32, oid: .1.3.6.1.2.1.17.7.1.4.2.1.1, name: vlan.time_mark, syntax: TimeTicks}\n" +
        "    - {type: Unsigned32, oid: .1.3.6.1.2.1.17.7.1.4.2.1.2, name: vlan.tag.id, syntax: VlanIndex}\n" +
        `  attributes:\n    dot1qVlanStatus: {oid: .${status}, name: vlan.status.id, syntax: Integer32}\n`,
      "object_groups/ip.yml": "ip:\n  objects: [Q-BRIDGE-MIB::dot1qVlanCurrentTable]\n",
    },
  });
  await until("the rows", () => rig.of("Q-BRIDGE-MIB::dot1qVlanCurrentTable").length >= 3);
  const facts = rig
    .of("Q-BRIDGE-MIB::dot1qVlanCurrentTable")
    .slice(0, 3)
    .map((record) => ["vlan.time_mark", "vlan.tag.id", "snmp.object.instance"].map((field) => record[field]));
  assert.deepEqual(facts, [
    [0, 10, undefined],
    [undefined, undefined, ".0.30.1"],
    [undefined, 20, ".20"],
  ]);
});

test("a row with an odd index stays, with what the device sent, and is counted", async (t) => {
  const inet = "1.3.6.1.2.1.4.34.1.3";
  const rows = ["1.4.192.0.2.1", "1.192.0.2.2", "1.4.192.0.2.3.9"].map((suffix, i) => ({
    oid: oidOf(`${inet}.${suffix}`),
    value: integer(i + 1),
  }));
  const rig: SnmpRig = await startSnmpRig(t, {
    agent: { table: rigTable.with(rows) },
    files: {
      ...address,
      "objects/ip.yml":
        "IP-MIB::ipAddressTable:\n  type: dynamic\n  index:\n" +
        "    - {type: Integer, oid: .1.3.6.1.2.1.4.34.1.1, name: ip.family, syntax: Integer32}\n" +
        "    - {type: OctetString, oid: .1.3.6.1.2.1.4.34.1.2, name: ip.addr, syntax: InetAddress}\n" +
        `  attributes:\n    ipAddressIfIndex: {oid: .${inet}, name: netif, syntax: InterfaceIndex}\n`,
      "object_groups/ip.yml": "ip:\n  objects: [IP-MIB::ipAddressTable]\n",
    },
  });
  await until("the rows", () => rig.of("IP-MIB::ipAddressTable").length >= 3);
  const facts = rig
    .of("IP-MIB::ipAddressTable")
    .slice(0, 3)
    .map((record) =>
      ["netif.index", "ip.addr", "snmp.object.isOddIndex", "snmp.object.instance"].map((field) => record[field]),
    );
  assert.deepEqual(facts, [
    [1, "192.0.2.1", undefined, undefined],
    [3, undefined, true, ".1.4.192.0.2.3.9"],
    [2, "192.0.2.2", true, ".1.192.0.2.2"],
  ]);
  assert.equal(await rig.count("rows_bad_index_total"), 2);
  assert.deepEqual(rig.device().addresses, ["192.0.2.1", "192.0.2.3", "192.0.2.2"]);
});
