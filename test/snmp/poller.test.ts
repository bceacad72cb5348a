import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { counter32, createSnmpAgent, octets, oidOf, tableOf } from "../support/snmp-agent/index.ts";
import { formatOid } from "../../src/snmp/session/ber.ts";
import { smallTable, usmUser } from "../support/snmp-session-fixture.ts";
import { quickDevice, rigTable, startSnmpRig } from "../support/snmp-rig.ts";
import { until } from "../support/until.ts";

test("Counter64 leaves with all its digits, and what it overrides is left out", async (t) => {
  // The name that JSON.parse would round is looked at as text.
  const lines: string[] = [];
  const rig = await startSnmpRig(t, { start: false });
  const parse = JSON.parse;
  t.mock.method(JSON, "parse", (text: string) => (lines.push(text), parse(text) as unknown));
  await rig.snmp.start();
  await until("the record", () => lines.some((line) => line.includes('"netif.bytes.in":18446744073709551615')));
  await until("the other table", () => rig.of("IF-MIB::ifTable").length > 0);
  // The first interface has ifHCInOctets, so ifInOctets is left out there.
  const [first] = rig.of("IF-MIB::ifTable");
  assert.equal(first?.["netif.index"], 1);
  assert.ok(!("netif.bytes.in" in first));
});

