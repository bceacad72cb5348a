import assert from "node:assert/strict";
import { chmod, chown, lstat, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { suite, test } from "node:test";
import { parseKey } from "../../src/base/ip/index.ts";
import { nodeFileIo, type FileIo } from "../../src/base/file/index.ts";
import { UdmError, type UdmIndex, type UdmStore } from "../../src/metadata/index.ts";
import { allTests } from "../support/clean-up.ts";
import { createFakeTime } from "../support/fake-time.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { memoryPath, storeOn, type StoreFixture } from "../support/udm-store-fixture.ts";
import { until } from "../support/until.ts";

const all = allTests();
const newFolder = (): string => tempDirectory(all);

const names = (index: UdmIndex): string[] => [...index.entries()].map((entry) => `${entry.key.text} ${entry.name}`);

const create = (store: UdmStore, key: string, name = "new"): Promise<unknown> =>
  store.commit([{ op: "create", key: parseKey(key), values: udmEntry("::", { name }) }]);

async function errorOf(action: Promise<unknown> | (() => unknown)): Promise<UdmError> {
  try {
    await (typeof action === "function" ? action() : action);
  } catch (error) {
    assert.ok(error instanceof UdmError, String(error));
    return error;
  }
  return assert.fail("nothing was thrown");
}

test("of a batch that fails in its middle nothing is in the file, of those saved with it all", async () => {
  const io = memoryFileIo();
  const { store } = storeOn(io, { maxEntries: 3 });
  await store.start();
  const batch = (keys: readonly string[]): Promise<unknown> =>
    store.commit(
      keys.map((key) => ({ op: "create" as const, key: parseKey(key), values: udmEntry("::", { name: "n" }) })),
    );
  const [first, tooMany, last] = await Promise.allSettled([
    batch(["10.0.0.1", "10.0.0.2"]),
    batch(["10.0.1.1", "10.0.1.2"]),
    batch(["10.0.2.1"]),
  ]);
  assert.deepEqual([first?.status, tooMany?.status, last?.status], ["fulfilled", "rejected", "fulfilled"]);
  const kept = ["10.0.0.1 n", "10.0.0.2 n", "10.0.2.1 n"];
  assert.deepEqual(names(store.current()), kept);
  await store.stop();
  const again = storeOn(io).store;
  await again.start();
  assert.deepEqual(names(again.current()), kept);
  await again.stop();
});

suite("a file store at its start", () => {
  test("takes a missing file for an empty database and writes it with the first commit", async () => {
    const io = memoryFileIo();
    const { store, health, metrics } = storeOn(io);
    assert.match((await errorOf(() => store.current())).message, /not been started/);
    await store.start();
    assert.equal(store.current().size, 0);
    assert.equal(io.text(memoryPath), undefined);
    assert.deepEqual(health.checks(), [{ name: "metadata", ready: true }]);
    await create(store, "10.0.0.1");
    assert.equal(io.text(memoryPath), "10.0.0.1:\n  name: new\n");
    assert.equal((await io.state(memoryPath)).mode, 0o644);
    assert.equal(await metrics.value("netgloss_udm_entries"), 1);
    assert.equal(await metrics.value("netgloss_udm_loads_total"), 1);
    assert.equal(await metrics.value("netgloss_udm_file_bytes"), 22);
    await store.stop();
  });

  test("with a broken file: not ready, unavailable, the file untouched, until it is repaired and loaded", async () => {
    const io = memoryFileIo();
    const broken = "10.0.0.1: {}\n10.0.0.1: {name: x}\n";
    io.put(memoryPath, broken);
    const { store, health, metrics, lines } = storeOn(io);
    await store.start();
    const message = `${memoryPath}:2:1: key "10.0.0.1" is given twice, first at line 1, column 1`;
    for (const error of [
      await errorOf(() => store.current()),
      await errorOf(create(store, "10.0.0.2")),
      await errorOf(store.commit([])),
      await errorOf(store.load()),
    ]) {
      assert.equal(error.code, "unavailable");
      assert.equal(error.message, message);
    }
    assert.deepEqual(health.checks(), [{ name: "metadata", ready: false, detail: message }]);
    assert.ok(lines.some((line) => line.level === "error" && String(line.fields["error"]).includes(message)));
    assert.equal(await metrics.value("netgloss_udm_load_failures_total", { reason: "content" }), 2);
    assert.equal(await metrics.value("netgloss_udm_commits_total", { result: "unavailable" }), 2);
    assert.equal(io.text(memoryPath), broken);

    const seen: string[][] = [];
    store.watch((index) => seen.push(names(index)));
    assert.deepEqual(seen, []);
    io.put(memoryPath, "10.0.0.1: {name: x}\n");
    assert.deepEqual(names(await store.load()), ["10.0.0.1 x"]);
    assert.deepEqual(seen, [["10.0.0.1 x"]]);
    assert.deepEqual(health.checks(), [{ name: "metadata", ready: true }]);
    await create(store, "10.0.0.2");
    assert.deepEqual(names(store.current()), ["10.0.0.1 x", "10.0.0.2 new"]);
    await store.stop();
  });

  test("does not take what it cannot read for an empty database", async () => {
    const folder = newFolder();
    await mkdir(join(folder, "a-folder"));
    await symlink("loop", join(folder, "loop"));
    const unreadable: FileIo = {
      ...nodeFileIo,
      read: () => Promise.reject(Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" })),
    };
    await writeFile(join(folder, "secret"), "10.0.0.1: {}\n");
    const cases: [name: string, io: FileIo, message: RegExp][] = [
      ["a-folder", nodeFileIo, /a-folder: is not a regular file$/],
      ["not-mounted/ipaddrs.yml", nodeFileIo, /ENOENT/],
      ["secret/ipaddrs.yml", nodeFileIo, /ENOTDIR/],
      ["loop", nodeFileIo, /too many symbolic links/],
      ["secret", unreadable, /EACCES/],
    ];
    for (const owned of [true, false]) {
      for (const [name, io, message] of cases) {
        const { store, health, metrics } = storeOn(io, { path: join(folder, name), owned });
        await store.start();
        assert.match((await errorOf(() => store.current())).message, message);
        assert.equal((await errorOf(create(store, "10.0.0.1"))).code, "unavailable");
        assert.equal(health.isReady(), false);
        assert.equal(await metrics.value("netgloss_udm_load_failures_total", { reason: "io" }), 1);
        await store.stop();
      }
    }
    assert.equal(await readFile(join(folder, "secret"), "utf8"), "10.0.0.1: {}\n");
  });

  test("finds a folder that is mounted later by a load", async () => {
    const path = join(newFolder(), "later", "ipaddrs.yml");
    const { store } = storeOn(nodeFileIo, { path });
    await store.start();
    await errorOf(() => store.current());
    await mkdir(join(path, ".."));
    await store.load();
    await create(store, "10.0.0.1");
    assert.equal((await errorOf(storeOn(nodeFileIo, { path }).store.start())).code, "unavailable");
    await store.stop();
  });

  test("removes what saves that were cut off left behind, and nothing else", async () => {
    const io = memoryFileIo();
    const others = [
      "/memory/.ipaddrs.yml.swp",
      "/memory/.ipaddrs.yml.netgloss-note",
      "/memory/.other.yml.netgloss-a-1.tmp",
    ];
    const leftOver = "/memory/.ipaddrs.yml.netgloss-abc123-7.tmp";
    for (const path of [...others, leftOver]) io.put(path, "x");
    const reader = storeOn(io, { owned: false });
    await reader.store.start();
    await reader.store.stop();
    assert.ok(io.text(leftOver) !== undefined, "only the owner may");
    const { store } = storeOn(io);
    await store.start();
    await store.stop();
    assert.deepEqual(
      io.names().map((name) => `/memory/${name}`),
      others.sort(),
    );
  });

  test("keeps a second collector off, which learns who holds the file", async () => {
    const folder = newFolder();
    const path = join(folder, "ipaddrs.yml");
    await symlink("ipaddrs.yml", join(folder, "link.yml"));
    const { store } = storeOn(nodeFileIo, { path });
    await store.start();
    await create(store, "10.0.0.1");
    for (const otherPath of [path, join(folder, "link.yml"), `${folder}/../${folder.split("/").at(-1)}/ipaddrs.yml`]) {
      const other = storeOn(nodeFileIo, { path: otherPath });
      const error = await errorOf(other.store.start());
      const holder = new RegExp(
        `ipaddrs\\.yml is in use by another collector: process ${process.pid} on ${hostname()} since 20`,
      );
      assert.match(error.message, holder);
      assert.equal(await other.metrics.value("netgloss_udm_load_failures_total", { reason: "locked" }), 1);
      await other.store.stop();
    }
    const other = storeOn(nodeFileIo, { path: join(folder, "other.yml") });
    await other.store.start();
    await other.store.stop();
    const reader = storeOn(nodeFileIo, { path, owned: false });
    await reader.store.start();
    assert.equal(reader.store.current().size, 1);
    await reader.store.stop();
    await create(store, "10.0.0.2");
    await store.stop();
    const next = storeOn(nodeFileIo, { path });
    await next.store.start();
    assert.equal(next.store.current().size, 2);
    await next.store.stop();
    assert.deepEqual((await readdir(folder)).sort(), ["ipaddrs.yml", "link.yml"]);
  });

  test("warns when a collector of another host has not released the file", async () => {
    const io = memoryFileIo();
    io.put(`${memoryPath}.lock`, '{"pid":1,"host":"elsewhere","since":"2024-01-01T00:00:00.000Z"}\n');
    const { store, lines } = storeOn(io);
    await store.start();
    assert.ok(lines.some((line) => line.level === "warn" && line.fields["host"] === "elsewhere"));
    assert.ok(io.text(`${memoryPath}.lock`)?.includes(hostname()));
    await store.stop();
    assert.equal(io.text(`${memoryPath}.lock`), undefined);
  });
});

suite("a file store that owns its file", () => {
  test("does not read it again", async () => {
    const io = memoryFileIo();
    io.put(memoryPath, "10.0.0.1: {name: a}\n");
    const { store } = storeOn(io);
    await store.start();
    io.put(memoryPath, "10.0.0.9: {name: edited}\n");
    assert.deepEqual(names(await store.load()), ["10.0.0.1 a"]);
    await create(store, "10.0.0.2");
    assert.equal(io.text(memoryPath), "10.0.0.1:\n  name: a\n10.0.0.2:\n  name: new\n");
    await store.stop();
  });

  test("says at a reload that an edit is not used and where the next write keeps it", async () => {
    const io = memoryFileIo();
    io.put(memoryPath, "10.0.0.1:\n  name: a\n");
    const { store, lines, metrics } = storeOn(io);
    await store.start();
    await store.load();
    assert.equal(await metrics.value("netgloss_udm_edits_ignored_total"), 0);
    io.put(memoryPath, "10.0.0.9: {name: edited}\n");
    await store.load();
    assert.equal(await metrics.value("netgloss_udm_edits_ignored_total"), 1);
    const warning = lines.find(({ level, message }) => level === "warn" && message.includes("changed by hand"));
    assert.match(warning?.message ?? "", /the API owns the metadata.*the next write replaces it and keeps it/);
    const keptAs = String(warning?.fields["keptAs"]);
    assert.match(keptAs, /ipaddrs\.yml\.edited-/);
    await create(store, "10.0.0.2");
    assert.equal(io.text(keptAs), "10.0.0.9: {name: edited}\n");
    const before = lines.length;
    await store.load();
    assert.equal(lines.length, before);
    io.remove(memoryPath);
    await store.load();
    assert.match(lines.at(-1)?.message ?? "", /is gone; .* the next write makes the file again/);
    await store.stop();
  });

  test("keeps mode, owner and symbolic links", async (t) => {
    const folder = newFolder();
    await mkdir(join(folder, "real"));
    const target = join(folder, "real", "plan.yml");
    const path = join(folder, "ipaddrs.yml");
    await writeFile(target, "10.0.0.1: {}\n");
    await chmod(target, 0o640);
    if (process.getuid?.() === 0) await chown(target, 1234, 4321);
    else t.diagnostic("owner not changed: not root");
    const { uid, gid, ino } = await stat(target);
    await symlink("real/plan.yml", join(folder, "link"));
    await symlink("link", path);
    const { store } = storeOn(nodeFileIo, { path });
    await store.start();
    await create(store, "10.0.0.2");
    await store.stop();
    assert.ok((await lstat(path)).isSymbolicLink());
    assert.ok((await lstat(join(folder, "link"))).isSymbolicLink());
    const now = await stat(target);
    assert.deepEqual([now.mode & 0o7777, now.uid, now.gid], [0o640, uid, gid]);
    assert.notEqual(now.ino, ino);
    assert.match(await readFile(path, "utf8"), /^10\.0\.0\.1: \{\}\n10\.0\.0\.2:\n/);
  });

  test("moves its lock along when a link to a broken file is turned to another file", async () => {
    const folder = newFolder();
    const path = join(folder, "ipaddrs.yml");
    await writeFile(join(folder, "broken.yml"), "x");
    await writeFile(join(folder, "good.yml"), "10.0.0.1: {name: a}\n");
    await symlink("broken.yml", path);
    const { store } = storeOn(nodeFileIo, { path });
    await store.start();
    await rm(path);
    await symlink("good.yml", path);
    assert.deepEqual(names(await store.load()), ["10.0.0.1 a"]);
    await errorOf(storeOn(nodeFileIo, { path: join(folder, "good.yml") }).store.start());
    const other = storeOn(nodeFileIo, { path: join(folder, "broken.yml") });
    await other.store.start();
    await other.store.stop();
    await store.stop();
    assert.deepEqual((await readdir(folder)).sort(), ["broken.yml", "good.yml", "ipaddrs.yml"]);
  });

  test("goes on with the file that its link leads to when that is turned while it runs, and keeps what is there", async () => {
    const folder = newFolder();
    const path = join(folder, "ipaddrs.yml");
    await writeFile(join(folder, "one.yml"), "10.0.0.1: {name: a}\n");
    await writeFile(join(folder, "two.yml"), "10.9.9.9: {name: by hand}\n");
    await symlink("one.yml", path);
    const { store, lines } = storeOn(nodeFileIo, { path });
    await store.start();
    await create(store, "10.0.0.2");
    const before = await readFile(join(folder, "one.yml"), "utf8");
    await rm(path);
    await symlink("two.yml", path);
    await create(store, "10.0.0.3");
    assert.equal(await readFile(join(folder, "one.yml"), "utf8"), before);
    assert.match(await readFile(join(folder, "two.yml"), "utf8"), /^10\.0\.0\.1:\n.*\n10\.0\.0\.2:\n.*\n10\.0\.0\.3:/);
    assert.ok(lines.some(({ message }) => message === "the link of the metadata file leads to another file now"));
    const kept = (await readdir(folder)).filter((name) => name.includes(".edited-"));
    assert.deepEqual(await Promise.all(kept.map((name) => readFile(join(folder, name), "utf8"))), [
      "10.9.9.9: {name: by hand}\n",
    ]);
    await errorOf(storeOn(nodeFileIo, { path: join(folder, "two.yml") }).store.start());
    // One that another collector holds is not taken: nothing changes.
    const other = storeOn(nodeFileIo, { path: join(folder, "one.yml") });
    await other.store.start();
    await rm(path);
    await symlink("one.yml", path);
    assert.match(
      (await errorOf(create(store, "10.0.0.4"))).message,
      /cannot be saved, nothing has changed: .*one\.yml/,
    );
    assert.equal(store.current().size, 3);
    await other.store.stop();
    await create(store, "10.0.0.4");
    await store.stop();
    assert.match(await readFile(join(folder, "one.yml"), "utf8"), /10\.0\.0\.4:/);
  });

  test("creates the target of a symbolic link that leads nowhere yet", async () => {
    const folder = newFolder();
    const path = join(folder, "ipaddrs.yml");
    await symlink("plan.yml", path);
    const { store } = storeOn(nodeFileIo, { path });
    await store.start();
    await create(store, "10.0.0.1");
    await store.stop();
    assert.ok((await lstat(path)).isSymbolicLink());
    assert.equal(await readFile(join(folder, "plan.yml"), "utf8"), "10.0.0.1:\n  name: new\n");
  });

  test("saves under an owner that it may not set, keeps the group if it may, and says so", async () => {
    const memory = memoryFileIo();
    memory.put(memoryPath, "10.0.0.1: {}\n", { uid: 7, gid: 8, mode: 0o640 });
    const refused: string[] = [];
    const io: FileIo = {
      ...memory,
      async create(path, mode) {
        const file = await memory.create(path, mode);
        return {
          ...file,
          async chown(uid, gid) {
            refused.push(`${uid}:${gid}`);
            if (uid >= 0) throw Object.assign(new Error("EPERM"), { code: "EPERM" });
            await file.chown(uid, gid);
          },
        };
      },
    };
    const { store, metrics } = storeOn(io);
    await store.start();
    await create(store, "10.0.0.2");
    await store.stop();
    assert.deepEqual(refused, ["7:8", "-1:8"]);
    const { uid, gid, mode } = await memory.state(memoryPath);
    assert.deepEqual({ uid, gid, mode }, { uid: 1000, gid: 8, mode: 0o640 });
    assert.equal(await metrics.value("netgloss_udm_save_alarms_total", { step: "owner", code: "EPERM" }), 1);
  });

  test("saves all writes that wait by one replacement, and answers in order", async () => {
    const memory = memoryFileIo();
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    let renames = 0;
    const io: FileIo = {
      ...memory,
      async rename(from, to) {
        if (renames++ === 0) await held;
        await memory.rename(from, to);
      },
    };
    const { store, metrics } = storeOn(io);
    await store.start();
    const answered: number[] = [];
    const first = create(store, "10.0.0.0").then(() => answered.push(0));
    await until("the first rename", () => renames === 1);
    const others = Array.from({ length: 20 }, (_, i) =>
      create(store, i === 7 ? "10.0.0.1" : `10.0.0.${i + 1}`).then(
        () => answered.push(i + 1),
        () => answered.push(-i - 1),
      ),
    );
    assert.equal(store.current().size, 0, "readers see the state before until the save is done");
    release();
    await Promise.all([first, ...others]);
    assert.equal(renames, 2);
    assert.deepEqual(answered, [0, 1, 2, 3, 4, 5, 6, 7, -8, ...Array.from({ length: 12 }, (_, i) => i + 9)]);
    assert.equal(store.current().size, 20);
    assert.equal(await metrics.value("netgloss_udm_saves_total"), 2);
    assert.equal(await metrics.value("netgloss_udm_commits_total", { result: "ok" }), 20);
    assert.equal(await metrics.value("netgloss_udm_commits_total", { result: "already_exists" }), 1);
    assert.equal(await metrics.value("netgloss_udm_commit_seconds_count"), 21);
    assert.equal(await metrics.value("netgloss_udm_commit_group_size_sum"), 21);
    await store.stop();
  });

  test("fails every write of a group whose save fails, those too that built on the others", async () => {
    const memory = memoryFileIo();
    let isFull = true;
    const io: FileIo = {
      ...memory,
      create: (path, mode) =>
        isFull && path.endsWith(".tmp")
          ? Promise.reject(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }))
          : memory.create(path, mode),
    };
    const { store } = storeOn(io);
    await store.start();
    const outcomes = await Promise.allSettled([create(store, "10.0.0.1"), create(store, "10.0.0.1"), store.commit([])]);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status === "rejected" && (outcome.reason as UdmError).code),
      ["unavailable", "unavailable", "unavailable"],
    );
    assert.equal(store.current().size, 0);
    isFull = false;
    await create(store, "10.0.0.1");
    await store.stop();
  });

  test("goes on when a listener throws", async () => {
    const { store, lines } = storeOn(memoryFileIo());
    await store.start();
    const seen: number[] = [];
    store.watch(() => assert.fail("a broken listener"));
    store.watch((index) => seen.push(index.size));
    await create(store, "10.0.0.1");
    assert.deepEqual(seen, [0, 1]);
    assert.ok(lines.some((line) => line.level === "error" && line.message.includes("listener")));
    await store.stop();
  });

  test("finishes what waits before it stops, then refuses; started again it reads the file again", async () => {
    const io = memoryFileIo();
    const { store } = storeOn(io);
    await store.start();
    const waiting = [create(store, "10.0.0.1"), create(store, "10.0.0.2")];
    await store.stop();
    await Promise.all(waiting);
    assert.match((await errorOf(create(store, "10.0.0.3"))).message, /was stopped/);
    assert.equal(store.current().size, 2);
    const { version } = store.current();
    io.put(memoryPath, "10.0.0.9: {}\n");
    await store.start();
    assert.deepEqual(names(store.current()), ["10.0.0.9 "]);
    assert.ok(store.current().version > version);
    io.put(memoryPath, "broken");
    await store.stop();
    await store.start();
    await errorOf(create(store, "10.0.0.3"));
    assert.equal(io.text(memoryPath), "broken");
    await store.stop();
  });

  test("renders and writes many entries in pieces, between which the event loop turns", async () => {
    const memory = memoryFileIo();
    const sizes: number[] = [];
    const io: FileIo = {
      ...memory,
      async create(path, mode) {
        const file = await memory.create(path, mode);
        return { ...file, write: (bytes) => (sizes.push(bytes.length), file.write(bytes)) };
      },
    };
    const { store } = storeOn(io);
    await store.start();
    const values = udmEntry("::", { name: "x".repeat(200) });
    const key = (i: number): string => `10.0.${i >> 8}.${i & 255}`;
    sizes.length = 0;
    await store.commit(Array.from({ length: 10_000 }, (_, i) => ({ op: "create", key: parseKey(key(i)), values })));
    assert.ok(sizes.length > 5);
    assert.ok(Math.max(...sizes) < 300_000);
    await store.stop();
    assert.equal(memory.text(memoryPath)?.split("\n").length, 20_001);
  });
});

