import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { compileFilter, parseFilter, recordVocabulary, udmVocabulary, type Value } from "../../../src/record/index.ts";
import { runs } from "../../support/runs.ts";
import { parseAddress, unmapAddress } from "../../../src/base/ip/index.ts";

type Fields = Readonly<Record<string, Value>>;
/** A filter as text, and a slow way to know whether it is true of a record. */
interface Twin {
  readonly text: string;
  readonly isTrue: (of: Fields) => boolean;
}

const matches = (text: string, record: Fields, vocabulary = recordVocabulary): boolean =>
  compileFilter(parseFilter(text, "test", vocabulary))(new Map(Object.entries(record)));

const addresses = [
  "10.0.0.1",
  "10.0.0.9",
  "10.255.0.1",
  "192.0.2.1",
  "2001:db8::1",
  "2001:db8:1::1",
  "::ffff:10.0.0.9",
];
const texts = ["pci", "PCI", "dmz", "a.b", "", "New York"];
const numbers = [0, 1, 22, 443, 1000, 1500, 65_535];
const counters: readonly (number | bigint)[] = [...numbers, 1_000_000, 18_446_744_073_709_551_615n];

const record: fc.Arbitrary<Fields> = fc.record(
  {
    "flow.src.ip.addr": fc.constantFrom(...addresses),
    "flow.dst.ip.addr": fc.constantFrom(...addresses),
    "flow.src.l4.port.id": fc.constantFrom(...numbers),
    "flow.dst.l4.port.id": fc.constantFrom(...numbers),
    "flow.bytes": fc.constantFrom(...counters),
    "flow.dst.ip.subnet.tags": fc.array(fc.constantFrom(...texts), { maxLength: 3 }),
    "flow.dst.ip.subnet.name": fc.constantFrom(...texts),
    "flow.dst.isInternal": fc.boolean(),
  },
  { requiredKeys: [] },
);

const some = (value: Value | undefined): readonly (string | number | bigint | boolean)[] =>
  value === undefined ? [] : typeof value === "object" ? value : [value];
const ends = (rest: string): readonly string[] => [`flow.src.${rest}`, `flow.dst.${rest}`];
const valueOf = (text: string): bigint => {
  const { family, value } = unmapAddress(parseAddress(text) ?? { family: 4, value: 0n });
  return (family === 4 ? 0n : 2n ** 128n) + value;
};

const addressTerm: fc.Arbitrary<Twin> = fc
  .tuple(
    fc.constantFrom(["src", ["flow.src.ip.addr"]] as const, ["addr", ends("ip.addr")] as const),
    fc.uniqueArray(
      fc.constantFrom("10.0.0.0/29", "10.0.0.0/8", "192.0.2.1", "10.0.0.1-10.0.0.8", "2001:db8::/48", "::/0"),
      {
        minLength: 1,
      },
    ),
  )
  .map(([[name, fields], keys]) => ({
    text: `${name} in (${keys.join(", ")})`,
    isTrue: (of) =>
      fields.some((field) => some(of[field]).some((value) => keys.some((key) => isWithin(String(value), key)))),
  }));

/** By the definition, one bit after the other. */
function isWithin(address: string, key: string): boolean {
  const at = valueOf(address);
  const [first = "", last = first] = key.split("-");
  const [network = "", length] = first.split("/");
  if (length === undefined) return valueOf(network) <= at && at <= valueOf(last);
  const bits = BigInt((network.includes(":") ? 128 : 32) - Number(length));
  return at >> bits === valueOf(network) >> bits;
}

const numberTerm: fc.Arbitrary<Twin> = fc
  .tuple(
    fc.constantFrom(
      ["dst.port", ["flow.dst.l4.port.id"]] as const,
      ["port", ends("l4.port.id")] as const,
      ["bytes", ["flow.bytes"]] as const,
    ),
    fc.constantFrom("=", "!=", "<", "<=", ">", ">="),
    fc.constantFrom(...counters),
  )
  .map(([[name, fields], operator, limit]) => {
    const isOne = (of: Fields, judge: (value: number | bigint) => boolean): boolean =>
      fields.some((field) => some(of[field]).some((value) => judge(value as number | bigint)));
    const judges: Readonly<Record<string, (of: Fields) => boolean>> = {
      "=": (of) => isOne(of, (value) => BigInt(value) === BigInt(limit)),
      "!=": (of) => !isOne(of, (value) => BigInt(value) === BigInt(limit)),
      "<": (of) => isOne(of, (value) => BigInt(value) < BigInt(limit)),
      "<=": (of) => isOne(of, (value) => BigInt(value) <= BigInt(limit)),
      ">": (of) => isOne(of, (value) => BigInt(value) > BigInt(limit)),
      ">=": (of) => isOne(of, (value) => BigInt(value) >= BigInt(limit)),
    };
    return { text: `${name} ${operator} ${limit}`, isTrue: judges[operator] as Twin["isTrue"] };
  });

const textTerm: fc.Arbitrary<Twin> = fc
  .tuple(
    fc.constantFrom(["dst.tag", "flow.dst.ip.subnet.tags"] as const, ["dst.name", "flow.dst.ip.subnet.name"] as const),
    fc.constantFrom(...texts),
    fc.boolean(),
  )
  .map(([[name, field], text, isNot]) => ({
    text: `${name} ${isNot ? "not in" : "in"} (${JSON.stringify(text)}, other)`,
    isTrue: (of) => some(of[field]).some((value) => value === text) !== isNot,
  }));

