import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { contractPath, postJson, startApi, until } from "./api-fixture.ts";
import { answerOf, envelope, exchange, openHttp2, openRaw, postHttp2 } from "./raw-http.ts";

const rpc = `${contractPath}/CreateUdm`;
const json = { "content-type": "application/json" };

test("a body that is too large is refused on every wire, and only that request", async (t) => {
  const { url, metrics } = await startApi(t, { maxBodyBytes: 1000 });
  const large = JSON.stringify({ udm: { key: "10.0.0.1", name: "n".repeat(2000) } });
  const refused = await postJson(url + rpc, large);
  assert.deepEqual([refused.status, refused.body["code"]], [429, "resource_exhausted"]);
  // Without a length, so that the bytes themselves must be counted.
  const chunked = await fetch(url + rpc, {
    method: "POST",
    headers: json,
    body: stream(large),
    duplex: "half",
  } as never);
  assert.equal(chunked.status, 429);
  assert.equal(((await chunked.json()) as { code: string }).code, "resource_exhausted");
  const session = openHttp2(t, url);
  const statusOf = async (type: string, body: Uint8Array): Promise<unknown> => {
    const { status, headers, trailers } = await postHttp2(session, rpc, type, body);
    return trailers?.["grpc-status"] ?? headers["grpc-status"] ?? status;
  };
  assert.equal(await statusOf("application/json", Buffer.from(large)), 429);
  assert.equal(await statusOf("application/proto", Buffer.alloc(2000)), 429);
  assert.equal(await statusOf("application/grpc", envelope(Buffer.alloc(2000))), "8");
  assert.equal((await postJson(url + rpc, { udm: { key: "10.0.0.1" } })).status, 200);
  assert.ok(((await metrics.value("netgloss_api_rejected_total", { reason: "body" })) ?? 0) >= 3);
});

test("an absurd Content-Length is refused without waiting for the body", async (t) => {
  const { port, url } = await startApi(t);
  const head = `POST ${rpc} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
  assert.match(await exchange(t, port, `${head}Content-Length: 99999999999999\r\n\r\n{`), /^HTTP\/1\.1 429 /);
  for (const length of ["99999999999999999999999999", "-1", "1e3", "2, 2"]) {
    assert.match(await exchange(t, port, `${head}Content-Length: ${length}\r\n\r\n{}`), /^HTTP\/1\.1 4\d\d /, length);
  }
  const stream2 = openHttp2(t, url).request({
    ":method": "POST",
    ":path": rpc,
    ...json,
    "content-length": "999999999",
  });
  stream2.write("{");
  assert.equal((await answerOf(stream2)).status, 429);
});

test("gzip bodies are read, bombs and broken ones are not", async (t) => {
  const { url } = await startApi(t, { maxBodyBytes: 100_000 });
  const post = async (body: Uint8Array, encoding = "gzip"): Promise<unknown[]> => {
    const headers = { ...json, "content-encoding": encoding };
    const response = await fetch(url + rpc, { method: "POST", headers, body: new Blob([new Uint8Array(body)]) });
    return [response.status, ((await response.json()) as { code?: string }).code];
  };
  assert.deepEqual(await post(gzipSync('{"udm":{"key":"10.0.0.1"}}')), [200, undefined]);
  assert.deepEqual(await post(gzipSync(Buffer.alloc(50_000_000, 0x20))), [429, "resource_exhausted"]);
  assert.deepEqual(await post(Buffer.from("not gzip")), [400, "invalid_argument"]);
  assert.deepEqual(await post(Buffer.from("{}"), "br"), [501, "unimplemented"]);
  const bomb = gzipSync(Buffer.alloc(50_000_000));
  const session = openHttp2(t, url);
  const grpc = await postHttp2(session, rpc, "application/grpc", envelope(bomb, 1), { "grpc-encoding": "gzip" });
  assert.equal(grpc.trailers?.["grpc-status"] ?? grpc.headers["grpc-status"], "8");
  const connect = await postHttp2(session, rpc, "application/proto", bomb, { "content-encoding": "gzip" });
  assert.equal(connect.status, 429);
});

test("who is refused by the header gets to send the body, and the answer", async (t) => {
  const { port } = await startApi(t);
  const kinds = [
    [rpc, "application/json", "content-encoding"],
    [rpc, "application/grpc-web+proto", "grpc-encoding"],
    [
      "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
      "application/connect+json",
      "connect-content-encoding",
    ],
  ];
  for (const [path, type, header] of kinds) {
    const raw = openRaw(t, port);
    raw.socket.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\n${header}: odd\r\n` +
        "Transfer-Encoding: chunked\r\n\r\n",
    );
    await until(() => /unimplemented|grpc-status: 12/.test(raw.received()), `${type} is refused`);
    await setTimeout(100);
    assert.equal(raw.socket.readyState, "open", type);
    raw.socket.write("2\r\n{}\r\n0\r\n\r\n");
    await raw.closed;
  }
});

test("answers are compressed when asked for and worth it", async (t) => {
  const { url, store } = await startApi(t);
  await postJson(url + rpc, { udm: { key: "10.0.0.1", metadata: { a: "x".repeat(4000) } } });
  assert.equal(store.current().size, 1);
  const list = `${url}${contractPath}/ListUdms`;
  const encodingFor = async (accept: string): Promise<string | null> => {
    const response = await postJson(list, {}, { "accept-encoding": accept });
    assert.equal((response.body["udms"] as unknown[]).length, 1);
    return response.headers.get("content-encoding");
  };
  assert.equal(await encodingFor("gzip, br"), "gzip");
  assert.equal(await encodingFor("br, *;q=0.5"), "gzip");
  assert.equal(await encodingFor("gzip;q=0"), null);
  assert.equal(await encodingFor("identity"), null);
});

