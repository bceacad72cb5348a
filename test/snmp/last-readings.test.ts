import assert from "node:assert/strict";
import { test } from "node:test";
import { array, assert as assertProperty, boolean, nat, property, record } from "fast-check";
import type { RecordFields, Value } from "../../src/record/index.ts";
import type { PolledObject } from "../../src/snmp/poller/poll-plan.ts";
import { LastReadings } from "../../src/snmp/readings/last-readings.ts";
import { prometheusText } from "../../src/snmp/readings/last-readings.ts";

const syntax = { kind: "number" };

/** A table with these counters, whose rows are told apart by `port`. */
function objectOf(id: string, ...counters: readonly string[]): PolledObject {
  return {
    id,
    indexFields: [{ field: "port", syntax }],
    columns: counters.map((field) => ({ attribute: { field, syntax, metric: "counter", tag: false } })),
    fixed: new Map(),
    fixedBy: new Map(),
    isShaped: false,
  } as unknown as PolledObject;
}

const deviceOf = (i: number) => ({ ip: `192.0.2.${i}`, name: `d${i}` });

function poll(readings: LastReadings, device: number, object: PolledObject, rows: readonly RecordFields[]): void {
  const writer = readings.begin(`${device}`, deviceOf(device), object);
  for (const row of rows) writer.add(row);
  writer.end();
}

const rowOf = (values: Readonly<Record<string, Value>>): RecordFields => new Map(Object.entries(values));
const linesOf = (readings: LastReadings): string[] =>
  [...prometheusText(readings)]
    .join("")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));

test("each field of each row has a line, as the last poll of its device and object has it", () => {
  const objects = [objectOf("a", "x", "y"), objectOf("b", "y", "z")];
  const row = record({ x: nat(9), y: nat(9), z: nat(9), port: nat(9) }, { requiredKeys: [] });
  const step = record({
    device: nat(2),
    object: nat(1),
    rows: array(row, { maxLength: 4 }),
    forgets: boolean(),
  });
  assertProperty(
    property(array(step, { maxLength: 12 }), (steps) => {
      const readings = new LastReadings(1000);
      const model = new Map<
        string,
        { device: number; fields: readonly string[]; rows: (typeof steps)[number]["rows"] }
      >();
      for (const { device, object, rows, forgets } of steps) {
        const fields = object === 0 ? ["x", "y"] : ["y", "z"];
        if (forgets) {
          readings.forget(`${device}`);
          for (const key of [0, 1]) model.delete(`${device} ${key}`);
          continue;
        }
        poll(
          readings,
          device,
          objects[object] as PolledObject,
          rows.map((one) => rowOf(one as Record<string, number>)),
        );
        model.set(`${device} ${object}`, { device, fields, rows });
      }
      const wanted: string[] = [];
      let count = 0;
      for (const { device, fields, rows } of model.values()) {
        for (const one of rows as readonly Record<string, number>[]) {
          const given = fields.filter((field) => one[field] !== undefined);
          if (given.length > 0) count++;
          const port = one["port"] === undefined ? "" : `,port="${one["port"]}"`;
          for (const field of given)
            wanted.push(`snmp_${field}_total{device="d${device}",ip="192.0.2.${device}"${port}} ${one[field]}`);
        }
      }
      assert.deepEqual(linesOf(readings).sort(), wanted.sort());
      assert.equal(readings.counts.rows, count);
    }),
  );
});

test("rows beyond the bound are counted, and their room is free again when a device goes", () => {
  const readings = new LastReadings(3);
  const object = objectOf("a", "x");
  const rows = [1, 2].map((port) => rowOf({ port, x: 10 * port }));
  poll(readings, 1, object, rows);
  poll(readings, 2, object, rows);
  assert.deepEqual(readings.counts, { rows: 3, leftOut: 1 });
  readings.forget("1");
  poll(readings, 2, object, rows);
  assert.deepEqual(readings.counts, { rows: 2, leftOut: 1 });
  assert.equal(linesOf(readings).length, 2);
});

test("the text comes in small pieces, also while many devices without a reading are looked at", () => {
  let looks = 0;
  const readings = new (class extends LastReadings {
    override *of(field: string): ReturnType<LastReadings["of"]> {
      for (const table of super.of(field)) {
        looks++;
        yield table;
      }
    }
  })(1_000_000);
  const object = objectOf("a", "often", "rare");
  for (let i = 0; i < 3000; i++) poll(readings, i, object, [rowOf({ port: 1, often: i })]);
  poll(readings, 3000, object, [rowOf({ port: 1, rare: 1 })]);
  let before = 0;
  for (const _ of prometheusText(readings)) {
    assert.ok(looks - before <= 250, `${looks - before} devices looked at for a piece`);
    before = looks;
  }
  assert.equal(looks, 2 * 3001);
});

test("objects without a field are not looked at for it", () => {
  const readings = new LastReadings(1000);
  for (let i = 0; i < 10; i++) poll(readings, i, objectOf("a", "x"), [rowOf({ port: 1, x: 1 })]);
  poll(readings, 1, objectOf("b", "y"), [rowOf({ port: 1, y: 1 })]);
  assert.equal([...readings.of("y")].length, 1);
});
