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
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig } from "../support/flow-rig.ts";

const template = (id: number, count = 1): PacketTemplate => ({
  id,
  fields: Array.from({ length: count }, () => ({ id: 1, length: 4 })),
});
const data = (id: number): Buffer => dataSet(template(id), [uint(7, 4)]);

test("a template of too many fields is refused, the others of the set are not", async () => {
  const rig = createFlowRig({ limits: { fieldsPerTemplate: 3 } });
  rig.send(netflow9([netflow9Templates(template(256, 4), template(257, 3))]));
  assert.equal(await rig.value("netgloss_flow_templates"), 1);
  assert.equal(await rig.value("netgloss_flow_drops_total", { protocol: "netflow9", reason: "template_limit" }), 1);
});

test("beyond an exporter's templates the one defined longest ago gives way; one sent again is young", async () => {
  const rig = createFlowRig({ limits: { templates: 3 } });
  rig.send(netflow9([netflow9Templates(template(256), template(257), template(258))]));
  rig.send(netflow9([netflow9Templates(template(256))]));
  rig.send(netflow9([netflow9Templates(template(259))]));
  assert.equal(await rig.value("netgloss_flow_evicted_total", { what: "template" }), 1);
  assert.equal(await rig.value("netgloss_flow_templates"), 3);
  assert.equal(rig.send(netflow9([data(256), data(257), data(258), data(259)])).length, 3);
  assert.equal(await rig.value("netgloss_flow_sets_waited_total", { protocol: "netflow9" }), 1);
});

test("an exporter's templates are bounded by their fields together", async () => {
  const rig = createFlowRig({ limits: { fields: 10 } });
  rig.send(netflow9([netflow9Templates(template(256, 4), template(257, 4), template(258, 4))]));
  assert.equal(await rig.value("netgloss_flow_templates"), 2);
  rig.send(netflow9([netflow9Templates(template(259, 10))]));
  assert.equal(await rig.value("netgloss_flow_templates"), 1);
  assert.equal(await rig.value("netgloss_flow_evicted_total", { what: "template" }), 3);
});

test("beyond an exporter's domains the one not used for longest is forgotten with all it has", async () => {
  const rig = createFlowRig({ limits: { domains: 2 } });
  for (const port of [1, 2]) rig.send(ipfix([ipfixTemplates(template(256))], { domain: port }), { port });
  rig.send(ipfix([data(300)], { domain: 1 }), { port: 1 });
  rig.send(ipfix([], { domain: 2 }), { port: 2 });
  rig.send(ipfix([], { domain: 3 }), { port: 3 });
  assert.equal(await rig.value("netgloss_flow_evicted_total", { what: "domain" }), 1);
  assert.equal(await rig.value("netgloss_flow_evicted_total", { what: "waiting_set" }), 1);
  assert.equal(await rig.value("netgloss_flow_waiting_bytes"), 0);
  assert.equal(await rig.value("netgloss_flow_templates"), 1);
  const [exporter] = rig.pipeline.exporters();
  assert.deepEqual(
    exporter?.domains.map(({ id }) => id),
    [2, 3],
  );
});

test("beyond the exporters the one silent for longest is forgotten; no other is hurt", async () => {
  const rig = createFlowRig({ limits: { exporters: 2 } });
  const send = (address: string, datagram: Buffer): number => rig.send(datagram, { address }).length;
  send("192.0.2.1", netflow9([netflow9Templates(template(256))]));
  send("192.0.2.2", netflow9([netflow9Templates(template(256)), data(999)]));
  send("192.0.2.1", netflow9([]));
  for (let i = 0; i < 50; i++) {
    send(`198.51.100.${i}`, netflow5([{}]));
    assert.equal(send("192.0.2.1", netflow9([data(256)])), 1);
  }
  assert.equal(await rig.value("netgloss_flow_exporters"), 2);
  assert.equal(await rig.value("netgloss_flow_evicted_total", { what: "exporter" }), 50);
  assert.equal(await rig.value("netgloss_flow_evicted_total", { what: "waiting_set" }), 1);
  assert.equal(await rig.value("netgloss_flow_waiting_sets"), 0);
  assert.deepEqual(
    rig.pipeline.exporters().map(({ address }) => address),
    ["198.51.100.49", "192.0.2.1"],
  );
});

test("no exporter is made of a sender whose datagrams mean nothing", async () => {
  const rig = createFlowRig();
  for (let i = 0; i < 100; i++) rig.send(Buffer.from([i, 77]), { address: `198.51.100.${i}` });
  assert.equal(await rig.value("netgloss_flow_exporters"), 0);
  assert.equal(await rig.value("netgloss_flow_datagrams_total", { protocol: "unknown" }), 100);
});

test("the same problem again and again is logged at a limited rate and counted in full", async () => {
  const rig = createFlowRig();
  for (let i = 0; i < 100; i++) rig.send(netflow9([]).subarray(0, 10));
  assert.equal(rig.log.length, 1);
  assert.equal(rig.log[0]?.level, "warn");
  assert.equal(rig.log[0]?.fields["exporter"], "192.0.2.254");
  assert.equal(await rig.value("netgloss_flow_drops_total", { protocol: "netflow9", reason: "short_header" }), 100);
});

test("the view of an exporter", () => {
  const rig = createFlowRig();
  const options: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([149, 4], [34, 4]) };
  rig.send(ipfix([ipfixTemplates(template(256, 3))], { domain: 9 }), { port: 4000 });
  rig.time += 1000;
  rig.send(
    ipfix([ipfixTemplates(options), dataSet(template(256, 3), [uint(1, 4), uint(2, 4), uint(3, 4)])], { domain: 9 }),
    {
      port: 4000,
    },
  );
  rig.send(ipfix([], { domain: 9, sequence: 4 }), { port: 4000 });
  assert.deepEqual(rig.pipeline.exporters(), [
    {
      address: "192.0.2.254",
      relay: undefined,
      isRelay: false,
      firstSeen: rig.time - 1000,
      lastSeen: rig.time,
      datagrams: 3,
      records: 1,
      recordsPerSecond: 0,
      manualRate: undefined,
      fallbackRate: undefined,
      domains: [
        {
          protocol: "ipfix",
          id: 9,
          agent: undefined,
          port: 4000,
          templates: [
            {
              id: 256,
              kind: "flows",
              fields: 3,
              sampling: undefined,
              namesExporter: false,
              definedAt: rig.time - 1000,
              refreshedAt: rig.time - 1000,
              origin: "received",
            },
            {
              id: 400,
              kind: "options",
              fields: 2,
              sampling: "rate",
              namesExporter: false,
              definedAt: rig.time,
              refreshedAt: rig.time,
              origin: "received",
            },
          ],
          waitingSets: 0,
          waitingSince: undefined,
          waitingFor: [],
          givenUpSets: 0,
          received: 1,
          missing: 3,
          missingAt: rig.time,
          missingSamples: 0,
          samplerDrops: 0,
          late: 0,
          resets: 0,
          sampling: [],
          samplingChange: undefined,
          clockOffset: -1000,
          senders: [{ port: 4000, firstSeen: rig.time - 1000, lastSeen: rig.time, bootTime: undefined }],
          names: { interfaces: 0, applications: 0, vrfs: 0 },
          bootTime: undefined,
        },
      ],
      sketch: [],
    },
  ]);
});
