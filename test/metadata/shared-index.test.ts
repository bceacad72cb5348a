import assert from "node:assert/strict";
import { once } from "node:events";
import { suite, test } from "node:test";
import { Worker } from "node:worker_threads";
import * as fc from "fast-check";
import { parseKey } from "../../src/base/ip/index.ts";
import {
  SharedIndex,
  SharedIndexReader,
  UdmError,
  type UdmEntry,
  type UdmIndex,
  type UdmSelection,
} from "../../src/metadata/index.ts";
import { buildState } from "../support/shared-index.ts";
import { denseAddress, denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { modelIndex } from "../support/udm-model.ts";
import { until } from "../support/until.ts";
import { runs } from "../support/runs.ts";

/** Publishes what the changes make of the state before, which is given up. */
function step(shared: SharedIndex, before: UdmIndex, change: (edit: ReturnType<UdmIndex["edit"]>) => void): UdmIndex {
  const edit = before.edit();
  change(edit);
  const next = edit.done();
  shared.publish(next);
  shared.release(before);
  return next;
}

const anyText = fc.string({ unit: "grapheme", maxLength: 12 });
const anyEntry = fc
  .record(
    {
      key: denseKeyText,
      name: anyText,
      tags: fc.array(anyText, { maxLength: 3 }),
      vlan: fc.bigInt(0n, 2n ** 64n - 1n),
      internal: fc.boolean(),
      metadata: fc.array(
        fc.tuple(fc.oneof(anyText, fc.constantFrom("10", "0", "__proto__", ",", '","metadata":{')), anyText),
        { maxLength: 4 },
      ),
      fileOnly: fc.option(
        fc.oneof(
          fc.constantFrom("  owner: é\n", "  x: 1\n").map((yaml) => ({ yaml })),
          fc
            .array(fc.constantFrom("exporter" as const, "endpoint" as const), { maxLength: 3 })
            .map((contexts) => ({ yaml: "  contexts:\n    - exporter\n", contexts })),
        ),
        { nil: undefined },
      ),
    },
    { noNullPrototype: true },
  )
  .map(makeEntry);

function makeEntry(parts: {
  key: string;
  name: string;
  tags: string[];
  vlan: bigint;
  internal: boolean;
  metadata: [string, string][];
  fileOnly: NonNullable<UdmEntry["fileOnly"]> | undefined;
}): UdmEntry {
  const { key, metadata, fileOnly, ...values } = parts;
  const entry = { key: parseKey(key), ...values, metadata: new Map(metadata) };
  return fileOnly === undefined ? entry : { ...entry, fileOnly };
}

suite("an index in shared memory", () => {
  test("gives entries back as they were put, in every thread, metadata in its order", () => {
    const shared = new SharedIndex({ maxEntries: 100 });
    const reader = new SharedIndexReader(shared.handle());
    let index = shared.empty();
    fc.assert(
      fc.property(fc.array(anyEntry, { maxLength: 8 }), (entries) => {
        index = step(shared, index, (edit) => {
          for (const entry of index.entries()) edit.delete(entry.key);
          for (const entry of entries) edit.put(entry);
        });
        const model = modelIndex([...new Map(entries.map((entry) => [entry.key.text, entry])).values()]);
        for (const family of [4, 6] as const) {
          for (let n = 0; n < 64; n += 9) {
            const expected = model.covering(denseAddress(family, n));
            for (const found of [index.covering(denseAddress(family, n)), reader.covering(denseAddress(family, n))]) {
              assert.deepEqual(found, expected);
              for (const [i, entry] of found.entries()) {
                assert.deepEqual([...entry.metadata], [...(expected[i] as UdmEntry).metadata]);
              }
            }
          }
        }
      }),
      runs(50),
    );
  });

  test("gives the texts of entries in pieces of whole entries, without making them", () => {
    const shared = new SharedIndex({ maxEntries: 200 });
    let index = shared.empty();
    const separator = fc.constantFrom("", ",", ",\n");
    fc.assert(
      fc.property(
        fc.array(anyEntry, { maxLength: 120 }),
        separator,
        fc.integer({ min: 1, max: 900 }),
        (given, by, max) => {
          const entries = [...new Map(given.map((entry) => [entry.key.text, entry])).values()];
          const edit = shared.empty().edit();
          for (const entry of entries) edit.put(entry);
          index = edit.done();
          const model = modelIndex(entries);
          const key = entries[0]?.key ?? parseKey("::1");
          const selections: UdmSelection[] = [
            "all",
            { key },
            { within: parseKey("10.0.0.0/27") },
            { within: parseKey("::/0") },
          ];
          for (const family of [4, 6] as const) selections.push({ covering: denseAddress(family, 33) });
          for (const selection of selections) {
            let shown = "";
            for (const { bytes, starts, ends, count } of index.jsonTexts(selection, max)) {
              const lengths = Array.from({ length: count }, (_, i) => (ends[i] as number) - (starts[i] as number));
              assert.ok(count === 1 || lengths.reduce((sum, length) => sum + length) <= max);
              for (let i = 0; i < count; i++) shown += `${Buffer.from(bytes.slice(starts[i], ends[i])).toString()}\n`;
            }
            assert.equal(shown, joined(model.render(selection, "json", "\n", max)) + (shown === "" ? "" : "\n"));
            for (const text of ["json", "key", "yaml"] as const) {
              const pieces = [...index.render(selection, text, by, max)].map((piece) => Buffer.from(piece).toString());
              assert.equal(pieces.join(""), joined(model.render(selection, text, by, max)));
              for (const [i, piece] of pieces.entries()) {
                const isWithin = Buffer.byteLength(piece) <= max;
                // JSON and keys have no line ends of their own, so they can be counted.
                assert.ok(isWithin || text === "yaml" || by !== ",\n" || piece.split(by).length === (i === 0 ? 1 : 2));
              }
            }
          }
        },
      ),
      runs(25),
    );
  });

  test("texts that are longer than a piece are given whole; a state that was given up gives no more", () => {
    const shared = new SharedIndex({ maxEntries: 100 });
    const long = (n: number): string => `é${n}`.repeat(3000);
    const index = step(shared, shared.empty(), (edit) => {
      for (let n = 0; n < 5; n++) edit.put(udmEntry(`10.0.0.${n}`, { name: long(n) }));
    });
    const pieces = [...index.render("all", "json", ",", 100)].map((piece) => Buffer.from(piece).toString());
    assert.deepEqual(
      pieces,
      Array.from({ length: 5 }, (_, n) => `${n === 0 ? "" : ","}{"key":"10.0.0.${n}","name":"${long(n)}"}`),
    );
    const half = index.render("all", "key", ",", 12);
    assert.equal(Buffer.from(half.next().value as Uint8Array).toString(), '"10.0.0.0"');
    shared.release(index);
    assert.throws(() => half.next(), /released/);
    assert.throws(() => index.render("all", "key", ",", 12).next(), /released/);
  });

  test("a reader looks up addresses given as bytes", () => {
    const shared = new SharedIndex({ maxEntries: 100 });
    const reader = new SharedIndexReader(shared.handle());
    const index = step(shared, shared.empty(), (edit) => {
      for (const key of ["10.0.0.0/8", "200.1.2.3", "0.0.0.0/0", "2001:db8::/32", "ffff::1"]) edit.put(udmEntry(key));
    });
    const found = (bytes: number[], family: 4 | 6): string[] =>
      reader.coveringBytes(new Uint8Array([9, ...bytes]), 1, family).map((entry) => entry.key.text);
    assert.deepEqual(found([10, 1, 2, 3], 4), ["0.0.0.0/0", "10.0.0.0/8"]);
    assert.deepEqual(found([200, 1, 2, 3], 4), ["0.0.0.0/0", "200.1.2.3"]);
    assert.deepEqual(found([0x20, 1, 0x0d, 0xb8, ...Array<number>(12).fill(7)], 6), ["2001:db8::/32"]);
    assert.deepEqual(found([0xff, 0xff, ...Array<number>(13).fill(0), 1], 6), ["ffff::1"]);
    assert.equal(reader.version(), index.version);
  });

  test("a reader sees nothing before, and all of it after a publication; what was given up never", () => {
    const shared = new SharedIndex({ maxEntries: 100 });
    const reader = new SharedIndexReader(shared.handle());
    const address = parseKey("10.0.0.1");
    const seen = (): string[] => reader.covering({ family: 4, value: address.first }).map((entry) => entry.name);
    assert.deepEqual([seen(), reader.version()], [[], 0]);
    const first = step(shared, shared.empty(), (edit) => edit.put(udmEntry("10.0.0.1", { name: "one" })));
    assert.deepEqual([seen(), reader.version()], [["one"], 1]);
    const edit = first.edit();
    edit.put(udmEntry("10.0.0.1", { name: "two" }));
    edit.put(udmEntry("10.0.0.0/8", { name: "net" }));
    assert.deepEqual(seen(), ["one"]);
    const unpublished = edit.done();
    assert.deepEqual(seen(), ["one"]);
    shared.release(unpublished);
    assert.throws(() => unpublished.get(address), /released/);
    assert.deepEqual([seen(), reader.version()], [["one"], 1]);
    const dropped = first.edit();
    dropped.delete(address);
    dropped.drop();
    assert.deepEqual(seen(), ["one"]);
    assert.throws(() => dropped.put(udmEntry("10.0.0.2")), /done/);
  });

  test("memory is as before when all that was put is deleted, replaced, dropped or undone", async () => {
    const shared = new SharedIndex({ maxEntries: 20_000 });
    let index = shared.empty();
    shared.publish(index);
    const inUse = (): number => shared.stats().tree + shared.stats().entries;
    const start = inUse();
    const entries = Array.from({ length: 6000 }, (_, n) =>
      udmEntry(n % 2 === 0 ? `10.${n % 7}.${n >> 8}.${n & 255}` : `2001:db8:${n.toString(16)}::/48`, { name: `n${n}` }),
    );
    for (let i = 0; i < entries.length; i += 100) {
      index = step(shared, index, (edit) => {
        for (const entry of entries.slice(i, i + 100)) edit.put(entry);
      });
    }
    await until("what small changes replaced is free", () => inUse() < 6000 * 300);
    const full = inUse();
    index = step(shared, index, (edit) => {
      for (const entry of entries.slice(0, 3000)) edit.put(entry);
    });
    const dropped = index.edit();
    for (const entry of entries.slice(0, 3000)) dropped.delete(entry.key);
    dropped.drop();
    const undone = index.edit();
    const mark = undone.mark();
    for (const entry of entries.slice(0, 3000)) undone.delete(entry.key);
    undone.put(udmEntry("::/0"));
    mark.undo();
    assert.equal(undone.size, 6000);
    assert.equal(undone.get(parseKey("::/0")), undefined);
    undone.drop();
    await until("what was given up is free", () => Math.abs(inUse() - full) < full / 20);
    while (index.size > 0) {
      index = step(shared, index, (edit) => {
        for (const { key } of [...index.entries()].slice(0, 700)) edit.delete(key);
      });
    }
    await until("all is free", () => inUse() === start);
    assert.equal(shared.stats().heldSnapshots, 1);
  });

  test("a state that is held stays whole while others come and go", () => {
    const shared = new SharedIndex({ maxEntries: 5000 });
    let index = step(shared, shared.empty(), (edit) => {
      for (let n = 0; n < 2000; n++) edit.put(udmEntry(`10.0.${n >> 8}.${n & 255}`, { name: "old" }));
    });
    const held = index;
    const half = held.entries()[Symbol.iterator]();
    for (let n = 0; n < 1000; n++) assert.equal((half.next().value as UdmEntry).name, "old");
    const edit = held.edit();
    for (let n = 0; n < 2000; n++) edit.delete(parseKey(`10.0.${n >> 8}.${n & 255}`));
    index = edit.done();
    shared.publish(index);
    for (let round = 0; round < 20; round++) {
      index = step(shared, index, (next) => {
        for (let n = 0; n < 500; n++) next.put(udmEntry(`10.0.${n >> 8}.${n & 255}`, { name: `new ${round}` }));
      });
    }
    let rest = 0;
    for (let next = half.next(); next.done !== true; next = half.next(), rest++) assert.equal(next.value.name, "old");
    assert.equal(rest, 1000);
    assert.equal([...held.entries()].length, 2000);
  });

  test("more entries than allowed, or than there is memory for, are refused and change nothing", () => {
    const shared = new SharedIndex({ maxEntries: 3, limitName: "THE_LIMIT" });
    const index = step(shared, shared.empty(), (edit) => {
      for (const key of ["10.0.0.1", "10.0.0.2", "::1"]) edit.put(udmEntry(key));
    });
    const edit = index.edit();
    edit.put(udmEntry("10.0.0.2", { name: "replaced" }));
    assert.throws(() => edit.put(udmEntry("10.0.0.3")), refusal(/3 metadata entries at most: raise THE_LIMIT/));
    assert.equal(edit.size, 3);
    // 16 MB, in values that are there twice.
    const huge = (n: number): UdmEntry => udmEntry("10.0.0.2", { metadata: { a: `${n}`.repeat(1_000_000) } });
    const held: UdmIndex[] = [];
    assert.throws(
      () => {
        for (let n = 0; n < 10; n++) {
          const next = (held.at(-1) ?? index).edit();
          next.put(huge(n));
          held.push(next.done());
        }
      },
      refusal(/memory for metadata is full \(17 MB\): raise THE_LIMIT/),
    );
    assert.ok(held.length > 3);
    for (const [n, state] of held.entries()) {
      assert.equal(state.get(parseKey("10.0.0.2"))?.metadata.get("a")?.[0], `${n}`);
      shared.release(state);
    }
    // Given back, it can be used again.
    edit.put(huge(1));
    assert.equal([...edit.done().entries()].length, 3);
    const tooMany = ["10.0.0.1", "10.0.0.2", "::1", "::2"].map((key) => udmEntry(key));
    assert.throws(() => buildState(shared, tooMany), refusal(/3 metadata entries/));
  });

  test("has so many readers at most, and a place that a reader gave back goes to another", () => {
    const shared = new SharedIndex({ maxEntries: 10, maxReaders: 2 });
    const [one, two] = [shared.handle(), shared.handle()];
    assert.throws(() => shared.handle(), /2 readers at most/);
    const reader = new SharedIndexReader(one);
    reader.close();
    assert.throws(() => reader.covering(denseAddress(4, 1)), /closed/);
    const three = shared.handle();
    // Its thread ended too: that must not take the place from the other.
    shared.closeReader(one);
    assert.throws(() => shared.handle(), /readers at most/);
    shared.closeReader(two);
    assert.notDeepEqual(shared.handle(), three);
  });

  test("readers in other threads never see half a batch, nor memory that is used for something else", async () => {
    const shared = new SharedIndex({ maxEntries: 5000 });
    const readers = Array.from({ length: 2 }, () => {
      const handle = shared.handle();
      const worker = new Worker(new URL("../support/shared-index-reader.js", import.meta.url), { workerData: handle });
      return { handle, worker };
    });
    await Promise.all(readers.map(({ worker }) => once(worker, "message")));
    let index = shared.empty();
    const filler = "x".repeat(40);
    let generation = 0;
    const storm = (): void => {
      generation++;
      index = step(shared, index, (edit) => {
        // The entries that cover one address, of many sizes; all carry the generation.
        for (let bits = 8; bits <= 32; bits++) {
          const name = `${generation} ${filler.repeat(generation % 7)}`;
          edit.put(udmEntry(`10.0.0.${bits === 32 ? 1 : 0}/${bits}`, { name }));
          edit.put(udmEntry(`2001:db8::/${4 * bits - 8}`, { name }));
        }
        // Some change now and then.
        if (generation % 3 === 0) edit.put(udmEntry("10.9.0.0/16", { name: `${generation}` }));
        if (generation % 7 === 0) edit.put(udmEntry("10.8.0.0-10.9.0.1", { name: `${generation}` }));
        if (generation % 5 === 0) edit.put(udmEntry("2001:db8:9::/48", { name: `${generation}` }));
        // And others that come and go, so that nodes split and join.
        for (let n = 0; n < 60; n++) {
          const key = parseKey(`10.0.${generation % 5}.${n}`);
          if (!edit.delete(key)) edit.put(udmEntry(key.text, { name: `other ${filler}` }));
        }
      });
    };
    const end = Date.now() + 2500;
    for (let round = 0; round < 3 || Date.now() < end; round++) {
      for (let i = 0; i < 20; i++) storm();
      await new Promise(setImmediate);
    }
    for (const { worker, handle } of readers) {
      worker.postMessage("stop", []);
      const [result] = (await once(worker, "message")) as [
        { looks: number; keptUses: number; generations: number; faults: string[] },
      ];
      assert.deepEqual(result.faults, []);
      assert.ok(result.looks > 100 && result.generations > 10 && result.keptUses > 100, JSON.stringify(result));
      await worker.terminate();
      shared.closeReader(handle);
    }
    assert.ok(generation > 40);
    await until("the storm is over", () => shared.stats().tree + shared.stats().entries < 500_000);
  });

  test("a reader's thread that is killed keeps nothing for long", async () => {
    const shared = new SharedIndex({ maxEntries: 5000, maxReaders: 1 });
    let index = step(shared, shared.empty(), (edit) => {
      for (let n = 0; n < 500; n++) edit.put(udmEntry(`10.0.0.0-10.0.${n >> 8}.${n & 255}`, { name: `n ${n}` }));
    });
    const handle = shared.handle();
    const worker = new Worker(new URL("../support/shared-index-reader.js", import.meta.url), { workerData: handle });
    await once(worker, "message");
    await until("the reader reads", () => shared.stats().activeReaders === 1);
    await worker.terminate();
    shared.closeReader(handle);
    assert.equal(shared.stats().activeReaders, 0);
    index = step(shared, index, (edit) => {
      for (const { key } of index.entries()) edit.delete(key);
    });
    await until("all entries are free", () => shared.stats().entries === 0);
    shared.closeReader(shared.handle());
  });
});

function joined(pieces: Iterable<Uint8Array>): string {
  return Buffer.concat([...pieces]).toString();
}

function refusal(message: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof UdmError && error.code === "resource_exhausted" && message.test(error.message);
}
