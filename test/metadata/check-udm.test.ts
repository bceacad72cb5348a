import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  checkUdm,
  checkValues,
  maxViolations,
  udmFields,
  type FieldViolation,
  type UdmField,
  type UdmInput,
} from "../../src/metadata/index.ts";
import { runs } from "../support/runs.ts";
import { anyCharacter } from "../support/any-character.ts";

const empty: UdmInput = { key: "10.0.0.1", name: "", tags: [], vlan: 0n, internal: false, metadata: [] };

test("an entry that keeps the rules comes back with its key parsed and its values as sent", () => {
  const tags = ["core", "core", " spaced ", "日本", "😀".repeat(255), "x"];
  const metadata: [string, string][] = [
    [".site.id", "ams1"],
    ["tenant", ""],
    ["__proto__", "ordinary"],
    ["constructor", "ordinary"],
    [".0", "number"],
    ["k".repeat(255), "v".repeat(4096)],
    ["äö.ü-_:/", " value with blanks "],
  ];
  const input = { key: "2001:DB8::0/64", name: "n".repeat(255), tags, vlan: 2n ** 64n - 1n, internal: true, metadata };
  const check = checkUdm(input);
  assert.ok(check.ok);
  assert.equal(check.key.text, "2001:db8::/64");
  assert.deepEqual(check.values, {
    name: input.name,
    tags,
    vlan: 2n ** 64n - 1n,
    internal: true,
    metadata: new Map(metadata),
  });
});

/** What is sent besides a good key, and the field and description of the one violation. */
const broken: readonly (readonly [Partial<UdmInput>, string, string])[] = [
  [{ key: "" }, "key", 'key "" is empty: expected an IP address, a CIDR or a range <from>-<to>'],
  [{ key: "10.0.0.1/33" }, "key", 'key "10.0.0.1/33" is not a CIDR: the prefix length must be 0 to 32'],
  [{ name: "n".repeat(256) }, "name", `name "${"n".repeat(128)}…" is longer than 255 characters`],
  [{ name: "😀".repeat(256) }, "name", `name "${"😀".repeat(128)}…" is longer than 255 characters`],
  [{ name: "a\nb" }, "name", String.raw`name "a\nb" contains a control character`],
  [{ name: "a\x00" }, "name", String.raw`name "a\u0000" contains a control character`],
  [{ name: "\x9b" }, "name", String.raw`name "\u009b" contains a control character`],
  [{ name: "\ud83d" }, "name", String.raw`name "\ud83d" contains half of a surrogate pair`],
  [{ tags: ["a", ""] }, "tags[1]", 'tag "" is empty'],
  [{ tags: ["a", "b", "\t"] }, "tags[2]", String.raw`tag "\t" contains a control character`],
  [{ tags: ["t".repeat(256)] }, "tags[0]", `tag "${"t".repeat(128)}…" is longer than 255 characters`],
  [{ tags: ["\udc00x"] }, "tags[0]", String.raw`tag "\udc00x" contains half of a surrogate pair`],
  [{ vlan: -1n }, "vlan", 'vlan "-1" is not an unsigned 64-bit integer'],
  [{ vlan: 2n ** 64n }, "vlan", 'vlan "18446744073709551616" is not an unsigned 64-bit integer'],
  [{ metadata: [["", "x"]] }, 'metadata[""]', 'metadata key "" is empty'],
  [{ metadata: [[".", "x"]] }, 'metadata["."]', 'metadata key "." has an empty part between dots'],
  [{ metadata: [["..a", "x"]] }, 'metadata["..a"]', 'metadata key "..a" has an empty part between dots'],
  [{ metadata: [["a.", "x"]] }, 'metadata["a."]', 'metadata key "a." has an empty part between dots'],
  [{ metadata: [[".a..b", "x"]] }, 'metadata[".a..b"]', 'metadata key ".a..b" has an empty part between dots'],
  [{ metadata: [["a b", "x"]] }, 'metadata["a b"]', 'metadata key "a b" contains white space'],
  [{ metadata: [["a\u00a0b", "x"]] }, 'metadata["a\u00a0b"]', 'metadata key "a\u00a0b" contains white space'],
  [
    { metadata: [["a\u2028", "x"]] },
    String.raw`metadata["a\u2028"]`,
    String.raw`metadata key "a\u2028" contains white space`,
  ],
  [
    { metadata: [["a\n", "x"]] },
    String.raw`metadata["a\n"]`,
    String.raw`metadata key "a\n" contains a control character`,
  ],
  [
    { metadata: [["k".repeat(256), "x"]] },
    `metadata["${"k".repeat(128)}…"]`,
    `metadata key "${"k".repeat(128)}…" is longer than 255 characters`,
  ],
  [
    { metadata: [["a", "v".repeat(4097)]] },
    'metadata["a"]',
    `value "${"v".repeat(128)}…" of metadata key "a" is longer than 4096 characters`,
  ],
  [
    { metadata: [["a", "\x7f"]] },
    'metadata["a"]',
    String.raw`value "\u007f" of metadata key "a" contains a control character`,
  ],
  [
    {
      metadata: [
        ["a", "x"],
        ["a", "x"],
      ],
    },
    'metadata["a"]',
    'metadata key "a" appears twice',
  ],
];

