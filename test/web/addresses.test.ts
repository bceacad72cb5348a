import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { parseKey } from "../../src/base/ip/index.ts";
import { formatAddress, holds, restBehind, spanOf } from "../../web/src/format/addresses.ts";
import { keyText } from "../support/ip-arbitrary.ts";

test("keys have the first and last address that the collector gives them", () => {
  fc.assert(
    fc.property(keyText, (text) => {
      const key = parseKey(text);
      const { family, first, last } = key;
      assert.deepEqual(spanOf(key.text), { family, first, last });
      assert.deepEqual(spanOf(formatAddress(family, first)), { family, first, last: first });
    }),
  );
});

test("what is no key has no span", () => {
  for (const text of [
    "",
    "10.0.0",
    "256.0.0.1",
    "::1::",
    "10.0.0.1-::1",
    "words",
    "1:2:3",
    "10.0.0.0/8/9-x",
    "10.0.0.0/33",
    "::/129",
  ]) {
    assert.equal(spanOf(text), undefined, text);
  }
});

test("the rest behind a child is what remains of its parent", () => {
  const span = (text: string) => spanOf(text) ?? assert.fail(text);
  assert.equal(restBehind(span("10.0.0.0/24"), span("10.0.0.0/8")), "10.0.1.0-10.255.255.255");
  assert.equal(restBehind(span("10.255.0.0/16"), span("10.0.0.0/8")), undefined);
  assert.equal(
    restBehind(span("2001:db8::/48"), span("2001:db8::/47")),
    "2001:db8:1:0:0:0:0:0-2001:db8:1:ffff:ffff:ffff:ffff:ffff",
  );
  assert.ok(holds(span("10.0.0.0/8"), span("10.1.2.3-10.1.2.9")));
  assert.ok(!holds(span("10.0.0.0/8"), span("11.0.0.1")));
});
