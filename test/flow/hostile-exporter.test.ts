import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Limits } from "../../src/flow/index.ts";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  netflow5,
  netflow9,
  netflow9Templates,
  packetSet,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig, type FlowRig } from "../support/flow-rig.ts";
import { runs } from "../support/runs.ts";

const limits: Limits = {
  exporters: 40,
  silentMs: 86_400_000,
  domains: 8,
  templates: 20,
  fields: 200,
  fieldsInAll: 1000,
  fieldsPerTemplate: 100,
  options: 50,
  optionsInAll: 200,
  sources: 10,
  sourcesInAll: 30,
  waitingBytes: 2000,
  waitingSets: 16,
  waitingBytesInAll: 8000,
  waitingSetsInAll: 64,
  memoryInAll: 64 * 1024 * 1024,
};

const good = "192.0.2.1";
const flow: PacketTemplate = { id: 300, fields: fields([1, 4], [10, 4]) };
const names: PacketTemplate = { id: 301, scopeCount: 1, fields: fields([2, 4], [82, 8], [34, 4]) };
const name = Buffer.from("eth7\0\0\0\0");

/** An exporter that behaves; each time it has to get all that it is due. */
function goodExporter(rig: FlowRig): () => void {
  const send = (...sets: Buffer[]) => rig.send(netflow9(sets), { address: good });
  send(netflow9Templates(flow), netflow9Templates(names));
  send(dataSet(names, [uint(7, 4), name, uint(10, 4)]));
  // A minute later, and with another exporter in between, it is proven.
  rig.time += 60_000;
  rig.send(netflow5([{}]), { address: "192.0.2.99" });
  send(dataSet(flow, [uint(100, 4), uint(7, 4)]));
  return () => {
    const [record] = send(dataSet(flow, [uint(100, 4), uint(7, 4)]));
    assert.equal(record?.["flow.bytes"], 1000);
    assert.equal(record["flow.in.netif.name"], "eth7");
  };
}

async function assertBounds(rig: FlowRig): Promise<void> {
  const exporters = rig.pipeline.exporters();
  assert.ok(exporters.length <= limits.exporters);
  assert.equal(await rig.value("netgloss_flow_exporters"), exporters.length);
  let allFields = 0;
  let allOptions = 0;
  for (const { domains, address } of exporters) {
    const templates = domains.flatMap((domain) => domain.templates);
    const fieldCount = templates.reduce((sum, template) => sum + template.fields, 0);
    allFields += fieldCount;
    assert.ok(domains.length <= limits.domains, `${domains.length} domains of ${address}`);
    assert.ok(templates.length <= limits.templates, `${templates.length} templates of ${address}`);
    assert.ok(fieldCount <= limits.fields, `${fieldCount} fields of ${address}`);
    assert.ok(domains.reduce((sum, domain) => sum + domain.waitingSets, 0) <= limits.waitingSets);
    const tables = new Map(domains.map((domain) => [`${domain.protocol} ${domain.id}`, domain]));
    let options = 0;
    for (const { names: counts, sampling } of tables.values()) {
      options += counts.interfaces + counts.applications + counts.vrfs;
      options += sampling.filter(({ scope }) => scope !== "domain").length;
    }
    allOptions += options;
    assert.ok(options <= limits.options, `${options} entries of options of ${address}`);
  }
  assert.ok(allFields <= limits.fieldsInAll);
  assert.ok(allOptions <= limits.optionsInAll);
  assert.ok((await rig.value("netgloss_flow_waiting_bytes")) <= limits.waitingBytesInAll);
  assert.ok((await rig.value("netgloss_flow_waiting_sets")) <= limits.waitingSetsInAll);
  assert.equal(await rig.value("netgloss_flow_drops_total", { protocol: "ipfix", reason: "internal" }), 0);
  assert.equal(await rig.value("netgloss_flow_drops_total", { protocol: "netflow9", reason: "internal" }), 0);
}

