// Big files are loaded by a thread, which builds the state in memory that is leased to it.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { Worker } from "node:worker_threads";
import * as fc from "fast-check";
import { startUdmFileThread } from "../../src/app/index.ts";
import { parseKey } from "../../src/base/ip/index.ts";
import {
  SharedIndex,
  loadState,
  type IndexLease,
  type LoadedState,
  SharedIndexReader,
  UdmError,
  type UdmIndex,
} from "../../src/metadata/index.ts";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { plainEntries, storeOn, type StoreFixture } from "../support/udm-store-fixture.ts";
import { runs } from "../support/runs.ts";

const address = { family: 4, value: 10n << 24n } as const;

function threaded(path: string, options: Parameters<typeof storeOn>[1] = {}): StoreFixture {
  return storeOn(nodeFileIo, { path, owned: false, startThread: startUdmFileThread, threadBytes: 0, ...options });
}

/** A thread that ends with the first thing that it is asked. */
const shortLivedThread = (): Worker =>
  new Worker("require('node:worker_threads').parentPort.once('message', () => process.exit(1))", { eval: true });

function loadOrFail(lease: IndexLease, text: string): LoadedState | undefined {
  try {
    return loadState(lease, Buffer.from(text));
  } catch {
    return undefined;
  }
}

async function build(shared: SharedIndex, text: string, before?: UdmIndex): Promise<UdmIndex | undefined> {
  const lease = shared.lease(before);
  const { built } = loadState(lease, Buffer.from(text));
  if (built !== undefined) return shared.completeLease(lease, built);
  shared.cancelLease(lease);
  return undefined;
}

