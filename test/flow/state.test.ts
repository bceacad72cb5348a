import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeStateFile, encodeStateFile, type ExporterState } from "../../src/flow/index.ts";
import { writeExporterState } from "../../src/flow/exporters/state/exporter-state.ts";
import {
  dataSet,
  exportSeconds,
  fields,
  ipfix,
  ipfixTemplates,
  netflow5,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig, type FlowRig, type Json } from "../support/flow-rig.ts";

const flow: PacketTemplate = { id: 300, fields: fields([1, 4], [10, 4], [22, 4]) };
const other: PacketTemplate = { id: 300, fields: fields([2, 4], [10, 4], [22, 4]) };
const about: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([10, 4], [82, "variable"], [34, 4]) };
const boot: PacketTemplate = { id: 401, scopeCount: 1, fields: fields([149, 4], [160, 8]) };
const record = [uint(100, 4), uint(7, 4), uint(5000, 4)];
const address = "192.0.2.254";

/** An exporter of each protocol with state, after it has sent all its templates and options. */
function taughtRig(options = {}): FlowRig {
  const rig = createFlowRig(options);
  const values = [uint(7, 4), Buffer.from("eth7"), uint(10, 4)];
  const started = [uint(1, 4), uint(BigInt(exportSeconds) * 1000n - 60_000n, 8)];
  rig.send(ipfix([ipfixTemplates(flow), ipfixTemplates(about, boot)]), { port: 4000 });
  rig.send(ipfix([dataSet(about, values), dataSet(boot, started)]), { port: 4000 });
  rig.send(netflow9([netflow9Templates(flow)]), { address: "192.0.2.9" });
  rig.send(netflow5([{}]), { address: "192.0.2.5" });
  return rig;
}

/** As another run finds it: by way of a file. */
function throughFile(states: readonly ExporterState[]): readonly ExporterState[] {
  const decoded = decodeStateFile(encodeStateFile(states.map(writeExporterState)));
  assert.ok(typeof decoded !== "string");
  return decoded;
}
const sendData = (rig: FlowRig, port = 4000): Json | undefined => rig.send(ipfix([dataSet(flow, record)]), { port })[0];

test("what an exporter announced decodes the first datagram of the next run: template, rate, name, start time", async () => {
  const before = taughtRig();
  const expected = sendData(before);
  const after = createFlowRig();
  after.pipeline.importState(throughFile(before.pipeline.exportState("all").changed));
  assert.deepEqual(sendData(after), expected);
  assert.equal(expected?.["flow.in.netif.name"], "eth7");
  assert.equal(expected["flow.bytes"], 1000);
  assert.equal(expected["flow.start.timestamp"], "2023-11-14T22:12:25.000Z");
  assert.equal(after.send(netflow9([dataSet(flow, record)]), { address: "192.0.2.9" }).length, 1);
  assert.equal(await after.value("netgloss_flow_templates_restored_total"), 4);
  assert.equal(await after.value("netgloss_flow_sets_waited_total", { protocol: "ipfix" }), 0);
});

test("state is plain data: it can be cloned to another thread, and goes to whoever decodes the address", () => {
  const states = structuredClone(taughtRig().pipeline.exportState("all")).changed;
  assert.deepEqual(
    states.map((state) => state.address),
    [address, "192.0.2.9"],
    "an exporter of NetFlow v5 has nothing to keep",
  );
  for (const state of states) {
    const rig = createFlowRig();
    rig.pipeline.importState([state]);
    assert.deepEqual(
      rig.pipeline.exporters().map((each) => each.address),
      [state.address],
    );
  }
});

test("an exporter of whom much is kept is handed out less often the more it is", () => {
  const rig = createFlowRig();
  const define = (id: number): unknown =>
    rig.send(
      netflow9([netflow9Templates({ id, fields: fields([1, (id % 4) + 1], [2, (id >> 2) % 4 || 4], [10, 4]) })]),
    );
  const given = (which: "changed" | "all" = "changed"): number =>
    rig.pipeline.exportState(which).changed[0]?.templates.length ?? 0;
  define(256);
  assert.equal(given(), 1);
  // Some 250 bytes each, and their plans.
  for (let id = 257; id < 256 + 2048; id++) define(id);
  assert.equal(given(), 0);
  assert.equal(given("all"), 2048);
  define(256);
  rig.send(netflow9([netflow9Templates({ id: 256, fields: fields([2, 8]) })]));
  assert.equal(given(), 0);
  rig.time += 60_000;
  assert.equal(given(), 2048);
});