const id = fc.integer({ min: 256, max: 400 });
const element = fc.constantFrom(1, 2, 10, 14, 34, 48, 50, 82, 95, 96, 234, 236, 302, 305);
const anyTemplate: fc.Arbitrary<PacketTemplate> = fc.record(
  {
    id,
    fields: fc.array(fc.record({ id: element, length: fc.constantFrom(1, 2, 4, 8) }), {
      minLength: 1,
      maxLength: 120,
      size: "max",
    }),
    scopeCount: fc.constant(1),
  },
  { requiredKeys: ["id", "fields"] },
);
/** A template and data by it, data without one, and options as many as fit. */
const anySets = fc.oneof(
  anyTemplate.map((template) => (make: (...all: PacketTemplate[]) => Buffer) => [make(template)]),
  fc
    .tuple(anyTemplate, fc.uint8Array({ minLength: 100, maxLength: 900 }))
    .map(([template, bytes]) => (make: (...all: PacketTemplate[]) => Buffer) => [
      make(template),
      packetSet(template.id, Buffer.from(bytes)),
    ]),
  fc.tuple(id, fc.uint8Array({ minLength: 1, maxLength: 600 })).map(([set, bytes]) => () => [
    packetSet(set, Buffer.from(bytes)),
  ]),
);
const anyDatagram = fc.record({
  sets: anySets,
  isIpfix: fc.boolean(),
  domain: fc.integer({ min: 0, max: 30 }),
  port: fc.integer({ min: 1, max: 30 }),
  sender: fc.integer({ min: 0, max: 60 }),
});

test("whatever one exporter or many invented ones send, all stays within bounds, and one that behaves loses nothing", async () => {
  const storm = fc.array(anyDatagram, { minLength: 50, maxLength: 200, size: "max" });
  await fc.assert(
    fc.asyncProperty(storm, fc.boolean(), async (datagrams, isOneSender) => {
      const rig = createFlowRig({ limits });
      const check = goodExporter(rig);
      check();
      for (const { sets, isIpfix, domain, port, sender } of datagrams) {
        rig.time += 7;
        const bytes = isIpfix ? ipfix(sets(ipfixTemplates), { domain }) : netflow9(sets(netflow9Templates), { domain });
        rig.send(bytes, { address: isOneSender ? "203.0.113.1" : `203.0.113.${sender}`, port });
        if (sender % 5 === 0) check();
      }
      check();
      await assertBounds(rig);
    }),
    runs(10),
  );
});

test("what all exporters hold is bounded in bytes, one that behaves loses nothing, and what the idle hold is given back", async () => {
  const max = 2 * 1024 * 1024;
  const rig = createFlowRig({ limits: { memoryInAll: max } });
  const held = (): Promise<number> => rig.value("netgloss_flow_memory_bytes");
  const check = goodExporter(rig);
  assert.equal(await rig.value("netgloss_flow_memory_max_bytes"), max);
  for (let i = 0; i < 3000; i++) {
    rig.time += 100;
    const fieldsOf = (templateId: number): PacketTemplate => ({
      id: templateId,
      fields: Array.from({ length: 40 }, (_, k) => ({ id: 1 + ((i * 7 + k) % 400), length: 1 + (i % 4) })),
    });
    const sets = [netflow9Templates(fieldsOf(256 + (i % 50)), names), packetSet(999, Buffer.alloc(200))];
    const option = dataSet(names, [uint(i, 4), Buffer.from(String(i).padEnd(8)), uint(7, 4)]);
    rig.send(netflow9([...sets, option], { domain: i % 90 }), { address: `203.0.113.${i % 64}` });
    if (i % 100 === 0) {
      check();
      assert.ok((await held()) <= max + 65_536, `${await held()} bytes after ${i}`);
    }
  }
  check();
  assert.ok((await rig.value("netgloss_flow_memory_freed_bytes_total", { reason: "full" })) > max);
  rig.time += 3_600_001;
  check();
  rig.pipeline.tidy();
  assert.ok((await held()) < max * 0.9, `${await held()} bytes are left`);
  assert.ok((await rig.value("netgloss_flow_memory_freed_bytes_total", { reason: "idle" })) > 0);
  check();
  rig.time += 31 * 86_400_000;
  rig.pipeline.tidy();
  assert.equal(await held(), 0, "all that was counted is given back");
});

test("a template that many send is kept once", async () => {
  const rig = createFlowRig();
  const held = (): Promise<number> => rig.value("netgloss_flow_memory_bytes");
  const wide: PacketTemplate = { id: 300, fields: Array.from({ length: 100 }, (_, i) => ({ id: i + 1, length: 4 })) };
  const perExporter: number[] = [];
  for (let i = 0; i < 3; i++) {
    const before = await held();
    rig.send(netflow9([netflow9Templates(wide)]), { address: `203.0.113.${i}` });
    perExporter.push((await held()) - before);
  }
  const [first = 0, second = 0, third = 0] = perExporter;
  assert.equal(second, third);
  assert.ok(first > second + 100 * 100, `${first} and ${second} bytes`);
});

