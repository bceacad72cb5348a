import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { ListText, YamlFault } from "../../../src/base/yaml/index.ts";
import { runs } from "../../support/runs.ts";

const file = `# rules of the house

actions:
  noc: {webhook: {url: 'https://example.com'}}   # the desk
rules:
  # floods
  - name: flood
    when: '> 1M'     # much

  # two lines
  # above it
  - name: scan
    say: |
      # no comment
      text
    # a remark inside

  - {name: last, when: new}
# the end
speakers: {}
`;

const names = (text: string): readonly string[] => new ListText(text, "rules").items.map(({ name }) => name);

describe("a list in a text", () => {
  test("gives items as texts of their own, with the comments above them", () => {
    assert.deepEqual(
      new ListText(file, "rules").items.map(({ text }) => text),
      [
        "# floods\nname: flood\nwhen: '> 1M'     # much",
        "# two lines\n# above it\nname: scan\nsay: |\n  # no comment\n  text\n# a remark inside",
        "{name: last, when: new}",
      ],
    );
  });

  test("puts an item in place of another; every other line stays", () => {
    const { text, at } = new ListText(file, "rules").put("name: scan\nwhen: new\n", "scan", undefined);
    assert.equal(text, file.replace(/ {2}- name: scan\n(?: {4}.*\n| {6}.*\n)+/, "  - name: scan\n    when: new\n"));
    assert.deepEqual(at, { line: 12, count: 2, indent: 4 });
  });

  test("puts items before others, last, first, and takes them out", () => {
    const list = new ListText(file, "rules");
    assert.deepEqual(names(list.put("name: x", undefined, "scan").text), ["flood", "x", "scan", "last"]);
    assert.deepEqual(names(list.put("name: x", undefined, undefined).text), ["flood", "scan", "last", "x"]);
    assert.deepEqual(names(list.put("name: last", "last", "flood").text), ["last", "flood", "scan"]);
    assert.deepEqual(names(list.put("name: x", undefined, "flood").text), ["x", "flood", "scan", "last"]);
    assert.equal(list.remove("scan").text, file.replace(/ {2}# two lines\n[^]*# a remark inside\n\n/, ""));
    assert.equal(list.remove("last").text, file.replace("\n  - {name: last, when: new}\n", ""));
    assert.equal(list.nextOf("scan"), "last");
    assert.equal(list.nextOf("last"), undefined);
  });

  test("puts an item in place of all; what is around the list stays where it is", () => {
    const list = new ListText(file, "rules");
    const { text, at } = list.putAlone("# mine\nname: x\nwhen: y");
    assert.deepEqual(names(text), ["x"]);
    assert.deepEqual(at, { line: 6, count: 3, indent: 4 });
    assert.ok(text.startsWith(file.slice(0, file.indexOf("  # floods"))));
    assert.ok(text.endsWith("#\n# the end\nspeakers: {}\n"));
    assert.equal(text.split("\n").length, file.split("\n").length);
    assert.deepEqual(names(list.putAlone(`name: x\nsay: |+\n${"  a\n".repeat(99)}`).text), ["x"]);
    assert.deepEqual(names(new ListText("rules: [] # none\nspeakers: {}\n", "rules").putAlone("name: x").text), ["x"]);
    assert.equal(new ListText("- name: a\n- name: b\n", undefined).putAlone("name: c").text, "- name: c\n#\n");
  });

  test("begins where there is none yet, and comes to an end", () => {
    for (const empty of ["", "[]\n", "# what\n[] # none\n", "---\n"]) {
      const { text, at } = new ListText(empty, undefined).put("name: x\nwhen: y", undefined, undefined);
      assert.deepEqual(
        new ListText(text, undefined).items.map(({ name }) => name),
        ["x"],
        empty,
      );
      assert.equal(text.split("\n")[(at?.line ?? 0) - 1], "- name: x");
    }
    for (const empty of ["", "rules:\n", "rules: []\n", "actions: {}\n", "rules: # none\nspeakers: {}\n"]) {
      const { text, at } = new ListText(empty, "rules").put("name: x", undefined, undefined);
      assert.deepEqual(names(text), ["x"], empty);
      assert.equal(text.split("\n")[(at?.line ?? 0) - 1], "  - name: x");
      assert.deepEqual(names(new ListText(text, "rules").remove("x").text), []);
    }
    assert.equal(new ListText("- name: x\n", undefined).remove("x").text, "[]\n");
  });

  test("keeps the ends of lines, and takes what is indented or has none", () => {
    const { text } = new ListText("- name: a\r\n- name: b\r\n", undefined).put("  name: c\n  when: d", "a", undefined);
    assert.equal(text, "- name: c\r\n  when: d\r\n- name: b\r\n");
    assert.equal(
      new ListText("- name: a", undefined).put('{"name": "b"}', undefined, undefined).text,
      '- name: a\n- {"name": "b"}\n',
    );
  });

  test("takes texts that begin with a byte order mark", () => {
    const list = new ListText("\uFEFF- name: a\n- name: b\n", undefined);
    assert.equal(list.put("\uFEFFname: c", undefined, "b").text, "- name: a\n- name: c\n- name: b\n");
  });

  test("refuses what is not written in lines", () => {
    for (const odd of ["[{name: a}]", "- {name: a}\n- *b\n", "a: 1\n", "- name: [\n", "x: &x {name: a}\n"])
      assert.throws(() => new ListText(odd, undefined), YamlFault, odd);
    assert.throws(() => new ListText("rules: [{name: a}]\n", "rules"), YamlFault);
    assert.throws(() => new ListText("rules: 5\n", "rules"), YamlFault);
    assert.throws(() => new ListText("- name: a\n", "rules"), YamlFault);
  });
});

test("after any edits the list is what a list of JavaScript is, and other lines are there", () => {
  const rest = fc.constantFrom("", "\n\n", "\n# c\n", "\n\n# c\n# d\n", "\n  # deep\n");
  const edit = fc.record({
    kind: fc.constantFrom("put", "before", "remove", "move"),
    name: fc.constantFrom("a", "b", "c", "d", "e"),
    other: fc.constantFrom("a", "b", "c", "d", "e"),
    body: fc.constantFrom("", "\nwhen: x", "\nsay: |\n  t\n  # t", "\nact:\n- y\n- z", "\n# inside\nx: {}"),
  });
  fc.assert(
    fc.property(
      fc.array(rest, { maxLength: 3 }),
      fc.array(edit, { maxLength: 8 }),
      fc.boolean(),
      (gaps, edits, isBelow) => {
        const key = isBelow ? "rules" : undefined;
        const pad = isBelow ? "  " : "";
        const rows = gaps.map((gap, i) => `${pad}- name: ${"abc"[i]}${gap === "" ? "\n" : `${gap}\n`}`).join("");
        let text = isBelow ? `x: 1 # head\nrules:\n${rows}\ny: 2 # tail\n` : `# head\n\n${rows === "" ? "[]\n" : rows}`;
        let model = ["a", "b", "c"].slice(0, gaps.length);
        for (const { kind, name, other, body } of edits) {
          const list = new ListText(text, key);
          const isThere = model.includes(name);
          if (kind === "remove") {
            if (!isThere) continue;
            text = list.remove(name).text;
            model = model.filter((each) => each !== name);
          } else {
            const before = kind === "put" || other === name || !model.includes(other) ? undefined : other;
            text = list.put(`name: ${name}${body}`, isThere ? name : undefined, before).text;
            if (!isThere || before !== undefined) {
              model = model.filter((each) => each !== name);
              model.splice(before === undefined ? model.length : model.indexOf(before), 0, name);
            }
          }
          const after = new ListText(text, key);
          assert.deepEqual(
            after.items.map((item) => item.name),
            model,
            text,
          );
          assert.ok(list.isSameBut(after, isThere ? name : undefined, kind === "remove" ? undefined : name), text);
          assert.match(text, /# head/);
          if (isBelow) assert.match(text, /^y: 2 # tail$/m);
        }
      },
    ),
    runs(200),
  );
});
