import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { AddressEnricher, NameEnricher, knownPortNames, type AddressSource } from "../../src/enrich/index.ts";
import { joinLineEnrichers } from "../../src/record/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { InterfaceDirectory, InterfaceEnricher } from "../../src/snmp/index.ts";
import { findBy } from "../support/address-facts.ts";
import {
  netflow5,
  address,
  ethernet,
  flowSample,
  ipv4Packet,
  sampledHeader,
  sflow,
  structure,
  tcp,
  words,
} from "../../packages/testkit/index.ts";
import { createFlowRig } from "../support/flow-rig.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { referenceData } from "../support/reference-data.ts";
import { sflowDatagram } from "../support/sflow-arbitrary.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { manualWatch } from "../support/udm-watch.ts";
import { allRuns } from "../support/runs.ts";

const portNames = knownPortNames();

const metadata = fc
  .uniqueArray(
    fc.record({
      key: fc.constantFrom("192.0.2.1", "0.0.0.0/0", "::/0", "192.0.2.254", "198.51.100.0/24"),
      name: fc.constantFrom("", "net", 'a"ü'),
      vlan: fc.constantFrom(0n, 7n),
      metadata: fc.constantFrom({}, {}, { ".site": "x" }, { tenant: "t" }, { ".ip.addr": "no" }),
    }),
    { selector: ({ key }) => key, maxLength: 3 },
  )
  .map((entries) => entries.map(({ key, ...values }) => udmEntry(key, values)));

const sent = fc.record({
  datagram: sflowDatagram,
  address: fc.constantFrom("192.0.2.254", "192.0.2.254", "192.0.2.253"),
  waits: fc.boolean(),
});

const systems: AddressSource = {
  objects: new Set(["flow.src", "flow.dst"]),
  find: findBy(({ value }) => ({
    fields: [[".geo.country.code", "NL"]],
    as: { number: Number(value % 4n) + 1, organisation: value % 2n === 0n ? "Example" : undefined },
  })),
  watch: () => () => {},
};
const interfaceFacts = new Map([
  [3, { name: "lan", alias: "to the office", bitsPerSecond: 1e9 }],
  [4, { name: "x".repeat(1100), admin: "up" }],
  [9, { alias: "wan", type: "ethernetCsmacd" }],
]);

test("whatever the samples, packets and metadata: what is written from bytes is what fields become", async () => {
  const seen = { records: 0, slow: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 5, arbitrary: sent }, { weight: 1, arbitrary: metadata }), {
        minLength: 1,
        maxLength: 5,
      }),
      fc.constantFrom(undefined, 7, 1.5),
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      async (steps, manualRate, hasMore, communityId, keepsHeaders) => {
        const twins = await createFlowTwins({
          communityId,
          sflowSamples: { flows: true, counters: true, keepsHeaders },
          samplingRates: new Map(manualRate === undefined ? [] : [["192.0.2.254", manualRate]]),
          ...(hasMore && {
            addresses: { sources: [systems], locality: true },
            more(metrics) {
              const directory = new InterfaceDirectory();
              const device = { ip: "192.0.2.254", addresses: [], interfaces: interfaceFacts };
              directory.change({ deviceId: "a", known: device });
              return [new InterfaceEnricher(directory, metrics), new NameEnricher(() => portNames, true, metrics)];
            },
          }),
        });
        for (const step of steps) {
          if ("datagram" in step) twins.send(step.datagram, step);
          else twins.setMetadata(step);
        }
        const counts = await twins.finish();
        seen.records += counts.records;
        seen.slow += counts.slow["sample"] ?? 0;
      },
    ),
    allRuns(60),
  );
  assert.ok(seen.records > seen.slow && seen.slow > 0, JSON.stringify(seen));
});

