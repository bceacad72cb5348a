import assert from "node:assert/strict";
import { mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import {
  LockedError,
  nodeFileIo,
  readSettled,
  replaceContent,
  resolveTarget,
  SaveError,
  syncFileIo,
  takeFileLock,
  WatchedFile,
} from "../../../src/base/file/index.ts";
import { silentLog, systemClock } from "../../../src/base/report/index.ts";
import { faultFileIo, type FaultKind } from "../../support/fault-file-io.ts";
import { memoryFileIo } from "../../support/memory-file-io.ts";
import { tempDirectory } from "../../support/temp-directory.ts";

const target = "/memory/state.json";
const plan = { target, temporary: "/memory/.state.tmp", mode: 0o640 };

suite("a replaced content", () => {
  test("is the old one or the new one, whatever call goes wrong, and after a loss of power", async () => {
    for (const kind of ["before", "after", "short"] satisfies FaultKind[]) {
      let failed = 0;
      for (let call = 1; ; call++) {
        const memory = memoryFileIo();
        await replaceContent(memory, plan, Buffer.from("old"));
        const io = faultFileIo(memory);
        io.arm({ call, kind, code: "EIO" });
        const error: unknown = await replaceContent(io, plan, Buffer.from("new content")).catch((e: unknown) => e);
        const made = io.calls();
        if (made.length < call) break;
        const where = `${kind} call ${call}, ${made[call - 1]}`;
        if (error !== undefined) {
          failed++;
          assert.ok(error instanceof SaveError, where);
        }
        const isInPlace = error === undefined || error.step === "sync_folder";
        assert.equal(memory.text(target), isInPlace ? "new content" : "old", where);
        const durable = memory.afterPowerLoss("synced").text(target);
        if (error === undefined) assert.equal(durable, "new content", where);
        else assert.ok(durable === "old" || durable === "new content", where);
        assert.deepEqual(memory.names(), ["state.json"], where);
      }
      if (kind === "short") assert.equal(failed, 0);
      else assert.ok(failed >= 7, `${failed}`);
    }
  });

  test("has the mode that is asked for when it is new, else the one it had", async () => {
    const memory = memoryFileIo();
    await replaceContent(memory, plan, Buffer.from("a"));
    assert.equal((await memory.state(target)).mode, 0o640);
    memory.put(target, "b", { mode: 0o600 });
    await replaceContent(memory, plan, Buffer.from("c"));
    assert.equal((await memory.state(target)).mode, 0o600);
    assert.equal(memory.text(target), "c");
  });

  for (const [name, io] of [
    ["promises", nodeFileIo],
    ["blocking calls", syncFileIo],
  ] as const) {
    test(`is written by ${name} of Node`, async (t) => {
      const folder = tempDirectory(t);
      const path = join(folder, "file");
      for (const text of ["one", "another"]) {
        await replaceContent(io, { target: path, temporary: `${path}.tmp`, mode: 0o600 }, Buffer.from(text));
        assert.equal(await readFile(path, "utf8"), text);
      }
      assert.equal((await stat(path)).mode & 0o777, 0o600);
      assert.deepEqual(await io.list(folder), ["file"]);
      await assert.rejects(
        replaceContent(
          io,
          { target: join(folder, "no", "file"), temporary: join(folder, "no", "tmp") },
          Buffer.from(""),
        ),
        (error) => error instanceof SaveError && error.step === "open_folder" && error.code === "ENOENT",
      );
    });
  }
});

test("links at the end of a path are followed, loops are refused", async (t) => {
  const folder = tempDirectory(t);
  await mkdir(join(folder, "real"));
  await symlink("real/file", join(folder, "one"));
  await symlink("one", join(folder, "two"));
  await symlink("loop", join(folder, "loop"));
  assert.equal(await resolveTarget(nodeFileIo, join(folder, "two")), join(folder, "real", "file"));
  assert.equal(await resolveTarget(nodeFileIo, join(folder, "none")), join(folder, "none"));
  await assert.rejects(resolveTarget(nodeFileIo, join(folder, "loop")), /too many symbolic links/);
});

test("a lock is held by one at a time, names its holder, and is free again when released", async (t) => {
  const path = join(tempDirectory(t), "file");
  const options = { subject: "the file", clock: systemClock, log: silentLog };
  const lock = await takeFileLock(nodeFileIo, path, options);
  await assert.rejects(takeFileLock(nodeFileIo, path, options), (error) => {
    assert.ok(error instanceof LockedError);
    assert.match(error.message, new RegExp(`^the file is in use by another collector: process ${process.pid} on `));
    return true;
  });
  await lock.release();
  await (await takeFileLock(nodeFileIo, path, options)).release();
  assert.deepEqual(await nodeFileIo.list(join(path, "..")), []);
});

test("a file is read as it is between two writes", async () => {
  const memory = memoryFileIo();
  memory.put(target, "first");
  let reads = 0;
  const io = {
    ...memory,
    read: async (path: string) => {
      const bytes = await memory.read(path);
      if (++reads === 1) memory.put(target, "second");
      return bytes;
    },
  };
  const { bytes } = await readSettled(io, target, await memory.state(target));
  assert.equal(Buffer.from(bytes).toString(), "second");
  const restless = { ...memory, read: async (path: string) => (memory.put(path, `${++reads}`), memory.read(path)) };
  await assert.rejects(readSettled(restless, target, await memory.state(target)), /changes while it is read/);
  await assert.rejects(readSettled(memory, "/memory", await memory.state("/memory")), /not a regular file/);
});

test("a watched file is handed over at the start and when it changed, a refused content once", async (t) => {
  const path = join(tempDirectory(t), "file");
  const taken: string[] = [];
  const failures: string[] = [];
  const file = new WatchedFile(path, 0, {
    take(bytes) {
      const text = Buffer.from(bytes).toString();
      if (text === "bad") throw new Error("is bad");
      taken.push(text);
    },
    failed: (error) => failures.push((error as Error).message),
  });
  await file.start();
  assert.match(failures.join(), /ENOENT/);
  await writeFile(path, "one");
  await file.reload(false);
  await file.reload(false);
  await writeFile(path, "bad");
  await file.reload(false);
  await file.reload(false);
  await writeFile(path, "three");
  await file.reload(false);
  await file.reload(true);
  await file.stop();
  assert.deepEqual(taken, ["one", "three", "three"]);
  assert.deepEqual(failures.slice(1), ["is bad"]);
});
