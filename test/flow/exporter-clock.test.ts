import assert from "node:assert/strict";
import { test } from "node:test";
import { dataSet, ipfix, ipfixTemplates, uint, type PacketTemplate } from "../../packages/testkit/index.ts";
import { createFlowRig, receivedAt, type FlowRig } from "../support/flow-rig.ts";

const template: PacketTemplate = { id: 256, fields: [{ id: 1, length: 4 }] };
const begin = Math.floor(receivedAt / 1000) * 1000;

/** Sends a datagram a second whose clock is ahead by some milliseconds. @returns what the records say of the clock. */
function run(rig: FlowRig, seconds: number, ahead: (second: number) => number, from = 0): unknown[] {
  return Array.from({ length: seconds }, (_, i) => {
    const second = from + i;
    // Datagrams are sent anywhere within a second, and their header says the second alone.
    rig.time = begin + 1000 * second + ((second * 379) % 1000);
    const exportTime = Math.floor((rig.time + ahead(second)) / 1000);
    const sets = [ipfixTemplates(template), dataSet(template, [uint(7, 4)])];
    const [record] = rig.send(ipfix(sets, { seconds: exportTime, sequence: second }));
    return record?.["flow.export.clock.offset"];
  });
}

const told = (rig: FlowRig): number => rig.pipeline.exporters()[0]?.domains[0]?.clockOffset ?? Number.NaN;

test("the clock of an exporter is off by the median of its datagrams; late ones do not count, records say so when it is off", () => {
  const rig = createFlowRig();
  // One of three stood in a queue for minutes.
  const records = run(rig, 60, (second) => (second % 3 === 0 ? -180_000 : 0) - 7_200_000);
  assert.deepEqual(records.slice(0, 2), [undefined, undefined]);
  assert.ok(Math.abs(told(rig) + 7_200_000) < 700, `${told(rig)}`);
  assert.ok(Math.abs(Number(records.at(-1)) + 7_200_000) < 700, String(records.at(-1)));
  // Records of one minute do not each say something else.
  assert.ok(new Set(records.slice(20)).size <= 2);
});

test("a clock that is right is not corrected, though its header has whole seconds", () => {
  const rig = createFlowRig();
  assert.deepEqual(new Set(run(rig, 120, () => 0)), new Set([undefined]));
  assert.ok(Math.abs(told(rig)) < 250, `${told(rig)}`);
});

test("a clock that jumps is corrected by its new offset after half of the samples, and by nothing when it is right again", () => {
  const rig = createFlowRig();
  run(rig, 40, () => 0);
  const jumped = run(rig, 40, () => 90_000, 40);
  assert.equal(jumped[0], undefined);
  assert.ok(Math.abs(Number(jumped.at(-1)) - 90_000) < 700, String(jumped.at(-1)));
  assert.equal(jumped.findIndex((each) => each !== undefined) <= 31, true);
  assert.equal(run(rig, 40, () => 0, 80).at(-1), undefined);
});

test("many datagrams of one second are one sample", () => {
  const rig = createFlowRig();
  run(rig, 20, () => 0);
  for (let i = 0; i < 100; i++) rig.send(ipfix([], { seconds: Math.floor(rig.time / 1000) - 600 }));
  assert.ok(Math.abs(told(rig)) < 500, `${told(rig)}`);
});
