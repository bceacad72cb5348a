import assert from "node:assert/strict";
import { test } from "node:test";
import { AddressEnricher, type AddressEnricherOptions } from "../../src/enrich/index.ts";
import type { RecordFields, Value } from "../../src/record/index.ts";
import { createMetrics, silentLog, type Log, type Metrics } from "../../src/base/report/index.ts";
import type { UdmEntry } from "../../src/metadata/index.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { manualWatch, type ManualWatch } from "../support/udm-watch.ts";

interface Setup {
  readonly enricher: AddressEnricher;
  readonly watch: ManualWatch;
  readonly metrics: Metrics;
  /** Milliseconds of the clock. */
  time: number;
  /** The value of a metric without its `netgloss_enrich_udm_`. */
  readonly count: (name: string) => Promise<number | undefined>;
}

async function setUp(entries?: readonly UdmEntry[], options: Partial<AddressEnricherOptions> = {}): Promise<Setup> {
  const watch = manualWatch(entries);
  const metrics = createMetrics();
  const setup: Setup = {
    enricher: new AddressEnricher({
      watch: watch.watch,
      ttlMs: 1000,
      invalidate: true,
      maxCached: 100,
      clock: { now: () => 0, monotonic: () => setup.time },
      metrics,
      log: silentLog,
      ...options,
    }),
    watch,
    metrics,
    time: 0,
    count: (name) => metrics.value(`netgloss_enrich_udm_${name}`),
  };
  await setup.enricher.start();
  return setup;
}

function enriched(enricher: AddressEnricher, fields: Readonly<Record<string, Value>>): Record<string, Value> {
  const record: RecordFields = new Map(Object.entries(fields));
  enricher.enrich(record);
  return Object.fromEntries(record);
}

const server = udmEntry("10.0.0.9", {
  name: "db servers",
  tags: ["db", "prod"],
  vlan: 20n,
  internal: true,
  metadata: { ".site": "ams1", ".rack.unit": "7" },
});

test("each field of an entry goes to its name below the object that has the address", async () => {
  const { enricher, count } = await setUp([server]);
  for (const object of ["flow.src", "flow.dst", "flow.export", "system"]) {
    assert.deepEqual(enriched(enricher, { [`${object}.ip.addr`]: "10.0.0.9", "flow.bytes": 1 }), {
      [`${object}.ip.addr`]: "10.0.0.9",
      "flow.bytes": 1,
      [`${object}.ip.subnet.name`]: "db servers",
      [`${object}.ip.subnet.tags`]: ["db", "prod"],
      [`${object}.isInternal`]: true,
      [`${object}.vlan.tag.id`]: 20,
      [`${object}.rack.unit`]: "7",
      [`${object}.site`]: "ams1",
    });
  }
  assert.equal(await count("matches_total"), 4);
  assert.equal(await count("renamed_total"), 0);
});

test("both ends and the exporter of one record are enriched, each by its own address", async () => {
  const { enricher } = await setUp([
    udmEntry("10.0.0.1", { name: "a" }),
    udmEntry("10.0.0.2", { name: "b" }),
    udmEntry("2001:db8::/32", { name: "c" }),
  ]);
  const record = enriched(enricher, {
    "flow.src.ip.addr": "10.0.0.1",
    "flow.dst.ip.addr": "10.0.0.2",
    "flow.export.ip.addr": "2001:db8::1",
  });
  assert.equal(record["flow.src.ip.subnet.name"], "a");
  assert.equal(record["flow.dst.ip.subnet.name"], "b");
  assert.equal(record["flow.export.ip.subnet.name"], "c");
});

test("an address without metadata, and a record without an address, stay as they are", async () => {
  const { enricher, count } = await setUp([server, udmEntry("10.0.0.10")]);
  for (const fields of [{ "flow.src.ip.addr": "10.0.0.8" }, { "flow.src.ip.addr": "10.0.0.10" }, { "flow.bytes": 1 }]) {
    assert.deepEqual(enriched(enricher, fields), fields);
  }
  assert.equal(await count("matches_total"), 0);
});

test("internal is written only where it is true", async () => {
  const { enricher } = await setUp([udmEntry("10.0.0.0/8", { name: "x" })]);
  assert.ok(!("flow.src.isInternal" in enriched(enricher, { "flow.src.ip.addr": "10.0.0.1" })));
});

