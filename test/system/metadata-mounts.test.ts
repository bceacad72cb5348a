// The metadata file on file systems that refuse: full, read-only, the file a mount of its own; and a second collector.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { metadataSettings, startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";

interface Mounts {
  readonly path: string;
  /** @returns whether it is mounted; if not, the test has been skipped. */
  readonly mount: (at: string, ...options: readonly string[]) => boolean;
}

/** A directory that goes with the test, after all that was mounted in it. */
function mountDirectory(t: TestContext): Mounts {
  const path = tempDirectory(t);
  const mounted: string[] = [];
  cleanUp(t, () => {
    const results = mounted.toReversed().map((at) => spawnSync("umount", ["-l", at]).status);
    assert.deepEqual(new Set(results), new Set(mounted.length === 0 ? [] : [0]));
  });
  return {
    path,
    mount(at, ...options) {
      const { status, stderr } = spawnSync("mount", [...options, at], { encoding: "utf8" });
      if (status === 0) mounted.push(at);
      else t.skip(`cannot mount; run as root: ${stderr?.trim() ?? ""}`);
      return status === 0;
    },
  };
}

async function start(t: TestContext, path: string, more: Record<string, string> = {}): Promise<CollectorProcess> {
  const collector = await startCollectorProcess({ settings: { ...metadataSettings(path), ...more } });
  cleanUp(t, () => collector.end("SIGKILL"));
  return collector;
}

const create = (collector: CollectorProcess, key: string, note = ""): ReturnType<CollectorProcess["call"]> =>
  collector.call("CreateUdm", { udm: { key, name: "made", metadata: { note } } });

suite("a metadata file mounted on its own", () => {
  test("is saved through the state directory, keeps its inode and outlives a kill", async (t) => {
    const { path: directory, mount } = mountDirectory(t);
    const real = join(directory, "real.yml");
    const path = join(directory, "ipaddrs.yml");
    const state = join(directory, "state");
    mkdirSync(state);
    writeFileSync(real, "# by hand\n10.0.0.1: {name: a}\n");
    writeFileSync(path, "");
    if (!mount(path, "--bind", real)) return;
    const { ino } = statSync(path);
    const collector = await start(t, path, { SVC_STATE_DIRECTORY_PATH: state });
    for (let i = 0; i < 20; i++) assert.equal((await create(collector, `10.0.1.${i}`)).status, 200);
    assert.equal(statSync(path).ino, ino);
    assert.equal(readFileSync(real, "utf8"), readFileSync(path, "utf8"));
    assert.equal(readFileSync(`${path}.orig`, "utf8"), "# by hand\n10.0.0.1: {name: a}\n");
    assert.deepEqual(
      readdirSync(state).filter((name) => name.endsWith(".image")),
      [],
    );
    assert.equal(collector.log().filter((line) => String(line["msg"]).includes("mount of its own")).length, 1);
    await collector.end("SIGKILL");
    const again = await start(t, path, { SVC_STATE_DIRECTORY_PATH: state });
    assert.deepEqual((await again.call("CountUdms", {})).body, { count: 21 });
    await again.end();
  });

  test("is not saved without one, and the answer says what to do", async (t) => {
    const { path: directory, mount } = mountDirectory(t);
    const real = join(directory, "real.yml");
    const path = join(directory, "ipaddrs.yml");
    writeFileSync(real, "10.0.0.1: {}\n");
    writeFileSync(path, "");
    if (!mount(path, "--bind", real)) return;
    const collector = await start(t, path);
    const { status, body } = await create(collector, "10.0.0.2");
    assert.equal(status, 503);
    assert.match(String(body["message"]), /EBUSY.*mount its folder instead, or set SVC_STATE_DIRECTORY_PATH/);
    assert.equal(readFileSync(real, "utf8"), "10.0.0.1: {}\n");
    assert.deepEqual((await collector.call("CountUdms", {})).body, { count: 1 });
    await collector.end();
  });
});

test("on a file system that turns read-only writes are refused, reads go on, and writes work when it is writable again", async (t) => {
  const { path: directory, mount } = mountDirectory(t);
  if (!mount(directory, "-t", "tmpfs", "-o", "size=1m", "tmpfs")) return;
  const path = join(directory, "ipaddrs.yml");
  const collector = await start(t, path);
  assert.equal((await create(collector, "10.0.0.1")).status, 200);
  const remount = (how: string): void =>
    assert.equal(spawnSync("mount", ["-o", `remount,${how}`, directory]).status, 0, how);
  remount("ro");
  const refused = await create(collector, "10.0.0.2");
  assert.equal(refused.status, 503);
  assert.match(String(refused.body["message"]), /nothing has changed: create: EROFS/);
  assert.deepEqual((await collector.call("CountUdms", {})).body, { count: 1 });
  remount("rw");
  assert.equal((await create(collector, "10.0.0.2")).status, 200);
  await collector.end();
});

test("on a full ext4 file system writes are refused and change nothing; with room again they work", async (t) => {
  if (requireProgram(t, "mkfs.ext4", "apt-get install e2fsprogs") === undefined) return;
  const { path: directory, mount } = mountDirectory(t);
  const image = join(directory, "disk");
  const folder = join(directory, "mounted");
  mkdirSync(folder);
  writeFileSync(image, Buffer.alloc(2 * 1024 * 1024));
  assert.equal(spawnSync("mkfs.ext4", ["-q", "-F", image]).status, 0);
  if (!mount(folder, "-o", "loop", image)) return;
  const path = join(folder, "ipaddrs.yml");
  const ballast = join(folder, "ballast");
  writeFileSync(ballast, Buffer.alloc(512 * 1024));
  const collector = await start(t, path);
  let written = 0;
  let refused: Awaited<ReturnType<CollectorProcess["call"]>> | undefined;
  while (written < 1000 && refused === undefined) {
    const requests = Array.from({ length: 20 }, (_, i) => {
      return { udm: { key: `10.0.${written >> 8}.${(written & 255) + i}`, metadata: { note: "x".repeat(2000) } } };
    });
    const answer = await collector.call("BatchCreateUdms", { requests });
    if (answer.status === 200) written += 20;
    else refused = answer;
    if ((written & 255) > 230) written = (written | 255) + 1;
  }
  assert.equal(refused?.status, 503);
  assert.match(String(refused?.body["message"]), /ENOSPC/);
  const before = readFileSync(path, "utf8");
  assert.equal((await create(collector, "10.9.0.1", "y".repeat(4000))).status, 503);
  assert.equal(readFileSync(path, "utf8"), before);
  rmSync(ballast);
  assert.equal((await create(collector, "10.9.0.1", "y".repeat(4000))).status, 200);
  const { body } = await collector.call("CountUdms", {});
  await collector.end("SIGKILL");
  const again = await start(t, path);
  assert.deepEqual((await again.call("CountUdms", {})).body, body);
  await again.end();
});

test("a second collector on the same file does not start and names the first", async (t) => {
  const path = join(tempDirectory(t), "ipaddrs.yml");
  const collector = await start(t, path);
  assert.equal((await create(collector, "10.0.0.1")).status, 200);
  await assert.rejects(
    startCollectorProcess({ settings: metadataSettings(path) }),
    new RegExp(`ended with exit code [1-9][^]*in use by another collector: process ${collector.child.pid} `),
  );
  assert.equal((await create(collector, "10.0.0.2")).status, 200);
  await collector.end("SIGKILL");
  const next = await start(t, path);
  assert.deepEqual((await next.call("CountUdms", {})).body, { count: 2 });
  await next.end();
});