test("Expect: 100-continue is answered when the body is wanted", async (t) => {
  const { port } = await startApi(t);
  const raw = openRaw(t, port);
  const body = '{"udm":{"key":"10.0.0.1"}}';
  raw.socket.write(
    `POST ${rpc} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  await until(() => raw.received().startsWith("HTTP/1.1 100 Continue\r\n\r\n"), "the server says to continue");
  raw.socket.write(body);
  assert.match(await raw.closed, /\r\n\r\nHTTP\/1\.1 200 OK/);
});

test("uploads that break off are forgotten, and their memory is given back", async (t) => {
  const { port, url, metrics, store } = await startApi(t, { limits: { maxHeldBytes: 150_000 } });
  const head = `POST ${rpc} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 200000\r\n\r\n`;
  for (let i = 0; i < 5; i++) {
    const raw = openRaw(t, port);
    raw.socket.write(head + "x".repeat(100_000));
    await until(async () => (await metrics.value("netgloss_api_connections", { protocol: "http1" })) === 1, "open");
    raw.socket.destroy();
    await until(async () => (await metrics.value("netgloss_api_connections", { protocol: "http1" })) === 0, "closed");
  }
  const session = openHttp2(t, url);
  const stream2 = session.request({ ":method": "POST", ":path": rpc, "content-type": "application/grpc" });
  stream2.write(envelope("abc").subarray(0, 6));
  stream2.close(8);
  await answerOf(stream2);
  const canceled = { method: "CreateUdm", transport: "json", code: "canceled" };
  await until(async () => (await metrics.value("netgloss_api_requests_total", canceled)) === 5, "all are counted");
  assert.equal(
    (await postJson(url + rpc, { udm: { key: "10.0.0.1", metadata: { a: "x".repeat(4000) } } })).status,
    200,
  );
  assert.equal(store.current().size, 1);
});

test("all bodies together are bounded", async (t) => {
  const { port, url, metrics } = await startApi(t, { limits: { maxHeldBytes: 100_000 } });
  const raw = openRaw(t, port);
  const head = `POST ${rpc} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 200000\r\n\r\n`;
  raw.socket.write(head + "x".repeat(99_000));
  const statuses: number[] = [];
  await until(async () => {
    const { status } = await postJson(url + rpc, { udm: { key: "10.0.0.1", tags: ["x".repeat(2000)] } });
    statuses.push(status);
    return status === 429;
  }, "the first body fills the memory");
  assert.equal(await metrics.value("netgloss_api_rejected_total", { reason: "memory" }), 1);
  raw.socket.destroy();
  await until(
    async () => (await postJson(url + rpc, { udm: { key: "x" } })).status === 400,
    "the memory is free again",
  );
});

test("what is unpacked counts with all bodies together, on every wire, and is given back", async (t) => {
  // One of them and what it was packed in is held, two are not.
  const { url, metrics, store } = await startApi(t, { limits: { maxHeldBytes: 700_000 } });
  let keys = 0;
  const body = (): string => `{"udm":{"key":"10.0.0.${++keys}"}${" ".repeat(500_000)}}`;
  const session = openHttp2(t, url);
  const bare = (): Uint8Array => gzipSync(body());
  const enveloped = (): Uint8Array => envelope(gzipSync(body()), 1);
  const wires: readonly (readonly [string, () => Uint8Array, Record<string, string>])[] = [
    ["application/json", bare, { "content-encoding": "gzip" }],
    ["application/json; charset=utf-8", bare, { "content-encoding": "GZIP" }],
    ["application/grpc+json", enveloped, { "grpc-encoding": "gzip" }],
    ["application/grpc-web+json", enveloped, { "grpc-encoding": "gzip" }],
  ];
  for (const [i, [type, bytes, header]] of wires.entries()) {
    let isHeld = false;
    let goOn = (): void => {};
    store.beforeCommit = () => {
      isHeld = true;
      return new Promise((resolve) => (goOn = resolve));
    };
    const first = postHttp2(session, rpc, type, bytes(), header);
    await until(() => isHeld, "the first is held");
    const second = await postHttp2(session, rpc, type, bytes(), header);
    const said = [second.status, second.headers["grpc-status"], second.body.toString()].join(" ");
    assert.match(said, /^429|^200 8|grpc-status: 8/, type);
    assert.equal(await metrics.value("netgloss_api_rejected_total", { reason: "memory" }), i + 1);
    goOn();
    assert.equal((await first).status, 200);
    store.beforeCommit = async () => {};
    assert.equal((await postHttp2(session, rpc, type, bytes(), header)).status, 200);
  }
});

test("a request of one entry is short", async (t) => {
  const { url } = await startApi(t, { maxBodyBytes: 8_000_000 });
  const blanks = " ".repeat(600_000);
  for (const [method, text, expected] of [
    ["CreateUdm", `{"udm":{"key":"10.0.0.3"}${blanks}}`, 200],
    ["CreateUdm", `{"udm":{"key":"10.0.0.4"}${blanks} ${blanks}}`, 429],
    ["BatchCreateUdms", `{${blanks}"requests":${blanks}[{"udm":{"key":"10.0.0.5"}}]${blanks}}`, 200],
    ["BatchCreateUdms", `{"requests":[{"udm":{"key":"10.0.0.6","tags":[${'"t",'.repeat(400_000)}"t"]}}]}`, 400],
    ["BatchCreateUdms", `{"requests":[]${blanks}${blanks}}`, 400],
  ] as const) {
    const answer = await fetch(`${url}${contractPath}/${method}`, { method: "POST", headers: json, body: text });
    assert.equal(answer.status, expected, `${method} ${text.slice(0, 40)}`);
  }
});

function stream(text: string): ReadableStream {
  return new Blob([text]).stream();
}
