import assert from "node:assert/strict";
import { test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { listJsonPieces, listPieces, listSize, shortListBytes, textsOf } from "../../src/api/proto/list-message.ts";
import { readKeyRequest } from "../../src/api/proto/read-key-request.ts";
import {
  DeleteUdmRequestSchema,
  ListUdmKeysResponseSchema,
  ListUdmsRequestSchema,
  ListUdmsResponseSchema,
} from "../../src/api/gen/udm/v1/udm_pb.ts";
import { toUdmMessage } from "../../src/api/rpc/udm-messages.ts";
import { compareKeys, parseKey } from "../../src/ip/index.ts";
import { udmJson, type UdmEntry } from "../../src/udm/index.ts";
import { buildIndex } from "../support/shared-index.ts";
import { denseKeyText } from "../support/udm-entry.ts";
import { anyValues } from "../support/udm-write-arbitrary.ts";
import { runs } from "../support/runs.ts";

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
  fc.string({ unit: "binary", minLength: 1, maxLength: 3 }),
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
      const json = entries.reduce((sum, entry) => sum + Buffer.byteLength(udmJson(entry)), 0);
      const kept = { [Symbol.iterator]: () => index.jsonTexts("all", portion) };
      for (const texts of [kept, textsOf(entries)]) {
        for (const items of ["udms", "keys"] as const) {
          const list = { texts, items };
          assert.equal(Buffer.compare(Buffer.concat([...listPieces(list)]), expected[items]), 0);
          assert.equal(await listSize(list, () => true), expected[items].length);
          const short = shortListBytes(list, 5);
          assert.equal(short === undefined, json > 32_768);
          if (short !== undefined) assert.equal(Buffer.compare(short.subarray(5), expected[items]), 0);
        }
        const inJson = JSON.parse(Buffer.concat([...listJsonPieces({ texts, items: "udms" })]).toString()) as unknown;
        assert.deepEqual(inJson, entries.length === 0 ? {} : { udms: entries.map((one) => JSON.parse(udmJson(one))) });
        const keys = Buffer.concat([...listJsonPieces({ texts, items: "keys" })]).toString();
        assert.equal(keys, entries.length === 0 ? "{}" : JSON.stringify({ keys: entries.map(({ key }) => key.text) }));
      }
    }),
    runs(100),
  );
});

test("a request is read as the protobuf library reads it, or not at all", () => {
  const anyPlain = fc
    .record({
      key: fc.oneof(denseKeyText, fc.string(), fc.string({ minLength: 120, maxLength: 140 })),
      exact: fc.boolean(),
    })
    .map((request) => toBinary(ListUdmsRequestSchema, create(ListUdmsRequestSchema, request)));
  const tokens = fc.constantFrom(
    [0x0a],
    [0x10],
    [0],
    [1],
    [2],
    [0x0a, 1, 0x31],
    [0x0a, 0],
    [0x10, 1],
    [0x80],
    [0x12],
    [0xff],
  );
  const anyBytes = fc.oneof(
    anyPlain,
    fc.uint8Array({ maxLength: 8 }),
    fc.array(tokens, { maxLength: 6 }).map((parts) => Uint8Array.from(parts.flat())),
    fc.tuple(anyPlain, fc.nat(12)).map(([bytes, cut]) => bytes.subarray(0, Math.max(0, bytes.length - cut))),
  );
  let read = 0;
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      const request = readKeyRequest(bytes);
      if (request === undefined) return;
      read++;
      const { key, exact } = fromBinary(ListUdmsRequestSchema, bytes);
      assert.deepEqual(request, { key, exact });
      assert.equal(fromBinary(DeleteUdmRequestSchema, bytes).key, key);
    }),
    runs(1500),
  );
  assert.ok(read > 300, `only ${read} were read`);
});
