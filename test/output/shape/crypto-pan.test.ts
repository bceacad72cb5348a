import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { formatAddress, parseAddress, type Address } from "../../../src/base/ip/index.ts";
import { anonymizeTexts, createCryptoPan, cutAddresses } from "../../../src/output/index.ts";
import { runs } from "../../support/runs.ts";

/** Key and addresses of the sample that came with the authors' program. */
const samples = createCryptoPan(Buffer.from("1522178d33a4cf80130a5b1649907d10d8988f837979652762574c2d2a842202", "hex"));
const own = createCryptoPan(Buffer.from("0123456789abcdef0123456789abcdef"));
const asText = (anonymize: (address: Address) => Address, text: string): string =>
  formatAddress(anonymize(parseAddress(text) as Address));

test("addresses of the authors' sample, and of nfanon", () => {
  assert.equal(asText(samples, "128.11.68.132"), "135.242.180.132");
  assert.equal(asText(samples, "129.118.74.4"), "134.136.186.123");
  assert.equal(asText(own, "192.0.2.1"), "177.225.229.134");
  assert.equal(asText(own, "198.51.100.7"), "181.243.106.122");
});

for (const [family, bits] of [
  [4, 32],
  [6, 128],
] as const) {
  test(`IPv${family}: two addresses have as many first bits in common as before`, () => {
    const common = (a: bigint, b: bigint): number => bits - (a ^ b).toString(2).replace(/^0$/, "").length;
    const value = fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n });
    fc.assert(
      fc.property(value, fc.nat({ max: bits - 1 }), (one, bit) => {
        const other = one ^ (1n << BigInt(bit));
        const [a, b] = [one, other].map((each) => own({ family, value: each }));
        assert.equal(common(a?.value ?? 0n, b?.value ?? 0n), common(one, other));
        assert.equal(a?.family, family);
      }),
      runs(50),
    );
  });
}

test("a key has 32 bytes", () => {
  assert.throws(() => createCryptoPan(new Uint8Array(16)), /a key has 32 bytes, not 16/);
});

test("texts: prefixes, private addresses, mapped ones, route distinguishers, and what is no address", () => {
  const cut = anonymizeTexts(cutAddresses(24, 48), false);
  assert.equal(cut("192.0.2.77"), "192.0.2.0");
  assert.equal(cut("2001:db8:1:2::3"), "2001:db8:1::");
  assert.equal(cut("::ffff:192.0.2.77"), "::ffff:192.0.2.0");
  assert.equal(cut("192.0.2.77:5"), "192.0.2.0:5");
  assert.equal(cut("10.1.2.3"), "10.1.2.0");
  for (const text of ["0.0.0.0", "::", "1.2.3", "1.2.3.4.5", "00:00:5e:00:53:01", "65000:100", "fe80::1%eth0"]) {
    assert.equal(cut(text), undefined, text);
  }
  const publicOnly = anonymizeTexts(cutAddresses(0, 0), true);
  for (const text of ["10.1.2.3", "172.31.0.1", "192.168.1.1", "100.64.0.1", "169.254.1.1", "127.0.0.1", "fd00::1"]) {
    assert.equal(publicOnly(text), undefined, text);
  }
  assert.equal(publicOnly("::ffff:10.1.2.3"), undefined);
  assert.equal(publicOnly("172.32.0.1"), "0.0.0.0");
  assert.equal(publicOnly("2001:db8::1"), "::");
});
