import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  dataSet,
  exportUptime,
  fields,
  netflow5,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig, type FlowRig, type Json } from "../support/flow-rig.ts";
import { runs } from "../support/runs.ts";

/** Several senders behind one address (NAT, containers), with one Source ID: by the port each has what it said itself. */

const inBytes: PacketTemplate = { id: 256, fields: fields([1, 4], [2, 4], [10, 4]) };
const outBytes: PacketTemplate = { id: 256, fields: fields([10, 4], [1, 4], [2, 4]) };
const rateOf: PacketTemplate = { id: 300, scopeCount: 1, fields: fields([1, 4], [34, 4]) };
const nameOf: PacketTemplate = { id: 301, scopeCount: 1, fields: fields([2, 4], [82, 8]) };
const rateSet = (rate: number): Buffer => dataSet(rateOf, [uint(0, 4), uint(rate, 4)]);
const nameSet = (index: number, name: string): Buffer =>
  dataSet(nameOf, [uint(index, 4), Buffer.from(name.padEnd(8, "\0"))]);

interface Sender {
  readonly port: number;
  readonly template: PacketTemplate;
  readonly rate: number;
  readonly name: string;
  readonly uptime: number;
}
const senders: readonly Sender[] = [
  { port: 4000, template: inBytes, rate: 10, name: "eth-a", uptime: exportUptime },
  { port: 5000, template: outBytes, rate: 100, name: "eth-b", uptime: 70_000 },
];
const announce = ({ template, rate, name }: Sender): Buffer[] => [
  netflow9Templates(template),
  netflow9Templates(rateOf),
  netflow9Templates(nameOf),
  rateSet(rate),
  nameSet(7, name),
];
const values = ({ template }: Sender, bytes: number): Buffer =>
  template === inBytes
    ? dataSet(inBytes, [uint(bytes, 4), uint(3, 4), uint(7, 4)])
    : dataSet(outBytes, [uint(7, 4), uint(bytes, 4), uint(3, 4)]);
const said = ({ rate, name }: Sender, bytes: number): Json => ({
  "flow.raw.bytes": bytes,
  "flow.raw.packets": 3,
  "flow.in.netif.index": 7,
  "flow.in.netif.name": name,
  "flow.sample_rate": rate,
});
const shown = (record: Json | undefined): Json =>
  Object.fromEntries(Object.keys(said(senders[0] as Sender, 0)).map((name) => [name, record?.[name]]));
const missing = async (rig: FlowRig, protocol: string): Promise<number> =>
  (await rig.value("netgloss_flow_missing_total", { protocol })) -
  (await rig.value("netgloss_flow_recovered_total", { protocol }));

test("two NetFlow v9 senders with one address and Source ID have templates, rates, names and numbers of their own", async () => {
  for (const uptimes of [
    [exportUptime, 70_000],
    [exportUptime, exportUptime],
  ]) {
    const rig = createFlowRig();
    const own = senders.map((sender, i) => ({ ...sender, uptime: uptimes[i] as number }));
    for (const [i, sender] of own.entries()) {
      rig.send(netflow9(announce(sender), { sequence: 1000 * i, uptime: sender.uptime }), { port: sender.port });
    }
    for (let i = 1; i < 50; i++) {
      for (const [n, sender] of own.entries()) {
        const datagram = netflow9([values(sender, i)], { sequence: 1000 * n + i, uptime: sender.uptime });
        assert.deepEqual(shown(rig.send(datagram, { port: sender.port })[0]), said(sender, i));
      }
    }
    assert.equal(await missing(rig, "netflow9"), 0);
    assert.equal(await rig.value("netgloss_flow_sequence_resets_total", { protocol: "netflow9" }), 0);
    assert.equal(await rig.value("netgloss_flow_late_total", { protocol: "netflow9" }), 0);
    rig.send(netflow9([], { sequence: 1053, uptime: uptimes[1] as number }), { port: 5000 });
    assert.equal(await missing(rig, "netflow9"), 3, "what one of them lost is counted");
  }
});

