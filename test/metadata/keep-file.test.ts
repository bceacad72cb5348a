// What a person wrote into the metadata file is not lost by a save.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { parseKey } from "../../src/base/ip/index.ts";
import { UdmError, type UdmStore } from "../../src/metadata/index.ts";
import { type FileIo } from "../../src/base/file/index.ts";
import { memoryFileIo, type MemoryFileIo } from "../support/memory-file-io.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { memoryPath, storeOn, type StoreFixture } from "../support/udm-store-fixture.ts";

const put = (store: UdmStore, name: string): Promise<unknown> => {
  const key = parseKey("10.0.0.1");
  const op = store.current().get(key) === undefined ? "create" : "update";
  return store.commit([{ op, key, values: udmEntry("::", { name }) }]);
};

/** Names and contents of the files next to the target and its lock. */
function neighbours(io: MemoryFileIo): Record<string, string | undefined> {
  const others = io.names().filter((name) => !["ipaddrs.yml", "ipaddrs.yml.lock"].includes(name));
  return Object.fromEntries(others.map((name) => [name, io.text(`${io.folder}/${name}`)]));
}

const clock = { now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 6), monotonic: () => 0 };
const editedName = "ipaddrs.yml.edited-20260102T030405.006Z";

/** Starts, writes once and stops. */
async function writeOnce(io: FileIo, name: string): Promise<StoreFixture> {
  const fixture = storeOn(io, { clock });
  await fixture.store.start();
  await put(fixture.store, name);
  await fixture.store.stop();
  return fixture;
}

