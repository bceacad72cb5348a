import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import {
  compileFilter,
  FilterError,
  parseFilter,
  recordVocabulary,
  shortNames,
  findField,
  type Value,
} from "../../../src/record/index.ts";

const page = readFileSync(join(resolve(import.meta.dirname, "../../../.."), "docs/filters.md"), "utf8");
const parse = (text: string): ReturnType<typeof parseFilter> => parseFilter(text, "expression", recordVocabulary);

test("the examples of docs/filters.md say of its record what the page says", () => {
  const [, json = ""] = /```json\n(.*)\n```/.exec(page) ?? [];
  const record = new Map(Object.entries(JSON.parse(json) as Record<string, Value>));
  const rows = [...page.matchAll(/^\| `([^`]+)` \| (true|false) \|$/gm)];
  assert.ok(rows.length >= 15, `${rows.length} rows`);
  for (const [, filter = "", expected] of rows) {
    assert.equal(String(compileFilter(parse(filter))(record)), expected, filter);
  }
});

test("every filter that docs/filters.md shows as an example of a value is one", () => {
  const [, table = ""] = /## Values\n([^]*?)\n\nIn double quotes/.exec(page) ?? [];
  const filters = [...table.matchAll(/^\|.*\|.*\|(.*)\|$/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, filter = ""]) => filter),
  );
  assert.ok(filters.length >= 12, `${filters.length} filters`);
  for (const filter of filters.filter((each) => each.includes(" "))) assert.doesNotThrow(() => parse(filter), filter);
});

test("the fault that docs/filters.md shows is what is reported", () => {
  const [, fault = ""] = /```fault\n([^]*?)\n```/.exec(page) ?? [];
  const [, line = ""] = fault.split("\n");
  assert.throws(
    () => parse(line.trim()),
    (error: unknown) => error instanceof FilterError && error.message === fault,
  );
});

test("each short name stands for fields of the table of records that have one type", () => {
  for (const { fields } of shortNames) {
    const types = fields.map((field) => {
      const known = findField(field);
      assert.ok(known !== undefined && !("pattern" in known), field);
      return known.type;
    });
    assert.equal(new Set(types).size, 1);
  }
});
