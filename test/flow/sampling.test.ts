import assert from "node:assert/strict";
import { test } from "node:test";
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
import { decodeStateFile, encodeStateFile } from "../../src/flow/index.ts";
import { writeExporterState } from "../../src/flow/exporters/state/exporter-state.ts";
import { createFlowRig, type FlowRig, type Json } from "../support/flow-rig.ts";

/** Bytes, way in, way out, direction. */
const flow: PacketTemplate = { id: 300, fields: fields([1, 4], [10, 4], [14, 4], [61, 1]) };
const samplerFlow: PacketTemplate = { id: 301, fields: fields([1, 4], [48, 1]) };
const ratedFlow: PacketTemplate = { id: 302, fields: fields([1, 4], [34, 4]) };

const systemRate: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([1, 4], [34, 4]) };
const interfaceRate: PacketTemplate = { id: 401, scopeCount: 1, fields: fields([2, 4], [34, 4]) };
const samplerRate: PacketTemplate = { id: 402, scopeCount: 1, fields: fields([1, 4], [48, 1], [50, 4]) };

function rigWithTemplates(options = {}): FlowRig {
  const rig = createFlowRig(options);
  for (const domain of [0, 1, 2]) {
    const sets = [
      netflow9Templates(flow, samplerFlow, ratedFlow),
      netflow9Templates(systemRate, interfaceRate, samplerRate),
    ];
    rig.send(netflow9(sets, { domain }));
  }
  return rig;
}

/** Sends one record of NetFlow v9, its values as numbers. */
function send(rig: FlowRig, template: PacketTemplate, values: readonly number[], domain = 1): Json {
  const bytes = template.fields.map(({ length }, i) => uint(values[i] ?? 0, Number(length)));
  return rig.send(netflow9([dataSet(template, bytes)], { domain }))[0] ?? {};
}

const rateOf = (record: Json): unknown => [
  record["flow.sample_rate"],
  record["flow.bytes"],
  ...(record["flow.sampling.assumed"] === true ? ["assumed"] : []),
];
const none = [1, 100, "assumed"];
const ingress = [100, 7, 8, 0];

test("without a rate the estimates are the counters, and a field says that this is assumed", () => {
  const rig = rigWithTemplates();
  const record = send(rig, flow, ingress);
  assert.equal(record["flow.bytes"], 100);
  assert.deepEqual(rateOf(record), none);
  const uncounted = { id: 305, fields: fields([8, 4], [12, 4]) };
  const [other] = rig.send(netflow9([netflow9Templates(uncounted), packetSet(305, Buffer.alloc(8))]));
  assert.deepEqual(rateOf(other ?? {}), [undefined, undefined], "there is nothing to be estimated");
});

test("the rate of the whole system, of an interface, of a sampler: the narrower wins", () => {
  const rig = rigWithTemplates();
  send(rig, systemRate, [0, 10]);
  assert.deepEqual(rateOf(send(rig, flow, ingress)), [10, 1000]);
  send(rig, interfaceRate, [7, 20]);
  assert.deepEqual(rateOf(send(rig, flow, ingress)), [20, 2000]);
  assert.deepEqual(rateOf(send(rig, flow, [100, 8, 7, 1])), [20, 2000], "an egress flow goes by its way out");
  assert.deepEqual(rateOf(send(rig, flow, [100, 8, 7, 0])), [10, 1000]);
  send(rig, samplerRate, [0, 3, 30]);
  assert.deepEqual(rateOf(send(rig, samplerFlow, [100, 3])), [30, 3000]);
  assert.deepEqual(rateOf(send(rig, samplerFlow, [100, 4])), [10, 1000], "a sampler that nobody announced");
});

