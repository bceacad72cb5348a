import assert from "node:assert/strict";
import { test } from "node:test";
import { QueryThreads } from "../../src/explore/duckdb/open-duckdb.ts";

test("DuckDB has a second thread while a query runs, and one at all other times", async () => {
  const said: string[] = [];
  const run = async (sql: string): Promise<never> => {
    said.push(sql);
    return undefined as never;
  };
  const threads = new QueryThreads({ run });
  const ends: (() => void)[] = [];
  const query = (): Promise<void> =>
    threads.during(async () => {
      assert.deepEqual(said.at(-1), "SET threads = 2");
      await new Promise<void>((resolve) => ends.push(resolve));
    });
  const all = [query(), query()];
  await new Promise(setImmediate);
  assert.equal(ends.length, 2);
  ends[0]?.();
  await all[0];
  await new Promise(setImmediate);
  assert.deepEqual(said, ["SET threads = 2"], "one still runs");
  ends[1]?.();
  await all[1];
  await new Promise(setImmediate);
  assert.deepEqual(said, ["SET threads = 2", "SET threads = 1"]);
  await assert.rejects(
    threads.during(() => Promise.reject(new Error("a fault"))),
    /a fault/,
  );
  await new Promise(setImmediate);
  assert.equal(said.at(-1), "SET threads = 1");
});
