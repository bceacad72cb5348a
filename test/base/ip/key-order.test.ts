import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { compareKeys, compareSpecificity, keyContains, parseKey, type Key } from "../../../src/base/ip/index.ts";
import { keyText } from "../../support/ip-arbitrary.ts";
import { runs } from "../../support/runs.ts";

/** The whole order of lists, written down. */
const listed = [
  "0.0.0.0/0",
  "0.0.0.0-255.255.255.255",
  "0.0.0.0",
  "10.0.0.0/8",
  "10.0.0.0/24",
  "10.0.0.0-10.0.0.200",
  "10.0.0.0/31",
  "10.0.0.0/32",
  "10.0.0.0-10.0.0.0",
  "10.0.0.0",
  "10.0.0.1",
  "192.0.2.0/24",
  "192.0.2.10/24",
  "192.0.2.0-192.0.2.255",
  "255.255.255.255",
  "::/0",
  "::",
  "::ffff:10.0.0.0/95",
  "2001:db8::/32",
  "2001:db8::/64",
  "2001:db8::1-2001:db8::ff",
  "2001:db8::1",
];

/** Everything that covers 192.0.2.1 here, the winner first. */
const specific = [
  "192.0.2.1",
  "192.0.2.1/32",
  "192.0.2.1-192.0.2.1",
  "192.0.2.0/31",
  "192.0.2.1/31",
  "192.0.2.0-192.0.2.1",
  "192.0.2.0-192.0.2.2",
  "192.0.2.1-192.0.2.3",
  "192.0.2.0/24",
  "192.0.2.10/24",
  "0.0.0.0/0",
  "0.0.0.0-255.255.255.255",
];

test("lists are in the one order", () => {
  assert.deepEqual(sorted(listed, compareKeys), listed);
  assert.deepEqual(sorted(listed.toReversed(), compareKeys), listed);
});

test("of covering keys the most specific comes first", () => {
  assert.deepEqual(sorted(specific, compareSpecificity), specific);
  assert.deepEqual(sorted(specific.toReversed(), compareSpecificity), specific);
});

for (const [name, compare] of Object.entries({ compareKeys, compareSpecificity })) {
  test(`${name} is a total order that is zero only for one and the same key`, () => {
    // The keys of the tables lie close together, so that ties in size, first and last address are common.
    const key = fc.oneof(fc.constantFrom(...listed, ...specific), keyText).map((text) => parseKey(text));
    fc.assert(
      fc.property(key, key, key, (a, b, c) => {
        assert.equal(compare(a, b) === 0, a.text === b.text);
        assert.equal(Math.sign(compare(a, b)), -Math.sign(compare(b, a)) + 0);
        if (compare(a, b) <= 0 && compare(b, c) <= 0) assert.ok(compare(a, c) <= 0);
      }),
      runs(2000),
    );
  });
}

test("a key contains another when both its ends lie within, of any kind, in one family", () => {
  const contains = (outer: string, inner: string): boolean => keyContains(parseKey(outer), parseKey(inner));
  assert.ok(contains("10.0.0.0/8", "10.1.2.3"));
  assert.ok(contains("10.0.0.0/8", "10.0.0.0/8"));
  assert.ok(contains("10.0.0.99/8", "10.0.0.0-10.255.255.255"));
  assert.ok(contains("10.0.0.1-10.0.0.9", "10.0.0.2/31"));
  assert.ok(contains("10.0.0.1", "10.0.0.1/32"));
  assert.ok(!contains("10.0.0.1-10.0.0.9", "10.0.0.8/30"));
  assert.ok(!contains("10.0.0.0/8", "0.0.0.0/0"));
  assert.ok(!contains("10.0.0.0/8", "9.255.255.255-10.0.0.1"));
  assert.ok(!contains("::/0", "10.0.0.1"));
  assert.ok(!contains("0.0.0.0/0", "::1"));
});

function sorted(texts: readonly string[], compare: (a: Key, b: Key) => number): string[] {
  return texts
    .map((text) => parseKey(text))
    .toSorted(compare)
    .map((key) => key.text);
}
