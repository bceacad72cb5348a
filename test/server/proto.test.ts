import assert from "node:assert/strict";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { listOf, listOfEntries } from "../../src/server/udm/udm-service.ts";
import { listChunks, listSize, shortListBytes, listAnswer } from "../../src/server/methods/udm-methods.ts";
import {
  ListUdmKeysResponseSchema,
  ListUdmsResponseSchema,
  UdmSchema,
  type Udm,
} from "../../src/server/gen/udm/v1/udm_pb.ts";
import { compareKeys, parseKey } from "../../src/base/ip/index.ts";
import { udmJson, type UdmEntry } from "../../src/metadata/index.ts";
import { buildIndex } from "../support/shared-index.ts";
import { denseKeyText } from "../support/udm-entry.ts";
import { anyValues } from "../support/udm-write-arbitrary.ts";
import { runs } from "../support/runs.ts";
import { anyCharacter } from "../support/any-character.ts";

/** The entry as a message of the schema. */
function toUdmMessage({ key, name, tags, vlan, internal, metadata }: UdmEntry): Udm {
  const message = create(UdmSchema, { key: key.text, name, tags: [...tags], vlan, internal });
  // Without a prototype `__proto__` is a key like any other.
  message.metadata = Object.assign(Object.create(null), Object.fromEntries(metadata)) as Record<string, string>;
  return message;
}

/** The library has names like `10` first, ours as they came. */
const hasNumberName = ({ metadata }: UdmEntry): boolean => [...metadata.keys()].some((name) => /^\d+$/.test(name));

const anyEntry: fc.Arbitrary<UdmEntry> = fc
  .tuple(denseKeyText, anyValues, fc.integer({ min: 1, max: 40 }))
  .map(([key, values, times]) => Object.assign({}, values, { name: values.name.repeat(times), key: parseKey(key) }))
  .filter((entry) => !hasNumberName(entry));

/** Lengths on both sides of those that take a byte more. */
const anyRepeats = fc.oneof(
  fc.integer({ min: 1, max: 40 }),
  fc.integer({ min: 120, max: 132 }),
  fc.constantFrom(16_380, 16_384, 20_000),
);

const anyUnit = fc.oneof(
  fc.constantFrom("a", "é", "日", "😀", '"', "\\", "/", "\n", "\u0000", "\u001f", "\u007f", "\ud800", "\udc00"),
  fc.string({ unit: anyCharacter, minLength: 1, maxLength: 3 }),
);

const anyLongText = fc.tuple(anyUnit, anyRepeats).map(([unit, times]) => unit.repeat(times));

/** Entries of different keys in list order, any values. */
const anyEntries: fc.Arbitrary<readonly UdmEntry[]> = fc
  .array(
    fc
      .tuple(anyEntry, fc.option(anyLongText), fc.option(fc.tuple(anyLongText, anyLongText)))
      .map(([entry, text, pair]) =>
        Object.assign(
          {},
          entry,
          text === null ? {} : { tags: [...entry.tags, text, "", text.slice(0, 127)] },
          pair === null ? {} : { metadata: new Map([...entry.metadata, pair]) },
        ),
      ),
    { maxLength: 12 },
  )
  .map((entries) => {
    const named = entries.filter((one) => !hasNumberName(one)).map((one) => [one.key.text, one] as const);
    return Array.from(new Map(named).values()).toSorted((a, b) => compareKeys(a.key, b.key));
  });

test("lists are written as the protobuf library writes them, at once and in pieces", async () => {
  await fc.assert(
    fc.asyncProperty(anyEntries, fc.integer({ min: 1, max: 60_000 }), async (entries, portion) => {
      const index = buildIndex(entries);
      const expected = {
        udms: toBinary(ListUdmsResponseSchema, create(ListUdmsResponseSchema, { udms: entries.map(toUdmMessage) })),
        keys: toBinary(
          ListUdmKeysResponseSchema,
          create(ListUdmKeysResponseSchema, { keys: entries.map(({ key }) => key.text) }),
        ),
      };
      const texts = entries.map(udmJson);
      const json = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      const shownAs = {
        udms: texts.map((text): unknown => JSON.parse(text)),
        keys: entries.map(({ key }) => key.text),
      };
      for (const whole of [listOf(index, "all"), listOfEntries(entries)]) {
        const inPortions = { texts: () => index.jsonTexts("all", portion) };
        for (const items of ["udms", "keys"] as const) {
          for (const from of [whole, inPortions]) {
            const list = { list: from, items };
            assert.equal(Buffer.compare(Buffer.concat([...listChunks(list)]), expected[items]), 0);
            assert.equal(await listSize(list, () => true), expected[items].length);
            const short = shortListBytes(list, 5);
            assert.equal(short === undefined, json > 32_768);
            if (short !== undefined) assert.equal(Buffer.compare(short.subarray(5), expected[items]), 0);
          }
          const text = listAnswer(whole, items).encode("json");
          const isLong = typeof text !== "string" && !Buffer.isBuffer(text);
          const shown = isLong ? Buffer.concat([...text.chunks()]).toString() : String(text);
          if (isLong) assert.equal(await text.size(() => true), Buffer.byteLength(shown));
          assert.deepEqual(JSON.parse(shown), entries.length === 0 ? {} : { [items]: shownAs[items] });
        }
      }
    }),
    runs(30),
  );
});
