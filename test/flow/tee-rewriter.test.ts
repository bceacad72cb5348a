import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { RelayLimits } from "../../src/flow/relay/relay-scope.ts";
import { RelayRewriter } from "../../src/flow/relay/tee.ts";
import {
  dataSet,
  fields,
  hex,
  ipfix,
  ipfixTemplates,
  ipv4,
  netflow1,
  netflow5,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
  flowSample,
  sflow,
} from "../../packages/testkit/index.ts";
import { createDatagramDamage } from "../support/damage-datagram.ts";
import { createFlowRig, type Json } from "../support/flow-rig.ts";
import { createRandom } from "../support/mutate.ts";
import { runs } from "../support/runs.ts";
import { goldenCases } from "./golden-cases.ts";

const host = "198.51.100.9";
const first = { address: "10.0.0.1", port: 40_000 };
const second = { address: "10.0.0.2", port: 40_000 };
type From = typeof first;

/** A collector that hears exporters themselves, and one that hears them by a tee, which has a port for each. */
function createPair(
  { maxBytes = 1472, limits }: { maxBytes?: number; limits?: Partial<RelayLimits> } = {},
  rigs = { direct: createFlowRig(), behind: createFlowRig({ relays: [host] }) },
) {
  const dropped: string[] = [];
  const rewriter = new RelayRewriter(maxBytes, (reason) => void dropped.push(reason), limits);
  const { direct, behind } = rigs;
  const ports = new Map<string, number>();
  return {
    direct,
    behind,
    dropped,
    rewriter,
    rewrite(bytes: Buffer, from: From, now = 0, generation?: number) {
      const key = `${from.address} ${from.port}`;
      if (!ports.has(key)) ports.set(key, 20_000 + ports.size);
      const port = ports.get(key) ?? 0;
      return rewriter.rewrite(bytes, { ...from, now, generation: generation ?? port });
    },
    /** Returns the records of both ways. */
    send(bytes: Buffer, from: From): [expected: Json[], actual: Json[]] {
      const expected = direct.send(bytes, from);
      const datagrams = this.rewrite(bytes, from);
      const port = ports.get(`${from.address} ${from.port}`) ?? 0;
      return [expected, datagrams.flatMap((datagram) => behind.send(datagram, { address: host, port }))];
    },
  };
}

/** What the way changes: the relay, numbers of messages, the Source ID. */
const ofTheWay = new Set(["flow.export.relay.ip.addr", "flow.export.sequence", "flow.export.domain.id"]);
const ofTheFlow = (record: Json): Json =>
  Object.fromEntries(
    Object.entries(record).filter(([name]) => !ofTheWay.has(name) && !/exporterIPv[46]Address/.test(name)),
  );
const plain = (records: readonly Json[]): Json[] => records.map(ofTheFlow);

const flow: PacketTemplate = { id: 256, fields: fields([8, 4], [12, 4], [1, 4]) };
const record = (bytes: number): Buffer[] => [ipv4("192.0.2.1"), ipv4("192.0.2.2"), uint(bytes, 4)];
const forms = [
  [netflow9Templates, netflow9, 1],
  [ipfixTemplates, ipfix, 0],
] as const;

test("records of every golden case come out as without the tee, with the exporter's address", () => {
  let compared = 0;
  const pair = createPair();
  for (const [number, [name, datagrams]] of goldenCases.entries()) {
    const all = datagrams.map((datagram) => ("bytes" in datagram ? datagram : { bytes: datagram }));
    const isTemplated = all.every(({ bytes }) => bytes.length > 20 && [9, 10].includes(bytes.readUInt16BE(0)));
    if (!isTemplated) continue;
    const hosts = [...new Set(all.map(({ address }) => address))];
    pair.dropped.length = 0;
    for (const { bytes, address, port = first.port } of all) {
      const [expected, actual] = pair.send(bytes, { address: `10.1.${number}.${hosts.indexOf(address)}`, port });
      // What is damaged is not passed on as it is; what names its exporter already is no record of the sender behind.
      if (pair.dropped.length > 0) break;
      if (expected.some((each) => Object.keys(each).some((key) => /exporterIPv[46]Address/.test(key)))) break;
      const isClaim = actual.some((each) => !String(each["flow.export.ip.addr"]).startsWith("10.1."));
      if (isClaim) break;
      // What had to wait for its template comes behind what did not.
      const sorted = (records: readonly Json[]): string[] =>
        plain(records)
          .map((each) => JSON.stringify(each))
          .toSorted();
      assert.deepEqual(sorted(actual), sorted(expected), name);
      compared += expected.length;
    }
  }
  assert.ok(compared > 60, `${compared} records`);
});

