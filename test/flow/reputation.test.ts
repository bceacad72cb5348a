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

const flow: PacketTemplate = { id: 300, fields: fields([1, 4], [10, 4]) };
const address = "192.0.2.1";

test("an exporter is good when most of its latest datagrams became records, and proven after a minute of that", () => {
  const rig = createFlowRig();
  const reputation = (): string => rig.pipeline.reputation(`::ffff:${address}`);
  const data = (sequence: number) => netflow9([dataSet(flow, [uint(1, 4), uint(7, 4)])], { sequence });
  assert.equal(reputation(), "unknown");
  rig.send(netflow9([netflow9Templates(flow)]), { address });
  assert.equal(reputation(), "unknown");
  for (let i = 0; i < 16; i++) rig.send(data(i), { address });
  assert.equal(reputation(), "good");
  rig.time += 60_000;
  assert.equal(reputation(), "proven");
  for (let i = 0; i < 32; i++) rig.send(netflow9([netflow9Templates({ ...flow, id: 400 + i })]), { address });
  assert.equal(reputation(), "unknown", "templates that are always new are no records");
  for (let i = 0; i < 32; i++) rig.send(data(i), { address });
  assert.equal(reputation(), "proven");
  for (let i = 0; i < 32; i++) rig.send(netflow5([{}]).subarray(0, 40), { address });
  assert.equal(reputation(), "unknown", "nor are damaged datagrams");
});

test("the only domain that sends options and no flows is found again with each template that comes or goes", () => {
  const rig = createFlowRig({ optionsRecords: false });
  const about: PacketTemplate = { id: 400, scopeCount: 1, fields: fields([10, 4], [34, 4]) };
  const send = (domain: number, ...sets: Buffer[]) => rig.send(ipfix(sets, { domain }), { address });
  const rate = (): unknown => {
    const [record] = send(6, dataSet(flow, [uint(1, 4), uint(7, 4)]));
    return record?.["flow.sample_rate"];
  };
  send(6, ipfixTemplates(flow));
  assert.equal(rate(), 1);
  send(5, ipfixTemplates(about), dataSet(about, [uint(7, 4), uint(10, 4)]));
  assert.equal(rate(), 10);
  send(5, ipfixTemplates(flow));
  assert.equal(rate(), 1, "it has flows of its own");
  send(5, ipfixTemplates({ id: 300, fields: [] }));
  assert.equal(rate(), 10, "its template of flows is withdrawn");
  send(8, ipfixTemplates(about), dataSet(about, [uint(7, 4), uint(20, 4)]));
  assert.equal(rate(), 1, "two domains are like that");
});