test("in whatever order two NetFlow v9 senders send, their records are those of two addresses", () => {
  const turns = fc.array(fc.record({ by: fc.constantFrom(0, 1), announces: fc.boolean(), lost: fc.boolean() }), {
    minLength: 1,
    maxLength: 40,
  });
  fc.assert(
    fc.property(turns, fc.constantFrom(0, 5, 3000), (all, ahead) => {
      const together = createFlowRig();
      const apart = createFlowRig();
      const next = [0, ahead];
      const began = [false, false];
      for (const [i, { by, announces, lost }] of all.entries()) {
        const sender = senders[by] as Sender;
        const sequence = (next[by] as number)++;
        if (lost && began[by] === true) continue;
        const sets = announces || began[by] !== true ? announce(sender) : [];
        began[by] = true;
        const datagram = netflow9([...sets, values(sender, i)], { sequence, uptime: sender.uptime });
        const expected = apart.send(datagram, { address: `192.0.2.${by}` });
        const actual = together.send(datagram, { port: sender.port });
        const plain = (records: readonly Json[]): Json[] =>
          records.map((record) => ({ ...record, "flow.export.ip.addr": "" }));
        assert.deepEqual(plain(actual), plain(expected));
      }
    }),
    runs(100),
  );
});

test("two NetFlow v5 senders with one address and engine have numbers of their own", async () => {
  const rig = createFlowRig();
  for (let i = 0; i < 20; i++) {
    rig.send(netflow5([{}, {}], { sequence: 2 * i }), { port: 4000 });
    rig.send(netflow5([{}], { sequence: 700 + i }), { port: 5000 });
  }
  assert.equal(await missing(rig, "netflow5"), 0);
  assert.equal(await rig.value("netgloss_flow_sequence_resets_total", { protocol: "netflow5" }), 0);
  rig.send(netflow5([{}, {}], { sequence: 45 }), { port: 4000 });
  assert.equal(await missing(rig, "netflow5"), 5);
});

test("an exporter that changes its port with each datagram is one: templates, options, lost datagrams", async () => {
  for (const portOf of [(i: number) => 1024 + i, (i: number) => 4000 + (i % 8)]) {
    const rig = createFlowRig();
    const [sender] = senders as [Sender];
    const sets = announce(sender);
    let sequence = 0;
    const send = (more: Buffer[]): Json[] => {
      const port = portOf(sequence);
      return rig.send(netflow9(more, { sequence: sequence++ }), { port });
    };
    for (const set of sets) send([set]);
    for (let i = 1; i <= 3000; i++) {
      if (i === 2000) sequence += 4;
      const name = i <= 1000 ? sender.name : "eth-new";
      assert.deepEqual(shown(send([values(sender, i)])[0]), said({ ...sender, name }, i), `datagram ${i}`);
      if (i === 1000) send([nameSet(7, "eth-new")]);
    }
    assert.equal(await missing(rig, "netflow9"), 4);
  }
});

test("of ports that take turns in one count what is lost is seen once that is clear", async () => {
  const rig = createFlowRig();
  for (let i = 0; i < 40; i++) rig.send(netflow9([], { sequence: i }), { port: 4000 + (i % 4) });
  rig.send(netflow9([], { sequence: 43 }), { port: 4000 });
  assert.equal(await missing(rig, "netflow9"), 3);
});

test("a template by another port is used however many ports follow, and what waited for it is decoded", () => {
  const rig = createFlowRig();
  const [sender] = senders as [Sender];
  assert.deepEqual(rig.send(netflow9([values(sender, 1)], { sequence: 5 }), { port: 3000 }), []);
  const sets = [netflow9Templates(sender.template)];
  assert.equal(rig.send(netflow9(sets, { sequence: 99 }), { port: 3001 })[0]?.["flow.raw.bytes"] ?? 1, 1);
  for (let i = 0; i < 2000; i++) {
    // The numbers follow one another in no way.
    const datagram = netflow9([values(sender, i)], { sequence: (i * 7919) % 100_003 });
    assert.equal(rig.send(datagram, { port: 10_000 + i }).length, 1, `port ${i}`);
  }
});