test("a device whose NetFlow v9 template did not come yet is not read by that of another one behind the same address", () => {
  const pair = createPair();
  const other: PacketTemplate = { id: 256, fields: fields([12, 4], [1, 8], [7, 2]) };
  const another = { address: first.address, port: first.port + 1 };
  pair.send(netflow9([netflow9Templates(flow)], { uptime: 5_000_000 }), first);
  const set = dataSet(other, [ipv4("10.9.9.9"), uint(77, 8), uint(443, 2)]);
  assert.deepEqual(pair.send(netflow9([set], { uptime: 9000 }), another)[1], []);
  const [, records] = pair.send(netflow9([netflow9Templates(other)], { uptime: 9000, sequence: 1 }), another);
  assert.deepEqual(
    records.map((each) => each["flow.bytes"]),
    [77],
  );
});

test("two senders with the same ids have templates, sampling and sequence numbers of their own; nothing seems lost", async () => {
  const sameAddress = { ...second, address: first.address, port: first.port + 1 };
  for (const [templates, message, step, another] of [
    ...forms.map((form) => [...form, second] as const),
    [...forms[0], sameAddress] as const,
  ]) {
    const pair = createPair();
    const other: PacketTemplate = { id: 256, fields: fields([12, 4], [1, 8], [7, 2]) };
    const rate: PacketTemplate = { id: 300, scopeCount: 1, fields: fields([1, 4], [34, 4]) };
    const setup = (own: PacketTemplate, of: number, options: { uptime: number }): Buffer =>
      message([templates(own), templates(rate), dataSet(rate, [uint(0, 4), uint(of, 4)])], { ...options, sequence: 1 });
    pair.send(setup(flow, 10, { uptime: 5_000_000 }), first);
    pair.send(setup(other, 20, { uptime: 9000 }), another);
    let sequence = 2;
    for (let i = 0; i < 20; i++) {
      const a = message([dataSet(flow, record(i), record(i + 1))], { sequence, uptime: 5_000_000 });
      const b = message([dataSet(other, [ipv4("192.0.2.9"), uint(i, 8), uint(5, 2)])], {
        sequence: 2 + i,
        uptime: 9000,
      });
      for (const [bytes, from, sampling] of [
        [a, first, 10],
        [b, another, 20],
      ] as const) {
        const [expected, actual] = pair.send(bytes, from);
        assert.deepEqual(plain(actual), plain(expected));
        assert.ok(actual.length > 0);
        for (const each of actual) {
          assert.equal(each["flow.export.ip.addr"], from.address);
          assert.equal(each["flow.sample_rate"], sampling);
        }
      }
      sequence += step === 1 ? 1 : 2;
    }
    const relay = pair.behind.pipeline.exporters().find(({ address }) => address === host);
    assert.equal(relay?.domains.length, 2);
    for (const domain of relay?.domains ?? []) assert.deepEqual([domain.missing, domain.resets], [0, 0]);
  }
});

test("a loss before the tee is the same loss behind it, and splitting makes none", () => {
  for (const [templates, message, step] of forms) {
    const pair = createPair({ maxBytes: 200 });
    const many = Array.from({ length: 40 }, (_, i) => record(i));
    const send = (sequence: number): void => {
      const bytes = message([templates(flow), dataSet(flow, ...many)], { sequence });
      const datagrams = pair.rewrite(bytes, first);
      assert.ok(datagrams.length > 3 && datagrams.every(({ length }) => length <= 200));
      const records = datagrams.flatMap((each) => pair.behind.send(each, { address: host, port: 20_000 }));
      assert.equal(records.length, 40);
    };
    const unit = step === 1 ? 1 : 40;
    for (const i of [0, 1, 2, 5, 6]) send(i * unit);
    const relay = pair.behind.pipeline.exporters().find(({ address }) => address === host);
    assert.equal(relay?.domains[0]?.missing, 2 * unit);
  }
});

test("a data set that comes before its template is held and passed on after it, with nothing lost", () => {
  for (const [templates, message, step] of forms) {
    const pair = createPair();
    const from = { address: host, port: 20_000 };
    const through = (bytes: Buffer): Json[] =>
      pair.rewrite(bytes, first).flatMap((each) => pair.behind.send(each, from));
    assert.deepEqual(through(message([dataSet(flow, record(1), record(2))], { sequence: 0 })), []);
    assert.ok(pair.rewriter.heldBytes() > 0);
    const next = step === 1 ? 1 : 2;
    const bytes = through(message([templates(flow), dataSet(flow, record(3))], { sequence: next })).map(
      (each) => each["flow.bytes"] ?? each["flow.in.bytes"],
    );
    assert.equal(bytes.length, 3);
    assert.equal(pair.rewriter.heldBytes(), 0);
    assert.equal(through(message([dataSet(flow, record(4))], { sequence: next + 1 })).length, 1);
    assert.equal(through(message([dataSet(flow, record(5))], { sequence: next + 2 })).length, 1);
    const relay = pair.behind.pipeline.exporters().find(({ address }) => address === host);
    assert.deepEqual([relay?.domains[0]?.missing, relay?.domains[0]?.late, pair.dropped], [0, 0, []]);
  }
});

