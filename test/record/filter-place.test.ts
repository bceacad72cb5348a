import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { filterPlace, operatorsFor, parseFilter, recordVocabulary, valueInFilter } from "../../src/record/index.ts";

/** What is expected at the bar, what is written of it, and what would be replaced. */
function at(marked: string): readonly unknown[] {
  const text = marked.replace("|", "");
  const place = filterPlace(text, marked.indexOf("|"));
  if (place === undefined) return ["nothing"];
  const { expects, written, from, to, field } = place;
  return [expects, written, text.slice(from, to), ...(field === undefined ? [] : [field])];
}

test("what may stand at a place of a filter, and what it replaces", () => {
  const cases: Readonly<Record<string, readonly unknown[]>> = {
    "^": ["field", "", ""],
    "sr^": ["field", "sr", "sr"],
    "s^rc = 1": ["field", "s", "src"],
    "src ^": ["operator", "", "", "src"],
    "src not ^": ["operator", "", "", "src"],
    "src i^": ["operator", "i", "i", "src"],
    "src = ^": ["value", "", "", "src"],
    "src =^": ["value", "", "", "src"],
    "src.name = we^b and x = 1": ["value", "we", "web", "src.name"],
    'src.name = "we^': ["value", "we", '"we', "src.name"],
    'src.name = "we^ x" and y = 1': ["value", "we", '"we x"', "src.name"],
    'src.name = "we^ and tag = "x"': ["value", "we", '"we', "src.name"],
    "port in (80, 4^": ["value", "4", "4", "port"],
    "port in (80 ^": ["joiner", "", "", "port"],
    "port in (80) ^": ["joiner", "", ""],
    "src exists an^": ["joiner", "an", "an"],
    "not (src = 10.0.0.1 or d^)": ["field", "d", "d"],
    "`my-field` ^": ["operator", "", "", "my-field"],
    "# no^": ["nothing"],
    "src = 1 # c\nand d^": ["field", "d", "d"],
    "= ^": ["nothing"],
    "src src ^": ["nothing"],
  };
  for (const [text, expected] of Object.entries(cases)) {
    const shown = at(text.replace("^", "|"));
    // The field of a list that is not closed is known; nobody needs it.
    assert.deepEqual(
      expected[0] === "joiner" ? shown.slice(0, 3) : shown,
      expected.slice(0, expected[0] === "joiner" ? 3 : 4),
      text,
    );
  }
});

test("a filter that is written by its offers alone is a filter; hostile texts have an answer or none", () => {
  const values: Readonly<Record<string, readonly string[]>> = {
    address: ["10.0.0.1", "2001:db8::1"],
    number: ["7"],
    protocol: ["tcp"],
    time: ["2026-11-22T04:00:00Z"],
    text: ["web", "two words", "or", 'a"b', "x,y"],
    boolean: ["true"],
    any: ["x"],
  };
  const names = ["src", "port", "proto", "time", "tag", "src.internal", "src.site.name", "bytes"];
  const term = fc.tuple(fc.constantFrom(...names), fc.nat(), fc.nat());
  fc.assert(
    fc.property(fc.array(fc.tuple(term, fc.constantFrom("and", "or")), { minLength: 1, maxLength: 4 }), (terms) => {
      let text = "";
      const put = (expects: string, word: string): void => {
        assert.equal(filterPlace(text, text.length)?.expects, expects, text);
        text += `${word} `;
      };
      for (const [index, [[name, operatorAt, valueAt], joiner]] of terms.entries()) {
        if (index > 0) put("joiner", joiner);
        put("field", name);
        const known = recordVocabulary.find(name);
        assert.ok(known !== undefined);
        const operators = operatorsFor(known);
        const operator = operators[operatorAt % operators.length] as string;
        put("operator", operator);
        const all = values[known.type] ?? [];
        if (!operator.endsWith("exists")) put("value", valueInFilter(all[valueAt % all.length] as string));
      }
      parseFilter(text, "filter", recordVocabulary);
    }),
  );
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...Array.from("a1 .=!~<>()[]{},\"'`#&|\\\n")) }),
      fc.nat(40),
      (text, cursor) => {
        const place = filterPlace(text, Math.min(cursor, text.length));
        if (place === undefined) return;
        assert.ok(place.from <= Math.min(cursor, text.length) && place.to >= place.from && place.to <= text.length);
      },
    ),
  );
});