test("a VLAN is exact up to 2^64-1 and never replaces one of the record", async () => {
  const { enricher } = await setUp([
    udmEntry("10.0.0.1", { vlan: 2n ** 53n - 1n }),
    udmEntry("10.0.0.2", { vlan: 2n ** 53n }),
    udmEntry("10.0.0.3", { vlan: 2n ** 64n - 1n }),
  ]);
  const vlan = (address: string): Value | undefined =>
    enriched(enricher, { "flow.src.ip.addr": address })["flow.src.vlan.tag.id"];
  assert.equal(vlan("10.0.0.1"), 2 ** 53 - 1);
  assert.equal(vlan("10.0.0.2"), 2n ** 53n);
  assert.equal(vlan("10.0.0.3"), 2n ** 64n - 1n);
  const record = enriched(enricher, { "flow.src.ip.addr": "10.0.0.1", "flow.src.vlan.tag.id": 7 });
  assert.equal(record["flow.src.vlan.tag.id"], 7);
});

test("an IPv4-mapped address is looked up as IPv4, and a key that spells one is the IPv4 key", async () => {
  const { enricher } = await setUp([
    udmEntry("::ffff:192.0.2.1", { name: "mapped" }),
    udmEntry("::ffff:198.51.100.0/120", { name: "mapped network" }),
    udmEntry("::ffff:203.0.113.1-::ffff:203.0.113.9", { name: "mapped range" }),
    udmEntry("::/0", { name: "six" }),
  ]);
  const name = (address: string): Value | undefined =>
    enriched(enricher, { "flow.src.ip.addr": address })["flow.src.ip.subnet.name"];
  for (const prefix of ["", "::ffff:"]) {
    assert.equal(name(`${prefix}192.0.2.1`), "mapped");
    assert.equal(name(`${prefix}198.51.100.7`), "mapped network");
    assert.equal(name(`${prefix}203.0.113.5`), "mapped range");
  }
  assert.equal(name("::192.0.2.1"), "six");
});

test("an entry with contexts applies only there", async () => {
  const contexts = (...list: ("exporter" | "endpoint")[]): { fileOnly: { contexts: typeof list; yaml: string } } => ({
    fileOnly: { contexts: list, yaml: "" },
  });
  const { enricher } = await setUp([
    udmEntry("10.0.0.1", { tags: ["exporter"], ...contexts("exporter") }),
    udmEntry("10.0.0.0/24", { tags: ["endpoint"], ...contexts("endpoint") }),
    udmEntry("10.0.0.0/16", { tags: ["both"], ...contexts("exporter", "endpoint") }),
    udmEntry("10.0.0.0/8", { tags: ["no list"], fileOnly: { yaml: "x: 1" } }),
    udmEntry("0.0.0.0/0", { tags: ["no known one"], ...contexts() }),
  ]);
  for (const object of ["flow.src", "flow.dst", "flow.export", "system"]) {
    const own = object === "flow.src" || object === "flow.dst" ? "endpoint" : "exporter";
    const record = enriched(enricher, { [`${object}.ip.addr`]: "10.0.0.1" });
    assert.deepEqual(record[`${object}.ip.subnet.tags`], [own, "both", "no list"]);
  }
});

test("of a list of addresses the first is looked up", async () => {
  const { enricher } = await setUp([udmEntry("10.0.0.1", { name: "first" }), udmEntry("10.0.0.2", { name: "second" })]);
  const record = enriched(enricher, { "flow.src.ip.addr": ["10.0.0.1", "10.0.0.2"] });
  assert.equal(record["flow.src.ip.subnet.name"], "first");
});

test("what is not an address is left alone, counted and logged", async () => {
  const lines: string[] = [];
  const log: Log = { ...silentLog, warn: (fields) => void lines.push(String(fields["address"])) };
  const { enricher, count } = await setUp([server], { log });
  for (const value of ["router1", 17, "10.0.0.9/32"]) {
    assert.deepEqual(enriched(enricher, { "flow.src.ip.addr": value }), { "flow.src.ip.addr": value });
  }
  assert.equal(await count("bad_addresses_total"), 2);
  assert.deepEqual(lines, ['"router1"']);
});

