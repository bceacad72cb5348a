import assert from "node:assert/strict";
import { test } from "node:test";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  netflow5,
  netflow9,
  uint,
  type PacketTemplate,
} from "../support/flow-packets.ts";
import { createFlowRig, type FlowRig } from "../support/flow-rig.ts";

type Counts = readonly [missing: number, late: number, resets: number];

async function counts(rig: FlowRig, protocol: string): Promise<Counts> {
  const value = (name: string): Promise<number> => rig.value(`netgloss_flow_${name}_total`, { protocol });
  const missing = (await value("missing")) - (await value("recovered"));
  return [missing, await value("late"), await value("sequence_resets")];
}

test("NetFlow v5 counts flows", async () => {
  const rig = createFlowRig();
  for (const sequence of [1000, 1002, 1010]) rig.send(netflow5([{}, {}], { sequence }));
  assert.deepEqual(await counts(rig, "netflow5"), [6, 0, 0]);
  rig.send(netflow5([{}, {}], { sequence: 5, engineId: 1 }));
  assert.deepEqual(await counts(rig, "netflow5"), [6, 0, 0], "each engine has its own count");
});

test("NetFlow v9 counts datagrams by Source ID", async () => {
  const rig = createFlowRig();
  for (const [sequence, domain] of [
    [1, 1],
    [1, 2],
    [2, 1],
    [5, 1],
    [2, 2],
  ] as const) {
    rig.send(netflow9([], { sequence, domain }));
  }
  assert.deepEqual(await counts(rig, "netflow9"), [2, 0, 0]);
  assert.equal(
    await rig.value("netgloss_flow_exporter_missing_total", { exporter: "192.0.2.254", protocol: "netflow9" }),
    2,
  );
});

const template: PacketTemplate = { id: 256, fields: fields([1, 4]) };
const options: PacketTemplate = { id: 257, scopeCount: 1, fields: fields([149, 4], [41, 8]) };
const records = (count: number): Buffer => dataSet(template, ...Array.from({ length: count }, () => [uint(1, 4)]));

test("IPFIX counts data records, those of options too", async () => {
  const rig = createFlowRig();
  rig.send(ipfix([ipfixTemplates(template), ipfixTemplates(options), records(3)], { sequence: 100 }));
  rig.send(ipfix([dataSet(options, [uint(1, 4), uint(9, 8)]), records(1)], { sequence: 103 }));
  rig.send(ipfix([records(1)], { sequence: 105 }));
  assert.deepEqual(await counts(rig, "ipfix"), [0, 0, 0]);
  rig.send(ipfix([records(1)], { sequence: 110 }));
  assert.deepEqual(await counts(rig, "ipfix"), [4, 0, 0]);
});

test("IPFIX: after records that could not be counted the next number is taken as it comes", async () => {
  const rig = createFlowRig();
  rig.send(ipfix([records(3)], { sequence: 100 }));
  rig.send(ipfix([ipfixTemplates(template)], { sequence: 103 }));
  rig.send(ipfix([records(2)], { sequence: 103 }));
  rig.send(ipfix([records(1)], { sequence: 106 }));
  assert.deepEqual(await counts(rig, "ipfix"), [1, 0, 0]);
});

test("a datagram that comes late is found again", async () => {
  const rig = createFlowRig();
  for (const sequence of [10, 12, 11, 13]) rig.send(netflow9([], { sequence }));
  assert.deepEqual(await counts(rig, "netflow9"), [0, 1, 0]);
  rig.send(netflow9([], { sequence: 9 }));
  assert.deepEqual(await counts(rig, "netflow9"), [0, 2, 0], "one that was never missed");
});

test("softflowd counts a datagram's own flows in and options not: two gaps until it is recognised, none after", async () => {
  const rig = createFlowRig();
  const optionsRecord = dataSet(options, [uint(1, 4), uint(9, 8)]);
  const send = (sequence: number, ...sets: Buffer[]): unknown => rig.send(ipfix(sets, { sequence }));
  send(17, ipfixTemplates(template), ipfixTemplates(options), optionsRecord, records(17));
  send(39, records(22));
  assert.deepEqual(await counts(rig, "ipfix"), [4, 0, 0]);
  send(61, records(22));
  send(64, records(3));
  assert.deepEqual(await counts(rig, "ipfix"), [0, 0, 0]);
  for (const [sequence, count] of [
    [94, 30],
    [99, 5],
    [106, 7],
  ] as const)
    send(sequence, optionsRecord, records(count));
  assert.deepEqual(await counts(rig, "ipfix"), [0, 0, 0]);
  send(150, records(4));
  assert.deepEqual(await counts(rig, "ipfix"), [36, 0, 0], "a real gap, give or take one datagram");
  assert.equal(rig.pipeline.exporters()[0]?.domains[0]?.missing, 36);
});

test("an exporter that does not count at all misses nothing", async () => {
  const rig = createFlowRig();
  for (let i = 0; i < 10; i++) rig.send(netflow5([{}, {}], { sequence: 0 }));
  assert.deepEqual(await counts(rig, "netflow5"), [0, 0, 0]);
});

test("an exporter that keeps the rule is not taken for another by its losses", async () => {
  const rig = createFlowRig();
  let sequence = 0;
  rig.send(ipfix([ipfixTemplates(template)]));
  for (let i = 0; i < 100; i++) {
    const count = 1 + (i % 7);
    const isLost = i % 10 === 9;
    if (!isLost) rig.send(ipfix([records(count)], { sequence }));
    sequence += count;
  }
  const lost = Array.from({ length: 9 }, (_, i) => 1 + ((10 * i + 9) % 7)).reduce((sum, count) => sum + count, 0);
  assert.deepEqual(await counts(rig, "ipfix"), [lost, 0, 0]);
});

test("the count wraps", async () => {
  const rig = createFlowRig();
  for (const sequence of [0xffff_ffff, 0, 2]) rig.send(netflow9([], { sequence }));
  assert.deepEqual(await counts(rig, "netflow9"), [1, 0, 0]);
});

test("an exporter that starts again begins a new count: told by its uptime, or by the number", async () => {
  const rig = createFlowRig();
  rig.send(netflow9([], { sequence: 50, uptime: 500_000 }));
  rig.send(netflow9([], { sequence: 1, uptime: 4000 }));
  rig.send(netflow9([], { sequence: 2, uptime: 5000 }));
  assert.deepEqual(await counts(rig, "netflow9"), [0, 0, 1]);

  const young = createFlowRig();
  for (const sequence of [1_000_000, 1_000_000, 0, 0]) young.send(ipfix([], { sequence }));
  assert.deepEqual(await counts(young, "ipfix"), [0, 0, 1]);
  for (const sequence of [0x7000_0000, 0x7000_0000]) young.send(ipfix([], { sequence }));
  assert.equal((await counts(young, "ipfix"))[2], 2);
});

test("an uptime that wraps is no restart", async () => {
  const rig = createFlowRig();
  rig.send(netflow9([], { sequence: 1, uptime: 0xffff_ff00 }));
  rig.send(netflow9([], { sequence: 2, uptime: 100 }));
  assert.deepEqual(await counts(rig, "netflow9"), [0, 0, 0]);
});
