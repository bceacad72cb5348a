import assert from "node:assert/strict";
import { test } from "node:test";
import { noFlow, FlowSketch, sketchWindowMs, type SketchWindow } from "../../src/flow/index.ts";
import { netflow5 } from "../../packages/testkit/index.ts";
import { createFlowRig, type FlowRig } from "../support/flow-rig.ts";

const filled = (window: SketchWindow | undefined): number =>
  window?.least.filter((value) => value < noFlow).length ?? 0;
const flowsOf = (rig: FlowRig, address: string): SketchWindow[] =>
  rig.pipeline
    .exporters()
    .find((one) => one.address === address)
    ?.sketch.slice() ?? [];

function send(rig: FlowRig, address: string, isReply = false, protocol = 6): void {
  for (let port = 1024; port < 5120; port += 16) {
    const records = Array.from({ length: 16 }, (_, i) => ({
      protocol,
      source: isReply ? "10.0.0.2" : "10.0.0.1",
      destination: isReply ? "10.0.0.1" : "10.0.0.2",
      ports: isReply ? ([443, port + i] as const) : ([port + i, 443] as const),
    }));
    rig.send(netflow5(records), { address });
  }
}

test("exporters choose the same flows, about one in 64, whatever their number", () => {
  const rig = createFlowRig();
  send(rig, "192.0.2.1");
  send(rig, "192.0.2.2");
  send(rig, "192.0.2.2");
  const [first] = flowsOf(rig, "192.0.2.1");
  const [second] = flowsOf(rig, "192.0.2.2");
  assert.ok(filled(first) > 30 && filled(first) < 70, `${filled(first)} flows`);
  assert.deepEqual(first, second);
});

test("a reply is another flow, and a flow without ports is none", () => {
  const rig = createFlowRig();
  send(rig, "192.0.2.1");
  send(rig, "192.0.2.2", true);
  rig.send(netflow5([{ protocol: 1, ports: [0, 2048] }]), { address: "192.0.2.3" });
  const [first] = flowsOf(rig, "192.0.2.1");
  const [second] = flowsOf(rig, "192.0.2.2");
  assert.ok(filled(second) > 30);
  const same = first?.least.filter((value, cell) => value < noFlow && value === second?.least[cell]);
  assert.equal(same?.length, 0);
  assert.deepEqual(flowsOf(rig, "192.0.2.3"), []);
});

test("a cell keeps the least hash, and the directions of that flow alone", () => {
  const sketch = new FlowSketch();
  const at = 7 * sketchWindowMs + 5;
  sketch.note((9 << 8) | 3, 1, at);
  sketch.note((5 << 8) | 3, 2, at);
  sketch.note((9 << 8) | 3, 2, at);
  sketch.note((5 << 8) | 3, 1, at);
  sketch.note(0xffff_ffff, 0, at);
  const [window, ...others] = sketch.windows();
  assert.deepEqual([window?.start, window?.least[3], window?.directions[3]], [7 * sketchWindowMs, 5, 3]);
  assert.deepEqual([window?.least[255], window?.directions[255], filled(window)], [noFlow - 1, 0, 2]);
  assert.deepEqual(others, []);
});

test("the ten minutes before are kept, older ones are not", () => {
  const sketch = new FlowSketch();
  sketch.note(1 << 8, 0, sketchWindowMs);
  sketch.note(2 << 8, 0, 2 * sketchWindowMs);
  assert.deepEqual(
    sketch.windows().map(({ start, least }) => [start / sketchWindowMs, least[0]]),
    [
      [2, 2],
      [1, 1],
    ],
  );
  sketch.note(3 << 8, 0, 9 * sketchWindowMs);
  assert.deepEqual(
    sketch.windows().map(({ start }) => start / sketchWindowMs),
    [9],
  );
});

test("the sample is counted as memory once, and given back", async () => {
  const rig = createFlowRig();
  rig.send(netflow5([{ protocol: 1, ports: [0, 0] }]));
  const before = await rig.value("netgloss_flow_memory_bytes");
  send(rig, "192.0.2.254");
  const after = await rig.value("netgloss_flow_memory_bytes");
  send(rig, "192.0.2.254");
  assert.ok(after > before + 2560);
  assert.equal(await rig.value("netgloss_flow_memory_bytes"), after);
});