test("what waits and what is known is bounded", () => {
  const pair = createPair({ limits: { heldSets: 4, heldBytes: 100, templates: 2, scopes: 3 } });
  for (let i = 0; i < 50; i++) pair.rewrite(ipfix([dataSet(flow, record(i), record(i))], { domain: i % 7 }), first);
  assert.ok(pair.rewriter.heldBytes() <= 100);
  assert.ok(pair.dropped.filter((reason) => reason === "no_template").length >= 40);
  for (let id = 256; id < 266; id++) pair.rewrite(ipfix([ipfixTemplates({ ...flow, id })], { domain: 1 }), first);
  assert.equal(pair.dropped.filter((reason) => reason === "template_limit").length, 8);
});

test("templates that lists refer to stay, and so do records that name their exporter", () => {
  const pair = createPair();
  const list: PacketTemplate = { id: 257, fields: fields([8, 4], [292, "variable"]) };
  const content = Buffer.concat([uint(3, 1), uint(256, 2), ...record(1), ...record(2)]);
  const named: PacketTemplate = { id: 258, fields: fields([130, 4], [1, 4]) };
  const datagrams = [
    ipfix([ipfixTemplates(flow), dataSet(flow, record(7))], { sequence: 0 }),
    ipfix([ipfixTemplates(list), dataSet(list, [ipv4("192.0.2.1"), content]), dataSet(flow, record(8))], {
      sequence: 1,
    }),
    ipfix(
      [ipfixTemplates({ ...flow, id: 65_535 }), dataSet({ ...flow, id: 65_535 }, record(9)), dataSet(flow, record(8))],
      { sequence: 3 },
    ),
    ipfix([dataSet(list, [ipv4("192.0.2.1"), content])], { sequence: 5 }),
  ];
  for (const bytes of datagrams) {
    const [expected, actual] = pair.send(bytes, first);
    assert.deepEqual(plain(actual), plain(expected));
    assert.ok(actual.length > 0 && actual.every((each) => each["flow.export.ip.addr"] === first.address));
  }
  const bytes = ipfix([ipfixTemplates(named), dataSet(named, [ipv4("10.9.9.9"), uint(5, 4)])], { sequence: 6 });
  const [, actual] = pair.send(bytes, first);
  assert.equal(actual[0]?.["flow.export.ip.addr"], "10.9.9.9");
});

test("NetFlow v5 becomes IPFIX: the same flows, sampling, times, engine, and losses counted in flows", () => {
  const flows = Array.from({ length: 30 }, (_, i) => ({ bytes: 1000 + i }));
  const pair = createPair();
  const names = new Set([
    "flow.export.type",
    "flow.export.version.ver",
    "flow.export.version.name",
    "flow.export.uptime",
    "flow.export.timestamp",
    "flow.sampling.assumed",
  ]);
  for (const [sequence, sampling] of [
    [0, 0x4064],
    [30, 0x4064],
    [90, 0],
  ] as const) {
    const [expected, actual] = pair.send(
      netflow5(flows, { sequence, sampling, engineId: 3, nanoseconds: 250_000_000 }),
      first,
    );
    const clean = (records: readonly Json[]): Json[] =>
      plain(records).map((each) => Object.fromEntries(Object.entries(each).filter(([name]) => !names.has(name))));
    assert.equal(actual.length, 30);
    assert.deepEqual(clean(actual), clean(expected));
  }
  const relay = pair.behind.pipeline.exporters().find(({ address }) => address === host);
  assert.equal(relay?.domains[0]?.missing, 30);
});

test("templates go out again by a new socket, for it is a new session", () => {
  const pair = createPair();
  pair.rewrite(ipfix([ipfixTemplates(flow)]), first, 0, 1);
  const data = ipfix([dataSet(flow, record(1))]);
  const [before] = pair.rewrite(data, first, 0, 1);
  const [after] = pair.rewrite(data, first, 0, 2);
  assert.equal(before?.readUInt16BE(16), 256);
  assert.equal(after?.readUInt16BE(16), 2);
});

test("sFlow and NetFlow v1 stay as they are; what is no flow is dropped; IPv6 senders are named by element 131", () => {
  const pair = createPair();
  for (const bytes of [sflow([flowSample([])], { agent: "10.0.0.7" }), netflow1([{}])]) {
    assert.deepEqual(pair.rewrite(bytes, first), [bytes]);
  }
  assert.deepEqual(pair.rewrite(hex("1234"), first), []);
  assert.deepEqual(pair.dropped, ["unknown_protocol"]);
  const [, actual] = pair.send(ipfix([ipfixTemplates(flow), dataSet(flow, record(1))]), {
    address: "2001:db8::5",
    port: 1,
  });
  assert.equal(actual[0]?.["flow.export.ip.addr"], "2001:db8::5");
});

