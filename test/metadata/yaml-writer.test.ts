import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { CORE_SCHEMA, FAILSAFE_SCHEMA, JSON_SCHEMA, load, realMapTag, YAML11_SCHEMA, type Schema } from "js-yaml";
import { parse } from "yaml";
import { parseKey } from "../../src/base/ip/index.ts";
import type { UdmEntry, UdmWrite } from "../../src/metadata/index.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { memoryPath, plainEntries, readFileText, storeOn } from "../support/udm-store-fixture.ts";
import { anyValues, trickyKeys, trickyTexts } from "../support/udm-write-arbitrary.ts";
import { runs } from "../support/runs.ts";

/** The file after entries were created in the store, over a file with this content. */
async function fileWith(entries: readonly UdmEntry[], before?: string): Promise<string> {
  const io = memoryFileIo();
  if (before !== undefined) io.put(memoryPath, before);
  const { store } = storeOn(io);
  await store.start();
  const writes = entries.map((values): UdmWrite => ({ op: "create", key: values.key, values }));
  // Deleting what was made first forces a save even without entries.
  const extra = parseKey("255.255.255.255");
  await store.commit([{ op: "create", key: extra, values: udmEntry("::") }]);
  await store.commit([...writes, { op: "delete", key: extra }]);
  await store.stop();
  return io.text(memoryPath) ?? "";
}

