// The fast reader says what the library's reader says, offsets included, or nothing.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import {
  createPlainYamlReader,
  positionAt,
  readYaml,
  readYamlParts,
  readYamlSteps,
  YamlFault,
  type YamlNode,
} from "../../../src/base/yaml/index.ts";
import { runs } from "../../support/runs.ts";

const readPlainYaml = createPlainYamlReader();

/** A directive that changes nothing keeps the fast reader off. */
const toLibrary = "%YAML 1.2\n---\n";

function shifted(node: YamlNode, by: number): YamlNode {
  const at = node.at - by;
  if (node.kind === "scalar") return { ...node, at };
  if (node.kind === "sequence") return { ...node, at, items: node.items.map((item) => shifted(item, by)) };
  const pairs = node.pairs.map(({ key, value }) => ({ key: { ...key, at: key.at - by }, value: shifted(value, by) }));
  return { ...node, at, pairs };
}

function readByLibrary(text: string): YamlNode | undefined | string {
  try {
    const node = readYaml(toLibrary + text);
    return node && shifted(node, toLibrary.length);
  } catch (error) {
    if (error instanceof YamlFault) return error.message;
    throw error;
  }
}

/** @returns whether the fast reader has read the text. */
function agree(text: string): boolean {
  const fast = readPlainYaml(text);
  if (fast === undefined) return false;
  // A marker of a document may stand once only.
  const slow = readByLibrary(text.replace(/^((?: *#.*\r?\n|\r?\n)*)---/, (_, before: string) => `${before}#--`));
  assert.deepEqual(comparable(fast.root), comparable(slow), JSON.stringify(text));
  assert.deepEqual(inSteps(text).root, fast.root, JSON.stringify(text));
  return true;
}

function inSteps(text: string): { readonly root: YamlNode | undefined; readonly steps: number } {
  const reading = readYamlSteps(text);
  for (let steps = 0; ; steps++) {
    const step = reading.next();
    if (step.done === true) return { root: step.value, steps };
  }
}

/** A text that says nothing is null to the library, which has no place. */
function comparable(root: YamlNode | undefined | string): unknown {
  return typeof root === "object" && root.kind === "scalar" && root.text === "" ? undefined : root;
}

const readable: readonly string[] = [
  "",
  "# only a comment\n",
  "a: b\n",
  "a: b",
  "a: b # comment\r\nc:\r\n  d: 1\r\n",
  "---\na: b\n",
  "  a: b\n  c: d\n",
  "a:\n- b\n- c\nd: e\n",
  "a:\n  - b\n  - c: 1\n    d: 2\n  -   e: 1\n      f: g\n",
  "- a\n- b: c\n  d: e\n",
  "a: [b, c , 'd', \"e\"]\nf: {}\ng: []\n",
  "a: {b: c, d: [1, 2], e: {f: g}}\n",
  "{a: b}\n",
  "[a, b]\n",
  "a:\nb:\nc: ~\n",
  'a: it\'s\nb: x "y"\nc: a#b\nd: a:b\n',
  "a: 'it''s'\nb: \"x\\ny\\u00e9\"\n",
  "größe: äöü\n",
  "a: -1\nb: 1e3\nc: 0x10\nd: 2001-01-01\n",
  '"2001:db8::/32":\n  name: x\n',
  "2001:db8::/32:\n  name: x\n",
  "a b: c d\n",
  "<<: {a: b}\n",
  "a: b, c\nd: e [f]\n",
];

const unreadable: readonly string[] = [
  "a: b: c\n",
  "a: b\n  c\n",
  "a: b\n c: d\n",
  "a: &x b\n",
  "a: *x\n",
  "a: !!str b\n",
  "a: |\n  b\n",
  "a: b\na: c\n",
  "a:\tb\n",
  "\ta: b\n",
  "a: 'b\n",
  "a: b\n---\nc: d\n",
  "a: b\n...\n",
  "? a\n: b\n",
  "a: [b\n",
  "a: [b, c]: d\n",
  "a: [b: c]\n",
  "a: {b, c}\n",
  "- - a\n",
  "-\n",
  "a: 'b' c\n",
  "a: b\u2028c\n",
  "a: b\rc: d\n",
  "\ufeffa: b\n",
  "a: % b\nb: @c\n",
  "a\n",
];

suite("the fast reader", () => {
  for (const text of readable) test(`reads ${JSON.stringify(text)}`, () => assert.ok(agree(text)));
  for (const text of unreadable) {
    test(`leaves ${JSON.stringify(text)} to the library`, () => assert.equal(readPlainYaml(text), undefined));
  }

  test("takes a step for each pair of the outermost mapping", () => {
    assert.equal(inSteps("a: b\nc:\n  d: e\n  f: g\nh: [i]\n").steps, 3);
    assert.equal(inSteps("- a\n- b\n").steps, 0);
    // What the library has to read it reads from the start.
    assert.deepEqual(inSteps("a: 1\nb: &x 2\n").root, readYaml("a: 1\nb: &x 2\n"));
    assert.throws(() => inSteps("a: 1\na: 2\n"), YamlFault);
  });

  test("reads what comes in its own pieces of YAML, or leaves it", () => {
    const word = fc.constantFrom(
      "a",
      "b c",
      "x:y",
      "1",
      "-2",
      "''",
      '"q"',
      "'s'",
      "ä",
      "~",
      "[]",
      "{}",
      "[a, b]",
      "...",
      "a#b",
      "*a",
      "{a: 1}",
      "<<",
      "a,b",
      "a ",
      "key:",
      "- z",
      "|",
      "&a b",
      "!t x",
      "\\",
      '"\\x41"',
      "?",
      "%",
      "@",
    );
    const line = fc.record({
      indent: fc.nat(4),
      lead: fc.constantFrom("", "", "", "- ", "-  ", "- - "),
      key: fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom("k", "m n", "10.0.0.0/8", "::1", "'q'", '"r"', "<<", "é") },
        { weight: 1, arbitrary: word },
      ),
      colon: fc.constantFrom(": ", ": ", ":", " : ", ":  ", ""),
      value: fc.oneof(fc.constant(""), word),
      end: fc.constantFrom("\n", "\n", "\n", "\r\n", " # c\n", " \n", "\n\n", "\n# c\n", "#x\n", ""),
    });
    const text = fc
      .array(line, { maxLength: 8 })
      .map((lines) =>
        lines.map((l) => `${" ".repeat(l.indent)}${l.lead}${l.key}${l.colon}${l.value}${l.end}`).join(""),
      );
    let taken = 0;
    fc.assert(
      fc.property(text, (given) => void (agree(given) && taken++)),
      runs(3000),
    );
    assert.ok(taken > 100, String(taken));
  });

  test("agrees on texts with a few characters changed", () => {
    const seeds = readable.map((text) => `${text}\n`).concat(readable.join("").slice(0, 400));
    const change = fc.record({
      at: fc.nat(400),
      cut: fc.nat(3),
      put: fc.constantFrom(
        "",
        " ",
        "\n",
        ":",
        "-",
        "'",
        '"',
        "#",
        "[",
        "]",
        "{",
        "}",
        ",",
        "&",
        "\t",
        "\r",
        "a",
        "?",
        "|",
        "\\",
        "é",
        "\u0085",
        "...",
        "---\n",
        "  ",
      ),
    });
    const mutated = fc
      .tuple(fc.constantFrom(...seeds), fc.array(change, { minLength: 1, maxLength: 3 }))
      .map(([seed, changes]) => {
        let text = seed;
        for (const { at, cut, put } of changes) {
          const place = at % (text.length + 1);
          text = text.slice(0, place) + put + text.slice(place + cut);
        }
        return text;
      });
    fc.assert(
      fc.property(mutated, (text) => void agree(text)),
      runs(5000),
    );
  });

  test("reads all definitions that come with the collector, as the library does", () => {
    const folder = join(import.meta.dirname, "../../../../definitions");
    let files = 0;
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      if (!/\.ya?ml$/.test(name)) continue;
      files++;
      assert.ok(agree(readFileSync(join(folder, name), "utf8")), name);
    }
    assert.ok(files > 0);
  });
});

suite("readYaml", () => {
  test("names the place of what is wrong", () => {
    for (const [text, message, line, column] of [
      ["a: [\n", /^a bracket or a quote before this is not closed/, 2, 1],
      ['a: "b\nc: d\n', /^a bracket or a quote before this is not closed/, 2, 1],
      ["a: b: c\n", /, or a text that needs quotes$/, 1, 5],
      ["a: 1\nb: 2\na: 3\n", /"a" is given twice, first at line 1, column 1/, 3, 1],
      ["a: *b\n", /alias \*b has no anchor/, 1, 4],
      ["%TAG ! x:\n---\na: b\n", /%TAG directive/, 1, 1],
      ["a: b\n---\nc: d\n", /second document/, 3, 1],
    ] as const) {
      assert.throws(
        () => readYaml(text),
        (error) => {
          assert.ok(error instanceof YamlFault, text);
          assert.match(error.message, message);
          assert.deepEqual(error.position, { line, column }, text);
          return true;
        },
      );
    }
  });

  test("counts lines of all kinds and columns in characters", () => {
    assert.deepEqual(positionAt("a\r\nb\rc\n😀x", 8), { line: 4, column: 2 });
    assert.deepEqual(positionAt("\ufeffa", 1), { line: 1, column: 1 });
  });
});

suite("a long text in parts", () => {
  /** What a node says, without places and sizes. */
  const said = (node: YamlNode): unknown => {
    if (node.kind === "scalar") return [node.tag, node.text, node.isPlain];
    if (node.kind === "sequence") return node.items.map(said);
    return node.pairs.map(({ key, value }) => [said(key), said(value)]);
  };
  const inParts = (text: string): unknown => {
    const all: unknown[] = [];
    for (const { root } of readYamlParts(text, (message) => assert.fail(message)))
      all.push(...(said(root) as unknown[]));
    return all;
  };
  const value = fc.constantFrom(
    "a",
    '"q: {"',
    "|\n  block\n  # text",
    "{x: 1,\n  y: 2}",
    "*first",
    "\n- one\n- two",
    "\n# comment\n  x: [1, 2]\n\n  y:\n  - z",
    "&anchor {b: 1}",
    "'it''s\n  folded'",
  );
  const filler = "f".repeat(2000);

  test("says what it says as a whole", () => {
    const property = fc.property(
      fc.array(value, { minLength: 200, maxLength: 220 }),
      fc.boolean(),
      fc.constantFrom("", "# start\n", "---\n"),
      (values, isList, start) => {
        const lines = values.map((one, i) =>
          isList && !one.startsWith("\n-")
            ? `- k: ${one.replaceAll("\n", "\n  ")}\n  f: ${filler}\n`
            : `k${i}: ${one}\nf${i}: ${filler}\n`,
        );
        const first = isList ? "- &first {a: 1}\n" : "first: &first {a: 1}\n";
        const text = start + first + lines.filter((line) => line.startsWith("-") === isList).join("");
        const whole = readYaml(text);
        assert.ok(whole !== undefined && text.length > 256 * 1024);
        assert.deepEqual(inParts(text), said(whole));
      },
    );
    fc.assert(property, runs(6));
  });

  test("has faults with their lines, keys twice in one part included", () => {
    const long = Array.from({ length: 300 }, (_, i) => `k${i}:\n  f: ${filler}\n`);
    const bad = [...long.slice(0, 250), "bad: [\n", ...long.slice(250)].join("");
    assert.throws(
      () => inParts(bad),
      (error) => error instanceof YamlFault && error.position.line === 502,
    );
    const notes: unknown[] = [];
    const twice = [...long.slice(0, 250), "k249: x\n", ...long.slice(250)].join("");
    for (const _ of readYamlParts(twice, (...note) => notes.push(note)));
    assert.equal((notes[0] as unknown[])[1], 501);
    const tooLong = `a: 1\nk:\n${`  - ${filler}\n`.repeat(600)}`;
    assert.throws(
      () => inParts(tooLong),
      (error) => error instanceof YamlFault && /more than 1048576/.test(error.message) && error.position.line === 1,
    );
    const flow = long.map((_, i) => `k${i}: ${filler}`);
    assert.throws(
      () => inParts(`{\n${flow.with(200, "k200: [a, ]]").join(",\n")}}`),
      (error) => error instanceof YamlFault && error.position.line === 202 && error.position.column === 12,
    );
  });

  test("says what it says as a whole, indented, in flow style and as JSON", () => {
    const flowValue = fc.constantFrom(
      "a b's c",
      "'it''s, ] \"' # ] , \"\n    ",
      '"a \\\\\\", ]\\\\"',
      "{x: 1,\n  y: [2, '}', {}]}",
      "*first",
      "&a !t 'x, {'",
      '!t "]"',
      "http://x/#'a",
      "&anchor {b: [1,]}",
      "",
    );
    const style = fc.constantFrom("flow", "list", "indented", "json");
    const start = fc.constantFrom("", "# start [\n", "--- # {\n", "%YAML 1.2\n---\n");
    const property = fc.property(
      fc.array(flowValue, { minLength: 200, maxLength: 220 }),
      style,
      start,
      (values, how, head) => {
        const pairs = values.map((one, i) => `k${i}: ${one}`);
        const fillers = pairs.map((pair, i) => `${pair} ,\t# it's\n   f${i}: ${filler}`);
        const json = values.map((one, i) => ({ key: `k ${i}`, one, filler, deep: { '"': [one, { one }] } }));
        const text = {
          flow: `${head}{first: &first {a: 1}, ${fillers.join(",\n  ")}\n}\n# end ]`,
          list: `${head}  [ &first {a: 1}, ${fillers.join(" ,")},]\n...\n`,
          indented: `${head}  first: &first {a: 1}\n\n${pairs.map((pair, i) => `  ${pair.replaceAll("\n", "\n    ")}\n  f${i}: ${filler}\n`).join("# c\n")}`,
          json: JSON.stringify(how === "json" ? json : [], undefined, values.length % 3),
        }[how];
        const whole = readYaml(text);
        assert.ok(whole !== undefined && text.length > 256 * 1024);
        assert.deepEqual(inParts(text), said(whole));
      },
    );
    fc.assert(property, runs(8));
  });
});
