import assert from "node:assert/strict";
import { test } from "node:test";
import { Pacer } from "../../src/snmp/limits.ts";
import type { PolledObject } from "../../src/snmp/poller/poll-plan.ts";
import type { PolledRows } from "../../src/snmp/poller/poll-object.ts";
import { RecordWriter } from "../../src/snmp/poller/record-writer.ts";
import { LastReadings } from "../../src/snmp/readings/last-readings.ts";
import { prometheusText } from "../../src/snmp/readings/last-readings.ts";
import type { NameTables } from "../../src/snmp/values/put-value.ts";
import { syntaxes } from "../../src/snmp/values/syntaxes-and-units.ts";

const count = 100;
const counter = { name: "c", field: "bytes", oidText: ".1.1", syntax: syntaxes.get("Counter32"), metric: "counter" };

/** A table by ifIndex with one counter. */
const object = {
  id: "T",
  name: "T",
  isTable: true,
  indexTypes: ["Integer"],
  indexFields: [{ field: "netif", oidText: ".1", syntax: syntaxes.get("InterfaceIndex") }],
  columns: [{ attribute: counter }],
  fixed: new Map(),
  fixedBy: new Map(),
  isShaped: false,
  isSystem: false,
} as unknown as PolledObject;

const polled: PolledRows = {
  rows: Array.from({ length: count }, (_, i) => ({ key: String(i + 1), values: [{ type: "Counter32", value: i }] })),
  isComplete: true,
  isOrdered: true,
  detail: undefined,
  error: undefined,
  isCut: false,
  at: 0,
};

function writerFor(readings: LastReadings, onLine: () => void): RecordWriter {
  let looks = 0;
  const clock = { now: () => 0, monotonic: () => looks++ };
  return new RecordWriter({ enrich: onLine }, { write() {} }, clock, new Pacer(clock), [readings]);
}

const source = {
  deviceId: "192.0.2.1:161",
  ip: "192.0.2.1",
  hostName: "r1",
  names: { interfaceName: () => undefined } as unknown as NameTables,
  count: () => undefined,
  facts: new Map(),
  boot: 0,
};

const linesOf = (readings: LastReadings): string[] =>
  [...prometheusText(readings)]
    .join("")
    .split("\n")
    .filter((line) => line.startsWith("snmp_"));

test("a long table gives way, and its readings are there when it has ended", async () => {
  const readings = new LastReadings(1000);
  const { records } = await writerFor(readings, () => {}).write(source, object, polled);
  assert.equal(records, count);
  assert.equal(linesOf(readings).length, count);
});

test("a device that is removed during a poll has no readings, then or later", async () => {
  const readings = new LastReadings(1000);
  let isThere = true;
  let rows = 0;
  const remove = (): void => {
    isThere = false;
    readings.forget(source.deviceId);
  };
  const writer = writerFor(readings, () => void (++rows === 5 && setImmediate(remove)));
  const { records } = await writer.write(source, object, polled, () => isThere);
  assert.ok(records >= 5 && records < count, `${records} records`);
  assert.deepEqual([linesOf(readings), readings.counts.rows], [[], 0]);
});

test("a device that is removed while its last row is written has no readings", async () => {
  const readings = new LastReadings(1000);
  let isThere = true;
  let rows = 0;
  const writer = writerFor(readings, () => {
    if (++rows < count) return;
    isThere = false;
    readings.forget(source.deviceId);
  });
  await writer.write(source, object, polled, () => isThere);
  assert.deepEqual([linesOf(readings), readings.counts.rows], [[], 0]);
});

test("tables are called by their rows where NetObserv's dashboards are to find them, groups of scalars as ever", async () => {
  const clock = { now: () => 0, monotonic: () => 0 };
  const named = async (name: string, isTable: boolean, naming: "netgloss" | "netobserv"): Promise<unknown> => {
    const names = new Set<unknown>();
    const sink = {
      write(lines: Uint8Array) {
        for (const line of Buffer.from(lines).toString().trimEnd().split("\n")) {
          names.add((JSON.parse(line) as Record<string, unknown>)["snmp.object.name"]);
        }
      },
    };
    const writer = new RecordWriter({ enrich() {} }, sink, clock, new Pacer(clock), [], false, naming);
    await writer.write(source, { ...object, name, isTable }, polled);
    return [...names].join();
  };
  assert.equal(await named("IF-MIB::ifXTable", true, "netgloss"), "IF-MIB::ifXTable");
  assert.equal(await named("IF-MIB::ifXTable", true, "netobserv"), "IF-MIB::ifXEntry");
  assert.equal(await named("IP-MIB::icmp", false, "netobserv"), "IP-MIB::icmp");
});
