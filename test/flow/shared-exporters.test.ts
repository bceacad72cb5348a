import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { StatePersistence, writeExporterState, type ExporterState, type StateReport } from "../../src/flow/index.ts";
import {
  dataSet,
  exportSeconds,
  fields,
  ipfix,
  ipfixTemplates,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createSharedRig, type SharedCollector, type SharedRig } from "../support/shared-rig.ts";
import { until } from "../support/until.ts";
import { runs } from "../support/runs.ts";

const flow: PacketTemplate = { id: 300, fields: fields([1, 4], [10, 4]) };
/** The same length as `flow`, so that nothing but the template says what it is. */
const other: PacketTemplate = { id: 300, fields: fields([2, 4], [10, 4]) };
const about: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([10, 4], [82, "variable"], [34, 4]) };
const named = (rate: number, name = "eth7") => dataSet(about, [uint(7, 4), Buffer.from(name), uint(rate, 4)]);
const data = (bytes: number) => dataSet(flow, [uint(bytes, 4), uint(7, 4)]);
const netflow9Data = (bytes: number, header = {}) => netflow9([data(bytes)], header);
const bytesOf = ({ records }: SharedCollector): unknown[] => records.map((record) => record["flow.raw.bytes"]);
const packetsOf = ({ records }: SharedCollector): unknown[] => records.map((record) => record["flow.raw.packets"]);

const byNumber = (a: unknown, b: unknown): number => Number(a) - Number(b);

function pair(options = {}): [SharedRig, SharedCollector, SharedCollector] {
  const shared = createSharedRig(2, { optionsRecords: false, ...options });
  const [a, b] = shared.collectors as [SharedCollector, SharedCollector];
  return [shared, a, b];
}

