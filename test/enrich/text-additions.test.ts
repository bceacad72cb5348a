import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createMetadataNames, makeAdditions } from "../../src/enrich/additions.ts";
import { addressOf } from "../../src/enrich/address-words.ts";
import { enrichedObjects, type EnrichedObject } from "../../src/enrich/enriched-object.ts";
import { createTextAdditions } from "../../src/enrich/text-additions.ts";
import type { MadeAdditions } from "../../src/enrich/stored-additions.ts";
import { openSharedIndex, createSharedIndex, type UdmEntry, type UdmIndex } from "../../src/udm/index.ts";
import { buildIndex } from "../support/shared-index.ts";
import { denseKeyText, udmEntry } from "../support/udm-entry.ts";
import { runs } from "../support/runs.ts";

const text = fc.oneof(
  fc.constantFrom("prod", "db", 'a"b', "back\\", '","tags":["', "ü", "\u0001", "\ud800", "]}", ""),
  fc.string({ unit: "grapheme", maxLength: 8 }),
);
const metadataKey = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      ".site",
      ".rack",
      ".rack-b",
      ".owner",
      ".tenant",
      ".a",
      ".b",
      ".z",
      `.${"x".repeat(40)}`,
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ".rack.unit",
      ".rack.unit.side",
      ".ü",
      ".ip.addr",
      "plain",
      ".q\\",
      "10",
      `.${"y".repeat(70)}`,
    ),
  },
);
const contexts = fc.constantFrom(undefined, undefined, undefined, undefined, ["endpoint"] as const, [] as const);
const entry: fc.Arbitrary<UdmEntry> = fc
  .record({
    key: denseKeyText,
    name: fc.oneof(fc.constant(""), text),
    tags: fc.array(text, { maxLength: 4 }),
    vlan: fc.oneof(fc.constant(0n), fc.bigInt(0n, 2n ** 64n - 1n)),
    internal: fc.boolean(),
    metadata: fc.dictionary(metadataKey, text, { maxKeys: 3 }),
    contexts,
    yaml: fc.boolean(),
  })
  .map(({ key, contexts: limited, yaml, ...values }) =>
    udmEntry(key, {
      ...values,
      ...(limited !== undefined && { fileOnly: { contexts: limited, yaml: "  contexts: []\n" } }),
      ...(yaml && { fileOnly: { yaml: "  owner: é\n" } }),
    }),
  );

type Words = readonly [a: number, b: number, c: number, d: number];

const nameOf = createMetadataNames();

/** What an address adds by way of objects, as the enricher has it. */
function byEntries(index: UdmIndex, position: number, words: Words, scope: "public" | undefined) {
  const object = enrichedObjects[position] as EnrichedObject;
  return makeAdditions({ entries: index.covering(addressOf(...words)), facts: [], scope }, object, nameOf);
}

const told = (made: MadeAdditions | undefined): unknown =>
  made && {
    withVlan: Buffer.from(made.rendered?.withVlan ?? []).toString(),
    withoutVlan: Buffer.from(made.rendered?.withoutVlan ?? []).toString(),
    hasMetadata: made.hasMetadata,
    locality: made.locality,
  };

test("texts add what the entries that they are of add, or nothing is made of them", () => {
  const fromTexts = createTextAdditions();
  let plain = 0;
  fc.assert(
    fc.property(
      fc.uniqueArray(entry, { selector: ({ key }) => key.text, maxLength: 25 }),
      fc.constantFrom(undefined, "public" as const),
      (entries, scope) => {
        const index = buildIndex(entries);
        for (let n = 0; n < 64; n += 7) {
          const addresses: readonly Words[] = [
            [0, 0, 0xffff, (10 << 24) + n],
            [0x20010db8, 0, 0, n],
          ];
          for (const words of addresses) {
            for (let position = 0; position < 3; position++) {
              const made = index.texts(...words, (texts) => fromTexts(position, texts, scope));
              if (made === undefined) continue;
              plain++;
              const expected = byEntries(index, position, words, scope);
              assert.ok(expected?.isPlain ?? true);
              assert.deepEqual(told(made), {
                withVlan: Buffer.from(expected?.rendered?.withVlan ?? []).toString(),
                withoutVlan: Buffer.from(expected?.rendered?.withoutVlan ?? []).toString(),
                hasMetadata: expected?.hasMetadata ?? false,
                locality: expected?.locality,
              });
            }
          }
        }
      },
    ),
    runs(100),
  );
  assert.ok(plain > 1000);
});

