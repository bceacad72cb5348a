import assert from "node:assert/strict";
import { test } from "node:test";
import { createTimestampSource } from "../../../src/output/index.ts";

function retimed(field: string, ...records: object[]): unknown[] {
  const lines = Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  const text = Buffer.from(createTimestampSource(field)(lines)).toString();
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

test("@timestamp takes the value of another time, of whatever length; records without it stay", () => {
  const at = "2026-01-01T00:00:00.000Z";
  const end = "2025-12-31T23:59:59.123456789Z";
  const flow = { "@timestamp": at, "flow.bytes": 1, "flow.end.timestamp": end, "flow.export.type": "ipfix" };
  const telemetry = { "@timestamp": at, "system.name": "r1" };
  const other = { "flow.end.timestamp": end };
  assert.deepEqual(retimed("flow.end.timestamp", flow, telemetry, other, flow), [
    { ...flow, "@timestamp": end },
    telemetry,
    other,
    { ...flow, "@timestamp": end },
  ]);
  assert.deepEqual(retimed("flow.start.timestamp", flow), [flow]);
});

test("a text that looks like the field is not taken for it", () => {
  const sly = {
    "@timestamp": "2026-01-01T00:00:00.000Z",
    name: ',"flow.end.timestamp":"x"',
    "flow.end.timestamp": "2026-01-01T00:00:01.000Z",
  };
  assert.deepEqual(retimed("flow.end.timestamp", sly), [{ ...sly, "@timestamp": "2026-01-01T00:00:01.000Z" }]);
});

test("a time that is more than a day from receipt, or none, leaves the time of receipt", () => {
  const received = "2026-01-02T12:00:00.000Z";
  const of = (time: string): unknown =>
    (
      retimed("flow.start.timestamp", { "@timestamp": received, "flow.start.timestamp": time })[0] as Record<
        string,
        unknown
      >
    )["@timestamp"];
  for (const near of ["2026-01-01T12:00:00.000Z", "2026-01-03T11:59:59.999999999Z", "2026-01-02T00:00:00Z"]) {
    assert.equal(of(near), near);
  }
  for (const far of ["1970-01-01T00:00:00.000Z", "2026-01-01T11:59:59.998Z", "2036-02-07T06:28:15.000Z", "soon", ""]) {
    assert.equal(of(far), received, far);
  }
});
