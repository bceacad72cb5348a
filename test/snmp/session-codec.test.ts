import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { decodeMessage, encodeCommunityMessage } from "../../src/snmp/session/message-codec.ts";
import { readPduRest, type Pdu } from "../../src/snmp/session/message-codec.ts";
import { formatOid, isOid, parseOid, type Oid, type VarBind } from "../../src/snmp/index.ts";
import { fromHex, responseWith, toHex } from "../support/snmp-bytes.ts";
import { runs } from "../support/runs.ts";

function readPdu(datagram: Uint8Array): Pdu {
  const message = decodeMessage(datagram);
  assert.ok(message.version !== 3);
  return readPduRest(message.pdu);
}

function readValue(value: string, name?: string): VarBind {
  const [varbind] = readPdu(responseWith(value, { name })).varbinds;
  assert.ok(varbind !== undefined);
  return varbind;
}

test("a message is the bytes that RFC 1157 and X.690 give it", () => {
  // What `snmpget -v2c -c public … sysName.0` of net-snmp 5.9.3 sends, with request id 0x11a2b3c4.
  const bytes = fromHex(
    "30 29 02 01 01 04 06 70 75 62 6c 69 63 a0 1c 02 04 11 a2 b3 c4 02 01 00 02 01 00 30 0e 30 0c 06 08 2b 06 01 02 01 01 05 00 05 00",
  );
  const pdu: Pdu = {
    type: "get",
    requestId: 0x11a2b3c4,
    errorStatus: 0,
    errorIndex: 0,
    varbinds: [{ oid: [1, 3, 6, 1, 2, 1, 1, 5, 0], type: "Null", value: null }],
  };
  assert.equal(toHex(encodeCommunityMessage(1, Buffer.from("public"), pdu)), toHex(bytes));
  assert.equal(decodeMessage(bytes).id, 0x11a2b3c4);
  assert.deepEqual(readPdu(bytes), pdu);
});

const accepted: readonly (readonly [string, string, VarBind["type"], VarBind["value"]])[] = [
  ["zero", "02 01 00", "Integer32", 0],
  ["the least integer", "02 04 80 00 00 00", "Integer32", -2_147_483_648],
  ["the greatest integer", "02 04 7f ff ff ff", "Integer32", 2_147_483_647],
  ["minus one", "02 01 ff", "Integer32", -1],
  ["an integer padded to eight octets", "02 08 00 00 00 00 00 00 00 05", "Integer32", 5],
  ["a negative integer padded to five octets", "02 05 ff ff ff ff fe", "Integer32", -2],
  ["a length of the long form", "02 81 01 07", "Integer32", 7],
  ["a length of four octets", "02 84 00 00 00 01 07", "Integer32", 7],
  ["the greatest counter", "41 05 00 ff ff ff ff", "Counter32", 4_294_967_295],
  ["a counter without its leading zero", "41 04 ff ff ff fe", "Counter32", 4_294_967_294],
  ["a gauge", "42 02 01 00", "Gauge32", 256],
  ["a UInteger32 of RFC 1442", "47 01 09", "Gauge32", 9],
  ["a counter with its top bit set in one octet", "41 01 ff", "Counter32", 255],
  ["content in a null", "05 01 00", "Null", null],
  ["content in an exception", "82 01 00", "endOfMibView", null],
  ["a padded sub-identifier", "06 03 2b 80 01", "ObjectIdentifier", [1, 3, 1]],
  ["a Counter64 with its top bit set in one octet", "46 01 80", "Counter64", 128n],
  ["time ticks", "43 03 01 00 00", "TimeTicks", 65_536],
  ["the greatest Counter64", "46 09 00 ff ff ff ff ff ff ff ff", "Counter64", 18_446_744_073_709_551_615n],
  ["a Counter64 without its leading zero", "46 08 ff ff ff ff ff ff ff fe", "Counter64", 18_446_744_073_709_551_614n],
  ["a Counter64 beyond 2^53", "46 07 20 00 00 00 00 00 01", "Counter64", 9_007_199_254_740_993n],
  ["a small Counter64", "46 01 7f", "Counter64", 127n],
  ["an empty octet string", "04 00", "OctetString", Uint8Array.of()],
  ["an octet string", "04 03 00 ff 41", "OctetString", Uint8Array.of(0, 255, 65)],
  ["an address", "40 04 c0 00 02 01", "IpAddress", Uint8Array.of(192, 0, 2, 1)],
  ["an opaque float", "44 07 9f 78 04 41 20 00 00", "Opaque", fromHex("9f780441200000")],
  ["null", "05 00", "Null", null],
  ["noSuchObject", "80 00", "noSuchObject", null],
  ["noSuchInstance", "81 00", "noSuchInstance", null],
  ["endOfMibView", "82 00", "endOfMibView", null],
  ["an object identifier", "06 03 2b 06 01", "ObjectIdentifier", [1, 3, 6, 1]],
  ["an object identifier of arc 2 with a big second part", "06 02 88 37", "ObjectIdentifier", [2, 999]],
  ["the greatest sub-identifier", "06 06 2b 8f ff ff ff 7f", "ObjectIdentifier", [1, 3, 4_294_967_295]],
  ["an empty object identifier", "06 00", "ObjectIdentifier", [0, 0]],
  ["an unknown type", "45 02 01 02", "Unknown", fromHex("45020102")],
];

