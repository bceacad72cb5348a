import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AgentValue } from "../support/snmp-agent/agent-table.ts";
import { counter32, integer, oidOf } from "../support/snmp-agent/index.ts";
import { patientDevice, startSnmpRig, type SnmpRig } from "../support/snmp-rig.ts";
import { createManualClock } from "../support/snmp-session-fixture.ts";
import type { RecordFields } from "../../src/record/index.ts";
import { until } from "../support/until.ts";
import { baseFiles } from "../support/definition-tree.ts";

/** Reads more than the record needs: state, errors. */
const objects = (baseFiles["objects/if.yml"] as string).replace(
  "    ifInOctets:\n",
  "    ifSpeed: {oid: .1.3.6.1.2.1.2.2.1.5, name: netif.speed, syntax: Gauge32}\n" +
    "    ifInErrors: {oid: .1.3.6.1.2.1.2.2.1.14, name: netif.errors.in, syntax: Counter32, metric: counter}\n" +
    "    ifInOctets:\n",
);
const files = { "devices/lab.yml": patientDevice, "objects/if.yml": objects };
const set = (rig: SnmpRig, values: Readonly<Record<string, AgentValue>>): void => {
  const rows = Object.entries(values).map(([oid, value]) => ({ oid: oidOf(`1.3.6.1.2.1.${oid}`), value }));
  rig.agent.table = rig.agent.table.with(rows);
};
const row = (rig: SnmpRig, index: number): Readonly<Record<string, unknown>> | undefined =>
  rig.device().interfaceStates.find((one) => one.index === index) as Readonly<Record<string, unknown>> | undefined;
/** But for the whole numbers of counters. */
const near = (value: unknown, expected: number): void =>
  assert.ok(Math.abs(Number(value) - expected) <= expected / 100, `${String(value)} is not near ${expected}`);

describe("interfaces of a device", { concurrency: 3 }, () => {
  test("rates come from the last two polls, over the end of a narrow counter, and wide counters count first", async (t) => {
    // Collector and agent have one clock, which stands while a poll is under way: how long that takes is in no rate.
    const clock = createManualClock();
    const rig = await startSnmpRig(t, { files, start: false, clock, agent: { clock } });
    const wide: AgentValue = (uptime) => ({
      type: "Counter64",
      value: 9_007_199_254_740_992n + BigInt(Math.round(uptime * 1000)),
    });
    set(rig, {
      "31.1.1.1.6.1": wide,
      "2.2.1.10.7": counter32(4_294_967_000, 1000),
      "2.2.1.14.2": counter32(0, 1000),
      "2.2.1.8.1": integer(1),
      "2.2.1.8.2": integer(2),
    });
    await rig.snmp.start();
    await until(
      "the first poll",
      () => rig.of("IF-MIB::ifTable").length >= 3 && rig.of("IF-MIB::ifXTable").length >= 1,
    );
    clock.advance(1000);
    await until(
      "rates",
      () => row(rig, 7)?.["inBitsPerSecond"] !== undefined && row(rig, 1)?.["inBitsPerSecond"] !== undefined,
    );
    near(row(rig, 7)?.["inBitsPerSecond"], 8000);
    near(row(rig, 1)?.["inBitsPerSecond"], 8000);
    near(row(rig, 2)?.["inErrorsPerSecond"], 1000);
    const { name, oper, bitsPerSecond } = row(rig, 1) ?? {};
    assert.deepEqual([name, oper, bitsPerSecond], ["lo", "up", 10_000_000]);
    assert.equal(row(rig, 2)?.["oper"], "down");
    const flow: RecordFields = new Map<string, string | number>([
      ["flow.export.ip.addr", rig.device().ip],
      ["flow.in.netif.index", 1],
    ]);
    rig.snmp.interfaceEnricher.enrich(flow);
    assert.equal(flow.get("flow.in.netif.speed"), 10_000_000, "flows have what polls say");
    assert.ok(!("outBitsPerSecond" in (row(rig, 1) ?? {})), "what is not polled is left out");
  });

  test("after a restart of the device nothing is made of what was counted before", async (t) => {
    const rig = await startSnmpRig(t, { files, agent: { uptime: 100_000 } });
    set(rig, { "2.2.1.10.2": { type: "Counter32", value: 4_000_000_000 } });
    await until("a rate", () => row(rig, 2)?.["inBitsPerSecond"] === 0);
    set(rig, { "2.2.1.10.2": { type: "Counter32", value: 5 } });
    rig.agent.reboot();
    const polls = rig.device().counts["polls"] ?? 0;
    await until("a poll", () => (rig.device().counts["polls"] ?? 0) > polls + 2);
    const rate = row(rig, 2)?.["inBitsPerSecond"];
    assert.ok(rate === undefined || rate === 0, String(rate));
  });
});

test("what applying definitions would do is said without doing it", async (t) => {
  const rig = await startSnmpRig(t, { files });
  await rig.polled();
  const same = await rig.snmp.previewDefinitions();
  assert.ok(same.ok);
  assert.deepEqual([same.report["changes"], same.inUse.devices], [{}, 1]);
  await rig.tree.write({ "devices/lab.yml": patientDevice.replace("[public]", "[other, public]") });
  const other = await rig.snmp.previewDefinitions();
  assert.ok(other.ok);
  assert.deepEqual(other.report["rediscovering"], ["192.0.2.1:161"]);
  assert.equal(rig.device().discovery, undefined);
  assert.equal(await rig.metrics.value("netgloss_snmp_applies_total", { result: "applied" }), 0);
  await rig.tree.write({ "devices/lab.yml": "r1: {ip: nowhere}\n" });
  const broken = await rig.snmp.previewDefinitions();
  assert.ok(!broken.ok);
  assert.match(broken.findings[0]?.place ?? "", /lab\.yml:1:/);
  assert.ok(
    rig.health.checks().every(({ degraded }) => degraded !== true),
    "a look changes no state",
  );
});
