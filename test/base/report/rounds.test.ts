import assert from "node:assert/strict";
import { test } from "node:test";
import { Rounds } from "../../../src/base/report/index.ts";

test("what the work of a round asks for, even at once, is one more round after it, never one beside it", async () => {
  let underWay = 0;
  let most = 0;
  let begun = 0;
  const rounds = new Rounds(
    async () => {
      begun++;
      most = Math.max(most, ++underWay);
      if (begun === 1) {
        rounds.ask();
        rounds.ask();
      }
      await Promise.resolve();
      underWay--;
      return undefined;
    },
    () => 0,
    () => () => {},
  );
  await rounds.start();
  await rounds.stop();
  assert.deepEqual([begun, most], [2, 1]);
});