test("a broken rule is named with its field and the value", () => {
  for (const [values, field, description] of broken) {
    const check = checkUdm({ ...empty, ...values });
    assert.deepEqual(check, { ok: false, violations: [{ field, description }] });
  }
});

test("an entry holds 1024 tags, 1024 metadata keys and 64 KiB of texts at most; the refusal names the entry and the field", () => {
  const tags = (count: number, length = 1): string[] => Array.from({ length: count }, () => "t".repeat(length));
  const pairs = (count: number, length = 1): [string, string][] =>
    Array.from({ length: count }, (_, i) => [`k${i}`, "v".repeat(length)]);
  for (const values of [{ tags: tags(1024) }, { metadata: pairs(1024) }, { metadata: pairs(15, 4096) }]) {
    assert.ok(checkUdm({ ...empty, ...values }).ok);
  }
  const refused: [Partial<UdmInput>, string, string][] = [
    [{ tags: tags(1025) }, "tags", 'the 1025 tags of key "10.0.0.1" are more than 1024'],
    [{ metadata: pairs(1_000_000, 0) }, "metadata", 'the 1000000 metadata keys of key "10.0.0.1" are more than 1024'],
    [{ tags: tags(400, 200) }, "tags", 'the texts of the entry of key "10.0.0.1" take 80000 bytes, more than 65536'],
    [
      { tags: ["t"], metadata: pairs(17, 4096) },
      "metadata",
      'the texts of the entry of key "10.0.0.1" take 69674 bytes, more than 65536',
    ],
  ];
  for (const [values, field, description] of refused) {
    assert.deepEqual(checkUdm({ ...empty, ...values }), { ok: false, violations: [{ field, description }] });
  }
  assert.ok(
    checkUdm({ ...empty, tags: tags(1025) }, ["name"]).ok,
    "a field that the mask does not name counts for nothing",
  );
});

test("all violations of an entry are listed, in the order of its fields", () => {
  assert.deepEqual(
    fields({
      key: "router",
      name: "\n",
      tags: ["", "good", "\n"],
      vlan: -1n,
      internal: true,
      metadata: [
        ["a b", "\n"],
        ["good", "good"],
        ["", ""],
      ],
    }),
    ["key", "name", "tags[0]", "tags[2]", "vlan", 'metadata["a b"]', 'metadata["a b"]', 'metadata[""]'],
  );
});

test("a flood of violations is cut", () => {
  const check = checkUdm({ ...empty, tags: Array<string>(1000).fill("") });
  assert.ok(!check.ok);
  assert.equal(check.violations.length, maxViolations);
  assert.equal(fields({ ...empty, key: "", tags: Array<string>(200).fill("") }).length, maxViolations);
});

test("only the fields of the mask are looked at, and only they come back", () => {
  const input: UdmInput = { ...empty, name: "\n", tags: [""], vlan: -1n, internal: true, metadata: [["", ""]] };
  const expected = { name: ["name"], tags: ["tags[0]"], vlan: ["vlan"], internal: [], metadata: ['metadata[""]'] };
  for (const field of udmFields) assert.deepEqual(fields(input, [field]), expected[field]);
  assert.deepEqual(fields(input, ["vlan", "name"]), ["name", "vlan"]);
  const none = checkUdm(input, []);
  assert.ok(none.ok);
  assert.deepEqual(none.values, { name: "", tags: [], vlan: 0n, internal: false, metadata: new Map() });
  const some = checkUdm({ ...input, name: "good" }, ["name", "internal"]);
  assert.ok(some.ok);
  assert.deepEqual(some.values, { name: "good", tags: [], vlan: 0n, internal: true, metadata: new Map() });
});

test("metadata may come as any iterable, once", () => {
  const check = checkUdm({ ...empty, metadata: new Map([[".site", "ams1"]]).entries() });
  assert.ok(check.ok);
  assert.deepEqual(check.values.metadata, new Map([[".site", "ams1"]]));
});

test("a bad key is an error whatever the mask says", () => {
  assert.deepEqual(fields({ ...empty, key: "x" }, []), ["key"]);
});

test("values that were read from a file are checked by the same rules", () => {
  const values = { ...empty, name: "n".repeat(256), metadata: new Map([["a b", "x"]]) };
  assert.deepEqual(
    checkValues(values).map((violation) => violation.field),
    ["name", 'metadata["a b"]'],
  );
  assert.deepEqual(checkValues({ ...values, name: "", metadata: new Map() }), []);
});

test("what passes can be written as UTF-8 on one line, and lengths are those of code points", () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 300 }),
    fc.string({ unit: "grapheme", minLength: 200, maxLength: 300 }),
    fc.array(fc.nat(0xffff), { maxLength: 300 }).map((units) => String.fromCharCode(...units)),
  );
  fc.assert(
    fc.property(text, (name) => {
      const bytes = Buffer.from(name, "utf8");
      const isGood =
        bytes.toString("utf8") === name && [...name].length <= 255 && [...name].every((point) => !isControl(point));
      assert.equal(checkUdm({ ...empty, name }).ok, isGood);
    }),
    runs(1000),
  );
});

function isControl(point: string): boolean {
  const code = point.codePointAt(0) as number;
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

function fields(input: UdmInput, mask?: readonly UdmField[]): string[] {
  const check = checkUdm(input, mask);
  return check.ok ? [] : check.violations.map((violation: FieldViolation) => violation.field);
}
