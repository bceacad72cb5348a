import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { addressKey, KeyError, parseAddress, parseKey, type Key } from "../../../src/base/ip/index.ts";
import { quote } from "../../../src/base/text/index.ts";
import { keyText, nearKeyText } from "../../support/ip-arbitrary.ts";
import { modelKey } from "../../support/ip-model.ts";
import { runs } from "../../support/runs.ts";

/** Text, kind, first and last address, canonical text where it differs. */
const accepted: readonly (readonly [string, Key["kind"], string, string, string?])[] = [
  ["192.0.2.1", "ip", "192.0.2.1", "192.0.2.1"],
  ["2001:DB8::0", "ip", "2001:db8::", "2001:db8::", "2001:db8::"],
  ["::ffff:192.0.2.1", "ip", "192.0.2.1", "192.0.2.1", "192.0.2.1"],
  ["::FFFF:c000:201", "ip", "192.0.2.1", "192.0.2.1", "192.0.2.1"],
  ["0:0:0:0:0:ffff:192.0.2.1", "ip", "192.0.2.1", "192.0.2.1", "192.0.2.1"],
  ["::fffe:192.0.2.1", "ip", "::fffe:c000:201", "::fffe:c000:201", "::fffe:c000:201"],
  ["::ffff:10.0.0.0/104", "cidr", "10.0.0.0", "10.255.255.255", "10.0.0.0/8"],
  ["::ffff:10.1.2.3/104", "cidr", "10.0.0.0", "10.255.255.255", "10.1.2.3/8"],
  ["::ffff:10.1.2.3/128", "cidr", "10.1.2.3", "10.1.2.3", "10.1.2.3/32"],
  ["::ffff:0:0/96", "cidr", "0.0.0.0", "255.255.255.255", "0.0.0.0/0"],
  ["::ffff:10.0.0.0/95", "cidr", "::fffe:0:0", "::ffff:255.255.255.255", "::ffff:10.0.0.0/95"],
  ["0.0.0.0/0", "cidr", "0.0.0.0", "255.255.255.255"],
  ["10.0.0.0/8", "cidr", "10.0.0.0", "10.255.255.255"],
  ["192.0.2.10/24", "cidr", "192.0.2.0", "192.0.2.255"],
  ["192.0.2.1/31", "cidr", "192.0.2.0", "192.0.2.1"],
  ["192.0.2.1/32", "cidr", "192.0.2.1", "192.0.2.1"],
  ["255.255.255.255/0", "cidr", "0.0.0.0", "255.255.255.255"],
  ["::/0", "cidr", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2001:DB8::/32", "cidr", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::/32"],
  ["2001:db8::1/127", "cidr", "2001:db8::", "2001:db8::1"],
  ["2001:db8::1/128", "cidr", "2001:db8::1", "2001:db8::1"],
  ["::ffff:c000:0280/96", "cidr", "0.0.0.0", "255.255.255.255", "192.0.2.128/0"],
  ["1.2.3.4-5.6.7.8", "range", "1.2.3.4", "5.6.7.8"],
  ["192.0.2.1-192.0.2.1", "range", "192.0.2.1", "192.0.2.1"],
  ["0.0.0.0-255.255.255.255", "range", "0.0.0.0", "255.255.255.255"],
  ["::1-::5", "range", "::1", "::5"],
  ["2001:DB8:0::1-2001:DB8:0::ff", "range", "2001:db8::1", "2001:db8::ff", "2001:db8::1-2001:db8::ff"],
  ["::ffff:1.2.3.4-::ffff:1.2.3.5", "range", "1.2.3.4", "1.2.3.5", "1.2.3.4-1.2.3.5"],
  ["1.2.3.4-::ffff:1.2.3.5", "range", "1.2.3.4", "1.2.3.5", "1.2.3.4-1.2.3.5"],
  ["::fffe:ffff:ffff-::ffff:0.0.0.1", "range", "::fffe:ffff:ffff", "::ffff:0.0.0.1"],
  ["::ffff:255.255.255.255-::1:0:0:0", "range", "::ffff:255.255.255.255", "::1:0:0:0"],
];