test("a flow that names no sampler has the rate on which all samplers agree, unless other flows of the domain name them", () => {
  const rig = createFlowRig();
  rig.send(netflow9([netflow9Templates(flow), netflow9Templates(samplerRate)]));
  send(rig, samplerRate, [0, 3, 30]);
  assert.deepEqual(rateOf(send(rig, flow, ingress)), [30, 3000]);
  rig.send(netflow9([netflow9Templates(samplerFlow)]));
  assert.deepEqual(rateOf(send(rig, flow, ingress)), none);
  assert.deepEqual(rateOf(send(rig, samplerFlow, [100, 0])), none, "sampler 0 is none");
  assert.deepEqual(rateOf(send(rig, samplerFlow, [100, 3])), [30, 3000]);
  const other = { id: samplerFlow.id, fields: fields([1, 4], [10, 4]) };
  rig.send(netflow9([netflow9Templates(other)]));
  assert.deepEqual(rateOf(send(rig, flow, ingress)), [30, 3000], "the template that named it is another one now");
  send(rig, samplerRate, [0, 4, 40]);
  assert.deepEqual(rateOf(send(rig, flow, ingress)), none, "they differ");
});

test("scopes that flows do not say, a line card or a cache, give a rate to no flow; a template to its own flows", () => {
  const rig = rigWithTemplates();
  const of = (scope: number, id: number): PacketTemplate => ({
    id,
    scopeCount: 1,
    fields: fields([scope, 4], [34, 4]),
  });
  const [lineCard, cache, template] = [of(3, 410), of(4, 411), of(5, 412)];
  rig.send(netflow9([netflow9Templates(lineCard, cache, template)], { domain: 1 }));
  send(rig, lineCard, [1, 50]);
  send(rig, cache, [0, 60]);
  assert.deepEqual(rateOf(send(rig, flow, ingress)), none);
  const samplerOfCard: PacketTemplate = { id: 413, scopeCount: 1, fields: fields([3, 4], [48, 1], [50, 4]) };
  rig.send(netflow9([netflow9Templates(samplerOfCard)], { domain: 1 }));
  send(rig, samplerOfCard, [1, 9, 90]);
  assert.deepEqual(rateOf(send(rig, samplerFlow, [100, 9])), [90, 9000], "a sampler has its number whatever it is of");
  assert.deepEqual(rateOf(send(rig, flow, ingress)), none);
  send(rig, template, [flow.id, 70]);
  assert.deepEqual(rateOf(send(rig, flow, ingress)), [70, 7000]);
  assert.deepEqual(rateOf(send(rig, flow, ingress, 2)), none, "template ids are those of the domain");
  send(rig, interfaceRate, [7, 20]);
  assert.deepEqual(rateOf(send(rig, flow, ingress)), [70, 7000], "a template is narrower than an interface");
});

test("an option that names another observation domain is of that domain", () => {
  const rig = createFlowRig();
  const domainRate: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([149, 4], [34, 4]) };
  const plain: PacketTemplate = { id: 300, fields: fields([8, 4], [1, 4]) };
  const say = (domain: number, of: number, rate: number): void =>
    void rig.send(ipfix([ipfixTemplates(domainRate), dataSet(domainRate, [uint(of, 4), uint(rate, 4)])], { domain }));
  const rate = (domain: number): unknown =>
    rig.send(ipfix([ipfixTemplates(plain), dataSet(plain, [uint(1, 4), uint(100, 4)])], { domain })).at(-1)?.[
      "flow.bytes"
    ];
  say(1, 2, 10);
  assert.deepEqual([rate(1), rate(2), rate(3)], [100, 1000, 100]);
  say(1, 1, 5);
  assert.deepEqual([rate(1), rate(2), rate(3)], [500, 1000, 100]);
});

test("rates by template outlive a restart, and a rate that cannot be is not taken over", () => {
  const before = rigWithTemplates();
  const template: PacketTemplate = { id: 412, scopeCount: 1, fields: fields([5, 4], [34, 4]) };
  before.send(netflow9([netflow9Templates(template)], { domain: 1 }));
  send(before, template, [flow.id, 70]);
  const states = decodeStateFile(encodeStateFile(before.pipeline.exportState("all").changed.map(writeExporterState)));
  assert.ok(typeof states !== "string");
  const after = createFlowRig();
  after.pipeline.importState(states);
  assert.deepEqual(rateOf(send(after, flow, ingress)), [70, 7000]);
  const [state] = states;
  const [options] = state?.options ?? [];
  assert.ok(state !== undefined && options !== undefined);
  const odd = { ...options, sampling: { samplers: [], netifs: [], domainRate: 0xffff_ffff } };
  const other = createFlowRig();
  other.pipeline.importState([{ ...state, options: [odd] }]);
  assert.deepEqual(rateOf(send(other, flow, ingress)), none);
});

