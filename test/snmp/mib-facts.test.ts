import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { createMetrics, systemClock } from "../../src/base/report/index.ts";
import { DefinitionsLoader, definitionPathsIn, type Attribute, type ObjectDefinition } from "../../src/snmp/index.ts";
import { referenceData } from "../support/reference-data.ts";

const directory = resolve(import.meta.dirname, "../../../definitions");
const { path, skip } = referenceData("mibs");

/** What a vendor's module says of an OID. */
interface Fact {
  readonly name: string;
  readonly type: string;
  readonly convention: string;
  readonly labels: ReadonlySet<number>;
  /** Names of the objects of the index. */
  readonly index: readonly string[];
}

/** By OID; vendors ship modules of other vendors, and older ones, so that there may be several. */
function readFacts(wanted: ReadonlySet<string>): Map<string, Fact[]> {
  const facts = new Map<string, Fact[]>();
  for (const file of readdirSync(path).filter((name) => name.endsWith(".tsv.gz"))) {
    for (const line of gunzipSync(readFileSync(join(path, file)))
      .toString("latin1")
      .split("\n")) {
      const [, name = "", oid = "", type = "", convention = "", , , , labels = "", index = ""] = line.split("\t");
      if (!wanted.has(oid)) continue;
      const fact = {
        name,
        type,
        convention,
        labels: new Set(Array.from(labels.matchAll(/=(-?\d+)/g), ([, number]) => Number(number))),
        index: index.split(",").flatMap((part) => (part === "" ? [] : [part.replace(/^IMPLIED /, "").trim()])),
      };
      facts.set(oid, [...(facts.get(oid) ?? []), fact]);
    }
  }
  return facts;
}

/** Labels of values that newer modules have, or devices of older ones send. */
const newer = new Set([
  "rPDU2PhaseStatusLoadState",
  "rPDU2BankStatusLoadState",
  "dot1qVlanVersionNumber",
  "tcpRtoAlgorithm",
]);

const isText = (fact: Fact): boolean => fact.type === "OCTETSTR" || fact.type === "OPAQUE";

/** What does not agree with any module that has the OID. */
function disagreement(attribute: Attribute, facts: readonly Fact[], labels: Iterable<number>): string | undefined {
  const { kind } = attribute.syntax;
  if (!facts.some(({ name }) => name === attribute.name))
    return `is ${[...new Set(facts.map(({ name }) => name))].join(" or ")} there`;
  const numbers = [...labels];
  const known = facts.flatMap((fact) => [...fact.labels]);
  const isEnumeration = kind === "enum-integer" || kind === "enum-bitmap";
  if (isEnumeration && known.length > 0 && !newer.has(attribute.name)) {
    const odd = numbers.filter((number) => !known.includes(number));
    if (odd.length > 0) return `has labels for ${odd.join(", ")}, which are none there`;
  }
  const isAddress =
    kind === "address" && facts.every(({ type }) => !/^(?:IPADDR|NETADDR|OCTETSTR|UNSIGNED32|GAUGE)$/.test(type));
  const isMac = kind === "mac" && !facts.some(isText);
  const isOid = (kind === "oid" || kind === "enum-oid") && facts.every(({ type }) => type !== "OBJECTID");
  const isWritten = kind.startsWith("text-") && !facts.some(isText);
  if (isAddress || isMac || isOid || isWritten) return `is read as ${attribute.syntax.name}, and is ${facts[0]?.type}`;
  const isCounter = attribute.metric === "counter";
  if (isCounter && facts.every(({ type, convention }) => type === "OCTETSTR" && convention === "MacAddress"))
    return "is a counter, and an address there";
  return undefined;
}

/** The index of a row object whose columns lie below it. */
function oddIndex(object: ObjectDefinition, facts: ReadonlyMap<string, readonly Fact[]>): string | undefined {
  const [first] = object.attributes.values();
  const rows = facts.get(first?.oid.slice(0, -1).join(".") ?? "")?.filter(({ index }) => index.length > 0) ?? [];
  if (rows.length === 0 || rows.some(({ index }) => index.length === object.index.length)) return undefined;
  return `has ${object.index.length} parts of the index, and not ${rows[0]?.index.join(", ")}`;
}

test(
  "attributes are what the modules of the vendors say: name, kind of value, labels, parts of the index",
  { skip },
  async () => {
    const paths = definitionPathsIn(directory);
    const loader = new DefinitionsLoader({ paths, metrics: createMetrics(), clock: systemClock });
    const { definitions } = await loader.load("apply");
    assert.ok(definitions);
    const objects = [...definitions.objects.values()];
    const attributes = objects.flatMap((object) =>
      [...object.attributes.values()].map((attribute) => ({ object, attribute })),
    );
    const oids = attributes.map(({ attribute }) => attribute.oid);
    const facts = readFacts(new Set([...oids, ...oids.map((oid) => oid.slice(0, -1))].map((oid) => oid.join("."))));
    const odd: string[] = [];
    let compared = 0;
    for (const { object, attribute } of attributes) {
      const own = facts.get(attribute.oid.join("."));
      if (own === undefined) continue;
      compared++;
      const { integer, bitmap } = definitions.enums;
      const labels = (attribute.syntax.kind === "enum-bitmap" ? bitmap : integer).get(attribute.oidText)?.keys() ?? [];
      const difference = disagreement(attribute, own, labels);
      if (difference !== undefined) odd.push(`${object.id} ${attribute.name} ${attribute.oidText} ${difference}`);
    }
    for (const object of objects) {
      const difference = oddIndex(object, facts);
      if (difference !== undefined) odd.push(`${object.id} ${difference}`);
    }
    assert.deepEqual(odd, []);
    // The others are compared with public facts (test/system/mib-facts.test.ts).
    assert.ok(
      compared > 0.8 * attributes.length,
      `only ${compared} of ${attributes.length} attributes are in a module`,
    );
  },
);
