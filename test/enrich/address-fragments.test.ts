import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { AddressEnricher, type AddressEnricherOptions } from "../../src/enrich/index.ts";
import { parseAddress } from "../../src/base/ip/index.ts";
import { renderFields, type RecordFields, type RenderedFields, type Value } from "../../src/record/index.ts";
import { createMetrics, silentLog } from "../../src/base/report/index.ts";
import { SharedIndex, SharedIndexReader, type UdmEntry } from "../../src/metadata/index.ts";
import { findBy } from "../support/address-facts.ts";
import { buildIndex } from "../support/shared-index.ts";
import { denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { manualWatch } from "../support/udm-watch.ts";
import { allRuns } from "../support/runs.ts";
import { isPlainKey, modelEnrich } from "./address-model.ts";

const text = fc.oneof(
  fc.constantFrom("prod", "db", 'a"b', "back\\", '","tags":["', "ü", "\u0001", "\ud800", "]}", ""),
  fc.string({ unit: "grapheme", maxLength: 8 }),
);
const metadataKey = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(".site", ".rack", ".rack-b", ".owner", ".tenant", ".a", ".b", ".z", ".ü", '.q\\"'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ".rack.unit",
      ".rack.unit.side",
      ".ip.addr",
      ".geo.country.code",
      "plain",
      "plain.er",
      "flow.dst.site",
      "10",
      "__proto__",
      `.${"y".repeat(70)}`,
    ),
  },
);
const contexts = fc.constantFrom(undefined, undefined, undefined, ["endpoint"] as const, ["exporter"] as const, []);
const entry: fc.Arbitrary<UdmEntry> = fc
  .record({
    key: fc.oneof(denseKeyText, fc.constantFrom("10.0.0.0-10.0.0.40", "10.0.0.8-10.0.0.15", "2001:db8::-2001:db8::20")),
    name: fc.oneof(fc.constant(""), text),
    tags: fc.array(text, { maxLength: 4 }),
    vlan: fc.oneof(fc.constant(0n), fc.bigInt(0n, 2n ** 64n - 1n)),
    internal: fc.boolean(),
    metadata: fc.dictionary(metadataKey, text, { maxKeys: 3, noNullPrototype: true }),
    contexts,
    yaml: fc.boolean(),
  })
  .map(({ key, contexts: limited, yaml, ...values }) =>
    udmEntry(key, {
      ...values,
      ...(limited !== undefined && { fileOnly: { contexts: limited, yaml: "  contexts: []\n" } }),
      ...(yaml && { fileOnly: { yaml: "  owner: é\n" } }),
    }),
  );

const places = {
  objects: new Set(["flow.src", "flow.dst"]),
  find: findBy(({ value }) =>
    value % 3n === 0n
      ? { fields: [] }
      : { fields: [[".geo.country.code", "NL"]], as: { number: 7, organisation: "o" } },
  ),
  watch: () => () => {},
};

async function setUp(entries: readonly UdmEntry[], options: Partial<AddressEnricherOptions> = {}) {
  const metrics = createMetrics();
  const enricher = new AddressEnricher({
    watch: manualWatch(entries).watch,
    ttlMs: 1000,
    invalidate: true,
    maxCached: 100,
    clock: { now: () => 0, monotonic: () => 0 },
    metrics,
    log: silentLog,
    ...options,
  });
  await enricher.start();
  const [additions] = enricher.lines?.addresses ?? [];
  assert.ok(additions !== undefined);
  const into = new DataView(new ArrayBuffer(additions.maxLength + 16));
  const line = (object: number, address: string): string | undefined => {
    const found = parseAddress(address);
    assert.ok(found !== undefined);
    const length = found.family === 4 ? 4 : 16;
    const bytes = Buffer.from(found.value.toString(16).padStart(2 * length, "0"), "hex");
    enricher.lines?.begin();
    const end = additions.append(object, new DataView(Uint8Array.from(bytes).buffer), into);
    return end < 0 ? undefined : Buffer.from(into.buffer, 0, end).toString();
  };
  return { enricher, line, count: (name: string) => metrics.value(`netgloss_enrich_udm_${name}`) };
}