const otherTerm: fc.Arbitrary<Twin> = fc.constantFrom<Twin>(
  { text: "dst.internal = false", isTrue: (of) => of["flow.dst.isInternal"] === false },
  { text: "dst.tag exists", isTrue: (of) => some(of["flow.dst.ip.subnet.tags"]).length > 0 },
  { text: "bytes not exists", isTrue: (of) => !("flow.bytes" in of) },
  {
    text: "dst.name ~ C",
    isTrue: (of) => some(of["flow.dst.ip.subnet.name"]).some((value) => /c/i.test(String(value))),
  },
);

const { filter } = fc.letrec<{ filter: Twin }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(addressTerm, numberTerm, textTerm, otherTerm),
    tie("filter").map(({ text, isTrue }): Twin => ({ text: `not (${text})`, isTrue: (of) => !isTrue(of) })),
    fc.array(tie("filter"), { minLength: 2, maxLength: 4 }).map((all): Twin => ({
      text: all.map(({ text }) => `(${text})`).join(" and "),
      isTrue: (of) => all.every((one) => one.isTrue(of)),
    })),
    fc.array(tie("filter"), { minLength: 2, maxLength: 4 }).map((all): Twin => ({
      text: all.map(({ text }) => `{${text}}`).join(" OR "),
      isTrue: (of) => all.some((one) => one.isTrue(of)),
    })),
  ),
}));

test("a filter is true of the records of which its parts say so", () => {
  fc.assert(
    fc.property(filter, fc.array(record, { minLength: 1, maxLength: 8 }), (twin, records) => {
      const compiled = compileFilter(parseFilter(twin.text, "test", recordVocabulary));
      for (const each of records) assert.equal(compiled(new Map(Object.entries(each))), twin.isTrue(each), twin.text);
    }),
    runs(300),
  );
});

test("patterns match what a regular expression of the same meaning matches", () => {
  const letter = fc.constantFrom("a", "b", "A", ".", "*", "?", "^", "$");
  fc.assert(
    fc.property(
      fc.array(letter, { minLength: 1, maxLength: 6 }),
      fc.array(letter, { maxLength: 10 }),
      (wanted, text) => {
        const isFromStart = wanted[0] === "^";
        const isToEnd = wanted.length > (isFromStart ? 1 : 0) && wanted.at(-1) === "$";
        const inside = wanted.slice(isFromStart ? 1 : 0, isToEnd ? -1 : undefined);
        const body = inside.map((one) =>
          one === "*" ? ".*" : one === "?" ? "." : `\\${one}`.replace(/\\([a-zA-Z])/, "$1"),
        );
        const expected = new RegExp(`${isFromStart ? "^" : ""}${body.join("")}${isToEnd ? "$" : ""}`, "is").test(
          text.join(""),
        );
        const found = matches(`dst.name ~ ${JSON.stringify(wanted.join(""))}`, {
          "flow.dst.ip.subnet.name": text.join(""),
        });
        assert.equal(found, expected, `${wanted.join("")} in ${text.join("")}`);
      },
    ),
    runs(500),
  );
});

test("a backslash takes the meaning from a character of a pattern, and no pattern is slow", () => {
  assert.equal(matches(String.raw`dst.name ~ 'a\*c'`, { "flow.dst.ip.subnet.name": "xa*cx" }), true);
  assert.equal(matches(String.raw`dst.name ~ 'a\*c'`, { "flow.dst.ip.subnet.name": "abc" }), false);
  // A regular expression of the same meaning would not come back.
  const text = `${"a".repeat(2000)}b`;
  assert.equal(matches(`dst.name ~ "^${"a*".repeat(200)}c$"`, { "flow.dst.ip.subnet.name": text }), false);
});

test("times are compared as instants, whatever their digits and zone", () => {
  const at = (text: string): Fields => ({ "flow.start.timestamp": text });
  assert.equal(matches("start = 2026-11-22T05:00:00+01:00", at("2026-11-22T04:00:00Z")), true);
  assert.equal(matches("start = 2026-11-22T04:00:00.5Z", at("2026-11-22T04:00:00.500000Z")), true);
  assert.equal(matches("start > 2026-11-22T04:00:00.123456788Z", at("2026-11-22T04:00:00.123456789Z")), true);
  assert.equal(matches("start < 2026-11-22", at("2026-11-22T00:00:00Z")), false);
});

test("fields whose values nobody knows beforehand take numbers and texts", () => {
  const odd = { "flow.ie.ipTTL": 64, "flow.ie.text": "64" };
  assert.equal(matches("flow.ie.ipTTL = 64 and flow.ie.text = 64", odd), true);
  assert.equal(matches("flow.ie.ipTTL > 63", odd), true);
  assert.equal(matches("flow.ie.text > 63", odd), false);
});

test("metadata entries are filtered by key, fields and metadata", () => {
  const entry = {
    key: "10.1.0.0/16",
    name: "Office",
    tags: ["a", "b"],
    vlan: 7n,
    internal: true,
    "metadata.site": "AMS1",
  };
  const is = (text: string): boolean => matches(text, entry, udmVocabulary);
  assert.equal(is("key in 10.0.0.0/8 and tag = b and vlan not in (1-6) and internal = true"), true);
  assert.equal(is("key in 10.1.0.0/17"), false);
  assert.equal(is("key in (10.1.0.0/17, 10.1.128.0-10.1.255.255)"), true);
  assert.equal(is("metadata.site ~ ams and name ~ ffi"), true);
});
