import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { setWords } from "../../src/enrich/address/address-limbs.ts";
import {
  addressTableBytes,
  AddressEnricher,
  type AddressEnricherOptions,
  type AddressSource,
} from "../../src/enrich/index.ts";
import { formatAddress, parseAddress } from "../../src/base/ip/index.ts";
import {
  addressLayout,
  createWorkspace,
  createWorkspaceMemory,
  lineObjects,
  renderFields,
  spaceFor,
  type RecordFields,
  type RenderedFields,
  type Value,
} from "../../src/record/index.ts";
import { createMetrics, silentLog } from "../../src/base/report/index.ts";
import type { UdmEntry } from "../../src/metadata/index.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { manualWatch } from "../support/udm-watch.ts";
import { runs } from "../support/runs.ts";

const objects = ["flow.src", "flow.dst", "flow.export"] as const;
const { listedBytes, maxListed } = addressLayout;

async function setUp(entries: readonly UdmEntry[], options: Partial<AddressEnricherOptions> = {}) {
  const watch = manualWatch(entries);
  const clock = { time: 0, now: () => 0, monotonic: () => clock.time };
  const make = () => ({
    watch: watch.watch,
    ttlMs: 1000,
    invalidate: true,
    maxCached: 8,
    clock,
    metrics: createMetrics(),
    log: silentLog,
    ...options,
  });
  const maxCached = options.maxCached ?? 8;
  const memory = createWorkspaceMemory(addressTableBytes(maxCached) + spaceFor(maxListed * listedBytes));
  const workspace = createWorkspace(memory);
  const used = { ...make(), workspace };
  const byLines = new AddressEnricher(used);
  const byFields = new AddressEnricher(make());
  await byLines.start();
  await byFields.start();
  const into = new DataView(new ArrayBuffer(70_000));
  const [additions = assert.fail("no lines")] = byLines.lines?.addresses ?? [];
  const listAt = workspace.allocate(maxListed * listedBytes);

  /** What the bytes are that an address adds to a line; undefined when it has to go the way of fields. */
  const line = (object: number, address: string): string | undefined => {
    byLines.lines?.begin();
    const end = additions.append(object, addressBytes(address), into);
    assert.ok(end <= additions.maxLength);
    return end < 0 ? undefined : Buffer.from(into.buffer, 0, end).toString();
  };
  /** The same by the fields of a record. */
  const model = (object: number, address: string): string => {
    const own: [string, Value][] = [[`${objects[object] ?? ""}.ip.addr`, address]];
    const record: RecordFields = new Map(own);
    const rendered: RenderedFields[] = [];
    byFields.enrich(record, rendered);
    for (const [field] of own) record.delete(field);
    return Buffer.concat([renderFields([...record]), ...rendered]).toString();
  };
  /** Has addresses below objects put into the table together. @returns how many were looked up. */
  const locateAll = (list: readonly Listed[]): number => {
    const words = list.flatMap(({ object, address }) => [object, ...wordsOf(address)]);
    new Int32Array(workspace.memory.buffer, listAt).set(words);
    byLines.lines?.begin();
    return additions.locateAll(listAt, list.length);
  };
  return {
    watch,
    clock,
    line,
    locateAll,
    model,
    count: (name: string) => used.metrics.value(`netgloss_enrich_udm_${name}`),
  };
}

interface Listed {
  readonly object: number;
  readonly address: string;
}

/** The four words of an address, IPv4 in its mapped form. */
function wordsOf(text: string): Int32Array {
  const words = new Int32Array(4);
  setWords(words, parseAddress(text) ?? assert.fail(text));
  return words;
}

/** The bytes of an address. */
function addressBytes(text: string): DataView {
  const address = parseAddress(text);
  assert.ok(address !== undefined);
  const length = address.family === 4 ? 4 : 16;
  const hex = address.value.toString(16).padStart(2 * length, "0");
  return new DataView(Uint8Array.from(Buffer.from(hex, "hex")).buffer);
}