test("any templates, lengths and values come out as they went in", () => {
  const field = fc.record({
    id: fc.constantFrom(1, 2, 4, 7, 10, 82, 96, 500),
    length: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constant("variable" as const)),
  });
  const shape = fc.array(field, { minLength: 1, maxLength: 6 });
  const rigs = { direct: createFlowRig(), behind: createFlowRig({ relays: [host] }) };
  fc.assert(
    fc.property(
      shape,
      fc.array(fc.nat(300), { minLength: 1, maxLength: 30 }),
      fc.integer({ min: 512, max: 1472 }),
      fc.boolean(),
      (shapes, sizes, maxBytes, isIpfix) => {
        const [templates, message] = isIpfix ? forms[1] : forms[0];
        const template = {
          id: 256,
          fields: isIpfix
            ? shapes
            : shapes.map((each) => ({ ...each, length: each.length === "variable" ? 3 : each.length })),
        };
        const records = sizes.map((size) =>
          template.fields.map(({ length }) => Buffer.alloc(length === "variable" ? size : length, 0x41 + (size % 20))),
        );
        const pair = createPair({ maxBytes }, rigs);
        const [expected, actual] = pair.send(message([templates(template), dataSet(template, ...records)]), first);
        assert.deepEqual(plain(actual), plain(expected));
        assert.equal(actual.length, records.length);
      },
    ),
    runs(60),
  );
});

test("damaged datagrams never fail, and memory stays bounded", () => {
  const real = goldenCases.flatMap(([, sent]) => sent.map((each) => ("bytes" in each ? each.bytes : each)));
  const random = createRandom(7);
  const damage = createDatagramDamage(
    real.filter((bytes) => bytes.length > 0 && bytes.length <= 9000),
    random,
  );
  const pair = createPair({ limits: { heldBytes: 20_000, scopes: 20 } });
  for (let i = 0; i < runs(1500).numRuns; i++) {
    const bytes = Buffer.from(damage.next());
    const datagrams = pair.rewrite(bytes, { address: `10.0.0.${random() % 9}`, port: random() % 3 }, i, random() % 4);
    for (const datagram of datagrams) {
      assert.ok(datagram.length <= 65_507);
      if (i % 8 === 0) pair.behind.send(datagram, { address: host, port: 20_000 });
    }
    assert.ok(pair.rewriter.heldBytes() <= 20_000);
  }
  assert.ok(!pair.behind.log.some(({ message }) => message.includes("internal error")));
});

test("a template that cannot be used, and sets that do not fit theirs, are the same behind the tee", () => {
  for (const [templates, message] of forms) {
    const pair = createPair();
    const wide: PacketTemplate = { id: 256, fields: fields([8, 4], [12, 4], [1, 8], [2, 8], [7, 2]) };
    const row = (i: number): Buffer[] => [
      ipv4("192.0.2.1"),
      ipv4("192.0.2.2"),
      uint(i, 8),
      uint(0x0102_0304, 8),
      uint(i, 2),
    ];
    const old: PacketTemplate = { id: 256, fields: fields([8, 4], [12, 4], [1, 4]) };
    const both = (...sets: Buffer[]): number[] => {
      const [expected, actual] = pair.send(message(sets, { sequence: 1 }), first);
      assert.deepEqual(
        actual.map((each) => each["flow.raw.bytes"]),
        expected.map((each) => each["flow.raw.bytes"]),
      );
      return [expected.length];
    };
    both(templates(old));
    assert.deepEqual(both(dataSet(wide, row(7))), [0]);
    assert.deepEqual(both(templates(wide)), [1]);
    both(templates({ id: 256, fields: fields([1, 0]) }));
    assert.deepEqual(both(dataSet(wide, row(8))), [0]);
    assert.deepEqual(both(templates(wide)), [1]);
  }
});

test("zeros that are as long as a record are no record behind the tee", () => {
  const pair = createPair();
  const addressed: PacketTemplate = { id: 256, fields: fields([8, 4], [12, 4], [1, 4]) };
  const padded = dataSet(
    addressed,
    [ipv4("192.0.2.1"), ipv4("192.0.2.2"), uint(9, 4)],
    [ipv4("0.0.0.0"), ipv4("0.0.0.0"), uint(0, 4)],
  );
  const [expected, actual] = pair.send(netflow9([netflow9Templates(addressed), padded], { count: 2 }), first);
  assert.deepEqual([expected.length, actual.length], [1, 1]);
});
