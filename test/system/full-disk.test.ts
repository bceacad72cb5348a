import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { metadataSettings, startCollectorProcess } from "../support/collector-process.ts";
import { tempDirectory } from "../support/temp-directory.ts";

test("on a full disk writes answer unavailable and change nothing; with room again they work", async (t) => {
  const directory = tempDirectory(t);
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", directory], { encoding: "utf8" });
  if (mounted.status !== 0) {
    t.skip(`cannot mount a small file system; run as root: ${mounted.stderr?.trim() ?? ""}`);
    return;
  }
  cleanUp(t, () => assert.equal(spawnSync("umount", ["-l", directory]).status, 0));
  const path = join(directory, "ipaddrs.yml");
  const ballast = join(directory, "ballast");
  writeFileSync(ballast, Buffer.alloc(32 * 1024));
  const collector = await startCollectorProcess({ settings: metadataSettings(path) });
  cleanUp(t, () => collector.end("SIGKILL"));

  let written = 0;
  let refused: { status: number; body: Record<string, unknown> } | undefined;
  for (let i = 0; i < 200 && refused === undefined; i++) {
    const udm = { key: `10.0.0.${i}`, metadata: { note: "x".repeat(1000) } };
    const answer = await collector.call("CreateUdm", { udm });
    if (answer.status === 200) written++;
    else refused = answer;
  }
  assert.ok(written > 0);
  assert.equal(refused?.status, 503);
  assert.equal(refused?.body["code"], "unavailable");
  assert.match(String(refused?.body["message"]), /ENOSPC|no space left/i);

  const before = await collector.call("ListUdms", {});
  assert.equal((before.body["udms"] as unknown[]).length, written);
  const file = readFileSync(path, "utf8");
  const update = { udm: { key: "10.0.0.0", metadata: { note: "y".repeat(4000) } } };
  assert.equal((await collector.call("UpdateUdm", update)).status, 503);
  assert.deepEqual(await collector.call("ListUdms", {}), before);
  assert.equal(readFileSync(path, "utf8"), file);
  assert.ok(((await collector.metric("netgloss_udm_save_failures_total")) ?? 0) >= 2);

  rmSync(ballast);
  assert.equal((await collector.call("UpdateUdm", update)).status, 200);
  assert.deepEqual(await collector.end(), { code: 0, signal: null });
  const after = await startCollectorProcess({ settings: metadataSettings(path) });
  cleanUp(t, () => after.end("SIGKILL"));
  assert.deepEqual((await after.call("CountUdms", {})).body, { count: written });
  await after.end();
});
