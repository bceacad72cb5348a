import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { until } from "../support/until.ts";
import { pollVendorDevices, vendorDeviceIp } from "./poll-vendor-devices.ts";
import { bigMakes, type VendorDevice } from "./vendor-devices.ts";
import { moreMakes } from "./vendor-devices-more.ts";
import { otherMakes } from "./vendor-devices-others.ts";

async function checkDevices(t: TestContext, devices: readonly VendorDevice[]): Promise<void> {
  const { records, snmp } = await pollVendorDevices(t, devices);
  for (const [i, device] of devices.entries()) {
    const ip = vendorDeviceIp(i);
    const what = `${device.facts["vendor"]} ${device.descr}`;
    const of = records.filter.bind(records, (record) => record["system.ip.addr"] === ip);
    const find = (field: string, type?: string): unknown =>
      of().find((record) => record[field] !== undefined && (type === undefined || record["hw.sensor.type"] === type))?.[
        field
      ];
    const lacks = (wanted: Readonly<Record<string, unknown>>): boolean =>
      !of().some((record) => Object.entries(wanted).every(([field, value]) => record[field] === value));
    const has = (field: string, wanted: unknown, type?: string): boolean =>
      wanted === undefined || find(field, type) !== undefined;
    await until(
      `the records of ${what}`,
      () =>
        find("system.vendor") !== undefined &&
        has("system.cpu.util.pct", device.cpu) &&
        has("system.memory.used.pct", device.memory) &&
        has("hw.sensor.value", device.temperature, "temperature") &&
        !(device.records ?? []).some(lacks),
      20_000,
    ).catch((error: unknown) => {
      const missing = (device.records ?? []).filter(lacks);
      throw new Error(`${what}: ${JSON.stringify(missing)} of ${JSON.stringify(of())}`, { cause: error });
    });
    assert.deepEqual(snmp.device(`${ip}:161`)?.facts, device.facts, what);
    assert.equal(find("system.vendor"), device.facts["vendor"], what);
    assert.equal(find("system.model"), device.facts["model"], what);
    if (device.cpu !== undefined) assert.equal(find("system.cpu.util.pct"), device.cpu, what);
    if (device.memory !== undefined) assert.equal(find("system.memory.used.pct"), device.memory, what);
    if (device.temperature !== undefined)
      assert.equal(find("hw.sensor.value", "temperature"), device.temperature, what);
  }
}

test("devices of many makes are known by vendor and model, and say CPU, memory and temperature in one shape", (t) =>
  checkDevices(t, bigMakes));

test("makes with fewer devices, other models of a make, and values that stand for no reading", (t) =>
  checkDevices(t, moreMakes));

test("makes that are seen less often, and other families of operating systems", (t) => checkDevices(t, otherMakes));