test("a flood of options fills the share of its exporter only", async () => {
  const rig = createFlowRig({ limits });
  const check = goodExporter(rig);
  const bad = (...sets: Buffer[]) => rig.send(netflow9(sets), { address: "203.0.113.1" });
  bad(netflow9Templates(names));
  for (let i = 0; i < 100; i++) {
    const records = Array.from({ length: 50 }, (_, k) => [uint(i * 50 + k, 4), name, uint(i + 1, 4)]);
    bad(dataSet(names, ...records));
  }
  check();
  await assertBounds(rig);
  assert.ok((await rig.value("netgloss_flow_evicted_total", { what: "option" })) >= 4900);
});

test("a flood of sets that wait fills the share of its exporter only; others still wait and are replayed", async () => {
  const rig = createFlowRig({ limits });
  const check = goodExporter(rig);
  for (let i = 0; i < 500; i++) {
    rig.send(ipfix([packetSet(256 + i, Buffer.alloc(300))], { domain: i % 7 }), {
      address: "203.0.113.1",
      port: i % 9,
    });
  }
  const late: PacketTemplate = { id: 310, fields: fields([1, 4]) };
  rig.send(netflow9([dataSet(late, [uint(5, 4)])]), { address: good });
  assert.equal(rig.send(netflow9([netflow9Templates(late)]), { address: good })[0]?.["flow.raw.bytes"], 5);
  check();
  await assertBounds(rig);
  assert.ok((await rig.value("netgloss_flow_drops_total", { protocol: "ipfix", reason: "no_template" })) > 0);
});

test("sets that wait of many invented senders fill what is there for all; who comes later still has room", async () => {
  const rig = createFlowRig({ limits });
  const check = goodExporter(rig);
  const late: PacketTemplate = { id: 310, fields: fields([1, 4]) };
  for (let i = 0; i < 300; i++) {
    rig.send(netflow9([packetSet(400, Buffer.alloc(300))], { domain: i % 3 }), { address: `203.0.113.${i % 200}` });
  }
  await assertBounds(rig);
  rig.send(netflow9([dataSet(late, [uint(5, 4)])]), { address: good });
  for (let i = 0; i < 300; i++) {
    rig.send(netflow9([packetSet(400, Buffer.alloc(300))], { domain: i % 3 }), { address: `203.0.113.${i % 200}` });
  }
  await assertBounds(rig);
  assert.equal(rig.send(netflow9([netflow9Templates(late)]), { address: good })[0]?.["flow.raw.bytes"], 5);
  check();
  assert.ok((await rig.value("netgloss_flow_evicted_total", { what: "waiting_set" })) > 0);
});

test("templates of many invented senders crowd out those of newcomers, not of one that was heard for a minute", async () => {
  const rig = createFlowRig({ limits });
  const check = goodExporter(rig);
  check();
  const huge: PacketTemplate = { id: 300, fields: Array.from({ length: 100 }, () => ({ id: 1, length: 1 })) };
  for (let i = 0; i < 300; i++) {
    rig.time += 1;
    rig.send(netflow9([netflow9Templates(huge, { ...huge, id: 301 })]), { address: `203.0.113.${i % 256}`, port: i });
    rig.send(netflow5([{}]), { address: `198.51.100.${i % 256}` });
    if (i % 50 === 0) check();
  }
  check();
  await assertBounds(rig);
  assert.ok((await rig.value("netgloss_flow_evicted_total", { what: "exporter" })) > 100);
});

test("an exporter heard again after a minute is proven: newcomers give way among themselves", () => {
  const rig = createFlowRig({ limits: { exporters: 20 } });
  const datagram = netflow5([{}]);
  for (let i = 0; i < 10; i++) rig.send(datagram, { address: `192.0.2.${i}` });
  rig.time += 60_000;
  for (let i = 0; i < 10; i++) rig.send(datagram, { address: `192.0.2.${i}` });
  for (let i = 0; i < 256; i++) rig.send(datagram, { address: `198.51.100.${i}` });
  const kept = rig.pipeline.exporters().filter(({ address }) => address.startsWith("192.0.2."));
  assert.equal(kept.length, 10);
  assert.equal(rig.pipeline.exporters().length, 20);
});
