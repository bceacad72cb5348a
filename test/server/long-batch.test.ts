import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { create, equals, fromBinary, fromJson, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import {
  BatchCreateUdmsRequestSchema,
  BatchUpdateUdmsRequestSchema,
  BatchUpdateUdmsResponseSchema,
  CreateUdmRequestSchema,
  ListUdmKeysResponseSchema,
} from "../../src/server/gen/udm/v1/udm_pb.ts";
import { parseJson, parseJsonInTurns } from "../../src/server/json/parse-json.ts";
import { readInTurns, readWhole } from "../../src/server/rpc/protocol.ts";
import { createRandom, mutate } from "../support/mutate.ts";
import { contractPath, startApi } from "./api-fixture.ts";
import { envelope, openHttp2, postHttp2 } from "./raw-http.ts";
import { allRuns, runs } from "../support/runs.ts";

const turn = (): Promise<void> => setImmediate();

const said = async (read: () => unknown): Promise<unknown> => {
  try {
    return { value: await read() };
  } catch (error) {
    return { message: (error as Error).message };
  }
};

test("JSON that is read in turns is what it is at once, or wrong in the same place", async () => {
  const anyText = fc
    .tuple(fc.json(), fc.array(fc.json(), { maxLength: 4 }), fc.option(fc.nat()))
    .map(([value, items, seed]) => {
      const text = `{"a": ${value}, "requests": [${items.join(", ")}], "b": [] }`;
      return seed === null ? text : Buffer.from(mutate(Buffer.from(text), createRandom(seed))).toString("latin1");
    });
  await fc.assert(
    fc.asyncProperty(fc.oneof(anyText, fc.json()), async (text) => {
      const inTurns = await said(() => parseJsonInTurns([text].values(), turn));
      assert.deepEqual(inTurns, await said(() => parseJson(text)));
    }),
    runs(150),
  );
});

test("a text of which only a part is held at a time is what it is as a whole, or wrong in the same place", async () => {
  const items = `{"a": "${"0123456789".repeat(50)}", "b": [1, {"c": "\\u00e9"}]},\n`.repeat(10_000);
  const words = ["abc", "\\n", "\\\\", '\\"', "\\ud83d\\ude00", "é", "😀", "\\\\ud83d", "0123456789abcdef"];
  const random = createRandom(7);
  const string = Array.from({ length: 1_000_000 }, () => words[random() % words.length]).join("");
  const dense = "\\n".repeat(2_500_000);
  const list = `{"requests": [${items}{}], `;
  const cases: readonly [string, boolean][] = [
    [`${list}"text": "${string}", "more": [${items}1], "last": "${dense}"}\n`, true],
    [`{"text": "${string}", "x": 1}`, true],
    [`${list}"text": "${string}`, false],
    [`${list}"text": "${string}\\ud83d${string}"}`, false],
    [`${list}"text": "${string}\\q${string}"}`, false],
    [`${list}"text": "${string}\t${string}"}`, false],
    [`${list}\n\n "more": [${items}x`, false],
    [`${list}"more": [${items}{}]} x`, false],
  ];
  for (const [i, [text, isRight]] of cases.entries()) {
    const whole = await said(() => parseJson(text));
    assert.equal("value" in (whole as object), isRight);
    const length = i % 2 === 0 ? 1_000_003 : 5_000_000;
    const pieces = function* (): Generator<string, void> {
      for (let at = 0; at < text.length;) {
        let end = Math.min(text.length, at + length);
        if (/[\uD800-\uDBFF]/.test(text[end - 1] ?? "")) end--;
        yield text.slice(at, end);
        at = end;
      }
    };
    let most = 0;
    const made = (bytes: number): Promise<void> => turn().then(() => void (most = Math.max(most, bytes)));
    const inTurns = await said(() => parseJsonInTurns(pieces(), made));
    // Not `deepEqual`, which takes long to compare them when they differ.
    assert.ok(isDeepStrictEqual(inTurns, whole), JSON.stringify([inTurns, whole]).slice(0, 300));
    assert.ok(most > 0);
  }
  const long = `{"requests": [{"tags": ["${"a".repeat(5_000_000)}"]}, ${items}1]}`;
  const halves = [long.slice(0, 4_500_000), long.slice(4_500_000)];
  const refused = await said(() => parseJsonInTurns(halves.values(), turn));
  assert.match(String((refused as { message?: string }).message), /a value is longer than 1048576 characters$/);
});

test("a batch that is read in turns is what the protobuf library reads at once", async () => {
  const anyBatch = fc
    .record({
      requests: fc.array(fc.record({ udm: fc.record({ key: fc.string(), tags: fc.array(fc.string()) }) }), {
        maxLength: 5,
      }),
      updateMask: fc.constantFrom("", "name", "name,tags"),
    })
    .map((request) => toBinary(BatchUpdateUdmsRequestSchema, fromJson(BatchUpdateUdmsRequestSchema, request)));
  const anyBytes = fc.oneof(
    anyBatch,
    fc.tuple(anyBatch, anyBatch).map((both) => Buffer.concat(both)),
    fc.tuple(anyBatch, fc.nat()).map(([bytes, seed]) => mutate(bytes, createRandom(seed))),
  );
  let read = 0;
  await fc.assert(
    fc.asyncProperty(anyBytes, async (bytes) => {
      const batch = BatchUpdateUdmsRequestSchema;
      const inTurns = await readInTurns(batch, bytes, turn).catch(() => undefined);
      read += inTurns === undefined ? 0 : 1;
      // The library takes messages that go beyond the end of the one around them, which are refused here.
      if (inTurns === undefined) return;
      assert.ok(equals(batch, inTurns, fromBinary(batch, bytes)));
    }),
    allRuns(150),
  );
  assert.ok(read > 90, `only ${read} were read`);
});

test("a million entries of a map are refused before the library reads them, wherever they stand", async () => {
  const metadata = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`name${i}`, ""]));
  const one = create(CreateUdmRequestSchema, { udm: { key: "10.0.0.1", metadata } });
  const bytes = toBinary(CreateUdmRequestSchema, one);
  const batch = toBinary(BatchCreateUdmsRequestSchema, create(BatchCreateUdmsRequestSchema, { requests: [one] }));
  await assert.rejects(
    readInTurns(BatchCreateUdmsRequestSchema, batch, turn),
    /requests\[0\].udm.metadata has more than 2000 items/,
  );
  assert.throws(() => readWhole(CreateUdmRequestSchema, bytes), /udm.metadata has more than 2000 items/);
  // The library does not look at the wire type of an entry.
  const odd = Buffer.from(bytes);
  for (let at = odd.indexOf(0x32); at >= 0 && at < odd.length; at += 2 + (odd[at + 1] as number)) odd[at] = 0x30;
  assert.throws(() => readWhole(CreateUdmRequestSchema, odd), /udm.metadata has more than 2000 items/);
  const keys = Array.from({ length: 20_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
  const list = toBinary(ListUdmKeysResponseSchema, create(ListUdmKeysResponseSchema, { keys }));
  assert.equal(readWhole(ListUdmKeysResponseSchema, list).keys.length, 20_000);
});

