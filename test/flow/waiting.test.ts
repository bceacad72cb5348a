import assert from "node:assert/strict";
import { test } from "node:test";
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
} from "../support/flow-packets.ts";
import { createFlowRig } from "../support/flow-rig.ts";

const template: PacketTemplate = { id: 256, fields: fields([1, 4]) };
const other: PacketTemplate = { id: 257, fields: fields([2, 4]) };
const data = (bytes: number): Buffer => dataSet(template, [uint(bytes, 4)]);
const protocol = { protocol: "netflow9" };

test("sets that come before their template are decoded when it comes, with the header they came with", async () => {
  const rig = createFlowRig();
  assert.deepEqual(rig.send(netflow9([data(1)], { sequence: 7, seconds: exportSeconds - 60 })), []);
  rig.time += 60_000;
  assert.deepEqual(rig.send(netflow9([netflow9Templates(other)], { sequence: 8 })), []);
  const [late, prompt] = rig.send(netflow9([netflow9Templates(template), data(2)], { sequence: 9 }));
  assert.equal(late?.["flow.bytes"], 1);
  assert.equal(late["flow.export.timestamp"], "2023-11-14T22:12:20Z");
  assert.equal(late["flow.export.sequence"], 7);
  assert.equal(late["@timestamp"], "2023-11-14T22:13:21.500Z");
  assert.equal(prompt?.["flow.bytes"], 2);
  assert.equal(prompt["@timestamp"], "2023-11-14T22:14:21.500Z");
  assert.equal(await rig.value("netgloss_flow_sets_waited_total", protocol), 1);
  assert.equal(await rig.value("netgloss_flow_sets_replayed_total", protocol), 1);
  assert.equal(await rig.value("netgloss_flow_waiting_sets"), 0);
  assert.equal(await rig.value("netgloss_flow_waiting_bytes"), 0);
});

test("options that waited give their sampling rate to the flows behind them", () => {
  const rig = createFlowRig();
  const options: PacketTemplate = { id: 300, scopeCount: 1, fields: fields([149, 4], [34, 4]) };
  rig.send(ipfix([dataSet(options, [uint(1, 4), uint(10, 4)])]));
  rig.send(ipfix([ipfixTemplates(options)]));
  const [flow] = rig.send(ipfix([ipfixTemplates(template), data(3)]));
  assert.equal(flow?.["flow.bytes"], 30);
});

test("the oldest gives way when an exporter's share is full, and is counted", async () => {
  const rig = createFlowRig({ limits: { waitingSets: 2 } });
  for (const bytes of [1, 2, 3]) rig.send(netflow9([data(bytes)]));
  assert.equal(await rig.value("netgloss_flow_drops_total", { ...protocol, reason: "no_template" }), 1);
  assert.equal(await rig.value("netgloss_flow_waiting_sets"), 2);
  const found = rig.send(netflow9([netflow9Templates(template)]));
  assert.deepEqual(
    found.map((record) => record["flow.bytes"]),
    [2, 3],
  );
});

test("one exporter's share, and that of all, are bounded in bytes", async () => {
  const rig = createFlowRig({ limits: { waitingBytes: 8, waitingBytesInAll: 12 } });
  for (const address of ["192.0.2.1", "192.0.2.2"]) {
    for (const bytes of [1, 2, 3]) rig.send(netflow9([data(bytes)]), { address });
  }
  assert.equal(await rig.value("netgloss_flow_waiting_bytes"), 12);
  assert.equal(await rig.value("netgloss_flow_drops_total", { ...protocol, reason: "no_template" }), 3);
  rig.send(
    netflow9([dataSet({ id: 900, fields: fields([1, 4], [2, 4], [3, 4]) }, [uint(1, 4), uint(1, 4), uint(1, 4)])]),
    {
      address: "192.0.2.3",
    },
  );
  assert.equal(await rig.value("netgloss_flow_waiting_bytes"), 12, "a set that can never fit is dropped at once");
});

test("what waits for half an hour is dropped, because the number may mean another template by then", async () => {
  const rig = createFlowRig();
  rig.send(netflow9([data(1)]));
  rig.time += 20 * 60_000;
  rig.send(netflow9([data(2)]));
  rig.time += 11 * 60_000;
  rig.pipeline.tidy();
  assert.equal(await rig.value("netgloss_flow_evicted_total", { what: "waiting_set" }), 1);
  assert.deepEqual(
    rig.send(netflow9([netflow9Templates(template)])).map((record) => record["flow.bytes"]),
    [2],
  );
});

test("what waits is a copy: the datagram's memory may be used again", () => {
  const rig = createFlowRig();
  const datagram = netflow9([data(1)]);
  rig.send(datagram);
  datagram.fill(0xff);
  assert.equal(rig.send(netflow9([netflow9Templates(template)]))[0]?.["flow.bytes"], 1);
});

test("a template is a copy, too: the same one sent again is known by its bytes", async () => {
  const rig = createFlowRig();
  const datagram = netflow9([netflow9Templates(template)]);
  rig.send(datagram);
  datagram.fill(0xff);
  assert.equal(rig.send(netflow9([netflow9Templates(template), data(1)])).length, 1);
  assert.equal(await rig.value("netgloss_flow_templates_total", { ...protocol, change: "refreshed" }), 1);
});
