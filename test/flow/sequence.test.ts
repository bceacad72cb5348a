import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { accountSequence, Sequence } from "../../src/flow/exporters/sequence.ts";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  netflow5,
  netflow9,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig, type FlowRig } from "../support/flow-rig.ts";
import { runs } from "../support/runs.ts";

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

test("an exporter that starts again begins a new count: seen by its uptime, or by the number", async () => {
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

test("a number further ahead than the exporter can have sent since is a restart, not loss", async () => {
  const rig = createFlowRig();
  for (const sequence of [1000, 1001, 100_001_002]) rig.send(netflow9([], { sequence }));
  assert.deepEqual(await counts(rig, "netflow9"), [0, 0, 1]);
  // Ten datagrams a second, then an hour of silence: they may all be lost.
  for (let i = 3; i < 103; i++) {
    rig.time += 100;
    rig.send(netflow9([], { sequence: 100_001_000 + i }));
  }
  rig.time += 3_600_000;
  rig.send(netflow9([], { sequence: 100_001_000 + 103 + 36_000 }));
  assert.deepEqual(await counts(rig, "netflow9"), [36_000, 0, 1]);
  // So much more than before is another count.
  rig.time += 10_000;
  rig.send(netflow9([], { sequence: 102_000_000 }));
  assert.deepEqual(await counts(rig, "netflow9"), [36_000, 0, 2]);
});

test("model: what is lost is counted exactly, and a restart never as more than could have been sent", () => {
  const event = fc.record({
    units: fc.integer({ min: 1, max: 30 }),
    waitMs: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 600_000 })),
    lost: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20_000 })),
    restartsAt: fc.option(fc.integer({ min: 0, max: 0xffff_ffff }), { nil: undefined, freq: 8 }),
  });
  fc.assert(
    fc.property(fc.array(event, { minLength: 2, maxLength: 60 }), (events) => {
      const sequence = new Sequence();
      /** All that was received, for a rate worked out from the whole history. */
      const received: { at: number; units: number }[] = [];
      let now = 1_700_000_000_000;
      let next = 0;
      for (const { units, waitMs, lost, restartsAt } of events) {
        const before = now;
        now += waitMs;
        const isFirst = received.length === 0;
        const expected = next;
        next = restartsAt ?? (next + lost) >>> 0;
        const jump = (next - expected) | 0;
        const { missing, event: outcome } = accountSequence(
          sequence,
          next,
          { counted: units, flows: units },
          false,
          now,
        );
        // No second was busier than this, and every exporter may send a burst.
        const peak = Math.max(0.1, ...received.map(({ at }) => unitsBetween(received, at, at + 1000) / 1000));
        const most = 65_536 + 16 * peak * (now - before);
        assert.ok(missing <= most + 1, `${missing} of at most ${most}`);
        if (!isFirst && restartsAt === undefined && lost > 0 && outcome !== "late") {
          assert.ok(missing === jump || sequence.doubts > 0, `${missing} where ${jump} were lost`);
        }
        received.push({ at: now, units });
        next = (next + units) >>> 0;
      }
    }),
    runs(300),
  );
});

function unitsBetween(all: readonly { at: number; units: number }[], start: number, end: number): number {
  return all.filter(({ at }) => at >= start && at <= end).reduce((sum, { units }) => sum + units, 0);
}

test("an uptime that wraps is no restart", async () => {
  const rig = createFlowRig();
  rig.send(netflow9([], { sequence: 1, uptime: 0xffff_ff00 }));
  rig.send(netflow9([], { sequence: 2, uptime: 100 }));
  assert.deepEqual(await counts(rig, "netflow9"), [0, 0, 0]);
});
