// Every single call of the operating system that a save makes goes wrong once, in several ways.
import assert from "node:assert/strict";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { parseKey } from "../../src/base/ip/index.ts";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { UdmError, type UdmIndex, type UdmStore } from "../../src/metadata/index.ts";
import { faultFileIo, type Fault, type FaultFileIo, type FaultKind } from "../support/fault-file-io.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { memoryPath, readFileText, storeOn, type StoreFixture } from "../support/udm-store-fixture.ts";

const oldText = "10.0.0.1:\n  name: old\n";
/** Errors of a disk that is full, broken, over quota, read-only, not permitted, and of a mount point. */
const codes = ["ENOSPC", "EIO", "EDQUOT", "EROFS", "EPERM", "EBUSY"];

const names = (index: UdmIndex): string[] => [...index.entries()].map((entry) => `${entry.key.text} ${entry.name}`);
const before = ["10.0.0.1 old"];
const after1 = ["10.0.0.1 old", "10.0.0.2 new"];
const after2 = ["10.0.0.1 old", "10.0.0.2 newer"];

async function write(store: UdmStore): Promise<unknown> {
  const values = udmEntry("::", { name: "new" });
  return store.commit([{ op: "create", key: parseKey("10.0.0.2"), values }]);
}

/** A write that does well whether or not the one before did. */
async function writeAgain(store: UdmStore): Promise<void> {
  const key = parseKey("10.0.0.2");
  const op = store.current().get(key) === undefined ? "create" : "update";
  await store.commit([{ op, key, values: udmEntry("::", { name: "newer" }) }]);
}

// A mode and an owner to be kept make the save make all of its calls.
const owner = { mode: 0o600, uid: 7, gid: 8 };

/** Names of the calls of a save that goes well. */
async function callsOfASave(): Promise<readonly string[]> {
  const memory = memoryFileIo();
  memory.put(memoryPath, oldText, owner);
  const io = faultFileIo(memory);
  const fixture = storeOn(io);
  await fixture.store.start();
  const { calls, error } = await runWith(io, fixture, undefined);
  assert.equal(error, undefined);
  await fixture.store.stop();
  const { mode, uid, gid } = await memory.state(memoryPath);
  assert.deepEqual({ mode, uid, gid }, owner);
  return calls;
}

async function runWith(
  io: FaultFileIo,
  fixture: StoreFixture,
  fault: Fault | undefined,
): Promise<{ calls: readonly string[]; error: unknown }> {
  io.arm(fault);
  const error: unknown = await write(fixture.store).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const calls = [...io.calls()];
  io.arm(undefined);
  return { calls, error };
}