test("a metadata key without a dot goes to the record; different values of both ends are a list, source first", async () => {
  const { enricher } = await setUp([
    udmEntry("10.0.0.1", { metadata: { tenant: "red", env: "prod" } }),
    udmEntry("10.0.0.2", { metadata: { tenant: "blue", env: "prod" } }),
    udmEntry("10.0.0.3", { metadata: { tenant: "grey" } }),
  ]);
  const [a, b, c] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"] as const;
  const record = (src: string, dst: string, exporter: string): Value[] => {
    const fields = { "flow.dst.ip.addr": dst, "flow.src.ip.addr": src, "flow.export.ip.addr": exporter };
    const { tenant, env } = enriched(enricher, fields);
    return [tenant ?? "", env ?? ""];
  };
  assert.deepEqual(record(a, b, "0.0.0.0"), [["red", "blue"], "prod"]);
  assert.deepEqual(record(b, a, "0.0.0.0"), [["blue", "red"], "prod"]);
  assert.deepEqual(record(b, "0.0.0.0", "0.0.0.0"), ["blue", "prod"]);
  assert.deepEqual(record(a, a, a), ["red", "prod"]);
  assert.deepEqual(record(a, b, c), [["red", "blue", "grey"], "prod"]);
  assert.deepEqual(record(a, b, a), [["red", "blue"], "prod"]);
});

test("metadata replaces a decoded field of its name, at its place in the record", async () => {
  const { enricher, count } = await setUp([
    udmEntry("10.0.0.1", {
      name: "field",
      vlan: 5n,
      metadata: { ".as.label": "mine", "l4.proto.name": "mine", ".ip.subnet.name": "key", ".vlan.tag.id": "key" },
    }),
  ]);
  const record: RecordFields = new Map<string, Value>([
    ["flow.src.ip.addr", "10.0.0.1"],
    ["flow.src.as.label", "decoded"],
    ["l4.proto.name", "tcp"],
  ]);
  enricher.enrich(record);
  assert.deepEqual(
    [...record],
    [
      ["flow.src.ip.addr", "10.0.0.1"],
      ["flow.src.as.label", "mine"],
      ["l4.proto.name", "mine"],
      ["flow.src.ip.subnet.name", "key"],
      ["flow.src.vlan.tag.id", "key"],
    ],
  );
  assert.equal(await count("renamed_total"), 0);
});

test("one name asked for as the object's and as the record's keeps both values", async () => {
  const { enricher } = await setUp([
    udmEntry("10.0.0.1", { metadata: { ".site": "a", "flow.dst.site": "b" } }),
    udmEntry("10.0.0.2", { metadata: { ".site": "c" } }),
  ]);
  const record = enriched(enricher, { "flow.src.ip.addr": "10.0.0.1", "flow.dst.ip.addr": "10.0.0.2" });
  assert.equal(record["flow.src.site"], "a");
  assert.deepEqual(record["flow.dst.site"], ["b", "c"]);
});

test("addresses are read before metadata may write over them", async () => {
  const { enricher } = await setUp([
    udmEntry("10.0.0.1", { metadata: { "flow.dst.ip.addr": "10.0.0.3", ".ip.addr": "hidden" } }),
    udmEntry("10.0.0.2", { name: "two" }),
    udmEntry("10.0.0.3", { name: "three" }),
  ]);
  const record = enriched(enricher, { "flow.src.ip.addr": "10.0.0.1", "flow.dst.ip.addr": "10.0.0.2" });
  assert.equal(record["flow.dst.ip.subnet.name"], "two");
  assert.equal(record["flow.dst.ip.addr"], "10.0.0.3");
  assert.equal(record["flow.src.ip.addr"], "hidden");
});

test("metadata keys called like properties of objects are ordinary", async () => {
  const metadata = Object.fromEntries([
    ["__proto__", "1"],
    [".__proto__", "2"],
    [".constructor", "3"],
    ["0", "4"],
  ]);
  const { enricher } = await setUp([udmEntry("10.0.0.1", { metadata })]);
  const record: RecordFields = new Map([["flow.src.ip.addr", "10.0.0.1"]]);
  enricher.enrich(record);
  assert.equal(record.size, 5);
  assert.equal(record.get("0"), "4");
  assert.equal(record.get("__proto__"), "1");
  assert.equal(record.get("flow.src.__proto__"), "2");
  assert.equal(record.get("flow.src.constructor"), "3");
});

test("records stay as they are before the first state of the store, and are enriched from then on", async () => {
  const { enricher, watch, count } = await setUp();
  const fields = { "flow.src.ip.addr": "10.0.0.9" };
  assert.deepEqual(enriched(enricher, fields), fields);
  assert.equal(await count("cache_misses_total"), 0);
  watch.set([server]);
  assert.equal(enriched(enricher, fields)["flow.src.ip.subnet.name"], "db servers");
});

