import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { recordFields, type RecordFields } from "../../src/record/index.ts";
import { createMetrics, systemClock } from "../../src/base/report/index.ts";
import {
  compileDefinitionFile,
  DefinitionsLoader,
  decodeIndex,
  definitionPathsIn,
  fieldNames,
  formatFinding,
  formatOid,
  genericGroup,
  groupsOfSysObjectId,
  listDefinitionFiles,
  oidStartsWith,
  parseOid,
  pollIntervalMs,
  putRow,
  reachedObjects,
  syntaxes,
  type Attribute,
  type Cell,
  type Definitions,
  type FieldDefinition,
  type LoadOutcome,
  type NameTables,
  type ObjectDefinition,
  type SnmpValue,
} from "../../src/snmp/index.ts";
import { runs } from "../support/runs.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { referenceData } from "../support/reference-data.ts";
import { parseSnmprec, type AgentTable, type TypedValue } from "../support/snmp-agent/index.ts";

const directory = resolve(import.meta.dirname, "../../../definitions");

/** One load of our own set. @param compiled a file of compiled definitions. */
async function loadShipped(compiled?: string): Promise<LoadOutcome & { readonly definitions: Definitions }> {
  const paths = definitionPathsIn(directory);
  const loader = new DefinitionsLoader({
    paths,
    metrics: createMetrics(),
    clock: systemClock,
    ...(compiled && { compiled }),
  });
  const outcome = await loader.load("apply");
  assert.deepEqual(outcome.findings.map(formatFinding), []);
  const { definitions } = outcome;
  assert.ok(definitions);
  return { ...outcome, definitions };
}

let loading: ReturnType<typeof loadShipped> | undefined;

async function shipped(): Promise<Definitions> {
  return (await (loading ??= loadShipped())).definitions;
}

test("our own set says the same when it is compiled, and then all but the defaults of devices are", async (t) => {
  const { files } = await listDefinitionFiles(definitionPathsIn(directory));
  const lines = files.map(({ kind, path }) => {
    const bytes = readFileSync(path);
    return compileDefinitionFile(kind, bytes, hash("sha256", bytes, "hex")) ?? "";
  });
  const compiled = join(tempDirectory(t), "definitions.compiled");
  writeFileSync(compiled, lines.join(""));
  const outcome = await loadShipped(compiled);
  assert.equal(outcome.parsedFiles, files.filter(({ kind }) => kind === "device_default").length);
  assert.ok(isDeepStrictEqual(outcome.definitions, await shipped()));
});

test("our own set has no finding, and each group and object is of use", async () => {
  const definitions = await shipped();
  assert.ok(definitions.objects.size > 90);
  assert.ok(definitions.deviceGroups.has(genericGroup));
  assert.deepEqual(Object.fromEntries(definitions.objectTypes), {
    dynamic: 60_000,
    active: 300_000,
    stable: 3_600_000,
    immutable: 86_400_000,
  });
  const reached = reachedObjects(definitions, [...definitions.deviceGroups.keys()]);
  assert.deepEqual(
    [...definitions.objects.keys()].filter((id) => !reached.has(id)),
    [],
  );
});

test("no field of our own set is the start of another, and no attribute is there twice", async () => {
  const definitions = await shipped();
  const fields = new Set(["system.ip.addr", "system.host.name", "snmp.object.name", "@timestamp"]);
  const owners = new Map<string, string>();
  for (const object of definitions.objects.values()) {
    for (const target of [...object.index, ...object.attributes.values()]) {
      for (const field of fieldNames(target)) {
        assert.match(field, /^[a-z][a-z0-9_]*(?:\.[a-z0-9][a-z0-9_]*)+$/);
        fields.add(field);
      }
    }
    for (const attribute of object.attributes.values()) {
      assert.equal(owners.get(attribute.oidText), undefined, attribute.oidText);
      owners.set(attribute.oidText, object.id);
    }
  }
  const clashes: string[] = [];
  for (const field of fields) {
    for (let dot = field.indexOf("."); dot >= 0; dot = field.indexOf(".", dot + 1)) {
      if (fields.has(field.slice(0, dot))) clashes.push(`${field.slice(0, dot)} is a field and ${field} lies below it`);
    }
  }
  assert.deepEqual(clashes, []);
});

