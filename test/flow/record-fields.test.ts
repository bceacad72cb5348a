import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { goldenRecords } from "../support/goldens.ts";
import { findElement } from "../../src/flow/elements/registry/registry.ts";
import { fieldNames } from "../../src/flow/elements/mapping/element-names.ts";
import { packetNames } from "../../src/flow/wire/packet/packet-steps.ts";
import { counterLayouts, flowRecordLayouts } from "../../src/flow/wire/sflow/structures.gen.ts";
import { counterTables } from "../../src/flow/wire/sflow/sflow-decoder.ts";
import { fieldGroups, findField, recordFields, type RecordField, type Value } from "../../src/record/index.ts";
import { fitsField } from "./fits-field.ts";

const goldens = goldenRecords<Value>();

test("every field of every golden case is in the table, with its type; only lists make arrays of scalars", () => {
  for (const { name, records } of goldens) {
    for (const record of records) {
      const hasLists = "flow.list.semantics" in record;
      for (const [field, value] of Object.entries(record)) {
        const found = findField(field);
        assert.ok(found !== undefined && found.source !== "metadata", `${name}: ${field}`);
        if ("name" in found)
          assert.ok(fitsField(found, value, hasLists), `${name}: ${field} is ${JSON.stringify(value)}`);
      }
    }
  }
});

test("every field of flows, packets, options and sFlow is written by a golden case", () => {
  const written = new Set(goldens.flatMap(({ records }) => records.flatMap((record) => Object.keys(record))));
  const {
    enriched: _enriched,
    alert: _alert,
    snmp: _snmp,
    mibs: _mibs,
    ends: _ends,
    rollup: _rollup,
    ...decoded
  } = fieldGroups;
  const unwritten = Object.values(decoded)
    .flat()
    // A clock is judged over some seconds, and a case has one time (test/flow/exporter-clock.test.ts).
    .filter(({ name }) => !written.has(name) && name !== "flow.export.clock.offset");
  assert.deepEqual(
    unwritten.map(({ name }) => name),
    [],
  );
});

/** The sources of a room, as one text. */
function sourcesOf(room: string): string {
  const source = resolve(import.meta.dirname, "../../../src", room);
  const names = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  return names.map((name) => readFileSync(join(source, name), "utf8")).join("\n");
}

test("fields of enrichment and SNMP are those that these rooms have names for", () => {
  // What SNMP says of interfaces, it adds itself.
  const enrich = sourcesOf("enrich") + sourcesOf("snmp");
  for (const { name } of fieldGroups.enriched) {
    const own = name.replace(/^(flow\.(src|dst|export|in\.netif|out\.netif)|system)\./, "");
    assert.ok(
      [name, own].some((text) => new RegExp(`["\`.}]${text.replaceAll(".", "\\.")}["\`]`).test(enrich)),
      name,
    );
  }
  const snmp = sourcesOf("snmp");
  for (const { name } of fieldGroups.snmp) assert.ok(snmp.includes(`"${name}"`), name);
});

test("rows of the table: each name once, an example of its type, no name the group of another", () => {
  const names = recordFields.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const field of recordFields) {
    assert.ok(fitsField(field, field.example, false), field.name);
    assert.ok(!names.some((other) => other.startsWith(`${field.name}.`)), field.name);
  }
});

/** Numbers behind a word in the sources of a field: `IE 8, 27`, `sFlow counters 5703.1` where they are of an enterprise. */
function numbersOf({ source }: RecordField, word: string): number[] {
  const numberOf = (text: string): number => {
    const [first = 0, format] = text.split(".").map(Number);
    return format === undefined ? first : first * 4096 + format;
  };
  return [...source.matchAll(new RegExp(`\\b${word} ([\\d.]+(?:, [\\d.]+)*)`, "g"))].flatMap(([, list = ""]) =>
    list.split(", ").map(numberOf),
  );
}

function fieldOf(name: string): RecordField {
  const found = findField(name);
  assert.ok(found !== undefined && "name" in found, `${name} is not in the table`);
  return found;
}

test("names of elements: the row says which, best first, and its type is theirs", () => {
  const ids = new Map<string, number[]>();
  for (const [id, name, conversion] of fieldNames) {
    ids.set(name, [...(ids.get(name) ?? []), id]);
    const { type } = fieldOf(name);
    const element = findElement(0, id)?.type ?? "octetArray";
    if (conversion === "value" && element.startsWith("unsigned")) assert.match(type, /long$/, name);
    if (conversion === "value" && element === "unsigned64") assert.equal(type, "unsigned_long", name);
    if (conversion === "value" && element.startsWith("ipv")) assert.equal(type, "ip", name);
    if (conversion === "value" && element.startsWith("dateTime")) assert.equal(type, "date_nanos", name);
  }
  for (const [name, expected] of ids)
    assert.deepEqual(numbersOf(fieldOf(name), "IE").slice(0, expected.length), expected, name);
});

test("structures of sFlow: every name of theirs is in the table with its structure, and the table has no other", () => {
  const structures = new Map<string, number[]>();
  const add = (name: string, format: number): void => {
    if (name !== "") structures.set(name, [...(structures.get(name) ?? []), format]);
  };
  for (const [format, layout] of flowRecordLayouts) for (const [name] of layout) add(name, format);
  for (const [name, formats] of structures) assert.deepEqual(numbersOf(fieldOf(name), "sFlow flow"), formats, name);
  const counters = new Map([...counterLayouts].flatMap(([format, layout]) => layout.map(([name]) => [name, format])));
  for (const [format, { once, columns }] of counterTables) {
    for (const name of [...once.map(([each]) => each), ...columns]) counters.set(name, format);
  }
  for (const [name, format] of counters) assert.deepEqual(numbersOf(fieldOf(name), "sFlow counters"), [format], name);
  for (const field of recordFields) {
    for (const format of numbersOf(field, "sFlow flow"))
      assert.ok(structures.get(field.name)?.includes(format), field.name);
    for (const format of numbersOf(field, "sFlow counters")) assert.equal(counters.get(field.name), format);
  }
});

test("names of packets are in the table, those of packets around and within the flow's too", () => {
  for (const role of ["flow", "outer", "middle", "inner"] as const) {
    for (const name of Object.values(packetNames(role))) assert.ok(findField(name), name);
  }
});
