import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DuckDBInstance } from "@duckdb/node-api";
import { readQuery } from "../../src/explore/index.ts";
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
const linesOf = (records: readonly ModelRecord[]): Buffer => Buffer.from(records.map(lineOf).join(""));

test("answers of the embedded store are those of a slow model over the same records", async (t) => {
  const explore = await openExplore(t, { clockNow: () => now });
  takeLines(explore, linesOf(sampleRecords));
  await explore.flush();
  await checkAnswers((query) => explore.query(query, never), sampleRecords, 40);
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
  await checkUtilisation((query) => explore.query(query, never), usualRecords);
  await explore.stop();

  const again = await openExplore(t, options);
  await checkAnswers((query) => again.query(query, never), usualRecords, 15);
  await again.stop();

  const first = readdirSync(directory).find((file) => file.startsWith("flows-"));
  await makeOlder(join(directory, String(first)));
  const updated = await openExplore(t, options);
  await checkAnswers((query) => updated.query(query, never), usualRecords, 15);
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