test("what is usual is made of texts; what would need a look at the record is not", () => {
  const fromTexts = createTextAdditions();
  const made = (...entries: UdmEntry[]): unknown =>
    told(buildIndex(entries).texts(0, 0, 0xffff, (10 << 24) + 9, (texts) => fromTexts(0, texts, undefined)));
  const net = udmEntry("10.0.0.0/8", { name: "net", tags: ["a"], metadata: { ".site": "x" } });
  const usual = made(
    net,
    udmEntry("10.0.0.9/24", { tags: ["b", "a"], vlan: 7n, metadata: { ".rack": "r" } }),
    udmEntry("10.0.0.9", { internal: true }),
  );
  const fields =
    ',"flow.src.ip.subnet.name":"net","flow.src.ip.subnet.tags":["b","a"],"flow.src.isInternal":true,"flow.src.rack":"r","flow.src.site":"x"';
  assert.deepEqual(usual, {
    withVlan: `${fields},"flow.src.vlan.tag.id":7`,
    withoutVlan: fields,
    hasMetadata: true,
    locality: undefined,
  });
  assert.deepEqual(made(), { withVlan: "", withoutVlan: "", hasMetadata: false, locality: undefined });
  const refused: Record<string, UdmEntry[]> = {
    "a range": [udmEntry("10.0.0.0-10.0.0.20", { name: "r" })],
    "a limit to contexts": [udmEntry("10.0.0.9", { fileOnly: { contexts: ["endpoint"], yaml: "" } })],
    "a field of the record": [udmEntry("10.0.0.9", { metadata: { site: "x" } })],
    "a decoder's name": [udmEntry("10.0.0.9", { metadata: { ".port.x": "x" } })],
    "a group and a value": [net, udmEntry("10.0.0.9", { metadata: { ".site.name": "x" } })],
    "more than fits": [
      udmEntry("10.0.0.9", { metadata: { ".a": "x".repeat(4000), ".b": "x".repeat(4000), ".c": "x".repeat(400) } }),
    ],
    "very many tags": [udmEntry("10.0.0.9", { tags: Array.from({ length: 65 }, (_, n) => `${n}`) })],
    "very many entries": Array.from({ length: 17 }, (_, n) => udmEntry(`10.0.0.9/${n + 10}`, { name: `${n}` })),
  };
  for (const [what, entries] of Object.entries(refused)) assert.equal(made(...entries), undefined, what);
});

test("more keys than have numbers go the long way, those that have one stay", () => {
  const fromTexts = createTextAdditions();
  const made = (key: string): unknown =>
    told(
      buildIndex([udmEntry("10.0.0.9", { metadata: { [key]: "x" } })]).texts(0, 0, 0xffff, (10 << 24) + 9, (texts) =>
        fromTexts(1, texts, undefined),
      ),
    );
  for (let n = 0; n < 256; n++) assert.notEqual(made(`.key${n}`), undefined);
  assert.equal(made(".another"), undefined);
  assert.notEqual(made(".key7"), undefined);
});

test("a reader in a thread gives texts, and none before the first state", () => {
  const shared = createSharedIndex({ maxEntries: 10 });
  const reader = openSharedIndex(shared.handle());
  const count = (): number | undefined => reader.texts(0x20010db8, 0, 0, 1, (texts) => texts.count);
  assert.equal(count(), undefined);
  const edit = shared.empty().edit();
  edit.put(udmEntry("2001:db8::/32"));
  edit.put(udmEntry("::/0"));
  shared.publish(edit.done());
  assert.equal(count(), 2);
  assert.throws(() => reader.texts(0x20010db8, 0, 0, 1, () => assert.fail("out")), /out/);
  assert.equal(shared.stats().activeReaders, 0);
  reader.close();
  assert.throws(() => count(), /closed/);
});
