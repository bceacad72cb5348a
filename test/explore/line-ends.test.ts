import assert from "node:assert/strict";
import { test } from "node:test";
import { array, assert as check, integer, oneof, property } from "fast-check";
import { createLineEnds } from "../../src/explore/index.ts";

const linesOf = (lengths: readonly number[]): Buffer => Buffer.from(lengths.map((n) => "x".repeat(n) + "\n").join(""));
/** The slow way: each byte is looked at. */
const model = (lines: Buffer): number[] => [...lines].flatMap((byte, at) => (byte === 0x0a ? [at] : []));

const long = integer({ min: 180, max: 260 });
/** Mostly of nearly one length, as those of a template; others are much shorter or longer. */
const piece = oneof(
  array(long, { maxLength: 20 }),
  array(oneof({ weight: 6, arbitrary: long }, integer({ min: 0, max: 900 })), { maxLength: 20 }),
);

test("the ends of lines are those that a look at each byte finds, whatever pieces came before", () => {
  check(
    property(array(piece, { minLength: 1, maxLength: 12 }), (pieces) => {
      const lineEnds = createLineEnds();
      for (const lengths of pieces) {
        const lines = linesOf(lengths);
        const { ends, length } = lineEnds.find(lines, lengths.length);
        assert.deepEqual([...ends.subarray(0, length)], model(lines));
      }
    }),
  );
});

test("a last line that is much shorter than those before ends at its line feed", () => {
  const lineEnds = createLineEnds();
  for (let i = 0; i < 50; i++) lineEnds.find(linesOf([200, 210, 205]), 3);
  for (const lengths of [[200, 1], [1, 200], [1], [90, 90, 90]]) {
    const lines = linesOf(lengths);
    const { ends, length } = lineEnds.find(lines, lengths.length);
    assert.deepEqual([...ends.subarray(0, length)], model(lines));
  }
});

test("more lines than there was room for are found", () => {
  const lines = linesOf(Array.from({ length: 5000 }, (_, i) => i % 7));
  const { ends, length } = createLineEnds().find(lines, 5000);
  assert.deepEqual([...ends.subarray(0, length)], model(lines));
});
