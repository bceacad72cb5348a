import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { fromBinary, toBinary, create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { gzipSync } from "node:zlib";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../src/server/gen/grpc/health/v1/health_pb.ts";
import { BatchCreateUdmsRequestSchema, CountUdmsResponseSchema } from "../../src/server/gen/udm/v1/udm_pb.ts";
import { contractPath, postJson, startApi, until } from "./api-fixture.ts";
import { answerOf, envelope, openHttp2, postHttp2 } from "./raw-http.ts";

const count = "/udm.v1.UdmService/CountUdms";

test("failures before a handler are trailers-only", async (t) => {
  const { url } = await startApi(t, { maxBodyBytes: 100 });
  const session = openHttp2(t, url);
  const cases: readonly [string, string, Uint8Array, Record<string, string>, string][] = [
    ["/udm.v1.UdmService/DropUdms", "application/grpc", envelope(""), {}, "12"],
    ["/nobody.v1.Nothing/Here", "application/grpc+proto", envelope(""), {}, "12"],
    [count, "application/grpc+thrift", envelope(""), {}, "12"],
    [count, "application/grpc", envelope(""), { "sec-fetch-site": "cross-site" }, "7"],
    [count, "application/grpc", envelope(""), { "grpc-encoding": "snappy" }, "12"],
    [count, "application/grpc", envelope(""), { "grpc-timeout": "soon" }, "3"],
    [count, "application/grpc", Buffer.from([1, 2]), {}, "3"],
    [count, "application/grpc", new Uint8Array(), {}, "12"],
    [count, "application/grpc", envelope(Buffer.alloc(200)), {}, "8"],
    [count, "application/grpc", envelope("", 1), {}, "13"],
    ["/udm.v1.UdmService/DeleteUdm", "application/grpc", envelope(""), {}, "3"],
  ];
  for (const [path, type, body, headers, status] of cases) {
    const answer = await postHttp2(session, path, type, body, headers);
    const shown = `${path} ${type} ${JSON.stringify(headers)}`;
    assert.deepEqual([answer.status, answer.headers["grpc-status"]], [200, status], shown);
    assert.ok(answer.endsWithHeaders, shown);
    assert.equal(answer.body.length, 0);
    assert.match(String(answer.headers["content-type"]), /^application\/grpc/);
  }
});

test("time-outs: absurdly long ones are none, those that have passed are answered", async (t) => {
  const { url, store } = await startApi(t);
  const session = openHttp2(t, url);
  const statusOf = async (timeout: string): Promise<unknown> => {
    const answer = await postHttp2(session, count, "application/grpc", envelope(""), { "grpc-timeout": timeout });
    return answer.trailers?.["grpc-status"] ?? answer.headers["grpc-status"];
  };
  assert.equal(await statusOf("99999999H"), "0");
  assert.equal(await statusOf("10S"), "0");
  const create10 = envelope(Buffer.from([0x0a, 0x0a, 0x0a, 0x08, ...Buffer.from("10.0.0.1")]));
  const passed = await postHttp2(session, `${contractPath}/CreateUdm`, "application/grpc", create10, {
    "grpc-timeout": "0n",
  });
  assert.equal(passed.headers["grpc-status"], "4");
  const json = { "connect-timeout-ms": "0" };
  const refused = await postJson(`${url}${contractPath}/CreateUdm`, { udm: { key: "10.0.0.1" } }, json);
  assert.deepEqual([refused.status, refused.body["code"]], [504, "deadline_exceeded"]);
  assert.equal(store.current().size, 0);
  for (const [value, status] of [
    ["9999999999", 200],
    ["5000", 200],
    ["99999999999", 400],
    ["1.5", 400],
    ["soon", 400],
  ] as const) {
    const answer = await postJson(`${url}${contractPath}/CountUdms`, {}, { "connect-timeout-ms": value });
    assert.equal(answer.status, status, value);
  }
});

test("the version of Connect is checked when it is named", async (t) => {
  const { url } = await startApi(t);
  const status = async (version: string): Promise<number> =>
    (await postJson(`${url}${contractPath}/CountUdms`, {}, { "connect-protocol-version": version })).status;
  assert.deepEqual([await status("1"), await status("2")], [200, 400]);
});

test("gzip in both directions", async (t) => {
  const { url } = await startApi(t);
  const session = openHttp2(t, url);
  const body = envelope(gzipSync(Buffer.from([0x0a, 0x0a, 0x0a, 0x08, ...Buffer.from("10.0.0.1")])), 1);
  const headers = { "grpc-encoding": "gzip", "grpc-accept-encoding": "gzip" };
  const created = await postHttp2(session, `${contractPath}/CreateUdm`, "application/grpc", body, headers);
  assert.equal(created.trailers?.["grpc-status"], "0");
  assert.equal(created.headers["grpc-encoding"], "gzip");
});

test("gRPC-Web in base64", async (t) => {
  const { url } = await startApi(t);
  await postJson(`${url}${contractPath}/CreateUdm`, { udm: { key: "10.0.0.1" } });
  for (const type of ["application/grpc-web-text", "application/grpc-web-text+proto"]) {
    const response = await fetch(url + count, {
      method: "POST",
      headers: { "content-type": type },
      body: envelope("").toString("base64"),
    });
    assert.equal(response.headers.get("content-type"), "application/grpc-web-text+proto");
    const parts = (await response.text()).match(/[^=]+=*/g) ?? [];
    const bytes = Buffer.concat(parts.map((part) => Buffer.from(part, "base64")));
    assert.equal(fromBinary(CountUdmsResponseSchema, bytes.subarray(5, 5 + bytes.readUInt32BE(1))).count, 1);
    assert.match(bytes.toString("latin1"), /grpc-status: 0/);
  }
  const bad = await fetch(url + count, {
    method: "POST",
    headers: { "content-type": "application/grpc-web-text" },
    body: "AAAA*AAA",
  });
  assert.match(Buffer.from(await bad.text(), "base64").toString("latin1"), /grpc-status: 3/);
});

test("all violations of a large batch: a hundred in JSON, as many as fit into trailers", async (t) => {
  const { url } = await startApi(t);
  const requests = Array.from({ length: 150 }, (_, i) => ({ udm: { key: `bad-${i}-${"x".repeat(100)}` } }));
  const rest = await postJson(`${url}${contractPath}/BatchCreateUdms`, { requests });
  const details = rest.body["details"] as { type: string; debug: { fieldViolations: unknown[] } }[];
  assert.equal(details.find(({ type }) => type === "google.rpc.BadRequest")?.debug.fieldViolations.length, 100);
  const message = create(BatchCreateUdmsRequestSchema, {
    requests: requests.map(({ udm }) => ({ udm: { key: udm.key } })),
  });
  const body = envelope(toBinary(BatchCreateUdmsRequestSchema, message));
  const path = `${contractPath}/BatchCreateUdms`;
  const grpc = await postHttp2(openHttp2(t, url), path, "application/grpc", body);
  assert.equal(grpc.headers["grpc-status"], "3");
  assert.ok(String(grpc.headers["grpc-status-details-bin"]).length < 8_000);
});

suite("health", () => {
  test("Check and Watch follow the readiness of the collector", async (t) => {
    const { url, health } = await startApi(t);
    health.set({ name: "udm", ready: true });
    const client = createClient(Health, createGrpcTransport({ baseUrl: url }));
    assert.equal((await client.check({})).status, Status.SERVING);
    assert.equal((await client.check({ service: "udm.v1.UdmService" })).status, Status.SERVING);
    await assert.rejects(client.check({ service: "nobody" }), /not_found/);
    const watch = client.watch({})[Symbol.asyncIterator]();
    assert.equal((await watch.next()).value?.status, Status.SERVING);
    health.set({ name: "udm", ready: false });
    assert.equal((await watch.next()).value?.status, Status.NOT_SERVING);
    assert.equal((await client.check({})).status, Status.NOT_SERVING);
    await watch.return?.();
    const unknown = client.watch({ service: "nobody" })[Symbol.asyncIterator]();
    assert.equal((await unknown.next()).value?.status, Status.SERVICE_UNKNOWN);
    await unknown.return?.();
  });

  test("watching has no bound in time but one in number", async (t) => {
    const { url, metrics } = await startApi(t, { limits: { maxWatchers: 2, lifetime: 1000, stallTimeout: 1000 } });
    const session = openHttp2(t, url);
    const watch = () => {
      const stream = session.request({
        ":method": "POST",
        ":path": "/grpc.health.v1.Health/Watch",
        "content-type": "application/grpc",
      });
      stream.end(envelope(""));
      return stream;
    };
    const first = [watch(), watch()];
    await Promise.all(first.map((stream) => new Promise((resolve) => stream.once("data", resolve))));
    const third = await answerOf(watch());
    assert.equal(third.headers["grpc-status"], "8");
    assert.equal(await metrics.value("netgloss_api_rejected_total", { reason: "watchers" }), 1);
    await new Promise((resolve) => setTimeout(resolve, 2500));
    assert.deepEqual(
      first.map(({ closed }) => closed),
      [false, false],
    );
    first[0]?.close(8);
    await until(async () => {
      const stream = watch();
      const taken = await new Promise((resolve) => {
        stream.once("response", (headers) => resolve(headers["grpc-status"] === undefined));
      });
      stream.close(8);
      return taken === true;
    }, "a place is free again");
  });
});