interface Refreshed extends StoreFixture {
  readonly refresh: () => Promise<void>;
  /** Milliseconds until the next refresh, if there will be one. */
  readonly planned: () => number | undefined;
}

suite("a file store that only reads", () => {
  /** A store whose refreshes are run by hand. */
  function refreshed(io: FileIo): Refreshed {
    let plan: { action: () => void; ms: number } | undefined;
    let plans = 0;
    const fixture = storeOn(io, {
      owned: false,
      refreshMs: 60_000,
      after: (action, ms) => {
        plan = { action, ms };
        plans++;
        return () => (plan = undefined);
      },
    });
    return {
      ...fixture,
      planned: () => plan?.ms,
      async refresh() {
        const before = plans;
        plan?.action();
        await until("the refresh", () => plans > before);
      },
    };
  }

  test("refuses writes", async () => {
    const io = memoryFileIo();
    const { store } = storeOn(io, { owned: false });
    await store.start();
    assert.equal((await errorOf(create(store, "10.0.0.1"))).code, "unavailable");
    await store.stop();
    assert.deepEqual(io.names(), []);
  });

  test("reads the file again when it has changed, and only then", async () => {
    const memory = memoryFileIo();
    let reads = 0;
    const io: FileIo = { ...memory, read: (path) => (reads++, memory.read(path)) };
    memory.put(memoryPath, "10.0.0.1: {name: a}\n");
    const { store, refresh, planned } = refreshed(io);
    await store.start();
    assert.equal(planned(), 60_000);
    const seen: string[][] = [];
    store.watch((index) => seen.push(names(index)));
    await refresh();
    assert.equal(reads, 1);
    memory.put(memoryPath, "10.0.0.1: {name: b}\n10.0.0.2: {}\n");
    await refresh();
    assert.equal(reads, 2);
    memory.put(memoryPath, "10.0.0.2:\n10.0.0.1:\n  name: b\n");
    const { version } = store.current();
    await refresh();
    assert.equal(reads, 3);
    assert.equal(store.current().version, version, "the same entries are the same state");
    assert.deepEqual(seen, [["10.0.0.1 a"], ["10.0.0.1 b", "10.0.0.2 "]]);
    await store.stop();
    assert.equal(planned(), undefined);
  });

  test("keeps the last good state while the file is broken or gone, and says so", async () => {
    const io = memoryFileIo();
    io.put(memoryPath, "10.0.0.1: {name: a}\n");
    const { store, refresh, health, metrics } = refreshed(io);
    await store.start();
    io.put(memoryPath, "10.0.0.1: {name: a\n");
    await refresh();
    await refresh();
    assert.equal(await metrics.value("netgloss_udm_load_failures_total", { reason: "content" }), 1);
    assert.deepEqual(names(store.current()), ["10.0.0.1 a"]);
    assert.equal(health.isReady(), true);
    assert.match(health.checks()[0]?.detail ?? "", /ipaddrs\.yml:2:1: /);

    io.remove(memoryPath);
    await refresh();
    assert.deepEqual(names(store.current()), ["10.0.0.1 a"]);
    assert.match(health.checks()[0]?.detail ?? "", /the file is gone/);
    assert.equal(await metrics.value("netgloss_udm_load_failures_total", { reason: "io" }), 1);

    io.put(memoryPath, "");
    await refresh();
    assert.equal(store.current().size, 0);
    assert.deepEqual(health.checks(), [{ name: "metadata", ready: true }]);
    await store.stop();
  });

  test("starts with a broken file and takes it when it is repaired", async () => {
    const io = memoryFileIo();
    io.put(memoryPath, "x");
    const { store, refresh, health } = refreshed(io);
    await store.start();
    await errorOf(() => store.current());
    io.put(memoryPath, "10.0.0.1: {name: a}\n");
    await refresh();
    assert.deepEqual(names(store.current()), ["10.0.0.1 a"]);
    assert.equal(health.isReady(), true);
    await store.stop();
  });

  test("is made to read at once by a load", async () => {
    const io = memoryFileIo();
    const { store } = storeOn(io, { owned: false });
    await store.start();
    io.put(memoryPath, "10.0.0.1: {name: a}\n");
    assert.deepEqual(names(await store.load()), ["10.0.0.1 a"]);
    io.put(memoryPath, "x");
    assert.match((await errorOf(store.load())).message, /ipaddrs\.yml:1:1: /);
    assert.deepEqual(names(store.current()), ["10.0.0.1 a"]);
    await store.stop();
  });

  test("reads again a file that changes under its hands, and gives up on one that never rests", async () => {
    const memory = memoryFileIo();
    memory.put(memoryPath, "10.0.0.1: {name: torn");
    let changes = 1;
    const io: FileIo = {
      ...memory,
      async read(path) {
        const bytes = await memory.read(path);
        if (changes-- > 0) memory.put(memoryPath, `10.0.0.1: {name: a${changes}}\n`);
        return bytes;
      },
    };
    const { store } = storeOn(io, { owned: false });
    await store.start();
    assert.deepEqual(names(store.current()), ["10.0.0.1 a0"]);
    changes = 10;
    assert.match((await errorOf(store.load())).message, /changes while it is read/);
    assert.deepEqual(names(store.current()), ["10.0.0.1 a0"]);
    await store.stop();
  });

  test("does not hold the process with its timer", async () => {
    const io = memoryFileIo();
    const { store } = storeOn(io, { owned: false, refreshMs: 3_600_000_000 });
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    await store.start();
    assert.equal(timers(), before);
    await store.stop();
  });
});

