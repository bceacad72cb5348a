import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import { readQuery, type ExploreQuery } from "../../src/explore/index.ts";
import { exploreDirectory, openExplore, takeLines } from "./explore-fixture.ts";
import {
  checkAnswers,
  checkDifferent,
  checkRegexes,
  checkUtilisation,
  now,
  sampleRecords,
  usualRecords,
} from "./query-cases.ts";
import { lineOf, type ModelRecord } from "./query-model.ts";

const never = new AbortController().signal;
/** As a question of several about the same records asks it. */
const oneOfSeveral = (query: ExploreQuery): ExploreQuery => ({
  ...query,
  ...(query.filter && {
    within: { filter: query.filter, fields: query.dimensions, from: query.from - 7_200_000, to: query.to },
  }),
});
const linesOf = (records: readonly ModelRecord[]): Buffer => Buffer.from(records.map(lineOf).join(""));

test("answers of the embedded store are those of a slow model over the same records", async (t) => {
  const explore = await openExplore(t, { clockNow: () => now });
  takeLines(explore, linesOf(sampleRecords));
  await explore.flush();
  await checkAnswers((query) => explore.query(query, never), sampleRecords, 40);
  await checkAnswers((query) => explore.query(oneOfSeveral(query), never), sampleRecords, 8);
  await checkRegexes((query) => explore.query(query, never), sampleRecords);
  await checkUtilisation((query) => explore.query(query, never), sampleRecords);
  await checkDifferent((query) => explore.query(query, never), sampleRecords);
  // Engines of RE2 differ in the properties of Unicode that they know.
  const emoji = readQuery({ filter: 'src.name =~ "\\\\p{Emoji}"' }, now);
  await assert.rejects(explore.query(emoji, never), {
    code: "invalid_argument",
    message: /does not know \\p\{Emoji\}/,
  });
});

test("of more rows than are counted one it is estimated how many different values there are, and said; what is small is not off by much", async (t) => {
  const hosts = 4000;
  const lines = Array.from({ length: 3 * hosts }, (_, at): ModelRecord => {
    const host = at % hosts;
    return {
      "@timestamp": new Date(now - 1000 - (at % 1_500_000)).toISOString(),
      "flow.export.ip.addr": "192.0.2.1",
      "flow.export.type": "ipfix",
      "flow.src.ip.addr": `10.0.${host >> 8}.${host & 255}`,
      "flow.dst.ip.addr": host < hosts / 2 ? "192.0.2.7" : "192.0.2.8",
    };
  });
  const answers = [];
  for (const maxCountedRows of [3 * hosts, hosts / 2]) {
    const explore = await openExplore(t, { clockNow: () => now, config: { maxCountedRows } });
    takeLines(explore, linesOf(lines));
    await explore.flush();
    const body = { from: "-1h", dimensions: ["flow.dst.ip.addr"], measure: "sources", granularity: "5m", limit: 2 };
    answers.push(await explore.query(readQuery(body, now), never));
  }
  const [counted, estimated] = answers;
  assert.deepEqual([counted?.estimated, estimated?.estimated], [undefined, true]);
  assert.deepEqual([counted?.total.value, counted?.rows.map(({ value }) => value)], [hosts, [hosts / 2, hosts / 2]]);
  // One of eight is counted: six standard deviations of a binomial distribution, and always the same for the same addresses.
  const isNear = (value: number | undefined, of: number): boolean =>
    value !== undefined && value % 8 === 0 && Math.abs(value - of) <= 6 * Math.sqrt(7 * of);
  const all = [
    [estimated?.total.value, hosts],
    ...(estimated?.rows ?? []).map(({ value }) => [value, hosts / 2] as const),
  ] as const;
  assert.equal(all.length, 3);
  for (const [value, of] of all) assert.ok(isNear(value, of), `${value} for ${of}`);
  assert.ok(all.some(([value, of]) => value !== of));
  const parts = estimated?.rows.reduce((sum, { value }) => sum + value, 0);
  assert.equal(parts, estimated?.total.value, "of the same addresses the same are counted, whoever asks");
  const most = Math.max(...(estimated?.total.series ?? []));
  assert.ok(most > 0 && most <= (estimated?.total.value ?? 0));
});

