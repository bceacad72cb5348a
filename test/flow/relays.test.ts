import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { NetifEnricher, readNetifs } from "../../src/enrich/index.ts";
import {
  dataSet,
  fields,
  hex,
  ipfix,
  ipfixTemplates,
  ipv4,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
  counterSample,
  flowSample,
  sflow,
} from "../../packages/testkit/index.ts";
import { StatePersistence, decodeStateFile, encodeStateFile } from "../../src/flow/index.ts";
import { readExporterState, writeExporterState } from "../../src/flow/exporters/state/exporter-state.ts";
import { createFlowRig, parseLines, type FlowRig, type Json } from "../support/flow-rig.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { runs } from "../support/runs.ts";

const relay = "198.51.100.9";
const relays = ["198.51.100.0/28", "2001:db8:9::9"];

/** The exporter, the interface that the flow came in by, bytes. */
const flow: PacketTemplate = { id: 300, fields: fields([130, 4], [10, 4], [1, 4]) };
/** The same with room for both families and a text, so that records differ in length. */
const wide: PacketTemplate = { id: 301, fields: fields([130, 4], [131, 16], [96, "variable"], [1, 4]) };
const sampling: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([130, 4], [34, 4]) };
const record = (exporter: string, bytes: number): Buffer[] => [ipv4(exporter), uint(7, 4), uint(bytes, 4)];
const names = (records: readonly Json[]): unknown[] => records.map((each) => each["flow.export.ip.addr"]);

test("records of a relay are those of the exporters that they name, each with its own metrics, rates and interfaces", async () => {
  const netifs = readNetifs(Buffer.from("10.0.0.1: {7: {name: ge-7}}\n10.0.0.2: {7: {name: xe-7}}\n")).value;
  const twins = await createFlowTwins({
    relays,
    samplingRates: new Map([["10.0.0.2", 50]]),
    more: (metrics) => [new NetifEnricher(() => netifs, metrics)],
  });
  const send = (datagram: Buffer): Json[] => parseLines(Buffer.from(twins.send(datagram, { address: relay })));
  send(ipfix([ipfixTemplates(flow), ipfixTemplates(sampling), dataSet(sampling, [ipv4("10.0.0.1"), uint(10, 4)])]));
  const written = send(
    ipfix([
      dataSet(
        flow,
        record("10.0.0.1", 100),
        record("10.0.0.1", 101),
        record("10.0.0.2", 200),
        record("0.0.0.0", 300),
        record("10.0.0.1", 102),
      ),
    ]),
  );
  assert.deepEqual(names(written), ["10.0.0.1", "10.0.0.1", "10.0.0.2", relay, "10.0.0.1"]);
  assert.deepEqual(
    written.map((each) => each["flow.export.relay.ip.addr"]),
    [relay, relay, relay, undefined, relay],
  );
  assert.deepEqual(
    written.map((each) => each["flow.in.netif.name"]),
    ["ge-7", "ge-7", "xe-7", undefined, "ge-7"],
  );
  assert.deepEqual(
    written.map((each) => each["flow.sample_rate"]),
    [10, 10, 50, 1, 10],
  );
  await twins.finish();
});

test("NetFlow v9, options as records, metrics and views by exporter", async () => {
  const rig = createFlowRig({ relays });
  const from = { address: relay };
  rig.send(netflow9([netflow9Templates(flow)], { domain: 5 }), from);
  const flows = rig.send(
    netflow9([dataSet(flow, record("10.0.0.1", 1), record("10.0.0.2", 2), record("10.0.0.2", 3))], { domain: 5 }),
    from,
  );
  assert.deepEqual(names(flows), ["10.0.0.1", "10.0.0.2", "10.0.0.2"]);
  rig.send(ipfix([ipfixTemplates(sampling)]), from);
  const options = rig.send(ipfix([dataSet(sampling, [ipv4("10.0.0.3"), uint(10, 4)])]), from);
  assert.deepEqual(names(options), ["10.0.0.3"]);
  assert.equal(options[0]?.["flow.export.relay.ip.addr"], relay);
  const count = (address: string): Promise<number> =>
    rig.value("netgloss_flow_exporter_records_total", { exporter: address });
  assert.deepEqual(await Promise.all(["10.0.0.1", "10.0.0.2", relay].map(count)), [1, 2, 0]);
  const views = new Map(rig.pipeline.exporters().map((view) => [view.address, view]));
  assert.equal(views.get("10.0.0.2")?.relay, relay);
  assert.equal(views.get("10.0.0.2")?.datagrams, 0);
  assert.equal(views.get(relay)?.isRelay, true);
  assert.deepEqual(
    rig.pipeline.exportState("all").changed.map(({ address, relay: by }) => [address, by]),
    [
      [relay, undefined],
      ["10.0.0.3", relay],
    ],
  );
  assert.equal(await rig.value("netgloss_flow_exporter_claims_ignored_total", { protocol: "netflow9" }), 0);
});

