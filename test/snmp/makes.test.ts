import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../support/until.ts";
import { pollVendorDevices, vendorDeviceIp } from "./poll-vendor-devices.ts";
import { makesFolder, recordedMakes } from "./recorded-makes.ts";

/** Fields that every record has. */
const common = /^(?:@timestamp|system\.ip\.addr|system\.host\.name|snmp\.|agent\.|collector\.|event\.)/;

const makes = recordedMakes();

test("each make gives the records that stand beside its recording", { timeout: 240_000 }, async (t) => {
  const devices = makes.flatMap((make) => make.devices.map((device) => ({ make, device })));
  const { records } = await pollVendorDevices(
    t,
    devices.map(({ device }) => device),
  );
  const wrong: string[] = [];
  const found = new Map<string, string>();
  const rows = devices.flatMap(({ make, device }, i) =>
    device.rows.map((row) => ({ ...row, file: make.file, ip: vendorDeviceIp(i) })),
  );
  const keyOf = (ip: unknown, object: unknown): string => `${String(ip)} ${String(object)}`;
  const byObject = (): Map<string, (typeof records)[number][]> => {
    const grouped = new Map<string, (typeof records)[number][]>();
    for (const record of records) {
      const key = keyOf(record["system.ip.addr"], record["snmp.object.name"]);
      const of = grouped.get(key) ?? [];
      if (of.push(record) === 1) grouped.set(key, of);
    }
    return grouped;
  };
  const wanted = new Map<string, number>();
  for (const { ip, object } of rows) wanted.set(keyOf(ip, object), (wanted.get(keyOf(ip, object)) ?? 0) + 1);
  const counts = new Map<string, number>();
  let counted = 0;
  await until(
    "a record of each row",
    () => {
      for (const record of records.slice(counted)) {
        const key = keyOf(record["system.ip.addr"], record["snmp.object.name"]);
        counts.set(key, (counts.get(key) ?? 0) + 1);
        counted += 1;
      }
      return [...wanted].every(([key, count]) => (counts.get(key) ?? 0) >= count);
    },
    100_000,
  ).catch(() => {});
  const got = byObject();
  for (const { file, line, ip, object, instance, expected } of rows) {
    const record = got.get(keyOf(ip, object))?.shift();
    const json =
      record && JSON.stringify(Object.fromEntries(Object.entries(record).filter(([field]) => !common.test(field))));
    if (json !== undefined) found.set(`${file}:${line}`, json);
    if (json !== expected) wrong.push(`${file}:${line + 1} ${object} ${instance}: ${json}, not ${expected}`);
  }
  if (process.env["UPDATE_GOLDEN"] === undefined) return assert.deepEqual(wrong, []);
  for (const { file, lines } of makes) {
    const text = lines.flatMap((line, i) => {
      const json = found.get(`${file}:${i}`);
      return line.startsWith("  >") ? [] : json === undefined ? [line] : [line, `  > ${json}`];
    });
    writeFileSync(join(makesFolder, file), `${text.join("\n")}\n`);
  }
});
