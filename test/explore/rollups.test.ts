import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import * as fc from "fast-check";
import { readQuery, type EmbeddedExplore, type ExploreAnswer } from "../../src/explore/index.ts";
import { createMetrics } from "../../src/base/report/index.ts";
import { until } from "../support/until.ts";
import { exploreDirectory, openExplore, takeLines } from "./explore-fixture.ts";
import { checkAnswers, now, sampleRecords } from "./query-cases.ts";
import { lineOf, partsWithin, timeOf, type ModelRecord, type When } from "./query-model.ts";

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
  await explore.stop();

  const [minutes = ""] = files(directory, "minutes");
  await makeOlder(join(directory, minutes));
  const updated = await openExplore(t, { directory, clockNow: () => at, config: { maxHours: 2, rollups } });
  await checkAnswers((query) => updated.query(query, never), sampleRecords, 8, "rollups");
});

/** Makes of a file of rollups what the version before wrote: rows for what was received, and others for each minute in which bytes flowed. */
async function makeOlder(path: string): Promise<void> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  const sums = ["bytes", "packets"].flatMap((sum) => [`explore.${sum}`, `explore.${sum}.high`]);
  const later = ["then", "before"].flatMap((when) =>
    sums.map((name) => name.replace(/^explore\.\w+/, (start) => `${start}.${when}`)),
  );
  const without = `EXCLUDE (${later.map((name) => `"${name}"`).join(", ")})`;
  const flowed = (when: string, time: string): string => {
    const own = sums.map((name) => `"${name.replace(/^explore\.\w+/, (start) => `${start}.${when}`)}" AS "${name}"`);
    const rest = [
      `${time} AS "@timestamp"`,
      `2 AS "explore.when"`,
      `NULL AS "explore.flows"`,
      `NULL AS "explore.flows.high"`,
    ];
    return `SELECT * ${without} REPLACE (${[...own, ...rest].join(", ")}) FROM minutes WHERE "explore.when" = 3 AND "explore.bytes.${when}" IS NOT NULL`;
  };
  const statements = [
    `SELECT * ${without} REPLACE (1 AS "explore.when") FROM minutes WHERE "explore.when" = 3`,
    flowed("then", `"@timestamp"`),
    flowed("before", `"@timestamp" - INTERVAL 1 MINUTE`),
    `SELECT * ${without} FROM minutes WHERE "explore.when" = 2`,
  ];
  await connection.run(`CREATE TABLE older AS ${statements.join(" UNION ALL ")}`);
  await connection.run("DROP TABLE minutes");
  await connection.run("ALTER TABLE older RENAME TO minutes");
  connection.closeSync();
  instance.closeSync();
}

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

const week = now - 7 * 24 * hour;
const firstMinute = week - 24 * hour;

/** What each minute of eight days has, as the store says. */
async function minutesOf(explore: EmbeddedExplore, when: When = "flowed"): Promise<number[]> {
  const found: number[] = [];
  for (let from = firstMinute; from < now; from += 24 * hour) {
    const query = readQuery({ from: iso(from), to: iso(from + 24 * hour), granularity: "1m", when }, now);
    found.push(...((await explore.query(query, never)).total.series ?? []));
  }
  return found;
}

/** The same as a slow model has it. */
function expectedMinutes(records: readonly ModelRecord[], when: When): number[] {
  const expected = Array.from({ length: 8 * 24 * 60 }, () => 0);
  for (const record of records) {
    const [begin, end] = timeOf(record, when).map((time) => Math.floor((time - firstMinute) / 60_000)) as [
      number,
      number,
    ];
    for (let i = begin; i <= end; i++) {
      const from = firstMinute + 60_000 * i;
      const [part] = partsWithin([record], "bytes", when, from, from + 60_000);
      expected[i] = (expected[i] as number) + Number(part?.["flow.bytes"]);
    }
  }
  return expected;
}

test("a week of minutes after random late records, with stops while rollups are made, is that of a slow model", async (t) => {
  const drawn = fc.sample(fc.array(lateRecord, { minLength: 60, maxLength: 80 }), { numRuns: 1, seed: 7 })[0] ?? [];
  const directory = exploreDirectory(t);
  let at = week;
  const open = (): Promise<EmbeddedExplore> =>
    openExplore(t, { directory, clockNow: () => at, config: { maxHours: 30, rollups } });
  let explore = await open();
  for (let day = 1; day <= 7; day++) {
    const came = drawn.filter(({ "@timestamp": time }) => {
      const ms = Date.parse(time as string);
      return ms >= at && ms < week + 24 * day * hour;
    });
    at = week + 24 * day * hour;
    takeLines(explore, linesOf(came));
    await explore.flush();
    // The file is complete, and the next flush begins its work.
    at += hour;
    await explore.flush();
    at -= hour;
    if (day % 3 !== 0) continue;
    await explore.stop();
    explore = await open();
  }
  const minutes = (): Promise<number[]> => minutesOf(explore);
  const expected = expectedMinutes(drawn, "flowed");
  assert.ok(expected.filter((bytes) => bytes > 0).length > 1000);
  assert.deepEqual(await minutes(), expected);
  at = now + 48 * hour;
  await leftWith(explore, directory, 1);
  assert.deepEqual(await minutes(), expected);
});

/** Runs a life of the store, which ends by `kill -9` so many milliseconds after a statement of its rollups began. */
async function killedLife(directory: string, statement: number, milliseconds: number): Promise<void> {
  const program = join(import.meta.dirname, "rollup-life.js");
  const child = spawn(process.execPath, [program, directory, String(now), String(statement), String(milliseconds)], {
    stdio: ["ignore", "inherit", "pipe"],
  });
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const [, signal] = await once(child, "close");
  assert.equal(signal, "SIGKILL", `statement ${statement}: ${errors}`);
}

test("kill -9 while rollups of late records are made loses nothing and counts nothing twice", async (t) => {
  const drawn = fc.sample(fc.array(lateRecord, { minLength: 40, maxLength: 50 }), { numRuns: 1, seed: 9 })[0] ?? [];
  const prepared = exploreDirectory(t);
  const timesOf = (record: ModelRecord): number => Date.parse(record["@timestamp"] as string);
  let at = week;
  const first = await openExplore(t, { directory: prepared, clockNow: () => at, config: { maxHours: 200 } });
  const count = 4;
  for (let file = 0; file < count; file++) {
    const end = week + ((file + 1) * 7 * 24 * hour) / count;
    takeLines(first, linesOf(drawn.filter((record) => timesOf(record) >= at && timesOf(record) < end)));
    at = end;
    await first.flush();
  }
  await first.stop();
  // This process may keep its locks for a while.
  const directory = exploreDirectory(t);
  for (const name of files(prepared, "flows")) copyFileSync(join(prepared, name), join(directory, name));
  // While the transaction gets rows, ends, and while that of another file gets rows: of the first two or of the second and the third file, as the end was carried out or not.
  for (const [statement, milliseconds] of [
    [1, 1],
    [3, 0],
    [7, 1],
  ] as const) {
    await killedLife(directory, statement, milliseconds);
  }
  const last = await openExplore(t, { directory, clockNow: () => at, config: { maxHours: 2, rollups } });
  at += 24 * hour;
  await leftWith(last, directory, 1);
  for (const when of ["flowed", "received"] as const) {
    assert.deepEqual(await minutesOf(last, when), expectedMinutes(drawn, when), when);
  }
});

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
