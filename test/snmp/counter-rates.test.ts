import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { CounterChange } from "../../src/snmp/poller/counter-rates.ts";
import { CounterRates } from "../../src/snmp/poller/counter-rates.ts";
import { RateBudget } from "../../src/snmp/poller/counter-rates.ts";
import type { PolledObject } from "../../src/snmp/poller/poll-plan.ts";
import type { Cell } from "../../src/snmp/values/put-row.ts";
import { syntaxes } from "../../src/snmp/values/syntaxes-and-units.ts";
import type { AgentValue } from "../support/snmp-agent/agent-table.ts";
import { counter32, oidOf } from "../support/snmp-agent/index.ts";
import { patientDevice, startSnmpRig, type SnmpRecord } from "../support/snmp-rig.ts";
import { until } from "../support/until.ts";

type Width = "Counter32" | "Counter64";

interface CounterColumn {
  readonly name: string;
  readonly field: string;
  readonly width: Width;
  readonly syntax?: string;
}

/** A table by ifIndex; only what the rates are made of. */
function tableOf(...columns: readonly CounterColumn[]): PolledObject {
  return {
    id: "T",
    indexFields: [{ field: "netif", oidText: ".1", syntax: syntaxes.get("InterfaceIndex") }],
    columns: columns.map(({ name, field, width, syntax }, i) => ({
      attribute: { name, field, oidText: `.1.${i}`, syntax: syntaxes.get(syntax ?? width), metric: "counter" },
    })),
  } as unknown as PolledObject;
}

const cellsOf = (table: PolledObject, ...values: readonly (number | bigint | undefined)[]): Cell[] =>
  values.flatMap((value, i) => {
    const target = table.columns[i]?.attribute;
    if (value === undefined || target === undefined) return [];
    return [[target, { type: target.syntax.name.startsWith("TimeStamp") ? "TimeTicks" : widthOf(table, i), value }]];
  });

const widthOf = (table: PolledObject, i: number): Width =>
  table.columns[i]?.attribute.field.endsWith("64") === true ? "Counter64" : "Counter32";

const all = (): boolean => true;
const noSpeed = (): undefined => undefined;
const shown = (changes: readonly CounterChange[] | undefined): unknown[] | undefined =>
  changes?.map((change) =>
    "refused" in change
      ? [change.attribute.field, change.refused]
      : [change.attribute.field, change.delta, change.perSecond],
  );

const wide = { name: "ifHCInOctets", field: "bytes.64", width: "Counter64" } as const;
const narrow = { name: "ifInOctets", field: "bytes.in", width: "Counter32" } as const;

test("differences are exact in 64 bits, and of both widths what a model with whole numbers of any size says", () => {
  const table = tableOf(wide, narrow);
  const reading = fc.record({
    wide: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    step: fc.bigInt({ min: -5n, max: 2n ** 52n }),
    narrow: fc.nat({ max: 2 ** 32 - 1 }),
    isThere: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(reading, { minLength: 2, maxLength: 8 }), (readings) => {
      const rates = new CounterRates(new RateBudget(10), all);
      let before: { wide: bigint; narrow: number | undefined } | undefined;
      for (const [i, one] of readings.entries()) {
        const value = before === undefined ? one.wide : clamp(before.wide + one.step);
        const now = { wide: value, narrow: one.isThere ? one.narrow : undefined };
        const short = value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
        const got = rates.begin(table, 1000 * i, 0, noSpeed)?.row("7", cellsOf(table, short, now.narrow))?.changes;
        const expected = before === undefined ? undefined : model(before, now);
        assert.deepEqual(shown(got), expected);
        before = now;
      }
    }),
  );
});

const clamp = (value: bigint): bigint => (value < 0n ? 0n : value > 2n ** 64n - 1n ? 2n ** 64n - 1n : value);

function model(
  before: { wide: bigint; narrow: number | undefined },
  now: { wide: bigint; narrow: number | undefined },
): unknown[] | undefined {
  const changes: unknown[] = [];
  const more = now.wide - before.wide;
  changes.push(more < 0n ? ["bytes.64", "reset"] : ["bytes.64", Number(more), Number(more)]);
  if (before.narrow !== undefined && now.narrow !== undefined) {
    const change = BigInt(now.narrow) - BigInt(before.narrow);
    const round = change < 0n ? change + 2n ** 32n : change;
    const isReset = change < 0n && round > 2n ** 31n;
    changes.push(isReset ? ["bytes.in", "reset"] : ["bytes.in", Number(round), Number(round)]);
  }
  return changes;
}