for (const [said, taken] of [
  [2 ** 24 - 1, 2 ** 24 - 1],
  [2 ** 24, 1],
  [0x64000000, 100],
  [0xe8030000, 1000],
  [0xffff_ffff, undefined],
  [0x0101_0101, undefined],
] as const) {
  test(`a rate of ${said} counts as ${taken ?? "none"}, in options and in records`, async () => {
    const rig = rigWithTemplates();
    const expected = taken === undefined ? none : [taken, 100 * taken];
    send(rig, systemRate, [0, said]);
    assert.deepEqual(rateOf(send(rig, flow, ingress)), expected);
    assert.deepEqual(rateOf(send(rig, ratedFlow, [100, said])), expected);
    const isDoubted = taken !== said;
    assert.equal(await rig.value("netgloss_flow_doubted_rates_total", { protocol: "netflow9" }), isDoubted ? 2 : 0);
    assert.equal(rig.log.length, isDoubted ? 1 : 0, "it is said once");
  });
}

test("what the record says beats options, and the operator beats both", () => {
  for (const [samplingRates, expected] of [
    [new Map(), [5, 500]],
    [new Map([["192.0.2.254", 7]]), [7, 700]],
  ] as const) {
    const rig = rigWithTemplates({ samplingRates });
    send(rig, systemRate, [0, 10]);
    const record = send(rig, ratedFlow, [100, 5]);
    assert.deepEqual(rateOf(record), expected);
    assert.equal(record["flow.ie.samplingInterval"], 5, "what was exported stays");
  }
});

test("the operator's rate for a prefix counts where the address has none; the smaller prefix wins", () => {
  const samplingRates = new Map([
    ["192.0.0.0/8", 2],
    ["192.0.2.0/24", 3],
    ["192.0.2.9", 4],
    ["2001:db8::/32", 5],
  ]);
  const rig = createFlowRig({ samplingRates });
  const rate = (address: string): unknown => rig.send(netflow5([{}]), { address })[0]?.["flow.sample_rate"];
  const addresses = ["192.0.2.9", "192.0.2.8", "192.1.1.1", "::ffff:192.0.2.8", "2001:db8::1", "198.51.100.1"];
  assert.deepEqual(addresses.map(rate), [4, 3, 2, 3, 5, 1]);
});

test("a file's rate is for exporters that say none, or replaces what they say; a changed file counts at once", () => {
  let file: { rates: ReadonlyMap<string, number>; override: boolean } | undefined;
  const rig = rigWithTemplates({ samplingFile: () => file, samplingRates: new Map([["192.0.2.9", 3]]) });
  const v5 = (sampling: number, address: string): unknown =>
    rig.send(netflow5([{}], { sampling }), { address })[0]?.["flow.sample_rate"];
  assert.deepEqual(rateOf(send(rig, flow, ingress, 1)), none);
  file = { rates: new Map([["192.0.2.0/24", 20]]), override: false };
  assert.deepEqual(rateOf(send(rig, flow, ingress, 1)), [20, 2000]);
  assert.deepEqual(rateOf(send(rig, ratedFlow, [100, 5])), [5, 500]);
  assert.deepEqual([v5(0, "192.0.2.1"), v5(0x4000 | 7, "192.0.2.1"), v5(0, "192.0.2.9")], [20, 7, 3]);
  file = { rates: new Map([["192.0.2.0/24", 30]]), override: true };
  assert.deepEqual(rateOf(send(rig, flow, ingress, 1)), [30, 3000]);
  assert.deepEqual(rateOf(send(rig, ratedFlow, [100, 5])), [30, 3000]);
  assert.deepEqual([v5(0x4000 | 7, "192.0.2.1"), v5(0, "192.0.2.9")], [30, 3]);
});

test("a rate belongs to its domain; that of domain 0 to the whole exporter", () => {
  const rig = rigWithTemplates();
  send(rig, systemRate, [0, 10], 1);
  assert.deepEqual(rateOf(send(rig, flow, ingress, 2)), none);
  send(rig, systemRate, [0, 99], 0);
  assert.deepEqual(rateOf(send(rig, flow, ingress, 1)), [10, 1000]);
  assert.deepEqual(rateOf(send(rig, flow, ingress, 2)), [99, 9900]);
});

