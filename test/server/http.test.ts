import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { contractPath, postJson, startApi, until } from "./api-fixture.ts";
import { answerOf, exchange, openHttp2, postHttp2 } from "./raw-http.ts";
import { clientKinds, createUdmClient } from "./udm-clients.ts";
import { cleanUp } from "../support/clean-up.ts";

const rpc = `${contractPath}/CountUdms`;

test("liveness, readiness and metrics", async (t) => {
  const { url, health } = await startApi(t);
  assert.deepEqual(await (await fetch(`${url}/livez`)).json(), { live: true });
  health.set({ name: "udm", ready: false, detail: "/ipaddrs.yml:3:1: bad key" });
  const notReady = await fetch(`${url}/readyz`);
  assert.equal(notReady.status, 503);
  assert.deepEqual(await notReady.json(), {
    ready: false,
    degraded: false,
    checks: [{ name: "udm", ready: false, detail: "/ipaddrs.yml:3:1: bad key" }],
  });
  health.set({ name: "udm", ready: true });
  assert.equal((await fetch(`${url}/readyz`)).status, 200);
  const metrics = await fetch(`${url}/metrics`);
  assert.match(metrics.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
  assert.match(await metrics.text(), /netgloss_api_requests_total\{method="readyz",transport="http",code="ok"\} 2/);
});

test("metrics are rendered once for all who ask within a second, compressed too, and not for a header alone", async (t) => {
  let now = 0;
  const clock = { now: () => Date.now(), monotonic: () => now };
  const { url, metrics } = await startApi(t, { clock });
  let reads = 0;
  metrics.gaugeFrom("netgloss_test_reads", "Counts renderings.", [], () => ++reads);
  const head = await fetch(`${url}/metrics`, { method: "HEAD" });
  assert.deepEqual([head.status, reads], [200, 0]);
  const ask = async (encoding: string): Promise<string> => {
    const response = await fetch(`${url}/metrics`, { headers: { "accept-encoding": encoding } });
    assert.equal(response.headers.get("content-encoding"), encoding === "gzip" ? "gzip" : null);
    return response.text();
  };
  const texts = await Promise.all(["gzip", "identity", "gzip", "identity"].map(ask));
  now = 999;
  texts.push(await ask("identity"));
  assert.equal(new Set(texts).size, 1);
  assert.match(texts[0] ?? "", /netgloss_test_reads 1\n/);
  now = 1_000;
  assert.match(await ask("gzip"), /netgloss_test_reads 2\n/);
});

test("a view that the collector hands in is served as JSON, and not again to who has it", async (t) => {
  let ip = "192.0.2.1";
  const { url } = await startApi(t, { views: new Map([["/api/v1/exporters", () => [{ ip }]]]) });
  const response = await fetch(`${url}/api/v1/exporters`);
  assert.deepEqual(await response.json(), [{ ip: "192.0.2.1" }]);
  assert.equal(response.headers.get("cache-control"), "private, no-cache");
  const etag = response.headers.get("etag") ?? "";
  const again = (): Promise<Response> => fetch(`${url}/api/v1/exporters`, { headers: { "if-none-match": etag } });
  const same = await again();
  assert.deepEqual([same.status, same.headers.get("etag"), await same.text()], [304, etag, ""]);
  ip = "192.0.2.2";
  const other = await again();
  assert.deepEqual([other.status, await other.json()], [200, [{ ip: "192.0.2.2" }]]);
});

test("HEAD answers the header of GET", async (t) => {
  const { url } = await startApi(t);
  const head = await fetch(`${url}/livez`, { method: "HEAD" });
  assert.equal(head.status, 200);
  assert.equal(head.headers.get("content-length"), "13");
  assert.equal(await head.text(), "");
});

test("wrong methods get 405 with Allow, Connect's GET too; OPTIONS lists what is allowed", async (t) => {
  const { url } = await startApi(t);
  for (const [path, method, allow] of [
    [rpc, "GET", "POST, OPTIONS"],
    [`${rpc}?connect=v1&encoding=json&message=%7B%7D`, "GET", "POST, OPTIONS"],
    [rpc, "PUT", "POST, OPTIONS"],
    ["/udm.v1.UdmService/DeleteUdm", "DELETE", "POST, OPTIONS"],
    ["/livez", "POST", "GET, HEAD, OPTIONS"],
    ["/api/v1/snmp/apply-definitions", "GET", "POST, OPTIONS"],
  ] as const) {
    const response = await fetch(url + path, { method });
    assert.equal(response.status, 405, path);
    assert.equal(response.headers.get("allow"), allow);
    assert.match(((await response.json()) as { message: string }).message, /is not allowed/);
    const options = await fetch(url + path, { method: "OPTIONS" });
    assert.deepEqual([options.status, options.headers.get("allow")], [204, allow]);
    // No other site may read what a browser fetches from here.
    assert.equal(options.headers.get("access-control-allow-origin"), null);
  }
});

test("wrong content types get 415 with Accept-Post", async (t) => {
  const { url } = await startApi(t);
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/connect+json", undefined]) {
    const headers = type === undefined ? {} : { "content-type": type };
    const response = await fetch(url + rpc, { method: "POST", headers, body: new Blob(["{}"]) });
    assert.equal(response.status, 415, type);
    assert.match(response.headers.get("accept-post") ?? "", /application\/json/);
    await response.body?.cancel();
  }
  const withCharset = await postJson(url + rpc, {}, { "content-type": "application/json; charset=utf-8" });
  assert.equal(withCharset.status, 200);
});

