import assert from "node:assert/strict";
import { test } from "node:test";
import { createLineFilter, filteredSink } from "../../src/output/index.ts";

test("a filtered sink gets what passes, written or lent, and gives lent lines back at once", () => {
  const taken: string[] = [];
  let filtered = 0;
  const filter = createLineFilter({
    matches: (bytes, start, end) => bytes.toString("utf8", start, end).includes("1"),
    filtered: (records) => void (filtered += records),
  });
  assert.ok(filter !== undefined);
  const sink = filteredSink(
    {
      write: (lines: Uint8Array, count: number) => void taken.push(`${count} ${Buffer.from(lines).toString()}`),
    },
    filter,
  );
  const write = (text: string, count: number): void => sink.write(Buffer.from(text), count);
  write('{"a":1}\n{"a":2}\n{"a":11}\n', 3);
  write('{"a":2}\n', 1);
  assert.deepEqual(taken, ['2 {"a":1}\n{"a":11}\n']);
  assert.equal(filtered, 2);
});
