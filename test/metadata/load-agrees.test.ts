// What is built straight from the bytes of a file is what the library's reader says.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { parseKey } from "../../src/base/ip/index.ts";
import { SharedIndex, loadState, type UdmEntry, type UdmIndex } from "../../src/metadata/index.ts";
import { YamlFault } from "../../src/base/yaml/index.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { memoryPath, plainEntries, storeOn } from "../support/udm-store-fixture.ts";
import { anyValues } from "../support/udm-write-arbitrary.ts";
import { allRuns, runs } from "../support/runs.ts";

async function written(entries: readonly UdmEntry[]): Promise<string> {
  const io = memoryFileIo();
  const { store } = storeOn(io);
  await store.start();
  await store.commit(entries.map((values) => ({ op: "create", key: values.key, values })));
  await store.stop();
  return io.text(memoryPath) ?? "";
}

const shared = new SharedIndex({ maxEntries: 10_000 });

/** All that a file says, or why it cannot be used. */
function load(text: string): { entries: unknown; texts?: string; isOurs?: boolean } {
  const lease = shared.lease();
  try {
    const { built, isOurs, size } = loadState(lease, Buffer.from(text));
    assert.ok(built !== undefined);
    const index = shared.completeLease(lease, built);
    const entries = plainEntries(index.entries());
    assert.equal(size, entries.length);
    for (const { key } of index.entries()) assert.equal(index.get(key)?.key.text, key.text);
    const texts = renderedTexts(index);
    shared.release(index);
    return { entries, texts, isOurs };
  } catch (error) {
    shared.cancelLease(lease);
    if (!(error instanceof YamlFault)) throw error;
    return { entries: `${memoryPath}:${error.position.line}:${error.position.column}: ${error.message}` };
  }
}

/** The JSON and the YAML of each entry, as they are kept rendered. */
function renderedTexts(index: UdmIndex): string {
  const text = (kind: "json" | "yaml"): string => Buffer.concat([...index.render("all", kind, "\n", 4096)]).toString();
  return text("json") + text("yaml");
}

/** A directive that changes nothing has the library read the text. */
const toLibrary = "%YAML 1.2\n---\n";

