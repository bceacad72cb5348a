import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSettingsFile } from "../../src/app/index.ts";

const given = (source: string): [string, string, string][] =>
  parseSettingsFile("f.yml", source).map(({ name, text, origin }) => [name, text, origin]);

test("values are taken as they are spelt", () => {
  assert.deepEqual(given("A: 0123\nB: 'x # y'\nC: \"a\\tb\"\nD: yes\nE: 1e3\n"), [
    ["A", "0123", "f.yml:1:1"],
    ["B", "x # y", "f.yml:2:1"],
    ["C", "a\tb", "f.yml:3:1"],
    ["D", "yes", "f.yml:4:1"],
    ["E", "1e3", "f.yml:5:1"],
  ]);
});

test("null is the empty text, quoted null is not", () => {
  assert.deepEqual(
    given("A:\nB: ~\nC: null\nD: 'null'\n").map(([, text]) => text),
    ["", "", "", "null"],
  );
});

test("a list may be a sequence", () => {
  assert.deepEqual(
    given("A: [1, 2]\nB:\n  - 3\n  - 4\nC: []\nD: 5\n").map(([name, text]) => [name, text]),
    [
      ["A", "1,2"],
      ["B", "3,4"],
      ["C", ""],
      ["D", "5"],
    ],
  );
});

test("of a Compose file the variables of its services are taken", () => {
  const source = `version: "3"
x-common: &common
  EF_LICENSE_ACCEPTED: "true"
services:
  flow:
    image: example/flow
    environment:
      <<: *common
      EF_FLOW_SERVER_UDP_PORT: 9995
      EF_API_BASIC_AUTH_PASSWORD: 'a$$b'
      EF_LOGGER_LEVEL:
      TZ: Europe/Amsterdam
  snmp:
    environment:
      - EF_INSTANCE_NAME=a=b
      - "SVC_API_PORT=8081"
      - EF_FROM_SHELL
  other: {image: x}
`;
  assert.deepEqual(given(source), [
    ["EF_FLOW_SERVER_UDP_PORT", "9995", "f.yml:9:7"],
    ["EF_API_BASIC_AUTH_PASSWORD", "a$b", "f.yml:10:7"],
    ["EF_LOGGER_LEVEL", "", "f.yml:11:7"],
    ["EF_LICENSE_ACCEPTED", "true", "f.yml:3:3"],
    ["EF_INSTANCE_NAME", "a=b", "f.yml:15:9"],
    ["SVC_API_PORT", "8081", "f.yml:16:9"],
    ["EF_FROM_SHELL", "", "f.yml:17:9"],
  ]);
  for (const value of ["${PORT}", "${PORT:-9995}", "$PORT"]) {
    assert.throws(() => given(`services:\n  a:\n    environment: {EF_API_PORT: "${value}"}\n`), {
      message: "f.yml:3:19: a variable of Compose is not filled in here: write its value in place of it",
    });
  }
});

test("an empty file, one of comments and an empty document set nothing", () => {
  for (const source of ["", "# nothing\n", "---\n", "---\n...\n"]) assert.deepEqual(given(source), [], source);
});

const broken: [string, string, RegExp][] = [
  ["a syntax error", "A: [1\nB: 2\n", /^f\.yml:2:1: /],
  ["a tab as indentation", "A:\n\t- 1\n", /^f\.yml:2:/],
  ["a list at the top", "- A\n", /^f\.yml:1:1: expected a mapping/],
  ["a mapping as value", "A: 1\nB: {c: d}\n", /^f\.yml:2:4: expected a scalar/],
  ["a list in a list", "A: [[1]]\n", /^f\.yml:1:5: expected a scalar/],
  ["an alias without an anchor", "A: 1\nB: *x\n", /^f\.yml:2:4: alias \*x has no anchor/],
  ["a name twice", "A: 1\nB: 2\nA: 3\n", /^f\.yml:3:1: key "A" is given twice, first at line 1, column 1$/],
  ["a comma within a value of a list", "A: ['1,2']\n", /^f\.yml:1:\d+: a comma/],
  ["two documents", "A: 1\n---\nB: 2\n", /^f\.yml:3:1: a second document/],
];

for (const [what, source, message] of broken) {
  test(`${what} is refused with its place`, () => {
    assert.throws(() => parseSettingsFile("f.yml", source), { name: "SettingsError", message });
  });
}

test("any text is read or refused, never something else", () => {
  for (const source of [
    "\u0000",
    "? [a]: b",
    "!!binary A: x",
    "A: |\n  x\n",
    "%YAML 9.9\n---\nA: 1",
    "A: !!str 1",
    "\uFEFFA: 1",
  ]) {
    try {
      parseSettingsFile("f.yml", source);
    } catch (error) {
      assert.equal((error as Error).name, "SettingsError", source);
    }
  }
});
