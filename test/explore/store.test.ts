import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readQuery, type EmbeddedExplore } from "../../src/explore/index.ts";
import { createMetrics } from "../../src/report/index.ts";
import { until } from "../support/until.ts";
import { exploreDirectory, openExplore } from "./explore-fixture.ts";

const hour = 3_600_000;
const start = Date.parse("2026-11-22T04:30:00Z");

function lines(count: number, at: number): Buffer {
  const time = new Date(at).toISOString();
  return Buffer.from(
    Array.from({ length: count }, (_, i) => {
      const record = {
        "@timestamp": time,
        "flow.export.type": "ipfix",
        "flow.src.l4.port.id": i % 60_000,
        "flow.bytes": 10,
        "flow.dst.host.name": randomBytes(60).toString("base64"),
      };
      return `${JSON.stringify(record)}\n`;
    }).join(""),
  );
}

async function flowsOf(explore: EmbeddedExplore, from: number, to: number): Promise<number> {
  const range = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  const query = readQuery({ ...range, measure: "flows", granularity: "none" }, to);
  return (await explore.query(query, new AbortController().signal)).total.value;
}

test("a file for each hour: old ones go, a damaged one is set aside and the others stay", async (t) => {
  const directory = exploreDirectory(t);
  let now = start;
  const options = { directory, clockNow: () => now, config: { maxHours: 2 } };
  const first = await openExplore(t, options);
  for (let i = 0; i < 4; i++, now += hour) {
    first.take(lines(10 + i, now));
    await first.flush();
  }
  // 04:30 is older than two hours at 08:30, 05:30 and later ones are not all.
  await until("old records are gone", async () => {
    await first.flush();
    return (await flowsOf(first, start - hour, now)) === 12 + 13;
  });
  await first.stop();

  const [file = ""] = readdirSync(directory)
    .filter((each) => each.endsWith(".duckdb"))
    .toSorted();
  writeFileSync(join(directory, file), "this is no database");
  const metrics = createMetrics();
  const second = await openExplore(t, { ...options, metrics });
  assert.equal(await flowsOf(second, start - hour, now), 13);
  assert.equal(await metrics.value("netgloss_explore_damaged_files_total"), 1);
  assert.ok(readdirSync(directory).includes(`${file}.damaged`));
  second.take(lines(5, now - 1));
  await second.flush();
  assert.equal(await flowsOf(second, start - hour, now), 18);
});

test("the bytes on disk stay below the bound, the oldest records go first", async (t) => {
  const directory = exploreDirectory(t);
  const maxBytes = 6 * 2 ** 20;
  let now = start;
  const explore = await openExplore(t, { directory, clockNow: () => now, config: { maxBytes } });
  for (let i = 0; i < 14; i++, now += 1000) {
    explore.take(lines(3000, now));
    await explore.flush();
    // Meanwhile files are sorted, and what was sorted is removed.
    const bytes = readdirSync(directory)
      .map((file) => statSync(join(directory, file), { throwIfNoEntry: false })?.size ?? 0)
      .reduce((sum, size) => sum + size, 0);
    assert.ok(bytes <= maxBytes, `${bytes} bytes after ${i}`);
  }
  const status = explore.status();
  assert.ok(status.rows < 14 * 3000, "old ones are gone");
  assert.equal(await flowsOf(explore, now - 1001, now), 3000, "the newest are there");
});

test("of more records than the greatest rate one stands for several, and sums stay right", async (t) => {
  const explore = await openExplore(t, { config: { maxRate: 2000 } });
  const at = Date.now();
  let sampling = 1;
  for (let i = 0; i < 3; i++) {
    explore.take(lines(16_000, at));
    // On a slow host the rate is less by the end.
    sampling = Math.max(sampling, explore.status().sampling);
    await explore.flush();
  }
  const { rows } = explore.status();
  assert.ok(sampling > 1 && rows < 48_000, `${rows} rows, sampling ${sampling}`);
  // The last of a group may not have come yet.
  const flows = await flowsOf(explore, at - 1000, at + 1000);
  assert.ok(Math.abs(flows - 48_000) <= sampling, `${flows} flows`);
});