const types = {
  REST: "application/json",
  gRPC: "application/grpc",
  Connect: "application/proto",
  "gRPC-Web": "application/grpc-web+proto",
} as const;

for (const wire of ["REST", "gRPC", "Connect", "gRPC-Web"] as const) {
  test(`a long batch by ${wire} leaves room for others`, async (t) => {
    const { url, store } = await startApi(t, { maxBodyBytes: 10_000_000 });
    const count = 5_000;
    const requests = Array.from({ length: count }, (_, i) => ({
      udm: { key: `10.1.${i >> 8}.${i & 255}`, name: `höst-${i}`, tags: ["a"] },
    }));
    const session = openHttp2(t, url);
    const state = { isRead: false, turns: 0 };
    store.beforeCommit = async (writes) => {
      assert.equal(writes.length, count);
      state.isRead = true;
    };
    const json = JSON.stringify({ requests });
    const message = toBinary(
      BatchUpdateUdmsRequestSchema,
      fromJson(BatchUpdateUdmsRequestSchema, JSON.parse(json) as never),
    );
    const sent = wire === "REST" ? json : wire === "Connect" ? message : envelope(message);
    const answer = postHttp2(session, `${contractPath}/BatchCreateUdms`, types[wire], sent);
    for (; !state.isRead; state.turns++) await setImmediate();
    const { status, body } = await answer;
    assert.equal(status, 200);
    // At least one for each hundred entries: when they are read, and when they are checked.
    assert.ok(state.turns >= (2 * count) / 100, `${state.turns} turns`);
    const answered =
      wire === "REST"
        ? fromJson(BatchUpdateUdmsResponseSchema, JSON.parse(body.toString()) as never)
        : fromBinary(
            BatchUpdateUdmsResponseSchema,
            wire === "Connect" ? body : body.subarray(5, 5 + body.readUInt32BE(1)),
          );
    const expected = create(BatchUpdateUdmsResponseSchema, {
      udms: requests.map(({ udm }) => udm),
    });
    assert.ok(equals(BatchUpdateUdmsResponseSchema, answered, expected));
  });
}
