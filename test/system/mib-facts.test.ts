import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { createMetrics, systemClock } from "../../src/base/report/index.ts";
import { syntaxOf } from "../../packages/mib/index.ts";
import {
  DefinitionsLoader,
  definitionPathsIn,
  syntaxes,
  type Attribute,
  type Definitions,
} from "../../src/snmp/index.ts";
import { publicFacts } from "../support/public-facts.ts";
import { referenceData } from "../support/reference-data.ts";

/** What the MIB modules say of an object, as far as definitions repeat it. */
interface MibFact {
  readonly module: string;
  readonly name: string;
  readonly oid: string;
  readonly convention: string;
  readonly units: string;
  readonly hint: string;
  /** Names of the objects in the index of a row, in their order. */
  readonly index: readonly string[];
  readonly access: string;
  readonly type: string;
  readonly labels: ReadonlySet<number>;
}

const { path, skip } = referenceData("mibs");

let allFacts: Map<string, MibFact[]> | undefined;

/** Half a million facts, read once for all tests of this file. */
function readFacts(): Map<string, MibFact[]> {
  if (allFacts !== undefined) return allFacts;
  const facts = (allFacts = new Map<string, MibFact[]>());
  const add = (line: string): void => {
    const fact = readFact(line);
    if (fact.oid !== ".") facts.set(fact.oid, [...(facts.get(fact.oid) ?? []), fact]);
  };
  for (const file of readdirSync(path).filter((name) => name.endsWith(".tsv.gz")))
    for (const line of gunzipSync(readFileSync(join(path, file)))
      .toString("latin1")
      .split("\n"))
      add(line);
  for (const line of publicFacts()) add(line);
  return facts;
}

function readFact(line: string): MibFact {
  const [module = "", name = "", oid = "", type = "", convention = "", access = "", units = "", ...rest] =
    line.split("\t");
  const [hint = "", labels = "", index = ""] = rest;
  const numbers = labels.split(",").map((label) => Number(label.slice(label.lastIndexOf("=") + 1)));
  return {
    module,
    name,
    oid: `.${oid}`,
    type,
    convention,
    access,
    units,
    hint,
    labels: new Set(labels === "" ? [] : numbers),
    index: index === "" ? [] : index.split(",").map((part) => part.trim()),
  };
}

async function shipped(): Promise<Definitions> {
  const paths = definitionPathsIn(join(import.meta.dirname, "../../../definitions"));
  const { definitions } = await new DefinitionsLoader({ paths, metrics: createMetrics(), clock: systemClock }).load(
    "start",
  );
  assert.ok(definitions);
  return definitions;
}

