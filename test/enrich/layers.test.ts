import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { AddressEnricher } from "../../src/enrich/index.ts";
import { formatAddress, parseKey, type Address } from "../../src/base/ip/index.ts";
import type { RecordFields } from "../../src/record/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import {
  UdmError,
  type UdmEntry,
  type CollectorUdmStore,
  type UdmFileStoreOptions,
  type UdmWrite,
} from "../../src/metadata/index.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { runs } from "../support/runs.ts";
import { denseAddress, denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { memoryPath, plainEntries, storeOn } from "../support/udm-store-fixture.ts";
import { modelEnrich } from "./address-model.ts";

const names = ["netbox", "dhcp"] as const;

const anyEntry = fc
  .record({
    key: denseKeyText,
    name: fc.constantFrom("", "a", "b"),
    tags: fc.subarray(["x", "y"]),
    vlan: fc.constantFrom(0n, 7n),
    internal: fc.boolean(),
    metadata: fc.dictionary(fc.constantFrom(".site", "tenant"), fc.constantFrom("", "p", "q")),
    context: fc.constantFrom(undefined, "exporter" as const, "endpoint" as const),
  })
  .map(({ key, metadata, context, ...values }) =>
    udmEntry(key, {
      ...values,
      metadata,
      ...(context !== undefined && { fileOnly: { contexts: [context], yaml: `  contexts: [${context}]\n` } }),
    }),
  );
const entries = fc.uniqueArray(anyEntry, { maxLength: 8, selector: ({ key }) => key.text });
const step = fc.record({ layer: fc.constantFrom(undefined, ...names), entries });

async function startStore(options: Partial<UdmFileStoreOptions> = {}): Promise<{
  readonly store: CollectorUdmStore;
  readonly io: ReturnType<typeof memoryFileIo>;
}> {
  const io = memoryFileIo();
  const { store } = storeOn(io, options);
  await store.start();
  return { io, store };
}

suite("layers", () => {
  test("are what records carry, after each change, as the rules say", async () => {
    const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), fc.nat(63), async (steps, n) => {
      const { store } = await startStore();
      await store.layers.setNames(names);
      const enricher = new AddressEnricher({
        watch: store.watchAddresses,
        ttlMs: 1_000_000,
        invalidate: true,
        maxCached: 1000,
        clock: systemClock,
        metrics: createMetrics(),
        log: silentLog,
      });
      await enricher.start();
      const people = new Map<string, UdmEntry>();
      const layers = new Map<string, readonly UdmEntry[]>();
      const covering = ({ family, value }: Address): UdmEntry[] =>
        [...people.values(), ...names.flatMap((name) => layers.get(name) ?? [])].filter(
          ({ key }) => key.family === family && key.first <= value && value <= key.last,
        );
      for (const { layer, entries: given } of steps) {
        if (layer === undefined) {
          // A request has no contexts.
          const values = given.map(({ key, name, tags, vlan, internal, metadata }) => ({
            key,
            name,
            tags,
            vlan,
            internal,
            metadata,
          }));
          await store.commit(
            values.map((entry): UdmWrite => ({
              op: people.has(entry.key.text) ? "update" : "create",
              key: entry.key,
              values: entry,
            })),
          );
          for (const entry of values) people.set(entry.key.text, entry);
        } else {
          await store.layers.replace(layer, given);
          layers.set(layer, given);
        }
        for (const family of [4, 6] as const) {
          const address = formatAddress(denseAddress(family, n));
          const fields = ["flow.src", "flow.export"].map((object) => [`${object}.ip.addr`, address] as const);
          const record: RecordFields = new Map(fields);
          const expected: RecordFields = new Map(fields);
          enricher.enrich(record);
          modelEnrich(expected, { covering }, []);
          assert.deepEqual(Object.fromEntries(record), Object.fromEntries(expected));
          const seen = store.layers.covering(denseAddress(family, n));
          assert.equal(seen.length, covering(denseAddress(family, n)).length);
        }
        assert.deepEqual(
          plainEntries(store.current().entries()).length,
          people.size,
          "people's entries are theirs alone",
        );
      }
      await enricher.stop();
      await store.stop();
    });
    await fc.assert(property, runs(25));
  });

  test("say what changed, and keep what did not", async () => {
    const { store, io } = await startStore();
    await store.layers.setNames(["a"]);
    const keys = (list: readonly UdmEntry[]): string[] => list.map(({ key }) => key.text);
    const first = [udmEntry("10.0.0.1"), udmEntry("10.0.0.2", { name: "b" }), udmEntry("10.0.0.3")];
    assert.deepEqual(keys((await store.layers.replace("a", first)).added), ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    const second = [udmEntry("10.0.0.1"), udmEntry("10.0.0.2", { name: "c" }), udmEntry("10.0.0.4")];
    for (const changes of [await store.layers.compare("a", second), await store.layers.replace("a", second)]) {
      const { added, changed, removed, unchanged } = changes;
      assert.deepEqual(
        [keys(added), keys(changed), keys(removed), unchanged],
        [["10.0.0.4"], ["10.0.0.2"], ["10.0.0.3"], 1],
      );
    }
    assert.equal((await store.layers.compare("a", second)).unchanged, 3);
    assert.deepEqual(
      store.layers
        .covering({ family: 4, value: parseKey("10.0.0.2").first })
        .map(({ layer, entry }) => [layer, entry.name]),
      [["a", "c"]],
    );
    assert.equal(io.text(memoryPath), undefined, "no layer is in the file");
    await assert.rejects(
      store.layers.replace("b", []),
      (error) => error instanceof UdmError && error.code === "not_found",
    );
    await store.layers.setNames([]);
    assert.deepEqual(store.layers.covering({ family: 4, value: parseKey("10.0.0.2").first }), []);
    await store.stop();
  });

  test("that do not fit are left as they were, and people's entries can still be written", async () => {
    const { store } = await startStore({ maxEntries: 100 });
    await store.layers.setNames(["a"]);
    await store.layers.replace("a", [udmEntry("10.0.0.1", { name: "kept" })]);
    const many = Array.from({ length: 101 }, (_, i) => udmEntry(`10.1.0.${i}`));
    await assert.rejects(
      store.layers.replace("a", many),
      (error) => error instanceof UdmError && error.code === "resource_exhausted",
    );
    assert.deepEqual(plainEntries(store.layers.list()[0]?.index.entries() ?? []).length, 1);
    await store.commit([{ op: "create", key: parseKey("10.0.0.9"), values: udmEntry("10.0.0.9") }]);
    assert.equal(store.current().size, 1);
    await store.stop();
  });

  test("are replaced while people write and the file is read, none of it lost", async () => {
    const { store } = await startStore();
    await store.layers.setNames(["a"]);
    const entriesOf = (name: string): UdmEntry[] =>
      Array.from({ length: 3000 }, (_, i) => udmEntry(`10.2.${i >> 8}.${i & 255}`, { name }));
    const replaced = store.layers
      .replace("a", entriesOf("first"))
      .then(() => store.layers.replace("a", entriesOf("second")));
    for (let i = 0; i < 30; i++) {
      await store.commit([{ op: "create", key: parseKey(`10.9.0.${i}`), values: udmEntry("::") }]);
      const seen = new Set(
        [0, 1000, 2999].map(
          (n) =>
            store.layers.covering({ family: 4, value: parseKey(`10.2.${n >> 8}.${n & 255}`).first })[0]?.entry.name,
        ),
      );
      assert.equal(seen.size, 1, "all of one replacement");
    }
    assert.equal((await replaced).changed.length, 3000);
    assert.equal(store.current().size, 30);
    await store.stop();
  });
});
