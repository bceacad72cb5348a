import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { oidOf, tableOf, type AgentTable, counter32, gauge, integer } from "../support/snmp-agent/index.ts";
import { smallTable } from "../support/snmp-session-fixture.ts";
import { patientDevice, startSnmpRig, type SnmpRig } from "../support/snmp-rig.ts";
import { until } from "../support/until.ts";

const counter64 = (value: bigint) => ({ type: "Counter64", value }) as const;

const patient = { "devices/lab.yml": patientDevice };

/** Bytes in by ifIndex, as the first poll has them in any of the two tables. */
async function bytesIn(rig: SnmpRig, rows: number): Promise<Record<string, unknown>> {
  const found = await until("the rows", () => {
    const seen = new Map<unknown, unknown>();
    for (const record of rig.records) {
      if (!("netif.bytes.in" in record) || seen.has(record["netif.index"])) continue;
      seen.set(record["netif.index"], record["netif.bytes.in"]);
    }
    return seen.size >= rows && seen;
  });
  return Object.fromEntries(found);
}

const narrow = (index: number): [string, ReturnType<typeof counter32>] => [
  `1.3.6.1.2.1.2.2.1.10.${index}`,
  counter32(index * 1000, 0),
];

describe("an attribute overrides another one in the rows that have it", { concurrency: 6 }, () => {
  test("interfaces without wide counters keep their narrow ones", async (t) => {
    const table = smallTable.with(tableOf(Object.fromEntries([1, 2, 7].map(narrow))).rows);
    const rig = await startSnmpRig(t, { agent: { table }, files: patient });
    assert.deepEqual(await bytesIn(rig, 3), { 1: 18_446_744_073_709_552_000, 2: 2000, 7: 7000 });
    assert.ok(
      rig.of("IF-MIB::ifTable").every((record) => !(record["netif.index"] === 1 && "netif.bytes.in" in record)),
    );
    assert.equal(rig.of("IF-MIB::ifXTable").filter((record) => record["netif.index"] !== 1).length, 0);
  });

  test("an interface that has wide counters in every row costs no request for narrow ones", async (t) => {
    const wide = [1, 2, 7].map((index) => ({
      oid: oidOf(`1.3.6.1.2.1.31.1.1.1.6.${index}`),
      value: counter64(BigInt(index)),
    }));
    const rig = await startSnmpRig(t, { agent: { table: smallTable.with(wide) }, files: patient });
    const asked: string[] = [];
    await until("a poll", () => rig.of("IF-MIB::ifXTable").length >= 3);
    rig.agent.faults.liesAbout = (response, request) => {
      for (const { oid } of request.varbinds) asked.push(oid.join("."));
      return response;
    };
    await until("another poll", () => rig.of("IF-MIB::ifXTable").length >= 6);
    assert.equal(asked.filter((oid) => oid.startsWith("1.3.6.1.2.1.2.2.1.10")).length, 0);
    assert.deepEqual(await bytesIn(rig, 3), { 1: 1, 2: 2, 7: 7 });
  });

  test("a wide counter that stays 0 gives way to a narrow one that counts, and no other is asked for later", async (t) => {
    const wide = (index: number, value: bigint) => ({
      oid: oidOf(`1.3.6.1.2.1.31.1.1.1.6.${index}`),
      value: counter64(value),
    });
    const idle: [string, ReturnType<typeof counter32>] = ["1.3.6.1.2.1.2.2.1.10.2", counter32(0, 0)];
    const table = smallTable
      .with(tableOf(Object.fromEntries([narrow(1), idle, narrow(7)])).rows)
      .with([wide(1, 0n), wide(2, 0n), wide(7, 5n)]);
    const rig = await startSnmpRig(t, { agent: { table }, files: patient });
    assert.deepEqual(await bytesIn(rig, 3), { 1: 1000, 2: 0, 7: 5 });
    const asked = new Set<string>();
    rig.agent.faults.liesAbout = (response, request) => {
      for (const { oid } of request.varbinds) asked.add(oid.join("."));
      return response;
    };
    const seen = rig.records.length;
    await until(
      "two more polls",
      () => rig.of("IF-MIB::ifXTable").length >= 9 && rig.of("IF-MIB::ifTable").length >= 9,
    );
    assert.deepEqual(
      [...asked].filter((oid) => oid.startsWith("1.3.6.1.2.1.2.2.1.10")),
      ["1.3.6.1.2.1.2.2.1.10.1"],
    );
    const later = rig.records.slice(seen).filter((record) => record["netif.index"] === 1 && "netif.bytes.in" in record);
    assert.ok(later.length > 0);
    assert.ok(later.every((record) => record["snmp.object.name"] === "IF-MIB::ifTable"));
    assert.ok(later.every((record) => record["netif.bytes.in"] === 1000));
  });

  test("a wide counter that could not be read is not stood in for by a narrow one", async (t) => {
    const rig = await startSnmpRig(t, { agent: { table: smallTable }, files: patient });
    await bytesIn(rig, 3);
    rig.agent.faults.liesAbout = (response, request) =>
      request.varbinds.some(({ oid }) => oid.join(".").startsWith("1.3.6.1.2.1.31.1.1.1.6"))
        ? { ...response, errorStatus: 5, errorIndex: 1 }
        : response;
    await until("a partial poll", async () => ((await rig.count("polls_partial_total")) ?? 0) >= 1);
    const seen = rig.of("IF-MIB::ifTable").length;
    await until("another poll", () => rig.of("IF-MIB::ifTable").length >= seen + 3);
    const later = rig.of("IF-MIB::ifTable").slice(seen);
    assert.ok(later.every((record) => record["netif.index"] !== 1 || !("netif.bytes.in" in record)));
  });

  test("both in one table, and a table in which everything can be overridden", async (t) => {
    const attribute = (name: string, column: number, more = "") =>
      `    ${name}: {oid: .1.3.6.1.4.1.9.9.1.1.${column}, name: ${name.slice(0, 1)}.value, syntax: Integer32${more}}\n`;
    const index = "  index:\n    - {type: Integer, oid: .1.3.6.1.4.1.9.9.1.1.1, name: row, syntax: Integer32}\n";
    const overrides = (name: string) => `, overrides: {object: T::a, attribute: ${name}}`;
    const cells: [string, ReturnType<typeof integer>][] = [
      ["2.1", integer(21)],
      ["2.2", integer(22)],
      ["3.2", integer(32)],
      ["4.1", integer(41)],
      ["4.2", integer(42)],
      ["5.1", integer(51)],
    ];
    const table: AgentTable = smallTable.with(
      cells.map(([cell, value]) => ({ oid: oidOf(`1.3.6.1.4.1.9.9.1.1.${cell}`), value })),
    );
    const rig = await startSnmpRig(t, {
      agent: { table },
      files: {
        ...patient,
        "objects/t.yml":
          `T::a:\n${index}  attributes:\n${attribute("old", 2)}${attribute("oNew", 3, overrides("old"))}` +
          `${attribute("plain", 4)}\nT::b:\n${index}  attributes:\n${attribute("qOnly", 4)}\n` +
          `T::c:\n${index}  attributes:\n${attribute("qWide", 5, ", overrides: {object: T::b, attribute: qOnly}")}\n`,
        "object_groups/t.yml": "t:\n  objects: [T::a, T::b, T::c]\n",
        "device_groups/all.yml": "generic:\n  object_groups: [system]\nrouter:\n  object_groups: [system, t]\n",
        "autodiscover/sysoids/all.yml": "",
      },
    });
    await until(
      "the rows",
      () => rig.of("T::a").length >= 2 && rig.of("T::b").length >= 1 && rig.of("T::c").length > 0,
    );
    const values = (object: string, field: string): unknown =>
      Object.fromEntries(rig.of(object).map((record) => [record["row"], record[field]]));
    assert.deepEqual(values("T::a", "o.value"), { 1: 21, 2: 32 });
    assert.deepEqual(values("T::b", "q.value"), { 2: 42 });
    assert.deepEqual(values("T::c", "q.value"), { 1: 51 });
  });
});

test("a table without the column that another tool would look for is found all the same", async (t) => {
  // The small device has no ifName at all.
  const rig = await startSnmpRig(t, {
    files: patient,
    agent: { table: smallTable.with([{ oid: oidOf("1.3.6.1.2.1.31.1.1.1.15.2"), value: gauge(1) }]) },
  });
  await until("the discovery", () => rig.device().state === "up");
  assert.deepEqual(rig.device().objects["IF-MIB::ifXTable"], ["ifHCInOctets"]);
});