test("what waited at one port is decoded when its template comes by another", () => {
  const rig = createFlowRig();
  const [sender] = senders as [Sender];
  rig.send(netflow9([values(sender, 1)], { sequence: 5 }), { port: 3000 });
  const [record] = rig.send(netflow9([netflow9Templates(sender.template)], { sequence: 99 }), { port: 3001 });
  assert.equal(record?.["flow.bytes"], 1);
});

test("a device that sends beside another waits for its own template; one that started again from a new port does not", () => {
  const rig = createFlowRig();
  const [a, b] = senders as [Sender, Sender];
  rig.send(netflow9(announce(a), { uptime: a.uptime }), { port: a.port });
  assert.equal(rig.send(netflow9([values(a, 1)], { uptime: 5000 }), { port: 4001 }).length, 1, "started again");
  rig.time += 1000;
  rig.send(netflow9([values(a, 2)], { uptime: a.uptime, sequence: 1 }), { port: a.port });
  assert.equal(rig.send(netflow9([values(b, 3)], { uptime: 5000 }), { port: 4001 }).length, 0, "side by side");
  const late = rig.send(netflow9([netflow9Templates(b.template)], { uptime: 5000, sequence: 1 }), { port: 4001 });
  assert.equal(late[0]?.["flow.raw.bytes"], 3);
});

test("of two ports that are silent the template that came last counts for a third one", () => {
  const rig = createFlowRig();
  const [a, b] = senders as [Sender, Sender];
  for (const { port, template } of [a, b]) {
    rig.send(netflow9([netflow9Templates(template)], { sequence: port }), { port });
    rig.time += 1000;
  }
  assert.equal(rig.send(netflow9([values(b, 5)], { sequence: 77 }), { port: 6000 })[0]?.["flow.bytes"], 5);
});

test("what a Source ID says for the others is by the port, too, also where it sends options alone", () => {
  for (const [options, flows] of [
    [0, 1],
    [256, 1],
  ] as const) {
    const rig = createFlowRig();
    for (const { rate, name, template, uptime, port } of senders) {
      const sets = [netflow9Templates(rateOf), netflow9Templates(nameOf), rateSet(rate), nameSet(7, name)];
      rig.send(netflow9(sets, { uptime, domain: options }), { port });
      rig.send(netflow9([netflow9Templates(template)], { uptime, domain: flows }), { port });
    }
    for (let i = 1; i <= 4; i++) {
      for (const sender of senders.toReversed()) {
        const datagram = netflow9([values(sender, i)], { uptime: sender.uptime, domain: flows, sequence: i });
        assert.deepEqual(shown(rig.send(datagram, { port: sender.port })[0]), said(sender, i), `${options} ${i}`);
      }
    }
  }
});

test("what Source ID 0 says counts before what the domain said by an old port", () => {
  const rig = createFlowRig();
  const [sender] = senders as [Sender];
  const rates = [netflow9Templates(sender.template), netflow9Templates(rateOf), rateSet(sender.rate)];
  const names = [netflow9Templates(nameOf), nameSet(7, sender.name)];
  for (const [port, uptime] of [
    [4000, 100_000],
    [4001, 1000],
  ] as const) {
    rig.send(netflow9(names, { uptime, domain: 0 }), { port });
    rig.send(netflow9(rates, { uptime, domain: 1 }), { port });
    const datagram = netflow9([values(sender, 1)], { uptime, domain: 1, sequence: 1 });
    assert.deepEqual(shown(rig.send(datagram, { port })[0]), said(sender, 1), `port ${port}`);
    rig.time += 1000;
  }
});

