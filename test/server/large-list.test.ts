import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { fromBinary, fromJsonString } from "@bufbuild/protobuf";
import { formatAddress } from "../../src/base/ip/index.ts";
import type { UdmIndex } from "../../src/metadata/index.ts";
import { buildIndex } from "../support/shared-index.ts";
import { ListUdmsResponseSchema, type ListUdmsResponse } from "../../src/server/gen/udm/v1/udm_pb.ts";
import { createMemoryStore } from "../support/memory-store.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { contractPath, startApi, until } from "./api-fixture.ts";
import { envelope, openHttp2, postHttp2 } from "./raw-http.ts";

const size = 20_000;
const entries = Array.from({ length: size }, (_, i) =>
  udmEntry(formatAddress({ family: 4, value: (10n << 24n) + BigInt(i) }), { name: `höst-${i}`, tags: ["a", "b"] }),
);
const index = buildIndex(entries, 1);

/** A store that counts how many entries were asked for. */
function largeStore() {
  const store = { ...createMemoryStore(), asked: 0, current: () => counted };
  const counted: UdmIndex = {
    ...index,
    *jsonTexts(...what) {
      for (const texts of index.jsonTexts(...what)) {
        store.asked += texts.count;
        yield texts;
      }
    },
    *render(...what) {
      for (const piece of index.render(...what)) {
        store.asked += Buffer.from(piece).toString().split("{").length - 1;
        yield piece;
      }
    },
  };
  return store;
}

interface Wire {
  readonly name: string;
  readonly type: string;
  readonly request: Uint8Array;
  readonly headers?: Record<string, string>;
  /** How often the entries are gone through: envelopes need to know their length first. */
  readonly passes: number;
  readonly decode: (body: Buffer) => ListUdmsResponse;
}

const proto = (bytes: Uint8Array): ListUdmsResponse => fromBinary(ListUdmsResponseSchema, bytes);
const json = (bytes: Buffer): ListUdmsResponse => fromJsonString(ListUdmsResponseSchema, bytes.toString());
/** The message in the one envelope, without what follows it. */
const opened = (body: Buffer): Buffer => body.subarray(5, 5 + body.readUInt32BE(1));
/** Base64 that is padded in between. */
const decoded = (text: Buffer): Buffer =>
  Buffer.concat((text.toString().match(/[^=]+=*/g) ?? []).map((part) => Buffer.from(part, "base64")));
const webTrailer = Buffer.from("\x80\0\0\0\x10grpc-status: 0\r\n", "latin1");
const unweb = (body: Buffer): Buffer => {
  assert.deepEqual(body.subarray(-webTrailer.length), webTrailer);
  assert.equal(opened(body).length, body.length - 5 - webTrailer.length);
  return opened(body);
};

const none = envelope("");
const gzip = { "grpc-encoding": "gzip", "grpc-accept-encoding": "gzip" };
const wires: readonly Wire[] = [
  { name: "REST", type: "application/json", request: Buffer.from("{}"), passes: 1, decode: json },
  { name: "Connect", type: "application/proto", request: Buffer.alloc(0), passes: 1, decode: proto },
  { name: "gRPC", type: "application/grpc", request: none, passes: 2, decode: (b) => proto(opened(b)) },
  {
    name: "gRPC, gzip allowed",
    type: "application/grpc",
    request: none,
    headers: gzip,
    passes: 2,
    decode: (b) => proto(opened(b)),
  },
  {
    name: "gRPC, odd flags",
    type: "application/grpc",
    request: envelope("", 2),
    passes: 2,
    decode: (b) => proto(opened(b)),
  },
  {
    name: "gRPC JSON",
    type: "application/grpc+json",
    request: envelope("{}"),
    passes: 2,
    decode: (b) => json(opened(b)),
  },
  { name: "gRPC-Web", type: "application/grpc-web+proto", request: none, passes: 2, decode: (b) => proto(unweb(b)) },
  {
    name: "gRPC-Web JSON",
    type: "application/grpc-web+json",
    request: envelope("{}"),
    passes: 2,
    decode: (b) => json(unweb(b)),
  },
  {
    name: "gRPC-Web text",
    type: "application/grpc-web-text",
    request: Buffer.from(none.toString("base64")),
    passes: 2,
    decode: (b) => proto(unweb(decoded(b))),
  },
];

