import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createFindBytes } from "../../src/server/tools/scan-entries.ts";
import { runs } from "../support/runs.ts";

const letters = (min: number, max: number): fc.Arbitrary<string> =>
  fc
    .array(fc.constantFrom("a", "A", "b", "B", "-", "1"), { minLength: min, maxLength: max })
    .map((all) => all.join(""));

test("a text is found where it begins first, case of letters not counting, as a plain search finds it", () => {
  fc.assert(
    fc.property(letters(1, 4), letters(0, 40), fc.nat(5), fc.nat(5), (text, bytes, before, behind) => {
      const all = Buffer.from("a".repeat(before) + bytes + "b".repeat(behind));
      const found = createFindBytes(text)(all, before, before + bytes.length);
      const expected = bytes.toLowerCase().indexOf(text.toLowerCase());
      assert.equal(found, expected < 0 ? -1 : before + expected);
    }),
    runs(500),
  );
  const long = `${"x".repeat(300)}y`;
  assert.equal(createFindBytes(long)(Buffer.from(`aa${long}`), 0, 303), 2);
});