test("a change beyond the speed of its interface is a step, unless the one before was as fast", () => {
  const table = tableOf(wide, { name: "ifHCInUcastPkts", field: "packets.64", width: "Counter64" });
  const budget = new RateBudget(10);
  const rates = new CounterRates(budget, all);
  const at = (time: number, ...values: readonly number[]): unknown[] | undefined =>
    shown(rates.begin(table, time, 0, () => 8_000_000)?.row("7", cellsOf(table, ...values))?.changes);
  assert.equal(at(0, 0, 0), undefined);
  // 1 MB/s is its speed.
  assert.deepEqual(at(10_000, 10_000_000, 1000), [
    ["bytes.64", 10_000_000, 1_000_000],
    ["packets.64", 1000, 100],
  ]);
  assert.deepEqual(at(20_000, 900_000_000, 9_000_000), [
    ["bytes.64", "step"],
    ["packets.64", "step"],
  ]);
  assert.equal(rates.rateOf(".1.0", "7"), undefined);
  assert.deepEqual(at(30_000, 905_000_000, 9_000_500), [
    ["bytes.64", 5_000_000, 500_000],
    ["packets.64", 500, 50],
  ]);
  assert.deepEqual(budget.refused, { reset: 0, narrow: 0, step: 2 });
  // An interface whose speed is made up.
  assert.deepEqual(at(40_000, 1_905_000_000, 9_000_500)?.[0], ["bytes.64", "step"]);
  for (let i = 1; i <= 2; i++) {
    const value = 1_905_000_000 + i * 1_000_000_000;
    assert.deepEqual(at(40_000 + i * 10_000, value, 9_000_500)?.[0], ["bytes.64", 1_000_000_000, 100_000_000]);
  }
});

test("a poll before half of the interval is over is not counted, and costs the next one nothing", () => {
  const table = tableOf(wide);
  const rates = new CounterRates(new RateBudget(10), all);
  const at = (time: number, value: number): unknown[] | undefined => {
    const counted = rates.begin(table, time, 5000, noSpeed);
    const changes = shown(counted?.row("7", cellsOf(table, value))?.changes);
    counted?.end();
    return changes;
  };
  assert.equal(at(0, 0), undefined);
  assert.deepEqual(at(10_000, 1000), [["bytes.64", 1000, 100]]);
  assert.equal(at(10_300, 1500), undefined);
  assert.equal(at(14_999, 1600), undefined);
  assert.equal(rates.rateOf(".1.0", "7"), 100);
  assert.deepEqual(at(20_000, 3000), [["bytes.64", 2000, 200]]);
});

test("32 bits of octets at 10 Gbit/s say nothing after a minute, and of packets they do", () => {
  const table = tableOf(narrow, { name: "ifInUcastPkts", field: "packets.in", width: "Counter32" });
  const budget = new RateBudget(10);
  const rates = new CounterRates(budget, all);
  const at = (time: number, ...values: readonly number[]): unknown[] | undefined =>
    shown(rates.begin(table, time, 0, () => 10_000_000_000)?.row("7", cellsOf(table, ...values))?.changes);
  assert.equal(at(0, 1000, 4_294_967_000), undefined);
  assert.deepEqual(at(60_000, 2000, 704), [
    ["bytes.in", "narrow"],
    ["packets.in", 1000, 16.667],
  ]);
  assert.deepEqual(at(61_000, 3000, 705), [
    ["bytes.in", 1000, 1000],
    ["packets.in", 1, 1],
  ]);
  assert.deepEqual(budget.refused, { reset: 0, narrow: 1, step: 0 });
});

test("a slow interface cannot have counted to the end: the counter was reset", () => {
  const table = tableOf(narrow);
  const rates = new CounterRates(new RateBudget(10), all);
  const row = (time: number, value: number): unknown[] | undefined =>
    shown(rates.begin(table, time, 0, () => 1_000_000)?.row("7", cellsOf(table, value))?.changes);
  row(0, 3_000_000_000);
  assert.deepEqual(row(10_000, 500), [["bytes.in", "reset"]]);
  row(20_000, 4_294_967_290);
  assert.deepEqual(row(30_000, 4), [["bytes.in", 10, 1]]);
});

