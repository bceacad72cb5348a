// The fast reader says what the library's reader says, or nothing.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { compareKeys, parseKey } from "../../src/ip/index.ts";
import {
  createPlainReader,
  createSharedIndex,
  loadState,
  UdmError,
  Unfamiliar,
  type UdmEntry,
  type UdmIndex,
} from "../../src/udm/index.ts";
import { YamlFault } from "../../src/yaml/index.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { memoryPath, plainEntries, readFileText, storeOn } from "../support/udm-store-fixture.ts";
import { anyValues } from "../support/udm-write-arbitrary.ts";
import { runs } from "../support/runs.ts";

interface Read {
  readonly entries: readonly UdmEntry[];
  readonly isAsWritten: boolean;
}

/** @returns undefined when the reader gives up. */
function readPlain(text: string): Read | undefined {
  const bytes = Buffer.from(text);
  const reader = createPlainReader(bytes);
  const entries: UdmEntry[] = [];
  try {
    for (let some = reader.read(3); some.length > 0; some = reader.read(3)) {
      for (const one of some) entries.push(one.entry);
    }
  } catch (error) {
    if (!(error instanceof Unfamiliar)) throw error;
    return undefined;
  }
  return { entries, isAsWritten: reader.isAsWritten() };
}

/** A directive that changes nothing keeps the fast reader off. */
async function readByLibrary(text: string): Promise<unknown> {
  try {
    const { index } = await readFileText(`%YAML 1.2\n---\n${text}`);
    return plainEntries(index.entries());
  } catch (error) {
    if (error instanceof UdmError) return error.message;
    throw error;
  }
}

async function written(entries: readonly UdmEntry[]): Promise<string> {
  const io = memoryFileIo();
  const { store } = storeOn(io);
  await store.start();
  await store.commit(entries.map((values) => ({ op: "create", key: values.key, values })));
  await store.stop();
  return io.text(memoryPath) ?? "";
}

const shared = createSharedIndex({ maxEntries: 10_000 });

/** What is built straight from the bytes: all that the file says, or why it cannot be used. */
async function load(text: string): Promise<{ entries: unknown; texts?: string; isOurs?: boolean }> {
  const loan = shared.lend();
  try {
    const { built, isOurs, size } = await loadState(loan, Buffer.from(text));
    assert.ok(built !== undefined);
    const index = shared.adopt(loan, built);
    const entries = plainEntries(index.entries());
    assert.equal(size, entries.length);
    for (const { key } of index.entries()) assert.equal(index.get(key)?.key.text, key.text);
    const texts = renderedTexts(index);
    shared.release(index);
    return { entries, texts, isOurs };
  } catch (error) {
    shared.takeBack(loan);
    if (!(error instanceof YamlFault)) throw error;
    return { entries: `${memoryPath}:${error.position.line}:${error.position.column}: ${error.message}` };
  }
}

/** The JSON and the YAML of each entry, as they are kept rendered. */
function renderedTexts(index: UdmIndex): string {
  const text = (kind: "json" | "yaml"): string => Buffer.concat([...index.render("all", kind, "\n", 4096)]).toString();
  return text("json") + text("yaml");
}

/** Whether both say the same where the fast one says something; what is loaded from bytes always does. */
async function agree(text: string): Promise<boolean> {
  const fast = readPlain(text);
  // The library reads slowly, and what is left to it is so as a whole.
  if (fast === undefined && text.length % 4 !== 0) return false;
  const loaded = await load(text);
  if (fast === undefined) {
    const slow = await readFileText(text).then(
      ({ index }) => plainEntries(index.entries()),
      (error: Error) => error.message,
    );
    assert.deepEqual(loaded.entries, slow, JSON.stringify(text));
    return false;
  }
  const inOrder = fast.entries.toSorted((a, b) => compareKeys(a.key, b.key));
  const builder = shared.builder();
  for (const entry of fast.entries) builder.add(entry);
  const model = builder.finish(1);
  const texts = renderedTexts(model);
  shared.release(model);
  assert.deepEqual(loaded, { entries: plainEntries(inOrder), texts, isOurs: fast.isAsWritten }, JSON.stringify(text));
  const slow = await readByLibrary(text);
  const byKey = (entries: unknown[]): Map<unknown, unknown> =>
    new Map(entries.map((entry) => [(entry as { key: string }).key, entry]));
  assert.ok(Array.isArray(slow), `${JSON.stringify(text)} was read, though ${String(slow)}`);
  assert.deepEqual(byKey(plainEntries(fast.entries)), byKey(slow), JSON.stringify(text));
  assert.equal(fast.entries.length, slow.length);
  return true;
}

suite("the fast reader of metadata files", () => {
  const cases = [
    "10.0.0.1: {}\n",
    "# c\n---\n\n10.0.0.0/8:\n    name: a b  # who\n    tags: [ a, 'b c', \"d\" ]\n    vlan: '7'\n2001:db8::1:\n  internal: yes\n",
    "10.0.0.1:\n  tags:\n  - a\n  - b\n  metadata:\n      a: ~\n      b:\n      .c: 'it''s'\n  x: 1\n  contexts: [exporter]\n",
    'fe80::1:\n  name: "a\\tb\\x85"\n',
    "10.0.0.2:\n10.0.0.1:\n  name:\n  tags:\n  metadata:\n",
    "10.0.0.1:\n  owner: 01\n  ids:\n    - 01\n    - null\n",
    "{}\n",
    "",
  ];
  for (const text of cases) {
    test(`reads ${JSON.stringify(text)}`, async () => {
      assert.ok(await agree(text));
    });
  }

  const unfamiliar = [
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
  for (const text of unfamiliar) {
    test(`gives up on ${JSON.stringify(text)}`, () => {
      assert.equal(readPlain(text), undefined);
    });
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

  test("reads all that is written but very long keys, and knows that it was written", async () => {
    const property = fc.asyncProperty(anyEntries, async (entries) => {
      const text = await written(entries.map((entry) => Object.assign(udmEntry("::"), entry, { fileOnly: undefined })));
      const isLong = entries.some((entry) => [...entry.metadata.keys()].some((key) => key.length > 150));
      const read = readPlain(text);
      assert.ok(read !== undefined || isLong, text);
      if (read === undefined) return;
      assert.ok(read.isAsWritten, text);
      assert.ok(await agree(text));
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
      fc.string({ unit: fc.constantFrom(..." #:-,[]{}'\"\\ab0~&*!|>%@.\té"), maxLength: 6 }),
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
    const property = fc.asyncProperty(fc.array(entry, { maxLength: 3 }), async (entries) => {
      if (await agree(entries.join(""))) read++;
    });
    await fc.assert(property, runs(200));
    assert.ok(read > 20, `only ${read} were read`);
  });

  test("agrees with the library on written text with bytes changed, lost and doubled", async () => {
    const change = fc.record({
      at: fc.nat(),
      kind: fc.constantFrom("replace", "insert", "remove", "double"),
      text: fc.constantFrom(..." \n:#-,[]{}'\"\\a0~&*!|>%@.\té", "\n  ", ": ", " #", "\n\n", "  "),
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
        if (await agree(text)) read++;
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
      const read = readPlain(text);
      if (read !== undefined) assert.equal((await load(text)).isOurs, read.isAsWritten, text);
      if (read?.isAsWritten !== true || text === "") return;
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
