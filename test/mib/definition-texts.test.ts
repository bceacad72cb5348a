import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import {
  definitionTexts,
  MibFault,
  ModuleLibrary,
  moduleFacts,
  writeDefinitions,
  type GeneratedDefinitions,
  type KnownDefinitions,
} from "../../packages/mib/index.ts";
import { createMetrics, systemClock } from "../../src/base/report/index.ts";
import { DefinitionsLoader, definitionPathsIn, type Definitions } from "../../src/snmp/index.ts";
import { acmeModule, oldModule } from "../support/mib-texts.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const nothing: KnownDefinitions = {
  objects: new Map(),
  enums: new Set(),
  fields: new Set(),
  notifications: new Set(),
};

interface Wish {
  readonly roots?: readonly string[];
  readonly deviceGroup?: string;
  readonly known?: KnownDefinitions;
}

function generated(t: TestContext, text: string, wish: Wish = {}): GeneratedDefinitions {
  const file = join(tempDirectory(t), "module");
  writeFileSync(file, text);
  const library = new ModuleLibrary([]);
  const facts = library.readFile(file).flatMap((module) => moduleFacts(library, module));
  const { roots = [".1"], deviceGroup, known = nothing } = wish;
  return definitionTexts({ facts, roots, deviceGroup, known, withDescriptions: true });
}

/** What the files mean, which must be read without any finding. */
async function read(t: TestContext, { files }: GeneratedDefinitions): Promise<Definitions> {
  const directory = tempDirectory(t);
  cpSync(join(import.meta.dirname, "../../../definitions/defaults"), join(directory, "defaults"), { recursive: true });
  for (const folder of ["devices", "autodiscover", "enums", "device_groups"]) mkdirSync(join(directory, folder));
  for (const folder of ["integer", "bitmap", "oid"]) mkdirSync(join(directory, "enums", folder));
  writeDefinitions(directory, files);
  const paths = definitionPathsIn(directory);
  const loader = new DefinitionsLoader({ paths, metrics: createMetrics(), clock: systemClock });
  const { definitions, findings } = await loader.load("apply");
  assert.deepEqual(findings, []);
  return definitions ?? assert.fail();
}

/** Field, syntax and what else there is of each attribute. */
function attributesOf(definitions: Definitions, id: string): Record<string, string> {
  const { attributes } = definitions.objects.get(id) ?? assert.fail(id);
  const texts = [...attributes.values()].map(({ name, field, syntax, metric, tag, overrides }) => {
    const more = [metric, tag ? "tag" : undefined, overrides && `overrides ${overrides.attribute}`];
    return [name, [field, syntax.name, ...more.filter((one) => one !== undefined)].join(" ")];
  });
  return Object.fromEntries(texts) as Record<string, string>;
}

const indexOf = (definitions: Definitions, id: string): unknown =>
  definitions.objects.get(id)?.index.map(({ type, field, syntax }) => `${type} ${field} ${syntax.name}`);

test("each construct of a module becomes what the definitions have for it", async (t) => {
  const definitions = await read(t, generated(t, acmeModule, { deviceGroup: "acme" }));
  assert.deepEqual(attributesOf(definitions, "ACME-MIB::acmeObjects"), {
    acmeSerial: "acme.serial DisplayString",
    acmeLoad: "acme.load.pct Percent100 gauge",
    acmeStarted: "acme.started DateAndTime",
  });
  assert.deepEqual(attributesOf(definitions, "ACME-MIB::acmeFanTable"), {
    acmeFanSpeed: "acme.fan.speed Gauge32 gauge",
    acmeFanState: "acme.fan.state EnumInteger",
    acmeFanHot: "acme.fan.hot TruthValue",
    acmeFanTemperature: "acme.fan.temperature TemperatureDeciC gauge",
    acmeFanAlarms: "acme.fan.alarms EnumBitmap",
  });
  assert.deepEqual(attributesOf(definitions, "ACME-MIB::acmePortTable"), {
    acmePortInOctets: "acme.port.octets.in Counter32 counter",
    acmePortHCInOctets: "acme.port.octets.in Counter64 counter overrides acmePortInOctets",
    acmePortPeak: "acme.port.peak NumberDeci gauge",
  });
  assert.deepEqual(attributesOf(definitions, "ACME-MIB::acmePeerTable"), {
    acmePeerUptime: "acme.peer.uptime TimeTicks",
    acmePeerSource: "acme.peer.source InetAddress",
  });
  assert.deepEqual(indexOf(definitions, "ACME-MIB::acmeFanTable"), [
    "OctetString2 acme.fan.slot HexString",
    "ImplicitOctetString acme.fan.name SnmpAdminString",
  ]);
  assert.deepEqual(indexOf(definitions, "ACME-MIB::acmePortTable"), ["Integer32 netif InterfaceIndex"]);
  assert.deepEqual(indexOf(definitions, "ACME-MIB::acmePeerTable"), [
    "Integer32 netif InterfaceIndex",
    "Integer32 acme.peer.address_type EnumInteger",
    "OctetString acme.peer.address InetAddress",
    "MacAddress acme.peer.mac MacAddress",
  ]);
  assert.deepEqual(
    [...(definitions.enums.integer.get(".1.3.6.1.4.1.32473.1.4.1.4") ?? [])],
    [
      [1, "up"],
      [2, "notReady"],
      [3, "it-s"],
    ],
  );
  assert.deepEqual(
    [...(definitions.enums.bitmap.get(".1.3.6.1.4.1.32473.1.4.1.7") ?? [])],
    [
      [0, "stuck"],
      [9, "loud"],
    ],
  );
  assert.deepEqual(definitions.deviceGroups.get("acme"), ["acme_mib"]);
  assert.deepEqual(
    [...(definitions.enums.oid.get(".1.3.6.1.6.3.1.1.4.1") ?? [])],
    [[".1.3.6.1.4.1.32473.0.1", "acmeFanFailed"]],
  );
});

