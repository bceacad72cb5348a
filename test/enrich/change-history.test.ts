import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { setWords } from "../../src/enrich/address/address-limbs.ts";
import { ChangeHistory, isLater } from "../../src/enrich/address/change-history.ts";
import { parseKey, type Address } from "../../src/base/ip/index.ts";
import { denseAddress, denseKeyText } from "../support/udm-entry.ts";
import { runs } from "../support/runs.ts";

const families = [4, 6] as const;
const edges = ["0.0.0.0", "255.255.255.255", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "7fff::", "8000::"];

test("each address has the stamp of the last change that covers it", () => {
  const steps = fc.array(
    fc.option(fc.array(fc.oneof(denseKeyText, fc.constantFrom(...edges)).map(parseKey), { maxLength: 5 }), {
      nil: undefined,
      freq: 12,
    }),
    { maxLength: 30 },
  );
  fc.assert(
    fc.property(steps, fc.constantFrom(0, 2 ** 29 - 10, -5), (changes, start) => {
      const history = new ChangeHistory();
      history.note(start, undefined);
      const asked = families.flatMap((family) => Array.from({ length: 65 }, (_, n) => denseAddress(family, n - 1)));
      for (const text of edges) asked.push({ family: parseKey(text).family, value: parseKey(text).first });
      const expected = asked.map(() => start);
      for (const [i, changed] of changes.entries()) {
        const stamp = start + i + 1;
        history.note(stamp, changed);
        for (const [n, { family, value }] of asked.entries()) {
          const isChanged = changed?.some((key) => key.family === family && key.first <= value && value <= key.last);
          if (isChanged ?? true) expected[n] = stamp;
        }
        for (const [n, address] of asked.entries()) assert.equal(lastChangeAt(history, address), expected[n]);
      }
    }),
    runs(200),
  );
});

test("more changes than it keeps make everything as if changed, and later ones are told apart again", () => {
  const history = new ChangeHistory();
  let stamp = 0;
  const at = (text: string): number => lastChangeAt(history, { family: 4, value: parseKey(text).first });
  const changeMany = (count: number): void => {
    for (let n = 0; n < count; n++) history.note(++stamp, [parseKey(`10.${n >> 8}.${n & 255}.7`)]);
  };
  changeMany(4000);
  assert.equal(at("10.0.0.9"), 0);
  assert.equal(at("10.0.3.7"), 4);
  changeMany(20_000);
  const floor = at("192.0.2.1");
  assert.ok(floor > 0 && at("10.0.0.9") === floor);
  assert.equal(lastChangeAt(history, denseAddress(6, 1)), 0);
  history.note(++stamp, [parseKey("192.0.2.0/24")]);
  assert.deepEqual([at("192.0.2.1"), at("192.0.3.1")], [stamp, floor]);
});

test("stamps wrap around", () => {
  assert.deepEqual(
    [
      isLater(1, 0),
      isLater(0, 1),
      isLater(5, 5),
      isLater(2 ** 29 + 3, 2 ** 29),
      isLater(1, 2 ** 30 - 1),
      isLater(-1, 3),
    ],
    [true, false, false, true, true, false],
  );
});

test("a change costs a place, not one for each address of it", () => {
  const history: ChangeHistory = new ChangeHistory();
  for (let n = 0; n < 30_000; n++) history.note(n, [parseKey("10.0.0.0/8"), parseKey("2001:db8::/32")]);
  assert.equal(lastChangeAt(history, denseAddress(4, 3)), 29_999);
  assert.equal(lastChangeAt(history, { family: 4, value: 0n }), 0);
});

function lastChangeAt(history: ChangeHistory, address: Address): number {
  const words = new Int32Array(4);
  setWords(words, address);
  const [a = 0, b = 0, c = 0, d = 0] = words;
  return history.last(a, b, c, d);
}
