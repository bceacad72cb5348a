import assert from "node:assert/strict";
import { test } from "node:test";
import { collectorMethods } from "../../src/server/index.ts";
import { exportersView } from "../../src/app/views/collector-views.ts";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  netflow5,
  netflow9,
  packetSet,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig } from "../support/flow-rig.ts";
import { violations } from "../support/schema-violations.ts";

test("the document describes what the view of exporters shows, field by field", async () => {
  const rig = createFlowRig({ samplingRates: new Map([["192.0.2.7", 5]]) });
  const flow: PacketTemplate = { id: 300, fields: fields([1, 4]) };
  const options: PacketTemplate = { id: 301, scopeCount: 1, fields: fields([10, 4], [82, 4], [34, 4], [160, 8]) };
  const view = (): ReturnType<typeof exportersView> =>
    exportersView({
      enabled: true,
      exporters: async () => rig.pipeline.exporters(),
      metadata: undefined,
      ip: "192.0.2.99",
      ports: () => [2055],
      streamPorts: () => [],
    });
  const shown = async (): Promise<unknown> => JSON.parse(JSON.stringify(await view()));
  assert.deepEqual(violations(collectorMethods.listExporters.answer.schema, await shown()), []);
  rig.send(ipfix([ipfixTemplates(flow), ipfixTemplates(options)]));
  rig.send(ipfix([dataSet(options, [uint(1, 4), Buffer.from("eth1"), uint(2, 4), uint(1_700_000_000_000, 8)])]));
  rig.send(netflow9([packetSet(999, Buffer.alloc(8))]), { address: "192.0.2.9" });
  rig.send(netflow5([{}]), { address: "192.0.2.7" });
  rig.time += 60_000;
  rig.pipeline.tidy();
  assert.deepEqual(violations(collectorMethods.listExporters.answer.schema, await shown()), []);
  const [ipfixExporter, waiting, manual] = rig.pipeline.exporters();
  assert.equal(ipfixExporter?.domains[0]?.names.interfaces, 1);
  assert.equal(ipfixExporter.domains[0].bootTime, 1_700_000_000_000);
  assert.equal(waiting?.domains[0]?.waitingSets, 1);
  assert.equal(manual?.manualRate, 5);
  assert.equal(manual.recordsPerSecond, 1 / 60);
  assert.deepEqual((await view()).listening, { addresses: ["192.0.2.99"], udp: [2055], tcp: [] });
});