suite("a save in which one call goes wrong", () => {
  for (const kind of ["before", "after", "short"] satisfies FaultKind[]) {
    for (const code of kind === "short" ? ["short"] : codes) {
      test(`${code} ${kind} its effect, at every call: all or nothing`, async () => {
        let failed = 0;
        const { length } = await callsOfASave();
        for (let call = 1; call <= length; call++) {
          const memory = memoryFileIo();
          memory.put(memoryPath, oldText, owner);
          const io = faultFileIo(memory);
          const fixture = storeOn(io);
          const { store, metrics, lines } = fixture;
          await store.start();
          const { error, calls: made } = await runWith(io, fixture, { call, kind, code });
          const where = `${code} ${kind} call ${call}, ${made[call - 1]}`;

          if (error !== undefined) {
            failed++;
            assert.ok(error instanceof UdmError, where);
            assert.equal(error.code, "unavailable", where);
            assert.match(error.message, /cannot be saved, nothing has changed: /, where);
            assert.equal(await metrics.value("netgloss_udm_commits_total", { result: "unavailable" }), 1, where);
            const step = /nothing has changed: (\w+):/.exec(error.message)?.[1] ?? "";
            assert.equal(await metrics.value("netgloss_udm_save_failures_total", { step, code }), 1, where);
            assert.ok(
              lines.some((line) => line.level === "error"),
              where,
            );
          }
          const expected = error === undefined ? after1 : before;
          assert.deepEqual(names(store.current()), expected, where);
          const text = memory.text(memoryPath) ?? "";
          assert.deepEqual(names((await readFileText(text)).index), expected, where);
          const acknowledged = names((await readFileText(await survivor(memory, "synced"))).index);
          // The folder's sync is the one thing that may fail with the save in place.
          const isUnsynced = made[call - 1] === "folder.sync" && kind === "before";
          if (!isUnsynced) assert.deepEqual(acknowledged, expected, where);

          // The first call looks where the links lead.
          const isJudging = kind !== "short" && call > 1 && ["linkState", "unlink"].includes(made[call - 1] ?? "");
          const isDoubted = isJudging && (made[call - 1] === "linkState" || kind === "before");
          const left = memory.names().filter((name) => name.includes(".edited-"));
          assert.equal(left.length, isDoubted ? 1 : 0, where);
          if (isDoubted) assert.equal(memory.text(`/memory/${left[0]}`), oldText, where);
          assert.deepEqual(memory.names(), ["ipaddrs.yml", ...left, "ipaddrs.yml.lock"], where);
          await writeAgain(store);
          assert.deepEqual(names(store.current()), after2, where);
          assert.deepEqual(memory.names(), ["ipaddrs.yml", ...left, "ipaddrs.yml.lock"], where);
          await store.stop();
          assert.deepEqual(names((await readFileText(memory.text(memoryPath) ?? "")).index), after2, where);
        }
        if (kind === "short") assert.equal(failed, 0);
        else assert.ok(failed >= 5, `only ${failed} calls failed the save`);
      });
    }
  }

  async function survivor(memory: ReturnType<typeof memoryFileIo>, which: "synced" | "latest"): Promise<string> {
    return memory.afterPowerLoss(which).text(memoryPath) ?? "";
  }

  test("which calls those are", async () => {
    assert.deepEqual(await callsOfASave(), [
      "linkState",
      "state",
      "openFolder",
      "create",
      "file.write",
      "file.state",
      "file.chown",
      "file.chmod",
      "file.sync",
      "file.state",
      "file.close",
      "link",
      "rename",
      "folder.sync",
      "linkState",
      "unlink",
      "folder.close",
    ]);
  });

  test("a sync of the folder that fails is an alarm, because the file is in place", async () => {
    const memory = memoryFileIo();
    memory.put(memoryPath, oldText);
    const io = faultFileIo(memory);
    const fixture = storeOn(io);
    await fixture.store.start();
    const { calls } = await runWith(io, fixture, undefined);
    const call = calls.indexOf("folder.sync") + 1;
    io.arm({ call, kind: "before", code: "EIO" });
    await writeAgain(fixture.store);
    assert.equal(io.calls().filter((name) => name === "folder.sync").length, 1);
    const labels = { step: "sync_folder", code: "EIO" };
    assert.equal(await fixture.metrics.value("netgloss_udm_save_alarms_total", labels), 1);
    assert.equal(await fixture.metrics.value("netgloss_udm_saves_total"), 2);
    assert.ok(fixture.lines.some((line) => line.level === "error" && line.fields["step"] === "sync_folder"));
    await fixture.store.stop();
  });

  test("a temporary file that could not be removed goes with the next save", async () => {
    const memory = memoryFileIo();
    let isBroken = false;
    const io = {
      ...memory,
      rename: (from: string, to: string) => (isBroken ? Promise.reject(new Error("EIO")) : memory.rename(from, to)),
      unlink: (path: string) => (isBroken ? Promise.reject(new Error("EIO")) : memory.unlink(path)),
    };
    const { store } = storeOn(io);
    await store.start();
    isBroken = true;
    await assert.rejects(write(store));
    assert.equal(memory.names().filter((name) => name.endsWith(".tmp")).length, 1);
    isBroken = false;
    await write(store);
    assert.deepEqual(memory.names(), ["ipaddrs.yml", "ipaddrs.yml.lock"]);
    await store.stop();
  });
});

