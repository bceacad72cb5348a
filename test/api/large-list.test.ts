import assert from "node:assert/strict";
import { test } from "node:test";
import { create, fromBinary } from "@bufbuild/protobuf";
import { formatAddress } from "../../src/ip/index.ts";
import { buildIndex } from "../support/shared-index.ts";
import { ListUdmsResponseSchema } from "../../src/api/gen/udm/v1/udm_pb.ts";
import { createMemoryStore } from "../support/memory-store.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { contractPath, startApi } from "./api-fixture.ts";
import { answerOf, envelope, openHttp2, postHttp2 } from "./raw-http.ts";

const size = 100_000;

function largeStore() {
  const entries = Array.from({ length: size }, (_, i) =>
    udmEntry(formatAddress({ family: 4, value: (10n << 24n) + BigInt(i) }), { name: `host-${i}`, tags: ["a", "b"] }),
  );
  const index = buildIndex(entries, 1);
  return { ...createMemoryStore(), current: () => index };
}

test("a list of a hundred thousand entries leaves room for others, on every wire", async (t) => {
  const { url } = await startApi(t, { store: largeStore() });
  const session = openHttp2(t, url);
  const order: string[] = [];
  const list = fetch(`${url}${contractPath}/ListUdms`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  }).then(async (response) => {
    order.push("begun");
    // One request after the other while the list is on its way.
    for (let i = 0; i < 5; i++) {
      assert.equal((await answerOf(session.request({ ":path": "/livez" }))).status, 200);
      order.push("other");
    }
    const { udms } = (await response.json()) as { udms: { key: string; name: string }[] };
    order.push("ended");
    return udms;
  });
  const udms = await list;
  assert.equal(udms.length, size);
  assert.deepEqual(udms.at(-1), { key: "10.1.134.159", name: `host-${size - 1}`, tags: ["a", "b"] });
  assert.deepEqual(order, ["begun", ...Array<string>(5).fill("other"), "ended"]);

  const other = answerOf(session.request({ ":path": "/livez" }));
  const grpc = await postHttp2(session, `${contractPath}/ListUdms`, "application/grpc", envelope(""));
  assert.equal((await other).status, 200);
  assert.equal(fromBinary(ListUdmsResponseSchema, grpc.body.subarray(5)).udms.length, size);
  assert.equal(create(ListUdmsResponseSchema).udms.length, 0);
});

test("a client that leaves in the middle of a list ends it", async (t) => {
  const { url, metrics } = await startApi(t, { store: largeStore() });
  const abort = new AbortController();
  const response = await fetch(`${url}${contractPath}/ListUdmKeys`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
    signal: abort.signal,
  });
  const reader = response.body?.getReader();
  await reader?.read();
  abort.abort();
  await assert.rejects(async () => reader?.read());
  assert.equal((await fetch(`${url}/livez`)).status, 200);
  assert.equal((await metrics.value("netgloss_api_failures_total")) ?? 0, 0);
});
