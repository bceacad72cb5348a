// A process of its own: it changes the environment.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as zlib from "node:zlib";
import { DeliveryError, type OutputAdapter, type SettingsOf } from "../../../src/output/index.ts";
import { adapterOf } from "../adapter-fixture.ts";
import { keepLedger, numberedFlow } from "../delivery/output-contract.ts";
import { startFaultProxy } from "../delivery/fault-proxy.ts";
import { startHttpServer } from "./http-fixture.ts";
import { cleanUp } from "../../support/clean-up.ts";

const signal = new AbortController().signal;

type HttpSettings = SettingsOf<"GENERIC_HTTP">;

function httpAdapter(port: number, given: Partial<HttpSettings> = {}): OutputAdapter {
  return adapterOf("GENERIC_HTTP", {
    ADDRESSES: [`http://127.0.0.1:${port}/in`],
    TOKEN: "secret",
    HEADERS: new Map([["x-tenant", "edge"]]),
    ...given,
  });
}

const lines = [numberedFlow(1), numberedFlow(2), numberedFlow(3)];
const chunks = [Buffer.from(`${lines[0]}\n${lines[1]}\n`), Buffer.from(`${lines[2]}\n`)];
const batch = {
  id: { instance: "abc", number: 1 },
  chunks,
  count: 3,
  byteLength: chunks.reduce((sum, { length }) => sum + length, 0),
  oldestAt: 0,
};

test("a batch is one request: lines or an array, plain or compressed, with its headers", async (t) => {
  const server = await startHttpServer(t);
  const array = `[${lines.join(",")}]`;
  const ndjson = `${lines.join("\n")}\n`;
  for (const [format, compression, body] of [
    ["ndjson", "none", ndjson],
    ["array", "none", array],
    ["ndjson", "gzip", ndjson],
    ["array", "gzip", array],
    ...("zstdCompress" in zlib ? [["ndjson", "zstd", ndjson] as const] : []),
  ] as const) {
    const adapter = httpAdapter(server.port, { FORMAT: format, COMPRESSION: compression });
    assert.deepEqual(await adapter.open(signal), []);
    assert.deepEqual(await adapter.send(batch, signal), { refused: [], retry: [] });
    await adapter.close();
    const call = server.calls.at(-1);
    assert.equal(call?.body, body);
    assert.equal(call.method, "POST");
    assert.equal(call.path, "/in");
    assert.equal(call.headers["x-tenant"], "edge");
    assert.equal(call.headers["authorization"], "Bearer secret");
    assert.equal(call.headers["content-type"], format === "ndjson" ? "application/x-ndjson" : "application/json");
    assert.equal(call.headers["content-encoding"], compression === "none" ? undefined : compression);
  }
});

test("what an answer means for the batch", async (t) => {
  const server = await startHttpServer(t);
  const adapter = httpAdapter(server.port);
  await adapter.open(signal);
  for (const [status, blame, text] of [
    [400, "record", /refuses the content: 400 \(no such field\)/],
    [401, "operator", /refuses the credentials: 401/],
    [403, "operator", /lack permission/],
    [404, "operator", /nothing at the path/],
    [413, "record", /too large/],
    [422, "record", /422/],
    [429, "store", /asks to wait/],
    [500, "unclear", /has a fault: 500/],
    [503, "store", /503/],
    [302, "operator", /answers unexpectedly: 302/],
  ] as const) {
    server.answer = (_, response) => response.writeHead(status, { "retry-after": "7" }).end("no such\n field");
    await assert.rejects(adapter.send(batch, signal), (error) => {
      assert.ok(error instanceof DeliveryError);
      assert.equal(error.blame, blame, `${status}`);
      assert.match(error.message, text);
      assert.equal(error.code, `http_${status}`);
      assert.equal(error.retryAfterMs, 7000);
      return true;
    });
  }
  await adapter.close();
});

test("what is wrong with the way to a server is said in a sentence", async (t) => {
  const server = await startHttpServer(t);
  const tries: [Partial<HttpSettings>, RegExp][] = [
    [{ ADDRESSES: ["http://127.0.0.1:1/"] }, /127\.0\.0\.1:1 refuses connections/],
    [{ ADDRESSES: ["http://no-such-host.invalid:80/"] }, /host name of no-such-host\.invalid/],
    [{ ADDRESSES: [`https://127.0.0.1:${server.port}/`] }, /does not speak TLS/],
    [{ TLS_CA_CERT_FILEPATH: "/no/such/ca.pem" }, /the file \/no\/such\/ca\.pem cannot be read/],
  ];
  for (const [given, text] of tries) {
    const adapter = httpAdapter(server.port, given);
    await assert.rejects(adapter.open(signal), text);
    await adapter.close();
  }
});

test("requests go round several servers, and past one that is away", async (t) => {
  const one = await startHttpServer(t);
  const two = await startHttpServer(t);
  const adapter = httpAdapter(0, {
    ADDRESSES: [`http://127.0.0.1:${one.port}`, "http://127.0.0.1:1", `http://127.0.0.1:${two.port}`],
  });
  await adapter.open(signal);
  let failed = 0;
  for (let i = 0; i < 9; i++) await adapter.send(batch, signal).catch(() => failed++);
  assert.equal(failed, 1);
  assert.ok(one.calls.length >= 4 && two.calls.length >= 4);
  await adapter.close();
});

test("an http proxy of the environment is used, but not for the hosts that are excepted", async (t) => {
  const proxy = await startHttpServer(t);
  const server = await startHttpServer(t);
  cleanUp(t, () => {
    delete process.env["http_proxy"];
    delete process.env["no_proxy"];
  });
  process.env["http_proxy"] = `http://127.0.0.1:${proxy.port}`;
  const through = httpAdapter(0, { ADDRESSES: ["http://store.example:8080/in"] });
  await through.open(signal);
  await through.send(batch, signal);
  await through.close();
  assert.equal(proxy.calls.at(-1)?.path, "http://store.example:8080/in");
  process.env["no_proxy"] = "127.0.0.1";
  const direct = httpAdapter(server.port);
  await direct.open(signal);
  await direct.close();
  assert.equal(server.calls.length, 1);
});

test("through every fault of the way and of the server nothing is missing", async (t) => {
  const server = await startHttpServer(t);
  const held: number[] = [];
  let mood: "works" | "busy" | "fails" | "lies" = "works";
  server.answer = (call, response) => {
    if (call.method === "POST" && (mood === "works" || mood === "lies")) {
      for (const line of call.body.split("\n").slice(0, -1)) held.push((JSON.parse(line) as { n: number }).n);
    }
    const statuses = { works: 200, busy: 429, fails: 503, lies: 500 };
    response.writeHead(statuses[mood], mood === "busy" ? { "retry-after": "0" } : {}).end("said");
  };
  const proxy = await startFaultProxy(t, "127.0.0.1", server.port);
  await keepLedger(
    t,
    {
      adapter: httpAdapter(proxy.port, { COMPRESSION: "gzip" }),
      proxy,
      isExactlyOnce: false,
      numbers: async () => held,
      moods: (["works", "busy", "fails", "lies"] as const).map((next) => () => void (mood = next)),
    },
    { records: 20_000, step: 100, faultMs: 60 },
  );
});
