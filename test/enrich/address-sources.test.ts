import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { AddressEnricher, createPrivateSystems, type AddressSource } from "../../src/enrich/index.ts";
import { formatAddress, parseAddress, type Address } from "../../src/base/ip/index.ts";
import { LineBuffer, type RecordFields, type RenderedFields, type Value } from "../../src/record/index.ts";
import { createMetrics, silentLog } from "../../src/base/report/index.ts";
import type { UdmEntry } from "../../src/metadata/index.ts";
import { findBy, type TestFacts } from "../support/address-facts.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { manualWatch } from "../support/udm-watch.ts";
import { runs } from "../support/runs.ts";

type Fields = Readonly<Record<string, Value>>;

interface TableSource extends AddressSource {
  readonly table: Map<string, TestFacts>;
  readonly asked: string[];
  readonly report: (text?: string) => void;
}

function tableSource(facts: Readonly<Record<string, TestFacts>>, ...objects: readonly string[]): TableSource {
  const listeners = new Set<(address: Address | undefined) => void>();
  const source: TableSource = {
    table: new Map(Object.entries(facts)),
    asked: [],
    objects: new Set(objects.length > 0 ? objects : ["flow.src", "flow.dst"]),
    find: findBy((address) => {
      const text = formatAddress(address);
      source.asked.push(text);
      return source.table.get(text) ?? { fields: [] };
    }),
    watch(changed) {
      listeners.add(changed);
      return () => void listeners.delete(changed);
    },
    report: (text) => listeners.forEach((changed) => changed(text === undefined ? undefined : parseAddress(text))),
  };
  return source;
}

interface Setup {
  readonly enricher: AddressEnricher;
  readonly enriched: (fields: Fields) => Fields;
  time: number;
}

async function setUp(
  sources: readonly AddressSource[],
  options: { entries?: readonly UdmEntry[]; locality?: boolean; invalidate?: boolean } = {},
): Promise<Setup> {
  const { entries, locality = false, invalidate = true } = options;
  const setup: Setup = {
    enricher: new AddressEnricher({
      watch: entries && manualWatch(entries).watch,
      sources,
      locality,
      ttlMs: 1000,
      invalidate,
      maxCached: 100,
      clock: { now: () => 0, monotonic: () => setup.time },
      metrics: createMetrics(),
      log: silentLog,
    }),
    enriched(fields) {
      const record: RecordFields = new Map(Object.entries(fields));
      setup.enricher.enrich(record);
      return Object.fromEntries(record);
    },
    time: 0,
  };
  await setup.enricher.start();
  return setup;
}

const netherlands: TestFacts = { fields: [[".geo.country.code", "NL"]] };

test("what sources say goes below each object that they are asked about", async () => {
  const places = tableSource({ "192.0.2.1": netherlands });
  const names = tableSource({ "192.0.2.1": { fields: [[".host.name", "a.example"]] } }, "flow.src", "flow.export");
  const { enriched } = await setUp([places, names]);
  const addresses = {
    "flow.src.ip.addr": "192.0.2.1",
    "flow.dst.ip.addr": "192.0.2.1",
    "flow.export.ip.addr": "192.0.2.1",
    "system.ip.addr": "192.0.2.1",
  };
  assert.deepEqual(enriched(addresses), {
    ...addresses,
    "flow.src.geo.country.code": "NL",
    "flow.src.host.name": "a.example",
    "flow.dst.geo.country.code": "NL",
    "flow.export.host.name": "a.example",
  });
  // Once for each object, however many records there are.
  enriched(addresses);
  assert.deepEqual([places.asked.length, names.asked.length], [2, 2]);
});

test("a source is asked again when it reports a change of the address, of all, or after the time that it gave", async () => {
  const source = tableSource({ "192.0.2.1": netherlands, "192.0.2.2": { fields: [], validMs: 10 } });
  const setup = await setUp([source]);
  const country = (text: string): unknown => setup.enriched({ "flow.dst.ip.addr": text })["flow.dst.geo.country.code"];
  assert.equal(country("192.0.2.1"), "NL");
  assert.equal(country("192.0.2.2"), undefined);

  source.table.set("192.0.2.1", { fields: [[".geo.country.code", "BE"]] });
  assert.equal(country("192.0.2.1"), "NL");
  source.report("192.0.2.9");
  assert.equal(country("192.0.2.1"), "NL");
  source.report("192.0.2.1");
  assert.equal(country("192.0.2.1"), "BE");

  source.table.set("192.0.2.1", { fields: [] });
  source.report();
  assert.equal(country("192.0.2.1"), undefined);

  assert.equal(country("192.0.2.2"), undefined);
  source.table.set("192.0.2.2", netherlands);
  setup.time = 9;
  assert.equal(country("192.0.2.2"), undefined);
  setup.time = 30;
  assert.equal(country("192.0.2.2"), "NL");

  await setup.enricher.stop();
  source.table.set("192.0.2.2", { fields: [] });
  source.report();
  assert.equal(country("192.0.2.2"), "NL");
});

