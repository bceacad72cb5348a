import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  formatAddress,
  formatAddressBytes,
  parseAddress,
  unmapAddress,
  type Address,
} from "../../../src/base/ip/index.ts";
import { anyAddress, ipv6Address, nearKeyText } from "../../support/ip-arbitrary.ts";
import { modelAddress } from "../../support/ip-model.ts";
import { runs } from "../../support/runs.ts";

/** Text, value, canonical text where it differs. */
const accepted: readonly (readonly [string, bigint, string?])[] = [
  ["0.0.0.0", 0n],
  ["1.2.3.4", 0x01020304n],
  ["192.168.140.255", 0xc0a88cffn],
  ["255.255.255.255", 0xffffffffn],
  ["::", 0n],
  ["::1", 1n],
  ["1::", 1n << 112n],
  ["fd7a:115c:a1e0:ab12:4843:cd96:626b:430b", 0xfd7a115ca1e0ab124843cd96626b430bn],
  ["fd7a:115c::626b:430b", 0xfd7a115c0000000000000000626b430bn],
  ["fd7a:115c:a1e0:ab12:4843:cd96::", 0xfd7a115ca1e0ab124843cd9600000000n],
  ["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 2n ** 128n - 1n],
  // a `::` that stands for one group is read, and written out (RFC 5952 section 4.2.2)
  ["fd7a:115c:a1e0:ab12:4843:cd96:626b::", 0xfd7a115ca1e0ab124843cd96626b0000n, "fd7a:115c:a1e0:ab12:4843:cd96:626b:0"],
  ["fd7a:115c:a1e0::4843:cd96:626b:430b", 0xfd7a115ca1e000004843cd96626b430bn, "fd7a:115c:a1e0:0:4843:cd96:626b:430b"],
  ["::2:3:4:5:6:7:8", 0x00000002000300040005000600070008n, "0:2:3:4:5:6:7:8"],
  // capitals, leading zeros
  ["FD9E:1A04:F01D::1", 0xfd9e1a04f01d00000000000000000001n, "fd9e:1a04:f01d::1"],
  ["2001:0DB8:0000:0000:0000:0000:0000:0001", 0x20010db8000000000000000000000001n, "2001:db8::1"],
  // dotted tails
  ["::ffff:192.168.140.255", 0xffffc0a88cffn],
  ["::FFFF:c0a8:8cff", 0xffffc0a88cffn, "::ffff:192.168.140.255"],
  ["::ffff:0.0.0.0", 0xffff00000000n],
  ["1:2::ffff:192.168.140.255", 0x00010002000000000000ffffc0a88cffn, "1:2::ffff:c0a8:8cff"],
  ["1:2:3:4:5:6:7.8.9.10", 0x0001000200030004000500060708090an, "1:2:3:4:5:6:708:90a"],
  ["1::6:7.8.9.10", 0x0001000000000000000000060708090an, "1::6:708:90a"],
  ["::1.2.3.4", 0x01020304n, "::102:304"],
  ["64:ff9b::192.0.2.33", 0x0064ff9b0000000000000000c0000221n, "64:ff9b::c000:221"],
  // RFC 5952 section 4.2.3: the longest run, of equal ones the first
  ["2001:0:0:1:0:0:0:1", 0x20010000000000010000000000000001n, "2001:0:0:1::1"],
  ["2001:db8:0:0:1:0:0:1", 0x20010db8000000000001000000000001n, "2001:db8::1:0:0:1"],
  ["0:0:1:0:0:0:0:0", 0x00000000000100000000000000000000n, "0:0:1::"],
  ["1:0:0:0:0:0:0:0", 1n << 112n, "1::"],
  ["0:0:0:0:0:0:0:0", 0n, "::"],
];

const rejected: readonly string[] = [
  "",
  "bad",
  "1234",
  // IPv4: number of parts, empty parts, octal, hexadecimal, class A and B forms, too big
  ".1.2.3",
  "1.2.3.",
  "1..2.3",
  "1.2.3",
  "1.2.3.4.",
  ".1.2.3.4",
  "1.2.3.4.5",
  "192.168.0.1.5.6",
  "010.000.015.001",
  "000001.00000002.00000003.000000004",
  "00.0.0.0",
  "1.2.3.04",
  "0300.0250.0214.0377",
  "0xc0.0xa8.0x8c.0xff",
  "192.168.12345",
  "127.0.1",
  "192.1234567",
  "127.1",
  "192.168.300.1",
  "256.0.0.1",
  "1.2.3.4294967296",
  // signs, blanks, brackets, other digits
  "+1.2.3.4",
  "-1.2.3.4",
  "1.2.3.4 ",
  " 1.2.3.4",
  "1.2.3. 4",
  "1.2.3.4\n",
  "1.2.3.4\0",
  "1,2,3,4",
  "1e1.2.3.4",
  "١.٢.٣.٤",
  "１.２.３.４",
  "1。2。3。4",
  "[::1]",
  " ::1",
  "::1 ",
  "::١",
  // zones
  "1.2.3.4%eth0",
  "fe80::1%",
  "fe80::1%eth0",
  "::ffff:192.168.140.255%eth1",
  "%eth0",
  // IPv6: number of groups
  ":",
  ":::",
  "1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7:8:9",
  "1:2:3:4::5:6:7:8",
  "::1:2:3:4:5:6:7:8",
  "1:2:3:4:5:6:7:8::",
  "1:2:3:4:5:6:7:",
  ":1:2:3:4:5:6:7",
  ":1:2:3:4:5:6:7:8",
  "1:2:3:4:5:6:7:8:",
  "fe80:",
  ":fe80",
  "fe80::1::1",
  "::1::",
  "1:::2",
  // groups
  "fe801::1",
  "00001::",
  "::0abcd",
  "fe80:tail:scal:e::",
  "fe80:1?:1",
  "::-1",
  "::0x1",
  // dotted tails
  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:192.168.140.255",
  "ffff::ffff:ffff:ffff:ffff:ffff:ffff:192.168.140.255",
  "1:2:3:4:5:6::1.2.3.4",
  "1:2:3:4:5:1.2.3.4",
  "::ffff:192.168.140.bad",
  "::ffff:1.2.03.4",
  "::ffff:1.2.3",
  "::ffff:1.2.3.4.5",
  "::1.2.3.256",
  "::1.2.3.4:5",
  "1.2.3.4::",
  "::1.2.3.4::",
  "1.2.3.4:80",
  "1.2.3.4:1:2:3:4:5:6",
  // lengths no address has
  "0".repeat(1_000_000),
  ":".repeat(1_000_000),
  "1:".repeat(100_000),
];

for (const [text, value, canonical = text] of accepted) {
  test(`${text} is an address`, () => {
    const family = text.includes(":") ? 6 : 4;
    assert.deepEqual(parseAddress(text), { family, value });
    assert.deepEqual(modelAddress(text), { family, value });
    assert.equal(formatAddress({ family, value }), canonical);
  });
}

test("what is no address is refused", () => {
  for (const text of rejected) {
    assert.equal(parseAddress(text), undefined, JSON.stringify(text.slice(0, 60)));
    assert.equal(modelAddress(text), undefined, `the model on ${JSON.stringify(text.slice(0, 60))}`);
  }
});

test("canonical text is read back as the same address", () => {
  const property = fc.property(anyAddress, (address) =>
    assert.deepEqual(parseAddress(formatAddress(address)), address),
  );
  fc.assert(property, runs(100));
});

test("a text near an address is read as the slow model reads it", () => {
  fc.assert(
    fc.property(nearKeyText, (text) => assert.deepEqual(parseAddress(text), modelAddress(text))),
    runs(3000),
  );
});

test("canonical IPv6 text is what a URL parser makes of it, except the dotted tail of mapped addresses", () => {
  fc.assert(
    fc.property(ipv6Address, (address) => {
      const text = formatAddress(address);
      const host = new URL(`http://[${text}]/`).hostname.slice(1, -1);
      if (address.value >> 32n === 0xffffn) assert.match(text, /^::ffff:\d+\.\d+\.\d+\.\d+$/);
      else assert.equal(text, host);
    }),
    runs(1000),
  );
});

test("bytes are rendered like the address they hold, wherever they lie", () => {
  fc.assert(
    fc.property(anyAddress, fc.nat(40), (address, offset) => {
      const bytes = bytesOf(address, offset);
      assert.equal(formatAddressBytes(bytes, offset, address.family), formatAddress(address));
    }),
    runs(1000),
  );
});

test("an IPv4-mapped address is looked up as IPv4, any other as it is", () => {
  const unmapped = (text: string): string => formatAddress(unmapAddress(parseAddress(text) as Address));
  assert.equal(unmapped("::ffff:192.0.2.1"), "192.0.2.1");
  assert.equal(unmapped("::ffff:0.0.0.0"), "0.0.0.0");
  assert.equal(unmapped("::ffff:ffff:ffff"), "255.255.255.255");
  for (const text of ["192.0.2.1", "::192.0.2.1", "::fffe:192.0.2.1", "::1:ffff:c000:201", "2001:db8::1", "::"]) {
    assert.equal(unmapped(text), formatAddress(parseAddress(text) as Address));
  }
});

function bytesOf(address: Address, offset: number): Uint8Array {
  const length = address.family === 4 ? 4 : 16;
  const bytes = new Uint8Array(offset + length + 3).fill(0xa5);
  for (let i = 0; i < length; i++) {
    bytes[offset + i] = Number((address.value >> BigInt(8 * (length - 1 - i))) & 0xffn);
  }
  return bytes;
}
