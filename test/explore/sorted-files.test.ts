import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { readFlowsQuery, readQuery, type EmbeddedExplore } from "../../src/explore/index.ts";
import { createMetrics } from "../../src/base/report/index.ts";
import { until } from "../support/until.ts";
import { exploreDirectory, openExplore, takeLines } from "./explore-fixture.ts";
import { checkAnswers, now, sampleRecords } from "./query-cases.ts";
import { lineOf } from "./query-model.ts";

const hour = 3_600_000;
const never = new AbortController().signal;
const all = Buffer.from(sampleRecords.map(lineOf).join(""));
const rollups = { maxDays: 90, maxBytes: 2 ** 30, fields: [] };
const filesOf = (directory: string): readonly string[] =>
  readdirSync(directory).filter((file) => file.startsWith("flows-") && file.endsWith(".duckdb"));
const isSorted = (file: string): boolean => file.endsWith("-sorted.duckdb");

/** Leaves the records in a complete file. @returns its name. */
async function fillFile(t: TestContext, directory: string): Promise<string> {
  const first = await openExplore(t, { directory, clockNow: () => now, config: { rollups } });
  takeLines(first, all);
  await first.stop();
  return filesOf(directory)[0] ?? "";
}

const openAgain = (t: TestContext, directory: string, metrics = createMetrics()): Promise<EmbeddedExplore> =>
  openExplore(t, { directory, clockNow: () => now, config: { rollups }, metrics });

async function untilSorted(explore: EmbeddedExplore, directory: string): Promise<void> {
  await until("the complete file is sorted, and the one before it gone", async () => {
    await explore.flush();
    return filesOf(directory).filter(isSorted).length === 1 && filesOf(directory).length === 2;
  });
}

async function flowsOf(explore: EmbeddedExplore): Promise<number> {
  const query = readQuery({ from: "-6h", measure: "flows", granularity: "none" }, now + 2 * hour);
  return (await explore.query(query, never)).total.value;
}

test("a complete file is sorted: answers stay those of a slow model, records are the same, and it is counted", async (t) => {
  const directory = exploreDirectory(t);
  const metrics = createMetrics();
  await fillFile(t, directory);
  const explore = await openAgain(t, directory, metrics);
  const asked = readFlowsQuery({ from: "-6h", limit: 1000 }, now + hour);
  const texts = async (): Promise<readonly string[]> =>
    (await explore.flows(asked, never)).records.map((record) => JSON.stringify(record)).toSorted();
  const before = await texts();
  assert.ok(before.length > 100);
  await untilSorted(explore, directory);
  assert.deepEqual(await texts(), before);
  await checkAnswers((query) => explore.query(query, never), sampleRecords, 12);
  assert.equal(await metrics.value("netgloss_explore_sorted_rows_total"), explore.status().rows);
  assert.equal(await metrics.value("netgloss_explore_unsorted_files"), 0);
  assert.equal(await metrics.value("netgloss_explore_sort_failures_total"), 0);
});

test("questions while a file is sorted see each record once", async (t) => {
  const directory = exploreDirectory(t);
  await fillFile(t, directory);
  const explore = await openAgain(t, directory);
  const expected = await flowsOf(explore);
  const sorted = untilSorted(explore, directory).then(() => true);
  let asked = 0;
  do {
    assert.equal(await flowsOf(explore), expected);
    asked++;
  } while (!(await Promise.race([sorted, Promise.resolve(false)])));
  assert.ok(asked > 1);
});

test("a crash at any step leaves the old file or the new one, and each record once", async (t) => {
  const directory = exploreDirectory(t);
  const first = await fillFile(t, directory);
  const old = exploreDirectory(t);
  copyFileSync(join(directory, first), join(old, first));
  const explore = await openAgain(t, directory);
  const expected = await flowsOf(explore);
  await untilSorted(explore, directory);
  await explore.stop();
  const sorted = filesOf(directory).find(isSorted) ?? "";
  const steps: Readonly<Record<string, (copy: string) => void>> = {
    "while it is written": (copy) => {
      copyFileSync(join(old, first), join(copy, first));
      writeFileSync(join(copy, `${sorted}.draft`), "half of a file");
      writeFileSync(join(copy, `${sorted}.draft.wal`), "half of a log");
    },
    "when it is written": (copy) => {
      copyFileSync(join(old, first), join(copy, first));
      copyFileSync(join(directory, sorted), join(copy, `${sorted}.draft`));
    },
    "when it has its name": (copy) => {
      copyFileSync(join(old, first), join(copy, first));
      copyFileSync(join(directory, sorted), join(copy, sorted));
    },
    "when the old one is gone": (copy) => copyFileSync(join(directory, sorted), join(copy, sorted)),
    "and the new one is damaged": (copy) => {
      copyFileSync(join(old, first), join(copy, first));
      writeFileSync(join(copy, sorted), "this is no database");
    },
  };
  for (const [step, prepare] of Object.entries(steps)) {
    const copy = exploreDirectory(t);
    prepare(copy);
    const again = await openAgain(t, copy);
    assert.equal(await flowsOf(again), expected, step);
    assert.ok(!readdirSync(copy).some((file) => file.includes(".draft")), step);
    await untilSorted(again, copy);
    assert.equal(await flowsOf(again), expected, step);
    await again.stop();
  }
});

test("a file that cannot be sorted stays as it is, and is not tried again", async (t) => {
  const directory = exploreDirectory(t);
  const metrics = createMetrics();
  const first = await fillFile(t, directory);
  const explore = await openAgain(t, directory, metrics);
  const expected = await flowsOf(explore);
  // The draft cannot be written where a directory has its name.
  const obstacle = join(directory, first.replace(".duckdb", "-sorted.duckdb.draft"));
  mkdirSync(join(obstacle, "x"), { recursive: true });
  await until("sorting failed", async () => {
    await explore.flush();
    return (await metrics.value("netgloss_explore_sort_failures_total")) === 1;
  });
  assert.equal(await flowsOf(explore), expected);
  assert.equal(await metrics.value("netgloss_explore_unsorted_files"), 0);
  rmSync(obstacle, { recursive: true });
  assert.ok(existsSync(join(directory, first)));
});
