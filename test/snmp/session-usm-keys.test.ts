import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuthenticationProtocol, PrivacyProtocol, UsmCredential } from "../../src/snmp/index.ts";
import { decodeMessage, decodeScopedPdu } from "../../src/snmp/session/message-codec.ts";
import { hashAlgorithms } from "../../src/snmp/session/security.ts";
import { KeyCache } from "../../src/snmp/session/security.ts";
import { localizeKey, passphraseToKey, privacyKey } from "../../src/snmp/session/security.ts";
import { isMessageAuthentic } from "../../src/snmp/session/security.ts";
import { decrypt } from "../../src/snmp/session/security.ts";
import { fromHex, toHex } from "../support/snmp-bytes.ts";

const engineOfRfc = fromHex("000000000000000000000002");
const maplesyrup = Buffer.from("maplesyrup");

/** MD5 and SHA: RFC 3414 sections A.3.1 and A.3.2. The others: the same passphrase and engine through pysnmp 4.4.12. */
const keys = {
  md5: ["9faf3283884e92834ebc9847d8edd963", "526f5eed9fcce26f8964c2930787d82b"],
  sha: ["9fb5cc0381497b3793528939ff788d5d79145211", "6695febc9288e36282235fc7151f128497b38f3f"],
  sha224: [
    "282a5867ee9aac639ad59df9572c7d3ac0fbc13a905b6df07dbbf00b",
    "0bd8827c6e29f8065e08e09237f177e410f69b90e1782be682075674",
  ],
  sha256: [
    "ab51014d1e077f6017df2b12bee5f5aa72993177e9bb569c4dff5a4ca0b4afac",
    "8982e0e549e866db361a6b625d84cccc11162d453ee8ce3a6445c2d6776f0f8b",
  ],
  sha384: [
    "e06eccdf2c68a06ed034723c9c26e0db3b669e1e2efed49150b55377a2e98f383c86fb836857444654b287c93f51ff64",
    "3b298f16164a11184279d5432bf169e2d2a48307de02b3d3f7e2b4f36eb6f0455a53689a3937eea07319a633d2ccba78",
  ],
  sha512: [
    "7e4396de5aadc77be853819b98c9406265b3a9c37cc3176569847a4e4f6fba63dd3a73d04924d31a63f95a601f9385af6be4ed1b37f87d040f7c6ed6f8d38a91",
    "22a5a36cedfcc085807a128d7bc6c2382167ad6c0dbc5fdff856740f3d84c099ad1ea87a8db096714d9788bd544047c9021e4229ce27e4c0a69250adfcffbb0b",
  ],
} as const;

for (const [protocol, [userKey, localized]] of Object.entries(keys)) {
  test(`key of a passphrase, and localised: ${protocol}`, () => {
    const algorithm = hashAlgorithms[protocol as keyof typeof keys];
    const key = passphraseToKey(algorithm, maplesyrup);
    assert.equal(toHex(key), userKey);
    assert.equal(toHex(localizeKey(algorithm, key, engineOfRfc)), localized);
  });
}

/** Extended keys where the hash is shorter than the key, through pysnmp 4.4.12. */
const extended: readonly (readonly [keyof typeof keys, Exclude<PrivacyProtocol, "nopriv">, string])[] = [
  ["md5", "des", "526f5eed9fcce26f8964c2930787d82b"],
  ["sha", "aes", "6695febc9288e36282235fc7151f1284"],
  ["md5", "aes192", "526f5eed9fcce26f8964c2930787d82bfa24a92467426c2f"],
  ["md5", "aes256", "526f5eed9fcce26f8964c2930787d82bfa24a92467426c2f4b09192be10dfaec"],
  ["md5", "aes192c", "526f5eed9fcce26f8964c2930787d82b79eff44a90650ee0"],
  ["md5", "aes256c", "526f5eed9fcce26f8964c2930787d82b79eff44a90650ee0a3a40abfac5acc12"],
  ["sha", "aes192", "6695febc9288e36282235fc7151f128497b38f3f505e07eb"],
  ["sha", "aes256", "6695febc9288e36282235fc7151f128497b38f3f505e07eb9af25568fa1f5dbe"],
  ["sha", "aes192c", "6695febc9288e36282235fc7151f128497b38f3f9b8b6d78"],
  ["sha", "aes256c", "6695febc9288e36282235fc7151f128497b38f3f9b8b6d78936ba6e7d19dfd9c"],
  ["sha224", "aes256", "0bd8827c6e29f8065e08e09237f177e410f69b90e1782be682075674e82d9bf0"],
  ["sha224", "aes256c", "0bd8827c6e29f8065e08e09237f177e410f69b90e1782be68207567422c34be4"],
  ["sha256", "aes256", "8982e0e549e866db361a6b625d84cccc11162d453ee8ce3a6445c2d6776f0f8b"],
  ["sha512", "aes256c", "22a5a36cedfcc085807a128d7bc6c2382167ad6c0dbc5fdff856740f3d84c099"],
];