for (const { name, type, request, headers, passes, decode } of wires) {
  suite(`a long list by ${name}`, () => {
    test("is whole, and leaves room for others", async (t) => {
      const store = largeStore();
      const { url, metrics } = await startApi(t, { store });
      const session = openHttp2(t, url);
      const state = { isEnded: false };
      const list = postHttp2(session, `${contractPath}/ListUdms`, type, request, headers).finally(() => {
        state.isEnded = true;
      });
      // Most entries that are looked at before something else gets its turn.
      let most = 0;
      for (let last = 0; !state.isEnded; last = store.asked) {
        await setImmediate();
        most = Math.max(most, store.asked - last);
      }
      assert.ok(most > 0 && most < 4_000, `${most} entries in one turn`);
      assert.ok(store.asked >= passes * size);
      const answer = await list;
      const { udms } = decode(answer.body);
      assert.equal(udms.length, size);
      assert.deepEqual([udms[0]?.key, udms.at(-1)?.name], ["10.0.0.0", `höst-${size - 1}`]);
      if (type.startsWith("application/grpc") && !type.includes("web")) {
        assert.deepEqual({ ...answer.trailers }["grpc-status"], "0");
      }
      const way = { method: "ListUdms", code: "ok" };
      const transports = ["json", "connect", "grpc", "grpc-web"];
      const counts = transports.map((transport) => metrics.value("netgloss_api_requests_total", { ...way, transport }));
      assert.deepEqual(
        (await Promise.all(counts)).filter((n) => n !== undefined),
        [1],
      );
    });

    test("is made no faster than it is taken, and not at all for a client that has gone", async (t) => {
      const store = largeStore();
      const { url, metrics } = await startApi(t, { store });
      const session = openHttp2(t, url);
      const path = `${contractPath}/ListUdms`;
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": type, ...headers });
      stream.on("error", () => {});
      await new Promise((resolve) => {
        stream.on("response", resolve);
        stream.end(request);
      });
      // What the windows of HTTP/2 take, and no more.
      const bound = (passes - 1) * size + size / 2;
      const before = store.asked;
      for (let i = 0; i < 10; i++) assert.equal((await fetch(`${url}/livez`)).status, 200);
      assert.ok(before > 0 && store.asked < bound + 2_000, `${store.asked} entries asked for`);
      stream.destroy();
      const canceled = async (): Promise<number> => {
        const all = (await metrics.render()).match(/^netgloss_api_requests_total\{.*code="canceled"\} (\d+)$/m);
        return Number(all?.[1] ?? 0);
      };
      await until(async () => (await canceled()) === 1, "it is counted");
      const asked = store.asked;
      for (let i = 0; i < 10; i++) assert.equal((await fetch(`${url}/livez`)).status, 200);
      assert.equal(store.asked, asked);
      assert.ok(asked < bound + 2_000, `${asked} entries asked for`);
      assert.equal((await metrics.value("netgloss_api_failures_total")) ?? 0, 0);
    });
  });
}

for (const [type, body, decode] of [
  ["application/json", "{}", json],
  ["application/proto", "", proto],
] as const) {
  test(`a long list as ${type} leaves room for others, whatever the socket of HTTP/1 takes at once`, async (t) => {
    const store = largeStore();
    const { url } = await startApi(t, { store });
    const state = { isEnded: false };
    const list = fetch(`${url}${contractPath}/ListUdms`, { method: "POST", headers: { "content-type": type }, body })
      .then(async (answer) => Buffer.from(await answer.arrayBuffer()))
      .finally(() => {
        state.isEnded = true;
      });
    let most = 0;
    for (let last = 0; !state.isEnded; last = store.asked) {
      await setImmediate();
      most = Math.max(most, store.asked - last);
    }
    assert.ok(most > 0 && most < 4_000, `${most} entries in one turn`);
    assert.equal(decode(await list).udms.length, size);
  });
}

test("a list that no message can hold is refused by gRPC, with what to do", async (t) => {
  const { url } = await startApi(t, { store: largeStore(), limits: { maxMessageBytes: 500_000 } });
  const session = openHttp2(t, url);
  for (const type of ["application/grpc", "application/grpc+json", "application/grpc-web+proto"]) {
    const request = type.endsWith("json") ? envelope("{}") : none;
    const { headers, body } = await postHttp2(session, `${contractPath}/ListUdms`, type, request);
    // By gRPC-Web the trailers are in the body.
    const isWeb = type.includes("web");
    const status = isWeb ? /grpc-status: (\d+)/.exec(body.toString())?.[1] : headers["grpc-status"];
    const message = isWeb ? /grpc-message: (.*)\r/.exec(body.toString())?.[1] : headers["grpc-message"];
    assert.equal(status, "8");
    assert.match(String(message), /^the list takes \d{6,7} bytes.*by key/);
    assert.equal(body[0], isWeb ? 0x80 : undefined);
  }
});
