import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { Snmp, definitionPathsIn } from "../../src/snmp/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createFakeNetwork, createSnmpAgent, parseSnmprec } from "../support/snmp-agent/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const hex = (text: string): string => Buffer.from(text).toString("hex");

test("what the last polls read is there for Prometheus, and gone with its device", async (t) => {
  const network = createFakeNetwork();
  const devices = tempDirectory(t);
  const table = parseSnmprec(
    [
      `1.3.6.1.2.1.1.1.0|4x|${hex("a switch")}`,
      "1.3.6.1.2.1.1.2.0|6|1.3.6.1.4.1.99999",
      "1.3.6.1.2.1.1.3.0|67|12345",
      `1.3.6.1.2.1.1.5.0|4x|${hex("core-1")}`,
      `1.3.6.1.2.1.2.2.1.2.7|4x|${hex('eth7 "uplink"')}`,
      "1.3.6.1.2.1.2.2.1.10.7|65|4000",
      "1.3.6.1.2.1.4.24.6.0|66|512",
      "1.3.6.1.2.1.25.3.3.1.2.1|2|17",
      "1.3.6.1.2.1.33.1.2.1.0|2|3",
    ].join("\n"),
  );
  network.attachAgent("192.0.2.1", 161, createSnmpAgent({ table, maxMessageSize: 8000 }));
  writeFileSync(join(devices, "d.yml"), "core-1: {ip: 192.0.2.1, communities: [public]}\n");
  const snmp = new Snmp({
    paths: { ...definitionPathsIn(resolve(import.meta.dirname, "../../../definitions")), devices: [devices] },
    persistDirectory: "",
    enricher: { enrich() {} },
    sink: { write() {} },
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
    health: createHealth(),
    openSocket: network.open,
    keepsReadings: true,
  });
  await snmp.start();
  cleanUp(t, () => snmp.stop());
  const text = (): string => [...(snmp.readings() ?? [])].join("");
  await until(
    "the readings",
    () =>
      text().includes("snmp_netif_bytes_in_total{") &&
      text().includes("_util_pct{") &&
      text().includes("_ip_routes{") &&
      text().includes("_severity{"),
  );
  const lines = text().split("\n");
  assert.deepEqual(
    lines.filter((line) => line.includes("snmp_netif_bytes_in_total")),
    [
      "# HELP snmp_netif_bytes_in_total netif.bytes.in of polled devices.",
      "# TYPE snmp_netif_bytes_in_total counter",
      String.raw`snmp_netif_bytes_in_total{device="core-1",ip="192.0.2.1",netif_descr="eth7 \"uplink\"",netif_index="7",netif_name="eth7 \"uplink\""} 4000`,
    ],
  );
  // The battery is low: a warning.
  assert.ok(lines.includes('snmp_ups_battery_status_severity{device="core-1",ip="192.0.2.1"} 1'));
  assert.ok(lines.includes("# TYPE snmp_system_cpu_util_pct gauge"));
  // A gauge does not end in `_total`, though its field does.
  assert.ok(lines.includes("# TYPE snmp_ip_routes gauge"));
  assert.ok(lines.some((line) => /^snmp_system_cpu_util_pct\{.*\} 17$/.test(line)));
  writeFileSync(join(devices, "d.yml"), "");
  await snmp.applyDefinitions(false);
  await until("none", () => text() === "");
});
