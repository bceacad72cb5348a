import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { mergeText, MibFault, writeDefinitions } from "../../packages/mib/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const attribute = (name: string, field: string, syntax: string): string =>
  `    # About ${name}.\n    ${name}:\n      name: ${field}\n      syntax: ${syntax}\n`;
const file = (...attributes: readonly string[]): string => `A-MIB::table:\n  attributes:\n${attributes.join("")}`;

test("a change of one side counts, also in lines next to one another", () => {
  const before = file(attribute("a", "a.x", "Integer32"), attribute("b", "b.x", "Integer32"));
  const edited = before.replace("a.x", "mine.x");
  const now = file(
    attribute("a", "a.x", "TicksSec"),
    attribute("b", "b.x", "Integer32"),
    attribute("c", "c.x", "Gauge32"),
  );
  const { text, conflicts } = mergeText(before, edited, now);
  assert.equal(text, now.replace("a.x", "mine.x"));
  assert.deepEqual(conflicts, []);
});

test("what was taken out by hand stays out; what the module no longer has goes", () => {
  const [a, b, c] = ["a", "b", "c"].map((name) => attribute(name, `${name}.x`, "Integer32")) as [
    string,
    string,
    string,
  ];
  assert.equal(mergeText(file(a, b, c), file(a, c), file(a, b, c)).text, file(a, c));
  assert.equal(mergeText(file(a, b, c), file(a, b, c), file(a, c)).text, file(a, c));
});

test("where both changed the same, the edit stays and the other is a comment; the next run has no conflict", () => {
  const before = file(attribute("a", "a.x", "Integer32"));
  const edited = before.replace("Integer32", "Percent100");
  const now = before.replace("Integer32", "TicksSec");
  const { text, conflicts } = mergeText(before, edited, now);
  assert.deepEqual(conflicts, [6]);
  assert.equal(text.split("\n")[5], "      syntax: Percent100");
  assert.match(text, /Percent100\n {6}# conflict: the module would have here\n {6}# {3}syntax: TicksSec\n$/);
  assert.deepEqual(mergeText(now, text, now), { text, conflicts: [] });
});

test("without edits the result is what is generated; without changes of the module it is the edited file", () => {
  const one = fc.tuple(
    fc.constantFrom("a", "b", "c", "d"),
    fc.constantFrom("x", "y"),
    fc.constantFrom("Integer32", "Float"),
  );
  const some = fc
    .uniqueArray(one, { selector: ([name]) => name, maxLength: 4 })
    .map((attributes) => file(...attributes.map(([name, field, syntax]) => attribute(name, field, syntax))));
  fc.assert(
    fc.property(some, some, (before, other) => {
      assert.deepEqual(mergeText(before, before, other), { text: other, conflicts: [] });
      assert.deepEqual(mergeText(before, other, before), { text: other, conflicts: [] });
      assert.deepEqual(mergeText(before, other, other), { text: other, conflicts: [] });
    }),
  );
});

test("files are written, kept with their edits, and never taken from somebody else", (t) => {
  const directory = tempDirectory(t);
  const path = join(directory, "objects/a.yml");
  const states = (text: string): unknown =>
    writeDefinitions(directory, new Map([["objects/a.yml", text]])).map(({ state, conflicts }) => [
      state,
      conflicts.length,
    ]);
  assert.deepEqual(states("a: 1\nb: 1\n"), [["created", 0]]);
  assert.deepEqual(states("a: 1\nb: 1\n"), [["unchanged", 0]]);
  writeFileSync(path, "a: mine\nb: 1\n");
  assert.deepEqual(states("a: 1\nb: 2\n"), [["changed", 0]]);
  assert.equal(readFileSync(path, "utf8"), "a: mine\nb: 2\n");
  assert.deepEqual(states("a: 1\nb: 2\n"), [["unchanged", 0]]);
  assert.deepEqual(states("a: 3\nb: 2\n"), [["changed", 1]]);
  rmSync(path);
  assert.deepEqual(states("a: 3\nb: 2\n"), [["removed by hand", 0]]);
  const foreign = join(directory, "enums/integer/b.yml");
  mkdirSync(dirname(foreign), { recursive: true });
  writeFileSync(foreign, "mine\n");
  const both = new Map([
    ["objects/new.yml", "x\n"],
    ["enums/integer/b.yml", "y\n"],
  ]);
  assert.throws(
    () => writeDefinitions(directory, both),
    (error) => error instanceof MibFault && /b\.yml is there and was not generated/.test(error.message),
  );
  assert.throws(() => readFileSync(join(directory, "objects/new.yml")), { code: "ENOENT" });
});