suite("the file that is written", () => {
  test("is plain block YAML in list order, without zero values", async () => {
    const text = await fileWith([
      udmEntry("2001:db8::/32", { name: "v6" }),
      udmEntry("192.0.2.194-192.0.2.198", { metadata: { ".site.bldg.id": "hq", floor: "2", note: "two\nlines" } }),
      udmEntry("192.0.2.0/24", {
        name: "Zürich guest wifi",
        tags: ["wifi", "no", "a: b"],
        vlan: 18446744073709551615n,
        internal: true,
      }),
      udmEntry("192.0.2.1"),
    ]);
    assert.equal(
      text,
      `192.0.2.0/24:
  name: Zürich guest wifi
  tags:
    - wifi
    - "no"
    - "a: b"
  vlan: 18446744073709551615
  internal: true
192.0.2.1: {}
192.0.2.194-192.0.2.198:
  metadata:
    .site.bldg.id: hq
    floor: "2"
    note: "two\\nlines"
"2001:db8::/32":
  name: v6
`,
    );
  });

  test("is an empty mapping when there are no entries", async () => {
    assert.equal(await fileWith([]), "{}\n");
  });

  test("quotes what some reader would take for something else", async () => {
    const plain = [
      "wifi",
      "a b",
      "x-1",
      "a.b",
      "core/edge",
      "user@host",
      "a (old)",
      "_x",
      ".site.id",
      "Zürich",
      "日本",
    ];
    const quoted = [
      "1",
      "1.5",
      ".5",
      ".inf",
      "e0",
      "E12345678",
      "._e5",
      "0x1F",
      "1:20",
      "10.0.0.1",
      "yes",
      "Off",
      "y",
      "null",
      "~",
      "",
      " a",
      "a ",
      "a  b",
    ];
    const signs = [
      "a: b",
      "a:b",
      "a #b",
      "#a",
      "- a",
      "-",
      "*a",
      "&a",
      "!a",
      "|",
      "'a",
      '"',
      "\\",
      "%a",
      "<<",
      "=",
      "[a]",
      "a,b",
    ];
    const tags = [...plain, ...quoted, ...signs];
    const text = await fileWith([udmEntry("10.0.0.1", { tags })]);
    const written = text.split("\n").slice(2, -1);
    assert.deepEqual(
      written.map((line, i) => line === `    - ${tags[i]}`),
      tags.map((_, i) => i < plain.length),
    );
  });

  test("escapes what one does not see", async () => {
    const text = await fileWith([udmEntry("10.0.0.1", { name: '\t\u0085\u2028\u200b\ufeff\u{e0001}"\\é😀' })]);
    assert.equal(text.split("\n")[1], '  name: "\\t\\x85\\u2028\\u200B\\uFEFF\\U000E0001\\"\\\\é😀"');
  });

  test("keeps what only the file knows, through an update that replaces all values", async () => {
    const before = `10.0.0.1:
  # a comment goes
  contexts: [ exporter ]
  name: old
  owner: {team: 'net', since: 2020-01-01, ids: [01, *n]}
  note: |
    two
    lines
10.0.0.2: {x: 1}
`.replace("*n", "&n 7, *n");
    const io = memoryFileIo();
    io.put(memoryPath, before);
    const { store } = storeOn(io);
    await store.start();
    const values = udmEntry("::", { name: "new" });
    const [entry] = await store.commit([
      { op: "update", key: parseKey("10.0.0.1"), values },
      { op: "delete", key: parseKey("10.0.0.2") },
    ]);
    assert.deepEqual(entry?.fileOnly?.contexts, ["exporter"]);
    await store.commit([{ op: "create", key: parseKey("10.0.0.2"), values }]);
    await store.stop();
    assert.equal(
      io.text(memoryPath),
      `10.0.0.1:
  name: new
  contexts:
    - exporter
  owner:
    team: "net"
    since: 2020-01-01
    ids:
      - 01
      - 7
      - 7
  note: "two\\nlines\\n"
10.0.0.2:
  name: new
`,
    );
  });

  const anyEntries = fc
    .uniqueArray(
      denseKeyText.map((text) => parseKey(text)),
      { selector: (key) => key.text, maxLength: 5 },
    )
    .chain((keys) =>
      fc.tuple(...keys.map((key) => anyValues.map((values): UdmEntry => Object.assign({ key }, values)))),
    );

  test("reads back as what was written", async () => {
    const property = fc.asyncProperty(anyEntries, async (entries) => {
      const text = await fileWith(entries);
      const { index } = await readFileText(text);
      assert.equal(index.size, entries.length);
      const byKey = (entry: UdmEntry): unknown => plainEntries([entry])[0];
      for (const entry of entries) assert.deepEqual(byKey(index.get(entry.key) as UdmEntry), byKey(entry));
    });
    await fc.assert(property, runs(50));
  });

  const schemas: Record<string, Schema> = {
    "YAML 1.2 core": CORE_SCHEMA,
    "YAML 1.1": YAML11_SCHEMA,
    JSON: JSON_SCHEMA,
    failsafe: FAILSAFE_SCHEMA,
  };
  for (const [name, schema] of Object.entries(schemas)) {
    test(`reads the same in the ${name} schema`, async () => {
      const withMaps = schema.withTags(realMapTag);
      const property = fc.asyncProperty(anyEntries, async (entries) => {
        const file = load(await fileWith(entries), { schema: withMaps }) as Map<string, Map<string, unknown>>;
        assert.equal(file.size, entries.length);
        for (const { key, ...values } of entries) {
          const fields = file.get(key.text) ?? assert.fail(`no ${key.text}`);
          assert.equal(fields.get("name") ?? "", values.name);
          assert.deepEqual(fields.get("tags") ?? [], values.tags);
          assert.deepEqual(fields.get("metadata") ?? new Map(), values.metadata);
          assert.equal(fields.get("internal")?.toString() ?? "false", String(values.internal));
          assert.equal(Number(fields.get("vlan") ?? 0), Number(values.vlan));
        }
      });
      await fc.assert(property, runs(30));
    });
  }

  for (const version of ["1.1", "1.2"] as const) {
    test(`reads the same in another library, as YAML ${version}`, async () => {
      const options = { version, mapAsMap: true, uniqueKeys: true, strict: true } as const;
      const same = async (entries: readonly UdmEntry[]): Promise<void> => {
        const text = await fileWith(entries);
        const file = parse(text, options) as Map<string, Map<string, unknown>>;
        assert.deepEqual([...file.keys()].sort(), entries.map(({ key }) => key.text).sort());
        for (const { key, ...values } of entries) {
          const fields = file.get(key.text) ?? assert.fail(`no ${key.text}`);
          assert.equal(fields.get("name") ?? "", values.name, text);
          assert.deepEqual(fields.get("tags") ?? [], values.tags, text);
          assert.deepEqual(fields.get("metadata") ?? new Map(), values.metadata, text);
          assert.equal(fields.get("internal") ?? false, values.internal, text);
        }
      };
      await same(trickyKeys.map((key) => udmEntry(key)));
      for (const text of trickyTexts)
        await same([udmEntry("10.0.0.1", { name: text, tags: [text], metadata: { [text]: text } })]);
      await fc.assert(fc.asyncProperty(anyEntries, same), runs(30));
    });
  }

  test("gives unknown fields back as they mean, whatever they hold", async () => {
    const schema = FAILSAFE_SCHEMA.withTags(realMapTag);
    const scalar = fc.oneof(
      fc.constantFrom(
        "~",
        "01",
        "yes",
        "'yes'",
        '"a\\tb"',
        "a b",
        "!!str 7",
        "!x y",
        "2001-12-14",
        "-1",
        "http://x/#y",
        "a:b",
      ),
      fc.string({ unit: "grapheme", maxLength: 6 }).map((text) => JSON.stringify(text)),
    );
    const { node } = fc.letrec<{ node: string }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 3 },
        scalar,
        fc.array(tie("node"), { maxLength: 3 }).map((items) => `[${items.join(", ")}]`),
        fc
          .uniqueArray(
            fc.tuple(
              scalar.filter((key) => !key.startsWith("!")),
              tie("node"),
            ),
            { maxLength: 3, selector: ([key]) => load(key, { schema }) },
          )
          .map((pairs) => `{${pairs.map(([key, value]) => `? ${key} : ${value}`).join(", ")}}`),
      ),
    }));
    const property = fc.asyncProperty(node, async (yaml) => {
      // Tags of one's own say nothing to the other reader; quotes do not count in its schema.
      const before = `10.0.0.1: {x: ${yaml}}`;
      const after = await fileWith([], before);
      const plain = (text: string): unknown => load(text.replaceAll("!x ", "").replaceAll("!!str ", ""), { schema });
      assert.deepEqual(plain(after), plain(before));
      assert.equal(await fileWith([], after), after);
    });
    await fc.assert(property, runs(50));
  });
});