test("an exporter that starts again from another port is decoded by what it sent from the old one", () => {
  const rig = createFlowRig();
  rig.pipeline.importState(taughtRig().pipeline.exportState("all").changed);
  assert.equal(sendData(rig, 9999)?.["flow.raw.bytes"], 100);
});

test("a template that comes replaces the restored one, of the same port or not; the view shows which is which", () => {
  const { changed } = taughtRig().pipeline.exportState("all");
  const origin = (rig: FlowRig, port: number): unknown =>
    rig.pipeline
      .exporters()[0]
      ?.domains.find((domain) => domain.port === port)
      ?.templates.find(({ id }) => id === 300)?.origin;
  for (const port of [4000, 5000]) {
    const rig = createFlowRig();
    rig.pipeline.importState(changed);
    assert.equal(origin(rig, 4000), "restored");
    rig.send(ipfix([ipfixTemplates(other)]), { port });
    assert.equal(origin(rig, port), "received");
    for (const from of [port, 6000]) {
      assert.equal(sendData(rig, from)?.["flow.raw.packets"], 100, `template on ${port}, data on ${from}`);
    }
  }
  const rig = createFlowRig();
  rig.pipeline.importState(changed);
  rig.send(ipfix([ipfixTemplates(flow)]), { port: 4000 });
  assert.equal(origin(rig, 4000), "received", "the same template again");
});

test("what came in this run stands when state is read behind it", () => {
  const rig = createFlowRig();
  rig.send(ipfix([ipfixTemplates(other)]), { port: 4000 });
  rig.pipeline.importState(taughtRig().pipeline.exportState("all").changed);
  assert.equal(sendData(rig)?.["flow.raw.packets"], 100);
});

test("only what is new is a change: templates and options that come again are none", () => {
  const rig = taughtRig();
  assert.equal(rig.pipeline.exportState("changed").changed.length, 2);
  const addressesOf = (): string[] => rig.pipeline.exportState("changed").changed.map((state) => state.address);
  for (let i = 0; i < 20; i++) {
    rig.time += 60_000;
    rig.pipeline.tidy();
    rig.send(ipfix([ipfixTemplates(flow), ipfixTemplates(about, boot)]), { port: 4000 });
    rig.send(ipfix([dataSet(about, [uint(7, 4), Buffer.from("eth7"), uint(10, 4)])]), { port: 4000 });
    sendData(rig);
    assert.deepEqual(addressesOf(), []);
  }
  rig.send(ipfix([dataSet(about, [uint(7, 4), Buffer.from("eth8"), uint(10, 4)])]), { port: 4000 });
  assert.deepEqual(addressesOf(), [address]);
  rig.send(ipfix([ipfixTemplates(other)]), { port: 4000 });
  assert.deepEqual(addressesOf(), [address]);
});

test("when an exporter was last seen is kept, too, but seldom", () => {
  const rig = taughtRig();
  rig.pipeline.exportState("changed");
  let changes = 0;
  for (let hour = 0; hour < 48; hour++) {
    rig.time += 3_600_000;
    sendData(rig);
    rig.pipeline.tidy();
    changes += rig.pipeline.exportState("changed").changed.length;
  }
  assert.ok(changes >= 4 && changes <= 8, `${changes} in two days`);
});

test("an exporter that was forgotten, or has withdrawn all it said, is passed on", () => {
  const rig = createFlowRig({ limits: { exporters: 1 } });
  rig.send(netflow9([netflow9Templates(flow)]), { address: "192.0.2.1" });
  rig.send(netflow9([netflow9Templates(flow)]), { address: "192.0.2.2" });
  const change = rig.pipeline.exportState("changed");
  assert.deepEqual([change.changed.map((state) => state.address), change.forgotten], [["192.0.2.2"], ["192.0.2.1"]]);
});

