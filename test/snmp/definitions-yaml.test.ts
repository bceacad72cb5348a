import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { FAILSAFE_SCHEMA, loadAll, mergeTag, realMapTag } from "js-yaml";
import { parsePlainYaml } from "../../src/snmp/definitions/yaml/parse-plain-yaml.ts";
import type { YamlNode } from "../../src/snmp/definitions/yaml/yaml-node.ts";
import { runs } from "../support/runs.ts";

const schema = FAILSAFE_SCHEMA.withTags(mergeTag, realMapTag);

/** What the library makes of a text; undefined for what it refuses, and for more than one document. */
function byLibrary(text: string): YamlNode | undefined {
  try {
    const documents = loadAll(text, { schema });
    return documents.length > 1 ? undefined : ((documents[0] ?? "") as YamlNode);
  } catch {
    return undefined;
  }
}

const pieces = fc.constantFrom(
  ..."a b: c - # ' \" : :: , [ ] { } & * ! | > % @ ` ? ~ null <<: --- ... \t \r \\ x#y x:y 'q' \"q\" 'q # r' it's -1 - - é \u00a0 \u2028 .1.3: 1:".split(
    " ",
  ),
  " ",
  "  ",
  " # note",
  ": ",
  "- ",
);
const oddLine = fc
  .tuple(fc.nat(5), fc.array(pieces, { maxLength: 5 }))
  .map(([indent, parts]) => " ".repeat(indent) + parts.join(""));
const plainLine = fc
  .tuple(
    fc.nat(4),
    fc.constantFrom("", "- "),
    fc.constantFrom("a", "b", "c", "MIB::table", "'1'", '"x y"', ".1.3", "7"),
    fc.constantFrom("", " v", " 'v w'", ' "v # w"', " .1.3.6", " A::b", " -1", " x'y", " null", " w # n", " 'w' # n"),
  )
  .map(([indent, dash, key, value]) => `${" ".repeat(indent)}${dash}${key}:${value}`);
const itemLine = fc
  .tuple(fc.nat(4), fc.constantFrom("x", "'x'", "A::b", "-1", "x # n"))
  .map(([indent, value]) => `${" ".repeat(indent)}- ${value}`);
const lineOf = fc.oneof(
  { weight: 6, arbitrary: plainLine },
  { weight: 3, arbitrary: itemLine },
  { weight: 1, arbitrary: oddLine },
  { weight: 1, arbitrary: fc.constantFrom("", "   ", "# note", "  # note") },
);
const text = fc
  .tuple(fc.array(lineOf, { maxLength: 8 }), fc.constantFrom("\n", "\n", "\r\n"))
  .map(([lines, end]) => lines.join(end) + end);

test("what the plain reader reads, the library reads the same", () => {
  let plain = 0;
  fc.assert(
    fc.property(text, (source) => {
      const read = parsePlainYaml(source);
      if (read === undefined) return;
      plain++;
      assert.deepEqual(read, byLibrary(source));
    }),
    runs(4000),
  );
  assert.ok(plain > 500, `only ${plain} texts were plain`);
});

const key = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,6}(?:::[a-z]{1,4})?$/);
const scalar = fc.stringMatching(/^[A-Za-z0-9.][A-Za-z0-9_./:-]{0,8}[a-z]$/);
const document = fc.letrec<{ node: YamlNode; map: YamlNode }>((tie) => ({
  node: fc.oneof({ weight: 3, arbitrary: scalar }, fc.array(scalar, { minLength: 1, maxLength: 3 }), tie("map")),
  map: fc
    .array(fc.tuple(key, tie("node")), { minLength: 1, maxLength: 4 })
    .map((entries) => new Map(entries) as YamlNode),
})).map;

/** The node as definition files have it. */
function render(node: YamlNode, indent: string): string {
  if (typeof node === "string") return ` ${node} # note\n`;
  if (Array.isArray(node)) return `\n${node.map((item) => `${indent}- ${item as string}\n`).join("")}`;
  return `\n${[...node].map(([name, value]) => `${indent}${name}:${render(value, `${indent}  `)}`).join("")}`;
}

test("definition files in their usual form are all plain", () => {
  fc.assert(
    fc.property(document, (node) => assert.deepEqual(parsePlainYaml(render(node, "")), node)),
    runs(500),
  );
});

test("constructs beyond the plain subset are left to the library", () => {
  const sources = [
    "a: [x]\n",
    "a: {b: c}\n",
    "a: &x b\n",
    "a: |\n  text\n",
    "a: 'it''s'\n",
    'a: "\\n"\n',
    "<<: {a: b}\n",
    "a: b\na: c\n",
    "a: b\n  c\n",
    "--- \na: b\n",
    "a: é\n",
    "? a\n: b\n",
    "a: ~\n",
    "plain text\n",
    `${"k".repeat(1100)}: v\n`,
  ];
  for (const source of sources) assert.equal(parsePlainYaml(source), undefined, source);
});