test("unknown paths get 404 in the form of errors", async (t) => {
  const { url } = await startApi(t);
  const page = await fetch(`${url}/nothing/here`);
  assert.equal(page.status, 404);
  assert.deepEqual(pick(await page.json()), ["not_found", 'there is nothing at "/nothing/here"']);
  const method = await postJson(`${url}${contractPath}/DropUdms`, {});
  assert.equal(method.status, 404);
  assert.equal(method.body["code"], "unimplemented");
});

test("HTTP/1.0 without Host, absolute targets and odd ones are answered", async (t) => {
  const { port, url } = await startApi(t);
  const head = "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
  assert.match(await exchange(t, port, `POST ${rpc} HTTP/1.0\r\n${head}`), /^HTTP\/1\.1 200 OK[^]*\r\n\r\n\{\}$/);
  assert.match(await exchange(t, port, "GET /livez HTTP/1.0\r\n\r\n"), /\{"live":true\}$/);
  const grpc = "POST /udm.v1.UdmService/CountUdms HTTP/1.0\r\nContent-Type: application/proto\r\n\r\n";
  assert.match(await exchange(t, port, grpc), /^HTTP\/1\.1 200 OK/);
  const absolute = `GET http://127.0.0.1:${port}/livez?x=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`;
  assert.match(await exchange(t, port, absolute), /\{"live":true\}$/);
  const tail = "HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  assert.match(await exchange(t, port, `GET //livez ${tail}`), /^HTTP\/1\.1 404/);
  assert.match(await exchange(t, port, `OPTIONS * ${tail}`), /^HTTP\/1\.1 404/);
  assert.match(await exchange(t, port, "GARBAGE\r\n\r\n"), /^HTTP\/1\.1 400/);
  assert.match(await exchange(t, port, "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"), /^HTTP\/1\.1 400/);
  assert.equal((await fetch(`${url}/livez`)).status, 200);
});

test("HTTP/1.1 needs exactly one valid Host header, HTTP/1.0 none", async (t) => {
  const { port, metrics } = await startApi(t);
  const answer = (version: string, ...hosts: string[]): Promise<string> => {
    const head = ["GET /livez HTTP/" + version, ...hosts, "Connection: close", "", ""];
    return exchange(t, port, head.join("\r\n"));
  };
  const bad: readonly (readonly [string, readonly string[], RegExp])[] = [
    ["1.1", [], /needs a Host header/],
    ["1.1", ["Host: localhost", "host: localhost"], /2 Host headers/],
    ["1.1", ["Host: localhost", "Host: other.localhost"], /2 Host headers/],
    ["1.0", ["Host: localhost", "Host: localhost"], /2 Host headers/],
    ["1.1", ["Host: local host"], /not a host/],
    ["1.1", ["Host: localhost/path"], /not a host/],
    ["1.1", ["Host: user@localhost"], /not a host/],
    ["1.1", ["Host: localhost:http"], /not a host/],
    ["1.1", ["Host: ::1"], /not a host/],
    ["1.1", ["Host: [::1"], /not a host/],
    ["1.1", ["Host: local%zzhost"], /not a host/],
  ];
  for (const [version, hosts, expected] of bad) {
    const text = await answer(version, ...hosts);
    assert.match(text, /^HTTP\/1\.1 400 [^]*"code":"invalid_argument"/, hosts.join());
    assert.match(text, expected);
  }
  assert.equal(await metrics.value("netgloss_api_rejected_total", { reason: "host" }), bad.length);
  for (const host of ["Host:", "Host: localhost:", "Host: [::1]:80", "Host: a_b.localhost:8080", "HOST: 127.0.0.1"]) {
    assert.match(await answer("1.1", host), /^HTTP\/1\.1 200 /, host);
  }
  assert.match(await answer("1.0"), /^HTTP\/1\.1 200 /);
});