test("an exporter's own system counts unless it is 0; the organisation is named where both say one number", async () => {
  const as = { number: 64_500, organisation: "Example" };
  const { enriched } = await setUp([tableSource({ "192.0.2.1": { fields: [], as } })]);
  const systems = (own?: Value): unknown[] => {
    const fields: Fields = { "flow.src.ip.addr": "192.0.2.1", ...(own !== undefined && { "flow.src.as.asn": own }) };
    const record = enriched(fields);
    return [record["flow.src.as.asn"], record["flow.src.as.org"]];
  };
  assert.deepEqual(systems(), [64_500, "Example"]);
  assert.deepEqual(systems(0), [64_500, "Example"]);
  assert.deepEqual(systems(64_500), [64_500, "Example"]);
  assert.deepEqual(systems(64_501), [64_501, undefined]);
});

test("private addresses are of the system PRIVATE, and have the exporter's number as their label where it says one", async () => {
  const { enriched } = await setUp([createPrivateSystems()]);
  const org = { "flow.src.as.org": "PRIVATE" };
  const of = (address: string, system?: number): Fields => {
    const given = { "flow.src.ip.addr": address, ...(system !== undefined && { "flow.src.as.asn": system }) };
    const { "flow.src.ip.addr": _, ...rest } = enriched(given);
    return rest;
  };
  assert.deepEqual(of("10.0.0.1"), { ...org, "flow.src.as.label": "PRIVATE" });
  assert.deepEqual(of("fd00::1"), { ...org, "flow.src.as.label": "PRIVATE" });
  assert.deepEqual(of("10.0.0.1", 0), { ...org, "flow.src.as.asn": 0, "flow.src.as.label": "PRIVATE" });
  assert.deepEqual(of("10.0.0.1", 64_512), { ...org, "flow.src.as.asn": 64_512, "flow.src.as.label": "AS64512" });
  for (const address of ["192.0.2.1", "224.0.0.1", "2001:db8::1"]) assert.deepEqual(of(address), {});
  const own = await setUp([createPrivateSystems()], {
    entries: [udmEntry("10.0.0.0/8", { metadata: { ".as.org": "Mine" } })],
  });
  assert.equal(own.enriched({ "flow.src.ip.addr": "10.0.0.1" })["flow.src.as.org"], "Mine");
});

test("metadata wins over what sources say, and no name is given twice", async () => {
  const source = tableSource({
    "10.0.0.1": {
      fields: [
        [".geo.country.code", "NL"],
        [".host.name", "a.example"],
      ],
      as: { number: 7, organisation: "x" },
    },
  });
  const metadata = { ".geo.country.code": "XX", ".as.org": "ours", ".locality": "lab", ".host.name.short": "a" };
  const { enriched } = await setUp([source], { entries: [udmEntry("10.0.0.1", { metadata })], locality: true });
  const record = enriched({ "flow.src.ip.addr": "10.0.0.1" });
  assert.equal(record["flow.src.geo.country.code"], "XX");
  assert.equal(record["flow.src.as.org"], "ours");
  assert.equal(record["flow.src.locality"], "lab");
  assert.equal(record["flow.src.host.name"], "a.example");
  assert.equal(record["flow.src.host.name_short"], "a");
  assert.equal(record["flow.locality"], "private");
});