suite("a loss of power", () => {
  test("at any call leaves the old state or the new one, after the answer the new one", async () => {
    let calls = Number.POSITIVE_INFINITY;
    let seenOld = 0;
    let seenNew = 0;
    for (let call = 1; call <= calls + 1; call++) {
      const memory = memoryFileIo();
      memory.put(memoryPath, oldText);
      let count = 0;
      let left: ReturnType<typeof memoryFileIo>[] = [];
      // What a power loss just before each call would leave, by the two ways in which names may have been written.
      const look = (): void => {
        if (++count === call) left = [memory.afterPowerLoss("synced"), memory.afterPowerLoss("latest")];
      };
      const io = spying(memory, look);
      const { store } = storeOn(io);
      await store.start();
      count = 0;
      await write(store);
      calls = count;
      if (call > calls) left = [memory.afterPowerLoss("synced"), memory.afterPowerLoss("latest")];
      await store.stop();

      for (const disk of left) {
        const again = storeOn(disk);
        await again.store.start();
        const found = names(again.store.current());
        assert.deepEqual(disk.names(), ["ipaddrs.yml", "ipaddrs.yml.lock"], "temporary files are removed at the start");
        await again.store.stop();
        if (call > calls) assert.deepEqual(found, after1);
        else
          assert.ok(
            [before, after1].some((state) => state.join() === found.join()),
            `call ${call}: ${found.join()}`,
          );
        if (found.length === 1) seenOld++;
        else seenNew++;
      }
    }
    assert.ok(seenOld > 5 && seenNew > 2);
  });
});

/** Calls `look` before every call, those on open files included. */
function spying(memory: ReturnType<typeof memoryFileIo>, look: () => void): ReturnType<typeof memoryFileIo> {
  const spy = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name);
        if (typeof member !== "function") return member;
        return async (...args: unknown[]) => {
          look();
          const result: unknown = await Reflect.apply(member, object, args);
          return typeof result === "object" && result !== null && "sync" in result ? spy(result) : result;
        };
      },
    });
  return spy(memory);
}

suite("a save on a real file system", () => {
  test("in which one call goes wrong: all or nothing, and no descriptor stays open", async (t) => {
    const openFiles = async (): Promise<number> => (await readdir("/proc/self/fd")).length;
    const folder = tempDirectory(t);
    const path = join(folder, "ipaddrs.yml");
    const { length } = await callsOfASave();
    for (let call = 1; call <= length; call++) {
      await writeFile(path, oldText);
      const io = faultFileIo(nodeFileIo);
      const fixture = storeOn(io, { path });
      await fixture.store.start();
      const descriptors = await openFiles();
      // After its effect, because a close that fails closes all the same.
      const { calls: made, error } = await runWith(io, fixture, { call, kind: "after", code: "EIO" });
      assert.equal(await openFiles(), descriptors, made[call - 1]);
      const { index } = await readFileText(await readFile(path));
      assert.deepEqual(names(index), error === undefined ? after1 : before);
      assert.deepEqual(names(fixture.store.current()), names(index));
      const left = await readdir(folder);
      const edited = left.filter((name) => name.includes(".edited-"));
      assert.equal(edited.length, call > 1 && made[call - 1] === "linkState" ? 1 : 0);
      assert.deepEqual(left.sort(), ["ipaddrs.yml", ...edited, "ipaddrs.yml.lock"]);
      await writeAgain(fixture.store);
      await fixture.store.stop();
      assert.deepEqual((await readdir(folder)).sort(), ["ipaddrs.yml", ...edited]);
      for (const name of edited) await rm(join(folder, name));
    }
  });
});