/** What a value of a syntax is in a record. */
function jsonTypeOf({ syntax }: Pick<Attribute, "syntax">): "number" | "boolean" | "text" {
  if (syntax.kind === "truth") return "boolean";
  const numbers = ["number", "scaled", "duration", "temperature", "blocks", "sensor", "interface", "entity"];
  numbers.push("decibel", "factored", "text-percent", "optical-power", "health");
  return [...numbers, "text-number", "host-device"].includes(syntax.kind) ? "number" : "text";
}

/** Their unit is in `hw.sensor.unit` of the same record. */
const withOwnUnit = /^hw\.sensor\.(?:value|raw|limit)/;

test("a name has one type and one unit: in all definitions, and in the table of record fields", async () => {
  const definitions = await shipped();
  const unitOf = ({ syntax }: Attribute): string =>
    /^(?:Bytes|Bandwidth|Freq|Percent|Temperature|Power|Energy|Charge|Current|Voltage|Gain)/.exec(syntax.name)?.[0] ??
    (syntax.kind === "duration" ? "ms" : "");
  const known = new Map<string, string>();
  const types: Readonly<Record<string, string>> = { long: "number", unsigned_long: "number", double: "number" };
  for (const object of definitions.objects.values()) {
    for (const attribute of object.attributes.values()) {
      for (const field of fieldNames(attribute)) {
        if (/\.(?:name|id|oid|index|slot|severity)$/.test(field)) continue;
        const type = jsonTypeOf(attribute);
        const said = withOwnUnit.test(field) ? type : `${type} ${unitOf(attribute)}`;
        assert.equal(said, known.get(field) ?? said, `${object.id} ${field}`);
        known.set(field, said);
        const inTable = recordFields.find(({ name }) => name === field);
        if (inTable === undefined) continue;
        const tableType = inTable.type === "boolean" ? "boolean" : (types[inTable.type] ?? "text");
        assert.equal(type, tableType, `${object.id} ${field}`);
      }
    }
  }
});

test("metrics are in base units, and none is called as a part of a histogram", async () => {
  const { objects } = await shipped();
  const metrics = [...objects.values()].flatMap(({ id, attributes }) =>
    [...attributes.values()].flatMap(({ metric, field }) => (metric === undefined ? [] : [`${id} ${field}`])),
  );
  const odd = /[._](?:[kmgt]i?b|bits|[mnu]s|minutes|hours|days|[kmg]hz|[mk]?[vaw]|count|sum|bucket)$/;
  assert.deepEqual(
    metrics.filter((name) => odd.test(name)),
    [],
  );
});

/** What they measure, how many digits that has, or what they are called is in a second table with the same index. */
const joined =
  /^(?:PDU2-MIB::\w+SensorMeasurementsTable|Sentry4-MIB::st4\w+MonitorTable|HOST-RESOURCES-MIB::hrSWRunPerfTable)$/;

test("an index of a vendor's module is that of the vendor whose columns it stands for", async () => {
  const vendorOf = (oid: string): string | undefined => /^\.1\.3\.6\.1\.4\.1\.\d+/.exec(oid)?.[0];
  const strange = [...(await shipped()).objects.values()].flatMap(({ id, index, attributes }) => {
    const vendors = new Set(Array.from(attributes.values(), ({ oidText }) => vendorOf(oidText)));
    return index
      .filter(({ oidText }) => !vendors.has(vendorOf(oidText) ?? vendors.values().next().value))
      .map(() => id);
  });
  assert.deepEqual(strange, []);
});

test("the columns of a table are of one row, and what it overrides has the same name", async () => {
  const definitions = await shipped();
  for (const object of definitions.objects.values()) {
    const oids = [...object.attributes.values()].map((attribute) => attribute.oid);
    const parent = (oids[0] as readonly number[]).slice(0, -1);
    // Scalars of a module may be gathered from several of its groups.
    if (object.index.length > 0 && !joined.test(object.id))
      for (const oid of oids) assert.ok(oidStartsWith(oid, parent) && oid.length === parent.length + 1, formatOid(oid));
    for (const { field, overrides } of object.attributes.values()) {
      if (overrides === undefined) continue;
      const overridden = definitions.objects.get(overrides.object)?.attributes.get(overrides.attribute);
      assert.equal(overridden?.field, field);
    }
  }
});