const localities: readonly (readonly [source: string | undefined, destination: string | undefined, Fields])[] = [
  [
    "10.1.0.1",
    "10.1.0.2",
    { "flow.src.locality": "internal", "flow.dst.locality": "internal", "flow.locality": "internal" },
  ],
  [
    "10.1.0.1",
    "10.2.0.1",
    { "flow.src.locality": "internal", "flow.dst.locality": "private", "flow.locality": "private" },
  ],
  ["10.2.0.1", "8.8.8.8", { "flow.src.locality": "private", "flow.dst.locality": "public", "flow.locality": "public" }],
  [
    "203.0.113.9",
    "10.1.0.1",
    { "flow.src.locality": "internal", "flow.dst.locality": "internal", "flow.locality": "internal" },
  ],
  [
    "172.32.0.1",
    "172.31.255.255",
    { "flow.src.locality": "public", "flow.dst.locality": "private", "flow.locality": "public" },
  ],
  [
    "100.127.255.255",
    "100.128.0.0",
    { "flow.src.locality": "private", "flow.dst.locality": "public", "flow.locality": "public" },
  ],
  [
    "fdff::1",
    "fe80::1",
    { "flow.src.locality": "private", "flow.dst.locality": "private", "flow.locality": "private" },
  ],
  [
    "::ffff:192.168.0.1",
    "2001:db8::1",
    { "flow.src.locality": "private", "flow.dst.locality": "public", "flow.locality": "public" },
  ],
  [
    "10.1.0.1",
    "239.1.1.1",
    { "flow.src.locality": "internal", "flow.dst.locality": "multicast", "flow.locality": "internal" },
  ],
  ["ff02::1", undefined, { "flow.src.locality": "multicast" }],
  [undefined, "not an address", {}],
];

for (const [source, destination, expected] of localities) {
  test(`localities from ${source} to ${destination}`, async () => {
    const entries = [udmEntry("10.1.0.0/16", { internal: true }), udmEntry("203.0.113.9", { internal: true })];
    const { enriched } = await setUp([], { entries, locality: true });
    const record = enriched({
      ...(source !== undefined && { "flow.src.ip.addr": source }),
      ...(destination !== undefined && { "flow.dst.ip.addr": destination }),
      "flow.export.ip.addr": "10.1.0.9",
    });
    const found = Object.entries(record).filter(([name]) => name.endsWith("locality"));
    assert.deepEqual(Object.fromEntries(found), expected);
  });
}

test("what is known before the first metadata does not stay without it", async () => {
  const watch = manualWatch();
  const enricher = new AddressEnricher({
    watch: watch.watch,
    locality: true,
    ttlMs: 1000,
    invalidate: false,
    maxCached: 100,
    clock: { now: () => 0, monotonic: () => 0 },
    metrics: createMetrics(),
    log: silentLog,
  });
  await enricher.start();
  const locality = (): unknown => {
    const record: RecordFields = new Map([["flow.src.ip.addr", "10.1.0.1"]]);
    enricher.enrich(record);
    return record.get("flow.src.locality");
  };
  assert.equal(locality(), "private");
  watch.set([udmEntry("10.1.0.0/16", { internal: true })]);
  assert.equal(locality(), "internal");
});

test("as bytes a line says the same as field by field, no name twice", async () => {
  const key = fc.constantFrom(".site", ".geo.country.code", ".locality", "flow.locality", ".as.asn", "site", ".host");
  const address = fc.constantFrom("10.0.0.1", "192.0.2.1", "192.0.2.2", "2001:db8::1");
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(key, fc.constantFrom("1", "2")),
      fc.record(
        {
          "flow.src.ip.addr": address,
          "flow.dst.ip.addr": address,
          "flow.src.as.asn": fc.constantFrom(0, 1, 2),
          "flow.dst.vlan.tag.id": fc.constantFrom(0, 1),
        },
        { requiredKeys: [] },
      ),
      async (metadata, fields) => {
        const source = tableSource({
          "192.0.2.1": {
            fields: [
              [".geo.country.code", "NL"],
              [".host.name", "a"],
            ],
            as: { number: 1, organisation: "o" },
          },
          "192.0.2.2": { fields: [], as: { number: 2, organisation: undefined } },
        });
        const entries = [udmEntry("192.0.2.0/24", { name: "n", vlan: 3n, metadata })];
        const { enricher, enriched } = await setUp([source], { entries, locality: true });
        const record: RecordFields = new Map(Object.entries(fields));
        const rendered: RenderedFields[] = [];
        enricher.enrich(record, rendered);
        const lines = new LineBuffer();
        lines.append(record, rendered);
        const line = Buffer.from(lines.take()).toString();
        assert.deepEqual(JSON.parse(line), enriched(fields));
        const names = [...line.matchAll(/[{,]"([^"]+)":/g)].map((match) => match[1]);
        assert.equal(new Set(names).size, names.length, line);
      },
    ),
    runs(60),
  );
});

