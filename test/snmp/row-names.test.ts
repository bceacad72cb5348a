import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { integer, octets, oidOf, type TypedValue } from "../support/snmp-agent/index.ts";
import { patientDevice, rigTable, startSnmpRig, type SnmpRecord, type SnmpRig } from "../support/snmp-rig.ts";
import { until } from "../support/until.ts";

const shipped = (path: string): string =>
  readFileSync(join(import.meta.dirname, "../../../definitions", path), "utf8").replace(
    /^ {2}type: .*$/gm,
    "  type: dynamic",
  );

const entity = (index: number, parent: number, entityClass: number, position: number, name: string) =>
  [
    [`47.1.1.1.1.2.${index}`, octets(`the ${name}`)],
    [`47.1.1.1.1.4.${index}`, integer(parent)],
    [`47.1.1.1.1.5.${index}`, integer(entityClass)],
    [`47.1.1.1.1.6.${index}`, integer(position)],
    [`47.1.1.1.1.7.${index}`, octets(name)],
  ] satisfies [string, TypedValue][];
const sensor = (index: number, value: number, status: number) =>
  [
    [`99.1.1.1.1.${index}`, integer(8)],
    [`99.1.1.1.2.${index}`, integer(9)],
    [`99.1.1.1.3.${index}`, integer(1)],
    [`99.1.1.1.4.${index}`, integer(value)],
    [`99.1.1.1.5.${index}`, integer(status)],
  ] satisfies [string, TypedValue][];

/** A chassis with a module in slot 3 and a sensor on it, and what refers to them. */
const cells: readonly (readonly [string, TypedValue])[] = [
  ...entity(1, 0, 3, -1, "chassis"),
  ...entity(2, 1, 5, 3, "slot 3"),
  ...entity(3, 2, 9, 1, "line card"),
  ...entity(4, 3, 8, 1, "inlet"),
  ...entity(5, 5, 8, 1, "its own parent"),
  ...sensor(4, 315, 1),
  ...sensor(5, 0, 2),
  ...sensor(6, 1_000_000_000, 1),
  ["25.3.2.1.2.9", { type: "ObjectIdentifier", value: oidOf("1.3.6.1.2.1.25.3.1.3") }],
  ["25.3.2.1.3.9", octets("GenuineIntel")],
  ["25.3.3.1.2.9", integer(12)],
];
const port = (column: string, value: TypedValue) => ({ oid: oidOf(`1.0.8802.1.1.2.1.${column}`), value });
const table = rigTable.with([
  ...cells.map(([oid, value]) => ({ oid: oidOf(`1.3.6.1.2.1.${oid}`), value })),
  port("3.7.1.2.17", integer(5)),
  port("3.7.1.3.17", octets("ge-0/0/17")),
  port("3.7.1.4.17", octets("uplink")),
  port("4.1.1.4.0.17.1", integer(5)),
  port("4.1.1.9.0.17.1", octets("neighbour")),
]);

const start = (t: Parameters<typeof startSnmpRig>[0]): Promise<SnmpRig> =>
  startSnmpRig(t, {
    agent: { table, uptime: 10_000 },
    files: {
      "devices/lab.yml": patientDevice,
      "objects/entity.yml": shipped("objects/ietf/entity-mib.yml"),
      "objects/sensor.yml": shipped("objects/ietf/entity-sensor-mib.yml"),
      "objects/host.yml": shipped("objects/ietf/host-resources-mib.yml"),
      "objects/lldp.yml": shipped("objects/ietf/lldp-mib.yml"),
      "enums/integer/entity.yml": shipped("enums/integer/ietf/entity-mib.yml"),
      "object_groups/more.yml":
        "more:\n  objects: [ENTITY-MIB::entPhysicalTable, ENTITY-SENSOR-MIB::entPhySensorTable, LLDP-MIB::lldpRemTable, " +
        "LLDP-MIB::lldpLocPortTable, HOST-RESOURCES-MIB::hrProcessorTable, HOST-RESOURCES-MIB::hrDeviceTable]\n",
      "device_groups/all.yml": "generic:\n  object_groups: [system]\nrouter:\n  object_groups: [system, more]\n",
      "autodiscover/sysoids/all.yml": "",
    },
  });
const pick = (record: SnmpRecord | undefined, ...names: string[]): unknown[] => names.map((name) => record?.[name]);

describe("rows that refer to rows of other tables", () => {
  test("have their names, from the first poll on, and again after a restart", async (t) => {
    const rig = await start(t);
    const sensors = await until("the sensors", () => {
      const found = rig.of("ENTITY-SENSOR-MIB::entPhySensorTable");
      return found.length >= 3 && found;
    });
    const about = ["entity.index", "entity.name", "entity.class.name", "entity.slot"];
    assert.deepEqual(pick(sensors[0], ...about), [4, "inlet", "sensor", 3]);
    assert.deepEqual(pick(sensors[1], ...about), [5, "its own parent", "sensor", undefined]);
    assert.deepEqual(pick(sensors[2], ...about), [6, undefined, undefined, undefined]);
    const [processor] = await until("the processor", () => {
      const found = rig.of("HOST-RESOURCES-MIB::hrProcessorTable");
      return found.length > 0 && found;
    });
    assert.deepEqual(pick(processor, "system.cpu.index", "system.cpu.name", "system.cpu.util.pct"), [
      9,
      "GenuineIntel",
      12,
    ]);
    const [neighbour] = await until("the neighbour", () => {
      const found = rig.of("LLDP-MIB::lldpRemTable");
      return found.length > 0 && found;
    });
    const ofPort = ["lldp.local.port.number", "lldp.local.port.name", "lldp.neighbor.system.name"];
    assert.deepEqual(pick(neighbour, ...ofPort), [17, "ge-0/0/17", "neighbour"]);
    rig.agent.table = rig.agent.table.with([{ oid: oidOf("1.3.6.1.2.1.47.1.1.1.1.7.4"), value: octets("outlet") }]);
    rig.agent.reboot();
    await until("the new name", () => rig.records.some((record) => record["entity.name"] === "outlet"));
  });

  test("have no reading where the device has none, and say why", async (t) => {
    const rig = await start(t);
    const sensors = await until("the sensors", () => {
      const found = rig.of("ENTITY-SENSOR-MIB::entPhySensorTable");
      return found.length >= 3 && found;
    });
    const facts = sensors
      .slice(0, 3)
      .map((record) => pick(record, "hw.sensor.value", "hw.sensor.state.id", "hw.sensor.value_state.name"));
    assert.deepEqual(facts, [
      [31.5, 1, undefined],
      [undefined, 2, undefined],
      [undefined, 1, "overflow"],
    ]);
    assert.equal(await rig.count("values_unreadable_total"), 0);
  });
});
