// A metadata file that is a mount of its own cannot be replaced. It is overwritten, through an image in the state directory.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { parseKey } from "../../src/base/ip/index.ts";
import { UdmError, type UdmStore } from "../../src/metadata/index.ts";
import { type FileIo } from "../../src/base/file/index.ts";
import { faultFileIo } from "../support/fault-file-io.ts";
import { memoryFileIo, type MemoryFileIo } from "../support/memory-file-io.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { memoryPath, storeOn, type StoreFixture } from "../support/udm-store-fixture.ts";

const oldText = `10.0.0.1:\n  name: ${"old".repeat(100)}\n`;

/** Renames over the target are refused, as for a file that is mounted into a container. */
function mounted<T extends FileIo>(io: T): T {
  const refuse = (): Promise<never> => Promise.reject(Object.assign(new Error("EBUSY: busy"), { code: "EBUSY" }));
  const otherDevice = (): Promise<never> => Promise.reject(Object.assign(new Error("EXDEV"), { code: "EXDEV" }));
  return { ...io, link: otherDevice, rename: (from, to) => (to === memoryPath ? refuse() : io.rename(from, to)) };
}

/** Names of the calls of a save that goes well, once it is known that the file cannot be replaced. */
async function callsOfASave(): Promise<readonly string[]> {
  const io = faultFileIo(mounted(fileWith(oldText)));
  const { store } = storeWithState(io);
  await store.start();
  await put(store, "old");
  io.arm(undefined);
  await put(store, "new");
  const calls = io.calls();
  await store.stop();
  return calls;
}

const storeWithState = (io: FileIo): StoreFixture => storeOn(io, { stateDirectory: "/memory", historyBytes: 0 });

const put = (store: UdmStore, name: string): Promise<unknown> =>
  store.commit([{ op: "update", key: parseKey("10.0.0.1"), values: udmEntry("::", { name }) }]);

const nameIn = (store: UdmStore): string | undefined => store.current().get(parseKey("10.0.0.1"))?.name.slice(0, 3);

/** What a collector finds that starts now. */
async function nameAfterStart(io: FileIo): Promise<string | undefined> {
  const { store } = storeWithState(io);
  await store.start();
  try {
    return nameIn(store);
  } finally {
    await store.stop();
  }
}

function fileWith(text: string): MemoryFileIo {
  const io = memoryFileIo();
  io.put(memoryPath, text);
  return io;
}

