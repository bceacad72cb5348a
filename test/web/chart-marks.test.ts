import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { bandsOf, groupMarks } from "../../web/src/format/chart-marks.ts";
import { runs } from "../support/runs.ts";

const at = (seconds: number): string => new Date(seconds * 1000).toISOString();

test("signs on a chart do not touch each other, and each mark is in one of them, in order", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -50, max: 1050 })),
      fc.double({ min: 0.01, max: 0.5, noNaN: true }),
      (seconds, apart) => {
        const marks = seconds.toSorted((a, b) => a - b).map((second) => ({ time: at(1000 + second) }));
        const groups = groupMarks(marks, 1000, 2000, apart);
        assert.deepEqual(
          groups.flatMap((group) => group.marks),
          marks,
        );
        for (const [index, group] of groups.entries()) {
          assert.ok(group.at >= 0 && group.at <= 1);
          const before = groups[index - 1];
          if (before !== undefined) assert.ok(group.at - before.at >= apart);
        }
      },
    ),
    runs(100),
  );
});

test("what went on is a band within the chart", () => {
  const marks = [{ time: at(900), until: at(1500) }, { time: at(1100) }, { time: at(1750), until: at(9000) }];
  assert.deepEqual(bandsOf(marks, 1000, 2000), [
    { from: 0, to: 0.5 },
    { from: 0.75, to: 1 },
  ]);
});