test("readiness says that writes fail, and tries whether they would be possible again", async () => {
  const memory = memoryFileIo();
  memory.put(memoryPath, "10.0.0.1:\n  name: a\n");
  let fault: string | undefined = "ENOSPC";
  const createFile: FileIo["create"] = (path, mode) =>
    fault === undefined ? memory.create(path, mode) : Promise.reject(Object.assign(new Error(fault), { code: fault }));
  const time = createFakeTime();
  const { store, health } = storeOn(
    { ...memory, create: createFile },
    { after: time.after, stateDirectory: memory.folder },
  );
  const writeOne = (key: string): Promise<unknown> =>
    store.commit([{ op: "create", key: parseKey(key), values: udmEntry("::", { name: "x" }) }]);
  const check = (): unknown => health.checks().find(({ name }) => name === "metadata writes");
  const failing = (detail: string): unknown => ({ name: "metadata writes", ready: true, degraded: true, detail });
  // Of a collector that was killed.
  for (const name of [basename(memoryPath), "metadata"])
    memory.put(join(memory.folder, `.${name}.netgloss-trial-0.tmp`), "");
  await store.start();
  assert.deepEqual(
    check(),
    failing(`${memory.folder} cannot be written: ENOSPC; trying again`),
    "before anybody writes",
  );
  fault = undefined;
  await time.pass(10_000);
  assert.deepEqual(check(), { name: "metadata writes", ready: true });
  fault = "EROFS";
  await assert.rejects(writeOne("10.0.0.2"));
  assert.match(JSON.stringify(check()), /cannot be written, nothing has changed: EROFS; trying again/);
  await time.pass(30_000);
  assert.equal(health.isDegraded(), true);
  fault = undefined;
  await writeOne("10.0.0.2");
  assert.equal(health.isDegraded(), false);
  assert.deepEqual(
    memory.names().filter((name) => name.endsWith(".tmp")),
    [],
  );
  await store.stop();
});