test("the bytes of an address are those that its fields become", async () => {
  const { line, model } = await setUp([
    udmEntry("10.0.0.0/8", { name: "wide", tags: ["a", "ü"], metadata: { ".site": 'x"y' } }),
    udmEntry("10.0.0.9", { name: "db", vlan: 20n, internal: true }),
    udmEntry("10.0.0.10", { vlan: 2n ** 64n - 1n }),
    udmEntry("2001:db8::/32", { name: "six" }),
  ]);
  for (const address of ["10.0.0.9", "10.0.0.10", "10.1.2.3", "11.0.0.1", "2001:db8::1", "::1", "::ffff:10.0.0.9"]) {
    for (const object of Object.values(lineObjects)) {
      assert.equal(line(object, address), model(object, address), address);
    }
  }
  assert.match(line(0, "10.0.0.9") ?? "", /"flow.src.vlan.tag.id":20$/);
});

test("metadata that may meet other names, and very long one, goes the way of fields", async () => {
  const { line, count } = await setUp([
    udmEntry("10.0.0.1", { metadata: { tenant: "red" } }),
    udmEntry("10.0.0.2", { metadata: { ".ip.addr": "x" } }),
    udmEntry("10.0.0.3", { tags: Array.from({ length: 50 }, (_, i) => `${i}`.padEnd(200, "x")) }),
  ]);
  for (const address of ["10.0.0.1", "10.0.0.2", "10.0.0.3"]) {
    assert.equal(line(0, address), undefined);
    assert.equal(line(0, address), undefined);
  }
  assert.equal(line(0, "10.0.0.4"), "");
  assert.equal(await count("cache_misses_total"), 4);
  assert.equal(await count("cache_hits_total"), 3);
  assert.equal(await count("matches_total"), 0);
});

test("age and invalidation hold for bytes as for fields", async () => {
  for (const invalidate of [true, false]) {
    const { line, watch, clock } = await setUp([udmEntry("10.0.0.1", { name: "before" })], { invalidate });
    assert.match(line(0, "10.0.0.1") ?? "", /before/);
    watch.set([udmEntry("10.0.0.1", { name: "after" })]);
    clock.time = 999;
    assert.match(line(0, "10.0.0.1") ?? "", invalidate ? /after/ : /before/);
    clock.time = 1000;
    assert.match(line(0, "10.0.0.1") ?? "", /after/);
    watch.set([udmEntry("10.0.0.1", { name: "late" })]);
    clock.time = 2 ** 40;
    assert.match(line(0, "10.0.0.1") ?? "", /late/);
  }
  for (const options of [{ ttlMs: 0 }, { maxCached: 0 }]) {
    const { line, count } = await setUp([udmEntry("10.0.0.1", { name: "x" })], options);
    line(0, "10.0.0.1");
    assert.match(line(0, "10.0.0.1") ?? "", /"x"/);
    assert.equal(await count("cache_misses_total"), 2);
  }
});

test("before the first state of the store nothing is added", async () => {
  const watch = manualWatch();
  const enricher = new AddressEnricher({
    watch: watch.watch,
    ttlMs: 1000,
    invalidate: true,
    maxCached: 8,
    clock: { now: () => 0, monotonic: () => 0 },
    metrics: createMetrics(),
    log: silentLog,
  });
  await enricher.start();
  const bytes = addressBytes("10.0.0.1");
  const [additions] = enricher.lines?.addresses ?? [];
  assert.equal(additions?.append(0, bytes, bytes), 0);
});

