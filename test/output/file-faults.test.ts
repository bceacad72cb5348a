import assert from "node:assert/strict";
import { rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { FileSink } from "../../src/output/index.ts";
import { systemClock, type Clock } from "../../src/base/report/index.ts";
import { lines, numbers, outputFixture, range, readRotated, until } from "./output-fixture.ts";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { faultFileIo, type FaultFileIo, type Ruling } from "../support/fault-file-io.ts";

const chunks = 12;

/** By which no write is too soon after the last. */
const hastyClock: Clock = { now: () => systemClock.now(), monotonic: () => 1000 * systemClock.monotonic() };

/**
 * Writes chunks, one after the other so that the calls are the same in each run; files rotate, and once the file is
 * renamed from outside. @returns the records that the files hold, oldest first.
 */
async function scenario(t: TestContext, io: FaultFileIo): Promise<number[]> {
  const { folder, options, metrics } = await outputFixture(t);
  const path = join(folder, "sub/flows.ndjson");
  const sink = new FileSink({ ...options, path, maxBytes: 300, maxFiles: 9, io, clock: hastyClock });
  const written = async (): Promise<number> =>
    (await metrics.value("netgloss_output_records_total", { output: "file" })) ?? 0;
  await sink.start();
  let moved = "";
  for (let i = 0; i < chunks; i++) {
    sink.write(lines(100 + i * 5, 5), 5);
    await until(async () => (await written()) === (i + 1) * 5);
    if (i !== 6) continue;
    moved = join(folder, "sub/moved");
    await rename(path, moved).catch(() => (moved = ""));
    sink.reopen();
    if (moved !== "")
      await until(() =>
        stat(path).then(
          () => true,
          () => false,
        ),
      );
  }
  await sink.stop();
  assert.equal(
    await metrics.value("netgloss_output_dropped_records_total", { output: "file", reason: "queue_full" }),
    0,
  );
  const rotated = await readRotated(join(folder, "sub"), "flows.ndjson");
  const others = moved === "" ? [] : await readRotated(join(folder, "sub"), "moved");
  // The file moved away lies somewhere between the rotated ones.
  return [...rotated, ...others].flatMap(numbers).sort((a, b) => a - b);
}

const all = range(100, 100 + chunks * 5);

test("without a fault every kind of call is made", async (t) => {
  const io = faultFileIo(nodeFileIo);
  assert.deepEqual(await scenario(t, io), all);
  const kinds = new Set(io.calls());
  for (const kind of [
    "openStream",
    "makeFolder",
    "stream.state",
    "state",
    "realPath",
    "rename",
    "stream.write",
    "stream.close",
  ]) {
    assert.ok(kinds.has(kind), kind);
  }
});

for (const code of ["EIO", "ENOSPC", "EACCES"]) {
  test(`${code} at each single call: no line is lost, doubled or split`, async (t) => {
    const io = faultFileIo(nodeFileIo);
    await scenario(t, io);
    const calls = io.calls().length;
    assert.ok(calls > 30);
    for (let n = 0; n < calls; n++) {
      // A start that finds its folder forbidden is refused, which is another test.
      if (code === "EACCES" && n < 4) continue;
      const faulty = faultFileIo(nodeFileIo, (_, index) => (index === n ? code : undefined));
      assert.deepEqual(await scenario(t, faulty), all, `${code} at call ${n}, ${faulty.calls()[n]}`);
    }
  });

  test(`${code} after a short write, at each write: no line is lost, doubled or split`, async (t) => {
    for (let n = 1; n <= chunks; n++) {
      for (const taken of [1, lines(100, 1).length, lines(100, 2).length + 3]) {
        let writes = 0;
        const faulty = faultFileIo(nodeFileIo, (call): Ruling => {
          if (call !== "stream.write") return undefined;
          writes++;
          return writes === n ? { taken } : writes === n + 1 ? code : undefined;
        });
        assert.deepEqual(await scenario(t, faulty), all, `${code} after ${taken} bytes of write ${n}`);
        assert.ok(faulty.calls().includes("stream.truncate") || taken !== 1);
      }
    }
  });
}

test("writes of one byte each are put together", async (t) => {
  const faulty = faultFileIo(nodeFileIo, (call) => (call === "stream.write" ? { taken: 1 } : undefined));
  assert.deepEqual(await scenario(t, faulty), all);
});