test("every syntax that the description names exists", () => {
  const text = readFileSync(join(directory, "README.md"), "utf8");
  const table = text.slice(text.indexOf("## Syntaxes"), text.indexOf("## Names of fields"));
  const firstColumn = [...table.matchAll(/^\| (.*?) \|/gm)].map((line) => line[1]).join(" ");
  const names = [...firstColumn.matchAll(/`([A-Za-z0-9]+)`/g)].map((match) => match[1] as string);
  assert.ok(names.length > 40);
  assert.deepEqual(
    names.filter((name) => !syntaxes.has(name)),
    [],
  );
});

/** What each device of the recorded walks should be found to have: the number of its rows by object. */
const walks: Readonly<
  Record<string, { readonly groups: readonly string[]; readonly rows: Readonly<Record<string, number>> }>
> = {
  "cisco-c3560": {
    groups: ["cisco", "cisco_ios"],
    rows: {
      "BGP4-MIB::bgp": 1,
      "BRIDGE-MIB::dot1dBase": 1,
      "CISCO-CDP-MIB::cdpCacheTable": 9,
      "CISCO-ENVMON-MIB::ciscoEnvMonFanStatusTable": 1,
      "CISCO-ENVMON-MIB::ciscoEnvMonSupplyStatusTable": 1,
      "CISCO-ENVMON-MIB::ciscoEnvMonTemperatureStatusTable": 1,
      "CISCO-FLASH-MIB::ciscoFlashPartitionTable": 1,
      "CISCO-MEMORY-POOL-MIB::ciscoMemoryPoolTable": 3,
      "CISCO-POWER-ETHERNET-EXT-MIB::cpeExtPdStatistics": 1,
      "CISCO-PROCESS-MIB::cpmCPUTotalTable": 1,
      "CISCO-STACK-MIB::chassisGrp": 1,
      "CISCO-STACK-MIB::moduleTable": 1,
      "CISCO-VTP-MIB::vtpVlanTable": 8,
      "ENTITY-MIB::entPhysicalTable": 61,
      "EtherLike-MIB::dot3StatsTable": 52,
      "IEEE8023-LAG-MIB::dot3adAggPortTable": 52,
      "IF-MIB::ifStackTable": 114,
      "IF-MIB::ifTable": 57,
      "IF-MIB::ifXTable": 57,
      "IP-MIB::icmp": 1,
      "IP-MIB::ip": 1,
      "IP-MIB::ipAddrTable": 2,
      "IP-MIB::ipAddressTable": 4,
      "IP-MIB::ipNetToMediaTable": 15,
      "IP-MIB::ipNetToPhysicalTable": 21,
      "IP-MIB::ipSystemStatsTable": 1,
      "LLDP-MIB::lldpLocPortTable": 53,
      "LLDP-MIB::lldpLocalSystemData": 1,
      "OLD-CISCO-CPU-MIB::lcpu": 1,
      "SNMP-FRAMEWORK-MIB::snmpEngine": 1,
      "SNMPv2-MIB::snmp": 1,
      "SNMPv2-MIB::system": 1,
      "TCP-MIB::tcp": 1,
      "UDP-MIB::udp": 1,
    },
  },
  "aruba-7210": {
    groups: ["aruba_arubaos"],
    rows: {
      "BRIDGE-MIB::dot1dBase": 1,
      "ENTITY-MIB::entPhysicalTable": 43,
      "IF-MIB::ifTable": 22,
      "IF-MIB::ifXTable": 22,
      "IP-MIB::ipAddrTable": 3,
      "IP-MIB::ipNetToMediaTable": 4,
      "Q-BRIDGE-MIB::dot1qBase": 1,
      "SNMPv2-MIB::snmp": 1,
      "SNMPv2-MIB::system": 1,
      "WLSX-SYSTEMEXT-MIB::wlsxSysExtFanTable": 4,
      "WLSX-SYSTEMEXT-MIB::wlsxSysExtMemoryTable": 1,
      "WLSX-SYSTEMEXT-MIB::wlsxSysExtPowerSupplyTable": 2,
      "WLSX-SYSTEMEXT-MIB::wlsxSysExtProcessorTable": 9,
      "WLSX-SYSTEMEXT-MIB::wlsxSysExtStorageTable": 3,
      "WLSX-SYSTEMEXT-MIB::wlsxSystemExtGroup": 1,
      "WLSX-SYSTEMEXT-MIB::wlsxSystemExtGroup.temperature": 1,
      "WLSX-WLAN-MIB::wlsxWlanAPBssidTable": 47,
      "WLSX-WLAN-MIB::wlsxWlanAPTable": 13,
      "WLSX-SWITCH-MIB::wlsxAccessPointInfoGroup": 1,
      "WLSX-WLAN-MIB::wlsxWlanAccessPointInfoGroup": 1,
      "WLSX-WLAN-MIB::wlsxWlanRadioTable": 16,
    },
  },
  "apc-8641": {
    groups: ["apc", "apc_pdu"],
    rows: {
      "IF-MIB::ifTable": 2,
      "IP-FORWARD-MIB::ipForward": 1,
      "IP-MIB::icmp": 1,
      "IP-MIB::ip": 1,
      "IP-MIB::ipAddrTable": 2,
      "IP-MIB::ipAddressTable": 2,
      "IP-MIB::ipNetToMediaTable": 1,
      "IP-MIB::ipNetToPhysicalTable": 1,
      "IP-MIB::ipSystemStatsTable": 2,
      "PowerNet-MIB::rPDU2BankStatusTable": 2,
      "PowerNet-MIB::rPDU2BankStatusTable.details": 2,
      "PowerNet-MIB::rPDU2DeviceStatusTable": 1,
      "PowerNet-MIB::rPDU2DeviceStatusTable.details": 1,
      "PowerNet-MIB::rPDU2IdentTable": 1,
      "PowerNet-MIB::rPDU2OutletMeteredStatusTable": 24,
      "PowerNet-MIB::rPDU2OutletSwitchedStatusTable": 24,
      "PowerNet-MIB::rPDU2PhaseStatusTable": 1,
      "PowerNet-MIB::rPDU2PhaseStatusTable.details": 1,
      "PowerNet-MIB::rPDU2PhaseToPhaseStatusTable": 1,
      "PowerNet-MIB::rPDU2SensorTempHumidityStatusTable": 1,
      "PowerNet-MIB::rPDU2SensorTempHumidityStatusTable.details": 1,
      "PowerNet-MIB::rPDUIdent": 1,
      "PowerNet-MIB::rPDULoadStatusTable": 3,
      "PowerNet-MIB::rPDUOutletStatusTable": 24,
      "PowerNet-MIB::rPDUPowerSupplyDevice": 1,
      "PowerNet-MIB::rPDUStatusBankTable": 2,
      "PowerNet-MIB::sPDUOutletControlTable": 24,
      "SNMPv2-MIB::snmp": 1,
      "SNMPv2-MIB::system": 1,
      "TCP-MIB::tcp": 1,
      "UDP-MIB::udp": 1,
    },
  },
  slackware: {
    groups: ["embedded", "linux"],
    rows: {
      "HOST-RESOURCES-MIB::hrDeviceTable": 10,
      "HOST-RESOURCES-MIB::hrDiskStorageTable": 3,
      "HOST-RESOURCES-MIB::hrFSTable": 3,
      "HOST-RESOURCES-MIB::hrPrinterTable": 2,
      "HOST-RESOURCES-MIB::hrProcessorTable": 2,
      "HOST-RESOURCES-MIB::hrSWRunPerfTable": 165,
      "HOST-RESOURCES-MIB::hrStorage": 1,
      "HOST-RESOURCES-MIB::hrStorageTable": 8,
      "HOST-RESOURCES-MIB::hrSystem": 1,
      "IF-MIB::ifTable": 2,
      "IF-MIB::ifXTable": 2,
      "IP-FORWARD-MIB::ipForward": 1,
      "IP-MIB::icmp": 1,
      "IP-MIB::ip": 1,
      "IP-MIB::ipAddrTable": 2,
      "IP-MIB::ipAddressTable": 4,
      "IP-MIB::ipNetToMediaTable": 1,
      "IP-MIB::ipNetToPhysicalTable": 1,
      "IP-MIB::ipSystemStatsTable": 2,
      "SNMP-FRAMEWORK-MIB::snmpEngine": 1,
      "SNMPv2-MIB::snmp": 1,
      "SNMPv2-MIB::system": 1,
      "TCP-MIB::tcp": 1,
      "UCD-SNMP-MIB::laTable": 3,
      "UCD-SNMP-MIB::memory": 1,
      "UCD-SNMP-MIB::systemStats": 1,
      "UDP-MIB::udp": 1,
    },
  },
};

