import assert from "node:assert/strict";
import { test } from "node:test";
import type { UdmStore } from "../../src/metadata/index.ts";
import { createMemoryStore } from "../support/memory-store.ts";
import { contractPath, postJson, startApi } from "./api-fixture.ts";
import { answerOf, envelope, openHttp2, openRaw, postHttp2 } from "./raw-http.ts";

const basicAuth = { username: "operator", password: "pässword:with colon" };
const rpc = `${contractPath}/CountUdms`;

const credentials = (username: string, password: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`,
});
const right = credentials(basicAuth.username, basicAuth.password);

test("only the right credentials pass", async (t) => {
  const { url, metrics } = await startApi(t, { basicAuth });
  assert.equal((await postJson(url + rpc, {}, right)).status, 200);
  const wrong: Record<string, string>[] = [
    {},
    credentials("operator", "password"),
    credentials("operator", ""),
    credentials("", ""),
    { authorization: right["authorization"]?.replace("Basic", "Bearer") ?? "" },
    { authorization: "Basic" },
    { authorization: "Basic %%%" },
    { authorization: `${right["authorization"]}, Basic x` },
  ];
  for (const headers of wrong) {
    const refused = await postJson(url + rpc, {}, headers);
    assert.equal(refused.status, 401);
    assert.equal(refused.body["code"], "unauthenticated");
    assert.equal(refused.headers.get("www-authenticate"), 'Basic realm="netgloss", charset="UTF-8"');
  }
  assert.equal(await metrics.value("netgloss_api_rejected_total", { reason: "auth" }), wrong.length);
});

test("liveness, readiness and Health/Check are open; the rest is not, unknown paths too", async (t) => {
  const { url } = await startApi(t, { basicAuth });
  const status = async (path: string, init?: RequestInit): Promise<number> => (await fetch(url + path, init)).status;
  assert.equal(await status("/livez"), 200);
  assert.equal(await status("/readyz"), 200);
  assert.equal(await status("/metrics"), 200);
  assert.equal(await status("/openapi.json"), 401);
  assert.equal(await status("/nothing"), 401);
  const post = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  assert.equal(await status("/grpc.health.v1.Health/Check", post), 200);
  assert.equal(await status("/grpc.health.v1.Health/Watch", post), 401);
  assert.equal(await status("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", post), 401);
  assert.equal(await status("/api/v1/snmp/apply-definitions", { method: "POST" }), 401);
  assert.equal(await status("/api/v1/snmp/rediscover-device", post), 401);
  assert.equal(await status("/api/v1/snmp/discover-networks", post), 401);
});

test("readiness says what is wrong to who may read it, and to others only that something is", async (t) => {
  const { url, health } = await startApi(t, { basicAuth });
  health.set({ name: "sources", ready: true, degraded: true, detail: "the plan of 10.0.0.1" });
  const checks = async (base: string, headers = {}): Promise<unknown> => {
    const response = await fetch(`${base}/readyz`, { headers });
    assert.equal(response.status, 200);
    return ((await response.json()) as { checks: unknown }).checks;
  };
  const told = [{ name: "sources", ready: true, degraded: true, detail: "the plan of 10.0.0.1" }];
  const untold = [{ name: "sources", ready: true, degraded: true }];
  assert.deepEqual(await checks(url), untold);
  assert.deepEqual(await checks(url, credentials("operator", "wrong")), untold);
  assert.deepEqual(await checks(url, right), told);
  const open = await startApi(t, {});
  open.health.set({ name: "sources", ready: true, degraded: true, detail: "the plan of 10.0.0.1" });
  assert.deepEqual(await checks(open.url), told);
});

test("a setting guards the metrics", async (t) => {
  const { url } = await startApi(t, { basicAuth, authMetrics: true });
  assert.equal((await fetch(`${url}/metrics`)).status, 401);
  assert.equal((await fetch(`${url}/metrics`, { headers: right })).status, 200);
});

test("gRPC clients get status 16 in a header that ends the stream", async (t) => {
  const { url } = await startApi(t, { basicAuth });
  const session = openHttp2(t, url);
  for (const type of [
    "application/grpc",
    "application/grpc+proto",
    "application/grpc-web",
    "application/grpc-web+json",
  ]) {
    const answer = await postHttp2(session, "/udm.v1.UdmService/CountUdms", type, envelope(""));
    assert.equal(answer.status, 200);
    assert.equal(answer.headers["grpc-status"], "16");
    assert.equal(answer.headers["grpc-message"], "credentials are missing or wrong");
    assert.match(String(answer.headers["content-type"]), /^application\/grpc/);
    assert.ok(answer.endsWithHeaders, type);
    assert.equal(answer.trailers, undefined);
  }
  const passed = await postHttp2(session, "/udm.v1.UdmService/CountUdms", "application/grpc", envelope(""), right);
  assert.equal(passed.trailers?.["grpc-status"], "0");
});

test("the body is not read before the credentials are known to be right", async (t) => {
  const { port, url } = await startApi(t, { basicAuth });
  // HTTP/1.1: a body that never comes, then one that the client asks about first.
  const head = `POST ${rpc} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n`;
  const silent = openRaw(t, port);
  silent.socket.write(`${head}\r\n`);
  assert.match(await silent.closed, /^HTTP\/1\.1 401 [^]*connection: close/i);
  const asking = openRaw(t, port);
  asking.socket.write(`${head}Expect: 100-continue\r\n\r\n`);
  const answer = await asking.closed;
  assert.match(answer, /^HTTP\/1\.1 401 /);
  assert.doesNotMatch(answer, /100 Continue/);
  // HTTP/2: an upload that goes on while the answer comes.
  const stream = openHttp2(t, url).request({ ":method": "POST", ":path": rpc, "content-type": "application/json" });
  stream.write("{");
  assert.equal((await answerOf(stream)).status, 401);
});

test("a client that sends all of a large body first still reads the answer", async (t) => {
  const { port } = await startApi(t, { basicAuth });
  const raw = openRaw(t, port);
  const body = "x".repeat(3_000_000);
  raw.socket.write(`POST ${rpc} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  assert.match(await raw.closed, /^HTTP\/1\.1 401 [^]*unauthenticated/);
});

test("the store learns of each write by which method, user and address it came", async (t) => {
  const store = createMemoryStore();
  const origins: unknown[] = [];
  const udm: UdmStore = {
    ...store,
    commit(writes, origin) {
      origins.push(origin);
      return store.commit(writes);
    },
  };
  const create = (url: string, key: string, headers = {}): Promise<unknown> =>
    postJson(`${url}${contractPath}/CreateUdm`, { udm: { key } }, headers);
  const guarded = await startApi(t, { basicAuth, udm });
  await create(guarded.url, "10.0.0.1", right);
  const path = `${contractPath}/DeleteUdm`;
  await postHttp2(openHttp2(t, guarded.url), path, "application/json", '{"key":"10.0.0.1"}', right);
  const open = await startApi(t, { udm });
  await create(open.url, "10.0.0.2", right);
  assert.deepEqual(origins, [
    { method: "CreateUdm", user: "operator", peer: "127.0.0.1" },
    { method: "DeleteUdm", user: "operator", peer: "127.0.0.1" },
    // Nobody has looked at the credentials.
    { method: "CreateUdm", peer: "127.0.0.1" },
  ]);
});
