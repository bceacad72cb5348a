import assert from "node:assert/strict";
import { test } from "node:test";
import { maxListedExporters } from "../../src/flow/flow-metrics.ts";
import { netflow5 } from "../../packages/testkit/index.ts";
import { createFlowRig } from "../support/flow-rig.ts";

test("an exporter has its records, the time it was last seen, and what is missing, from the first datagram on", async () => {
  const rig = createFlowRig();
  const address = "192.0.2.7";
  rig.send(netflow5([{}, {}], { sequence: 0 }), { address });
  rig.send(netflow5([{}], { sequence: 5 }), { address });
  assert.equal(await rig.value("netgloss_flow_exporter_records_total", { exporter: address }), 3);
  const seen = await rig.value("netgloss_flow_exporter_last_seen_timestamp_seconds", { exporter: address });
  assert.ok(seen > 1_600_000_000 && seen < 10_000_000_000, `${seen} is in seconds since the epoch`);
  const missing = (protocol: string): Promise<number | undefined> =>
    rig.metrics.value("netgloss_flow_exporter_missing_total", { exporter: address, protocol });
  assert.equal(await missing("netflow5"), 3);
  rig.send(netflow5([{}], { sequence: 0 }), { address: "192.0.2.8" });
  assert.equal(
    await rig.metrics.value("netgloss_flow_exporter_missing_total", { exporter: "192.0.2.8", protocol: "netflow5" }),
    0,
  );
});

test("of more exporters than the limit those first seen have metrics, the others are counted", async () => {
  const rig = createFlowRig();
  const more = 5;
  for (let i = 0; i < maxListedExporters + more; i++) {
    rig.send(netflow5([{}], { sequence: 0 }), { address: `10.1.${i >> 8}.${i & 255}` });
  }
  // A later datagram of a known one does not push it out.
  rig.send(netflow5([{}], { sequence: 1 }), { address: "10.1.0.0" });
  const lines = (await rig.metrics.render()).split("\n");
  const listed = lines.filter((line) => line.startsWith("netgloss_flow_exporter_records_total{"));
  assert.equal(listed.length, maxListedExporters);
  assert.ok(listed.includes('netgloss_flow_exporter_records_total{exporter="10.1.0.0"} 2'));
  assert.equal(await rig.value("netgloss_flow_exporters_unlisted"), more);
});
