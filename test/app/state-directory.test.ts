import assert from "node:assert/strict";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createStateDirectory } from "../../src/app/collector.ts";
import { systemClock, type Log } from "../../src/base/report/index.ts";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import { tempDirectory } from "../support/temp-directory.ts";

test("a second process is kept off the directory by whatever name, and learns who holds it; a killed one holds nothing", async (t) => {
  const directory = tempDirectory(t);
  const state = join(directory, "state");
  const start = async (path: string): Promise<CollectorProcess> => {
    const started = await startCollectorProcess({ settings: { SVC_STATE_DIRECTORY_PATH: path } });
    cleanUp(t, () => started.end("SIGKILL"));
    return started;
  };
  const first = await start(state);
  symlinkSync(state, join(directory, "link"));
  const who = `in use by another collector: process ${first.child.pid} on ${hostname()} since 20`;
  for (const path of [state, join(directory, "link"), `${directory}/state/../state/`]) {
    await assert.rejects(start(path), (error: Error) => {
      assert.match(error.message, /ended with exit code 1/);
      assert.ok(error.message.includes(`the state directory ${path} is ${who}`), error.message);
      return true;
    });
  }
  await first.end("SIGKILL");
  const second = await start(state);
  const holder = JSON.parse(readFileSync(join(state, "collector.lock"), "utf8")) as { pid: number };
  assert.equal(holder.pid, second.child.pid);
  assert.deepEqual(await second.end(), { code: 0, signal: null });
  assert.ok(!existsSync(join(state, "collector.lock")));
});

test("a directory that cannot be made keeps nobody from starting, and is in the log", async (t) => {
  const file = join(tempDirectory(t), "file");
  writeFileSync(file, "");
  const lines: string[] = [];
  const note = (_: unknown, message: string): void => void lines.push(message);
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const component = createStateDirectory(join(file, "state"), { io: nodeFileIo, clock: systemClock, log });
  await component.start();
  await component.stop();
  assert.deepEqual(lines, ["cannot lock the state directory"]);
});