test("every attribute has the OID of its module's object, which can be read", { skip }, async () => {
  const [definitions, facts] = [await shipped(), readFacts()];
  const wrong: string[] = [];
  let checked = 0;
  for (const object of definitions.objects.values()) {
    for (const { name, oidText } of object.attributes.values()) {
      checked++;
      const known = facts.get(oidText) ?? [];
      if (!known.some((fact) => fact.name === name && fact.access !== "NoAccess"))
        wrong.push(`${object.id} ${name}: ${oidText} is ${known.map((fact) => fact.name).join() || "nothing"}`);
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(checked > 1200, `${checked} attributes`);
});

test("every enumeration has all labels of its module", { skip }, async () => {
  const [{ enums }, facts] = [await shipped(), readFacts()];
  const wrong: string[] = [];
  for (const [oidText, labels] of enums.integer) {
    for (const { name, labels: numbers } of facts.get(oidText) ?? []) {
      const missing = [...numbers].filter((number) => !labels.has(number));
      if (missing.length > 0) wrong.push(`${oidText} ${name} lacks ${missing.join(", ")}`);
    }
  }
  assert.deepEqual(wrong, []);
});

/** Agents may send text in the place of a number, but no module says so. */
const octets = new Set([
  "DisplayString",
  "OctetString",
  "HexString",
  "MacAddress",
  "PhysAddress",
  "DateAndTime",
  "InetAddress",
]);

/** Their modules say Counter32 of what goes up and down. */
const notCounters = new Set([
  "bsnApIfNoOfUsers",
  "bsnDot11EssNumberOfMobileStations",
  "cbgpPeer2AcceptedPrefixes",
  "mtxrCtIP4Entries",
  "mtxrCtIP6Entries",
  "mtxrCtTotalEntries",
  "mtxrWlApClientCount",
  "mtxrWlApOverallTxCCQ",
  "mtxrWlCMAuthClientCount",
  "mtxrWlCMRegClientCount",
  "mtxrWlCMRemoteRadios",
  "mtxrWlStatRxCCQ",
  "mtxrWlStatTxCCQ",
  "noAddFree",
  "noAddInUse",
  "noPendingOffers",
  "prtMarkerPowerOnCount",
  "slbStatGroupHighestSessions",
  "slbStatRServerHighestSessions",
  "slbStatVServerHighestSessions",
  "vpnConnectionActive",
  "vpnConnectionConnected",
  "vpnConnectionDisconnected",
  "vpnConnectionTotal",
  "hwBgpPeerPrefixActiveCounter",
  "hwBgpPeerPrefixAdvCounter",
  "hwBgpPeerPrefixRcvCounter",
  "sysCPUUsage",
  "sysTotalSession",
  "tBgpPeerNgOperReceivedPrefixes",
  "unifiApSystemUptime",
]);

test("an attribute that is read as octets or as a counter is such an object", { skip }, async () => {
  const [definitions, facts] = [await shipped(), readFacts()];
  const wrong: string[] = [];
  for (const object of definitions.objects.values()) {
    for (const { name, oidText, syntax, metric } of object.attributes.values()) {
      const types = (facts.get(oidText) ?? [])
        .filter((fact) => fact.name === name)
        .map(({ type }) => type.toUpperCase());
      if (types.length === 0) continue;
      if (octets.has(syntax.name) && !types.some((type) => /OCTETSTR|BITS/.test(type)))
        wrong.push(`${object.id} ${name}: ${syntax.name}, ${types.join()}`);
      if (metric === "gauge" && !notCounters.has(name) && types.every((type) => /^COUNTER(?:32)?$/.test(type)))
        wrong.push(`${object.id} ${name}: gauge, ${types.join()}`);
    }
  }
  assert.deepEqual(wrong, []);
});

const baseTypes: Readonly<Record<string, string>> = {
  INTEGER: "INTEGER",
  INTEGER32: "Integer32",
  OCTETSTR: "OCTET STRING",
  UNSIGNED32: "Unsigned32",
  COUNTER64: "Counter64",
  COUNTER: "Counter32",
  GAUGE: "Gauge32",
  IPADDR: "IpAddress",
  TICKS: "TimeTicks",
  BITS: "BITS",
  OBJECTID: "OBJECT IDENTIFIER",
  OPAQUE: "Opaque",
};

/** Agents that write numbers as text: each syntax of a number reads these. */
const ofText: readonly string[] = [
  "hex",
  "number",
  "scaled",
  "temperature",
  "decibel",
  "text-number",
  "text-percent",
  "mac",
  "address",
];

/** Kinds of syntax that say more of a value than its module does in clauses: only its description has it. */
const refinements: Readonly<Record<string, readonly string[]>> = {
  number: [
    "scaled",
    "temperature",
    "decibel",
    "duration",
    "blocks",
    "sensor",
    "factored",
    "optical-power",
    "health",
    "enum-integer",
    "enum-bitmap",
  ],
  scaled: ["number", "blocks", "decibel", "temperature"],
  text: ofText,
  octets: ["text", "lldp-chassis-id", "lldp-port-id", ...ofText],
  hex: ["text", "mac", "address"],
  oid: ["enum-oid"],
  entity: ["number"],
  "enum-integer": ["number", "truth"],
};

/**
 * Tenths of what the description alone says to be degrees Celsius; a convention of the vendor that means PhysicalIndex; hundredths of a
 * percent without a unit; a router id, which is written as an address; tenths of a microwatt, which records have in dBm.
 */
const saidOtherwise = new Set([
  "mtxrHlTemperature",
  "mtxrHlProcessorTemperature",
  "cpmCPUTotalPhysicalIndex",
  "cpmCorePhysicalIndex",
  "mimosaPerRxRate",
  "mimosaPtmpClientTxAvgPer",
  "ospfv3RouterId",
  "dDdmIfInfoCurrentTxPower",
  "dDdmIfInfoCurrentRxPower",
]);

/** What a fact makes of an object, as far as an attribute's syntax contradicts it. */
function contradiction(attribute: Attribute, fact: MibFact): string | undefined {
  const labels = [...fact.labels].map((number): [string, number] => [String(number), number]);
  const type = {
    base: baseTypes[fact.type] ?? fact.type,
    conventions: fact.convention === "" ? [] : [fact.convention],
    hint: fact.hint === "" ? undefined : fact.hint,
    labels: labels.length === 0 ? undefined : labels,
    ranges: undefined,
    sizes: undefined,
  };
  const made = syntaxes.get(syntaxOf(fact.name, type, fact.units === "" ? undefined : fact.units).syntax);
  assert.ok(made);
  const { syntax } = attribute;
  const isOfKind = syntax.kind === made.kind || refinements[made.kind]?.includes(syntax.kind) === true;
  const scale = made.multiply / made.divide;
  // Decibels are over a milliwatt, other powers in watts; a ratio in hundredths is a percentage.
  const unit = syntax.kind === "decibel" ? 1000 : syntax.unit === "%" && made.unit === undefined ? 100 : 1;
  const isScaled = scale === 1 || syntax.multiply / syntax.divide / unit === scale;
  return isOfKind && isScaled ? undefined : `${syntax.name}, by ${fact.module} ${made.name} (${fact.units})`;
}

test("the type and the unit of every attribute are those of its module", { skip }, async () => {
  const [definitions, facts] = [await shipped(), readFacts()];
  const wrong: string[] = [];
  let checked = 0;
  for (const object of definitions.objects.values()) {
    for (const attribute of object.attributes.values()) {
      const known = (facts.get(attribute.oidText) ?? []).filter(({ name }) => name === attribute.name);
      if (known.length === 0 || saidOtherwise.has(attribute.name)) continue;
      checked++;
      const found = known.map((fact) => contradiction(attribute, fact));
      if (!found.includes(undefined)) wrong.push(`${object.id} ${attribute.name}: ${found.join(" | ")}`);
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(checked > 1400, `${checked} attributes`);
});

test("the index of every table is that of its module's row, object by object", { skip }, async () => {
  const [definitions, facts] = [await shipped(), readFacts()];
  const oids = new Map<string, Set<string>>();
  for (const known of facts.values())
    for (const { name, oid } of known) oids.set(name, (oids.get(name) ?? new Set()).add(oid));
  const wrong: string[] = [];
  let checked = 0;
  for (const { id, index, attributes } of definitions.objects.values()) {
    const [column] = attributes.values();
    if (index.length === 0 || column === undefined) continue;
    const rows = (facts.get(column.oidText.replace(/\.\d+$/, "")) ?? []).filter((row) => row.index.length > 0);
    const isSame = rows.some(
      (row) =>
        row.index.length === index.length &&
        index.every(({ oidText }, i) => oids.get(row.index[i] ?? "")?.has(oidText)),
    );
    checked++;
    if (!isSame)
      wrong.push(`${id}: ${index.map(({ oidText }) => oidText).join()}, by the module ${rows[0]?.index.join()}`);
  }
  assert.deepEqual(wrong, []);
  assert.ok(checked > 200, `${checked} tables`);
});
