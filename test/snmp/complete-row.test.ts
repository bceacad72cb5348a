import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { RecordFields } from "../../src/record/index.ts";
import { completeRow } from "../../src/snmp/index.ts";
import { runs } from "../support/runs.ts";

const completed = (fields: Record<string, number | string>): Record<string, unknown> => {
  const map: RecordFields = new Map(Object.entries(fields));
  completeRow(map);
  return Object.fromEntries(map);
};

test("memory: any two of total, used and free give the third, and the percentage", () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.constantFrom("total", "used", "free"), (used, free, missing) => {
      const all: Record<string, number> = {
        "system.memory.total.bytes": used + free,
        "system.memory.used.bytes": used,
        "system.memory.free.bytes": free,
      };
      const { [`system.memory.${missing}.bytes`]: _, ...given } = all;
      const row = completed(given);
      for (const [field, value] of Object.entries(all)) assert.equal(row[field], value, field);
      const pct = row["system.memory.used.pct"];
      if (used + free === 0) assert.equal(pct, undefined);
      else assert.ok(Math.abs(Number(pct) - (100 * used) / (used + free)) <= 0.005 + 1e-9);
    }),
    runs(100),
  );
});

test("memory: buffers and caches are not used; what makes no sense gives nothing", () => {
  const host = completed({
    "system.memory.total.bytes": 1000,
    "system.memory.free.bytes": 500,
    "system.memory.buffers.bytes": 100,
    "system.memory.cached.bytes": 150,
  });
  assert.equal(host["system.memory.used.bytes"], 250);
  assert.equal(host["system.memory.used.pct"], 25);
  const odd = completed({ "system.memory.total.bytes": 10, "system.memory.free.bytes": 20 });
  assert.deepEqual(odd, { "system.memory.total.bytes": 10, "system.memory.free.bytes": 20 });
  const ram = completed({ "storage.type.name": "ram", "storage.total.bytes": 8, "storage.used.bytes": 2 });
  assert.equal(ram["system.memory.used.pct"], 25);
  const disk = completed({ "storage.type.name": "fixed disk", "storage.total.bytes": 8, "storage.used.bytes": 2 });
  assert.equal(disk["system.memory.used.pct"], undefined);
});

test("memory: of a whole and the share that is used follow the bytes", () => {
  const row = completed({ "system.memory.total.bytes": 2048, "system.memory.used.pct": 25 });
  assert.equal(row["system.memory.used.bytes"], 512);
  assert.equal(row["system.memory.free.bytes"], 1536);
  const free = completed({ "system.memory.total.bytes": 2048, "system.memory.free.pct": 25 });
  assert.equal(free["system.memory.used.bytes"], 1536);
  const odd = { "system.memory.total.bytes": 2048, "system.memory.used.pct": 130 };
  assert.deepEqual(completed(odd), odd);
});

test("memory: a pool of size 0 is none; an access point has its own", () => {
  const none = { "system.memory.name": "spare", "system.memory.total.bytes": 0, "system.memory.used.bytes": 0 };
  assert.deepEqual(completed(none), { "system.memory.name": "spare" });
  const point = completed({ "wireless.ap.memory.total.bytes": 8, "wireless.ap.memory.free.bytes": 6 });
  assert.equal(point["wireless.ap.memory.used.pct"], 25);
  assert.equal(point["system.memory.used.pct"], undefined);
});

test("shares: a part of the whole in the row; none of nothing, of an unknown whole, or of more than the whole", () => {
  const supply = (level: number, capacity: number): unknown =>
    completed({ "printer.supply.level": level, "printer.supply.capacity": capacity })["printer.supply.remaining.pct"];
  assert.equal(supply(8760, 12_000), 73);
  assert.equal(supply(0, 100), 0);
  for (const [level, capacity] of [
    [40, -2],
    [-3, 100],
    [0, 0],
    [101, 100],
  ] as const)
    assert.equal(supply(level, capacity), undefined, `${level} of ${capacity}`);
  assert.equal(completed({ "storage.total.bytes": 8, "storage.used.bytes": 2 })["storage.used.pct"], 25);
});

test("load: what is not idle, else the average of a minute; what is there stays", () => {
  assert.equal(completed({ "system.cpu.idle.pct": 83 })["system.cpu.util.pct"], 17);
  const averages = { "system.cpu.util.5s.pct": 1, "system.cpu.util.1m.pct": 2, "system.cpu.util.5m.pct": 3 };
  assert.equal(completed(averages)["system.cpu.util.pct"], 2);
  assert.equal(completed({ ...averages, "system.cpu.util.pct": 9 })["system.cpu.util.pct"], 9);
  assert.equal(completed({ "system.cpu.idle.pct": 300 })["system.cpu.util.pct"], undefined);
});

test("sensors: type and unit by the MIB's data type, else by the name", () => {
  const sensor = (fields: Record<string, number | string>): unknown[] => {
    const row = completed(fields);
    return [row["hw.sensor.type"], row["hw.sensor.unit"], row["hw.sensor.value"], row["hw.sensor.name"]];
  };
  const celsius = { "hw.sensor.value": 41.5, "hw.sensor.data_type.name": "celsius", "entity.name": "Cpu" };
  assert.deepEqual(sensor(celsius), ["temperature", "Cel", 41.5, "Cpu"]);
  const tenths = { "hw.sensor.value": 241, "hw.sensor.data_type.name": "d v", "hw.sensor.name": "psu" };
  assert.deepEqual(sensor(tenths), ["voltage", "V", 24.1, "psu"]);
  assert.deepEqual(sensor({ "hw.sensor.value": 3000, "hw.sensor.name": "Fan 1" }), ["fan", "rpm", 3000, "Fan 1"]);
  assert.deepEqual(sensor({ "hw.sensor.value": 12.1, "hw.sensor.name": "+12V" }), ["voltage", "V", 12.1, "+12V"]);
  assert.deepEqual(sensor({ "hw.sensor.value": 1, "hw.sensor.name": "x" }), [undefined, undefined, 1, "x"]);
});