test("labels of bits and numbers that cannot have any cost the labels: the module can be used", async (t) => {
  const module = `BIT-MIB DEFINITIONS ::= BEGIN IMPORTS enterprises FROM SNMPv2-SMI;
    bits OBJECT IDENTIFIER ::= { enterprises 32473 77 }
    masks OBJECT-TYPE SYNTAX BITS { none(0), one(1), high(2147483648) } MAX-ACCESS read-only STATUS current ::= { bits 1 }
    signed OBJECT-TYPE SYNTAX BITS { low(-1), one(1) } MAX-ACCESS read-only STATUS current ::= { bits 2 }
    fine OBJECT-TYPE SYNTAX BITS { a(0), b(99) } MAX-ACCESS read-only STATUS current ::= { bits 3 }
    huge OBJECT-TYPE SYNTAX INTEGER { one(1), all(18446744073709551615) } MAX-ACCESS read-only STATUS current ::= { bits 4 }
    END`;
  const made = generated(t, module);
  const definitions = await read(t, made);
  assert.deepEqual(attributesOf(definitions, "BIT-MIB::bits"), {
    masks: "masks.value HexString",
    signed: "signed.value HexString",
    fine: "fine.value EnumBitmap",
    huge: "huge.value Integer32",
  });
  assert.match(
    made.files.get("objects/bit-mib.yml") ?? "",
    /question: high\(2147483648\) is beyond what can have a label/,
  );
});

