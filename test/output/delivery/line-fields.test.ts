import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { areFlows, createKeyFinder, endOfKey, typeFields } from "../../../src/output/delivery/line-fields.ts";
import { recordTypeOf } from "../../../src/output/delivery/line-fields.ts";
import { columnOf, ecsName, copyBytes, copyLines, LineColumns } from "../../../src/record/index.ts";
import { runs } from "../../support/runs.ts";

const names = ["@timestamp", "a", "ab", "flow.export.ip.addr", "system.ip.addr", "site", "flow.record.type"];
const value = fc.oneof(
  fc.integer(),
  fc.boolean(),
  fc.string({ maxLength: 12 }),
  fc.constantFrom('"site":1', ',"a":', 'x"', "\\"),
  fc.array(fc.string({ maxLength: 4 }), { maxLength: 3 }),
);
const fields = fc.uniqueArray(fc.tuple(fc.constantFrom(...names), value), { selector: ([name]) => name });

test("the key of a line is its first key field, wherever that stands, whatever lines came before", () => {
  fc.assert(
    fc.property(fc.array(fields, { maxLength: 20 }), fc.nat(60), (lines, before) => {
      const findKey = createKeyFinder(["site", "flow.export.ip.addr"]);
      for (const entries of lines) {
        const record = Object.fromEntries(entries);
        const json = Buffer.from(JSON.stringify(record));
        // Lines of other templates lie around it.
        const memory = Buffer.concat([
          Buffer.alloc(before, '{"site":1}\n'),
          json,
          Buffer.from('\n{"site":2,"site":3}'),
        ]);
        const end = before + json.length;
        const at = findKey(memory, before, end);
        const wanted = record["site"] ?? record["flow.export.ip.addr"];
        if (wanted === undefined) {
          assert.equal(at, -1);
          continue;
        }
        const text = JSON.stringify(wanted);
        const key = memory.toString("utf8", at, endOfKey(memory, at, end));
        assert.equal(key, text.startsWith('"') ? text.slice(1, -1) : text);
      }
    }),
    runs(200),
  );
});

test("columns tell of rows whether all are flows, as each line does", () => {
  const headers = fc.record(
    {
      "@timestamp": fc.constant("2026-01-01T00:00:00.000Z"),
      "flow.export.ip.addr": fc.constantFrom("192.0.2.1", "2001:db8::1"),
      "agent.name": fc.constant("n"),
      [ecsName("flow.export.type")]: fc.constant("netflow"),
      "flow.record.type": fc.constantFrom("options", "counters", "discard", "sample", "rollup"),
      "system.ip.addr": fc.constant("192.0.2.9"),
    },
    { requiredKeys: [] },
  );
  const plain = fc.constant({ "flow.export.ip.addr": "192.0.2.1", "flow.bytes": 1 });
  const reader = new LineColumns(
    typeFields.map((field) => ({ field, type: columnOf(field)?.type ?? "text", isArray: false })),
    { maxRows: 100, hasRest: true },
  );
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ arbitrary: plain, weight: 9 }, headers), { minLength: 1, maxLength: 5 }),
      (records) => {
        const lines = records.map((record) => Buffer.from(JSON.stringify(record)));
        reader.clear();
        reader.take(Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")])), 0);
        const types = lines.map((line) => recordTypeOf(line, 0, line.length));
        // Columns need not tell it of rows of which one has its exporter by the one name and another by the other.
        const hasOne = typeFields.slice(1).some((name) => records.every((record) => name in record));
        const isTyped = records.some((record) => "flow.record.type" in record);
        assert.equal(areFlows(reader.batch()), types.every((type) => type === "flow") && hasOne && !isTyped);
      },
    ),
    runs(300),
  );
});

test("the type of a record goes by its head, wherever its exporter stands", () => {
  const typeOf = (record: object): string => {
    const line = Buffer.from(`x${JSON.stringify(record)}\n{"flow.export.ip.addr":"192.0.2.1"}`);
    return recordTypeOf(line, 1, line.indexOf("\n"));
  };
  const time = { "@timestamp": "2026-01-01T00:00:00.000Z" };
  const exporter = { "flow.export.ip.addr": "192.0.2.1" };
  for (const head of [
    { ...time, ...exporter },
    { ...exporter, ...time },
    { ...time, site: "north", ...exporter },
  ]) {
    assert.equal(typeOf(head), "flow");
    assert.equal(typeOf({ ...head, "flow.record.type": "options" }), "flow_option");
    assert.equal(typeOf({ ...head, "flow.record.type": "counters" }), "telemetry");
    assert.equal(typeOf({ "flow.record.type": "rollup", ...head }), "flow");
  }
  assert.equal(typeOf(time), "telemetry");
  assert.equal(typeOf({ ...time, "host.ip": "192.0.2.1" }), "telemetry");
  assert.equal(typeOf({ ...time, "host.ip": "192.0.2.1", [ecsName("flow.export.type")]: "ipfix" }), "flow");
});

test("bytes are copied from any place of any memory to any place", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 600 }),
      fc.boolean(),
      fc.nat(40),
      fc.nat(40),
      (bytes, isShared, skip, at) => {
        const from = isShared ? new Uint8Array(new SharedArrayBuffer(bytes.length)) : new Uint8Array(bytes.length);
        from.set(bytes);
        const start = Math.min(skip, bytes.length);
        const wanted = Buffer.concat([Buffer.alloc(at, 1), bytes.subarray(start)]);
        const to = Buffer.alloc(wanted.length + 3, 1);
        assert.equal(copyLines(from, start, bytes.length, to, at), wanted.length);
        assert.deepEqual(to, Buffer.concat([wanted, Buffer.of(1, 1, 1)]));
        const again = Buffer.alloc(wanted.length + 3, 1);
        const [view, target] = [from, again].map((one) => new DataView(one.buffer, one.byteOffset, one.length));
        assert.equal(copyBytes(view as DataView, start, bytes.length, target as DataView, at), wanted.length);
        assert.deepEqual(again.subarray(0, wanted.length), wanted);
      },
    ),
    runs(300),
  );
});
