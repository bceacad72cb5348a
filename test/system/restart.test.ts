import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cleanUp } from "../support/clean-up.ts";
import { metadataSettings, startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

test("a restart keeps entries, byte for byte in the file", async (t) => {
  const directory = tempDirectory(t);
  const settings = metadataSettings(join(directory, "ipaddrs.yml"));
  const first = await startCollectorProcess({ settings });
  cleanUp(t, () => first.end("SIGKILL"));
  const udm = {
    key: "10.0.0.0/8",
    name: "ünïcode: #1",
    tags: ["a", "yes", "01"],
    vlan: "18446744073709551615",
    internal: true,
    metadata: { ".site": "1.10", x: "" },
  };
  const created = await first.call("CreateUdm", { udm });
  assert.deepEqual(created, { status: 200, body: udm });
  assert.deepEqual(await first.end(), { code: 0, signal: null });
  const file = readFileSync(join(directory, "ipaddrs.yml"), "utf8");

  const second = await startCollectorProcess({ settings });
  cleanUp(t, () => second.end("SIGKILL"));
  assert.deepEqual((await second.call("ListUdms", {})).body, { udms: [udm] });
  await second.end();
  assert.equal(readFileSync(join(directory, "ipaddrs.yml"), "utf8"), file);
  assert.deepEqual(readdirSync(directory), ["ipaddrs.yml"]);
});

test("SIGKILL while clients write loses no write that was answered", async (t) => {
  const directory = tempDirectory(t);
  const settings = metadataSettings(join(directory, "ipaddrs.yml"));
  const acknowledged = new Set<string>();
  const attempted = new Set<string>();
  for (let round = 0; round < 6; round++) {
    const collector = await startCollectorProcess({ settings });
    cleanUp(t, () => collector.end("SIGKILL"));
    const present = await keysOf(collector);
    for (const key of acknowledged) assert.ok(present.has(key), `${key} was answered before kill ${round} and is gone`);
    for (const key of present) assert.ok(attempted.has(key), `${key} was never written`);

    const before = acknowledged.size;
    const writers = Array.from({ length: 8 }, (_, writer) =>
      writeUntilKilled(collector, round, writer, acknowledged, attempted),
    );
    await until("some writes are answered", () => acknowledged.size >= before + 40 + 17 * round);
    assert.deepEqual(await collector.end("SIGKILL"), { code: null, signal: "SIGKILL" });
    await Promise.all(writers);
  }
  const last = await startCollectorProcess({ settings });
  cleanUp(t, () => last.end("SIGKILL"));
  const present = await keysOf(last);
  for (const key of acknowledged) assert.ok(present.has(key), `${key} was answered and is gone`);
  await last.end();
  assert.deepEqual(readdirSync(directory), ["ipaddrs.yml"], "left-over temporary files are removed");
});

async function keysOf(collector: CollectorProcess): Promise<Set<string>> {
  const { body } = await collector.call("ListUdmKeys", {});
  return new Set((body["keys"] ?? []) as string[]);
}

async function writeUntilKilled(
  collector: CollectorProcess,
  round: number,
  writer: number,
  acknowledged: Set<string>,
  attempted: Set<string>,
): Promise<void> {
  for (let n = 0; n < 65_536; n++) {
    const key = `10.${round * 8 + writer}.${n >> 8}.${n & 255}`;
    attempted.add(key);
    try {
      const { status } = await collector.call("CreateUdm", { udm: { key, name: `writer ${writer}` } });
      if (status === 200) acknowledged.add(key);
    } catch {
      return; // The collector is gone; nobody answered.
    }
  }
}
