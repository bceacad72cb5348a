// Big files are saved by a thread of their own: with the same outcome, and whatever happens to the thread.
import assert from "node:assert/strict";
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { Worker } from "node:worker_threads";
import { startUdmFileThread } from "../../src/app/index.ts";
import { parseKey } from "../../src/base/ip/index.ts";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { UdmError, type UdmStore } from "../../src/metadata/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { plainEntries, storeOn, type StoreFixture } from "../support/udm-store-fixture.ts";

const names = (store: UdmStore): string[] =>
  [...store.current().entries()].map((entry) => `${entry.key.text} ${entry.name}`);

const put = (store: UdmStore, key: string, name: string): Promise<unknown> => {
  const parsed = parseKey(key);
  const op = store.current().get(parsed) === undefined ? "create" : "update";
  return store.commit([{ op, key: parsed, values: udmEntry("::", { name }) }]);
};

/** A store that asks the thread for every save. */
function threaded(path: string, startThread: () => Worker = startUdmFileThread): StoreFixture {
  return storeOn(nodeFileIo, { path, startThread, threadBytes: 0 });
}

const dyingThread = (dies: "before" | "after"): Worker =>
  new Worker(join(import.meta.dirname, "../support/dying-file-thread.js"), { workerData: { dies } });

suite("the thread for big files", () => {
  test("reports what failed as a save in this thread would, and goes on", async (t) => {
    const folder = tempDirectory(t);
    const path = join(folder, "ipaddrs.yml");
    const { store, metrics } = threaded(path);
    await store.start();
    await put(store, "10.0.0.1", "a");
    const { mode } = await nodeFileIo.state(path);
    await rename(folder, `${folder}-away`);
    const error: unknown = await put(store, "10.0.0.1", "b").catch((reason: unknown) => reason);
    assert.ok(error instanceof UdmError);
    assert.match(error.message, /ipaddrs\.yml cannot be saved, nothing has changed: open_folder: ENOENT/);
    assert.equal(await metrics.value("netgloss_udm_save_failures_total", { step: "open_folder", code: "ENOENT" }), 1);
    await rename(`${folder}-away`, folder);
    await put(store, "10.0.0.2", "c");
    assert.equal(await readFile(path, "utf8"), "10.0.0.1:\n  name: a\n10.0.0.2:\n  name: c\n");
    assert.equal((await nodeFileIo.state(path)).mode, mode);
    await store.stop();
  });

  for (const dies of ["before", "after"] as const) {
    test(`dies ${dies} the rename: the write is answered as the file has it, the next one by a new thread`, async (t) => {
      const folder = tempDirectory(t);
      const path = join(folder, "ipaddrs.yml");
      await writeFile(path, "10.0.0.1:\n  name: a\n");
      let starts = 0;
      const { store, metrics, lines } = threaded(path, () =>
        starts++ === 0 ? dyingThread(dies) : startUdmFileThread(),
      );
      await store.start();
      const answer = await put(store, "10.0.0.2", "b").then(
        () => "saved",
        (error: unknown) => (error instanceof UdmError ? `${error.code}: ${error.message}` : "?"),
      );
      assert.match(answer, dies === "after" ? /^saved$/ : /^unavailable: .*nothing has changed: thread: .*has died/);
      const expected = dies === "after" ? ["10.0.0.1 a", "10.0.0.2 b"] : ["10.0.0.1 a"];
      assert.deepEqual(names(store), expected);
      assert.equal((await readFile(path, "utf8")).includes("10.0.0.2"), dies === "after");
      assert.equal(await metrics.value("netgloss_udm_file_thread_deaths_total"), 1);
      assert.ok(lines.some((line) => line.level === "error" && line.message.includes("has died")));
      const labels = { step: "thread", code: "thread_died" };
      const counter = dies === "after" ? "netgloss_udm_save_alarms_total" : "netgloss_udm_save_failures_total";
      assert.equal(await metrics.value(counter, labels), 1);

      await put(store, "10.0.0.3", "c");
      assert.equal(starts, 2);
      await store.stop();
      assert.deepEqual(await readdir(folder), ["ipaddrs.yml"]);
      const again = threaded(path);
      await again.store.start();
      assert.deepEqual(names(again.store), [...expected, "10.0.0.3 c"]);
      await again.store.stop();
    });
  }

  test("reads what only the library can read, and reports where a file is broken", async (t) => {
    const path = join(tempDirectory(t), "ipaddrs.yml");
    const keys = Array.from({ length: 2500 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
    const byHand = keys.map((key, i) => `${key}: {name: n${i}, metadata: {a: b}, x: [1, {y: z}]}\n`).join("");
    await writeFile(path, byHand);
    const { store } = threaded(path);
    await store.start();
    const inThisThread = storeOn(nodeFileIo, { path, owned: false });
    await inThisThread.store.start();
    const entries = plainEntries(store.current().entries());
    assert.deepEqual(entries, plainEntries(inThisThread.store.current().entries()));
    assert.equal(entries.length, keys.length);
    await put(store, "10.0.0.0", "b");
    await store.stop();
    assert.equal(await readFile(`${path}.orig`, "utf8"), byHand);

    await writeFile(path, `${byHand}10.0.0.0: {}\n`);
    const broken = threaded(path);
    await broken.store.start();
    const message = /ipaddrs\.yml:2501:1: key "10\.0\.0\.0" is given twice, first at line 1, column 1$/;
    assert.throws(() => broken.store.current(), message);
    await writeFile(path, Buffer.concat([Buffer.from("10.0.0.0: {name: "), Buffer.from([0xff])]));
    await assert.rejects(broken.store.load(), /ipaddrs\.yml:1:18: the file is not UTF-8 here$/);
    await inThisThread.store.stop();
    await broken.store.stop();
  });

  test("takes over the bytes of a file that was written by saves", async (t) => {
    const path = join(tempDirectory(t), "ipaddrs.yml");
    const entries = Array.from({ length: 1000 }, (_, i) => `10.0.${i >> 8}.${i & 255}:\n  name: n${i}\n`);
    await writeFile(path, entries.join(""));
    const { store } = threaded(path);
    await store.start();
    await put(store, "10.0.1.1", "b");
    await store.stop();
    entries[257] = "10.0.1.1:\n  name: b\n";
    assert.equal(await readFile(path, "utf8"), entries.join(""));
  });

  test("that cannot be started fails the write", async (t) => {
    const path = join(tempDirectory(t), "ipaddrs.yml");
    const { store } = threaded(path, () => {
      throw new Error("no more threads");
    });
    await store.start();
    await assert.rejects(put(store, "10.0.0.1", "a"), /nothing has changed: no more threads/);
    assert.equal(store.current().size, 0);
    await store.stop();
  });

  test("is only asked when the file is big, and then for good", async (t) => {
    const path = join(tempDirectory(t), "ipaddrs.yml");
    let starts = 0;
    const startThread = (): Worker => (starts++, startUdmFileThread());
    const { store } = storeOn(nodeFileIo, { path, startThread, threadBytes: 500 });
    await store.start();
    await put(store, "10.0.0.1", "a");
    await put(store, "10.0.0.2", "x".repeat(600));
    assert.equal(starts, 0);
    await put(store, "10.0.0.2", "b");
    assert.equal(starts, 1);
    await put(store, "10.0.0.3", "c");
    await store.stop();
    assert.equal(await readFile(path, "utf8"), "10.0.0.1:\n  name: a\n10.0.0.2:\n  name: b\n10.0.0.3:\n  name: c\n");
  });
});
