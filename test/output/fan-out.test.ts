import assert from "node:assert/strict";
import { test } from "node:test";
import { fanOut } from "../../src/output/index.ts";
import type { Sink } from "../../src/record/index.ts";

function recorder(): Sink & { readonly got: [string, number][] } {
  const got: [string, number][] = [];
  return { got, write: (lines, count) => void got.push([Buffer.from(lines).toString(), count]) };
}

for (const count of [0, 1, 3]) {
  test(`${count} sinks get all lines in order`, () => {
    const sinks = Array.from({ length: count }, recorder);
    const all = fanOut(sinks);
    all.write(Buffer.from("a\nb\n"), 2);
    all.write(Buffer.from("c\n"), 1);
    for (const { got } of sinks) {
      assert.deepEqual(got, [
        ["a\nb\n", 2],
        ["c\n", 1],
      ]);
    }
  });
}
