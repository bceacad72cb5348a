import assert from "node:assert/strict";
import { test } from "node:test";
import {
  dataSet,
  fields,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig } from "../support/flow-rig.ts";

const template: PacketTemplate = { id: 300, fields: fields([27, 16], [28, 16], [4, 1], [7, 2], [11, 2]) };

test("type and code of ICMPv6 in each other's place are put right where the types decide it", async () => {
  const rig = createFlowRig();
  const sent = (port: number, protocol = 58): unknown => {
    const record = [uint(1, 16), uint(2, 16), uint(protocol, 1), uint(0, 2), uint(port, 2)];
    const [line] = rig.send(netflow9([netflow9Templates(template), dataSet(template, record)]));
    return [line?.["icmp.type.id"], line?.["icmp.code.id"]];
  };
  assert.deepEqual(sent(134), [134, 0], "a router advertisement of IOS XR");
  assert.deepEqual(sent(134 * 256), [134, 0]);
  assert.deepEqual(sent(0x0401), [4, 1], "both are types");
  assert.deepEqual(sent(3 * 256 + 99), [3, 99]);
  assert.deepEqual(sent(0x0008, 1), [0, 8], "ICMP is left as it is");
  assert.equal(await rig.value("netgloss_flow_icmp_swapped_total"), 1);
});

test("where both are types, the order that the exporter showed last decides", async () => {
  const rig = createFlowRig();
  const send = (address: string, ...ports: number[]): unknown[] => {
    const records = ports.map((port) => [uint(1, 16), uint(2, 16), uint(58, 1), uint(0, 2), uint(port, 2)]);
    const lines = rig.send(netflow9([netflow9Templates(template), dataSet(template, ...records)]), { address });
    return lines.map((line) => [line["icmp.type.id"], line["icmp.code.id"]]);
  };
  const unreachable = 0x0401;
  const swapped = "192.0.2.1";
  const usual = "192.0.2.2";
  assert.deepEqual(send(swapped, unreachable, 134, unreachable), [
    [4, 1],
    [134, 0],
    [1, 4],
  ]);
  assert.deepEqual(send(usual, unreachable), [[4, 1]], "of another exporter nothing is known");
  assert.deepEqual(send(swapped, unreachable), [[1, 4]], "it is remembered");
  assert.deepEqual(send(swapped, 135 * 256, unreachable), [
    [135, 0],
    [4, 1],
  ]);
  assert.equal(await rig.value("netgloss_flow_icmp_swapped_total"), 3);
});