test("whatever is asked for in whatever order, it is what fields say, and memory keeps its bounds", async () => {
  const key = fc
    .tuple(fc.constantFrom("10.0.0.", "2001:db8::", "::ffff:10.0.0."), fc.integer({ min: 0, max: 30 }))
    .map(([prefix, n]) => formatAddress(parseAddress(`${prefix}${n}`) ?? { family: 4, value: 0n }));
  const entry = fc.tuple(
    key,
    fc.record({ name: fc.string({ maxLength: 10, unit: "grapheme" }), vlan: fc.constantFrom(0n, 9n) }),
    fc.constantFrom(0, 0, 0, 3000),
  );
  const ask = fc.record({
    object: fc.nat(2),
    address: key,
    wait: fc.constantFrom(0, 0, 0, 400),
  });
  const list = fc.record({
    list: fc.array(fc.record({ object: fc.nat(2), address: key }), { minLength: 1, maxLength: 50 }),
  });
  const change = fc.record({
    entries: fc.uniqueArray(entry, { selector: ([k]) => udmEntry(k, {}).key.text, maxLength: 30 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(0, 1, 4, 20, 100),
      fc.array(
        fc.oneof({ weight: 18, arbitrary: ask }, { weight: 3, arbitrary: list }, { weight: 2, arbitrary: change }),
        { maxLength: 150 },
      ),
      async (maxCached, steps) => {
        const { line, locateAll, model, watch, clock, count } = await setUp(
          [udmEntry("10.0.0.0/28", { name: "net" })],
          {
            maxCached,
          },
        );
        for (const step of steps) {
          if ("entries" in step) {
            watch.set(
              step.entries.map(([k, values, pad]) => udmEntry(k, { ...values, tags: pad ? ["x".repeat(pad)] : [] })),
            );
          } else if ("list" in step) {
            const misses = await count("cache_misses_total");
            const looked = locateAll(step.list);
            assert.equal(await count("cache_misses_total"), (misses ?? 0) + looked);
            if (step.list.length > maxCached / 2) assert.equal(looked, 0);
            for (const { object, address } of step.list) assert.equal(line(object, address), model(object, address));
          } else {
            const { object, address, wait } = step;
            clock.time += wait;
            assert.equal(line(object, address), model(object, address));
          }
        }
        assert.ok(((await count("cached_addresses")) ?? 0) <= 2 * Math.max(1, maxCached));
      },
    ),
    runs(60),
  );
});

test("addresses that are put into the table together are looked up once, and found then", async () => {
  const entries = [udmEntry("10.0.0.0/24", { name: "net" }), udmEntry("10.0.0.9", { name: "own" })];
  const list = ["10.0.0.9", "10.0.0.1", "10.0.0.9", "2001:db8::1", "10.0.0.1"].map((address) => ({
    object: 0,
    address,
  }));
  const { line, locateAll, watch, count } = await setUp(entries, { maxCached: 100 });
  assert.match(line(0, "10.0.0.1") ?? "", /"net"/);
  assert.equal(locateAll(list), 2);
  assert.equal(locateAll(list), 0);
  assert.equal(await count("cache_hits_total"), 0);
  assert.match(line(0, "10.0.0.9") ?? "", /"own"/);
  assert.equal(line(0, "2001:db8::1"), "");
  assert.equal(await count("cache_hits_total"), 2);
  watch.set([udmEntry("10.0.0.0/24", { name: "other" })]);
  assert.equal(locateAll(list), 3);
  assert.match(line(0, "10.0.0.9") ?? "", /"other"/);
  for (const options of [{ ttlMs: 0 }, { maxCached: 9 }]) {
    const small = await setUp(entries, options);
    assert.equal(small.locateAll(list), 0);
    assert.match(small.line(0, "10.0.0.9") ?? "", /"own"/);
  }
});

test("metadata that changes while addresses are looked up together counts for all that comes after it", async () => {
  for (const at of [0, 1, 2, 3]) {
    let asked = 0;
    const meanwhile: AddressSource = {
      objects: new Set(["flow.src"]),
      find() {
        if (asked++ === at) watch.set([udmEntry("10.0.0.0/24", { name: "after" })]);
        return Number.POSITIVE_INFINITY;
      },
      watch: () => () => {},
    };
    const { line, locateAll, watch } = await setUp([udmEntry("10.0.0.0/24", { name: "before" })], {
      maxCached: 100,
      sources: [meanwhile],
    });
    const list = [1, 2, 3, 4].map((n) => ({ object: 0, address: `10.0.0.${n}` }));
    assert.equal(locateAll(list), 4);
    for (const { object, address } of list) assert.match(line(object, address) ?? "", /"after"/);
  }
});