/** The values of an object in a walk, by the suffix of their instances. */
function rowsOf(table: AgentTable, object: ObjectDefinition): Map<string, Cell[]> {
  const rows = new Map<string, Cell[]>();
  for (const attribute of object.attributes.values()) {
    for (const [suffix, value] of columnOf(table, attribute)) {
      const key = suffix.join(".");
      rows.set(key, [...(rows.get(key) ?? []), [attribute, value]]);
    }
  }
  return rows;
}

function* columnOf(table: AgentTable, attribute: Attribute): Generator<[readonly number[], TypedValue]> {
  let row = table.after(attribute.oid);
  while (row !== undefined && oidStartsWith(row.oid, attribute.oid)) {
    yield [row.oid.slice(attribute.oid.length), typeof row.value === "function" ? row.value(0) : row.value];
    row = table.after(row.oid);
  }
}

const { path, skip } = referenceData("snmp");
const recorded: Record<string, RecordFields[]> = {};

for (const [walk, expected] of Object.entries(walks)) {
  test(`a recorded ${walk} has the objects that our set has for it, and each value can be read`, { skip }, async () => {
    const definitions = await shipped();
    const table = parseSnmprec(readFileSync(join(path, `${walk}.snmprec`), "utf8"));
    const sysObjectId = table.find(parseOid(".1.3.6.1.2.1.1.2.0") ?? [])?.value;
    assert.ok(typeof sysObjectId === "object" && sysObjectId.type === "ObjectIdentifier");
    const groups = groupsOfSysObjectId(definitions, sysObjectId.value);
    assert.deepEqual(groups, expected.groups);

    const names: NameTables = { enums: definitions.enums, interfaceName: (index) => `if${index}` };
    const found: Record<string, number> = {};
    for (const [id, object] of reachedObjects(definitions, groups)) {
      const rows = rowsOf(table, object);
      const { discoveryAttribute } = object;
      const isSupported =
        discoveryAttribute === undefined ? rows.size > 0 : [...columnOf(table, discoveryAttribute)].length > 0;
      assert.equal(isSupported, rows.size > 0, `${id}: the discovery attribute does not show whether it is there`);
      if (!isSupported) continue;
      found[id] = rows.size;
      for (const [suffix, cells] of rows) {
        const instance = suffix.split(".").map(Number);
        const parts = decodeIndex(
          object.index.map((part) => part.type),
          object.index.length === 0 ? [] : instance,
        );
        assert.ok(parts !== undefined, `${id}: index ${suffix}`);
        const fields: RecordFields = new Map();
        const index = object.index.map((part, i): Cell => [part, parts[i] as TypedValue]);
        const unreadable = [index, cells].flatMap((some) => putRow(fields, some, names).unreadable);
        assert.deepEqual(
          unreadable.map((target) => target.field),
          [],
          `${id} ${suffix}`,
        );
        (recorded[`${walk} ${id}`] ??= []).push(fields);
      }
    }
    assert.deepEqual(found, expected.rows);
  });
}

