import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { createMetrics, systemClock } from "../../src/report/index.ts";
import { createDefinitionsLoader, definitionPathsIn, type Definitions } from "../../src/snmp/index.ts";
import { referenceData } from "../support/reference-data.ts";

/** What the MIB modules say of an object, as far as definitions repeat it. */
interface MibFact {
  readonly name: string;
  readonly access: string;
  readonly type: string;
  readonly labels: ReadonlySet<number>;
}

const { path, skip } = referenceData("mibs");

function readFacts(): Map<string, MibFact[]> {
  const facts = new Map<string, MibFact[]>();
  for (const file of readdirSync(path).filter((name) => name.endsWith(".tsv.gz"))) {
    for (const line of gunzipSync(readFileSync(join(path, file)))
      .toString("latin1")
      .split("\n")) {
      const [, name = "", oid = "", type = "", , access = "", , , labels = ""] = line.split("\t");
      if (oid === "") continue;
      const numbers = labels.split(",").map((label) => Number(label.slice(label.lastIndexOf("=") + 1)));
      const fact = { name, type, access, labels: new Set(labels === "" ? [] : numbers) };
      facts.set(`.${oid}`, [...(facts.get(`.${oid}`) ?? []), fact]);
    }
  }
  return facts;
}

async function shipped(): Promise<Definitions> {
  const paths = definitionPathsIn(join(import.meta.dirname, "../../../definitions"));
  const { definitions } = await createDefinitionsLoader({ paths, metrics: createMetrics(), clock: systemClock }).load(
    "start",
  );
  assert.ok(definitions);
  return definitions;
}

/** Modules that the facts lack. */
const unknownModules = new Set([
  "BGP4-V2-MIB-JUNIPER",
  "JUNIPER-ALARM-MIB",
  "JUNIPER-DOM-MIB",
  "JUNIPER-SRX5000-SPU-MONITORING-MIB",
  "JUNIPER-VIRTUALCHASSIS-MIB",
]);

test("every attribute has the OID of its module's object, which can be read", { skip }, async () => {
  const [definitions, facts] = [await shipped(), readFacts()];
  const wrong: string[] = [];
  let checked = 0;
  for (const object of definitions.objects.values()) {
    if (unknownModules.has(object.mib)) continue;
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
  "mtxrWlApClientCount",
  "mtxrWlApOverallTxCCQ",
  "prtMarkerPowerOnCount",
  "sysCPUUsage",
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
