import assert from "node:assert/strict";
import { test } from "node:test";
import { MapFile, readPortNames, registerMapFiles } from "../../src/enrich/index.ts";
import { createMetrics, type Log } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { until } from "../support/until.ts";

test("a file is followed; a broken or missing one leaves what was read before, and the log says where", async (t) => {
  const io = memoryFileIo();
  const path = `${io.folder}/ports.yml`;
  const metrics = createMetrics();
  const logged: unknown[] = [];
  const log: Log = { debug() {}, info() {}, warn() {}, error: (fields) => void logged.push(fields["errors"] ?? "io") };
  const file = new MapFile("port names", path, 5, readPortNames, log, undefined, io);
  registerMapFiles(metrics, [file]);
  const name = (): string | undefined => file.current()?.get(6)?.get(80);
  const count = (what: string): Promise<number | undefined> =>
    metrics.value(`netgloss_enrich_file_${what}_total`, { file: "port names" });
  await file.start();
  cleanUp(t, () => file.stop());
  assert.equal(file.current(), undefined);
  assert.equal(await count("load_failures"), 1);

  io.put(path, "tcp: {80: one}");
  await until("the file", () => name() === "one");
  io.put(path, "tcp: {80: two, x: y}");
  await until("the refusal", () => logged.length > 0 && Array.isArray(logged.at(-1)));
  assert.deepEqual(logged.at(-1), [`${path}:1:16: tcp: x: expected a port from 0 to 65535, found "x"`]);
  assert.equal(name(), "one");
  io.put(path, "tcp: {80: three}");
  await until("the mended file", () => name() === "three");
  assert.equal(await count("loads"), 2);

  await file.stop();
  io.put(path, "tcp: {80: four}");
  await file.reload();
  assert.equal(name(), "four");
  await file.reload();
  assert.equal(await count("loads"), 4);
});

test("a refused file is not read again until it changes", async (t) => {
  const io = memoryFileIo();
  const path = `${io.folder}/ports.yml`;
  let reads = 0;
  let looks = 0;
  const counting = {
    read: (of: string) => (reads++, io.read(of)),
    state: (of: string) => (looks++, io.state(of)),
  };
  io.put(path, "nonsense");
  const log: Log = { debug() {}, info() {}, warn() {}, error() {} };
  const file = new MapFile("port names", path, 1, readPortNames, log, undefined, counting);
  await file.start();
  cleanUp(t, () => file.stop());
  const before = looks;
  await until("some looks", () => looks > before + 5);
  assert.equal(reads, 1);
});
