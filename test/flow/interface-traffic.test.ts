import assert from "node:assert/strict";
import { test } from "node:test";
import { trafficKey, trafficMinuteMs, type ExporterTraffic } from "../../src/flow/index.ts";
import { InterfaceTraffic, seenAt } from "../../src/flow/exporters/exporter-traffic.ts";
import { trafficCells } from "../../src/flow/kernel/layout.gen.ts";
import { parseFilter, recordVocabulary } from "../../src/record/index.ts";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  uint,
  type PacketTemplate,
  flowSample,
  sflow,
} from "../../packages/testkit/index.ts";
import { createFlowRig, type FlowRig } from "../support/flow-rig.ts";

const template: PacketTemplate = { id: 256, fields: fields([10, 4], [14, 4], [1, 8], [2, 4]) };
const address = "192.0.2.254";

/** Flows as pairs of interfaces, of 1000 bytes in two packets each. */
function report(rig: FlowRig, ways: readonly (readonly [number, number])[], from = address): void {
  for (let at = 0; at < ways.length; at += 60) {
    const records = ways
      .slice(at, at + 60)
      .map(([input, output]) => [uint(input, 4), uint(output, 4), uint(1000, 8), uint(2, 4)]);
    rig.send(ipfix([ipfixTemplates(template), dataSet(template, ...records)]), { address: from });
  }
}

/** By key: bytes, bytes as exported, packets. */
const rowsOf = (traffic: ExporterTraffic | undefined, minute = -1): Map<number, number[]> => {
  const rows = traffic?.minutes.at(minute)?.rows ?? [];
  return new Map(
    Array.from({ length: rows.length / 4 }, (_, i) => [rows[4 * i] ?? 0, Array.from(rows.slice(4 * i + 1, 4 * i + 4))]),
  );
};
const inKey = (index: number): number => trafficKey(index, "in", seenAt.unknown);
const outKey = (index: number): number => trafficKey(index, "out", seenAt.unknown);

test("bytes are added up by minute, interface and way, by the sampling rate", () => {
  const rig = createFlowRig({ isMeasured: () => true, samplingRates: new Map([[address, 100]]) });
  rig.time -= rig.time % trafficMinuteMs;
  report(rig, [
    [1, 2],
    [1, 3],
    [4_294_967_295, 1],
    [0, 2],
  ]);
  assert.deepEqual(rig.pipeline.traffic(), []);
  rig.time += trafficMinuteMs;
  report(rig, [[1, 2]]);
  const [traffic] = rig.pipeline.traffic();
  assert.equal(traffic?.address, address);
  assert.deepEqual(
    traffic.minutes.map(({ start, isPartial }) => [start, isPartial]),
    [[rig.time - trafficMinuteMs, false]],
  );
  const one = [100_000, 1000, 200];
  const two = [200_000, 2000, 400];
  assert.deepEqual(
    [...rowsOf(traffic)].toSorted(([a], [b]) => a - b),
    [
      [inKey(1), two],
      [outKey(1), one],
      [outKey(2), two],
      [outKey(3), one],
      [inKey(4_294_967_295), one],
    ],
  );
  rig.time += trafficMinuteMs;
  assert.deepEqual(rowsOf(rig.pipeline.traffic()[0]).get(inKey(1)), one);
});

test("what a filter drops counts, and so do samples of sFlow", () => {
  const rig = createFlowRig({
    isMeasured: () => true,
    filter: parseFilter("bytes > 1000000", "test", recordVocabulary),
  });
  report(rig, [[1, 2]]);
  rig.send(sflow([flowSample([], { input: 7, output: 9, rate: 50 })]));
  rig.time += trafficMinuteMs;
  assert.deepEqual(rowsOf(rig.pipeline.traffic()[0]).get(inKey(1)), [1000, 1000, 2]);
});

test("only exporters that are measured are, and they are asked again each minute", () => {
  let isKnown = false;
  const asked: string[] = [];
  const rig = createFlowRig({
    isMeasured(of) {
      asked.push(of);
      return of === address && isKnown;
    },
  });
  for (let i = 0; i < 3; i++) report(rig, [[1, 2]]);
  report(rig, [[1, 2]], "192.0.2.9");
  assert.deepEqual(asked, [address, "192.0.2.9"]);
  isKnown = true;
  rig.time += trafficMinuteMs;
  report(rig, [[1, 2]]);
  report(rig, [[1, 2]], "192.0.2.9");
  rig.time += trafficMinuteMs;
  const found = rig.pipeline.traffic();
  assert.deepEqual(
    found.map(({ address: of, minutes }) => [of, minutes.length]),
    [[address, 1]],
  );
  assert.ok((found[0]?.since ?? 0) > rig.time - 2 * trafficMinuteMs);
});

test("interfaces without room are counted, and their minute is marked", async () => {
  const rig = createFlowRig({ isMeasured: () => true });
  report(
    rig,
    Array.from({ length: trafficCells + 500 }, (_, i) => [i + 1, 0]),
  );
  assert.ok((await rig.value("netgloss_flow_traffic_unmeasured_total")) >= 500);
  rig.time += trafficMinuteMs;
  report(rig, [[1, 2]]);
  rig.time += trafficMinuteMs;
  const [traffic] = rig.pipeline.traffic();
  assert.deepEqual(
    traffic?.minutes.map(({ isPartial }) => isPartial),
    [true, false],
  );
  assert.ok(rowsOf(traffic, 0).size <= trafficCells && rowsOf(traffic, 0).size > trafficCells / 2);
});

test("datagrams that waited a little count in the minute at hand", () => {
  const rig = createFlowRig({ isMeasured: () => true });
  rig.time -= rig.time % trafficMinuteMs;
  report(rig, [[1, 2]]);
  rig.time -= 500;
  report(rig, [[1, 2]]);
  rig.time += trafficMinuteMs + 500;
  assert.deepEqual(rowsOf(rig.pipeline.traffic()[0]).get(inKey(1)), [2000, 2000, 4]);
});

test("half an hour is kept and counted as memory, until the exporter is forgotten", () => {
  const rows = Float64Array.from([inKey(1), 1, 1, 1]);
  const kept = new InterfaceTraffic(0);
  let bytes = 0;
  for (let minute = 1; minute <= 50; minute++) {
    bytes += kept.add({ start: minute * trafficMinuteMs, isPartial: false, rows });
  }
  assert.equal(bytes, kept.heldBytes);
  assert.deepEqual([kept.minutes.length, kept.minutes[0]?.start], [30, 21 * trafficMinuteMs]);
  kept.add({ start: 40 * trafficMinuteMs, isPartial: false, rows });
  assert.deepEqual(kept.minutes.map(({ start }) => start / trafficMinuteMs).slice(-2), [39, 40]);
});