test("NetFlow v9: what was said once to one collector decodes what comes to another, all of it, within a second", async () => {
  const [shared, a, b] = pair();
  a.send(netflow9([netflow9Templates(flow)]));
  a.send(netflow9Data(1));
  shared.pass(60_000);
  shared.kill(0);
  for (let i = 2; i < 12; i++) b.send(netflow9Data(i, { sequence: i }));
  assert.deepEqual(b.records, []);
  shared.pass(400);
  assert.deepEqual(bytesOf(b), [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  b.send(netflow9Data(12));
  assert.deepEqual(bytesOf(b).at(-1), 12, "nothing waits any more");
  assert.equal(await b.rig.value("netgloss_flow_waiting_sets"), 0);
  assert.equal(await b.rig.value("netgloss_flow_templates_shared_total", { result: "taken" }), 1);
  const [template] = b.rig.pipeline.exporters()[0]?.domains[0]?.templates ?? [];
  assert.equal(template?.origin, "shared");
});

for (const port of [4000, 4001]) {
  test(`IPFIX: template, rate and name of port 4000 are known to who hears port ${port}, within a second`, () => {
    const [shared, a, b] = pair();
    a.send(ipfix([ipfixTemplates(flow), ipfixTemplates(about), named(10)]), { port: 4000 });
    shared.pass(60_000);
    b.send(ipfix([data(100)]), { port });
    shared.pass(1000);
    assert.deepEqual(
      b.records.map((record) => [record["flow.bytes"], record["flow.in.netif.name"]]),
      [[1000, "eth7"]],
    );
  });
}

test("a template that came just before the exporter moved is found by asking again", () => {
  const [shared, a, b] = pair();
  b.send(netflow9Data(1));
  shared.pass(200);
  assert.deepEqual(shared.asked.length, 1);
  a.send(netflow9([netflow9Templates(flow)]));
  shared.pass(800);
  assert.deepEqual(bytesOf(b), [1]);
});

test("rates and names come before the first record, although its own template comes with it", () => {
  const [shared, a, b] = pair();
  a.send(ipfix([ipfixTemplates(flow), ipfixTemplates(about), named(10)]), { port: 4000 });
  shared.pass(1000);
  b.send(ipfix([ipfixTemplates(flow), data(100)]), { port: 4000 });
  assert.deepEqual(b.records, [], "held until the fleet was asked");
  shared.pass(200);
  assert.equal(b.records[0]?.["flow.bytes"], 1000);
});

for (const [what, silence, templates] of [
  ["is new", 0, flow],
  ["comes back", 45_000, other],
] as const) {
  test(`an exporter that ${what} with templates alone is asked about when its data come, however late`, () => {
    const [shared, a, b] = pair();
    if (silence > 0) b.send(ipfix([ipfixTemplates(flow)]));
    shared.pass(silence);
    a.send(ipfix([ipfixTemplates(flow), ipfixTemplates(about), named(10)]));
    shared.pass(1000);
    b.send(ipfix([ipfixTemplates(templates)]));
    shared.pass(5000);
    assert.deepEqual(shared.asked.length, 1, "by who has heard data only");
    b.send(ipfix([dataSet(templates, [uint(5, 4), uint(7, 4)])]));
    shared.pass(400);
    assert.deepEqual(
      b.records.map((record) => [
        record["flow.raw.bytes"] ?? record["flow.raw.packets"],
        record["flow.sample_rate"],
        record["flow.in.netif.name"],
      ]),
      [[5, 10, "eth7"]],
    );
  });
}

test("a template of its own that is newer stands before a shared one", () => {
  const [shared, a, b] = pair();
  a.send(netflow9([netflow9Templates(flow)]));
  shared.pass(1000);
  b.send(netflow9([netflow9Templates(other), data(5)]));
  shared.pass(1000);
  assert.deepEqual(packetsOf(b), [5]);
});

test("who comes back is decoded by what it has said elsewhere meanwhile", () => {
  const [shared, a, b] = pair();
  a.send(ipfix([ipfixTemplates(flow), ipfixTemplates(about), named(10)]));
  shared.pass(120_000);
  b.send(ipfix([ipfixTemplates(other), ipfixTemplates(about), named(20, "eth8")]));
  shared.pass(1000);
  a.send(ipfix([data(5)]));
  assert.deepEqual(a.records, []);
  shared.pass(400);
  assert.deepEqual(
    a.records.map((record) => [record["flow.raw.packets"], record["flow.packets"], record["flow.in.netif.name"]]),
    [[5, 100, "eth8"]],
  );
});

test("who comes back and said nothing new is decoded by what was known, and asked about once", () => {
  const [shared, a] = pair();
  a.send(netflow9([netflow9Templates(flow)]));
  shared.pass(60_000);
  const before = shared.asked.length;
  a.send(netflow9Data(1));
  shared.pass(200);
  for (let i = 0; i < 10; i++) {
    a.send(netflow9Data(2));
    shared.pass(1000);
  }
  assert.equal(a.records.length, 11);
  assert.equal(shared.asked.length - before, 1);
});

test("NetFlow v9: an exporter that has started again is not decoded by what it said before", async () => {
  const [shared, a, b] = pair();
  a.send(netflow9([netflow9Templates(flow)], { uptime: 3_600_000 }));
  shared.pass(60_000);
  b.send(netflow9Data(1, { uptime: 50_000 }));
  shared.pass(5000);
  assert.deepEqual(b.records, []);
  assert.ok((await b.rig.value("netgloss_flow_templates_shared_total", { result: "restarted" })) > 0);
  b.send(netflow9([netflow9Templates(other)], { uptime: 51_000 }));
  assert.deepEqual(packetsOf(b), [1], "by its own template");
});

test("NetFlow v9: a restart with the same templates, a clock that is set and an uptime that wraps are understood", () => {
  const minute = 60_000;
  const cases: readonly (readonly [object, object])[] = [
    [{ uptime: 10_000 }, { uptime: 11_000, seconds: exportSeconds + 1 }],
    [{ uptime: 2 ** 32 - 5000 }, { uptime: 5000, seconds: exportSeconds + 10 }],
    [{ uptime: 0 }, { uptime: 0, seconds: exportSeconds + 600 }],
  ];
  for (const [there, here] of cases) {
    const [shared, a, b] = pair();
    a.send(netflow9([netflow9Templates(flow)], { uptime: 3_600_000, seconds: 0 }));
    shared.pass(minute);
    // It has started again, or its clock was set: heard there.
    a.send(netflow9([netflow9Templates(flow)], there));
    shared.pass(2 * minute);
    b.send(netflow9Data(1, here));
    shared.pass(1000);
    assert.deepEqual(bytesOf(b), [1], JSON.stringify([there, here]));
  }
});

test("IPFIX: a sequence number that went back is a restart; one that is far ahead is none", () => {
  for (const [sequence, expected] of [
    [0, []],
    [2_000_000, [1]],
  ] as const) {
    const [shared, a, b] = pair();
    a.send(ipfix([ipfixTemplates(flow)], { sequence: 1_000_000 }), { port: 4000 });
    shared.pass(60_000);
    b.send(ipfix([data(1)], { sequence }), { port: 4000 });
    shared.pass(1000);
    assert.deepEqual(bytesOf(b), expected);
  }
});

test("what was not heard anywhere for half an hour is not used", async () => {
  const [shared, a, b] = pair();
  a.send(netflow9([netflow9Templates(flow)]));
  shared.pass(31 * 60_000);
  b.send(netflow9Data(1));
  shared.pass(1000);
  assert.deepEqual(b.records, []);
  assert.ok((await b.rig.value("netgloss_flow_templates_shared_total", { result: "stale" })) > 0);
});

test("when the database is away all goes on as for one collector alone", async () => {
  const [shared, , b] = pair();
  shared.isAway = true;
  b.send(netflow9Data(1));
  shared.pass(600);
  b.send(netflow9([netflow9Templates(flow)]));
  b.send(netflow9Data(2));
  shared.pass(200);
  assert.deepEqual(bytesOf(b).toSorted(byNumber), [1, 2]);
  assert.equal(await b.rig.value("netgloss_flow_evicted_total", { what: "waiting_set" }), 0);
});

test("nobody answers at all: what is held is decoded after a second, and when all ends", () => {
  for (const which of ["changed", "all"] as const) {
    const [, a] = pair();
    a.send(netflow9([netflow9Templates(flow), data(1)]));
    a.rig.pipeline.exportState("changed");
    assert.deepEqual(a.records, []);
    if (which === "changed") a.rig.time += 1000;
    a.rig.pipeline.exportState(which);
    assert.deepEqual(bytesOf(a), [1]);
  }
});

test("a busy exporter is not held beyond its share, and loses nothing", () => {
  const [shared, a] = pair({ limits: { waitingSets: 3 } });
  a.send(netflow9([netflow9Templates(flow)]));
  for (let i = 0; i < 10; i++) a.send(netflow9Data(i));
  assert.equal(a.records.length, 7);
  shared.pass(400);
  assert.deepEqual(bytesOf(a).toSorted(byNumber), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("questions come again at growing intervals, and end with what waits", () => {
  const [shared, , b] = pair();
  b.send(netflow9Data(1));
  shared.pass(29 * 60_000);
  assert.ok(shared.asked.length > 8 && shared.asked.length < 50, `${shared.asked.length}`);
  b.rig.time += 2 * 60_000;
  b.rig.pipeline.tidy();
  shared.pass(1000);
  const { length } = shared.asked;
  shared.pass(10 * 60_000);
  assert.equal(shared.asked.length, length);
});

test("templates of connections are neither shared nor asked for", () => {
  const [shared, a, b] = pair();
  const session = 0x1_0000 + 4000;
  a.send(ipfix([ipfixTemplates(flow), data(1)]), { port: session });
  assert.equal(a.records.length, 1, "nothing is held");
  b.send(ipfix([data(2)]), { port: session });
  shared.pass(2000);
  assert.deepEqual([b.records, shared.rows.size, shared.asked], [[], 0, []]);
});

test("a relay that comes to another collector brings the rates of those that it names", () => {
  const relay = "192.0.2.254";
  const rates: PacketTemplate = { id: 410, scopeCount: 1, fields: fields([130, 4], [34, 4]) };
  const relayed: PacketTemplate = { id: 310, fields: fields([130, 4], [1, 4]) };
  const address = Buffer.from([10, 0, 0, 1]);
  const [shared, a, b] = pair({ relays: [relay] });
  a.send(ipfix([ipfixTemplates(rates), ipfixTemplates(relayed), dataSet(rates, [address, uint(50, 4)])]));
  shared.pass(1000);
  b.send(ipfix([dataSet(relayed, [address, uint(2, 4)])]));
  shared.pass(1000);
  assert.deepEqual(
    b.records.map((record) => [record["flow.export.ip.addr"], record["flow.bytes"]]),
    [["10.0.0.1", 100]],
  );
});

test("whatever stands in the database: no error, the limits hold, and the exporter's own template decodes", async () => {
  const [shared, a] = pair();
  a.send(ipfix([ipfixTemplates(flow), ipfixTemplates(about), named(10)]), { port: 4000 });
  shared.pass(400);
  const { text = "" } = [...shared.rows.values()][0] ?? {};
  const good = JSON.parse(text) as Record<string, unknown>;
  const value = fc.jsonValue() as fc.Arbitrary<unknown>;
  const keys = Object.keys(good);
  const damaged = fc.oneof(
    fc.tuple(fc.constantFrom(...keys), value).map(([key, bad]) => JSON.stringify({ ...good, [key]: bad })),
    fc
      .array(fc.tuple(fc.nat(text.length - 1), fc.nat(9)), { minLength: 1, maxLength: 4 })
      .map((changes) =>
        changes.reduce((all, [at, digit]) => all.slice(0, at) + String(digit) + all.slice(at + 1), text),
      ),
    fc.uint8Array({ maxLength: 200 }).map((raw) =>
      JSON.stringify({
        ...good,
        templates: [{ ...(good["templates"] as object[])[0], raw: Buffer.from(raw).toString("base64") }],
      }),
    ),
  );
  await fc.assert(
    fc.asyncProperty(damaged, async (row) => {
      const limits = { templates: 4, fields: 64, fieldsPerTemplate: 16, domains: 4, options: 8 };
      const [one, , victim] = pair({ limits });
      let isJson = true;
      try {
        JSON.parse(row);
      } catch {
        isJson = false;
      }
      if (isJson) one.rows.set("9 bad", { by: 9, text: row });
      victim.send(ipfix([data(3)]), { port: 4000 });
      one.pass(1000);
      victim.send(ipfix([ipfixTemplates(other)]), { port: 4000 });
      one.pass(1000);
      victim.rig.time += 31_000;
      const { length } = victim.records;
      victim.send(ipfix([data(7)]), { port: 4000 });
      one.pass(400);
      assert.equal(victim.records.length, length + 1);
      assert.equal(victim.records.at(-1)?.["flow.raw.packets"], 7);
      const { templates = [] } = victim.rig.pipeline.exporters()[0]?.domains[0] ?? {};
      assert.ok(
        templates.length <= 4 &&
          (await victim.rig.value("netgloss_flow_drops_total", { reason: "internal", protocol: "ipfix" })) === 0,
      );
    }),
    runs(20),
  );
});

test("however exporters go to and fro between two collectors: what comes out is what one collector makes of it", () => {
  const template = (id: number, kind: number): PacketTemplate => ({
    id,
    fields: fields([kind === 0 ? 1 : 2, 4], [10, 4]),
  });
  const step = fc.record({
    exporter: fc.nat(2),
    collector: fc.nat(1),
    what: fc.constantFrom("data", "data", "data", "template", "options"),
    id: fc.constantFrom(300, 301),
    value: fc.integer({ min: 1, max: 1_000_000 }),
    pauseMs: fc.constantFrom(1000, 1000, 45_000),
  });
  fc.assert(
    fc.property(fc.boolean(), fc.array(step, { maxLength: 40 }), (isIpfix, steps) => {
      const run = (count: number): unknown[] => {
        const shared = createSharedRig(count, { optionsRecords: false });
        const known = new Map<string, number>();
        let sequence = 0;
        for (const { exporter, collector, what, id, value, pauseMs } of steps) {
          const from = { address: `192.0.2.${exporter + 1}`, port: 4000 };
          const to = shared.collectors[collector % count] as SharedCollector;
          // A template is defined once and not changed: what its data look like elsewhere at that very time nobody can know.
          const layout = known.get(`${exporter} ${id}`) ?? value % 2;
          const wrap = (sets: Buffer[]): Buffer =>
            isIpfix ? ipfix(sets, { sequence: sequence++ }) : netflow9(sets, { sequence: sequence++ });
          if (what === "template" || !known.has(`${exporter} ${id}`)) {
            known.set(`${exporter} ${id}`, layout);
            to.send(
              wrap([isIpfix ? ipfixTemplates(template(id, layout)) : netflow9Templates(template(id, layout))]),
              from,
            );
          } else if (what === "options" && isIpfix) {
            to.send(wrap([ipfixTemplates(about), named(10, `eth${exporter}`)]), from);
          } else to.send(wrap([dataSet(template(id, layout), [uint(value, 4), uint(7, 4)])]), from);
          // A collector that has heard an exporter less than half a minute ago does not ask what it said elsewhere since.
          shared.pass(what === "options" ? 45_000 : pauseMs);
        }
        shared.pass(61_000);
        return shared.collectors
          .flatMap(({ records }) =>
            records.map((record) =>
              [
                "flow.export.ip.addr",
                "flow.raw.bytes",
                "flow.raw.packets",
                "flow.bytes",
                "flow.packets",
                "flow.in.netif.name",
              ]
                .map((name) => String(record[name]))
                .join(" "),
            ),
          )
          .toSorted();
      };
      assert.deepEqual(run(2), run(1));
    }),
    runs(15),
  );
});

test("however exporters start again with other templates, from other ports (IPFIX): none is decoded by what it said before", () => {
  const step = fc.record({
    collector: fc.nat(1),
    what: fc.constantFrom("data", "data", "restart"),
    pauseMs: fc.constantFrom(1000, 5000, 45_000),
  });
  fc.assert(
    fc.property(fc.boolean(), fc.array(step, { minLength: 1, maxLength: 25 }), (isIpfix, steps) => {
      const shared = createSharedRig(2, { optionsRecords: false });
      let [passed, bootedAt, layout, port, id] = [0, 0, 0, 4000, 0];
      let sequence = 0;
      const layouts: number[] = [];
      const send = (to: SharedCollector, sets: readonly Buffer[]): void => {
        const seconds = exportSeconds + Math.floor(passed / 1000);
        const header = { sequence: sequence++, seconds };
        // No two starts have the same uptime at their datagrams: one that stands still would say nothing.
        const uptime = 600_000 + 7 * port + passed - bootedAt;
        to.send(isIpfix ? ipfix(sets, header) : netflow9(sets, { ...header, uptime }), { port });
      };
      const templateNow = (): PacketTemplate => (layout === 0 ? flow : other);
      steps.forEach(({ collector, what, pauseMs }, i) => {
        const to = shared.collectors[collector] as SharedCollector;
        if (what === "restart" || i === 0) {
          // It was up for longer than what clocks and overtaking datagrams explain.
          shared.pass(20_000);
          passed += 20_000;
          [bootedAt, layout, port, sequence] = [passed, 1 - layout, port + 1, 0];
          send(to, [isIpfix ? ipfixTemplates(templateNow()) : netflow9Templates(templateNow())]);
        } else {
          layouts[id] = layout;
          send(to, [data(id++)]);
        }
        shared.pass(pauseMs);
        passed += pauseMs;
      });
      shared.pass(2000);
      const found = shared.collectors.flatMap(({ records }) =>
        records.map((record) => [
          Number(record["flow.raw.bytes"] ?? record["flow.raw.packets"]),
          "flow.raw.packets" in record ? 1 : 0,
        ]),
      );
      assert.deepEqual(
        found.toSorted(([a], [b]) => Number(a) - Number(b)),
        layouts.map((each, number) => [number, each]),
      );
    }),
    runs(30),
  );
});

test("persistence gives what is new to the fleet, and an empty answer to a source when the fleet does not answer", async () => {
  const state: ExporterState = { address: "192.0.2.1", firstSeen: 1, lastSeen: 2, templates: [], options: [] };
  const reports: StateReport[] = [
    { changed: [state], forgotten: ["192.0.2.9"], heard: [["192.0.2.1", 5]], asked: ["192.0.2.1"] },
    { changed: [], forgotten: [], heard: [], asked: ["192.0.2.2"] },
  ];
  const nothing: StateReport = { changed: [], forgotten: [], heard: [], asked: [] };
  const answers: unknown[] = [];
  const put: unknown[] = [];
  const persistence = new StatePersistence({
    shared: {
      put: (change) => void put.push(...change.changed.map(writeExporterState), ...change.forgotten),
      heard: (list) => void put.push(...list.flat()),
      find: ([sender]) => (sender === "192.0.2.1" ? Promise.resolve([state]) : Promise.reject(new Error("away"))),
    },
    sources: [
      {
        exportState: (which) => (which === "changed" ? (reports.shift() ?? nothing) : nothing),
        importState() {},
        importShared: (answer) => void answers.push(answer),
      },
    ],
    responsible: () => 0,
    failed: (error) => assert.fail(String(error)),
  });
  await persistence.start();
  await until("two answers", () => answers.length === 2);
  await persistence.stop();
  assert.deepEqual(answers, [
    { asked: ["192.0.2.1"], states: [state] },
    { asked: ["192.0.2.2"], states: [] },
  ]);
  assert.deepEqual(put, [writeExporterState(state), "192.0.2.9", "192.0.2.1", 5]);
});
