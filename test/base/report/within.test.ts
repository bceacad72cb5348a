import assert from "node:assert/strict";
import { test } from "node:test";
import { within } from "../../../src/base/report/index.ts";

test("work is waited for no longer than a time, and what it throws later is nobody's affair", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  assert.equal(await within(Promise.resolve(1), 1000, "late"), 1);
  await assert.rejects(within(Promise.reject(new Error("broken")), 1000, "late"), /broken/);
  let fail = (_error: Error): void => {};
  const waited = within(new Promise<number>((_, reject) => (fail = reject)), 1000, "late");
  t.mock.timers.tick(999);
  assert.equal(await Promise.race([waited, Promise.resolve("waits")]), "waits");
  t.mock.timers.tick(1);
  assert.equal(await waited, "late");
  fail(new Error("too late"));
  await Promise.resolve();
});