test("NetFlow v5 gives the rate in its header; zero is every packet", () => {
  const rig = createFlowRig({ samplingRates: new Map([["192.0.2.9", 3]]) });
  const record = (sampling: number, address: string): Json =>
    rig.send(netflow5([{}], { sampling }), { address })[0] ?? {};
  assert.deepEqual(rateOf(record(0x4000 | 100, "192.0.2.1")), [100, 150_000]);
  assert.deepEqual(rateOf(record(0, "192.0.2.1")), [1, 1500]);
  assert.deepEqual(rateOf(record(0x4000 | 100, "192.0.2.9")), [3, 4500]);
});

/** What selectors say by element; a bigint stands for eight bytes. */
const selectors: readonly (readonly [string, Readonly<Record<number, number | bigint>>, number | undefined])[] = [
  ["one taken, 999 left out", { 305: 1, 306: 999 }, 1000],
  ["two taken, three left out", { 305: 2, 306: 3 }, 2.5],
  ["n out of N", { 309: 2, 310: 100 }, 50],
  ["n out of N that cannot be", { 309: 100, 310: 2 }, undefined],
  ["probability", { 311: 0x3fb0_0000_0000_0000n }, 16],
  ["probability in single precision", { 311: 0x3c23_d70a }, 100],
  ["probability of a third in single precision", { 311: 0x3eaa_aaab }, 3],
  ["probability of zero", { 311: 0n }, undefined],
  ["probability too small for a rate", { 311: 1n }, undefined],
  ["interval of zero", { 34: 0 }, undefined],
];

for (const [name, values, expected] of selectors) {
  test(`IPFIX selector: ${name}`, () => {
    const rig = createFlowRig();
    const entries = Object.entries(values).map(([id, value]) => {
      return { id: Number(id), bytes: uint(value, typeof value === "bigint" ? 8 : 4) };
    });
    const elements = entries.map(({ id, bytes }) => ({ id, length: bytes.length }));
    const options: PacketTemplate = { id: 256, scopeCount: 1, fields: [{ id: 302, length: 8 }, ...elements] };
    const counted: PacketTemplate = { id: 257, fields: fields([1, 8], [302, 8]) };
    rig.send(ipfix([ipfixTemplates(options), ipfixTemplates(counted)]));
    rig.send(ipfix([dataSet(options, [uint(5, 8), ...entries.map(({ bytes }) => bytes)])]));

    const bytes = 2n ** 54n + 1n;
    const [big, small] = [bytes, 11n].map(
      (count) => rig.send(ipfix([dataSet(counted, [uint(count, 8), uint(5, 8)])]))[0],
    );
    const rate = expected ?? 1;
    assert.equal(small?.["flow.sample_rate"], rate);
    assert.equal(small["flow.sampling.assumed"], expected === undefined ? true : undefined);
    assert.equal(small["flow.bytes"], Math.round(11 * rate));
    assert.equal(big?.["flow.bytes"], `${(bytes * BigInt(rate * 2)) / 2n}n`);
  });
}

test("the exporter's view shows the rates and what they apply to", () => {
  const rig = rigWithTemplates();
  send(rig, systemRate, [0, 10]);
  send(rig, interfaceRate, [7, 20]);
  send(rig, samplerRate, [0, 3, 30]);
  const domain = rig.pipeline.exporters()[0]?.domains.find(({ id }) => id === 1);
  assert.deepEqual(domain?.sampling, [
    { scope: "sampler 3", rate: 30 },
    { scope: "interface 7", rate: 20 },
    { scope: "domain", rate: 10 },
  ]);
});

test("a rate that a header says is shown, as long as it says one", () => {
  const rig = createFlowRig();
  const shown = (): unknown => rig.pipeline.exporters()[0]?.domains[0]?.sampling;
  rig.send(netflow5([{}], { sampling: 0x4000 | 100 }));
  assert.deepEqual(shown(), [{ scope: "header", rate: 100 }]);
  rig.send(netflow5([{}], { sampling: 0, sequence: 1 }));
  assert.deepEqual(shown(), []);
});