test("lines made without a record get the same, and follow what sources report", async () => {
  const source = tableSource({
    "192.0.2.1": netherlands,
    "192.0.2.2": { fields: [], validMs: 10 },
    "192.0.2.3": { ...netherlands, as: { number: 7, organisation: undefined } },
  });
  const setup = await setUp([source]);
  const lines = setup.enricher.lines;
  const [additions] = lines?.addresses ?? [];
  assert.ok(lines !== undefined && additions !== undefined);
  const into = new DataView(new ArrayBuffer(additions.maxLength + 16));
  const bytes = (text: string, object = 1): string | undefined => {
    const address = parseAddress(text);
    assert.ok(address?.family === 4);
    const from = new DataView(new ArrayBuffer(4));
    from.setUint32(0, Number(address.value));
    lines.begin();
    const end = additions.append(object, from, into);
    return end < 0 ? undefined : Buffer.from(into.buffer, 0, end).toString();
  };
  assert.equal(bytes("192.0.2.1"), ',"flow.dst.geo.country.code":"NL"');
  assert.equal(bytes("192.0.2.1", 0), ',"flow.src.geo.country.code":"NL"');
  assert.equal(bytes("192.0.2.1", 2), "");
  assert.equal(bytes("192.0.2.3"), ',"flow.dst.geo.country.code":"NL","flow.dst.as.asn":7,"flow.dst.as.label":"AS7"');
  assert.equal(bytes("192.0.2.2"), "");

  source.table.set("192.0.2.1", { fields: [[".geo.country.code", "BE"]] });
  source.table.set("192.0.2.2", netherlands);
  source.report("192.0.2.9");
  assert.equal(bytes("192.0.2.1"), ',"flow.dst.geo.country.code":"NL"');
  source.report("192.0.2.1");
  assert.equal(bytes("192.0.2.1"), ',"flow.dst.geo.country.code":"BE"');
  assert.equal(bytes("192.0.2.1", 0), ',"flow.src.geo.country.code":"BE"');
  setup.time = 9;
  assert.equal(bytes("192.0.2.2"), "");
  setup.time = 10;
  assert.equal(bytes("192.0.2.2"), ',"flow.dst.geo.country.code":"NL"');
  source.table.set("192.0.2.2", { fields: [] });
  source.report();
  assert.equal(bytes("192.0.2.2"), "");
});

test("a line made without a record says the same as one of fields, whatever metadata and sources say", async () => {
  const addresses = ["10.0.0.1", "192.0.2.1", "192.0.2.2", "224.0.0.1"];
  const key = fc.constantFrom(".site", ".geo.country.code", ".locality", "tenant");
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(key, fc.constantFrom("1", "2"), { maxKeys: 1 }),
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      fc.nat(3),
      async (metadata, internal, locality, namesPrivate, maxOrganisation) => {
        const organisation = ["o", "x".repeat(900), "y".repeat(1100), undefined][maxOrganisation];
        const source = tableSource({
          "192.0.2.1": { fields: [[".geo.country.code", "NL"]], as: { number: 1, organisation } },
          "192.0.2.2": { fields: [], as: { number: 2 ** 32 - 1, organisation: "z" } },
        });
        const entries = [
          udmEntry("192.0.2.0/24", { name: "n", vlan: 3n, metadata }),
          udmEntry("10.0.0.0/8", { internal }),
        ];
        const sources = namesPrivate ? [source, createPrivateSystems()] : [source];
        const { enricher } = await setUp(sources, { entries, locality });
        const { lines } = enricher;
        const [additions] = lines?.addresses ?? [];
        assert.ok(lines !== undefined && additions !== undefined);
        const into = new DataView(new ArrayBuffer(additions.maxLength + 16));
        lines.begin();
        for (const [object, name] of ["flow.src", "flow.dst", "flow.export"].entries()) {
          for (const address of addresses) {
            const from = new DataView(new ArrayBuffer(4));
            from.setUint32(0, Number(parseAddress(address)?.value));
            const end = additions.append(object, from, into);
            if (end < 0) continue;
            const rendered: RenderedFields[] = [];
            enricher.enrich(new Map([[`${name}.ip.addr`, address]]), rendered);
            assert.equal(Buffer.from(into.buffer, 0, end).toString(), Buffer.from(rendered[0] ?? []).toString());
          }
        }
      },
    ),
    runs(80),
  );
});