for (const [hash, protocol, expected] of extended) {
  test(`privacy key: ${hash} with ${protocol}`, () => {
    const algorithm = hashAlgorithms[hash];
    const key = privacyKey(algorithm, protocol, passphraseToKey(algorithm, maplesyrup), engineOfRfc);
    assert.equal(toHex(key), expected);
  });
}

/**
 * What `snmpget -v3 -e 80001f88800102030405060708 -u operator -A maplesyrup -X buckwheat … .1.3.6.1.2.1.1.5.0` of
 * net-snmp 5.9.3 sends, by its protocols.
 */
const messages: readonly (readonly [AuthenticationProtocol, PrivacyProtocol, string])[] = [
  [
    "md5",
    "nopriv",
    "307a020103301102045d4cf429020300ffe30401050201030431302f040d80001f8880010203040506070802010002010004086f70657261746f72040cb3c8b0e5a03f4fd15a81d0d00400302f040d80001f888001020304050607080400a01c02042bc38c1c020100020100300e300c06082b060102010105000500",
  ],
  [
    "sha",
    "nopriv",
    "307a0201033011020454eaea38020300ffe30401050201030431302f040d80001f8880010203040506070802010002010004086f70657261746f72040c911e900c8b3841d4a0ef0f400400302f040d80001f888001020304050607080400a01c02045de4b4a3020100020100300e300c06082b060102010105000500",
  ],
  [
    "sha224",
    "nopriv",
    "307e020103301102040215b713020300ffe304010502010304353033040d80001f8880010203040506070802010002010004086f70657261746f720410cf87bae61db2c5d3fa52c40589a2e2ee0400302f040d80001f888001020304050607080400a01c0204250ebb16020100020100300e300c06082b060102010105000500",
  ],
  [
    "sha256",
    "nopriv",
    "308186020103301102042fdc94d2020300ffe3040105020103043d303b040d80001f8880010203040506070802010002010004086f70657261746f72041811801be51eb0b16681fb002bc8c95776b987d493ed44eedc0400302f040d80001f888001020304050607080400a01c0204652cab77020100020100300e300c06082b060102010105000500",
  ],
  [
    "sha384",
    "nopriv",
    "30818e020103301102044d8efe6e020300ffe304010502010304453043040d80001f8880010203040506070802010002010004086f70657261746f7204205a0ee33a18b3bb6b068a5856cc33856468eaf09edd5199fe7a717a327ae012d70400302f040d80001f888001020304050607080400a01c020424ca2e45020100020100300e300c06082b060102010105000500",
  ],
  [
    "sha512",
    "nopriv",
    "30819e0201033011020420857e83020300ffe304010502010304553053040d80001f8880010203040506070802010002010004086f70657261746f72043098eba9d91780ac8571d88c34a3b021e71807113343a5a1052ac507e2e009c7955e538a02c2cc8cc83124b736759e04fa0400302f040d80001f888001020304050607080400a01c0204756a2c00020100020100300e300c06082b060102010105000500",
  ],
  [
    "sha",
    "des",
    "30818b02010330110204414b5d37020300ffe304010702010304393037040d80001f8880010203040506070802010002010004086f70657261746f72040c4ec28514409152a5ab7f778c040800000001c7f9ac7e0438884daae8ea110cb72b194e30ba81d18ee0ed96d6696c78590e7d8749e4a50fb3a91308a98c4f17c8b37f524d982cf780e08557c78eca3e61",
  ],
  [
    "sha",
    "aes",
    "3081840201033011020412640593020300ffe304010702010304393037040d80001f8880010203040506070802010002010004086f70657261746f72040c7d8f8d937cf4f391f707b14d0408fe00163db90008ad043130ee8cdf8ec599dd361db14d5cb2e2da768bbed4ddc011c7f48c4436f557afd18854c5dd14dd68cf91fee5cec7cc407082",
  ],
  [
    "sha",
    "aes192",
    "3081840201033011020434486cf9020300ffe304010702010304393037040d80001f8880010203040506070802010002010004086f70657261746f72040cc7b6cfef33ad3d006efedf380408ccf68a81dad3d1fc0431d9b05fc26c8592874187f5cac9d1f9cdf3826a3962b62fa868d556d7cb1af3a423c0094034a761491a117c8777788aaada",
  ],
  [
    "sha",
    "aes256",
    "308184020103301102047900ac32020300ffe304010702010304393037040d80001f8880010203040506070802010002010004086f70657261746f72040c9a44b40304cf4b50e42c7b6304088bf6ef4df7bc29a0043114f029caf066032cf4cbd7d5c21a7aeed2dd3fff4228733c7474a56a46ad742bd545c8fb9719f57e232f3a9a8caf2322cb",
  ],
  [
    "sha",
    "aes192c",
    "308184020103301102041e2cdecc020300ffe304010702010304393037040d80001f8880010203040506070802010002010004086f70657261746f72040cc8c4909ca8dc0669cd95e4ae0408ea19fffe7054fea204312950bad5a1857839fe33f043a2285e64c66dc986ecba226cbe6cf69efd0df2534b598ac6a6a212818e31b8f66060be4030",
  ],
  [
    "sha",
    "aes256c",
    "308184020103301102045db1a1ed020300ffe304010702010304393037040d80001f8880010203040506070802010002010004086f70657261746f72040c0744445357cd7bcb29c4383f04084f5d717977a0111504314c03ac12e44cee5e2d40b72a94f7d8c93aaedf6dd688119be1e56f99749b9e143563a765464d32503875a71ae30dde319e",
  ],
  [
    "md5",
    "aes256",
    "308184020103301102044c7e1e5b020300ffe304010702010304393037040d80001f8880010203040506070802010002010004086f70657261746f72040c61b79dedf00e4733cd346c470408444587efa9c41b840431c9dc30ef42b4f97e6c2d0c492281a2f2c054be77c6a91593388e4d5d85b22a18ad5ea26d9f631586ba3cf1525b015fc50c",
  ],
  [
    "md5",
    "aes256c",
    "308184020103301102042d329b70020300ffe304010702010304393037040d80001f8880010203040506070802010002010004086f70657261746f72040ce03a44c2006795ab5bb643e70408ddc8822a8b3931a60431161239daa2f85fe5632df01eef2f91712b89693d42ac08c3e2a8d43d0298966f965d11b612dfe920f51ec98df458827eeb",
  ],
  [
    "sha512",
    "aes256",
    "3081a80201033011020444925eb0020300ffe3040107020103045d305b040d80001f8880010203040506070802010002010004086f70657261746f7204309b4d35842b65c6c80f9722fe610666f1b846f98905d47f17726684dfc1dab286f8e342d24ef88a47402a1f1bcccd940904088e30517da4f659f80431ae5fc4fcfee4fae478e75a1b45c61e15552b598a1994cf8929894f284ea0f336613d745b651491ee52d2fcfce11c9f6fbc",
  ],
];