describe("polling", { concurrency: 6 }, () => {
  test("a device is discovered and polled: one record a row, exact counters, names on interfaces", async (t) => {
    const rig = await startSnmpRig(t);
    await rig.polled();
    await until("the tables", () => rig.of("IF-MIB::ifTable").length >= 3 && rig.of("IF-MIB::ifXTable").length >= 1);
    const [first] = rig.of("IF-MIB::ifTable");
    assert.ok(first);
    const { "@timestamp": timestamp, ...fields } = first;
    assert.match(String(timestamp), /^\d{4}-\d\d-\d\dT.*Z$/);
    assert.deepEqual(fields, {
      "system.ip.addr": "192.0.2.1",
      "system.host.name": "r1",
      "snmp.object.name": "IF-MIB::ifTable",
      "snmp.object.entity": "IF-MIB::ifTable.1",
      "netif.index": 1,
      "netif.name": "lo",
      "netif.descr": "lo",
      enriched: true,
    });
    const [wide] = rig.of("IF-MIB::ifXTable");
    assert.equal(wide?.["netif.index"], 1);
    assert.equal(rig.device().state, "up");
    assert.deepEqual(rig.device().interfaces, { 1: "lo", 2: "eth0", 7: "eth1" });
    assert.equal(await rig.count("up"), 1);
    assert.equal(await rig.discoveries(), 1);
    assert.ok(((await rig.count("rows_total")) ?? 0) >= 5);
  });

  test("a device that falls silent costs one request an interval, and comes back by itself", async (t) => {
    const rig = await startSnmpRig(t);
    await rig.polled();
    rig.agent.faults.drops = () => true;
    await until("down", () => rig.device().state === "down");
    assert.equal(await rig.count("up"), 0);
    const before = rig.agent.requests;
    const probes = (await rig.count("probes_total")) ?? 0;
    await until("two probes", async () => ((await rig.count("probes_total")) ?? 0) >= probes + 2);
    const requests = rig.agent.requests - before;
    const probed = ((await rig.count("probes_total")) ?? 0) - probes;
    assert.ok(requests <= probed + 1, `${requests} requests for ${probed} probes`);
    assert.match(rig.device().lastError?.message ?? "", /192\.0\.2\.1|answer/);
    rig.agent.faults.drops = undefined;
    await until("up", () => rig.device().state === "up");
    const rows = rig.records.length;
    await until("polls", () => rig.records.length > rows);
  });

  test("a restart is noticed and, where an attribute says OnReset, leads to a discovery", async (t) => {
    const rig = await startSnmpRig(t, { agent: { uptime: 10_000 } });
    await rig.polled();
    assert.equal(await rig.discoveries(), 1);
    rig.agent.table = rig.agent.table.with([
      { oid: oidOf("1.3.6.1.2.1.31.1.1.1.1.1"), value: octets("lo0") },
      { oid: oidOf("1.3.6.1.2.1.31.1.1.1.1.2"), value: octets("ge0") },
    ]);
    rig.agent.reboot();
    await until("the discovery", async () => (await rig.discoveries()) === 2);
    assert.ok(((await rig.count("restarts_total")) ?? 0) >= 1);
    assert.deepEqual(rig.device().interfaces, { 1: "lo0", 2: "ge0", 7: "eth1" });
  });

  test("a device that becomes another is discovered again", async (t) => {
    const rig = await startSnmpRig(t);
    await rig.polled();
    rig.agent.table = rig.agent.table.with([
      { oid: oidOf("1.3.6.1.2.1.1.2.0"), value: { type: "ObjectIdentifier", value: oidOf("1.3.6.1.4.1.9.1.7") } },
    ]);
    await until("the discovery", async () => (await rig.discoveries()) === 2);
    assert.equal(rig.device().sysObjectId, ".1.3.6.1.4.1.9.1.7");
  });

  test("an interface keeps its ifName whatever its ifDescr says; where it has none a changed ifDescr counts", async (t) => {
    const named = rigTable.with([{ oid: oidOf("1.3.6.1.2.1.31.1.1.1.1.1"), value: octets("short") }]);
    const rig = await startSnmpRig(t, { agent: { table: named } });
    await until("two polls", () => rig.of("IF-MIB::ifTable").length >= 6);
    assert.deepEqual(rig.device().interfaces, { 1: "short", 2: "eth0", 7: "eth1" });
    rig.agent.table = named.with([{ oid: oidOf("1.3.6.1.2.1.2.2.1.2.2"), value: octets("wan0") }]);
    await until("the name", () => rig.device().interfaces["2"] === "wan0");
    assert.equal(rig.device().interfaces["1"], "short");
  });

  test("records of a poll have the names that the same poll reads, however late these come", async (t) => {
    const ifName = oidOf("1.3.6.1.2.1.31.1.1.1.1");
    const etherStats = "1.3.6.1.2.1.10.7.2.1.3";
    const rig = await startSnmpRig(t, {
      files: {
        "devices/lab.yml": quickDevice.replace("timeout: 400", "timeout: 200").replace("retries: 0", "retries: 8"),
        "objects/ether.yml":
          "EtherLike-MIB::dot3StatsTable:\n  type: stable\n  index:\n    - type: Integer\n" +
          "      oid: .1.3.6.1.2.1.10.7.2.1.1\n      name: netif\n      syntax: InterfaceIndex\n  attributes:\n" +
          `    dot3StatsFCSErrors:\n      oid: .${etherStats}\n      name: ether.errors\n      syntax: Counter32\n`,
        "object_groups/ether.yml": "ether:\n  objects:\n    - EtherLike-MIB::dot3StatsTable\n",
        "device_groups/all.yml": "router:\n  object_groups:\n    - netif\n    - ether\n",
        "autodiscover/sysoids/all.yml": "",
      },
      agent: { table: rigTable.with([{ oid: oidOf(`${etherStats}.1`), value: counter32(1, 1) }]) },
    });
    const namesOf = (object: string): unknown[] => rig.of(object).map((record) => record["netif.name"]);
    // In each poll the interface has another name, and the first request for it is lost; those that follow are not,
    // however many there are on a busy machine.
    let polls = -1;
    let isLost = false;
    rig.agent.faults.liesAbout = (response, request) => {
      const written = namesOf("IF-MIB::ifXTable").length;
      isLost = formatOid(request.varbinds[0]?.oid ?? []) === formatOid(ifName) && written > polls;
      if (!isLost) return response;
      polls = written;
      rig.agent.table = rig.agent.table.with([{ oid: [...ifName, 1], value: octets(`name${written}`) }]);
      return response;
    };
    rig.agent.faults.sends = (datagram) => (isLost ? [] : [datagram]);
    // A busy machine may lose a table of a poll: what counts is the name that was written last before a row.
    const pairs = (): [unknown, unknown][] => {
      let last: unknown;
      return rig.records.flatMap((record): [unknown, unknown][] => {
        if (record["snmp.object.name"] === "IF-MIB::ifXTable") last = record["netif.name"];
        return record["snmp.object.name"] === "EtherLike-MIB::dot3StatsTable" ? [[record["netif.name"], last]] : [];
      });
    };
    await until(
      "three names",
      () =>
        new Set(
          pairs()
            .slice(2)
            .map(([name]) => name),
        ).size >= 3,
    );
    const late = pairs().slice(2);
    assert.deepEqual(
      late.map(([name]) => name),
      late.map(([, last]) => last),
    );
  });

  test("rows that vanish are counted", async (t) => {
    const rig = await startSnmpRig(t);
    await until("a table", () => rig.of("IF-MIB::ifTable").length >= 3);
    rig.agent.table = smallTable.without((oid) => oid.at(-1) === 7);
    await until("the count", async () => (await rig.count("rows_vanished_total")) === 1);
  });

  test("partial results are delivered, marked and counted", async (t) => {
    const rig = await startSnmpRig(t, {});
    await rig.polled();
    const ifTable = oidOf("1.3.6.1.2.1.2.2.1.2");
    rig.agent.faults.liesAbout = (response, request) => {
      // The first answer about interfaces is right; then the agent goes in circles.
      const isSecond = request.varbinds.some(({ oid }) => ifTable.every((part, i) => oid[i] === part));
      if (!isSecond || request.type !== "getBulk" || response.varbinds.length < 3) return response;
      const first = response.varbinds[0];
      return first === undefined
        ? response
        : { ...response, varbinds: [...response.varbinds.slice(0, 3), first, first, first] };
    };
    await until("a mark", () => rig.of("IF-MIB::ifTable").some((record) => record["snmp.object.isPartial"] === true));
    assert.ok(((await rig.count("polls_partial_total")) ?? 0) >= 1);
  });

  test("a poll that has not ended when the next is due makes that one left out", async (t) => {
    const slow = quickDevice.replace("timeout: 400", "timeout: 60000");
    const rig = await startSnmpRig(t, { files: { "devices/lab.yml": slow } });
    await rig.polled();
    rig.agent.faults.drops = () => true;
    await until("a skip", async () => ((await rig.count("polls_skipped_total")) ?? 0) >= 1);
  });

  test("a slow or dead device does not delay another", async (t) => {
    const second = quickDevice
      .replace("r1:", "r2:")
      .replace("192.0.2.1", "192.0.2.2")
      .replace("timeout: 400", "timeout: 60000");
    const rig = await startSnmpRig(t, { files: { "devices/second.yml": second } });
    await rig.polled();
    const before = rig.of("SNMPv2-MIB::system").length;
    await until("more polls", () => rig.of("SNMPv2-MIB::system").length >= before + 2);
    assert.equal(rig.device("192.0.2.2:161").state, "undiscovered");
    assert.equal(rig.device().state, "up");
  });

  test("version 1 and version 3 give the same rows as version 2c", async (t) => {
    const v1 = quickDevice.replace("r1:", "old:").replace("192.0.2.1", "192.0.2.2") + '  version: "1"\n';
    const v3 =
      quickDevice.replace("r1:", "safe:").replace("192.0.2.1", "192.0.2.3").replace("  communities: [public]\n", "") +
      '  version: "3"\n  v3_credentials:\n    - username: nobody\n      authentication_protocol: noauth\n      privacy_protocol: nopriv\n' +
      "    - username: operator\n      authentication_protocol: sha256\n      authentication_passphrase: maplesyrup\n" +
      "      privacy_protocol: aes\n      privacy_passphrase: buckwheat\n";
    const rig = await startSnmpRig(t, { start: false, files: { "devices/more.yml": v1 + v3 } });
    rig.network.attachAgent("192.0.2.2", 161, createSnmpAgent({ table: smallTable, versions: ["1"] }));
    rig.network.attachAgent(
      "192.0.2.3",
      161,
      createSnmpAgent({ table: smallTable, versions: ["3"], users: [usmUser] }),
    );
    await rig.snmp.start();
    const rowsOf = (ip: string): unknown[] =>
      rig
        .of("IF-MIB::ifTable")
        .filter((record) => record["system.ip.addr"] === ip)
        .slice(0, 3)
        .map((record) => record["netif.descr"]);
    for (const ip of ["192.0.2.1", "192.0.2.2", "192.0.2.3"]) {
      await until(`rows of ${ip}`, () => rowsOf(ip).length === 3);
      assert.deepEqual(rowsOf(ip), ["lo", "eth0", "eth1"]);
    }
    // The second credential was the right one.
    assert.ok(((await rig.count("requests_total", { device: "192.0.2.3:161" })) ?? 0) > 3);
  });

  test("an OnChange attribute leads to a discovery when it changes", async (t) => {
    const rig = await startSnmpRig(t, {
      start: false,
      files: {
        "objects/name.yml":
          "SNMPv2-MIB::name:\n  attributes:\n    sysName:\n      oid: .1.3.6.1.2.1.1.5\n      name: system.name\n" +
          "      syntax: DisplayString\n      rediscover: OnChange\n",
        "object_groups/name.yml": "name:\n  objects: [SNMPv2-MIB::name]\n",
        "device_groups/all.yml":
          "generic:\n  object_groups: [system]\nrouter:\n  object_groups: [system, netif, name]\n",
      },
    });
    await rig.snmp.start();
    await until("polled", () => rig.of("SNMPv2-MIB::name").length > 0);
    rig.agent.table = tableOf({ "1.3.6.1.2.1.1.5.0": octets("r9") }).with(
      smallTable.without((oid) => oid.join(".") === "1.3.6.1.2.1.1.5.0").rows,
    );
    await until("the discovery", async () => (await rig.discoveries()) === 2);
    assert.equal(rig.device().sysName, "r9");
  });

  test("a name in Latin-1 is one text, of the device and in its records", async (t) => {
    const latin1 = (text: string) => ({ type: "OctetString", value: Buffer.from(text, "latin1") }) as const;
    const names = { "1.3.6.1.2.1.1.5.0": latin1("Zürich-9"), "1.3.6.1.2.1.31.1.1.1.1.1": latin1("Büro") };
    const rig = await startSnmpRig(t, {
      agent: { table: rigTable.with(tableOf(names).rows) },
      files: {
        "objects/name.yml":
          "SNMPv2-MIB::name:\n  attributes:\n    sysName:\n      oid: .1.3.6.1.2.1.1.5\n      name: system.name\n" +
          "      syntax: DisplayString\n",
        "object_groups/name.yml": "name:\n  objects: [SNMPv2-MIB::name]\n",
        "device_groups/all.yml": "generic:\n  object_groups: [name]\nrouter:\n  object_groups: [name]\n",
      },
    });
    await until("polled", () => rig.of("SNMPv2-MIB::name").length > 0);
    assert.equal(rig.device().sysName, "Zürich-9");
    assert.equal(rig.device().interfaces["1"], "Büro");
    assert.equal(rig.of("SNMPv2-MIB::name")[0]?.["system.name"], "Zürich-9");
  });

  test("interfaces and addresses that a device has no longer name nothing", async (t) => {
    const address = (text: string, octetsOf: number[]) => ({
      oid: oidOf(`1.3.6.1.2.1.4.20.1.1.${text}`),
      value: { type: "IpAddress", value: Buffer.from(octetsOf) } as const,
    });
    const addresses = [address("198.51.100.7", [198, 51, 100, 7]), address("198.51.100.8", [198, 51, 100, 8])];
    const rig = await startSnmpRig(t, {
      agent: { table: rigTable.with(addresses) },
      files: {
        "objects/ip.yml":
          "IP-MIB::ipAddrTable:\n  type: dynamic\n  index:\n    - {type: IpAddress, oid: .1.3.6.1.2.1.4.20.1.1, name: ip.addr, syntax: IpAddress}\n" +
          "  discovery_attribute: ipAdEntAddr\n  attributes:\n    ipAdEntAddr: {oid: .1.3.6.1.2.1.4.20.1.1, name: ip.own, syntax: IpAddress}\n",
        "object_groups/ip.yml": "ip:\n  objects: [IP-MIB::ipAddrTable]\n",
        "device_groups/all.yml": "generic:\n  object_groups: [system]\nrouter:\n  object_groups: [system, netif, ip]\n",
      },
    });
    await until("a poll", () => rig.of("IP-MIB::ipAddrTable").length >= 2);
    assert.deepEqual(rig.device().addresses, ["198.51.100.7", "198.51.100.8"]);
    rig.agent.table = rig.agent.table.without(
      (oid) => oid.at(-1) === 7 || oid.join(".").startsWith("1.3.6.1.2.1.31.1.1.1.1"),
    );
    await until("the loss", () => rig.device().addresses.length === 1 && !("7" in rig.device().interfaces));
    assert.deepEqual(rig.device().addresses, ["198.51.100.8"]);
    assert.equal(rig.device().interfaces["2"], "eth0");
    assert.equal(await rig.discoveries(), 1);
  });

  test("a second reason for a discovery soon after the first is kept for later, not dropped", async (t) => {
    const rig = await startSnmpRig(t, { agent: { uptime: 10_000 } });
    await rig.polled();
    rig.agent.reboot();
    await until("the discovery", async () => (await rig.discoveries()) === 2);
    rig.agent.swap();
    rig.agent.table = rig.agent.table.with([
      { oid: oidOf("1.3.6.1.2.1.1.2.0"), value: { type: "ObjectIdentifier", value: oidOf("1.3.6.1.4.1.9.1.8") } },
    ]);
    await until("a discovery to come", () => rig.device().discovery === "queued");
    assert.equal(await rig.discoveries(), 2);
  });
});
