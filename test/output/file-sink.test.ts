import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { constants } from "node:fs";
import { mkdir, open, readFile, readlink, rename, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { FileSink, type FileSinkOptions } from "../../src/output/index.ts";
import { lines, numbers, outputFixture, range, readRotated, until, type OutputFixture } from "./output-fixture.ts";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { faultFileIo, type Ruling } from "../support/fault-file-io.ts";
import { cleanUp } from "../support/clean-up.ts";

interface Case extends OutputFixture {
  readonly sink: FileSink;
  readonly path: string;
  readonly value: (name: string, labels?: Record<string, string>) => Promise<number | undefined>;
}

async function fileCase(t: TestContext, given: Partial<FileSinkOptions> = {}): Promise<Case> {
  const fixture = await outputFixture(t, given);
  const path = given.path ?? join(fixture.folder, "flows.ndjson");
  const sink = new FileSink({ ...fixture.options, path, maxBytes: 0, maxFiles: 1, ...given });
  cleanUp(t, () => sink.stop());
  return {
    ...fixture,
    sink,
    path,
    value: (name, labels = {}) => fixture.metrics.value(`netgloss_output_${name}`, { output: "file", ...labels }),
  };
}

test("lines are appended; the folder is made", async (t) => {
  const { folder } = await outputFixture(t);
  const path = join(folder, "a/b/flows.ndjson");
  for (const from of [0, 10]) {
    const { sink, value } = await fileCase(t, { path });
    await sink.start();
    sink.write(lines(from, 4), 4);
    sink.write(lines(from + 4, 6), 6);
    await sink.stop();
    assert.equal(await value("records_total"), 10);
    assert.equal(await value("bytes_total"), lines(from, 10).length);
    assert.equal(await value("queue_bytes"), 0);
  }
  assert.deepEqual(numbers(await readFile(path, "utf8")), range(0, 20));
  assert.equal((await stat(path)).mode & 0o133, 0);
});

test("what comes before the start is written, what comes after the stop is counted", async (t) => {
  const { sink, path, value } = await fileCase(t);
  sink.write(lines(0, 2), 2);
  await sink.start();
  await sink.stop();
  sink.write(lines(2, 3), 3);
  assert.deepEqual(numbers(await readFile(path, "utf8")), [0, 1]);
  assert.equal(await value("records_total"), 2);
  assert.equal(await value("dropped_records_total", { reason: "stopped" }), 3);
  assert.equal(await value("dropped_bytes_total", { reason: "stopped" }), lines(2, 3).length);
});

test("a stop without a start counts what was given", async (t) => {
  const { sink, value } = await fileCase(t);
  sink.write(lines(0, 2), 2);
  await sink.stop();
  assert.equal(await value("dropped_records_total", { reason: "stopped" }), 2);
});

test("many chunks become few writes", async (t) => {
  const io = faultFileIo(nodeFileIo);
  const { sink, path } = await fileCase(t, { io });
  await sink.start();
  for (let i = 0; i < 1000; i++) sink.write(lines(i * 10, 10), 10);
  await sink.stop();
  assert.deepEqual(numbers(await readFile(path, "utf8")), range(0, 10_000));
  const writes = io.calls().filter((call) => call === "stream.write").length;
  assert.ok(writes <= 3, `${writes} writes`);
});

test("a full queue drops whole chunks and counts them", async (t) => {
  const { sink, path, value, messages } = await fileCase(t, { queueBytes: 100_000 });
  const chunk = (i: number): Buffer => lines(i * 100, 100, "x".repeat(30));
  await sink.start();
  const chunks = 60;
  for (let i = 0; i < chunks; i++) sink.write(chunk(i), 100);
  await sink.stop();
  const written = numbers(await readFile(path, "utf8"));
  const dropped = (await value("dropped_records_total", { reason: "queue_full" })) ?? 0;
  assert.ok(dropped > 0 && dropped % 100 === 0);
  assert.equal(written.length + dropped, chunks * 100);
  assert.deepEqual(written, range(0, written.length));
  assert.equal(await value("records_total"), written.length);
  const bytes = (await value("bytes_total")) ?? 0;
  const lost = await value("dropped_bytes_total", { reason: "queue_full" });
  assert.equal(
    bytes + (lost ?? 0),
    range(0, chunks).reduce((sum, i) => sum + chunk(i).length, 0),
  );
  assert.ok(messages.includes("records dropped"));
});

test("a file that has reached its size is renamed, and so many are kept", async (t) => {
  const { sink, folder, value } = await fileCase(t, { maxBytes: 1000, maxFiles: 3 });
  await sink.start();
  const size = lines(100, 10).length;
  for (let i = 0; i < 50; i++) sink.write(lines(100 + i * 10, 10), 10);
  await sink.stop();
  const files = await readRotated(folder, "flows.ndjson");
  assert.equal(files.length, 4);
  for (const file of files.slice(0, -1)) assert.ok(file.length >= 1000 && file.length < 1000 + size, `${file.length}`);
  const kept = files.flatMap(numbers);
  assert.deepEqual(kept, range(600 - kept.length, 600), "the newest lines, without a gap");
  const perFile = Math.ceil(1000 / size);
  assert.equal(await value("rotations_total"), Math.ceil(50 / perFile) - 1);
  assert.equal(await value("records_total"), 500);
});

test("rotation moves the file behind a symbolic link at its own place", async (t) => {
  const { folder } = await outputFixture(t);
  await mkdir(join(folder, "big"));
  await symlink(join(folder, "big/data"), join(folder, "link"));
  const { sink } = await fileCase(t, { path: join(folder, "link"), maxBytes: 10, maxFiles: 5 });
  await sink.start();
  for (const i of [0, 1, 2]) sink.write(lines(i, 1), 1);
  await sink.stop();
  assert.equal(await readlink(join(folder, "link")), join(folder, "big/data"));
  assert.deepEqual((await readRotated(join(folder, "big"), "data")).flatMap(numbers), [0, 1, 2]);
});

test("a file that grew beyond its size before the start is rotated at once", async (t) => {
  const { sink, folder, path } = await fileCase(t, { maxBytes: 50, maxFiles: 2 });
  await writeFile(path, lines(0, 10));
  await sink.start();
  sink.write(lines(10, 1), 1);
  await sink.stop();
  assert.deepEqual((await readRotated(folder, "flows.ndjson")).map(numbers), [range(0, 10), [10]]);
});

test("reopen after a rename: no line is lost or split", async (t) => {
  const { sink, folder, path } = await fileCase(t);
  await sink.start();
  for (let i = 0; i < 200; i++) {
    sink.write(lines(i * 10, 10, "y".repeat(i)), 10);
    if (i % 20 === 10) await until(async () => (await stat(path)).size > 0);
    if (i % 20 !== 19) continue;
    await rename(path, join(folder, `flows.ndjson.${(99 - i / 20) | 0}`));
    sink.reopen();
    await until(() =>
      stat(path).then(
        () => true,
        () => false,
      ),
    );
  }
  await sink.stop();
  assert.deepEqual((await readRotated(folder, "flows.ndjson")).flatMap(numbers), range(0, 2000));
});

test("reopen creates the file though nothing is to be written", async (t) => {
  const { sink, folder, path } = await fileCase(t);
  await sink.start();
  await rename(path, join(folder, "old"));
  sink.reopen();
  await until(() =>
    stat(path).then(
      () => true,
      () => false,
    ),
  );
});

test("reopen of a path that cannot be opened goes on with the old file", async (t) => {
  let fail = false;
  const io = faultFileIo(nodeFileIo, (call) => (fail && call === "openStream" ? "EACCES" : undefined));
  const { sink, folder, path, value, messages } = await fileCase(t, { io });
  await sink.start();
  sink.write(lines(0, 1), 1);
  await until(async () => (await stat(path)).size > 0);
  await rename(path, join(folder, "old"));
  fail = true;
  sink.reopen();
  sink.write(lines(1, 1), 1);
  await until(async () => numbers(await readFile(join(folder, "old"), "utf8")).length === 2);
  assert.ok(((await value("errors_total", { operation: "reopen", code: "EACCES" })) ?? 0) >= 1);
  assert.ok(messages.includes("output file: cannot reopen, continuing with the old one"));
  fail = false;
  await until(() => {
    return stat(path).then(
      () => true,
      () => false,
    );
  });
});

test("half a line left by a crash is ended, not continued", async (t) => {
  const { sink, path, messages } = await fileCase(t);
  await writeFile(path, '{"n":1}\n{"n":');
  await sink.start();
  sink.write(lines(2, 1), 1);
  await sink.stop();
  assert.equal(await readFile(path, "utf8"), `{"n":1}\n{"n":\n${lines(2, 1).toString()}`);
  assert.ok(messages.includes("the output file ends in an incomplete line, which is ended"));
});

test("a path that can never be written to stops the start and is named", async (t) => {
  const { folder } = await outputFixture(t);
  await writeFile(join(folder, "file"), "");
  for (const path of [folder, join(folder, "file/below"), "/proc/netgloss/below/flows.ndjson"]) {
    const { sink } = await fileCase(t, { path });
    await assert.rejects(sink.start(), (error: Error & { code: string }) => {
      assert.equal(error.code, "unusable_output");
      assert.ok(error.message.includes(path), error.message);
      return true;
    });
  }
});

test("a full disk: the file keeps whole lines, everything is written once there is space", async (t) => {
  // Each write takes seven bytes at most, and the disk is full from the tenth on.
  let writes = 0;
  let hasSpace = false;
  const io = faultFileIo(nodeFileIo, (call): Ruling => {
    if (call !== "stream.write") return undefined;
    return ++writes < 10 || hasSpace ? { taken: 7 } : "ENOSPC";
  });
  const { sink, path, health, value, messages } = await fileCase(t, { io });
  await sink.start();
  sink.write(lines(0, 20), 20);
  await until(() => writes > 30 && health.isDegraded());
  assert.match(health.checks()[0]?.detail ?? "", /ENOSPC.*trying again/);
  assert.deepEqual(numbers(await readFile(path, "utf8")), [0, 1, 2]);
  const failures = (await value("errors_total", { operation: "write", code: "ENOSPC" })) ?? 0;
  assert.ok(failures >= 20);
  hasSpace = true;
  await until(() => !health.isDegraded());
  await sink.stop();
  assert.deepEqual(numbers(await readFile(path, "utf8")), range(0, 20));
  assert.equal(await value("records_total"), 20);
  assert.equal(messages.filter((message) => message === "output fails, trying again").length, 1);
  assert.ok(messages.includes("output works again"));
});

test("a disk that stays full: stop gives up after one more try and counts", async (t) => {
  const { sink, value, health } = await fileCase(t, { path: "/dev/full", retryMs: 3_600_000, flushMs: 10_000 });
  await sink.start();
  for (let i = 0; i < 5; i++) sink.write(lines(i * 10, 10), 10);
  await until(() => health.isDegraded());
  await sink.stop();
  assert.equal(await value("dropped_records_total", { reason: "stopped" }), 50);
  assert.equal(await value("dropped_bytes_total", { reason: "stopped" }), lines(0, 50).length);
  assert.equal(await value("records_total"), 0);
  assert.equal(await value("errors_total", { operation: "write", code: "ENOSPC" }), 2);
});

test("half a line that cannot be cut off is followed by the whole line", async (t) => {
  let short = true;
  let failed = false;
  const io = faultFileIo(nodeFileIo, (call): Ruling => {
    if (call === "stream.truncate") return "EIO";
    if (call !== "stream.write" || failed) return undefined;
    if (short) {
      short = false;
      return { taken: 20 };
    }
    failed = true;
    return "ENOSPC";
  });
  const { sink, path, value } = await fileCase(t, { io });
  await sink.start();
  sink.write(lines(0, 5), 5);
  await until(async () => (await value("records_total")) === 5);
  await sink.stop();
  const all = lines(0, 5).toString();
  assert.equal(await readFile(path, "utf8"), `${all.slice(0, 20)}\n${all.slice(all.indexOf("\n") + 1)}`);
  assert.equal(await value("errors_total", { operation: "truncate", code: "EIO" }), 1);
});

test("a pipe whose reader stalls: the queue fills, drops are counted, stop keeps its time", async (t) => {
  const { folder } = await outputFixture(t);
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  const { sink, value } = await fileCase(t, { path, queueBytes: 100_000, flushMs: 50 });
  const reader = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  cleanUp(t, () => reader.close());
  await sink.start();
  let chunks = 0;
  await until(async () => {
    sink.write(lines(chunks++ * 100, 100), 100);
    return ((await value("dropped_records_total", { reason: "queue_full" })) ?? 0) > 0;
  });
  await sink.stop();
  const text = (await reader.read(Buffer.alloc(1_000_000))).buffer.toString("utf8").replace(/\0+$/, "");
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  const read = numbers(whole);
  assert.deepEqual(read, range(0, read.length));
  assert.ok(read.length > 100);
  const full = (await value("dropped_records_total", { reason: "queue_full" })) ?? 0;
  const stopped = (await value("dropped_records_total", { reason: "stopped" })) ?? 0;
  assert.equal(await value("records_total"), read.length);
  assert.equal(read.length + full + stopped, chunks * 100);
});

test("a pipe whose reader goes away is written to again when another comes", async (t) => {
  const { folder } = await outputFixture(t);
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  const { sink, health, value } = await fileCase(t, { path });
  await sink.start();
  await until(async () => ((await value("errors_total", { operation: "open", code: "ENXIO" })) ?? 0) > 0);
  assert.equal(health.isDegraded(), true);
  for (const n of [0, 1]) {
    const reader = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    await until(() => !health.isDegraded() || n > 0);
    sink.write(lines(n, 1), 1);
    const buffer = Buffer.alloc(1000);
    await until(async () => {
      const { bytesRead } = await reader.read(buffer).catch(() => ({ bytesRead: 0 }));
      return bytesRead > 0 && numbers(buffer.toString("utf8", 0, bytesRead)).includes(n);
    });
    await reader.close();
  }
  assert.equal(await value("records_total"), 2);
});

test("a write that never ends does not keep stop", async (t) => {
  const io = faultFileIo(nodeFileIo);
  const { sink, value, messages } = await fileCase(t, {
    flushMs: 20,
    io: {
      ...io,
      openStream: async (path, mode) => {
        const file = await io.openStream(path, mode);
        cleanUp(t, () => file.close());
        return { ...file, write: () => new Promise(() => {}) };
      },
    },
  });
  await sink.start();
  sink.write(lines(0, 5), 5);
  await until(async () => (await value("queue_bytes")) === 0);
  sink.write(lines(5, 5), 5);
  await sink.stop();
  assert.equal(await value("dropped_records_total", { reason: "stopped" }), 10);
  assert.ok(messages.includes("a write hangs in the operating system"));
});
