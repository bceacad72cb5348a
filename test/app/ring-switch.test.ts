import assert from "node:assert/strict";
import { test } from "node:test";
import { RingSwitch } from "../../src/app/threads/flow-thread-parts.ts";
import { createRing, RingReader, RingWriter } from "../../src/flow/index.ts";
import { createMetrics, type Labels } from "../../src/base/report/index.ts";

test("drops are counted by reason and by exporter; forged senders leave half of the places to those that decode well", async () => {
  const ring = createRing(1 << 20);
  const metrics = createMetrics();
  const told: string[] = [];
  const ringSwitch = new RingSwitch([new RingWriter(ring, () => {})], metrics, (thread, exporter, reason) => {
    told.push(`${thread} ${exporter} ${reason}`);
  });
  let now = 0;
  const reader = new RingReader(ring, {
    reputation: (address) => (address === "192.0.2.1" ? "good" : "unknown"),
    monotonic: () => now,
  });
  const put = (address: string, times: number): void => {
    for (let i = 0; i < times; i++) ringSwitch.put(Buffer.alloc(1000), address, 2055, 0);
  };
  const value = async (name: string, labels: Labels): Promise<number> => (await metrics.value(name, labels)) ?? 0;
  const drops = (reason: string) => value("netgloss_flow_queue_drops_total", { thread: 0, reason });
  const dropsOf = (exporter: string) => value("netgloss_flow_exporter_queue_drops_total", { exporter });

  put("192.0.2.1", 200);
  reader.read(() => void (now += 1), 100);
  put("::ffff:198.51.100.1", 1000);
  assert.equal(await dropsOf("198.51.100.1"), told.length);
  assert.equal((await drops("share")) + (await drops("standing")), told.length);
  assert.match(told[0] ?? "", /^0 198\.51\.100\.1 (share|standing)$/);
  for (let i = 0; i < 2000; i++) put(`10.0.${i >> 8}.${i & 255}`, 1);
  const forged = told.filter((line) => line.startsWith("0 10.")).length;
  assert.ok(forged > 1000);
  assert.equal(await dropsOf("other"), forged - 499);
  put("192.0.2.1", 2000);
  assert.ok((await dropsOf("192.0.2.1")) > 1000);
  assert.equal(
    (await drops("full")) + (await drops("share")) + (await drops("standing")),
    told.length,
    "each drop has one reason",
  );
});