test("rows of the recorded walks say what the devices said", { skip }, () => {
  const row = (name: string, i = 0): Record<string, unknown> => Object.fromEntries(recorded[name]?.[i] ?? []);
  const cpu = row("cisco-c3560 CISCO-PROCESS-MIB::cpmCPUTotalTable");
  assert.deepEqual(cpu, {
    "system.cpu.index": 1,
    "entity.index": 0,
    "system.cpu.util.5s.pct": 33,
    "system.cpu.util.1m.pct": 58,
    "system.cpu.util.5m.pct": 28,
  });
  const pdu = row("apc-8641 PowerNet-MIB::rPDU2PhaseStatusTable");
  assert.equal(pdu["pdu.phase.current"], 6.5);
  assert.equal(pdu["pdu.phase.voltage"], 201);
  assert.equal(pdu["pdu.phase.power"], 1220);
  assert.equal(pdu["pdu.phase.state.name"], "normal");
  const storage = row("slackware HOST-RESOURCES-MIB::hrStorageTable");
  assert.equal(storage["storage.type.name"], "ram");
  assert.equal(storage["storage.total.bytes"], 1_021_976 * 1024);
  const load = row("slackware UCD-SNMP-MIB::laTable");
  assert.deepEqual(load, { "system.cpu.load.index": 1, "system.cpu.load.name": "Load-1", "system.cpu.load.avg": 0.46 });
  const ap = row("aruba-7210 WLSX-WLAN-MIB::wlsxWlanAPTable");
  assert.equal(ap["wireless.ap.mac.addr"], "00:0b:86:81:4e:a8");
  assert.equal(ap["wireless.ap.ip.addr"], "10.20.101.254");
  assert.equal(ap["wireless.ap.state.name"], "up");
  assert.equal(ap["wireless.ap.uptime"], 1_440_485_000);
  const netif = row("aruba-7210 IF-MIB::ifXTable");
  assert.equal(netif["netif.bytes.in"], 6_745_985_081);
  assert.equal(netif["netif.bandwidth.bw"], 1_000_000_000);
});

