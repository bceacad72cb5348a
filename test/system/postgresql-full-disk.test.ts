// The database on a disk that runs full: a file system in memory, so small that writes soon fill it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseKey } from "../../src/base/ip/index.ts";
import { UdmError, type UdmWrite } from "../../src/metadata/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { startDatabase, storeOnDatabase } from "../support/postgresql.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { until } from "../support/until.ts";

const diskBytes = 160 * 2 ** 20;
const batch = 1000;

test("a full disk of the server refuses writes, and loses none that it has acknowledged", async (t) => {
  const disk = tempDirectory(t);
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${diskBytes},mode=1777`, "tmpfs", disk]);
  if (mounted.status !== 0) {
    t.skip("cannot mount a small file system; run as root");
    return;
  }
  cleanUp(t, () => assert.equal(spawnSync("umount", ["--lazy", disk]).status, 0));
  const database = await startDatabase(t, { TMPDIR: disk });
  assert.ok(String(database.partner["dir"]).startsWith(disk));
  const { store, health } = storeOnDatabase(database.url, { maxEntries: 1_000_000, historyBytes: 2 ** 30 });
  await store.start();
  cleanUp(t, () => store.stop());

  const writesOf = (number: number): UdmWrite[] =>
    Array.from({ length: batch }, (_, i) => ({
      op: "create",
      key: parseKey(`10.${number}.${i >> 8}.${i & 255}`),
      values: udmEntry("::", { name: `${number}-${i}` }),
    }));
  const acknowledged: number[] = [];
  let refusal: unknown;
  for (let number = 0; number < 256; number++) {
    // Nearly all of the disk is taken by others.
    if (number === 3) writeFileSync(join(disk, "filler"), Buffer.alloc(freeBytes(disk) - 2 ** 20));
    try {
      await store.submit(writesOf(number));
      acknowledged.push(number);
    } catch (error) {
      refusal = error;
      break;
    }
  }
  assert.ok(refusal instanceof UdmError, `${acknowledged.length} batches fit`);
  assert.equal(refusal.code, "unavailable");
  assert.match(refusal.message, /takes no write, nothing has changed: .*No space left on device/);
  assert.equal(store.current().size, acknowledged.length * batch, "reads go on with what was acknowledged");
  const next = acknowledged.length;

  rmSync(join(disk, "filler"));
  await until(
    "writes are taken again",
    async () =>
      store.submit(writesOf(next)).then(
        () => true,
        () => false,
      ),
    60_000,
  );
  await until("the store is well", () => !health.isDegraded());
  const [rows] = await database.sql<{ entries: number; last: number; commits: number }[]>`
    select (select count(*)::int from netgloss.udm_entry) as entries, (select last_number::int from netgloss.udm_state) as last,
      (select count(*)::int from netgloss.udm_commit) as commits`;
  assert.deepEqual({ ...rows }, { entries: (next + 1) * batch, last: next + 1, commits: next + 1 });
  assert.equal(store.current().size, (next + 1) * batch);
});

function freeBytes(disk: string): number {
  const { stdout } = spawnSync("df", ["--output=avail", "--block-size=1", disk], { encoding: "utf8" });
  return Number(stdout.split("\n")[1]);
}