/** Checks that a text says the same when the library reads it. @returns whether it says anything. */
function agree(text: string): boolean {
  const loaded = load(text);
  // A marker of a document may stand once only.
  const slow = load(toLibrary + text.replace(/^((?: *#.*\r?\n|\r?\n)*)---/, (_, before: string) => `${before}#--`));
  if (typeof slow.entries === "string" || typeof loaded.entries === "string") {
    // Directives may stand before a document only, and a byte order mark before all else.
    if (/^(?:%|\uFEFF)|\n%/.test(text)) return false;
    const at = (entries: unknown, lines: number): string =>
      String(entries).replaceAll(
        /(\.yml:|line )([0-9]+)/g,
        (_, before: string, line: string) => `${before}${Number(line) - lines}`,
      );
    assert.equal(at(loaded.entries, 0), at(slow.entries, 2), JSON.stringify(text));
    return false;
  }
  assert.deepEqual([loaded.entries, loaded.texts], [slow.entries, slow.texts], JSON.stringify(text));
  return loaded.texts !== "";
}

suite("a metadata file", () => {
  const cases = [
    "10.0.0.1: {}\n",
    "# c\n---\n\n10.0.0.0/8:\n    name: a b  # who\n    tags: [ a, 'b c', \"d\" ]\n    vlan: '7'\n2001:db8::1:\n  internal: yes\n",
    "10.0.0.1:\n  tags:\n  - a\n  - b\n  metadata:\n      a: ~\n      b:\n      .c: 'it''s'\n  x: 1\n  contexts: [exporter]\n",
    'fe80::1:\n  name: "a\\tb\\x85"\n',
    "10.0.0.2:\n10.0.0.1:\n  name:\n  tags:\n  metadata:\n",
    "10.0.0.1:\n  owner: 01\n  ids:\n    - 01\n    - null\n",
    "{}\n",
    "",
    "10.0.0.1:\n  name: a",
    "10.0.0.1:\n  name: a\n  tags:\n    - b",
    "10.0.0.1:\n  metadata:\n    a: b",
    "10.0.0.1:\n  tags: [a]",
    "10.0.0.1: {}",
  ];
  for (const text of cases) {
    test(`reads ${JSON.stringify(text)}`, () => {
      assert.equal(agree(text), text.includes(":"));
    });
  }

  const odd = [
    "10.0.0.1: {name: a}\n",
    "10.0.0.1:\n  name: a\n    b\n",
    "10.0.0.1:\n  name: &x a\n",
    "10.0.0.1:\n\tname: a\n",
    "10.0.0.1:\n  name: a: b\n",
    "10.0.0.1:\n  name: a\n  name: b\n",
    "10.0.0.1:\n  name: |\n    a\n",
    "10.0.0.1: {}\n10.0.0.1: {}\n",
    "10.0.0.1: {}\n10.0.0.2: {}\n10.0.0.1: {}\n",
    "10.0.0.300: {}\n",
    "10.0.0.1: {}\n...\n",
    "10.0.0.1: {}\n---\n10.0.0.2: {}\n",
    "10.0.0.1:\n  vlan: 010\n",
    "10.0.0.1:\n  vlan:\n10.0.0.2:\n  vlan: [1]\n",
    '10.0.0.1:\n  vlan: null\n10.0.0.2:\n  vlan: "null"\n',
    '10.0.0.1:\n  vlan: 7\n10.0.0.2:\n  vlan: "\\n"\n',
    "10.0.0.1:\r\n  name: a\r\n",
    "\uFEFF10.0.0.1: {}\n",
    '10.0.0.1:\n  name: "a\n  b"\n',
    "10.0.0.1:\n  name: 'a'b\n",
    "10.0.0.1:\n  x:\n    y: z\n",
    "10.0.0.1:\n  <<: a\n",
    "10.0.0.1:\n  tags: [a, [b]]\n",
    "10.0.0.1:\n  tags: [a: b]\n",
    "10.0.0.1:\n  name: a\n # c\n   b: c\n",
    "10.0.0.1: {}#\n",
    '10.0.0.1:\n  name: "\\ud800"\n',
    " 10.0.0.1: {}\n",
  ];
  for (const text of odd) {
    test(`says of ${JSON.stringify(text)} what the library says`, () => void agree(text));
  }

  const anyEntry = fc
    .tuple(
      denseKeyText,
      anyValues,
      fc.constantFrom(undefined, "  contexts:\n    - exporter\n", '  x: 01\n  y:\n    - a\n    - "b"\n'),
    )
    .map(([key, values, yaml]): UdmEntry => {
      return Object.assign(udmEntry(key), values, yaml === undefined ? {} : { fileOnly: { yaml } });
    });
  const anyEntries = fc.uniqueArray(anyEntry, { selector: (entry) => entry.key.text, minLength: 1, maxLength: 6 });

  test("knows that what was written was", async () => {
    const property = fc.asyncProperty(anyEntries, async (entries) => {
      const text = await written(entries.map((entry) => Object.assign(udmEntry("::"), entry, { fileOnly: undefined })));
      assert.ok(load(text).isOurs, text);
      assert.ok(agree(text));
    });
    await fc.assert(property, runs(40));
  });

  test("agrees with the library on what people write, and on what their editors make of it", async () => {
    const scalar = fc.oneof(
      fc.constantFrom(
        ..."a|net-1|Site 1|01|~|null|yes|'x'|\"y\"|'it''s'|\"\\n\"|a#b|a #b|a: b|a:b|[a]|{}|-|- a|&a|*a|!x y|é|😀".split(
          "|",
        ),
      ),
      fc.constantFrom(
        "",
        " ",
        "'",
        '"',
        "a  b",
        "@a",
        "%a",
        "a,b",
        "\u0085",
        "\u2028",
        "x\ty",
        "|",
        ">",
        "?",
        ": ",
        "=",
        "<<",
      ),
      fc.string({ unit: fc.constantFrom(...Array.from(" #:-,[]{}'\"\\ab0~&*!|>%@.\té")), maxLength: 6 }),
    );
    const name = fc.constantFrom(
      "name",
      "tags",
      "vlan",
      "internal",
      "metadata",
      "contexts",
      "owner",
      "'name'",
      "<<",
      "x y",
      "? a",
    );
    const pair = fc
      .tuple(
        fc.oneof({ weight: 5, arbitrary: fc.constantFrom("a", ".b", "c.d", '"e"') }, { weight: 1, arbitrary: scalar }),
        scalar,
      )
      .map(([key, value]) => `    ${key}: ${value}\n`);
    const field = fc.oneof(
      { weight: 3, arbitrary: fc.tuple(name, scalar).map(([key, value]) => `  ${key}: ${value}\n`) },
      { weight: 1, arbitrary: fc.array(scalar, { maxLength: 3 }).map((items) => `  tags: [${items.join(", ")}]\n`) },
      {
        weight: 1,
        arbitrary: fc
          .array(scalar, { maxLength: 3 })
          .map((items) => `  tags:\n${items.map((item) => `  - ${item}\n`).join("")}`),
      },
      { weight: 2, arbitrary: fc.array(pair, { maxLength: 3 }).map((pairs) => `  metadata:\n${pairs.join("")}`) },
      { weight: 1, arbitrary: fc.constantFrom("\n", "  # c\n", "# c\n", " \n", "   deeper: x\n", "---\n", "...\n") },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 5000 }).map((vlan) => `  vlan: ${vlan} # v\n`) },
    );
    const key = fc.oneof(
      denseKeyText,
      denseKeyText.map((text) => `"${text}"`),
      denseKeyText.map((text) => `'${text}'`),
    );
    const entry = fc
      .tuple(key, fc.constantFrom("", "", "", " {}", " # c", " ", " ~"), fc.array(field, { maxLength: 4 }))
      .map(([text, rest, fields]) => `${text}:${rest}\n${fields.join("")}`);
    let read = 0;
    const property = fc.property(fc.array(entry, { maxLength: 3 }), (entries) => {
      if (agree(entries.join(""))) read++;
    });
    fc.assert(property, allRuns(200));
    assert.ok(read > 20, `only ${read} were read`);
  });

  test("agrees with the library on written text with bytes changed, lost and doubled", async () => {
    const change = fc.record({
      at: fc.nat(),
      kind: fc.constantFrom("replace", "insert", "remove", "double"),
      text: fc.constantFrom(...Array.from(" \n:#-,[]{}'\"\\a0~&*!|>%@.\té"), "\n  ", ": ", " #", "\n\n", "  "),
    });
    let read = 0;
    const property = fc.asyncProperty(
      anyEntries,
      fc.array(change, { minLength: 1, maxLength: 3 }),
      async (entries, changes) => {
        let text = await written(entries);
        for (const { at, kind, text: by } of changes) {
          const i = at % (text.length + 1);
          const removed = kind === "replace" || kind === "remove" ? 1 : 0;
          const added = kind === "remove" ? "" : kind === "double" ? text.slice(i, i + 7) : by;
          text = text.slice(0, i) + added + text.slice(i + removed);
        }
        if (agree(text)) read++;
      },
    );
    await fc.assert(property, runs(120));
    assert.ok(read > 8, `only ${read} were read`);
  });

  test("says that a file is as written only when a save would write the same bytes", async () => {
    const parts = fc.constantFrom(
      ...'10.0.0.1:\n|10.0.0.2: {}\n|"2001:db8::1":\n|  name: a\n|  name: "a"\n|  name: "1"\n|  name: 1\n|  tags:\n|    - a\n|    - b\n|  vlan: 7\n|  vlan: 0\n|  internal: true\n|  internal: yes\n|  internal: TRUE\n|  metadata:\n|    a: b\n|    .e-123456: b\n|    a: ""\n|  x: 01\n|  x: a\n|  contexts:\n|\n|# c\n'.split(
        "|",
      ),
    );
    let asWritten = 0;
    const property = fc.asyncProperty(fc.array(parts, { minLength: 1, maxLength: 9 }), async (lines) => {
      const text = lines.join("");
      if (load(text).isOurs !== true || text === "") return;
      asWritten++;
      const io = memoryFileIo();
      io.put(memoryPath, text);
      const { store } = storeOn(io);
      await store.start();
      const key = parseKey("255.255.255.255");
      await store.commit([{ op: "create", key, values: udmEntry("::") }]);
      await store.commit([{ op: "delete", key }]);
      await store.stop();
      assert.equal(io.text(memoryPath), text);
    });
    await fc.assert(property, runs(400));
    assert.ok(asWritten > 1, `only ${asWritten} were`);
  });
});
