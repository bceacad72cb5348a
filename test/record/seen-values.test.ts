import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { LineShapes, SeenValues, viewOf } from "../../src/record/index.ts";
import { runs } from "../support/runs.ts";

/** Looks up the values of a line; adds what is found next time. @returns what was found. */
function look(shapes: LineShapes<readonly string[]>, seen: SeenValues<string>, line: string): string | undefined {
  const bytes = Buffer.from(line);
  const view = viewOf(bytes);
  const names = shapes.read(bytes, view, 0);
  const { values, ends } = shapes;
  const found = seen.find({ view, values, ends }, [names.indexOf("a"), names.indexOf("b")]);
  if (found === undefined) seen.add(line);
  return found;
}

const newShapes = (): LineShapes<readonly string[]> => new LineShapes((names) => names);

test("an entry is found by the same values only", () => {
  const text = fc.string({ maxLength: 6 });
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { maxLength: 40 }), (pairs) => {
      const shapes = newShapes();
      const seen = new SeenValues<string>();
      const known = new Set<string>();
      for (const [a, b] of pairs) {
        const line = JSON.stringify({ a, b });
        assert.equal(look(shapes, seen, line), known.has(line) ? line : undefined);
        known.add(line);
      }
    }),
    runs(200),
  );
});

test("values longer than the cache takes are not found, and are in nobody's way", () => {
  const shapes = newShapes();
  const seen = new SeenValues<string>();
  const long = JSON.stringify({ a: "x".repeat(2000), b: 1 });
  const short = JSON.stringify({ a: "x", b: 1 });
  for (const [line, found] of [
    [long, undefined],
    [short, undefined],
    [long, undefined],
    [short, short],
  ] as const)
    assert.equal(look(shapes, seen, line), found);
});

test("of any number of values, a bounded number is kept, the latest among them", () => {
  const most = 8 * 16_384;
  const shapes = newShapes();
  const seen = new SeenValues<string>();
  const lineOf = (i: number): string => `{"a":${i},"b":1}`;
  const count = most + 40_000;
  for (let i = 0; i < count; i++) {
    look(shapes, seen, lineOf(i));
  }
  assert.equal(look(shapes, seen, lineOf(count - 1)), lineOf(count - 1));
  // What is looked up from the latest on is found until a slot has dropped it; what is then added can only drop more.
  let kept = 0;
  for (let i = count - 1; i >= 0; i--) if (look(shapes, seen, lineOf(i)) !== undefined) kept++;
  assert.ok(kept > most / 4 && kept <= most, String(kept));
});