test("the same with numbers as most flows have them, in a file that is written to, in complete ones, and in one of an earlier version", async (t) => {
  const directory = exploreDirectory(t);
  let at = now;
  const options = { directory, clockNow: () => at };
  const explore = await openExplore(t, options);
  const half = usualRecords.length / 2;
  takeLines(explore, linesOf(usualRecords.slice(0, half)));
  await explore.flush();
  at += 3_600_000;
  await explore.flush();
  takeLines(explore, linesOf(usualRecords.slice(half)));
  await explore.flush();
  await checkAnswers((query) => explore.query(query, never), usualRecords, 15);
  await checkAnswers((query) => explore.query(oneOfSeveral(query), never), usualRecords, 6);
  await checkUtilisation((query) => explore.query(query, never), usualRecords);
  await explore.stop();

  const again = await openExplore(t, options);
  await checkAnswers((query) => again.query(query, never), usualRecords, 15);
  await checkAnswers((query) => again.query(oneOfSeveral(query), never), usualRecords, 4);
  await again.stop();

  const first = readdirSync(directory).find((file) => file.startsWith("flows-"));
  await makeOlder(join(directory, String(first)));
  const updated = await openExplore(t, options);
  await checkAnswers((query) => updated.query(query, never), usualRecords, 15);
  await checkAnswers((query) => updated.query(oneOfSeveral(query), never), usualRecords, 3);
});

test("questions about the same records read them once; what comes meanwhile other questions find", async (t) => {
  const explore = await openExplore(t, { clockNow: () => now });
  const record = (count: number): ModelRecord => ({
    "@timestamp": new Date(now - 1000 * count).toISOString(),
    "flow.export.ip.addr": "192.0.2.1",
    "flow.export.type": "ipfix",
    "flow.src.ip.addr": "10.0.0.1",
    "flow.bytes": 100,
  });
  takeLines(explore, linesOf([record(1), record(2)]));
  await explore.flush();
  const query = readQuery({ filter: "src = 10.0.0.1", measure: "flows" }, now);
  const ask = async (asked: ExploreQuery): Promise<number> => (await explore.query(asked, never)).total.value;
  assert.equal(await ask(oneOfSeveral(query)), 2);
  takeLines(explore, linesOf([record(3)]));
  await explore.flush();
  assert.deepEqual([await ask(oneOfSeveral(query)), await ask(query)], [2, 3]);
  const others = readQuery({ filter: "src in 10.0.0.0/8", measure: "bytes", dimensions: ["flow.src.ip.addr"] }, now);
  const { rows } = await explore.query(oneOfSeveral(others), never);
  assert.deepEqual(
    rows.map(({ key, value }) => [key, value]),
    [[["10.0.0.1"], 300]],
  );
  // More than there are copies of, one of them of a field that no record has.
  for (let at = 0; at < 6; at++) {
    const other = readQuery({ filter: `src = 10.0.0.1 and bytes > ${at}`, measure: "flows" }, now);
    assert.equal(await ask(oneOfSeveral(other)), 3);
  }
  const none = readQuery({ filter: "src.site.name = x", measure: "flows" }, now);
  assert.equal(await ask(oneOfSeveral(none)), 0);
});

test("a file of flows that all began after their records came, by a clock that is ahead, says when they flowed", async (t) => {
  const directory = exploreDirectory(t);
  const noon = Date.parse("2026-11-22T12:00:00Z");
  const options = { directory, clockNow: () => noon - 400 };
  const record = {
    "@timestamp": new Date(noon - 500).toISOString(),
    "flow.export.ip.addr": "192.0.2.1",
    "flow.export.type": "ipfix",
    "flow.start.timestamp": new Date(noon + 600).toISOString(),
    "flow.end.timestamp": new Date(noon + 700).toISOString(),
    "flow.bytes": 100,
  };
  const explore = await openExplore(t, options);
  takeLines(explore, linesOf([record]));
  await explore.flush();
  const query = readQuery(
    { from: new Date(noon - 120_000).toISOString(), to: new Date(noon + 120_000).toISOString(), granularity: "1m" },
    noon + 120_000,
  );
  const minutesOf = async (store: typeof explore): Promise<unknown> => (await store.query(query, never)).total.series;
  assert.deepEqual(await minutesOf(explore), [0, 0, 100, 0]);
  await explore.stop();
  const again = await openExplore(t, options);
  assert.deepEqual(await minutesOf(again), [0, 0, 100, 0]);
});

/** Makes of a file what the version before wrote: it had no parts of flows, and no times of those that count when they came. */
async function makeOlder(path: string): Promise<void> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  for (const name of ["bytes", "packets"]) {
    await connection.run(`ALTER TABLE flows DROP COLUMN "explore.later.${name}"`);
  }
  const { rowsChanged } = await connection.run(
    `UPDATE flows SET "explore.start" = NULL, "explore.end" = NULL WHERE "explore.start" = epoch_ms("@timestamp") AND "explore.end" = epoch_ms("@timestamp")`,
  );
  assert.ok(rowsChanged > 0);
  connection.closeSync();
  instance.closeSync();
}