test("another time of discontinuity is a reset, whatever the counters say", () => {
  const table = tableOf(wide, {
    name: "ifCounterDiscontinuityTime",
    field: "reset",
    width: "Counter32",
    syntax: "TimeStamp",
  });
  const rates = new CounterRates(new RateBudget(10), ({ name }) => name === "ifHCInOctets");
  const row = (time: number, value: number, reset: number): unknown[] | undefined =>
    shown(rates.begin(table, time, 0, noSpeed)?.row("7", cellsOf(table, value, reset))?.changes);
  row(0, 10, 5);
  assert.deepEqual(row(1000, 20, 5), [["bytes.64", 10, 10]]);
  assert.deepEqual(row(2000, 30, 6), [["bytes.64", "reset"]]);
  assert.deepEqual(row(3000, 40, 6), [["bytes.64", 10, 10]]);
});

test("rows that are gone give their room back, and those without room are counted", () => {
  const table = tableOf(wide);
  const budget = new RateBudget(2);
  const rates = new CounterRates(budget, all);
  const poll = (time: number, ...keys: readonly string[]): void => {
    const counted = rates.begin(table, time, 0, noSpeed);
    for (const key of keys) counted?.row(key, cellsOf(table, time));
    counted?.end();
  };
  poll(0, "1", "2", "3");
  assert.deepEqual([budget.used, budget.leftOut], [2, 1]);
  poll(1000, "2", "4");
  assert.deepEqual([budget.used, budget.leftOut], [1, 2], "the room of a row that is gone is there the next time");
  poll(2000, "2", "4");
  assert.deepEqual([budget.used, budget.leftOut, rates.rateOf(".1.0", "2")], [2, 2, 1000]);
  rates.forget();
  assert.deepEqual([budget.used, rates.rateOf(".1.0", "2")], [0, undefined]);
});

test("records have what their counters did, from the second poll of the interval on and not over a restart", async (t) => {
  const rig = await startSnmpRig(t, {
    files: { "devices/lab.yml": patientDevice },
    agent: { uptime: 100_000 },
    addsRates: true,
    start: false,
  });
  const wideValue: AgentValue = (uptime) => ({
    type: "Counter64",
    value: 2n ** 52n + BigInt(Math.round(uptime * 1000)),
  });
  rig.agent.table = rig.agent.table.with([
    { oid: oidOf("1.3.6.1.2.1.31.1.1.1.6.1"), value: wideValue },
    { oid: oidOf("1.3.6.1.2.1.2.2.1.10.2"), value: counter32(4_294_967_000, 1000) },
  ]);
  await rig.snmp.start();
  const of = (object: string, index: number): SnmpRecord[] =>
    rig.of(object).filter((record) => record["netif.index"] === index);
  const withRate = (records: readonly SnmpRecord[]): SnmpRecord | undefined =>
    records.find((record) => record["netif.bytes.in_rate"] !== undefined);
  const tables = (): SnmpRecord[][] => [of("IF-MIB::ifXTable", 1), of("IF-MIB::ifTable", 2)];
  await until("rates", () => tables().every((records) => withRate(records) !== undefined));
  for (const records of tables()) {
    const [first] = records;
    const second = withRate(records);
    assert.ok(first !== undefined && second !== undefined);
    assert.deepEqual([first["netif.bytes.in_rate"], first["snmp.rate.interval"]], [undefined, undefined]);
    const counted = (Number(second["netif.bytes.in"]) - Number(first["netif.bytes.in"]) + 2 ** 32) % 2 ** 32;
    assert.equal(second["netif.bytes.in_delta"], counted);
    const [rate, seconds] = [Number(second["netif.bytes.in_rate"]), Number(second["snmp.rate.interval"])];
    // The record has whole milliseconds.
    assert.ok(seconds >= 0.5, "a poll that comes sooner has no rates");
    const most = 0.0005 * rate + 0.0005 * seconds + 1e-6 * counted;
    assert.ok(Math.abs(counted - rate * seconds) <= most, `${counted} in ${seconds} s is not ${rate} per second`);
  }
  rig.agent.reboot();
  const before = rig.records.length;
  const later = (): SnmpRecord | undefined =>
    rig.records.slice(before).find((record) => record["snmp.object.name"] === "IF-MIB::ifXTable");
  await until("a restart", async () => ((await rig.count("restarts_total")) ?? 0) > 0);
  await until("a record", () => later() !== undefined);
  assert.equal(await rig.metrics.value("netgloss_snmp_rates_refused_total", { reason: "narrow" }), 0);
});
