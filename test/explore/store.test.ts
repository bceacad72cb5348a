import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { readQuery, type EmbeddedExplore } from "../../src/explore/index.ts";
import { createMetrics } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { until } from "../support/until.ts";
import { exploreDirectory, openExplore, takeLines } from "./explore-fixture.ts";

const hour = 3_600_000;
const start = Date.parse("2026-11-22T04:30:00Z");

function lines(count: number, at: number, textBytes = 60): Buffer {
  const time = new Date(at).toISOString();
  return Buffer.from(
    Array.from({ length: count }, (_, i) => {
      const record = {
        "@timestamp": time,
        "flow.export.type": "ipfix",
        "flow.src.l4.port.id": i % 60_000,
        "flow.bytes": 10,
        "flow.dst.host.name": randomBytes(textBytes).toString("base64"),
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
    takeLines(first, lines(10 + i, now));
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
  takeLines(second, lines(5, now - 1));
  await second.flush();
  assert.equal(await flowsOf(second, start - hour, now), 18);
});

/** @returns the most bytes that a directory has had until now. */
function watchBytes(t: TestContext, directory: string): () => number {
  let most = 0;
  const look = (): void => {
    const sizes = readdirSync(directory).map(
      (file) => statSync(join(directory, file), { throwIfNoEntry: false })?.size ?? 0,
    );
    most = Math.max(
      most,
      sizes.reduce((sum, size) => sum + size, 0),
    );
  };
  const timer = setInterval(look, 1);
  cleanUp(t, () => clearInterval(timer));
  return () => {
    look();
    return most;
  };
}

for (const { name, megabytes, rows, rounds, textBytes, least } of [
  { name: "a file a second", megabytes: 6, rows: 3000, rounds: 10, textBytes: 60, least: 3000 },
  { name: "some seconds in a file", megabytes: 8, rows: 900, rounds: 50, textBytes: 60, least: 3000 },
  { name: "long texts", megabytes: 12, rows: 300, rounds: 20, textBytes: 1500, least: 600 },
]) {
  test(`at no time more bytes on disk than the bound, the oldest records go first: ${name}`, async (t) => {
    const directory = exploreDirectory(t);
    const maxBytes = megabytes * 2 ** 20;
    let now = start;
    const explore = await openExplore(t, { directory, clockNow: () => now, config: { maxBytes } });
    // Meanwhile files are compressed and sorted, and what was sorted is removed.
    const mostBytes = watchBytes(t, directory);
    for (let i = 0; i < rounds; i++, now += 1000) {
      takeLines(explore, lines(rows, now, textBytes));
      await explore.flush();
    }
    const kept = explore.status().rows;
    assert.ok(kept < rounds * rows, "old ones are gone");
    assert.ok(kept >= least, `${kept} rows stay`);
    assert.equal(await flowsOf(explore, now - 1001, now), rows, "the newest are there");
    await explore.stop();
    assert.ok(mostBytes() <= maxBytes, `${mostBytes()} bytes`);
  });
}

test("a file that was set aside counts for the bound", async (t) => {
  const directory = exploreDirectory(t);
  const config = { maxBytes: 12 * 2 ** 20 };
  const first = await openExplore(t, { directory, clockNow: () => start, config });
  takeLines(first, lines(10, start));
  await first.stop();
  const file = readdirSync(directory).find((each) => each.endsWith(".duckdb")) ?? "";
  writeFileSync(join(directory, file), randomBytes(2 ** 20));
  const second = await openExplore(t, { directory, clockNow: () => start, config });
  assert.ok(second.status().bytes > 2 ** 20);
});

test("of more records than the greatest rate one stands for several, and sums stay right", async (t) => {
  const explore = await openExplore(t, { config: { rates: { whole: 2000, sampled: 2000 } } });
  const at = Date.now();
  let sampling = 1;
  for (let i = 0; i < 3; i++) {
    takeLines(explore, lines(16_000, at));
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

test("a file has the columns that records had a value in; a further one begins a file, and no record is lost", async (t) => {
  const directory = exploreDirectory(t);
  let now = start;
  const record = (fields: object): Buffer =>
    Buffer.from(
      `${JSON.stringify({ "@timestamp": new Date(now).toISOString(), "flow.export.type": "ipfix", "flow.bytes": 10, ...fields })}\n`,
    );
  const explore = await openExplore(t, { directory, clockNow: () => now });
  const databases = (): number => readdirSync(directory).filter((file) => file.endsWith(".duckdb")).length;
  for (const fields of [{}, {}, { "icmp.type.id": 8 }, {}, { "flow.src.vlan.tag.id": 7 }, { "app.name": "dns" }]) {
    takeLines(explore, record(fields));
    now += 1000;
    // The last two come in the same second.
    if (!("flow.src.vlan.tag.id" in fields)) await explore.flush();
  }
  assert.equal(explore.status().rows, 6);
  assert.equal(databases(), 3);
  const body = { from: new Date(start).toISOString(), to: new Date(now).toISOString(), granularity: "none" };
  const asked = readQuery({ ...body, dimensions: ["icmp.type.id"], measure: "flows" }, now);
  const { rows } = await explore.query(asked, new AbortController().signal);
  assert.deepEqual(
    rows.map(({ key, value }) => [key, value]),
    [
      [[null], 5],
      [[8], 1],
    ],
  );
  // What waits for a file when the store stops is kept, too; a later run begins with all of the columns.
  takeLines(explore, record({ "l4.proto.name": "TCP" }));
  await explore.stop();
  const again = await openExplore(t, { directory, clockNow: () => now });
  assert.equal(again.status().rows, 7);
  const before = databases();
  takeLines(again, record({ "l4.proto.name": "UDP", "icmp.type.id": 3 }));
  await again.flush();
  assert.equal(again.status().rows, 8);
  assert.equal(databases(), before);
});
