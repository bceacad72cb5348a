// A process of its own: what other tests leave may keep objects from being collected.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";
import { startSources } from "./sources/source-rig.ts";

// There is no other way to garbage collection in a process that was not started for it.
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const count = 10_000;
/** Every fifth has an entry. */
const entryCount = count / 5;
const nameOf = (i: number): string => `customer-${i}`;
const definitions = Array.from({ length: count }, (_, i) => `${nameOf(i)}: {match: [{vrf: ${i}}]}\n`).join("");

test("10 000 scopes that are deleted and made again, some with an entry, leave memory as it was", async (t) => {
  const directory = tempDirectory(t);
  const path = join(directory, "plan.ndjson");
  const rows = Array.from({ length: entryCount }, (_, i) => {
    return { key: "10.0.0.0/8", name: `net ${i}`, scope: nameOf(5 * i) };
  });
  await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const rig = await startSources(`- {name: plan, kind: ndjson, path: ${JSON.stringify(path)}}`, { scopes: "{}\n" });
  const { shared } = rig.store.scopes;
  const used = (): number => shared.stats().tree + shared.stats().entries;
  await rig.run("plan");
  const entries = (): number => rig.sources.states()[0]?.entries ?? 0;
  const round = async (): Promise<{ full: number; empty: number; objects: number }> => {
    await rig.setScopes(definitions);
    await until("all have their entry", () => entries() === entryCount);
    assert.equal((rig.entries("plan", nameOf(count - 5))[0] as { name: string }).name, `net ${entryCount - 1}`);
    collect();
    const full = used();
    await rig.setScopes("{}\n");
    await until("none is left", () => entries() === 0);
    // The run under way, and what was given up, end.
    await rig.run("plan");
    await until("nothing of them is in the index", () => {
      collect();
      return used() < full / 7;
    });
    const { heapUsed, external } = process.memoryUsage();
    return { full, empty: used(), objects: heapUsed + external };
  };
  const first = await round();
  const second = await round();
  assert.ok(second.full < 1.2 * first.full, `${second.full} bytes of the index are full after ${first.full}`);
  // Their numbers, and so the blocks of their table, are others.
  assert.ok(
    second.empty <= first.empty + 128 * 1024,
    `${second.empty} bytes of the index are empty after ${first.empty}`,
  );
  assert.ok(second.objects < 1.2 * first.objects, `${second.objects} bytes of objects are left after ${first.objects}`);
  await rig.stop();
});