suite("loading a big file", () => {
  test("gives what the reader in the same thread gives, warnings and unknown fields included", async (t) => {
    const path = join(tempDirectory(t), "ipaddrs.yml");
    await writeFile(
      path,
      [
        '"2001:db8::1-2001:db8::5":\n  name: "true"\n  vlan: 18446744073709551615\n',
        `10.0.0.0/8:\n  name: ${"n".repeat(256)}\n  tags: [a, b-c]\n  internal: true\n`,
        "10.0.0.7-10.0.0.9:\n  name: München\n  metadata:\n    .a: 'it''s'\n    a b: \"1\"\n",
        "10.0.0.1:\n  metadata:\n    .site.name: Site 1\n    z: http://x/y\n    a: b\n  owner: me\n",
        "10.0.0.2:\n  contexts: []\n10.0.0.3:\n  contexts: [nowhere]\n192.0.2.10/24: {}\n",
      ].join(""),
    );
    const [one, other] = [threaded(path), threaded(path, { startThread: undefined })];
    for (const { store } of [one, other]) await store.start();
    assert.deepEqual(plainEntries(one.store.current().entries()), plainEntries(other.store.current().entries()));
    assert.deepEqual(one.lines, other.lines);
    assert.equal(one.lines.filter(({ level }) => level === "warn").length, 5);
    for (const { store } of [one, other]) await store.stop();
  });

  test("is for the thread from an eighth of the size on, so that it cannot hold the loop; it ends when saves are done here", async (t) => {
    const path = join(tempDirectory(t), "ipaddrs.yml");
    const text = Array.from({ length: 100 }, (_, i) => `10.0.0.${i}:\n  name: a\n`).join("");
    await writeFile(path, text);
    for (const [threadBytes, expected] of [
      [8 * text.length + 8, 0],
      [8 * text.length, 1],
    ] as const) {
      let started = 0;
      let ended = 0;
      const startThread = (): Worker => {
        started++;
        return startUdmFileThread().once("exit", () => void ended++);
      };
      const { store } = storeOn(nodeFileIo, { path, startThread, threadBytes });
      await store.start();
      assert.equal(store.current().size, 100);
      assert.deepEqual([started, ended], [expected, expected]);
      await store.commit([{ op: "update", key: parseKey("10.0.0.1"), values: udmEntry("::", { name: "b" }) }]);
      assert.equal(started, expected);
      await store.stop();
    }
  });

  test("again: the same content keeps the version, another is seen whole, a broken one changes nothing", async (t) => {
    const path = join(tempDirectory(t), "ipaddrs.yml");
    const text = (name: string): string =>
      Array.from({ length: 3000 }, (_, i) => `10.${i >> 8}.${i & 255}.0/24:\n  name: ${name}\n`).join("");
    await writeFile(path, `${text("a")}10.200.0.0/16:\n  metadata:\n    a: b\n    c: d\n`);
    const { store } = threaded(path);
    await store.start();
    const reader = new SharedIndexReader(store.readerHandle());
    const first = store.current();
    await writeFile(path, `# the same\n10.200.0.0/16:\n  metadata:\n    c: d\n    a: "b"\n${text('"a"')}`);
    assert.equal(await store.load(), first);
    assert.equal(first.version, 1);

    await writeFile(path, text("b"));
    const loading = store.load();
    assert.equal(reader.covering(address)[0]?.name, "a");
    const second = await loading;
    assert.equal(reader.covering(address)[0]?.name, "b");
    assert.deepEqual([second.version, second.size], [2, 3000]);
    // Who holds the state before still has all of it.
    assert.deepEqual([...first.entries()].filter(({ name }) => name === "a").length, 3000);

    await writeFile(path, `${text("c")}10.0.0.1: {}\n"10.0.0.1": {}\n`);
    await assert.rejects(store.load(), /ipaddrs\.yml:6002:1: key "10\.0\.0\.1" is given twice, first at line 6001/);
    assert.equal(store.current(), second);
    assert.equal(reader.covering(address)[0]?.name, "b");
    reader.close();
    await store.stop();
  });

  test("fails when its thread dies, and succeeds when it is tried again", async (t) => {
    const path = join(tempDirectory(t), "ipaddrs.yml");
    await writeFile(path, "10.0.0.0/8:\n  name: a\n");
    const threads = [shortLivedThread, startUdmFileThread];
    const { store, health, metrics } = threaded(path, {
      owned: true,
      startThread: () => (threads.shift() as () => Worker)(),
    });
    await store.start();
    const died = (error: unknown): boolean =>
      error instanceof UdmError &&
      error.code === "unavailable" &&
      /the thread that writes the file has died/.test(error.message);
    assert.throws(() => store.current(), died);
    assert.equal(health.isReady(), false);
    assert.equal((await store.load()).size, 1);
    assert.equal(health.isReady(), true);
    await store.commit([{ op: "update", key: parseKey("10.0.0.0/8"), values: udmEntry("::", { name: "b" }) }]);
    assert.equal(store.current().get(parseKey("10.0.0.0/8"))?.name, "b");
    assert.match(await metrics.render(), /netgloss_udm_file_thread_deaths_total 1/);
    await store.stop();
  });

  test("says which limit is too low", async (t) => {
    const path = join(tempDirectory(t), "ipaddrs.yml");
    await writeFile(path, "10.0.0.1: {}\n10.0.0.2: {}\n10.0.0.3: {x: y}\n");
    const { store } = threaded(path, { maxEntries: 2, limitName: "THE_LIMIT" });
    await store.start();
    assert.throws(() => store.current(), /there may be 2 metadata entries at most: raise THE_LIMIT/);
    await writeFile(path, "10.0.0.1: {}\n10.0.0.2: {}\n");
    assert.equal((await store.load()).size, 2);
    await store.stop();
  });

  test("memory that was leased is all there again, whatever the result", async () => {
    const shared = new SharedIndex({ maxEntries: 1000 });
    const file = fc
      .uniqueArray(fc.tuple(denseKeyText, fc.nat(300)), { selector: ([key]) => parseKey(key).text, maxLength: 60 })
      .map((entries) => entries.map(([key, n]) => `"${key}":\n  name: "${"n".repeat(n)}"\n`).join(""));
    const step = fc.oneof(
      { weight: 4, arbitrary: file.map((text) => ({ text })) },
      { weight: 1, arbitrary: fc.constant({ text: "10.0.0.1: {}\n10.0.0.1: {}\n" }) },
      { weight: 4, arbitrary: denseKeyText.map((key) => ({ key })) },
    );
    const usedBefore = shared.stats();
    const property = fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      let index = shared.empty();
      const model = new Map<string, string>();
      const become = (next: UdmIndex): void => {
        shared.release(index);
        index = next;
      };
      for (const each of steps) {
        if ("key" in each) {
          const edit = index.edit();
          edit.put(udmEntry(each.key, { name: "edited" }));
          model.set(parseKey(each.key).text, "edited");
          become(edit.done());
          continue;
        }
        const lease = shared.lease(index);
        const loaded = loadOrFail(lease, each.text);
        if (loaded?.built === undefined) {
          shared.cancelLease(lease);
          if (loaded === undefined) continue;
        } else become(shared.completeLease(lease, loaded.built));
        model.clear();
        for (const [, key, name] of each.text.matchAll(/"(.+)":\n {2}name: "(n*)"\n/g)) {
          model.set(parseKey(key as string).text, name as string);
        }
      }
      const found = new Map(Array.from(index.entries(), ({ key, name }) => [key.text, name]));
      assert.deepEqual(found, model);
      assert.equal(index.size, model.size);
      shared.release(index);
    });
    await fc.assert(property, runs(100));
    // What was given up is freed bit by bit.
    const last = await build(shared, "10.0.0.1: {}\n");
    assert.ok(last !== undefined);
    shared.release(last);
    const { tree, entries, heldSnapshots } = shared.stats();
    assert.deepEqual(
      { tree, entries, heldSnapshots },
      { tree: usedBefore.tree, entries: usedBefore.entries, heldSnapshots: 0 },
    );
    assert.equal(await build(shared, "", shared.empty()), undefined);
  });
});