test("templates that did not come again for the time set are forgotten and counted; data then waits for them", async () => {
  const minute = 60_000;
  const rig = createFlowRig({ templateTtlMs: 30 * minute });
  const kept: PacketTemplate = { id: 301, fields: fields([1, 4]) };
  rig.send(netflow9([netflow9Templates(flow, kept)]));
  for (let i = 0; i < 31; i++) {
    rig.time += minute;
    rig.send(netflow9([netflow9Templates(kept)]));
    rig.pipeline.tidy();
    const expected = i < 30 ? 2 : 1;
    assert.equal(rig.send(netflow9([dataSet(flow, record), dataSet(kept, [uint(1, 4)])])).length, expected, `${i}`);
  }
  assert.equal(await rig.value("netgloss_flow_evicted_total", { what: "expired_template" }), 1);
  assert.equal(rig.send(netflow9([netflow9Templates(flow)])).length, 1, "what waited");
});

test("by default a template is good for ever, and a restored one ages from the restart on", () => {
  const rig = taughtRig();
  rig.time += 20 * 86_400_000;
  rig.pipeline.tidy();
  assert.equal(sendData(rig)?.["flow.raw.bytes"], 100);
  const later = createFlowRig({ templateTtlMs: 60_000 });
  later.time = rig.time;
  later.pipeline.importState(rig.pipeline.exportState("all").changed);
  later.pipeline.tidy();
  assert.equal(sendData(later)?.["flow.raw.bytes"], 100);
});

test("an exporter that is silent for long is forgotten, in a run and between two", async () => {
  const rig = taughtRig({ limits: { silentMs: 1000 } });
  const states = rig.pipeline.exportState("all").changed;
  rig.time += 1001;
  rig.pipeline.tidy();
  assert.equal(await rig.value("netgloss_flow_exporters"), 0);
  assert.equal(await rig.value("netgloss_flow_evicted_total", { what: "silent_exporter" }), 3);
  assert.deepEqual(rig.pipeline.exportState("changed").forgotten.toSorted(), ["192.0.2.254", "192.0.2.5", "192.0.2.9"]);
  rig.pipeline.importState(states);
  assert.equal(await rig.value("netgloss_flow_exporters"), 0);
});

test("state is read within the limits of this run", async () => {
  const { changed } = taughtRig().pipeline.exportState("all");
  const rig = createFlowRig({ limits: { exporters: 1, templates: 2, fieldsPerTemplate: 2 } });
  rig.pipeline.importState(changed);
  assert.equal(await rig.value("netgloss_flow_exporters"), 1);
  assert.equal(await rig.value("netgloss_flow_templates"), 1, "the others have three fields");
});

test("a file that was changed anywhere is not believed", () => {
  const file = encodeStateFile(taughtRig().pipeline.exportState("all").changed.map(writeExporterState));
  for (let i = 0; i < file.length; i++) {
    const bytes = Buffer.from(file);
    bytes[i] = (bytes[i] as number) ^ 1;
    assert.equal(typeof decodeStateFile(bytes), "string", `byte ${i}`);
    assert.equal(typeof decodeStateFile(file.subarray(0, i)), "string", `cut at ${i}`);
  }
  assert.equal(typeof decodeStateFile(file), "object");
  assert.equal(decodeStateFile(Buffer.from("nothing of ours\n")), "foreign");
  assert.equal(decodeStateFile(Buffer.from(file.toString().replace("exporters 1 ", "exporters 2 "))), "newer");
});

test("content of the right checksum and the wrong shape is refused", () => {
  const [state] = taughtRig().pipeline.exportState("all").changed;
  assert.ok(state);
  const good = JSON.parse(writeExporterState(state)) as Record<string, unknown>;
  const bad = [
    null,
    7,
    [],
    { ...good, address: "192.0.2.254 " },
    { ...good, lastSeen: "1" },
    { ...good, templates: {} },
    { ...good, templates: [{ protocol: "sflow" }] },
    { ...good, options: [null] },
    { ...good, options: [{ protocol: "ipfix", domain: 1, bootTime: null, sampling: {}, names: {} }] },
  ];
  for (const each of bad) assert.equal(decodeStateFile(encodeStateFile([JSON.stringify(each)])), "content");
  assert.equal(decodeStateFile(encodeStateFile(["{"])), "content");
  // Bytes that are no template are left out, the rest is taken.
  const broken = { ...good, templates: [{ ...(good["templates"] as object[])[0], raw: "AAAA" }] };
  const rig = createFlowRig();
  const decoded = decodeStateFile(encodeStateFile([JSON.stringify(broken)]));
  assert.ok(typeof decoded !== "string");
  rig.pipeline.importState(decoded);
  assert.equal(rig.pipeline.exporters()[0]?.domains.flatMap(({ templates }) => templates).length ?? 0, 0);
});
