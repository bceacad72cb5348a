import assert from "node:assert/strict";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { readQuery, type EmbeddedExplore, type ExploreAnswer } from "../../src/explore/index.ts";
import { createMetrics } from "../../src/base/report/index.ts";
import { until } from "../support/until.ts";
import { exploreDirectory, openExplore, takeLines } from "./explore-fixture.ts";
import { checkAnswers, now, sampleRecords } from "./query-cases.ts";
import { lineOf, partsWithin, timeOf, type ModelRecord } from "./query-model.ts";

const hour = 3_600_000;
const rollups = { maxDays: 90, maxBytes: 2 ** 30, fields: [] };
const never = new AbortController().signal;
const files = (directory: string, kind: string): readonly string[] =>
  readdirSync(directory).filter((file) => file.startsWith(kind) && file.endsWith(".duckdb"));
const linesOf = (records: readonly ModelRecord[]): Buffer => Buffer.from(records.map(lineOf).join(""));
/** Until single records are kept for as long as `count` files only. */
const leftWith = (explore: EmbeddedExplore, directory: string, count: number): Promise<boolean> =>
  until("records were rolled up and went", async () => {
    await explore.flush();
    return files(directory, "flows").length === count;
  });
const said = ({ rows, others, total, times }: ExploreAnswer): object => ({ rows, others, total, times });

test("answers of rollups alone, and of rollups with later records, are those of a slow model", async (t) => {
  const directory = exploreDirectory(t);
  let at = now - 2 * hour;
  const explore = await openExplore(t, { directory, clockNow: () => at, config: { maxHours: 2, rollups } });
  const older = sampleRecords.filter(({ "@timestamp": time }) => Date.parse(time as string) < now - hour / 2);
  const newer = sampleRecords.filter((record) => !older.includes(record));
  takeLines(explore, linesOf(older));
  await explore.flush();
  at = now;
  await explore.flush();
  takeLines(explore, linesOf(newer));
  await explore.flush();
  const ask = (query: Parameters<EmbeddedExplore["query"]>[0]): Promise<ExploreAnswer> => explore.query(query, never);
  await checkAnswers(ask, sampleRecords, 3, "rollups");

  // Only the file that is written to stays.
  at = now + 2 * hour - 1;
  await leftWith(explore, directory, 2);
  const mixed = await ask(readQuery({ from: "-1h", granularity: "none" }, now));
  assert.deepEqual(
    mixed.parts.map(({ kind }) => kind),
    ["minutes", "records"],
  );
  await checkAnswers(ask, sampleRecords, 8, "rollups");

  at = now + 3 * hour;
  await leftWith(explore, directory, 1);
  const old = await ask(readQuery({ from: "-1h", granularity: "none" }, now));
  assert.deepEqual(
    old.parts.map(({ kind }) => kind),
    ["minutes"],
  );
  await checkAnswers(ask, sampleRecords, 12, "rollups");
});

test("a weighed sample: rollups say what the records said, and a field that they lack is not covered", async (t) => {
  const directory = exploreDirectory(t);
  let at = now;
  const config = { maxHours: 1, rates: { whole: 100, sampled: 100 }, rollups };
  const explore = await openExplore(t, { directory, clockNow: () => at, config });
  for (let i = 0; i < 3; i++) {
    takeLines(explore, linesOf(sampleRecords));
    await explore.flush();
  }
  assert.ok(explore.status().sampling > 1);
  const question = {
    from: "-1h",
    to: "now",
    dimensions: ["flow.src.ip.subnet.name", "flow.src.ip.subnet.tags"],
    granularity: "1m",
    percentile: 95,
  };
  const asked = readQuery({ ...question, from: new Date(now - 30 * 60_000).toISOString(), compare: true }, now);
  const before = await explore.query(asked, never);
  assert.deepEqual(
    before.parts.map(({ kind }) => kind),
    ["records"],
  );
  at = now + 2 * hour;
  await leftWith(explore, directory, 1);
  const after = await explore.query(asked, never);
  assert.deepEqual(after.parts, [{ kind: "minutes", from: before.from, to: before.to }]);
  assert.deepEqual(said(after), said(before));
  assert.equal(after.sampling, before.sampling);

  const seconds = { ...asked, from: asked.from + 20_000, to: asked.to - 20_000, granularitySeconds: 10 };
  const rounded = await explore.query(seconds, never);
  assert.deepEqual([rounded.from, rounded.to, rounded.granularitySeconds], [before.from, iso(asked.to - 60_000), 60]);

  for (const lacking of [{ dimensions: ["flow.src.ip.addr"] }, { filter: "dst.port = 443" }, { filter: "bytes > 5" }]) {
    const answer = await explore.query(readQuery({ ...question, ...lacking }, now), never);
    assert.equal(answer.complete, false);
    assert.match(
      answer.missing?.because ?? "",
      /only rollups are kept, which lack flow\.(src\.ip\.addr|dst\.l4\.port\.id|bytes)/,
    );
    assert.equal(answer.total.value, 0);
  }
});

