import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuery, type ExploreAnswer } from "../../src/explore/index.ts";
import { openExplore, takeLines } from "./explore-fixture.ts";
import { now, sampleRecords } from "./query-cases.ts";
import { lineOf } from "./query-model.ts";

const never = new AbortController().signal;
const iso = (time: number): string => new Date(time).toISOString();

test("the longest range has as many values as one may ask for, and a range before", async (t) => {
  const explore = await openExplore(t, { clockNow: () => now });
  takeLines(explore, Buffer.from(sampleRecords.map(lineOf).join("")));
  await explore.flush();
  const question = { from: "1970-01-01T00:00:00Z", to: "2200-01-01T00:00:00Z", compare: true };
  const { times = [], total } = await explore.query(readQuery(question, now), never);
  assert.ok(times.length > 1500 && times.length <= 2001, String(times.length));
  assert.equal(
    total.series?.reduce((sum, each) => sum + each, 0),
    total.value,
  );
  assert.equal(total.previous, 0);
});

test("what is not kept of the range before is named, so that nothing is compared with it", async (t) => {
  const explore = await openExplore(t, { clockNow: () => now });
  takeLines(explore, Buffer.from(sampleRecords.map(lineOf).join("")));
  await explore.flush();
  const { from: oldest = "" } = explore.status();
  const first = Date.parse(oldest);
  const ask = (from: number, to: number): Promise<ExploreAnswer> =>
    explore.query(readQuery({ from: iso(from), to: iso(to), granularity: "none", compare: true }, now), never);
  const later = await ask(first + 60_000, first + 120_000);
  assert.equal(later.missingBefore, undefined);
  const partly = await ask(first + 60_000, first + 180_000);
  assert.equal(partly.complete, true);
  assert.deepEqual(partly.missingBefore, {
    from: iso(first - 60_000),
    to: oldest,
    because: "nothing older is kept",
    lacking: [],
  });
  const nothing = await ask(first, first + 60_000);
  assert.equal(nothing.missingBefore?.to, oldest);
});
