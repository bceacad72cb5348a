import assert from "node:assert/strict";
import { test } from "node:test";
import { RuleTrials } from "../../src/app/index.ts";
import { cleanUp } from "../support/clean-up.ts";

test("rules are asked in short stretches, whatever a record takes, and no longer than is granted altogether", async (t) => {
  const records = Array.from({ length: 1000 }, () => ({ "flow.bytes": 1 }));
  const explore = {
    status: async () => ({ fields: [] }),
    query: async () => ({ total: { value: 20_000 } }),
    flows: async () => ({ records, sampling: 1, complete: true }),
  } as unknown as ConstructorParameters<typeof RuleTrials>[0];
  // A clock that each look moves on by a millisecond: a record takes three.
  let at = 0;
  t.mock.method(performance, "now", () => at++);
  let turns = 0;
  const turn = (): void => {
    turns++;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  cleanUp(t, () => clearImmediate(next));

  const rules = ["a", "b"].map((field) => ({ when: "bytes > 0", set: { [field]: true } }));
  const { records: asked, complete } = await new RuleTrials(explore, "", { now: () => 8_640_000_000 }).answer(
    { rules },
    new AbortController().signal,
  );
  assert.equal(complete, false);
  assert.ok(asked > 1000 && asked < 2500, String(asked));
  assert.ok(turns > 100, String(turns));
});