test("the connection preface may come byte by byte", async (t) => {
  const { port } = await startApi(t);
  const session = openHttp2(t, `http://127.0.0.1:${port}`);
  assert.equal((await answerOf(session.request({ ":path": "/livez" }))).status, 200);
  const slow = connect(port, "127.0.0.1");
  cleanUp(t, () => slow.destroy());
  slow.setNoDelay(true);
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  const bytes = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), settings]);
  for (const byte of bytes) {
    slow.write(Buffer.from([byte]));
    await new Promise(setImmediate);
  }
  const [first] = (await once(slow, "data")) as [Buffer];
  assert.equal(first[3], 4, "the server's first frame is SETTINGS");
});

test("many requests on one HTTP/2 connection, of every wire, at a time", async (t) => {
  const { url } = await startApi(t);
  const session = openHttp2(t, url);
  const types = ["application/json", "application/proto"] as const;
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      postHttp2(session, rpc, types[i % 2] as string, i % 2 === 0 ? "{}" : new Uint8Array()),
    ),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
});

test("requests are counted by method, transport and code", async (t) => {
  const { url, metrics } = await startApi(t);
  await postJson(`${url}${contractPath}/CreateUdm`, { udm: { key: "10.0.0.1" } });
  await postJson(`${url}${contractPath}/CreateUdm`, { udm: { key: "10.0.0.1" } });
  await postJson(`${url}/nonsense/with/any/name`, {});
  const count = (method: string, transport: string, code: string) =>
    metrics.value("netgloss_api_requests_total", { method, transport, code });
  assert.equal(await count("CreateUdm", "json", "ok"), 1);
  assert.equal(await count("CreateUdm", "json", "already_exists"), 1);
  assert.equal(await count("other", "json", "not_found"), 1);
  assert.equal(
    await metrics.value("netgloss_api_request_seconds_count", { method: "CreateUdm", transport: "json" }),
    2,
  );
});

test("a refusal is counted under its code, whatever the transport", async (t) => {
  const { port, metrics } = await startApi(t);
  const transports = { json: 0, connect: 0, "grpc-web": 0, grpc: 0 };
  for (const kind of clientKinds) {
    const client = createUdmClient(kind, { port, ca: undefined, prefix: "" });
    await client.call("deleteUdm", { key: "192.0.2.1" });
    client.close();
    const isConnect = kind.startsWith("Connect");
    const transport = kind.startsWith("gRPC-Web") ? "grpc-web" : kind.startsWith("gRPC") ? "grpc" : "json";
    transports[isConnect && kind.includes("binary") ? "connect" : transport]++;
  }
  for (const [transport, calls] of Object.entries(transports)) {
    const labels = { method: "DeleteUdm", transport, code: "not_found" };
    await until(async () => (await metrics.value("netgloss_api_requests_total", labels)) === calls, transport);
  }
});

test("an API that is not enabled says so before it judges the request", async (t) => {
  const { url } = await startApi(t, { udm: { disabled: "SVC_X must be set" } });
  const answer = await fetch(`${url}${contractPath}/CreateUdm`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{",
  });
  assert.equal(answer.status, 501);
  assert.deepEqual(pick(await answer.json()), ["unimplemented", "SVC_X must be set"]);
});

function pick(body: unknown): unknown[] {
  const { code, message } = body as { code: string; message: string };
  return [code, message];
}

test("a request that is sent behind a write on one connection sees what the write did", async (t) => {
  const { port } = await startApi(t);
  const post = (method: string, body: string, more = ""): string =>
    `POST ${contractPath}/${method} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
  const writes = Array.from(
    { length: 20 },
    (_, i) => post("CreateUdm", `{"udm":{"key":"10.0.0.${i}"}}`) + post("CountUdms", "{}"),
  );
  const last = post("DeleteUdm", '{"key":"10.0.0.0"}') + post("CountUdms", "{}", "Connection: close\r\n");
  const received = await exchange(t, port, writes.join("") + last);
  const counts = Array.from(received.matchAll(/\{"count":(\d+)\}/g), ([, count]) => Number(count));
  assert.deepEqual(counts, [...Array.from({ length: 20 }, (_, i) => i + 1), 19]);
});