test("sensors: units that devices write become those of the table, Fahrenheit becomes Celsius", () => {
  const sensor = (fields: Record<string, number | string>): unknown[] => {
    const row = completed(fields);
    return [row["hw.sensor.type"], row["hw.sensor.unit"], row["hw.sensor.value"]];
  };
  const reading = (value: number, unit: string): Record<string, number | string> => ({
    "hw.sensor.value": value,
    "hw.sensor.unit": unit,
  });
  assert.deepEqual(sensor(reading(40, "degree C")), ["temperature", "Cel", 40]);
  assert.deepEqual(sensor(reading(24.4, "\u00B0C")), ["temperature", "Cel", 24.4]);
  assert.deepEqual(sensor(reading(212, "Degrees F")), ["temperature", "Cel", 100]);
  assert.deepEqual(sensor(reading(12_050, "mV")), ["voltage", "V", 12.05]);
  assert.deepEqual(sensor(reading(1.5, "kWh")), ["energy", "Wh", 1500]);
  assert.deepEqual(sensor(reading(7, "furlongs")), [undefined, "furlongs", 7]);
  const enumerated = { "hw.sensor.value": 50, "hw.sensor.data_unit.name": "fahrenheit" };
  assert.deepEqual(sensor(enumerated), ["temperature", "Cel", 10]);
  const byType = {
    "hw.sensor.value": 77,
    "hw.sensor.data_type.name": "temperature",
    "hw.sensor.data_unit.name": "degree f",
  };
  assert.deepEqual(sensor(byType), ["temperature", "Cel", 25]);
});

test("sensors: temperatures of batteries, disks and probes; values of variables, not their limits", () => {
  const battery = completed({ "ups.battery.temperature": 26 });
  assert.deepEqual(
    [battery["hw.sensor.type"], battery["hw.sensor.name"], battery["hw.sensor.value"]],
    ["temperature", "battery", 26],
  );
  const humidity = completed({ "pdu.sensor.humidity.pct": 47, "pdu.sensor.name": "Rack" });
  assert.deepEqual(
    [humidity["hw.sensor.type"], humidity["hw.sensor.unit"], humidity["hw.sensor.value"], humidity["hw.sensor.name"]],
    ["humidity", "%", 47, "Rack"],
  );
  const both = completed({ "pdu.sensor.temperature": 21, "pdu.sensor.humidity.pct": 47 });
  assert.deepEqual([both["hw.sensor.type"], both["hw.sensor.value"]], ["temperature", 21]);
  assert.equal(completed({ "disk.temperature": 31, "disk.name": "sda" })["hw.sensor.name"], "sda");
  const variable = { "cmc.variable.name": "Voltage", "cmc.variable.unit": "V", "cmc.variable.value": 230 };
  assert.equal(completed({ ...variable, "cmc.variable.type.name": "value" })["hw.sensor.type"], "voltage");
  assert.equal(completed({ ...variable, "cmc.variable.type.name": "set high" })["hw.sensor.value"], undefined);
});

test("sensors in a transceiver have its fields: powers in dBm, whatever their unit", () => {
  const sensor = (name: string, type: string, value: number): Record<string, unknown> =>
    completed({ "hw.sensor.name": name, "hw.sensor.data_type.name": type, "hw.sensor.value": value });
  assert.equal(sensor("Te1/1/1 Receive Power Sensor", "dbm", -7.2)["transceiver.rx.power"], -7.2);
  assert.equal(sensor("Ethernet1/1 Lane 1 Transceiver Transmit Power", "dbm", -1)["transceiver.tx.power"], -1);
  assert.equal(sensor("DOM RX Power Sensor for Ethernet49", "watts", 0.001)["transceiver.rx.power"], 0);
  assert.equal(sensor("DOM RX Power Sensor for Ethernet49", "watts", 0)["transceiver.rx.power"], undefined);
  assert.equal(sensor("Power supply 1 Tx rail", "watts", 90)["transceiver.tx.power"], undefined);
  assert.equal(sensor("DOM Temperature Sensor for Ethernet49", "celsius", 31)["transceiver.temperature"], 31);
  assert.equal(sensor("Inlet", "celsius", 31)["transceiver.temperature"], undefined);
});

test("memory of a storage area that only its name says to be main memory", () => {
  const area = (name: string): unknown =>
    completed({
      "storage.type.name": "other",
      "storage.name": name,
      "storage.total.bytes": 8,
      "storage.used.bytes": 2,
    })["system.memory.used.pct"];
  assert.equal(area("Main memory"), 25);
  assert.equal(area("RAM"), 25);
  assert.equal(area("Memory buffers"), undefined);
  assert.equal(area("/dev/ram0"), undefined);
});

test("the only lane of a transceiver is what the transceiver receives and sends, one of several is not", () => {
  const one = completed({ "transceiver.rx.lane1.power": -5.8, "transceiver.tx.lane1.bias": 0.006 });
  assert.deepEqual([one["transceiver.rx.power"], one["transceiver.tx.bias"]], [-5.8, 0.006]);
  const four = completed({ "transceiver.rx.lane1.power": -5.8, "transceiver.rx.lane2.power": -6.1 });
  assert.equal(four["transceiver.rx.power"], undefined);
});