/** As another run finds it: by way of a file. */
function restart(rig: FlowRig): FlowRig {
  const after = createFlowRig({ relays });
  const decoded = decodeStateFile(encodeStateFile(rig.pipeline.exportState("all").changed.map(writeExporterState)));
  assert.ok(typeof decoded !== "string");
  after.pipeline.importState(decoded);
  return after;
}

test("what options said of exporters that a relay names outlives a restart, for NetFlow v9 and for IPFIX", () => {
  const from = { address: relay };
  const said: PacketTemplate = { id: 401, scopeCount: 1, fields: fields([1, 4], [130, 4], [34, 4]) };
  const rate = dataSet(said, [uint(0, 4), ipv4("10.0.0.1"), uint(10, 4)]);
  const data = dataSet(flow, record("10.0.0.1", 100), record("10.0.0.2", 100), record("0.0.0.0", 100));
  const rates = (records: readonly Json[]): unknown[] => records.map((each) => each["flow.sample_rate"]);
  for (const [templates, message] of [
    [netflow9Templates, netflow9],
    [ipfixTemplates, ipfix],
  ] as const) {
    const before = createFlowRig({ relays });
    before.send(message([templates(flow), templates(said), rate], {}), from);
    const after = restart(before);
    assert.deepEqual(rates(after.send(message([data], {}), from)), [10, 1, 1]);
    const named = after.pipeline.exporters().find(({ address }) => address === "10.0.0.1");
    assert.equal(named?.relay, relay);
    assert.deepEqual(rates(restart(after).send(message([data], {}), from)), [10, 1, 1]);
  }
});

test("state by a relay goes to who decodes the relay, and is not that of the exporter's own datagrams", async () => {
  const own = { relays, samplingRates: new Map() };
  const [byRelay, itself] = [createFlowRig(own), createFlowRig(own)];
  const rate = (value: number): Buffer => dataSet(sampling, [ipv4("10.0.0.1"), uint(value, 4)]);
  byRelay.send(ipfix([ipfixTemplates(sampling), rate(10)]), { address: relay });
  itself.send(ipfix([ipfixTemplates(sampling), rate(20)]), { address: "10.0.0.1" });
  const states = [byRelay, itself].flatMap((rig) => rig.pipeline.exportState("all").changed);
  const taken: string[][] = [[], []];
  const persistence = new StatePersistence({
    store: { load: async () => states, put() {} },
    sources: taken.map((list) => ({
      exportState: () => ({ changed: [], forgotten: [], heard: [], asked: [] }),
      importShared() {},
      importState: (of) => void list.push(...of.map(({ address, relay: by }) => `${address} ${by ?? ""}`.trim())),
    })),
    responsible: (address) => (address === relay ? 0 : 1),
    failed: (error) => assert.fail(String(error)),
  });
  await persistence.start();
  await persistence.stop();
  assert.deepEqual(taken, [[relay, `10.0.0.1 ${relay}`], ["10.0.0.1"]]);
  // One that begins to send itself is kept by its own address alone.
  byRelay.send(ipfix([ipfixTemplates(sampling), rate(20)]), { address: "10.0.0.1" });
  const { changed, forgotten } = byRelay.pipeline.exportState("all");
  assert.deepEqual(changed.map(({ address, relay: by }) => [address, by]).at(-1), ["10.0.0.1", undefined]);
  assert.deepEqual(forgotten, [`10.0.0.1 ${relay}`]);
});

test("a relay that is no address makes a state unreadable", () => {
  const rig = createFlowRig({ relays });
  rig.send(ipfix([ipfixTemplates(sampling), dataSet(sampling, [ipv4("10.0.0.1"), uint(10, 4)])]), { address: relay });
  const state = rig.pipeline.exportState("all").changed.find(({ address }) => address === "10.0.0.1");
  assert.ok(state);
  for (const by of ["nobody", "::ffff:010.0.0.1", ""]) {
    assert.equal(readExporterState(JSON.parse(writeExporterState({ ...state, relay: by }))), undefined);
  }
});

test("datagrams of sFlow behind a relay are those of their agents, with samples, counters and sequence numbers of their own", async () => {
  const twins = await createFlowTwins({ relays, samplingRates: new Map([["10.0.0.7", 50]]) });
  const send = (agent: string, sequence: number, address = relay): Json[] =>
    parseLines(Buffer.from(twins.send(sflow([flowSample([]), counterSample([])], { agent, sequence }), { address })));
  const written = send("10.0.0.7", 1);
  assert.deepEqual(names(written), ["10.0.0.7", "10.0.0.7"]);
  assert.deepEqual(
    written.map((each) => each["flow.export.relay.ip.addr"]),
    [relay, relay],
  );
  assert.equal(written[0]?.["flow.sample_rate"], 50);
  assert.equal(send("10.0.0.8", 700)[0]?.["flow.sample_rate"], 512);
  send("10.0.0.7", 2);
  send("10.0.0.8", 701);
  assert.deepEqual(names(send("0.0.0.0", 1)), [relay, relay]);
  assert.deepEqual(names(send("10.0.0.7", 1, "192.0.2.1")), ["192.0.2.1", "192.0.2.1"]);
  await twins.finish();

  const rig = createFlowRig({ relays });
  for (const sequence of [1, 2, 5])
    rig.send(sflow([flowSample([])], { agent: "10.0.0.7", sequence }), { address: relay });
  const views = new Map(rig.pipeline.exporters().map((view) => [view.address, view]));
  assert.deepEqual([views.get("10.0.0.7")?.relay, views.get("10.0.0.7")?.records], [relay, 3]);
  assert.equal(views.get("10.0.0.7")?.domains[0]?.missing, 2);
  assert.equal(views.get(relay)?.records, 0);
  assert.equal(await rig.value("netgloss_flow_exporter_records_total", { exporter: "10.0.0.7" }), 3);
});