test("rollups are there after a restart, are made of what a crash left, and go when they are old; a damaged file is set aside", async (t) => {
  const directory = exploreDirectory(t);
  let at = now;
  const metrics = createMetrics();
  const options = { directory, clockNow: () => at, config: { maxHours: 1, rollups }, metrics };
  const flows = async (explore: EmbeddedExplore): Promise<number> => {
    const query = readQuery({ from: iso(now - hour), to: iso(now), measure: "flows", granularity: "none" }, now);
    return (await explore.query(query, never)).total.value;
  };
  // It ends before rollups are made.
  const first = await openExplore(t, { ...options, metrics: createMetrics() });
  takeLines(first, linesOf(sampleRecords));
  await first.stop();
  assert.deepEqual(files(directory, "minutes"), []);
  const second = await openExplore(t, { ...options, metrics: createMetrics() });
  assert.equal(await flows(second), sampleRecords.length);
  at = now + 2 * hour;
  await leftWith(second, directory, 1);
  assert.equal(await flows(second), sampleRecords.length);
  assert.ok((second.status().rollups?.bytes ?? 0) > 0);
  // As after kill -9.
  const copy = exploreDirectory(t);
  for (const name of readdirSync(directory)) {
    if (name.includes(".duckdb")) copyFileSync(join(directory, name), join(copy, name));
  }
  const killed = await openExplore(t, { ...options, directory: copy, metrics: createMetrics() });
  assert.equal(await flows(killed), sampleRecords.length);
  await killed.stop();
  await second.stop();
  const third = await openExplore(t, { ...options, metrics: createMetrics() });
  assert.equal(await flows(third), sampleRecords.length);
  await third.stop();

  const [file = ""] = files(directory, "minutes");
  const sound = readFileSync(join(directory, file));
  writeFileSync(join(directory, file), "this is no database");
  const fourth = await openExplore(t, options);
  assert.equal(await flows(fourth), 0);
  assert.equal(await metrics.value("netgloss_explore_damaged_files_total"), 1);
  assert.ok(readdirSync(directory).includes(`${file}.damaged`));
  await fourth.stop();

  writeFileSync(join(directory, file), sound);
  at = now + 100 * 24 * hour;
  const fifth = await openExplore(t, { ...options, metrics: createMetrics() });
  await fifth.flush();
  assert.deepEqual(files(directory, "minutes"), []);
  assert.equal(await flows(fifth), 0);
});

/** A record of a week that ends now, late by up to forty minutes, of a flow of moments, minutes or hours. */
const lateRecord = fc
  .record({
    ago: fc.integer({ min: 1, max: 7 * 24 * hour - 1 }),
    late: fc.integer({ min: 0, max: 40 * 60_000 }),
    span: fc.oneof(fc.integer({ min: 0, max: 180_000 }), fc.integer({ min: 0, max: 5 * hour })),
    bytes: fc.integer({ min: 0, max: 2 ** 40 }),
  })
  .map(({ ago, late, span, bytes }): ModelRecord => ({
    "@timestamp": iso(now - ago),
    "flow.export.ip.addr": "192.0.2.1",
    "flow.export.type": "ipfix",
    "flow.start.timestamp": iso(now - ago - late - span),
    "flow.end.timestamp": iso(now - ago - late),
    "flow.bytes": bytes,
  }));

test("a week of minutes after random late records, with stops while rollups are made, is that of a slow model", async (t) => {
  const drawn = fc.sample(fc.array(lateRecord, { minLength: 150, maxLength: 250 }), { numRuns: 1, seed: 7 })[0] ?? [];
  const directory = exploreDirectory(t);
  const week = now - 7 * 24 * hour;
  let at = week;
  const open = (): Promise<EmbeddedExplore> =>
    openExplore(t, { directory, clockNow: () => at, config: { maxHours: 30, rollups } });
  let explore = await open();
  for (let half = 1; half <= 14; half++) {
    const came = drawn.filter(({ "@timestamp": time }) => {
      const ms = Date.parse(time as string);
      return ms >= at && ms < week + 12 * half * hour;
    });
    at = week + 12 * half * hour;
    takeLines(explore, linesOf(came));
    await explore.flush();
    // The file is complete, and the next flush begins its work.
    at += hour;
    await explore.flush();
    at -= hour;
    if (half % 3 !== 0) continue;
    await explore.stop();
    explore = await open();
  }
  const minutes = async (): Promise<number[]> => {
    const found: number[] = [];
    for (let from = week - 24 * hour; from < now; from += 24 * hour) {
      const query = readQuery({ from: iso(from), to: iso(from + 24 * hour), granularity: "1m" }, now);
      found.push(...((await explore.query(query, never)).total.series ?? []));
    }
    return found;
  };
  const first = week - 24 * hour;
  const expected = Array.from({ length: 8 * 24 * 60 }, () => 0);
  for (const record of drawn) {
    const [begin, end] = timeOf(record, "flowed").map((time) => Math.floor((time - first) / 60_000)) as [
      number,
      number,
    ];
    for (let i = begin; i <= end; i++) {
      const [part] = partsWithin([record], "bytes", "flowed", first + 60_000 * i, first + 60_000 * (i + 1));
      expected[i] = (expected[i] as number) + Number(part?.["flow.bytes"]);
    }
  }
  assert.ok(expected.filter((bytes) => bytes > 0).length > 2000);
  assert.deepEqual(await minutes(), expected);
  at = now + 48 * hour;
  await leftWith(explore, directory, 1);
  assert.deepEqual(await minutes(), expected);
});

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
