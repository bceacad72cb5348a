import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { LineBuffer, LineValues, readLine, type Value } from "../../src/record/index.ts";
import { runs } from "../support/runs.ts";

const scalar = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
  fc.boolean(),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("", '"', '\\","a":1', "é\n", "\ud800"),
);
const value: fc.Arbitrary<Value> = fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }));
const name = fc.oneof(fc.constantFrom("a", "b", "a.b"), fc.string({ maxLength: 4 }));

test("fields of lines are found among all that lines can have, also between other lines", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uniqueArray(fc.tuple(name, value), { selector: ([key]) => key, minLength: 1, maxLength: 6 }), {
        minLength: 1,
        maxLength: 4,
      }),
      fc.array(name, { maxLength: 4 }),
      (records, others) => {
        const lines = new LineBuffer();
        for (const fields of records) lines.append(new Map(fields));
        const bytes = Buffer.from(lines.take());
        const values = new LineValues();
        let at = 0;
        for (const fields of records) {
          const end = bytes.indexOf(0x0a, at) + 1;
          values.use(bytes, at, end);
          // What the one reader of whole lines makes of it: a double that is whole comes back as a number, a lone surrogate as it was.
          const expected = readLine(bytes, at, end - 2);
          for (const key of [...fields.map(([each]) => each), ...others]) {
            assert.deepEqual(values.get(key), expected.get(key), `${key} in ${bytes.toString("utf8", at, end)}`);
          }
          at = end;
        }
      },
    ),
    runs(300),
  );
});