test("it follows the store from start to stop", async () => {
  const { enricher, watch } = await setUp([server]);
  assert.equal(watch.listeners(), 1);
  await enricher.stop();
  assert.equal(watch.listeners(), 0);
  await enricher.stop();
});

const one = { "flow.src.ip.addr": "10.0.0.1" };
const nameOf = (enricher: AddressEnricher): Value | undefined => enriched(enricher, one)["flow.src.ip.subnet.name"];

test("with invalidation a change shows in the next record", async () => {
  const { enricher, watch, count } = await setUp([udmEntry("10.0.0.1", { name: "before" })]);
  assert.equal(nameOf(enricher), "before");
  watch.set([udmEntry("10.0.0.1", { name: "after" })]);
  assert.equal(nameOf(enricher), "after");
  watch.set([]);
  assert.equal(nameOf(enricher), undefined);
  watch.set([udmEntry("10.0.0.0/8", { name: "wide" })]);
  assert.equal(nameOf(enricher), "wide");
  assert.equal(await count("cache_misses_total"), 4);
});

test("a listener called with the same state again costs no look-up", async () => {
  const { enricher, watch, count } = await setUp([udmEntry("10.0.0.1", { name: "x" })]);
  nameOf(enricher);
  watch.repeat();
  nameOf(enricher);
  assert.equal(await count("cache_hits_total"), 1);
  assert.equal(await count("cache_misses_total"), 1);
});

test("without invalidation a change shows when the cached address has reached its age", async () => {
  const setup = await setUp([udmEntry("10.0.0.1", { name: "before" })], { invalidate: false });
  const { enricher, watch, count } = setup;
  assert.equal(nameOf(enricher), "before");
  watch.set([udmEntry("10.0.0.1", { name: "after" }), udmEntry("10.0.0.2", { name: "fresh" })]);
  setup.time = 999;
  assert.equal(nameOf(enricher), "before");
  // An address that was not cached is looked up in the state of the day.
  assert.equal(enriched(enricher, { "flow.src.ip.addr": "10.0.0.2" })["flow.src.ip.subnet.name"], "fresh");
  setup.time = 1000;
  assert.equal(nameOf(enricher), "after");
  assert.equal(await count("cache_hits_total"), 1);
  assert.equal(await count("cache_misses_total"), 3);
});

test("an age of zero caches nothing", async () => {
  const { enricher, watch, count } = await setUp([udmEntry("10.0.0.1", { name: "before" })], {
    invalidate: false,
    ttlMs: 0,
  });
  assert.equal(nameOf(enricher), "before");
  watch.set([udmEntry("10.0.0.1", { name: "after" })]);
  assert.equal(nameOf(enricher), "after");
  assert.equal(await count("cache_hits_total"), 0);
});

test("one look-up of an address serves records and lines", async () => {
  const { enricher, count } = await setUp([server]);
  enriched(enricher, { "flow.src.ip.addr": "10.0.0.9" });
  const [additions] = enricher.lines?.addresses ?? [];
  assert.ok(additions !== undefined);
  const from = new DataView(Uint8Array.of(10, 0, 0, 9).buffer);
  enricher.lines?.begin();
  assert.ok(additions.append(0, from, new DataView(new ArrayBuffer(additions.maxLength + 16))) > 0);
  assert.equal(await count("cache_misses_total"), 1);
  assert.equal(await count("cache_hits_total"), 1);
});

test("the cache holds no more than it may, and what is in use stays", async () => {
  const { enricher, count } = await setUp([server], { maxCached: 100 });
  for (let n = 0; n < 1000; n++) {
    enriched(enricher, { "flow.src.ip.addr": `10.1.${n >> 8}.${n & 255}`, "flow.dst.ip.addr": "10.0.0.9" });
    // Of each object, because one address may be source and destination.
    assert.ok(((await count("cached_addresses")) ?? 0) <= 200);
  }
  assert.equal(await count("cache_misses_total"), 1001);
  assert.equal(await count("cache_hits_total"), 999);
  const held = (await count("cached_addresses")) ?? 0;
  assert.ok(held >= 100);
  assert.equal(await count("cache_evictions_total"), 1001 - held);
});

test("a cache of no size still enriches", async () => {
  const { enricher, count } = await setUp([udmEntry("10.0.0.1", { name: "x" })], { maxCached: 0 });
  assert.equal(nameOf(enricher), "x");
  assert.equal(nameOf(enricher), "x");
  assert.equal(await count("cache_misses_total"), 2);
  assert.equal(await count("cached_addresses"), 0);
});
