import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { EntryShare, MemoryShare } from "../../src/flow/exporters/limits.ts";
import { SampleSources, sourceKey } from "../../src/flow/exporters/sequence.ts";
import type { Value } from "../../src/record/index.ts";
import { createFlowRig } from "../support/flow-rig.ts";
import {
  hex,
  counterSample,
  discardSample,
  ethernet,
  flowSample,
  ipv4Packet,
  sampledHeader,
  sflow,
  structure,
  tcp,
} from "../../packages/testkit/index.ts";
import { nestedNames } from "../support/record-names.ts";
import { sflowGoldenCases } from "./sflow-golden-cases.ts";
import { runs } from "../support/runs.ts";

const header = sampledHeader(ethernet(0x0800, ipv4Packet(tcp(0x10))));

test("the operator's rate wins over the sample's, and estimates follow it; a discarded packet is one", () => {
  const rig = createFlowRig({ samplingRates: new Map([["192.0.2.254", 10]]) });
  const [flow, discarded] = rig.send(sflow([flowSample([header]), discardSample([header], 258)]));
  assert.equal(flow?.["flow.sample_rate"], 10);
  assert.equal(flow?.["flow.bytes"], 10_000);
  assert.equal(flow?.["flow.packets"], 10);
  assert.equal(discarded?.["flow.sample_rate"], 1);
  assert.equal(discarded["flow.sampling.assumed"], true);
  assert.equal(discarded["flow.bytes"], discarded["flow.raw.bytes"]);
});

test("a sender may pass on what several agents say: each has its own numbers", async () => {
  const rig = createFlowRig();
  const agents = ["192.0.2.250", "192.0.2.251"];
  for (const sequence of [1, 2, 4]) {
    for (const agent of agents) rig.send(sflow([flowSample([header], { sequence })], { agent, sequence }));
  }
  assert.equal(await rig.value("netgloss_flow_missing_total", { protocol: "sflow" }), 2);
  const domains = rig.pipeline.exporters()[0]?.domains.map(({ agent, missing }) => ({ agent, missing }));
  assert.deepEqual(
    domains?.toSorted((a, b) => ((a.agent ?? "") < (b.agent ?? "") ? -1 : 1)),
    agents.map((agent) => ({ agent, missing: 1 })),
  );
});

test("the exporter's view has rates, missing samples and drops of its data sources", () => {
  const rig = createFlowRig();
  const send = (sequence: number, sample: { sequence: number; drops: number; source: number; rate: number }): void =>
    void rig.send(sflow([flowSample([header], sample), counterSample([], sequence)], { sequence }));
  send(1, { sequence: 100, drops: 7, source: 3, rate: 512 });
  send(2, { sequence: 103, drops: 10, source: 3, rate: 1024 });
  send(3, { sequence: 5, drops: 90, source: 4, rate: 256 });
  const domain = rig.pipeline.exporters()[0]?.domains[0];
  assert.equal(domain?.missingSamples, 2);
  assert.equal(domain?.samplerDrops, 3);
  assert.deepEqual(domain?.sampling, [
    { scope: "data source 3", rate: 1024 },
    { scope: "data source 4", rate: 256 },
  ]);
});

test("samples whose number jumps ahead by more than can have been sent begin a new count, those of an agent that does so, too", async () => {
  const rig = createFlowRig();
  const send = (sequence: number, sample: number): void =>
    void rig.send(sflow([flowSample([header], { sequence: sample }), counterSample([], sample)], { sequence }));
  const missing = (): Promise<number> => rig.value("netgloss_flow_samples_missing_total", { protocol: "sflow" });
  send(1, 100);
  send(2, 70_000_000);
  assert.equal(await missing(), 0, "the source alone");
  send(3, 70_000_003);
  assert.equal(await missing(), 4, "two of each kind");
  send(90_000_000, 70_050_000);
  assert.equal(await missing(), 4, "the agent");
});

test("data sources are bounded, the oldest gives way and is counted", async () => {
  const rig = createFlowRig({ limits: { sources: 3 } });
  for (let source = 1; source <= 5; source++) rig.send(sflow([flowSample([header], { source })], { sequence: source }));
  assert.equal(await rig.value("netgloss_flow_evicted_total", { what: "source" }), 2);
  assert.deepEqual(
    rig.pipeline.exporters()[0]?.domains[0]?.sampling.map(({ scope }) => scope),
    ["data source 3", "data source 4", "data source 5"],
  );
});

test("what has no place in one domain takes none from another", async () => {
  const rig = createFlowRig({ limits: { sources: 2 } });
  rig.send(sflow([flowSample([header], { source: 1 }), flowSample([header], { source: 2 })]));
  const other = { agent: "192.0.2.251" };
  for (const sequence of [1, 9]) rig.send(sflow([flowSample([header], { sequence })], { ...other, sequence }));
  assert.equal(await rig.value("netgloss_flow_samples_missing_total", { protocol: "sflow" }), 0);
  assert.equal(rig.pipeline.exporters()[0]?.domains[0]?.sampling.length, 2);
});

