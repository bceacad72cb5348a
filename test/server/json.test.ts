// The JSON reader against the one of the platform, on what both can represent.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { JsonNumber, type JsonNode, JsonSyntaxError, parseJson } from "../../src/server/json/parse-json.ts";
import { runs } from "../support/runs.ts";
import { anyCharacter } from "../support/any-character.ts";

/** The value as JSON.parse gives it. */
function plain(node: JsonNode): unknown {
  if (node instanceof JsonNumber) return Number(node.text);
  if (node instanceof Map) {
    const entries = [...(node as ReadonlyMap<string, JsonNode>)].map(([name, value]) => [name, plain(value)] as const);
    return Object.fromEntries(entries);
  }
  if (Array.isArray(node)) return (node as readonly JsonNode[]).map(plain);
  return node;
}

const wellFormed = fc.string({ unit: anyCharacter }).filter((text) => !/\p{Surrogate}/u.test(text));

test("what the platform writes is read the same", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), wellFormed, fc.nat(3), (value, text, indent) => {
      const json = JSON.stringify({ value, [text]: text }, null, indent);
      assert.deepEqual(plain(parseJson(json)), JSON.parse(json));
    }),
    runs(400),
  );
});

test("what the platform refuses is refused, whatever is broken", () => {
  const fragments = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "\\",
    '"a"',
    "1",
    "-",
    "0",
    ".5",
    "e1",
    "true",
    "nul",
    " ",
    "\n",
    "\\u00",
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...fragments), { maxLength: 12 }), (parts) => {
      const text = parts.join("");
      let expected: unknown;
      let isJson = true;
      try {
        expected = JSON.parse(text);
      } catch {
        isJson = false;
      }
      try {
        const node = parseJson(text);
        assert.ok(isJson, `accepted ${JSON.stringify(text)}`);
        assert.deepEqual(plain(node), expected);
      } catch (error) {
        if (!(error instanceof JsonSyntaxError)) throw error;
        // It may refuse what the platform takes only for a name given twice.
        assert.ok(!isJson || /given twice/.test(error.message), `${JSON.stringify(text)}: ${error.message}`);
      }
    }),
    runs(1000),
  );
});

test("a string ends at the first quote that no backslash stands for", () => {
  for (const text of [String.raw`"\\"`, String.raw`"\\\""`, String.raw`"a\"b\\"`, String.raw`"\u0022\\\\"`]) {
    assert.equal(parseJson(text), JSON.parse(text));
    assert.deepEqual(parseJson(`[${text},${text}]`), JSON.parse(`[${text},${text}]`));
  }
  for (const text of [String.raw`"\"`, String.raw`"\\\"`, String.raw`"\\" "`, '"\\n\n"']) {
    assert.throws(() => parseJson(text), JsonSyntaxError, text);
  }
});

test("numbers keep every digit, names every letter", () => {
  const node = parseJson('{"__proto__": -0.10e+20, "constructor": 123456789012345678901234567890}');
  assert.ok(node instanceof Map);
  assert.deepEqual(
    [...(node as ReadonlyMap<string, JsonNode>)].map(([name, value]) => [name, (value as JsonNumber).text]),
    [
      ["__proto__", "-0.10e+20"],
      ["constructor", "123456789012345678901234567890"],
    ],
  );
});

test("depth is bounded at 64", () => {
  const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
  assert.doesNotThrow(() => parseJson(nested(64)));
  assert.throws(() => parseJson(nested(65)), /line 1, column 65: nested deeper than 64 levels/);
});

test("an object has 2000 names at most, so that nobody waits for a million of them", () => {
  const object = (count: number): string => `{"a":{${Array.from({ length: count }, (_, i) => `"${i}":1`).join(",")}}}`;
  assert.ok(parseJson(object(2000)));
  assert.throws(() => parseJson(object(1_000_000)), /the object "a" has more than 2000 names/);
  const array = (count: number): string => `{"a":{"tags":[${"1,".repeat(count - 1)}1]}}`;
  assert.ok(parseJson(array(2000)));
  assert.throws(() => parseJson(array(1_000_000)), /the array "tags" has more than 2000 items/);
  assert.ok(parseJson(`{"keys":[${"1,".repeat(99_999)}1]}`), "a batch is as long as its own limit");
});