test("counters of interfaces are polled each minute", async () => {
  const definitions = await shipped();
  const device = { pollIntervalMs: 5, pollIntervalsMs: new Map() } as unknown as Parameters<typeof pollIntervalMs>[1];
  assert.equal(pollIntervalMs(definitions, device, definitions.objects.get("IF-MIB::ifXTable")?.type), 60_000);
});

/** What an agent may answer for any column: wrong types, ends of ranges, long octets, exceptions. */
const hostileValue: fc.Arbitrary<SnmpValue> = fc.oneof(
  fc.constantFrom<SnmpValue>(
    { type: "Integer32", value: -(2 ** 31) },
    { type: "Integer32", value: 2 ** 31 - 1 },
    { type: "Gauge32", value: 2 ** 32 - 1 },
    { type: "Counter64", value: 2n ** 64n - 1n },
    { type: "TimeTicks", value: 2 ** 32 - 1 },
    { type: "ObjectIdentifier", value: [] },
    { type: "noSuchInstance", value: null },
    { type: "endOfMibView", value: null },
    { type: "Null", value: null },
  ),
  fc.integer().map((value): SnmpValue => ({ type: "Integer32", value })),
  fc.array(fc.nat(2 ** 32 - 1), { maxLength: 128 }).map((value): SnmpValue => ({ type: "ObjectIdentifier", value })),
  fc.uint8Array({ maxLength: 40 }).map((value): SnmpValue => ({ type: "OctetString", value })),
  fc.uint8Array({ maxLength: 12 }).map((value): SnmpValue => ({ type: "Opaque", value })),
  fc.uint8Array({ maxLength: 6 }).map((value): SnmpValue => ({ type: "IpAddress", value })),
  fc.string({ maxLength: 30 }).map((text): SnmpValue => ({ type: "OctetString", value: Buffer.from(text) })),
  fc
    .tuple(fc.nat(255), fc.constantFrom(2000, 60_000))
    .map(([octet, length]): SnmpValue => ({ type: "OctetString", value: new Uint8Array(length).fill(octet) })),
);

test("hostile rows of any object give its own fields, no more than their octets can fill, and nothing is thrown", async () => {
  const objects = [...(await shipped()).objects.values()];
  const { enums } = await shipped();
  const names: NameTables = { enums, interfaceName: () => undefined };
  // The rarest kind is that of which each bit is a text.
  const ofBits = objects.filter(({ attributes }) =>
    [...attributes.values()].some(({ syntax }) => syntax.kind === "enum-bitmap"),
  );
  const row = fc.tuple(
    fc.oneof(fc.constantFrom(...objects), fc.constantFrom(...ofBits)),
    fc.array(hostileValue, { minLength: 1, maxLength: 8 }),
    fc.array(fc.oneof(fc.nat(300), fc.nat(2 ** 32 - 1)), { maxLength: 60 }),
  );
  fc.assert(
    fc.property(row, ([object, values, arcs]) => {
      const fields: RecordFields = new Map();
      const parts = decodeIndex(
        object.index.map(({ type }) => type),
        arcs,
      );
      const ofIndex = (parts ?? []).map((value, i): Cell => [object.index[i] as FieldDefinition, value]);
      const cells = [...object.attributes.values()].map((attribute, i): Cell => [
        attribute,
        values[i % values.length] as SnmpValue,
      ]);
      putRow(fields, [...ofIndex, ...cells], names);
      const own = new Set([...object.index, ...cells.map(([attribute]) => attribute)].flatMap(fieldNames));
      let size = 0;
      for (const [field, value] of fields) {
        assert.ok(own.has(field) || field.endsWith("_state.name"), field);
        assert.ok(!Number.isNaN(value), field);
        size += typeof value === "object" ? value.length + value.join("").length : String(value).length;
      }
      const octets = values.map(({ value }) => (value instanceof Uint8Array ? value.length : 700));
      const most = cells.reduce((sum, _, i) => sum + 3 * (octets[i % octets.length] as number) + 700, 60_000);
      assert.ok(size <= most, `${object.id}: ${size} characters of ${most}`);
    }),
    runs(300),
  );
});
