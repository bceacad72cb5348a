import assert from "node:assert/strict";
import { test } from "node:test";
import { createSnmpAgent } from "../support/snmp-agent/index.ts";
import { quickDevice, rigTable, startSnmpRig } from "../support/snmp-rig.ts";
import { until } from "../support/until.ts";

const count = 60;

test("definitions applied again and again while devices are polled: no poll is missed", async (t) => {
  const ids = Array.from({ length: count }, (_, i) => `198.51.100.${i + 1}:161`);
  const devices = ids.map((_, i) =>
    quickDevice
      .replace("r1:", `d${i}:`)
      .replace("192.0.2.1", `198.51.100.${i + 1}`)
      .replace("timeout: 50", "timeout: 5000"),
  );
  const rig = await startSnmpRig(t, { start: false, files: { "devices/fleet.yml": devices.join("") } });
  for (let i = 1; i <= count; i++) {
    rig.network.attachAgent(`198.51.100.${i}`, 161, createSnmpAgent({ table: rigTable }));
  }
  await rig.snmp.start();
  const polls = (id: string): number => rig.device(id).counts["polls"] ?? 0;
  await until("all are polled", () => ids.every((id) => polls(id) > 0), 30_000);
  const start = performance.now();
  const before = new Map(ids.map((id) => [id, polls(id)]));
  for (let round = 0; performance.now() - start < 3000; round++) {
    await rig.tree.write({ "enums/integer/if.yml": `.1.3.6.1.2.1.2.2.1.8:\n  1: 'up ${round}'\n` });
    const applied = await rig.snmp.applyDefinitions(false);
    assert.ok(applied.ok);
    assert.equal((applied.report["affected_devices"] as unknown[]).length, count + 1);
  }
  const seconds = Math.floor((performance.now() - start) / 1000);
  // Two object types, each due once a second; the first may have been due just before the count began.
  for (const id of ids) {
    await until(`${id} on its grid`, () => polls(id) - (before.get(id) ?? 0) >= 2 * (seconds - 1), 2000);
    assert.equal(await rig.count("polls_skipped_total", { device: id }), 0);
    assert.equal(rig.device(id).state, "up");
  }
});