suite("a metadata file that cannot be replaced", () => {
  test("without a state directory is not written, and the error says what to set", async () => {
    const memory = fileWith(oldText);
    const { store } = storeOn(mounted(memory));
    await store.start();
    await assert.rejects(put(store, "new"), (error: unknown) => {
      assert.ok(error instanceof UdmError);
      assert.equal(error.code, "unavailable");
      assert.match(error.message, /nothing has changed: rename: EBUSY.*mount its folder.*SVC_STATE_DIRECTORY_PATH/);
      return true;
    });
    assert.equal(memory.text(memoryPath), oldText);
    assert.deepEqual(memory.names(), ["ipaddrs.yml", "ipaddrs.yml.lock"]);
    await store.stop();
  });

  test("is overwritten, shorter and longer, keeps its inode, and the log says once what that means", async () => {
    const memory = fileWith(oldText);
    const { inode } = await memory.state(memoryPath);
    const io = faultFileIo(mounted(memory));
    const { store, lines, metrics } = storeWithState(io);
    await store.start();
    await put(store, "new");
    assert.equal(memory.text(memoryPath), "10.0.0.1:\n  name: new\n");
    io.arm(undefined);
    await put(store, "new".repeat(200));
    assert.equal(memory.text(memoryPath), `10.0.0.1:\n  name: ${"new".repeat(200)}\n`);
    assert.equal((await memory.state(memoryPath)).inode, inode);
    assert.deepEqual(memory.names(), ["ipaddrs.yml", "ipaddrs.yml.lock"]);
    assert.equal(
      lines.filter((line) => line.level === "warn" && line.message.includes("overwritten in place")).length,
      1,
    );
    assert.equal(await metrics.value("netgloss_udm_saves_total"), 2);
    assert.equal(await metrics.value("netgloss_udm_save_alarms_total", { step: "image", code: "EIO" }), undefined);
    assert.deepEqual(
      io.calls(),
      "linkState state read create file.write file.write file.sync file.close rename openFolder folder.sync folder.close openExisting target.write target.truncate target.sync target.state target.close unlink openFolder folder.sync folder.close"
        .split(" ")
        .toSpliced(3, 0, "unlink"),
    );
    await store.stop();
  });

  for (const hasLinks of [false, true]) {
    test(`as a person wrote or edited it is copied, ${hasLinks ? "though links can be made" : "for links cannot be made"}`, async () => {
      const memory = fileWith("10.0.0.1: {name: a}\n");
      const io = mounted(memory);
      const { store } = storeWithState(hasLinks ? { ...io, link: (from, to) => memory.link(from, to) } : io);
      await store.start();
      await put(store, "new");
      assert.equal(memory.text(`${memoryPath}.orig`), "10.0.0.1: {name: a}\n");
      memory.put(memoryPath, "edited\n");
      await put(store, "new");
      const edited = memory.names().filter((name) => name.includes(".edited-"));
      assert.deepEqual(
        edited.map((name) => memory.text(`/memory/${name}`)),
        ["edited\n"],
      );
      await store.stop();
    });
  }

  for (const kind of ["before", "after", "short"] as const) {
    for (const code of kind === "short" ? ["short"] : ["ENOSPC", "EIO", "EROFS"]) {
      test(`${code} ${kind} its effect, at every call: a restart finds what was answered`, async () => {
        let failed = 0;
        const { length } = await callsOfASave();
        for (let call = 1; call <= length; call++) {
          const memory = fileWith(oldText);
          const io = faultFileIo(mounted(memory));
          const { store } = storeWithState(io);
          await store.start();
          await put(store, "old".repeat(100));
          io.arm({ call, kind, code });
          const isSaved = await put(store, "new").then(
            () => true,
            (error: unknown) => {
              assert.ok(error instanceof UdmError && error.code === "unavailable");
              return false;
            },
          );
          const made = [...io.calls()];
          io.arm(undefined);
          const where = `${code} ${kind} call ${call}, ${made[call - 1]}`;
          const expected = isSaved ? "new" : "old";
          if (!isSaved) failed++;
          assert.equal(nameIn(store), expected, where);
          assert.equal(await nameAfterStart(mounted(copyOf(memory))), expected, where);
          // A write after it does well, and nothing is left that would undo it.
          await put(store, "end");
          await store.stop();
          assert.equal(await nameAfterStart(mounted(memory)), "end", where);
          assert.deepEqual(
            memory.names().filter((name) => name.includes(".image")),
            [],
            where,
          );
        }
        assert.ok(kind === "short" ? failed === 0 : failed > 8, `${failed} failed`);
      });
    }
  }

  test("is whole after a loss of power at any call, with the old state or the new one, after the answer the new one", async () => {
    const seen = new Set<string | undefined>();
    const { length } = await callsOfASave();
    for (let call = 1; call <= length + 1; call++) {
      const memory = fileWith(oldText);
      let left: MemoryFileIo[] = [];
      const look = (): void => void (left = [memory.afterPowerLoss("synced"), memory.afterPowerLoss("latest")]);
      const io = faultFileIo(mounted(memory));
      const { store } = storeWithState(io);
      await store.start();
      await put(store, "old".repeat(100));
      io.arm({ call, kind: "short", code: "short", act: look });
      await put(store, "new");
      if (call > length) look();
      await store.stop();
      for (const disk of left) {
        const name = await nameAfterStart(mounted(disk));
        seen.add(name);
        assert.ok(name === "new" || (name === "old" && call <= length), `call ${call}: ${name}`);
      }
    }
    assert.deepEqual(new Set(seen), new Set(["new", "old"]));
  });

  test("is not touched for an image that is incomplete", async () => {
    const memory = fileWith(oldText);
    const { store } = storeWithState(mounted(memory));
    await store.start();
    const kept: string[] = [];
    const io: MemoryFileIo = { ...memory, unlink: (path) => (kept.push(path), memory.unlink(path)) };
    await store.stop();
    const writer = storeWithState(mounted(io));
    await writer.store.start();
    await put(writer.store, "new");
    await writer.store.stop();
    const imagePath = kept.find((path) => path.endsWith(".image")) ?? assert.fail("no image was written");
    for (const bytes of ["", "torn", "x".repeat(200)]) {
      memory.put(imagePath, bytes);
      assert.equal(await nameAfterStart(mounted(memory)), "new");
      assert.equal(memory.text(imagePath), undefined);
    }
  });

  test("without a mount any more is replaced again, and an image that a failure left does not undo that", async () => {
    const memory = fileWith(oldText);
    let isMount = true;
    const busy = mounted(memory);
    const fails: FileIo = {
      ...busy,
      rename: (from, to) => (isMount ? busy : memory).rename(from, to),
      openExisting: () => Promise.reject(Object.assign(new Error("EIO"), { code: "EIO" })),
    };
    const { store } = storeWithState(fails);
    await store.start();
    await assert.rejects(put(store, "new"), /overwrite: EIO \(the file may be torn, a restart makes it whole\)$/);
    isMount = false;
    await put(store, "end");
    await store.stop();
    assert.equal(await nameAfterStart(memory), "end");
  });
});

/** The same files, for a collector that starts while the other one still runs. */
function copyOf(memory: MemoryFileIo): MemoryFileIo {
  const copy = memoryFileIo();
  for (const name of memory.names()) {
    if (!name.endsWith(".lock")) copy.put(`/memory/${name}`, memory.text(`/memory/${name}`) ?? "");
  }
  return copy;
}