test("descriptions are comments, doubts are questions, what is left out says why", (t) => {
  const text = generated(t, acmeModule).files.get("objects/acme-mib.yml") ?? "";
  assert.match(text, /^# All fans, 'quoted' and # marked\.\nACME-MIB::acmeFanTable:\n/m);
  assert.match(text, /# question: the serial number of the device\?.+\n {4}acmeSerial:/);
  assert.match(
    text,
    /# question: the description speaks of -1: is it no reading\? Then no_value: \{-1: unknown\}\n {4}acmeFanSpeed:/,
  );
  assert.match(text, /# question: does it mean system\.cpu\.util\.pct\? .+\n {4}acmeLoad:/);
  assert.match(text, /# units: rpm\n/);
  assert.match(
    text,
    /# acmeFanOld is obsolete\n {4}# acmeFanRowStatus is a RowStatus, which is for managers that write\n/,
  );
  assert.match(text, /# acmePeerSourceType is seen in the address itself\n/);
  assert.match(text, /# AcmeTenths; deprecated\n {4}acmePortPeak:/);
});

test("an object of SMIv1 whose index is not named asks for it, and can be polled all the same", async (t) => {
  const made = generated(t, oldModule);
  const definitions = await read(t, made);
  assert.deepEqual(indexOf(definitions, "OLD-MIB::oldTable"), [
    "IpAddress old.address IpAddress",
    "Integer32 old.number Integer32",
  ]);
  assert.deepEqual(attributesOf(definitions, "OLD-MIB::oldTable"), {
    oldPackets: "old.packets Counter32 counter",
    oldYes: "old.yes TruthValue",
  });
  assert.deepEqual(indexOf(definitions, "OLD-MIB::oldUnknownTable"), [
    "ImplicitObjectIdentifier snmp.object.instance ObjectIdentifier",
  ]);
  assert.match(
    made.files.get("objects/old-mib.yml") ?? "",
    /# question: the module does not name the objects of the index/,
  );
});

test("roots are names, names with their module, or OIDs; others are refused", (t) => {
  const ids = (...roots: readonly string[]): readonly string[] => generated(t, acmeModule, { roots }).objects;
  assert.deepEqual(ids("acmeFanTable"), ["ACME-MIB::acmeFanTable"]);
  assert.deepEqual(ids("ACME-MIB::acmeFanEntry", "acmeLoad"), ["ACME-MIB::acmeObjects", "ACME-MIB::acmeFanTable"]);
  assert.deepEqual(ids("1.3.6.1.4.1.32473.1.5"), ["ACME-MIB::acmePortTable"]);
  assert.throws(
    () => ids("acmeFanTabel"),
    (error) =>
      error instanceof MibFault && error.message.endsWith('no such object in ACME-MIB (did you mean "acmeFanTable"?)'),
  );
  assert.throws(() => ids("1.3.6.1.4.1.9"), /there is no object at or below \.1\.3\.6\.1\.4\.1\.9$/);
});

test("what is defined already is left out, augmented, and its names are not used for something else", (t) => {
  const known: KnownDefinitions = {
    objects: new Map([
      ["ACME-MIB::acmeFanTable", "here"],
      ["IF-MIB::ifTable", "there"],
    ]),
    enums: new Set(),
    fields: new Set(["acme.serial", "acme.load.pct.1m"]),
    notifications: new Set([".1.3.6.1.4.1.32473.0.1"]),
  };
  const { files, skipped } = generated(t, acmeModule, { known });
  const text = files.get("objects/acme-mib.yml") ?? "";
  assert.deepEqual(skipped, ["ACME-MIB::acmeFanTable (here)"]);
  assert.match(text, / {2}augments: IF-MIB::ifTable\n/);
  assert.match(text, /name: acme\.serial_value\n/);
  assert.match(text, /name: acme\.load\.pct_value\n/);
  assert.doesNotMatch(text, /acmeFan/);
  assert.equal(files.has("enums/oid/acme-mib.yml"), false);
});

/** UNITS clauses as modules write them, with the syntax of the values. */
const units: readonly (readonly [units: string, hint: string | undefined, syntax: string])[] = [
  ["0.1 degrees Celsius", undefined, "TemperatureDeciC"],
  ["degrees C", "d-2", "TemperatureCentiC"],
  ["Degrees Fahrenheit", undefined, "TemperatureF"],
  ["1/10 Volt", undefined, "VoltageDeciVolt"],
  ["0.1 RMS Amp", undefined, "CurrentDeciAmp"],
  ["milliamps", undefined, "CurrentMilliAmp"],
  ["0.001 mA", undefined, "CurrentMicroAmp"],
  ["Celsius (degrees C)", undefined, "TemperatureC"],
  ["tenths of percent", undefined, "PercentDeci100"],
  ["0.1 percent humidity", undefined, "PercentDeci100"],
  ["0.01 dBm", undefined, "PowerCentiDbm"],
  ["milliseconds", undefined, "TicksMilliSec"],
  ["hundredths of a second", undefined, "TicksCentiSec"],
  ["minutes", undefined, "TicksMin"],
  ["kilobytes", undefined, "BytesKiB"],
  ["kilobits per second", undefined, "BandwidthKBits"],
  ["0.1 Hertz", undefined, "FreqDeciHz"],
  ["kWh", undefined, "EnergyKiloWattHour"],
  ["packets", undefined, "Integer32"],
  ["0.001 packets", undefined, "NumberMilli"],
];

test("units become syntaxes", async (t) => {
  const columns = units.map(([unit, hint], i) => {
    const type = hint === undefined ? "Integer32" : `T${i}`;
    const convention =
      hint === undefined ? "" : `T${i} ::= TEXTUAL-CONVENTION DISPLAY-HINT "${hint}" STATUS current SYNTAX Integer32\n`;
    return `${convention}unitA${i} OBJECT-TYPE SYNTAX ${type} UNITS "${unit}" MAX-ACCESS read-only STATUS current ::= { enterprises 32473 ${i} }`;
  });
  const text = `U-MIB DEFINITIONS ::= BEGIN\nIMPORTS enterprises, Integer32 FROM SNMPv2-SMI;\n${columns.join("\n")}\nEND`;
  const { objects } = await read(t, generated(t, text));
  const found = [...objects.values()].flatMap(({ attributes }) =>
    [...attributes.values()].map(({ syntax }) => syntax.name),
  );
  assert.deepEqual(
    found,
    units.map(([, , syntax]) => syntax),
  );
});

test("names that an enumeration gives to records are nobody else's", async (t) => {
  const column = (name: string, type: string, arc: number): string =>
    `${name} OBJECT-TYPE SYNTAX ${type} MAX-ACCESS read-only STATUS current ::= { enterprises 32473 ${arc} }`;
  const columns = [
    column("aaLevel", "INTEGER { low(1), high(2) }", 1),
    column("aaLevelId", "Integer32", 2),
    column("aaNode", "INTEGER { x(1) }", 3),
    column("aaNodeNameIn", "Integer32", 4),
  ];
  const text = `N-MIB DEFINITIONS ::= BEGIN\nIMPORTS enterprises, Integer32 FROM SNMPv2-SMI;\n${columns.join("\n")}\nEND`;
  // It is read without a finding.
  assert.equal((await read(t, generated(t, text))).objects.size, 1);
});

test("what is written for a module stays the same", (t) => {
  const golden = join(import.meta.dirname, "../../../test/mib/golden/acme-mib.yml");
  const text = generated(t, acmeModule).files.get("objects/acme-mib.yml") ?? "";
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(golden, text);
  assert.equal(text, readFileSync(golden, "utf8"));
});