test("whatever entries cover an address, records and lines get what the rules say", async () => {
  let written = 0;
  let open = 0;
  const address = fc.constantFrom("10.0.0.0", "10.0.0.9", "10.0.0.30", "::ffff:10.0.0.9", "2001:db8::", "2001:db8::7");
  const own = fc.record(
    { "flow.src.vlan.tag.id": fc.constant(9), "flow.dst.as.asn": fc.constantFrom(0, 7, 8), plain: fc.constant("x") },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(entry, { selector: ({ key }) => key.text, maxLength: 25 }),
      fc.array(fc.tuple(fc.tuple(address, address, address, address), own), { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      async (entries, records, hasSource) => {
        const sources = hasSource ? [places] : [];
        const index = buildIndex(entries);
        const { enricher, line } = await setUp(entries, { sources });
        for (const [[src, dst, exporter, system], fields] of records) {
          const given: Record<string, Value> = {
            "flow.src.ip.addr": src,
            "flow.dst.ip.addr": dst,
            "flow.export.ip.addr": exporter,
            "system.ip.addr": system,
            ...fields,
          };
          const record: RecordFields = new Map(Object.entries(given));
          const expected: RecordFields = new Map(Object.entries(given));
          enricher.enrich(record);
          modelEnrich(expected, index, sources);
          assert.deepEqual(new Map(record), expected);

          const alone: RecordFields = new Map([["flow.dst.ip.addr", dst]]);
          modelEnrich(alone, index, sources);
          alone.delete("flow.dst.ip.addr");
          const bytes = line(1, dst);
          if (bytes === undefined) open++;
          else {
            written++;
            const all = renderFields([...alone].sort(byName)).toString();
            assert.equal(renderFields(parsed(bytes).sort(byName)).toString(), all);
          }
        }
      },
    ),
    allRuns(150),
  );
  assert.ok(written > 200 && open > 50, `${written} ${open}`);
});

test("ranges, contexts, many entries, many tags and many keys are written without a record", async () => {
  const net = udmEntry("10.0.0.0/8", { name: "net", tags: ["a"], metadata: { ".site": "x" } });
  const cases: Record<string, readonly UdmEntry[]> = {
    "a range": [udmEntry("10.0.0.0-10.0.0.20", { name: "r" }), net],
    "a limit to contexts": [udmEntry("10.0.0.9", { name: "x", fileOnly: { contexts: ["exporter"], yaml: "" } }), net],
    "very many tags": [udmEntry("10.0.0.9", { tags: Array.from({ length: 200 }, (_, n) => `${n}`) })],
    "very many entries": Array.from({ length: 25 }, (_, n) => udmEntry(`10.0.0.9/${n + 8}`, { tags: [`${n}`] })),
    "a long key": [udmEntry("10.0.0.9", { metadata: { [`.${"x".repeat(200)}`]: "y", ".ü": "z" } })],
  };
  for (const [what, entries] of Object.entries(cases)) {
    const { line } = await setUp(entries);
    const expected: RecordFields = new Map([["flow.src.ip.addr", "10.0.0.9"]]);
    modelEnrich(expected, buildIndex(entries), []);
    expected.delete("flow.src.ip.addr");
    assert.equal(line(0, "10.0.0.9"), renderFields([...expected]).toString(), what);
  }
});

test("any number of different keys is written without a record, also beyond what is remembered", async () => {
  const keys = 20_000;
  const entries = Array.from({ length: keys }, (_, n) =>
    udmEntry(`10.0.${n >> 8}.${n & 255}`, { metadata: { [`.key${n}`]: "x", ".site": "s" } }),
  );
  const { line } = await setUp(entries, { maxCached: 10 });
  for (let n = 0; n < keys; n++) {
    const fields = parsed(line(0, `10.0.${n >> 8}.${n & 255}`) ?? "");
    assert.deepEqual(fields, [
      [`flow.src.key${n}`, "x"],
      ["flow.src.site", "s"],
    ]);
  }
});

test("only what may meet other names keeps an address from being written without a record", async () => {
  for (const key of [".site", "site", ".port.x", ".ip.addr", ".site.name"]) {
    const entries = [udmEntry("10.0.0.9", { metadata: { [key]: "x" } })];
    const { line } = await setUp(entries);
    assert.equal(line(0, "10.0.0.9") !== undefined, isPlainKey(key), key);
  }
  const { line } = await setUp([udmEntry("10.0.0.9", { metadata: { ".site": "x", ".site.name": "y" } })]);
  assert.equal(line(0, "10.0.0.9"), undefined);
});

test("addresses with the same entries share one text, and keep what is theirs", async () => {
  const entries = [
    udmEntry("10.0.0.0/24", { name: "n", tags: ["t".repeat(2000)] }),
    udmEntry("10.0.0.7", { name: "own" }),
  ];
  // Room for some twenty texts, were each address to have one of its own.
  const { line, count } = await setUp(entries, { maxCached: 200 });
  for (let round = 0; round < 2; round++) {
    for (let n = 0; n < 180; n++) {
      const [name] = parsed(line(n & 1, `10.0.0.${n}`) ?? "");
      assert.deepEqual(name?.[1], n === 7 ? "own" : "n");
    }
  }
  assert.equal(await count("cache_evictions_total"), 0);
  assert.equal(await count("cache_misses_total"), 180);
});

test("a text that is too long to keep is added to records all the same", async () => {
  const tags = Array.from({ length: 400 }, (_, n) => `${n}`.padEnd(255, "x"));
  const { enricher, line } = await setUp([udmEntry("10.0.0.9", { name: "n", tags, vlan: 3n })]);
  assert.equal(line(0, "10.0.0.9"), undefined);
  const record: RecordFields = new Map([["flow.src.ip.addr", "10.0.0.9"]]);
  const rendered: RenderedFields[] = [];
  enricher.enrich(new Map(record), rendered);
  enricher.enrich(record);
  assert.deepEqual(record.get("flow.src.ip.subnet.tags"), tags);
  assert.equal(record.get("flow.src.vlan.tag.id"), 3);
  assert.deepEqual(parsed(Buffer.concat(rendered).toString()), [...record].slice(1));
});

test("a reader in a thread gives texts, and none before the first state", () => {
  const shared = new SharedIndex({ maxEntries: 10 });
  const reader = new SharedIndexReader(shared.handle());
  const address = Int32Array.of(0x20010db8, 0, 0, 1);
  const count = (): number => reader.texts(address, 1, (read) => read(0).count);
  assert.equal(count(), 0);
  const edit = shared.empty().edit();
  edit.put(udmEntry("2001:db8::/32"));
  edit.put(udmEntry("::/0"));
  shared.publish(edit.done());
  assert.equal(count(), 2);
  assert.throws(() => reader.texts(address, 1, () => assert.fail("out")), /out/);
  assert.equal(shared.stats().activeReaders, 0);
  reader.close();
  assert.throws(() => count(), /closed/);
});

function parsed(fields: string): [string, Value][] {
  const exact = fields.replaceAll(/("[^"]*\.vlan\.tag\.id":)(\d{16,})/g, '$1"#$2"');
  const entries = Object.entries(JSON.parse(`{${exact.slice(1)}}`) as Record<string, Value>);
  return entries.map(([name, value]) => [
    name,
    typeof value === "string" && name.endsWith(".vlan.tag.id") && value.startsWith("#")
      ? BigInt(value.slice(1))
      : value,
  ]);
}

function byName([a]: readonly [string, Value], [b]: readonly [string, Value]): number {
  return a < b ? -1 : 1;
}
