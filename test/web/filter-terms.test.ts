import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { parseFilter, recordVocabulary } from "../../src/record/index.ts";
import { addedFields } from "../../web/src/format/added-fields.ts";
import {
  andTerm,
  bothFilters,
  filterTerm,
  termsOf,
  withoutTerm,
  type FieldValue,
} from "../../web/src/format/filter-terms.ts";
import { flowPicture } from "../../web/src/format/flow-diagram.ts";
import { createLineSplitter } from "../../web/src/format/lines.ts";
import { stack } from "../../web/src/format/stack.ts";
import { anyCharacter } from "../support/any-character.ts";

const name = "flow.src.ip.subnet.name";

test("a value that was chosen is a term that the collector understands", () => {
  const cases: [string, FieldValue, string][] = [
    [name, "db main", `${name} = "db main"`],
    [name, 'a "b" \\ and', `${name} = "a \\"b\\" \\\\ and"`],
    [name, null, `${name} not exists`],
    ["flow.src.ip.addr", "10.0.0.1", "flow.src.ip.addr = 10.0.0.1"],
    ["flow.src.ip.addr", "2001:db8::1", "flow.src.ip.addr = 2001:db8::1"],
    ["flow.dst.l4.port.id", 443, "flow.dst.l4.port.id = 443"],
    ["flow.src.isInternal", true, "flow.src.isInternal = true"],
  ];
  for (const [field, value, term] of cases) {
    assert.equal(filterTerm(field, value), term);
    parseFilter(term, "filter", recordVocabulary);
    parseFilter(filterTerm(field, value, true), "filter", recordVocabulary);
  }
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (value) => {
      parseFilter(filterTerm(name, value), "filter", recordVocabulary);
    }),
  );
});

test("terms are added so that the filter before still holds as a whole, and are taken away one by one", () => {
  assert.equal(andTerm("", "src = 10.0.0.1"), "src = 10.0.0.1");
  assert.equal(andTerm("port = 1", "src = 10.0.0.1"), "port = 1 and src = 10.0.0.1");
  assert.equal(andTerm("port = 1 or port = 2", "src = 10.0.0.1"), "(port = 1 or port = 2) and src = 10.0.0.1");
  assert.equal(andTerm("port = 1 # web", "src = 10.0.0.1"), "(port = 1 # web\n) and src = 10.0.0.1");
  assert.equal(bothFilters("port = 1", "proto = 6 # web"), "port = 1 and (proto = 6 # web\n)");
  assert.deepEqual([bothFilters("", "port = 1"), bothFilters("port = 1", " ")], ["port = 1", "port = 1"]);
  assert.equal(andTerm("port = 1 and src = 10.0.0.1", "port = 1"), "port = 1 and src = 10.0.0.1");
  assert.deepEqual(termsOf(' port = 1 and name = "a and b" AND (x = 1 or y = 2) '), [
    "port = 1",
    'name = "a and b"',
    "(x = 1 or y = 2)",
  ]);
  assert.deepEqual(termsOf("port = 1 or port = 2 and proto = 6"), ["port = 1 or port = 2 and proto = 6"]);
  // Brackets separate words as spaces do.
  for (const filter of [
    "(port = 1)or port = 2 and proto = 6",
    "name = 'a'or port = 2 and proto = 6",
    "a = 1 ||b = 2 and c = 3",
  ])
    assert.deepEqual(termsOf(filter), [filter]);
  assert.deepEqual(termsOf("(port = 1)and(port = 2) and name = band and x.or = 3"), [
    "(port = 1)",
    "(port = 2)",
    "name = band",
    "x.or = 3",
  ]);
  assert.deepEqual(termsOf(""), []);
  assert.equal(withoutTerm("port = 1 and proto = 6 and dst.tag = pci", 1), "port = 1 and dst.tag = pci");
});

test("any values chosen one after another are the terms of the filter again", () => {
  const value = fc.oneof(fc.string(), fc.integer({ min: 0, max: 9999 }), fc.boolean());
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 5 }), (values) => {
      const terms = [...new Set(values.map((each) => filterTerm(name, each)))];
      // What looks like a list of alternatives within a text is put into brackets: still one term.
      const plain = terms.filter((term) => !/\bor\b|\|\||#/i.test(term));
      assert.deepEqual(termsOf(plain.reduce(andTerm, "")), plain);
    }),
  );
});

test("a flow diagram has a node for each value of a dimension, and what goes between neighbours", () => {
  const rows = [
    { key: ["a", "b", "a"], value: 3 },
    { key: ["a", "b", "c"], value: 2 },
    { key: [null, "b", "c"], value: 1 },
    { key: ["z", "z", "z"], value: 0 },
  ];
  const { nodes, links } = flowPicture(rows, 3);
  assert.deepEqual(
    nodes.map(({ column, key }) => [column, key]),
    [
      [0, "a"],
      [1, "b"],
      [2, "a"],
      [2, "c"],
      [0, null],
    ],
  );
  assert.deepEqual(
    links.map(({ value }) => value),
    [5, 3, 3, 1],
  );
  assert.deepEqual(
    flowPicture(rows, 2).links.map(({ value }) => value),
    [5, 1],
  );
});

test("series lie upon one another; what is no number counts as nothing", () => {
  assert.deepEqual(
    stack([
      [1, Number.NaN, 3],
      [1, 2, -1],
    ]),
    [
      [1, 0, 3],
      [2, 2, 3],
    ],
  );
});

test("lines are whole however a stream is cut", () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z]{1,5}$/)), fc.array(fc.nat(20)), (lines, cuts) => {
      const text = lines.map((line) => `${line}\n`).join("");
      const places = [...new Set(cuts.map((cut) => Math.min(cut, text.length)))].toSorted((one, other) => one - other);
      const split = createLineSplitter();
      const pieces = [...places, text.length].map((end, index) => text.slice(places[index - 1] ?? 0, end));
      assert.deepEqual(pieces.flatMap(split), lines);
    }),
  );
});

test("names of the operator's own come from metadata, unless a longer pattern says other", () => {
  const isAdded = addedFields({
    fields: [{ name: "flow.src.ip.addr", isAdded: false, description: "" }],
    patterns: [
      { pattern: "flow.src.*", isAdded: true },
      { pattern: "flow.src.raw.*", isAdded: false },
    ],
  });
  assert.deepEqual(["flow.src.ip.addr", "flow.src.site.name", "flow.src.raw.x", "other"].map(isAdded), [
    false,
    true,
    false,
    false,
  ]);
});