suite("the file that a person wrote", () => {
  test("is kept as .orig before its first rewrite; what saves have written is not", async () => {
    const io = memoryFileIo();
    const byHand = "# our plan\n10.0.0.1: {name: a}\n";
    io.put(memoryPath, byHand, { mode: 0o600 });
    const { metrics, lines } = await writeOnce(io, "b");
    assert.deepEqual(neighbours(io), { "ipaddrs.yml.orig": byHand });
    assert.equal((await io.state(`${memoryPath}.orig`)).mode, 0o600);
    assert.equal(await metrics.value("netgloss_udm_files_kept_total", { reason: "original" }), 1);
    assert.ok(lines.some((line) => line.level === "info" && line.fields["path"] === `${memoryPath}.orig`));
    assert.deepEqual(neighbours(io.afterPowerLoss("synced")), { "ipaddrs.yml.orig": byHand });
    await writeOnce(io, "c");
    assert.deepEqual(neighbours(io), { "ipaddrs.yml.orig": byHand });
  });

  test("is kept under a time when there is an .orig of an earlier time", async () => {
    const io = memoryFileIo();
    io.put(`${memoryPath}.orig`, "the first\n");
    io.put(memoryPath, "10.0.0.1: {name: by hand} # again\n");
    const { metrics } = await writeOnce(io, "b");
    assert.deepEqual(neighbours(io), {
      "ipaddrs.yml.orig": "the first\n",
      [editedName]: "10.0.0.1: {name: by hand} # again\n",
    });
    assert.equal(await metrics.value("netgloss_udm_files_kept_total", { reason: "edited" }), 1);
  });

  for (const text of ["10.0.0.1:\n  name: a\n  x:\n    - y\n", "{}\n", ""]) {
    test(`is not kept where a rewrite loses nothing: ${JSON.stringify(text)}`, async () => {
      const io = memoryFileIo();
      io.put(memoryPath, text);
      await writeOnce(io, "b");
      assert.deepEqual(neighbours(io), {});
    });
  }

  for (const text of [
    "10.0.0.1:\n  name: 'a'\n",
    "10.0.0.1: {}\n\n",
    "# none\n",
    "10.0.0.2: {}\n10.0.0.1: {}\n",
    "10.0.0.1:\n  vlan: 0\n",
    "10.0.0.1: {}\n10.0.0.2: {}",
  ]) {
    test(`is kept where a rewrite would change more than was asked: ${JSON.stringify(text)}`, async () => {
      const io = memoryFileIo();
      io.put(memoryPath, text);
      await writeOnce(io, "b");
      assert.deepEqual(neighbours(io), { "ipaddrs.yml.orig": text });
    });
  }

  test("changed while the API owns it is kept under the time of the save, warned of and counted", async () => {
    const io = memoryFileIo();
    const { store, metrics, lines } = storeOn(io, { clock });
    await store.start();
    await put(store, "a");
    io.put(memoryPath, "10.0.0.9: {name: edited}\n");
    await put(store, "b");
    assert.equal(io.text(memoryPath), "10.0.0.1:\n  name: b\n");
    assert.deepEqual(neighbours(io), { [editedName]: "10.0.0.9: {name: edited}\n" });
    assert.equal(await metrics.value("netgloss_udm_files_kept_total", { reason: "edited" }), 1);
    assert.ok(lines.some((line) => line.level === "warn" && line.message.includes("changed by hand")));
    await put(store, "c");
    await store.stop();
    assert.equal(await metrics.value("netgloss_udm_files_kept_total", { reason: "edited" }), 1);
  });

  test("is kept, too, when it comes where there was no file, and between the last look and the rename", async () => {
    for (const isLate of [false, true]) {
      const memory = memoryFileIo();
      if (isLate) memory.put(memoryPath, "10.0.0.1:\n  name: a\n");
      const edit = (): void => memory.put(memoryPath, "edited: just now\n");
      let isEdited = false;
      const io: FileIo = {
        ...memory,
        link: (from, to) => {
          if (isLate && !isEdited) edit();
          isEdited = true;
          return memory.link(from, to);
        },
      };
      const { store } = storeOn(io, { clock });
      await store.start();
      if (!isLate) edit();
      await put(store, "b");
      await store.stop();
      assert.equal(memory.text(memoryPath), "10.0.0.1:\n  name: b\n");
      assert.deepEqual(neighbours(memory), { [editedName]: "edited: just now\n" });
    }
  });

  test("is copied on a file system without hard links", async () => {
    const memory = memoryFileIo();
    memory.put(memoryPath, "10.0.0.1: {name: a}\n", { mode: 0o640 });
    const refuse = (): Promise<never> => Promise.reject(Object.assign(new Error("EPERM"), { code: "EPERM" }));
    const { store } = storeOn({ ...memory, link: refuse }, { clock });
    await store.start();
    await put(store, "b");
    assert.deepEqual(neighbours(memory), { "ipaddrs.yml.orig": "10.0.0.1: {name: a}\n" });
    await put(store, "c");
    memory.put(memoryPath, "10.0.0.9: {}\n");
    await put(store, "d");
    await store.stop();
    assert.equal(neighbours(memory)[editedName], "10.0.0.9: {}\n");
    assert.equal((await memory.state(`${memoryPath}.orig`)).mode, 0o640);
  });

  test("stays where it is when it can neither be linked nor copied: the save fails", async () => {
    const memory = memoryFileIo();
    const byHand = "10.0.0.1: {name: a}\n";
    memory.put(memoryPath, byHand);
    const full = (): Promise<never> => Promise.reject(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }));
    const create: FileIo["create"] = (path, mode) => (path.endsWith(".orig") ? full() : memory.create(path, mode));
    const { store, metrics } = storeOn({ ...memory, link: full, create }, { clock });
    await store.start();
    await assert.rejects(
      put(store, "b"),
      (error: unknown) =>
        error instanceof UdmError && error.code === "unavailable" && /keep: ENOSPC/.test(error.message),
    );
    assert.equal(memory.text(memoryPath), byHand);
    assert.deepEqual(neighbours(memory), {});
    assert.equal(await metrics.value("netgloss_udm_save_failures_total", { step: "keep", code: "ENOSPC" }), 1);
    await store.stop();
  });

  test("is kept once, however many saves fail after that", async () => {
    const memory = memoryFileIo();
    memory.put(memoryPath, "10.0.0.1: {name: a}\n");
    let fails = 3;
    const io: FileIo = {
      ...memory,
      rename: (from, to) =>
        fails-- > 0 ? Promise.reject(Object.assign(new Error("EIO"), { code: "EIO" })) : memory.rename(from, to),
    };
    const { store } = storeOn(io, { clock });
    await store.start();
    memory.put(memoryPath, "edited: too\n");
    for (let i = 0; i < 3; i++) await assert.rejects(put(store, "b"));
    await put(store, "b");
    await store.stop();
    assert.deepEqual(neighbours(memory), { [editedName]: "edited: too\n" });
  });
});