for (const [what, bytes, type, value] of accepted) {
  test(`value read: ${what}`, () => {
    const varbind = readValue(bytes);
    assert.equal(varbind.type, type);
    if (value instanceof Uint8Array) assert.equal(toHex(varbind.value as Uint8Array), toHex(value));
    else assert.deepEqual(varbind.value, value);
  });
}

/** By what is odd about them. net-snmp throws the whole message away for these, but for some that it takes for another number. */
const leftOut: readonly (readonly [string, string, string])[] = [
  ["an empty integer", "02 00", "empty"],
  ["an integer of ten octets", "02 0a 00 00 00 00 00 00 00 00 00 01", "width"],
  ["an integer of 33 bits", "02 05 01 00 00 00 00", "width"],
  ["a gauge of 33 bits", "42 05 01 00 00 00 00", "width"],
  ["an empty gauge", "42 00", "empty"],
  ["a negative Counter64 of nine octets", "46 09 ff 00 00 00 00 00 00 00 00", "width"],
  ["a Counter64 of 65 bits", "46 09 01 00 00 00 00 00 00 00 00", "width"],
  ["a Counter64 of ten octets", "46 0a 00 00 00 00 00 00 00 00 00 01", "width"],
  ["an empty Counter64", "46 00", "empty"],
  ["an indefinite length", "04 80 41 00 00", "length"],
  ["a length of five octets", "04 85 00 00 00 00 01 41", "length"],
  ["a length beyond the end", "04 7f 41", "length"],
  ["a length of 4 GiB", "04 84 ff ff ff ff 41", "length"],
  ["a sub-identifier of 33 bits", "06 06 2b 90 80 80 80 00", "oid"],
  ["an endless sub-identifier", `06 20 2b ${"ff ".repeat(30)} 7f`, "oid"],
  ["an object identifier cut off", "06 02 2b 86", "oid"],
  ["129 sub-identifiers", `06 81 80 2b ${"01 ".repeat(127)}`, "oid"],
  ["a constructed value", "30 02 05 00", "tag"],
  ["a tag of the long form", "1f 81 01 00", "tag"],
  ["a second value", "05 00 05 00", "length"],
  ["no value", "", "length"],
];

for (const [what, bytes, fault] of leftOut) {
  test(`value left out: ${what}`, () => {
    const { varbinds, faults } = readPdu(responseWith(bytes));
    assert.deepEqual(varbinds, [{ oid: [1, 3, 6, 1, 2, 1, 1, 5, 0], type: "Malformed", value: null }]);
    assert.deepEqual(faults, [fault]);
  });
}

// What snmpget of net-snmp 5.9.3 shows.
const cut: readonly (readonly [string, string, VarBind["type"], number])[] = [
  ["a counter of 33 bits", "41 05 01 00 00 00 07", "Counter32", 7],
  ["a counter of minus one in five octets", "41 05 ff ff ff ff ff", "Counter32", 4_294_967_295],
  ["a counter with its sign in eight octets", "41 08 ff ff ff ff 80 00 00 01", "Counter32", 2_147_483_649],
  ["a counter of nine octets", "41 09 00 00 00 00 01 00 00 00 05", "Counter32", 5],
  ["time ticks of 33 bits", "43 05 01 00 00 00 07", "TimeTicks", 7],
];

for (const [what, bytes, type, value] of cut) {
  test(`value cut to 32 bits: ${what}`, () => {
    const { varbinds, faults } = readPdu(responseWith(bytes));
    assert.deepEqual(varbinds, [{ oid: [1, 3, 6, 1, 2, 1, 1, 5, 0], type, value }]);
    assert.deepEqual(faults, ["cut"]);
  });
}

test("a name that is no object identifier costs the message", () => {
  assert.throws(() => readValue("05 00", `06 81 80 2b ${"01 ".repeat(127)}`), {
    name: "DecodeError",
    message: /more than 128/,
  });
  assert.throws(() => readValue("05 00", "06 06 2b 90 80 80 80 00"), {
    name: "DecodeError",
    message: /beyond 32 bits/,
  });
});