test("a sender that is no relay stays the exporter of its records; what it claims is counted, but not its own address", async () => {
  const rig = createFlowRig({ relays });
  const send = (...records: Buffer[][]): Json[] => rig.send(ipfix([ipfixTemplates(flow), dataSet(flow, ...records)]));
  const written = send(record("10.0.0.1", 1), record("192.0.2.254", 2), record("10.0.0.2", 3), record("0.0.0.0", 4));
  assert.deepEqual(
    names(written),
    Array.from({ length: 4 }, () => "192.0.2.254"),
  );
  assert.ok(written.every((each) => !("flow.export.relay.ip.addr" in each)));
  assert.equal(await rig.value("netgloss_flow_exporter_claims_ignored_total", { protocol: "ipfix" }), 2);
  rig.send(ipfix([ipfixTemplates(sampling), dataSet(sampling, [ipv4("10.0.0.3"), uint(10, 4)])]));
  assert.equal(await rig.value("netgloss_flow_exporter_claims_ignored_total", { protocol: "ipfix" }), 3);
  assert.deepEqual(
    rig.pipeline.exporters().map(({ address }) => address),
    ["192.0.2.254"],
  );
});

test("IPv6 and IPv4-mapped exporters; a relay that sends over a dual-stack socket", () => {
  const rig = createFlowRig({ relays });
  const v6: PacketTemplate = { id: 302, fields: fields([131, 16], [1, 4]) };
  const written = rig.send(
    ipfix([
      ipfixTemplates(v6),
      dataSet(
        v6,
        [hex("20010db8000000000000000000000001"), uint(1, 4)],
        [hex("00000000000000000000ffff0a000001"), uint(2, 4)],
        [Buffer.alloc(16), uint(3, 4)],
      ),
    ]),
    { address: `::ffff:${relay}` },
  );
  assert.deepEqual(names(written), ["2001:db8::1", "10.0.0.1", relay]);
});

test("where there is no place for another exporter, the relay stays, and so does what it knows", () => {
  const rig = createFlowRig({ relays, limits: { exporters: 1 } });
  const from = { address: relay };
  const written = rig.send(ipfix([ipfixTemplates(flow), dataSet(flow, record("10.0.0.1", 1))]), from);
  assert.deepEqual(names(written), [relay]);
  assert.deepEqual(names(rig.send(ipfix([dataSet(flow, record("10.0.0.1", 1))]), from)), [relay]);
});

test("kernel and model agree for any mixture of exporters, lengths, padding and cut sets", async () => {
  const address = fc.constantFrom("0.0.0.0", "10.0.0.1", "10.0.0.2", relay);
  const v6 = fc.constantFrom(Buffer.alloc(16), hex("20010db8000000000000000000000001"));
  const wideRecord = fc
    .tuple(address, v6, fc.string({ unit: "grapheme-ascii", maxLength: 9 }))
    .map(([ip, other, text]) => [ipv4(ip), other, Buffer.from(text), uint(5, 4)]);
  const plain = address.map((ip) => record(ip, 5));
  const twins = await createFlowTwins({ relays });
  twins.send(ipfix([ipfixTemplates(flow), ipfixTemplates(wide)]), { address: relay });
  fc.assert(
    fc.property(
      fc.array(plain, { minLength: 1, maxLength: 8 }),
      fc.array(wideRecord, { minLength: 1, maxLength: 8 }),
      fc.nat(6),
      (some, others, cut) => {
        const bytes = ipfix([dataSet(flow, ...some), dataSet(wide, ...others)]);
        const expected = [
          ...some.map(([ip]) => ip?.join(".")),
          ...others.map(([ip, six]) =>
            ip?.some((byte) => byte !== 0) ? ip.join(".") : six?.some((byte) => byte !== 0) ? "2001:db8::1" : "0.0.0.0",
          ),
        ].map((ip) => (ip === "0.0.0.0" ? relay : ip));
        assert.deepEqual(names(parseLines(Buffer.from(twins.send(bytes, { address: relay })))), expected);
        twins.send(bytes.subarray(0, bytes.length - cut), { address: relay });
      },
    ),
    runs(100),
  );
  await twins.finish();
});
