import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { contractPath, startApi } from "./api-fixture.ts";
import { openHttp2, postHttp2 } from "./raw-http.ts";

const rpc = `${contractPath}/CountUdms`;

/** `fetch` refuses to send these headers. */
function status(port: number, path: string, method: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: "127.0.0.1", path, method, headers }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", reject);
    sent.end(method === "POST" ? "{}" : undefined);
  });
}

test("a POST from another site is refused, one from here or from a program is not", async (t) => {
  const { port, metrics } = await startApi(t);
  const json = { "content-type": "application/json" };
  const host = `localhost:${port}`;
  const cases: readonly [Record<string, string>, number][] = [
    [{}, 200],
    [{ "sec-fetch-site": "same-origin", origin: `http://${host}` }, 200],
    [{ "sec-fetch-site": "none" }, 200],
    [{ origin: `http://${host}`, host }, 200],
    [{ origin: "https://netgloss.example", host: "127.0.0.1" }, 403],
    [{ "sec-fetch-site": "cross-site" }, 403],
    [{ "sec-fetch-site": "same-site" }, 403],
    [{ origin: "null" }, 403],
    [{ origin: "http://localhost:1", host }, 403],
    [{ origin: "nonsense" }, 403],
  ];
  for (const [headers, expected] of cases) {
    assert.equal(await status(port, rpc, "POST", { ...json, ...headers }), expected, JSON.stringify(headers));
  }
  // The operations, which need no body and so no content type, are what a form on another site could reach.
  const foreign = { "sec-fetch-site": "cross-site" };
  assert.equal(await status(port, "/api/v1/snmp/apply-definitions", "POST", foreign), 403);
  assert.equal(await status(port, "/api/v1/snmp/rediscover-device", "POST", foreign), 403);
  assert.equal(await status(port, "/api/v1/snmp/apply-definitions", "POST", {}), 503);
  assert.equal(await status(port, "/livez", "GET", foreign), 200);
  assert.equal(await metrics.value("netgloss_api_rejected_total", { reason: "origin" }), 8);
});

test("behind a proxy that ends TLS, the origin is compared by host alone", async (t) => {
  const { port } = await startApi(t, { allowedHosts: ["netgloss.example"] });
  const headers = { "content-type": "application/json", host: "netgloss.example" };
  assert.equal(await status(port, rpc, "POST", { ...headers, origin: "https://netgloss.example" }), 200);
  assert.equal(await status(port, rpc, "POST", { ...headers, origin: "https://netgloss.example:8443" }), 403);
});

test("on a loopback address an unknown host is refused", async (t) => {
  const { port, metrics } = await startApi(t);
  for (const host of [
    "localhost",
    "LOCALHOST:99",
    "a.localhost",
    "127.0.0.1:8080",
    "192.0.2.1",
    "[::1]:8080",
    "[::1]",
  ]) {
    assert.equal(await status(port, "/livez", "GET", { host }), 200, host);
  }
  for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8080", "xlocalhost"]) {
    assert.equal(await status(port, "/livez", "GET", { host }), 403, host);
  }
  assert.equal(await metrics.value("netgloss_api_rejected_total", { reason: "host" }), 4);
});

test("the authority of HTTP/2 is a host too", async (t) => {
  const { url } = await startApi(t);
  const session = openHttp2(t, url);
  const answer = await postHttp2(session, rpc, "application/json", "{}", { ":authority": "evil.example" });
  assert.equal(answer.status, 403);
  const grpc = await postHttp2(session, rpc, "application/grpc", "", { ":authority": "evil.example" });
  assert.equal(grpc.headers["grpc-status"], "7");
});

test("the authority of an absolute target, and that of HTTP/2, stand before the Host header", async (t) => {
  const { port, url } = await startApi(t);
  assert.equal(await status(port, "http://evil.example/livez", "GET", { host: "localhost" }), 403);
  assert.equal(await status(port, `http://127.0.0.1:${port}/livez`, "GET", { host: "evil.example" }), 200);
  const session = openHttp2(t, url);
  const headers = { ":authority": "evil.example", host: "localhost" };
  assert.equal((await postHttp2(session, rpc, "application/json", "{}", headers)).status, 403);
});

test("on another address any host is answered", async (t) => {
  const { port } = await startApi(t, { ip: "0.0.0.0" });
  assert.equal(await status(port, "/livez", "GET", { host: "collector.example" }), 200);
});
