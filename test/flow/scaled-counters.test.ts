import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFilter, recordVocabulary } from "../../src/record/index.ts";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig, type FlowRig, type Json } from "../support/flow-rig.ts";

const address = "192.0.2.254";
const rated = (id: number, ...elements: readonly (readonly [number, number])[]): PacketTemplate => ({
  id,
  fields: fields(...elements, [34, 4]),
});

/** Sends one record of numbers, the last one its sampling rate. */
function send(rig: FlowRig, template: PacketTemplate, ...values: readonly (number | bigint)[]): Json {
  const bytes = template.fields.map(({ length }, i) => {
    const value = values[i] ?? 0;
    return typeof value === "number"
      ? uint(value, Number(length))
      : Buffer.from(value.toString(16).padStart(16, "0"), "hex");
  });
  return rig.send(netflow9([netflow9Templates(template), dataSet(template, bytes)]))[0] ?? {};
}

const counters = (record: Json): Json =>
  Object.fromEntries(
    Object.entries(record).filter(([name]) => /bytes|packets|sampl/.test(name) && !name.includes("ie.")),
  );

test("bytes and packets are what passed; what was exported has fields of its own", () => {
  const rig = createFlowRig();
  assert.deepEqual(counters(send(rig, rated(300, [1, 8], [2, 4]), 1500, 3, 1000)), {
    "flow.raw.bytes": 1500,
    "flow.bytes_layer": "l3",
    "flow.raw.packets": 3,
    "flow.sample_rate": 1000,
    "flow.bytes": 1_500_000,
    "flow.packets": 3000,
  });
});

test("without scaling they are what was exported, and the estimates are aside", () => {
  const rig = createFlowRig({ scaleCounters: false });
  assert.deepEqual(counters(send(rig, rated(300, [1, 8], [2, 4]), 1500, 3, 1000)), {
    "flow.bytes": 1500,
    "flow.bytes_layer": "l3",
    "flow.packets": 3,
    "flow.sample_rate": 1000,
    "flow.scaled.bytes": 1_500_000,
    "flow.scaled.packets": 3000,
  });
});

test("both directions of a biflow, and what initiator and responder sent, are scaled alike", () => {
  const rig = createFlowRig();
  const record = send(rig, rated(300, [231, 8], [232, 8], [298, 4], [299, 4]), 10, 20, 1, 2, 100);
  assert.deepEqual(counters(record), {
    "flow.raw.bytes": 10,
    "flow.bytes_layer": "l4",
    "flow.reverse.raw.bytes": 20,
    "flow.reverse.bytes_layer": "l4",
    "flow.raw.packets": 1,
    "flow.reverse.raw.packets": 2,
    "flow.sample_rate": 100,
    "flow.bytes": 1000,
    "flow.packets": 100,
    "flow.reverse.bytes": 2000,
    "flow.reverse.packets": 200,
  });
  const split = createFlowRig({ splitBiflows: true });
  const template: PacketTemplate = {
    id: 301,
    fields: [...fields([1, 4], [34, 4]), { pen: 29_305, id: 1, length: 4 }],
  };
  const [forward, reverse] = split.send(
    ipfix([ipfixTemplates(template), dataSet(template, [uint(5, 4), uint(10, 4), uint(7, 4)])]),
  );
  assert.deepEqual([forward?.["flow.bytes"], forward?.["flow.raw.bytes"]], [50, 5]);
  assert.deepEqual(
    [reverse?.["flow.bytes"], reverse?.["flow.raw.bytes"], reverse?.["flow.bytes_layer"]],
    [70, 7, "l3"],
  );
});

test("the field that wins says what its bytes are the length of", () => {
  const rig = createFlowRig();
  const both = rated(300, [1, 4], [352, 4]);
  assert.equal(send(rig, both, 100, 118, 1)["flow.bytes_layer"], "l3");
  const other = send(rig, both, 0, 118, 1);
  assert.deepEqual([other["flow.raw.bytes"], other["flow.bytes_layer"]], [118, "l2"]);
});

test("no digit is lost beyond 2^53; beyond 2^64 the estimate is cut, and a field says so", () => {
  const send1 = (bytes: bigint, rate: number): unknown[] => {
    const record = send(createFlowRig(), rated(300, [1, 8]), bytes, rate);
    return ["flow.raw.bytes", "flow.bytes", "flow.sampling.overflow"].map((name) => record[name]);
  };
  assert.deepEqual(send1(2n ** 63n + 1n, 1), ["9223372036854775809n", "9223372036854775809n", undefined]);
  assert.deepEqual(send1(2n ** 60n + 1n, 10), ["1152921504606846977n", "11529215046068469770n", undefined]);
  assert.deepEqual(send1(2n ** 63n + 1n, 1000), ["9223372036854775809n", "18446744073709551615n", true]);
});

test("options data keeps its counters under their plain names", () => {
  const rig = createFlowRig();
  const template: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([1, 4], [85, 8]) };
  const [record] = rig.send(netflow9([netflow9Templates(template), dataSet(template, [uint(1, 4), uint(9, 8)])]));
  assert.equal(record?.["flow.record.type"], "options");
  assert.deepEqual([record["flow.bytes"], record["flow.raw.bytes"]], [9, undefined]);
});

for (const scaleCounters of [true, false]) {
  test(`a filter compares what is in the record, ${scaleCounters ? "" : "not "}scaled`, () => {
    const kept = (text: string, ...values: readonly (number | bigint)[]): boolean => {
      const filter = parseFilter(text, "test", recordVocabulary);
      const rig = createFlowRig({ scaleCounters, filter });
      return Object.keys(send(rig, rated(300, [1, 8], [2, 4]), ...values)).length > 0;
    };
    assert.equal(kept("bytes > 1MB", 1500, 3, 1000), scaleCounters);
    assert.equal(kept("bytes = 1500", 1500, 3, 1000), !scaleCounters);
    assert.equal(kept("packets = 3000 and bytes >= 1500", 1500, 3, 1000), scaleCounters);
    assert.equal(kept("flow.raw.bytes = 1500", 1500, 3, 1000), scaleCounters);
    assert.equal(kept("flow.scaled.bytes = 1.5MB", 1500, 3, 1000), !scaleCounters);
    assert.equal(kept("flow.scaled.packets exists", 1500, 3, 1000), !scaleCounters);
    assert.equal(kept("bytes > 9PB", 2n ** 53n - 1n, 3, 1000), true);
    assert.equal(kept("not bytes > 9PB", 2n ** 53n - 1n, 3, 1000), false);
  });
}

test("a record from an exporter by hand has its rate, too", () => {
  const rig = createFlowRig({ samplingRates: new Map([[address, 7]]) });
  assert.equal(send(rig, { id: 300, fields: fields([1, 4]) }, 6)["flow.bytes"], 42);
});