const cache = new KeyCache();
for (const [authenticationProtocol, privacyProtocol, hex] of messages) {
  test(`a message of net-snmp is authentic and can be read: ${authenticationProtocol}, ${privacyProtocol}`, () => {
    const credential: UsmCredential = {
      version: "3",
      username: "operator",
      authenticationProtocol,
      authenticationPassphrase: "maplesyrup",
      privacyProtocol,
      privacyPassphrase: "buckwheat",
    };
    const datagram = fromHex(hex);
    const message = decodeMessage(datagram);
    assert.ok(message.version === 3 && message.isAuthenticated && message.isReportable);
    const { authentication, privacy } = cache.keysFor(credential, message.engineId);
    assert.ok(authentication !== undefined);
    const isAuthentic = (bytes: Uint8Array): boolean =>
      isMessageAuthentic(authentication.algorithm, authentication.key, bytes, message.mac);
    assert.ok(isAuthentic(datagram));
    for (let i = 0; i < datagram.length; i += 7) {
      assert.ok(!isAuthentic(datagram.map((octet, j) => (j === i ? octet ^ 1 : octet))), `byte ${i} changed`);
    }
    const plain =
      privacy === undefined
        ? message.data
        : decrypt(privacy, message.boots, message.time, message.privacyParameters, message.data);
    const { contextEngineId, pdu } = decodeScopedPdu(plain);
    assert.equal(toHex(contextEngineId), "80001f88800102030405060708");
    assert.equal(pdu.type, "get");
    assert.deepEqual(pdu.varbinds, [{ oid: [1, 3, 6, 1, 2, 1, 1, 5, 0], type: "Null", value: null }]);
  });
}

test("keys are derived once for a passphrase and once for an engine, and the least used forgotten", () => {
  const credential: UsmCredential = {
    version: "3",
    username: "operator",
    authenticationProtocol: "sha",
    authenticationPassphrase: "maplesyrup",
    privacyProtocol: "aes",
    privacyPassphrase: "buckwheat",
  };
  const small = new KeyCache(6);
  const first = small.keysFor(credential, engineOfRfc);
  assert.equal(small.keysFor(credential, engineOfRfc).privacy?.key, first.privacy?.key);
  for (let i = 0; i < 8; i++) small.keysFor(credential, Uint8Array.of(1, 2, 3, 4, i));
  const again = small.keysFor(credential, engineOfRfc);
  assert.notEqual(again.privacy?.key, first.privacy?.key);
  assert.deepEqual(again, first);
});