test("samples of many datagrams wait together, but not for those of other exporters and protocols", async () => {
  const twins = await createFlowTwins({ relays: ["192.0.2.250"] });
  const own = sampledHeader(ethernet(0x0800, ipv4Packet(tcp(0x10))));
  const samples = (count: number): Buffer[] => Array.from({ length: count }, () => flowSample([own]));
  const counts = [1, 3, 70, ...Array.from({ length: 40 }, (_, i) => i % 5)];
  for (const [i, count] of counts.entries()) {
    twins.send(sflow(samples(count), { sequence: i, subAgent: i % 11 === 10 ? 1 : 0 }), { waits: true });
    if (i % 9 === 8) twins.send(netflow5([{}]), { waits: true });
    if (i % 13 === 12) twins.send(sflow(samples(2)), { address: "192.0.2.250", waits: true });
    if (i % 7 === 6) twins.send(sflow(samples(2)), { address: "192.0.2.253", waits: i % 2 === 0 });
  }
  const { records } = await twins.finish();
  assert.ok(records > 150, String(records));
});

test("long structures: lines get the room that they need", async () => {
  const own = sampledHeader(ethernet(0x0800, ipv4Packet(tcp(0x10))));
  const gateway = (communities: number): Buffer => {
    const list1 = words(communities, ...Array.from({ length: communities }, () => 0xffff_ffff));
    return structure(1003, Buffer.concat([address("192.0.2.9"), words(1, 2, 3, 0), list1, words(100)]));
  };
  const twins = await createFlowTwins();
  for (const communities of [0, 900, 1010, 1100, 15_000]) {
    const line = twins.send(sflow([flowSample([gateway(communities), own])]));
    assert.equal(line.split('"65535:65535"').length - 1, communities);
  }
  assert.deepEqual(await twins.finish(), { records: 5, slow: {} });
});

test("a line that the kernel leaves is completed before lines are handed over and shaped, which takes its memory", async () => {
  const common = { metrics: createMetrics(), log: silentLog, clock: systemClock };
  const entry = udmEntry("0.0.0.0/0", { name: "net", metadata: { ".note": "n".repeat(7500) } });
  const watch = manualWatch([entry]);
  const udm = new AddressEnricher({
    ...common,
    watch: watch.watch,
    ttlMs: 1_000_000,
    invalidate: true,
    maxCached: 1000,
  });
  await udm.start();
  const directory = new InterfaceDirectory();
  directory.change({ deviceId: "a", known: { ip: "192.0.2.254", addresses: [], interfaces: interfaceFacts } });
  const enrichers = [new InterfaceEnricher(directory, common.metrics), udm];
  const rig = createFlowRig({
    enricher: {
      enrich: (record, rendered) => enrichers.forEach((one) => one.enrich(record, rendered)),
      lines: joinLineEnrichers(enrichers.map(({ lines }) => lines)),
    },
    shape(lines, count) {
      const text = Buffer.from(lines).toString().replaceAll('"flow.', '"of.the.flow.');
      return { lines: Buffer.from(text), count };
    },
  });
  const own = sampledHeader(ethernet(0x0800, ipv4Packet(tcp(0x10))));
  for (let left = 40; left < 48; left++) {
    const samples = Array.from({ length: 64 }, (_, i) => flowSample([own], { output: i === left ? 4 : 9 }));
    const records = rig.send(sflow(samples));
    assert.equal(records.length, 64);
    const names = records.map(
      (record) => String(record["of.the.flow.out.netif.name"] ?? record["of.the.flow.out.netif.alias"]).length,
    );
    assert.deepEqual(
      names,
      Array.from({ length: 64 }, (_, i) => (i === left ? 1100 : 3)),
    );
  }
});

const telegraf = referenceData("flow/telegraf");

test("recordings of agents: what is written from bytes is what fields become", { skip: telegraf.skip }, async () => {
  const twins = await createFlowTwins();
  const folders = readdirSync(telegraf.path).filter((name) => name.startsWith("sflow_"));
  for (const folder of folders.map((name) => join(telegraf.path, name))) {
    for (const file of readdirSync(folder).filter((name) => name.endsWith(".bin"))) {
      twins.send(readFileSync(join(folder, file)));
    }
  }
  const outcome = await twins.finish();
  assert.ok(outcome.records > (outcome.slow["sample"] ?? 0));
});
