import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { gunzipSync } from "node:zlib";
import { LogFile } from "../../src/app/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const start = Date.parse("2026-01-02T03:04:05.000Z");

interface Rig {
  readonly file: LogFile;
  readonly directory: string;
  readonly path: string;
  readonly failures: string[];
  readonly names: () => string[];
  readonly pass: (ms: number) => void;
}

function open(
  t: TestContext,
  given: { maxBytes?: number; maxBackups?: number; maxAgeMs?: number; compress?: boolean },
): Rig {
  const directory = join(tempDirectory(t), "logs");
  const path = join(directory, "a.log");
  const failures: string[] = [];
  let now = 0;
  const file = new LogFile({
    path,
    maxBytes: 0,
    maxBackups: 0,
    maxAgeMs: 0,
    compress: false,
    ...given,
    clock: { now: () => start + now, monotonic: () => now },
    failed: (why) => void failures.push(why),
  });
  const names = (): string[] => readdirSync(directory).toSorted();
  return { file, directory, path, failures, names, pass: (ms) => void (now += ms) };
}

test("lines are in the file at once, in a folder that is made", (t) => {
  const { file, path } = open(t, {});
  file.write("one\n");
  file.write("two\n");
  assert.equal(readFileSync(path, "utf8"), "one\ntwo\n");
});

test("a full file is rotated by time, also twice within a millisecond, and only so many are kept", async (t) => {
  const { file, path, names } = open(t, { maxBytes: 8, maxBackups: 2 });
  for (const line of ["1234567\n", "2345678\n", "3456789\n", "4567890\n"]) file.write(line);
  const kept = ["a.log", "a.log.2026-01-02T03-04-05.001Z", "a.log.2026-01-02T03-04-05.002Z"];
  await until("the oldest is removed", () => names().length === 3);
  assert.deepEqual(names(), kept);
  assert.equal(readFileSync(path, "utf8"), "4567890\n");
});

test("rotated files are compressed whole, and those too old are removed; others' files stay", async (t) => {
  const { file, directory, names, pass } = open(t, { maxBytes: 8, maxAgeMs: 3_600_000, compress: true });
  file.write("1234567\n");
  const old = join(directory, "a.log.2025-01-01T00-00-00.000Z.gz");
  writeFileSync(old, "x");
  utimesSync(old, new Date(start - 7_200_000), new Date(start - 7_200_000));
  writeFileSync(join(directory, "a.log.notes"), "mine");
  pass(1000);
  file.write("2345678\n");
  await until("it is tidy", () => !names().includes("a.log.2025-01-01T00-00-00.000Z.gz") && names().length === 3);
  assert.deepEqual(names(), ["a.log", "a.log.2026-01-02T03-04-06.000Z.gz", "a.log.notes"]);
  assert.equal(gunzipSync(readFileSync(join(directory, names()[1] ?? ""))).toString(), "1234567\n");
});

test("a file that cannot be written is said once, and tried again after ten seconds", (t) => {
  const { file, path, failures, directory, pass } = open(t, {});
  mkdirSync(path, { recursive: true });
  file.write("lost\n");
  file.write("lost, too\n");
  pass(10_000);
  file.write("still\n");
  assert.equal(failures.length, 1);
  assert.match(failures[0] ?? "", /EISDIR/);
  rmdirSync(path);
  pass(10_000);
  file.write("there\n");
  assert.equal(readFileSync(path, "utf8"), "there\n");
  renameSync(path, join(directory, "moved"));
  file.reopen();
  file.write("again\n");
  assert.equal(readFileSync(path, "utf8"), "again\n");
});
