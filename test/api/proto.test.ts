import assert from "node:assert/strict";
import { test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { listPieces, listSize, shortListBytes, udmItem } from "../../src/api/proto/list-message.ts";
import { readKeyRequest } from "../../src/api/proto/read-key-request.ts";
import {
  DeleteUdmRequestSchema,
  ListUdmsRequestSchema,
  ListUdmsResponseSchema,
} from "../../src/api/gen/udm/v1/udm_pb.ts";
import { toUdmMessage } from "../../src/api/rpc/udm-messages.ts";
import { parseKey } from "../../src/ip/index.ts";
import type { UdmEntry } from "../../src/udm/index.ts";
import { denseKeyText } from "../support/udm-entry.ts";
import { anyValues } from "../support/udm-write-arbitrary.ts";

/** The library has names like `10` first, ours as they came. */
const hasNumberName = ({ metadata }: UdmEntry): boolean => [...metadata.keys()].some((name) => /^\d+$/.test(name));

const anyEntry: fc.Arbitrary<UdmEntry> = fc
  .tuple(denseKeyText, anyValues, fc.integer({ min: 1, max: 40 }))
  .map(([key, values, times]) => Object.assign({}, values, { name: values.name.repeat(times), key: parseKey(key) }))
  .filter((entry) => !hasNumberName(entry));

test("lists are written as the protobuf library writes them, at once and in pieces", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyEntry, { maxLength: 8 }), fc.integer({ min: 1, max: 200 }), async (some, times) => {
      const entries = Array.from({ length: times }, () => some).flat();
      const list = { entries, item: udmItem };
      const expected = toBinary(
        ListUdmsResponseSchema,
        create(ListUdmsResponseSchema, { udms: entries.map(toUdmMessage) }),
      );
      const pieces = Array.from(listPieces(list));
      assert.equal(Buffer.compare(Buffer.concat(pieces), expected), 0);
      assert.equal(await listSize(list, () => true), expected.length);
      const short = shortListBytes(list, 5);
      assert.equal(short === undefined, expected.length > 32_768);
      if (short !== undefined) assert.equal(Buffer.compare(short.subarray(5), expected), 0);
    }),
    { numRuns: 100 },
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
    { numRuns: 5_000 },
  );
  assert.ok(read > 1_000, `only ${read} were read`);
});
