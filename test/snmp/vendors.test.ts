import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/report/index.ts";
import { createDefinitionsLoader, createSnmp, definitionPathsIn, type Definitions } from "../../src/snmp/index.ts";
import { createFakeNetwork, createSnmpAgent, parseSnmprec } from "../support/snmp-agent/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";
import { vendorDevices, type VendorDevice } from "./vendor-devices.ts";

const directory = resolve(import.meta.dirname, "../../../definitions");

async function shipped(): Promise<Definitions> {
  const paths = definitionPathsIn(directory);
  const { definitions } = await createDefinitionsLoader({ paths, metrics: createMetrics(), clock: systemClock }).load(
    "start",
  );
  assert.ok(definitions);
  return definitions;
}

/** A recording: what the device says of itself, and the values by the names of the MIB. */
function recording(definitions: Definitions, { sysObjectId, descr, values }: VendorDevice): string {
  const oids = new Map<string, string>();
  for (const { mib, attributes } of definitions.objects.values())
    for (const { name, oidText } of attributes.values()) oids.set(`${mib}::${name}`, oidText.slice(1));
  const line = (oid: string, value: string | number): [string, string] =>
    typeof value === "number" ? [oid, `${oid}|2|${value}`] : [oid, `${oid}|4x|${Buffer.from(value).toString("hex")}`];
  const lines = new Map<string, string>([
    line("1.3.6.1.2.1.1.1.0", descr),
    ["1.3.6.1.2.1.1.2.0", `1.3.6.1.2.1.1.2.0|6|${sysObjectId}`],
    ["1.3.6.1.2.1.1.3.0", "1.3.6.1.2.1.1.3.0|67|12345"],
    line("1.3.6.1.2.1.1.5.0", "device"),
  ]);
  for (const [name, value] of Object.entries(values)) {
    const [, object = "", instance = ""] = /^([^.]+)\.(.*)$/.exec(name) ?? [];
    const oid = /^[\d.]+$/.test(name)
      ? name
      : `${oids.get(object) ?? assert.fail(`no attribute ${object}`)}.${instance}`;
    lines.set(...line(oid, value));
  }
  const order = (a: string, b: string): number => {
    const [left, right] = [a.split(".").map(Number), b.split(".").map(Number)];
    const at = left.findIndex((arc, i) => arc !== right[i]);
    return at < 0 ? left.length - right.length : (left[at] as number) - (right[at] ?? -1);
  };
  return [...lines.keys()]
    .toSorted(order)
    .map((oid) => lines.get(oid))
    .join("\n");
}

test("devices of many makes are known by vendor and model, and say CPU, memory and temperature in one shape", async (t) => {
  const definitions = await shipped();
  const network = createFakeNetwork();
  const devices = tempDirectory(t);
  const lines: string[] = [];
  for (const [i, device] of vendorDevices.entries()) {
    const table = parseSnmprec(recording(definitions, device));
    network.attachAgent(`192.0.2.${i + 1}`, 161, createSnmpAgent({ table, maxMessageSize: 8000 }));
    lines.push(`d${i + 1}: {ip: 192.0.2.${i + 1}, communities: [public]}`);
  }
  writeFileSync(join(devices, "lab.yml"), `${lines.join("\n")}\n`);
  const records: Record<string, unknown>[] = [];
  const snmp = createSnmp({
    paths: { ...definitionPathsIn(directory), devices: [devices] },
    persistDirectory: "",
    enricher: { enrich() {} },
    sink: {
      write: (chunk) => {
        for (const line of Buffer.from(chunk).toString().trimEnd().split("\n"))
          records.push(JSON.parse(line) as Record<string, unknown>);
      },
    },
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
    health: createHealth(),
    openSocket: network.open,
  });
  await snmp.start();
  t.after(() => snmp.stop());
  for (const [i, device] of vendorDevices.entries()) {
    const ip = `192.0.2.${i + 1}`;
    const what = `${device.facts["vendor"]} ${device.descr}`;
    const find = (field: string, type?: string): unknown =>
      records.find(
        (record) =>
          record["system.ip.addr"] === ip &&
          record[field] !== undefined &&
          (type === undefined || record["hw.sensor.type"] === type),
      )?.[field];
    await until(`the records of ${what}`, () => {
      const has = (field: string, wanted: unknown, type?: string): boolean =>
        wanted === undefined || find(field, type) !== undefined;
      return (
        find("system.vendor") !== undefined &&
        has("system.cpu.util.pct", device.cpu) &&
        has("system.memory.used.pct", device.memory) &&
        has("hw.sensor.value", device.temperature, "temperature")
      );
    });
    assert.deepEqual(snmp.device(`${ip}:161`)?.facts, device.facts, what);
    assert.equal(find("system.vendor"), device.facts["vendor"], what);
    assert.equal(find("system.model"), device.facts["model"], what);
    if (device.cpu !== undefined) assert.equal(find("system.cpu.util.pct"), device.cpu, what);
    if (device.memory !== undefined) assert.equal(find("system.memory.used.pct"), device.memory, what);
    if (device.temperature !== undefined)
      assert.equal(find("hw.sensor.value", "temperature"), device.temperature, what);
  }
});