test("samples without loss, in any number of sources, miss none; lost ones are counted once they could have come", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 0xffff_ffff }),
      fc.array(fc.record({ source: fc.integer({ min: 0, max: 3 }), isLost: fc.boolean(), drops: fc.nat(3) }), {
        maxLength: 60,
      }),
      (first, samples) => {
        const share = new EntryShare([{ used: 0, max: 100 }], new MemoryShare({ used: 0, max: 0 }), () =>
          assert.fail("nothing gives way"),
        );
        const sources = new SampleSources(share);
        const numbers = new Map<number, number>();
        const dropped = new Map<number, number>();
        // Per source: lost since the last that came, none before the first.
        const pending = new Map<number, { lost: number; drops: number }>();
        let missing = 0;
        let drops = 0;
        for (const { source, isLost, drops: more } of samples) {
          const sequence = ((numbers.get(source) ?? first) + 1) >>> 0;
          numbers.set(source, sequence);
          dropped.set(source, ((dropped.get(source) ?? first) + more) >>> 0);
          const since = pending.get(source);
          if (since !== undefined) since.drops += more;
          if (isLost) {
            if (since !== undefined) since.lost++;
            continue;
          }
          missing += since?.lost ?? 0;
          drops += since?.drops ?? 0;
          pending.set(source, { lost: 0, drops: 0 });
          sources.account(sourceKey(0, 0, source), sequence, dropped.get(source), 512);
        }
        assert.deepEqual([sources.missing, sources.drops], [missing, drops]);
      },
    ),
  );
});

test("a datagram of nothing but the smallest samples makes no more records than it has room for", async () => {
  const empty = Buffer.concat(Array.from({ length: 5000 }, () => structure(9, Buffer.alloc(0))));
  const rig = createFlowRig();
  const records = rig.send(sflow([empty], { count: 0xffff_ffff }));
  assert.equal(records.length, 5000);
  assert.equal(await rig.value("netgloss_flow_drops_total", { protocol: "sflow", reason: "bad_count" }), 1);
});

test("a sample with thousands of records of no known format is as long as the datagram allows", () => {
  const records = Array.from({ length: 3000 }, () => structure(4000, hex("c0ffee00")));
  const [record = {}] = createFlowRig().send(sflow([flowSample(records)]));
  assert.equal((record["flow.ie.sflow.flow.0.4000"] as string[]).length, 3000);
});

const real = sflowGoldenCases.flatMap(([, datagrams]) =>
  datagrams.map((datagram) => ("bytes" in datagram ? datagram.bytes : datagram)),
);
/** Words where lengths, counts and formats are, set to what is at their edges. */
const edges = [0, 1, 2, 3, 4, 5, 0x7fff_ffff, 0x8000_0000, 0xffff_fffc, 0xffff_ffff];

test("broken datagrams: no error, no value twice or below another, no more records than there is room for", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...real),
      fc.array(fc.tuple(fc.nat(120), fc.constantFrom(...edges)), { maxLength: 4 }),
      fc.array(fc.tuple(fc.nat(600), fc.nat(255)), { maxLength: 4 }),
      fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(100)),
      (datagram, setWords, setBytes, cut) => {
        const bytes = Buffer.from(datagram);
        for (const [word, value] of setWords) if (4 * word + 4 <= bytes.length) bytes.writeUInt32BE(value, 4 * word);
        for (const [at, value] of setBytes) if (at < bytes.length) bytes[at] = value;
        bytes.writeUInt32BE(5, 0);
        const sent = bytes.subarray(0, Math.max(4, bytes.length - cut));
        const rig = createFlowRig({ communityId: true });
        const records = rig.send(sent);
        assert.ok(records.length <= sent.length / 8);
        assert.deepEqual(
          rig.log.filter(({ level }) => level === "error"),
          [],
        );
        for (const record of records)
          assert.deepEqual(nestedNames(new Map(Object.entries(record) as [string, Value][])), []);
      },
    ),
    runs(500),
  );
});

const dropsOf = (...counts: readonly number[]): number => {
  const sources = new SampleSources(new EntryShare([], new MemoryShare({ used: 0, max: 1e9 }), () => {}));
  counts.forEach((count, i) => sources.account(sourceKey(0, 0, 3), i + 1, count, 512));
  return sources.drops;
};

test("drops are counted over a wrap and a reset; a jump that cannot be, and counters that take turns, add nothing", () => {
  assert.equal(dropsOf(10, 12, 15), 5);
  assert.equal(dropsOf(2 ** 32 - 2, 3), 5, "a wrap");
  assert.equal(dropsOf(100, 105, 0, 3, 4), 5 + 4, "a reset");
  assert.equal(dropsOf(7, 2 ** 30, 2 ** 30 + 1), 1, "a jump");
  const turns = Array.from({ length: 1000 }, (_, i) => [500_000 + i, 7, 90_000][i % 3] ?? 0);
  assert.ok(dropsOf(...turns) < 100_000 + 1000, `three counters in turn: ${dropsOf(...turns)}`);
});

test("an agent that starts again begins its drops anew", async () => {
  const rig = createFlowRig();
  const send = (sequence: number, uptime: number, drops: number): void =>
    void rig.send(sflow([flowSample([header], { sequence, drops })], { sequence, uptime }));
  send(100, 5_000_000, 0xffff_fff0);
  send(101, 5_001_000, 0xffff_fff5);
  send(1, 1000, 900_000);
  send(2, 2000, 900_001);
  assert.equal(await rig.value("netgloss_flow_sampler_drops_total", { protocol: "sflow" }), 6);
});