test("a port whose template was refused does not take that of another port", () => {
  const rig = createFlowRig();
  const [sender] = senders as [Sender];
  rig.send(netflow9([netflow9Templates(sender.template)], { sequence: 0 }), { port: 4000 });
  const port = 4001;
  assert.equal(rig.send(netflow9([values(sender, 1)], { sequence: 900 }), { port }).length, 1);
  rig.send(netflow9([netflow9Templates({ id: 256, fields: fields([1, 0]) })], { sequence: 901 }), { port });
  assert.equal(rig.send(netflow9([values(sender, 2)], { sequence: 902 }), { port }).length, 0);
  const records = rig.send(netflow9([netflow9Templates(sender.template)], { sequence: 903 }), { port });
  assert.equal(records[0]?.["flow.bytes"], 2);
});

test("rates of templates and of samplers are those of the port", () => {
  const rateOfTemplate: PacketTemplate = { id: 302, scopeCount: 1, fields: fields([5, 2], [34, 4]) };
  const rateOfSampler: PacketTemplate = { id: 303, scopeCount: 1, fields: fields([1, 4], [48, 1], [34, 4]) };
  const bySampler: PacketTemplate = { id: 257, fields: fields([1, 4], [48, 1]) };
  const rig = createFlowRig();
  const [a, b] = senders as [Sender, Sender];
  for (const { port, template, rate, uptime } of senders) {
    const sets = [netflow9Templates(template), netflow9Templates(rateOfTemplate)];
    rig.send(netflow9([...sets, dataSet(rateOfTemplate, [uint(256, 2), uint(rate, 4)])], { uptime }), { port });
  }
  const rate = (of: Sender, sets: readonly Buffer[], sequence: number): unknown =>
    rig.send(netflow9([...sets], { uptime: of.uptime, sequence }), { port: of.port }).at(-1)?.["flow.sample_rate"];
  assert.deepEqual([rate(a, [values(a, 1)], 1), rate(b, [values(b, 1)], 1)], [a.rate, b.rate]);
  const samplers = (of: number): Buffer[] => [
    netflow9Templates(rateOfSampler),
    dataSet(rateOfSampler, [uint(0, 4), uint(1, 1), uint(of, 4)]),
  ];
  const named = [netflow9Templates(bySampler), dataSet(bySampler, [uint(9, 4), uint(1, 1)])];
  assert.deepEqual([rate(a, [...samplers(7), ...named], 2), rate(b, [...samplers(8), ...named], 2)], [7, 8]);
});

test("what each port said is known after a restart", () => {
  const before = createFlowRig();
  for (const sender of senders) {
    before.send(netflow9(announce(sender), { uptime: sender.uptime }), { port: sender.port });
  }
  const after = createFlowRig();
  after.pipeline.importState(structuredClone(before.pipeline.exportState("all").changed));
  for (const sender of senders) {
    const [record] = after.send(netflow9([values(sender, 9)], { uptime: sender.uptime }), { port: sender.port });
    assert.deepEqual(shown(record), said(sender, 9));
  }
});

test("a sender that uses thousands of ports takes no more than its share, and does not hurt the one beside it", async () => {
  const rig = createFlowRig();
  const [a, b] = senders as [Sender, Sender];
  rig.send(netflow9(announce(a), { uptime: a.uptime }), { port: a.port });
  for (let i = 1; i <= 6000; i++) {
    const port = (i * 11) % 65_536;
    if (port === a.port) continue;
    rig.send(netflow9(announce(b), { sequence: port * 977, uptime: b.uptime }), { port });
    if (i % 100 !== 0) continue;
    const [record] = rig.send(netflow9([values(a, i)], { sequence: i / 100, uptime: a.uptime }), { port: a.port });
    assert.deepEqual(shown(record), said(a, i), `after ${i} ports`);
  }
  const [view] = rig.pipeline.exporters();
  assert.ok((view?.domains.length ?? 0) <= 256);
  assert.ok((await rig.value("netgloss_flow_memory_bytes")) < 4 * 1024 * 1024);
});
