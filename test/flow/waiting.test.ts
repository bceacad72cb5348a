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
  packetSet,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
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

/** Bytes, and bytes with packets behind them: what is left of a record of the second is no padding. */
const wide: PacketTemplate = { id: 256, fields: fields([1, 4], [2, 8]) };
const ofWide = (bytes: number): Buffer => dataSet(wide, [uint(bytes, 4), uint(0x01020304_05060708n, 8)]);
const bytesOf = (records: readonly Readonly<Record<string, unknown>>[]): unknown[] =>
  records.map((record) => record["flow.raw.bytes"]);
const threeWords: PacketTemplate = { id: 256, fields: fields([1, 4], [2, 4], [10, 4], [14, 4], [7, 2], [11, 2]) };

for (const [kind, message, templates] of [
  ["NetFlow v9", netflow9, netflow9Templates],
  ["IPFIX", ipfix, ipfixTemplates],
] as const) {
  test(`${kind}: a set that does not fit its template waits for another one, or for the same once more`, async () => {
    const rig = createFlowRig();
    rig.send(message([templates(threeWords)], { sequence: 1 }));
    assert.deepEqual(rig.send(message([ofWide(7)], { sequence: 2 })), []);
    assert.equal(await rig.value("netgloss_flow_waiting_sets"), 1);
    assert.deepEqual(bytesOf(rig.send(message([templates(wide)], { sequence: 3 }))), [7]);

    const loose = createFlowRig();
    loose.send(message([templates(wide)], { sequence: 1 }));
    const odd = packetSet(
      256,
      Buffer.concat([uint(9, 4), uint(1, 8), Buffer.from("rest of it, no zeros")]).subarray(0, 20),
    );
    assert.deepEqual(loose.send(message([odd], { sequence: 2 })), []);
    assert.deepEqual(bytesOf(loose.send(message([templates(wide)], { sequence: 3 }))), [9], "it was right");
    assert.deepEqual(bytesOf(loose.send(message([odd], { sequence: 4 }))), [9], "and is believed from then on");
  });

  test(`${kind}: what fills up a set to words is padding, whatever is in it; any other rest has to be zeros`, () => {
    const odd: PacketTemplate = { id: 256, fields: fields([1, 4], [7, 2]) };
    const even: PacketTemplate = { id: 257, fields: fields([1, 4], [2, 4]) };
    const record = Buffer.concat([uint(9, 4), uint(53, 2)]);
    const rig = createFlowRig();
    rig.send(message([templates(odd, even)], { sequence: 1 }));
    const send = (id: number, ...content: readonly Buffer[]): unknown[] => {
      const bytes = Buffer.concat(content);
      return bytesOf(rig.send(message([Buffer.concat([uint(id, 2), uint(4 + bytes.length, 2), bytes])])));
    };
    assert.deepEqual(send(256, record, Buffer.from("xy")), [9]);
    assert.deepEqual(send(257, uint(9, 4), uint(1, 4), Buffer.alloc(2)), [9]);
    assert.deepEqual(send(257, uint(9, 4), uint(1, 4), Buffer.from("xy")), [], "records that are longer by two bytes");
  });

  test(`${kind}: a template that cannot be used takes its predecessor away, of options, too; data wait for the next`, async () => {
    const options: PacketTemplate = { id: 300, scopeCount: 1, fields: fields([1, 4], [34, 4]) };
    const empty: PacketTemplate = { id: 256, fields: fields([1, 0]) };
    const many: PacketTemplate = { id: 256, fields: Array.from({ length: 20 }, () => ({ id: 1, length: 4 })) };
    for (const bad of [empty, many]) {
      const rig = createFlowRig({ limits: { fieldsPerTemplate: 10 } });
      rig.send(message([templates(template), templates(options)], { sequence: 1 }));
      assert.deepEqual(bytesOf(rig.send(message([data(1)], { sequence: 2 }))), [1]);
      rig.send(message([templates(bad)], { sequence: 3 }));
      assert.deepEqual(rig.send(message([data(2)], { sequence: 4 })), []);
      assert.deepEqual(bytesOf(rig.send(message([templates(template)], { sequence: 5 }))), [2]);
    }
    const rig = createFlowRig();
    rig.send(message([templates(template), templates(options)], { sequence: 1 }));
    rig.send(message([templates({ ...options, fields: fields([1, 0], [34, 0]) })], { sequence: 2 }));
    rig.send(message([dataSet(options, [uint(0, 4), uint(10, 4)])], { sequence: 3 }));
    assert.equal(await rig.value("netgloss_flow_waiting_sets"), 1);
    rig.send(message([templates(options)], { sequence: 4 }));
    assert.equal(rig.send(message([data(1)], { sequence: 5 }))[0]?.["flow.bytes"], 10, "the options came into force");
  });
}

test("IPFIX: a template that another port has does not stand for one that was refused", () => {
  const rig = createFlowRig();
  rig.send(ipfix([ipfixTemplates(template)]), { port: 4000 });
  rig.send(ipfix([ipfixTemplates(template)]), { port: 4001 });
  rig.send(ipfix([ipfixTemplates({ id: 256, fields: fields([1, 0]) })]), { port: 4001 });
  assert.deepEqual(rig.send(ipfix([data(1)]), { port: 4001 }), []);
  assert.equal(rig.send(ipfix([data(1)]), { port: 4000 }).length, 1);
});
