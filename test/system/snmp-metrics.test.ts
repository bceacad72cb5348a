import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { pollVendorDevices, vendorDeviceIp } from "../snmp/poll-vendor-devices.ts";
import { recordedMakes } from "../snmp/recorded-makes.ts";
import { bigMakes } from "../snmp/vendor-devices.ts";
import { moreMakes } from "../snmp/vendor-devices-more.ts";
import { otherMakes } from "../snmp/vendor-devices-others.ts";
import { requireProgram } from "../support/require-program.ts";
import { until } from "../support/until.ts";

test("promtool finds nothing wrong with the metrics of devices of all makes", { timeout: 300_000 }, async (t) => {
  const promtool = requireProgram(t, "promtool", "apt-get install prometheus");
  if (promtool === undefined) return;
  const makes = recordedMakes().flatMap(({ devices }) => devices);
  const { records, snmp } = await pollVendorDevices(t, [...makes, ...bigMakes, ...moreMakes, ...otherMakes]);
  const wanted = makes.flatMap(({ rows }, i) => rows.map(({ object }) => `${vendorDeviceIp(i)} ${object}`));
  const polled = new Set<string>();
  let looked = 0;
  await until(
    "records of all tables",
    () => {
      for (const record of records.slice(looked))
        polled.add(`${String(record["system.ip.addr"])} ${String(record["snmp.object.name"])}`);
      looked = records.length;
      return wanted.every((table) => polled.has(table));
    },
    240_000,
  );
  const input = [...(snmp.readings() ?? [])].join("");
  assert.ok(input.split("\n").length > wanted.length);
  const { status, stdout, stderr } = spawnSync(promtool, ["check", "metrics"], { input, encoding: "utf8" });
  // The second source of a transfer switch is called B: no unit.
  const findings = `${stdout}${stderr}`.split("\n").filter((line) => !/^snmp_ats_\w+_b_status_severity /.test(line));
  assert.deepEqual(findings, [""]);
  // 3: what the linter says, 1: the text cannot be read.
  assert.notEqual(status, 1);
});
