import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import * as fc from "fast-check";
import { checkMetadataFile, UdmError, type UdmEntry } from "../../src/metadata/index.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { memoryPath, plainEntries, readFileText, storeOn } from "../support/udm-store-fixture.ts";
import { runs } from "../support/runs.ts";

async function entriesOf(text: string | Uint8Array): Promise<UdmEntry[]> {
  return [...(await readFileText(text)).index.entries()];
}

/** The fields of the one entry of a file, those with zero values left out. */
async function fieldsOf(yaml: string): Promise<unknown> {
  const entries = await entriesOf(`10.0.0.1:\n${yaml}`);
  assert.equal(entries.length, 1);
  const { name, tags, vlan, internal, metadata, fileOnly } = entries[0] as UdmEntry;
  return {
    ...(name === "" ? {} : { name }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(vlan === 0n ? {} : { vlan }),
    ...(internal ? { internal } : {}),
    ...(metadata.size === 0 ? {} : { metadata: Object.fromEntries(metadata) }),
    ...(fileOnly === undefined ? {} : { fileOnly }),
  };
}

async function faultOf(text: string | Uint8Array): Promise<string> {
  const error: unknown = await readFileText(text).then(
    () => assert.fail("the file was read"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof UdmError, String(error));
  assert.equal(error.code, "unavailable");
  assert.match(error.message, /^\/memory\/ipaddrs\.yml:/);
  return error.message.slice("/memory/ipaddrs.yml:".length);
}

suite("what a metadata file may say", () => {
  test("a file as people write it", async () => {
    const entries = await entriesOf(
      [
        "\uFEFF# Sites\r\n---\r\n",
        "192.0.2.0/24:\r\n  internal: true\r\n",
        "192.0.2.192/26:\n  name: guest wifi # no one else\n  vlan: 1001\n  tags:\n  - wifi\n  - dhcp\n",
        "  metadata:\n    dhcp.pool.name: guests\n    .site.id: hq\n\n",
        "192.0.2.194-192.0.2.198: {metadata: {.floor: 2, .rack: 01}, tags: [a, 'b c']}\n",
        '"2001:db8::/32":\n2001:db8::1: {name: "v6"}\n...\n',
      ].join(""),
    );
    assert.deepEqual(plainEntries(entries), [
      { key: "192.0.2.0/24", name: "", tags: [], vlan: 0n, internal: true, metadata: [] },
      {
        key: "192.0.2.192/26",
        name: "guest wifi",
        tags: ["wifi", "dhcp"],
        vlan: 1001n,
        internal: false,
        metadata: [
          ["dhcp.pool.name", "guests"],
          [".site.id", "hq"],
        ],
      },
      {
        key: "192.0.2.194-192.0.2.198",
        name: "",
        tags: ["a", "b c"],
        vlan: 0n,
        internal: false,
        metadata: [
          [".floor", "2"],
          [".rack", "01"],
        ],
      },
      { key: "2001:db8::/32", name: "", tags: [], vlan: 0n, internal: false, metadata: [] },
      { key: "2001:db8::1", name: "v6", tags: [], vlan: 0n, internal: false, metadata: [] },
    ]);
  });

  const empty = [
    "",
    "\n",
    "# nothing yet\n",
    "---\n",
    "---\n...\n",
    "{}\n",
    "~",
    "null\n",
    "\uFEFF",
    "%YAML 1.1\n---\n",
  ];
  for (const text of empty) {
    test(`an empty database: ${JSON.stringify(text)}`, async () => {
      assert.deepEqual(await entriesOf(text), []);
    });
  }

  const readings: [title: string, yaml: string, fields: unknown][] = [
    ["an entry without values", "", {}],
    ["an empty mapping", "  {}", {}],
    [
      "null for every field",
      "  {name: ~, tags: null, vlan: , internal: Null, metadata: NULL, contexts: ~}",
      { fileOnly: { yaml: "  contexts: ~\n" } },
    ],
    [
      "scalars as they are spelt",
      "  {name: 01, tags: [1.10, 1e3, yes, 0x1F, 2001-12-14, .inf]}",
      { name: "01", tags: ["1.10", "1e3", "yes", "0x1F", "2001-12-14", ".inf"] },
    ],
    [
      "metadata values as they are spelt",
      "  metadata: {a: 1.50, b: true, c: ~, d: null, e: 'null', f: 1:30}",
      { metadata: { a: "1.50", b: "true", c: "", d: "", e: "null", f: "1:30" } },
    ],
    [
      "metadata keys as they are spelt",
      "  metadata: {1.10: a, yes: b, null: c, __proto__: d}",
      {
        metadata: Object.fromEntries([
          ["1.10", "a"],
          ["yes", "b"],
          ["null", "c"],
          ["__proto__", "d"],
        ]),
      },
    ],
    ["a tag that says string", "  {name: !!str ~, tags: [! null]}", { name: "~", tags: ["null"] }],
    ["a tag that says null", "  {name: !!null x}", {}],
    ["one tag for a list of tags", "  tags: wifi", { tags: ["wifi"] }],
    ["an empty tag in a list", "  tags:\n  -\n  - a", { tags: ["", "a"] }],
    ["the largest vlan", "  vlan: 18446744073709551615", { vlan: 18446744073709551615n }],
    ["a vlan beyond the doubles", "  vlan: 9007199254740993", { vlan: 9007199254740993n }],
    ["a quoted vlan", "  vlan: '12'", { vlan: 12n }],
    ["an empty vlan, as templates write it", "  {vlan: '', internal: ''}", {}],
    ["internal in the spelling of YAML 1.1", "  internal: Yes", { internal: true }],
    ["internal switched on, quoted", '  internal: "ON"', { internal: true }],
    ["internal off", "  internal: off", {}],
    ["a literal block", "  name: |-\n    two\n    lines\n", { name: "two\nlines" }],
    ["a folded block", "  name: >\n    one\n    line\n", { name: "one line\n" }],
    ["a text over two lines", "  name: one\n    line\n", { name: "one line" }],
    ["escapes", '  name: "\\x41\\u00e9\\U0001F600\\ud83d\\ude00\\t\\/"', { name: "Aé😀😀\t/" }],
    ["an alias", "  {name: &n core, tags: [*n, *n]}", { name: "core", tags: ["core", "core"] }],
    ["an anchor given again", "  tags: [&t a, *t, &t b, *t]", { tags: ["a", "a", "b", "b"] }],
    ["a mapping in the explicit form", "  ? name\n  : x\n  ? tags\n", { name: "x" }],
    ["a quoted <<, which merges nothing", '  metadata: {"<<": x}', { metadata: { "<<": "x" } }],
    [
      "contexts",
      "  contexts: [exporter, endpoint]",
      { fileOnly: { contexts: ["exporter", "endpoint"], yaml: "  contexts:\n    - exporter\n    - endpoint\n" } },
    ],
    ["one context", "  contexts: exporter", { fileOnly: { contexts: ["exporter"], yaml: "  contexts: exporter\n" } }],
    ["no contexts", "  contexts: []", { fileOnly: { yaml: "  contexts: []\n" } }],
    [
      "a context that is not known",
      "  contexts: [moon]",
      { fileOnly: { contexts: [], yaml: "  contexts:\n    - moon\n" } },
    ],
    [
      "unknown fields, of any shape",
      "  {owner: 01, 'x': {list: [{a: 1, b: [[], {}]}, ~, 'yes', yes], e: !local {t: !!str 5}}}",
      {
        fileOnly: {
          yaml: `  owner: 01
  "x":
    list:
      - a: 1
        b:
          - []
          - {}
      - ~
      - "yes"
      - yes
    e: !local
      t: !!str 5
`,
        },
      },
    ],
  ];
  for (const [title, yaml, fields] of readings) {
    test(title, async () => {
      assert.deepEqual(await fieldsOf(yaml), fields);
    });
  }

  test("a merge key: own values win, then the earlier mapping", async () => {
    const text = `
10.0.0.1: &site {name: one, vlan: 7, metadata: &m {.site: hq, floor: 1}, owner: x}
10.0.0.2: &tags {name: two, tags: [t]}
10.0.0.3:
  vlan: 9
  <<: [*site, *tags]
  metadata: {<<: *m, floor: 2}
`;
    const entry = (await entriesOf(text))[2] as UdmEntry;
    assert.deepEqual([entry.name, entry.tags, entry.vlan], ["one", ["t"], 9n]);
    assert.deepEqual(
      [...entry.metadata],
      [
        ["floor", "2"],
        [".site", "hq"],
      ],
    );
    assert.equal(entry.fileOnly?.yaml, "  owner: x\n");
  });

  test("the example of the documentation, without a warning", async () => {
    const page = await readFile(join(import.meta.dirname, "../../../docs/metadata.md"), "utf8");
    const example = /## The file\n[^]*?```yaml\n([^]*?)```/.exec(page)?.[1] ?? assert.fail("no example");
    const { index, lines } = await readFileText(example);
    assert.equal(index.size, 5);
    assert.deepEqual(
      lines.filter((line) => line.level !== "info"),
      [],
    );
  });

  test("keys in every spelling, in list order", async () => {
    const text =
      "::ffff:10.0.0.2:\n1:2:3:4:5:6:7:8:\n'2001:DB8:0::1/64':\n? 10.0.0.9/8\n: name: host bits\n10.0.0.1: {}\n";
    const entries = await entriesOf(text);
    assert.deepEqual(
      entries.map((entry) => entry.key.text),
      ["10.0.0.9/8", "10.0.0.1", "10.0.0.2", "1:2:3:4:5:6:7:8", "2001:db8::1/64"],
    );
  });

  test("of a key as IPv4 and as IPv4-mapped addresses the IPv4 key is used, and a warning names both places", async () => {
    const text =
      '"::ffff:10.0.0.1": {name: mapped}\n10.0.0.1: {name: plain}\n' +
      '10.0.0.0/8: {name: plain net}\n"::ffff:10.0.0.0/104": {name: mapped net}\n"::ffff:a00:2": {name: alone}\n';
    const { index, lines } = await readFileText(text);
    assert.deepEqual(
      Array.from(index.entries(), ({ key, name }) => [key.text, name]),
      [
        ["10.0.0.0/8", "plain net"],
        ["10.0.0.1", "plain"],
        ["10.0.0.2", "alone"],
      ],
    );
    const warnings = lines.flatMap(({ level, message }) => (level === "warn" ? [message] : []));
    const sentence = (place: string, written: string, key: string, other: string): string =>
      `${memoryPath}:${place}: key "${written}" is the key ${key} at ${other}: that entry is used, this one is not`;
    const expected = [
      sentence("1:1", "::ffff:10.0.0.1", "10.0.0.1", "line 2, column 1"),
      sentence("4:1", "::ffff:10.0.0.0/104", "10.0.0.0/8", "line 3, column 1"),
    ];
    assert.deepEqual(warnings, expected);
    const { findings, entries } = checkMetadataFile(Buffer.from(text));
    assert.equal(entries.length, 3);
    assert.deepEqual(
      findings.map(({ severity, line, message }) => `${severity} ${line} ${message}`),
      expected.map((one, i) => `warning ${i === 0 ? 1 : 4} ${one.replace(/^.*?:\d+:\d+: /, "")}`),
    );
    await assert.rejects(readFileText('"::ffff:10.0.0.1": {}\n"::ffff:a00:1": {}\n'), /:2:1: .*is given twice/);
  });

  test("an entry of the file that holds more than a request may say is used, with a warning; writes may make it less only", async () => {
    const pairs = Array.from({ length: 2000 }, (_, i) => `k${i}: v`).join(", ");
    const io = memoryFileIo();
    io.put(memoryPath, `10.0.0.1: {metadata: {${pairs}}}\n10.0.0.2: {name: "a\\u202Eb"}\n`);
    const { store, lines } = storeOn(io);
    await store.start();
    const { key, metadata } = [...store.current().entries()][0] as UdmEntry;
    assert.equal(metadata.size, 2000);
    const problems = lines.flatMap(({ fields }) => (fields?.["problems"] as string[] | undefined) ?? []);
    assert.deepEqual(problems, [
      "the 2000 metadata keys are more than 1024",
      String.raw`name "a\u202eb" has a character that is not seen, or turns the text round (U+202E)`,
    ]);
    const values = { name: "n", tags: [], vlan: 0n, internal: false, metadata: new Map([...metadata, ["more", "v"]]) };
    await assert.rejects(store.commit([{ op: "update", key, values }]), /the 2001 metadata keys of key "10\.0\.0\.1"/);
    await store.commit([{ op: "update", key, values, fields: ["name"] }]);
    await store.commit([{ op: "update", key, values: { ...values, metadata: new Map([...metadata].slice(1)) } }]);
    await store.stop();
  });

  test("softer rules are warned of, entry by entry up to a number, and counted", async () => {
    const long = `10.0.0.1: {name: "${"x".repeat(256)}", tags: ["a\\tb"]}\n10.0.0.2: {contexts: [moon]}\n`;
    const many = Array.from({ length: 30 }, (_, i) => `10.1.0.${i}: {metadata: {"a b": c}}\n`).join("");
    const { index, lines } = await readFileText(long + many);
    assert.equal(index.size, 32);
    const warnings = lines.filter((line) => line.level === "warn");
    assert.equal(warnings.length, 21);
    assert.equal(warnings[0]?.fields["key"], "10.0.0.1");
    assert.equal((warnings[0]?.fields["problems"] as string[] | undefined)?.length, 2);
    assert.equal(warnings[20]?.fields["more"], 12);
  });

  test("names of unknown fields are warned of once", async () => {
    const { lines } = await readFileText("10.0.0.1: {nmae: a}\n10.0.0.2: {nmae: b, owner: c}\n");
    const warnings = lines.filter((line) => line.level === "warn");
    assert.deepEqual(
      warnings.map((line) => line.fields["fields"]),
      [{ nmae: 2, owner: 1 }],
    );
  });
});

suite("what a metadata file may not say", () => {
  const faults: [text: string, message: string][] = [
    ["a: b\n", '1:1: key "a" is not an IP address, a CIDR or a range <from>-<to>'],
    ["# x\r\n10.0.0.1:\r\n10.20: {}\r\n", '3:1: key "10.20" is not an IP address'],
    ["10:20: {}\n", '1:1: key "10:20" is not an IP address'],
    ["010.0.0.1: {}", '1:1: key "010.0.0.1" is not an IP address'],
    ["fe80::1%eth0: {}", '1:1: key "fe80::1%eth0" is not an IP address'],
    ["<<: {10.0.0.1: {}}", '1:1: key "<<" is not an IP address'],
    [": {}", '1:1: key "" is empty'],
    ["10.0.0.1: {}\n10.0.0.1: {}\n", '2:1: key "10.0.0.1" is given twice, first at line 1, column 1'],
    ["2001:db8::: {}\n'2001:DB8::0': {}\n", '2:1: key "2001:DB8::0" is given twice, first at line 1, column 1'],
    ["[10.0.0.1]: {}", "1:1: a key must be a scalar"],
    ["10.0.0.1: {{a: b}: c}", "1:12: a key must be a scalar"],
    ["- 10.0.0.1\n", "1:1: expected a mapping from keys (IP, CIDR or range) to entries"],
    ["hello\n", "1:1: expected a mapping"],
    ["10.0.0.1: {}\n---\n10.0.0.2: {}\n", "3:1: a second document: the file must hold one"],
    ["%TAG !e! tag:example.com,2000:\n---\n10.0.0.1: {}\n", "1:1: the %TAG directive is not supported"],
    ["10.0.0.1: hello\n", "1:11: the entry of 10.0.0.1 must be a mapping"],
    ["10.0.0.1: []\n", "1:11: the entry of 10.0.0.1 must be a mapping"],
    ["10.0.0.1:\n  name: [a]\n", "2:9: name must be a text, not a list"],
    ["10.0.0.1:\n  name: !!binary aGk=\n", "2:9: name has the tag !!binary"],
    ["10.0.0.1:\n  name: a\n  vlan: 1\n  'name': b\n", '4:3: key "name" is given twice, first at line 2, column 3'],
    ["10.0.0.1:\n  tags: {a: b}\n", "2:9: tags must be a list, not a mapping"],
    ["10.0.0.1:\n  tags: [a, [b]]\n", "2:13: tags[1] must be a text, not a list"],
    ["10.0.0.1: {vlan: 0x10}", '1:18: vlan must be a decimal integer from 0 to 18446744073709551615, not "0x10"'],
    ["10.0.0.1: {vlan: 010}", "1:18: vlan must be a decimal integer"],
    ["10.0.0.1: {vlan: -1}", "1:18: vlan must be a decimal integer"],
    ["10.0.0.1: {vlan: 1e3}", "1:18: vlan must be a decimal integer"],
    ["10.0.0.1: {vlan: 18446744073709551616}", "1:18: vlan must be a decimal integer"],
    ["10.0.0.1: {internal: 1}", '1:22: internal must be true or false, not "1"'],
    ["10.0.0.1:\n  metadata: [a]\n", "2:13: metadata must be a mapping, not a list"],
    ["10.0.0.1:\n  metadata:\n    site: {id: 1}\n", '3:11: metadata["site"] must be a text, not a mapping'],
    ["10.0.0.1:\n  metadata: {a: 1, a: 2}\n", '2:20: key "a" is given twice, first at line 2, column 14'],
    ["10.0.0.1: {contexts: {a: b}}", "1:22: contexts must be a list, not a mapping"],
    ["10.0.0.1: {<<: x}", "1:12: << must merge a mapping or a list of mappings"],
    ["10.0.0.1: {name: *x}", "1:18: alias *x has no anchor before it"],
    ["10.0.0.1: {x: &x [*x]}", "1:19: alias *x stands inside the node that it names"],
    ['10.0.0.1: {name: "\\ud800"}', "1:18: the escapes make an unpaired surrogate"],
    ["10.0.0.1:\n\tname: a\n", "2:"],
    ["10.0.0.1: {name: a\n", "2:"],
    ["10.0.0.1:\n  name: 'a\n", "3:"],
    ["10.0.0.1:\n  name: a: b\n", "2:"],
    ["10.0.0.1:\n  name: a\n bad: b\n", "3:"],
    ['10.0.0.1: {name: "a\\qb"}\n', "1:"],
    ["10.0.0.1: {name: a\u0000b}\n", "1:"],
    ["10.0.0.1: {name: \u0007}\n", "1:"],
    ["10.0.0.1: {😀: 日, name: [a]}", "1:24: name must be a text"],
  ];
  for (const [text, message] of faults) {
    test(`${JSON.stringify(text)}: ${message}`, async () => {
      const fault = await faultOf(text);
      assert.ok(fault.startsWith(message), fault);
    });
  }

  test("bytes that are not UTF-8, told from a replacement character that is written", async () => {
    const text = Buffer.concat([Buffer.from("10.0.0.1: {name: \uFFFD}\n10.0.0.2: {name: "), Buffer.from([0xe9, 0x7d])]);
    assert.equal(await faultOf(text), "2:18: the file is not UTF-8 here");
  });

  test("UTF-16", async () => {
    const fault = "1:1: the file is UTF-16, it must be UTF-8";
    assert.equal(await faultOf(Buffer.from("\uFEFF10.0.0.1: {}", "utf16le")), fault);
    assert.equal(await faultOf(Buffer.from("\uFEFF10.0.0.1: {}", "utf16le").swap16()), fault);
  });

  test("aliases that stand for far more than the text", async () => {
    const levels = Array.from(
      { length: 12 },
      (_, i) =>
        `  l${i}: &l${i} [${Array(10)
          .fill(i === 0 ? "x" : `*l${i - 1}`)
          .join(", ")}]\n`,
    );
    assert.match(
      await faultOf(`10.0.0.1:\n${levels.join("")}`),
      /^\d+:\d+: alias \*l\d+ makes the file too large: its aliases stand for more than ten times its text$/,
    );
  });

  test("deep nesting, as written and by aliases", async () => {
    assert.match(await faultOf(`10.0.0.1: {x: ${"[".repeat(60)}${"]".repeat(60)}}`), /nested deeper than 50 levels$/);
    assert.match(await faultOf(`10.0.0.1: {x: ${"[".repeat(100_000)}`), /^1:\d+: nesting exceeded/);
    const levels = Array.from({ length: 60 }, (_, i) => `  l${i}: &l${i} [${i === 0 ? "x" : `*l${i - 1}`}]\n`);
    assert.match(await faultOf(`10.0.0.1:\n${levels.join("")}`), /nested deeper than 50 levels$/);
  });

  test("any text is read or refused with a place", async () => {
    const pieces = [
      [
        "10.0.0.1",
        "::1",
        ":",
        ": ",
        "\n",
        "\n  ",
        "\n    ",
        "- ",
        "? ",
        "{",
        "}",
        "[",
        "]",
        ", ",
        "name",
        "tags",
        "vlan",
      ],
      [
        "metadata",
        "internal",
        "contexts",
        "&a ",
        "*a",
        "!!str ",
        "!x ",
        "<<",
        "|",
        ">",
        "'",
        '"',
        "#",
        " ",
        "\t",
        "---\n",
      ],
      ["...\n", "%YAML 1.2\n", "true", "7", "\r\n", "\\", "~", "\uFEFF", "a", "é"],
    ].flat();
    const piece = fc.constantFrom(...pieces);
    const property = fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (chosen) => {
      const text = chosen.join("");
      const error: unknown = await readFileText(text).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error !== undefined) assert.match((error as Error).message, /^\/memory\/ipaddrs\.yml:\d+:\d+: ./);
    });
    await fc.assert(property, runs(120));
  });
});
