import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../support/until.ts";
import { pollVendorDevices } from "./poll-vendor-devices.ts";
import type { VendorDevice } from "./vendor-devices.ts";

const device = (sysObjectId: string, values: VendorDevice["values"]): VendorDevice => ({
  sysObjectId,
  descr: "device",
  values,
  facts: {},
});

const sensor = (row: number, type: number, value: number): VendorDevice["values"] => ({
  [`ENTITY-MIB::entPhysicalName.${row}`]: `s${row}`,
  [`ENTITY-SENSOR-MIB::entPhySensorType.${row}`]: type,
  [`ENTITY-SENSOR-MIB::entPhySensorScale.${row}`]: 9,
  [`ENTITY-SENSOR-MIB::entPhySensorPrecision.${row}`]: 0,
  [`ENTITY-SENSOR-MIB::entPhySensorValue.${row}`]: value,
  [`ENTITY-SENSOR-MIB::entPhySensorOperStatus.${row}`]: 1,
});

test("a reading that no device can mean is left out, and its state says so", async (t) => {
  const interfaces = {
    1: [1_000_000_000, 1_000_000_000],
    2: [4_294_967_295, 4_294_967_295],
    3: [25_600_000, 4_294_967_295],
  };
  const { records } = await pollVendorDevices(t, [
    device("1.3.6.1.4.1.14988.1", {
      ...sensor(1, 8, -128),
      ...sensor(2, 8, 65408),
      ...sensor(3, 8, 41),
      ...sensor(4, 8, -866_597_556),
      // A radio hears less than the weakest light.
      "MIKROTIK-MIB::mtxrLTEModemSignalRSRP.1": -113,
      "UPS-MIB::upsEstimatedChargeRemaining.0": -1,
      "UPS-MIB::upsBatteryTemperature.0": -273,
      "UPS-MIB::upsBatteryStatus.0": 2,
    }),
    device("1.3.6.1.4.1.8072.3.2.10", {
      "HOST-RESOURCES-MIB::hrProcessorLoad.7": 606,
      "HOST-RESOURCES-MIB::hrProcessorLoad.8": 100,
      ...Object.fromEntries(
        Object.entries(interfaces).flatMap(([row, [high = 0, low = 0]]) => [
          [`IF-MIB::ifDescr.${row}`, `eth${row}`],
          [`IF-MIB::ifAlias.${row}`, "\0\0\0"],
          [`IF-MIB::ifName.${row}`, `eth${row}`],
          [`IF-MIB::ifHighSpeed.${row}`, high],
          [`IF-MIB::ifSpeed.${row}`, low],
        ]),
      ),
    }),
  ]);
  const all = (entity: string): Record<string, unknown> =>
    Object.assign({}, ...records.filter((record) => record["snmp.object.entity"] === entity));
  const wanted: readonly (readonly [entity: string, field: string, value: unknown, state: unknown])[] = [
    ["ENTITY-SENSOR-MIB::entPhySensorTable.1", "hw.sensor.value", undefined, "implausible"],
    ["ENTITY-SENSOR-MIB::entPhySensorTable.2", "hw.sensor.value", undefined, "implausible"],
    ["ENTITY-SENSOR-MIB::entPhySensorTable.3", "hw.sensor.value", 41, undefined],
    ["ENTITY-SENSOR-MIB::entPhySensorTable.4", "hw.sensor.value", undefined, "implausible"],
    ["MIKROTIK-MIB::mtxrLTEModemTable.1", "cellular.rsrp", -113, undefined],
    ["UPS-MIB::upsBattery", "ups.battery.charge.pct", undefined, "implausible"],
    ["UPS-MIB::upsBattery", "ups.battery.temperature", undefined, "implausible"],
    ["HOST-RESOURCES-MIB::hrProcessorTable.7", "system.cpu.util.pct", undefined, "implausible"],
    ["HOST-RESOURCES-MIB::hrProcessorTable.8", "system.cpu.util.pct", 100, undefined],
    ["IF-MIB::ifXTable.1", "netif.bandwidth.bw", undefined, undefined],
    ["IF-MIB::ifTable.1", "netif.bandwidth.bw", 1_000_000_000, undefined],
    ["IF-MIB::ifXTable.2", "netif.bandwidth.bw", undefined, "implausible"],
    ["IF-MIB::ifXTable.3", "netif.bandwidth.bw", 25_600_000_000_000, undefined],
  ];
  await until("all objects", () => wanted.every(([entity]) => "snmp.object.name" in all(entity)), 20_000);
  for (const [entity, field, value, state] of wanted) {
    const record = all(entity);
    assert.equal(record[field], value, `${entity} ${field}`);
    assert.equal(record[`${field.replace(".pct", "")}_state.name`], state, `${entity} ${field}`);
  }
  assert.equal(all("IF-MIB::ifXTable.1")["netif.alias"], undefined);
});
