import assert from "node:assert/strict";
import { test } from "node:test";
import { compileFilter, parseFilter, recordVocabulary } from "../../src/record/index.ts";
import { flowsOf } from "../../web/src/pages/explain/flows-of.ts";
import { widerEntries } from "../../web/src/pages/explain/wider-entries.ts";

const entries = [
  { key: "10.0.0.0/8", name: "ten" },
  { key: "10.0.0.0/24", name: "db-1" },
  { key: "10.0.0.0-10.0.0.63", tags: ["Database"] },
  { key: "10.0.0.0", metadata: { ".owner": "dba" } },
];

test("flows of words are those whose names and tags have them, and of entries that have them elsewhere", () => {
  const words = { kind: "words", text: "DB" } as const;
  assert.equal(flowsOf(words, []), 'name ~ "DB" or tag ~ "DB"');
  assert.equal(flowsOf(words, entries.slice(1)), 'name ~ "DB" or tag ~ "DB" or addr in (10.0.0.0-10.0.0.63, 10.0.0.0)');
});

test("what is special in a pattern or in quotes stands for itself", () => {
  const text = '^a*b?"c\\$';
  const filter = parseFilter(flowsOf({ kind: "words", text }, []), "filter", recordVocabulary);
  const matches = compileFilter(filter);
  const named = (name: string): boolean => matches(new Map([["flow.src.ip.subnet.name", [name]]]));
  assert.equal(named(`x ${text} y`), true);
  assert.equal(named('^aXb?"c\\$'), false);
});

test("wider entries cover all of a prefix, not only its first address", () => {
  const keys = (text: string): readonly string[] => widerEntries(text, entries).map(({ key }) => key);
  assert.deepEqual(keys("10.0.0.0/25"), ["10.0.0.0/8", "10.0.0.0/24"]);
  assert.deepEqual(keys("10.0.0.0-10.0.0.9"), ["10.0.0.0/8", "10.0.0.0/24", "10.0.0.0-10.0.0.63"]);
  assert.deepEqual(keys("10.0.0.0/24"), ["10.0.0.0/8"]);
  assert.deepEqual(keys("10.0.0.0/99"), []);
});