/** Text, and what the message says besides the text. */
const rejected: readonly (readonly [string, RegExp])[] = [
  ["", /is empty/],
  ["router1", /is not an IP address, a CIDR or a range/],
  ["1.2.3", /is not an IP address/],
  ["01.2.3.4", /is not an IP address/],
  ["fe80::1%eth0", /is not an IP address/],
  [" 192.0.2.1", /begins with a blank \(space\)/],
  ["10:20", /is not an IP address/],
  // netip.ParsePrefix
  ["1.257.1.1/24", /before the slash/],
  ["192.168.0.0/", /prefix length must be 0 to 32/],
  ["/24", /before the slash/],
  ["/", /before the slash/],
  ["192.168.0.0/33", /prefix length must be 0 to 32/],
  ["1.1.1.0/-1", /prefix length/],
  ["1.1.1.0/+24", /prefix length/],
  ["1.1.1.0/01", /prefix length/],
  ["1.1.1.0/024", /prefix length/],
  ["1.1.1.0/00", /prefix length/],
  ["1.1.1.0/2a", /prefix length/],
  ["1.1.1.0/ 24", /has a blank \(space\) after "1\.1\.1\.0\/"/],
  ["1.1.1.0/24 ", /ends with a blank \(space\)/],
  ["1.1.1.0/24\t", /ends with a blank \(tab\)/],
  ["\u00a01.1.1.0/24", /begins with a blank \(no-break space\)/],
  [" ", /begins with a blank/],
  ["\u200b1.1.1.0/24", /begins with an invisible character \(U\+200B\)/],
  ["1.1.1.0/24\u202c", /ends with an invisible character \(U\+202C\)/],
  ["\ufeff1.1.1.1", /begins with a blank \(U\+FEFF\)/],
  ["router 1", /has a blank \(space\) after "router"/],
  ["1.1.1.0/24.0", /prefix length/],
  ["1.1.1.0/1e1", /prefix length/],
  ["1.1.1.0/99999999999999999999", /prefix length/],
  ["1.1.1.0/255.255.255.0", /prefix length/],
  ["2001::/129", /prefix length must be 0 to 128/],
  ["2001::/032", /prefix length/],
  ["1.1.1.0%a/24", /before the slash/],
  ["fe80::%eth0/64", /before the slash/],
  ["::1%a/128", /before the slash/],
  ["10.0/16", /before the slash/],
  ["10.0.0.0/8/8", /before the slash/],
  // netipx.ParseIPRange
  ["foo-", /before the dash/],
  ["-", /before the dash/],
  ["-1.2.3.4", /before the dash/],
  ["1.2.3.4-", /after the dash/],
  ["1.2.3.4-foo", /after the dash/],
  ["1.2.3.4-5", /after the dash/],
  ["1.2.3.4 - 1.2.3.5", /has a blank \(space\) after "1\.2\.3\.4"/],
  ["1.2.3.4–1.2.3.5", /is not an IP address/],
  ["1.2.3.4-1.2.3.5-1.2.3.6", /after the dash/],
  ["1.2.3.4-0.1.2.3", /starts after its end/],
  ["::5-::1", /starts after its end/],
  ["1.2.3.4-::1", /different families/],
  ["::1-255.255.255.255", /different families/],
  ["1.2.3.5-::ffff:1.2.3.4", /starts after its end/],
  ["::ffff:192.0.2.0/129", /prefix length must be 0 to 128/],
  ["fe80::1%a-fe80::2%a", /before the dash/],
  ["10.0.0.0/24-10.0.1.0/24", /before the slash/],
];

for (const [text, kind, first, last, canonical = text] of accepted) {
  test(`${text} is a key`, () => {
    const key = parseKey(text);
    assert.equal(key.kind, kind);
    assert.deepEqual(parseAddress(first), { family: key.family, value: key.first });
    assert.deepEqual(parseAddress(last), { family: key.family, value: key.last });
    assert.equal(key.text, canonical);
  });
}

test("what is no key is refused with its text and the reason", () => {
  for (const [text, reason] of rejected) {
    assert.throws(
      () => parseKey(text),
      (error) =>
        error instanceof KeyError &&
        error.code === "bad_key" &&
        error.message.startsWith(`key ${quote(text)} `) &&
        reason.test(error.message),
      JSON.stringify(text),
    );
  }
});

test("a text near a key is read as the slow model reads it", () => {
  fc.assert(
    fc.property(fc.oneof(keyText, nearKeyText), (text) => {
      assert.deepEqual(read(text), modelKey(text));
    }),
    runs(2000),
  );
});

test("canonical text is read back as the same key, and is the same in every spelling", () => {
  fc.assert(
    fc.property(keyText, (text) => {
      const key = parseKey(text);
      assert.deepEqual(parseKey(key.text), key);
      assert.equal(parseKey(text.toUpperCase()).text, key.text);
    }),
    runs(1000),
  );
});

test("a key is its kind and its value: spellings are one key, kinds are three", () => {
  const texts = (...keys: string[]): number => new Set(keys.map((key) => parseKey(key).text)).size;
  assert.equal(texts("10.0.0.1", "10.0.0.1/32", "10.0.0.1-10.0.0.1"), 3);
  assert.equal(texts("2001:DB8::0", "2001:db8::", "2001:0db8:0:0:0:0:0:0"), 1);
  assert.equal(texts("2001:DB8::0/64", "2001:db8::/64"), 1);
  assert.equal(texts("192.0.2.0/24", "192.0.2.10/24", "192.0.2.0-192.0.2.255"), 3);
  assert.equal(texts("192.0.2.1", "::ffff:192.0.2.1", "::192.0.2.1"), 2);
});

test("the key of an address is the key its text stands for", () => {
  for (const text of ["192.0.2.1", "::", "2001:db8::1", "::ffff:192.0.2.1"]) {
    assert.deepEqual(addressKey(parseAddress(text) as NonNullable<ReturnType<typeof parseAddress>>), parseKey(text));
  }
});

function read(text: string): object | undefined {
  try {
    const { text: _canonical, ...key } = parseKey(text);
    return key;
  } catch (error) {
    assert.ok(error instanceof KeyError);
    return undefined;
  }
}