test("128 sub-identifiers are read, as a value and as a name", () => {
  const oid = `06 7f 2b ${"01 ".repeat(126)}`;
  assert.deepEqual(readValue(oid).value, [1, 3, ...Array<number>(126).fill(1)]);
  assert.equal(readValue("05 00", oid).oid.length, 128);
});

test("bytes after the message are refused, and a message that ends early", () => {
  const datagram = responseWith("02 01 05");
  assert.throws(() => decodeMessage(Buffer.concat([datagram, Uint8Array.of(0)])), { name: "DecodeError" });
  for (let length = 0; length < datagram.length; length++) {
    assert.throws(() => decodeMessage(datagram.subarray(0, length)), { name: "DecodeError" });
  }
});

test("values outlive the datagram that they came in", () => {
  const datagram = responseWith("04 02 41 42");
  const [varbind] = readPdu(datagram).varbinds;
  datagram.fill(0);
  assert.equal(toHex(varbind?.value as Uint8Array), "4142");
});

const oids: fc.Arbitrary<Oid> = fc
  .tuple(
    fc.oneof(
      fc.tuple(fc.integer({ min: 0, max: 1 }), fc.integer({ min: 0, max: 39 })),
      fc.tuple(fc.constant(2), fc.nat(0xffffffff)),
    ),
    fc.array(fc.oneof(fc.nat(300), fc.nat(0xffffffff)), { maxLength: 126 }),
  )
  .map(([front, rest]) => (front as number[]).concat(rest));
const edges = fc.constantFrom(0, 127, 128, 255, 256, 0x7fffffff, 0x80000000, 0xffffffff);
const values = fc.oneof(
  fc.record({ type: fc.constant("Integer32"), value: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }) }),
  fc.record({ type: fc.constantFrom("Counter32", "Gauge32", "TimeTicks"), value: fc.oneof(fc.nat(0xffffffff), edges) }),
  fc.record({ type: fc.constant("Counter64"), value: fc.bigInt(0n, 2n ** 64n - 1n) }),
  fc.record({ type: fc.constantFrom("OctetString", "IpAddress", "Opaque"), value: fc.uint8Array({ maxLength: 300 }) }),
  fc.record({ type: fc.constant("ObjectIdentifier"), value: oids }),
  fc.record({
    type: fc.constantFrom("Null", "noSuchObject", "noSuchInstance", "endOfMibView"),
    value: fc.constant(null),
  }),
);
const pdus: fc.Arbitrary<Pdu> = fc.record({
  type: fc.constantFrom("get" as const, "getNext" as const, "getBulk" as const, "response" as const, "report" as const),
  requestId: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  errorStatus: fc.nat(0x7fffffff),
  errorIndex: fc.nat(0x7fffffff),
  varbinds: fc.array(
    fc.tuple(oids, values).map(([oid, value]) => Object.assign({ oid }, value)),
    { maxLength: 20 },
  ),
});

test("what is written is read back the same", () => {
  const versions = fc.constantFrom(0 as const, 1 as const);
  fc.assert(
    fc.property(pdus, versions, fc.uint8Array({ maxLength: 40 }), (pdu, version, community) => {
      const message = decodeMessage(encodeCommunityMessage(version, community, pdu));
      assert.ok(message.version !== 3);
      assert.equal(message.version, version);
      assert.equal(toHex(message.community), toHex(community));
      assert.deepEqual(plain(readPduRest(message.pdu)), plain(pdu));
    }),
    runs(300),
  );
});

/** Bytes as hex, because a Buffer and a Uint8Array of the same bytes are not the same to deepEqual. */
function plain(pdu: Pdu): unknown {
  const varbinds = pdu.varbinds.map(({ oid, type, value }) => ({
    oid,
    type,
    value: value instanceof Uint8Array ? toHex(value) : value,
  }));
  return { ...pdu, varbinds };
}

test("object identifiers in text form", () => {
  fc.assert(
    fc.property(oids, (oid) => assert.deepEqual(parseOid(formatOid(oid)), oid)),
    runs(200),
  );
  assert.deepEqual(parseOid("1.3.6"), [1, 3, 6]);
  const bad = ["", ".", "1", ".1", "1..3", "1.3.", "1.03", "3.1", "1.40", "1.3.4294967296", "1.3.-1", "1.3.x", " 1.3"];
  for (const text of bad) assert.equal(parseOid(text), undefined, text);
  assert.equal(isOid([1, 3, 1.5]), false);
  assert.equal(isOid([1, 3, ...Array<number>(127).fill(1)]), false);
});
