import assert from "node:assert/strict";
import { constants, type ClientHttp2Session } from "node:http2";
import { connect, type Socket } from "node:net";
import { suite, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { cleanUp } from "../support/clean-up.ts";
import { selfSignedFiles } from "../support/self-signed.ts";
import { contractPath, postJson, startApi, until, type ApiFixture } from "./api-fixture.ts";
import { answerOf, exchange, openHttp2, openRaw } from "./raw-http.ts";

const rpc = `${contractPath}/CreateUdm`;
const preface = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0)]);
const views = new Map([["/big", () => "x".repeat(30_000_000)]]);

const rejected = async ({ metrics }: ApiFixture, reason: string): Promise<number> =>
  (await metrics.value("netgloss_api_rejected_total", { reason })) ?? 0;

suite("slow and hostile clients", { concurrency: true, timeout: 180_000 }, () => {
  test("a header that does not end", async (t) => {
    const api = await startApi(t, { limits: { headersTimeout: 1_000, requestTimeout: 60_000 } });
    const raw = openRaw(t, api.port);
    raw.socket.write("GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    assert.match(await raw.closed, /^HTTP\/1\.1 408 /);
    assert.equal(await rejected(api, "timeout"), 1);
  });

  test("a connection that says nothing, or only a part of the preface of HTTP/2", async (t) => {
    const api = await startApi(t, { limits: { headersTimeout: 1_500 } });
    const silent = openRaw(t, api.port);
    const undecided = openRaw(t, api.port);
    undecided.socket.write("PRI * HTTP/2.0\r\n");
    assert.deepEqual(await Promise.all([silent.closed, undecided.closed]), ["", ""]);
    assert.equal(await rejected(api, "headers"), 2);
    // On a busy host the bound may fall on this one too.
    await until(async () => (await fetch(`${api.url}/livez`).catch(() => undefined))?.status === 200, "it is served");
  });

  for (const tls of [false, true]) {
    test(`frames of HTTP/2 that do not end, ${tls ? "by TLS" : "in clear"}`, async (t) => {
      const files = tls ? selfSignedFiles(t) : undefined;
      const api = await startApi(t, { limits: { headersTimeout: 5_000 }, ...(files && { tls: files }) });
      const open = (): Promise<Socket> => openHttp2Socket(t, api.port, files?.cert);
      const header = frame(1, 5, 1, getLivez);
      const begin = Buffer.concat([preface, frame(8, 0, 0, Buffer.from([0, 1, 0, 0]))]);
      const dripping: readonly (readonly [string, Uint8Array, Uint8Array])[] = [
        ["a header block byte by byte", begin, header.subarray(0, -1)],
        ["the head of a frame byte by byte", begin, header.subarray(0, 8)],
        ["a header block whose end never comes", Buffer.concat([begin, header.subarray(0, 11)]), Buffer.alloc(0)],
        ["continuations", Buffer.concat([begin, frame(1, 1, 1, getLivez)]), frame(9, 0, 1, Buffer.from([0x82]))],
        ["no settings", preface.subarray(0, 24), Buffer.alloc(0)],
        ["settings byte by byte", preface.subarray(0, 24), frame(4, 0, 0, Buffer.alloc(60)).subarray(0, 50)],
        ["half the preface", preface.subarray(0, 12), Buffer.alloc(0)],
      ];
      // A client that only keeps its connection is not one of them, nor is one with many calls. One after the other, so that a handshake has time.
      const ended = async (): Promise<number> => (await rejected(api, "headers")) + (await rejected(api, "protocol"));
      // On a busy host a handshake may take longer than the bound.
      const served = async (): Promise<ClientHttp2Session> => {
        for (;;) {
          const opened = openHttp2(t, api.url, files?.cert);
          if ((await answerOf(opened.request({ ":path": "/livez" }))).status === 200) return opened;
        }
      };
      const session = await served();
      const idle = await served();
      const endedBefore = await ended();
      const sockets: { readonly socket: Socket; readonly closed: Promise<unknown> }[] = [];
      for (const _ of dripping) {
        const socket = await open();
        sockets.push({ socket, closed: new Promise((resolve) => socket.on("close", resolve)) });
      }
      const calls = setInterval(() => {
        if (!session.destroyed) void answerOf(session.request({ ":path": "/livez" }));
      }, 150);
      cleanUp(t, () => clearInterval(calls));
      const ends = dripping.map(async ([what, start, rest], i) => {
        const { socket, closed } = sockets[i] as (typeof sockets)[number];
        socket.write(start);
        // A second after the first, as if nothing else were to be sent.
        let at = 0;
        const drip = setInterval(() => at < rest.length && socket.write(rest.subarray(at, ++at)), 100);
        const isLate = { value: true };
        await Promise.race([closed.then(() => (isLate.value = false)), sleep(120_000, undefined, { ref: false })]);
        clearInterval(drip);
        assert.equal(isLate.value, false, what);
      });
      await Promise.all(ends);
      // More than eight continuations end a connection by themselves.
      assert.equal((await ended()) - endedBefore, dripping.length);
      assert.deepEqual([session.destroyed, idle.destroyed], [false, false]);
    });
  }

  test("a flood of continuations of a header block", async (t) => {
    const api = await startApi(t);
    const floods = [frame(9, 0, 1), frame(9, 0, 1, Buffer.from([0x82])), frame(9, 0, 1, Buffer.alloc(16_384, 0x82))];
    for (const one of floods) {
      const raw = openRaw(t, api.port);
      raw.socket.write(Buffer.concat([preface, frame(1, 1, 1, getLivez), ...Array<Buffer>(2_000).fill(one)]));
      await raw.closed;
    }
    assert.equal((await fetch(`${api.url}/livez`)).status, 200);
  });

  test("a body that does not end, HTTP/1.1", async (t) => {
    const api = await startApi(t, { limits: { headersTimeout: 1_000, requestTimeout: 1_200 } });
    const raw = openRaw(t, api.port);
    raw.socket.write(
      `POST ${rpc} HTTP/1.1\r\nHost: a.localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    );
    await raw.closed;
    assert.equal(await rejected(api, "timeout"), 1);
    const key = { method: "CreateUdm", transport: "json", code: "canceled" };
    await until(async () => (await api.metrics.value("netgloss_api_requests_total", key)) === 1, "it is counted");
  });

  test("a body that does not end, HTTP/2", async (t) => {
    const api = await startApi(t, { limits: { requestTimeout: 100 } });
    const session = openHttp2(t, api.url);
    for (const type of ["application/json", "application/grpc"]) {
      const stream = session.request({ ":method": "POST", ":path": rpc, "content-type": type });
      stream.write("{");
      assert.equal((await answerOf(stream)).resetCode, constants.NGHTTP2_CANCEL);
    }
    assert.equal(await rejected(api, "timeout"), 2);
  });

  test("an idle connection, of either protocol", async (t) => {
    const api = await startApi(t, { limits: { idleTimeout: 400 } });
    const raw = openRaw(t, api.port);
    raw.socket.write("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert.match(await raw.closed, /^HTTP\/1\.1 200 OK/);
    const session = openHttp2(t, api.url);
    const goaway = new Promise<number>((resolve) => session.on("goaway", resolve));
    const closed = new Promise((resolve) => session.on("close", resolve));
    assert.equal((await answerOf(session.request({ ":path": "/livez" }))).status, 200);
    assert.equal(await goaway, constants.NGHTTP2_NO_ERROR);
    await closed;
    await until(async () => (await api.metrics.value("netgloss_api_connections", { protocol: "http2" })) === 0, "gone");
  });

  test("an HTTP/2 connection kept awake by pings alone is idle", async (t) => {
    const api = await startApi(t, { limits: { idleTimeout: 150 } });
    const session = openHttp2(t, api.url);
    const pings = setInterval(() => !session.destroyed && session.ping(() => {}), 20);
    cleanUp(t, () => clearInterval(pings));
    await new Promise((resolve) => session.on("close", resolve));
  });

  test("an answer that is never read, HTTP/1.1", async (t) => {
    const api = await startApi(t, { views, limits: { stallTimeout: 200 } });
    const raw = openRaw(t, api.port);
    raw.socket.pause();
    raw.socket.write("GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await until(async () => (await rejected(api, "timeout")) === 1, "the server gives up");
    await until(async () => (await api.metrics.value("netgloss_api_connections", { protocol: "http1" })) === 0, "gone");
  });

  test("an answer that is never read, HTTP/2", async (t) => {
    const api = await startApi(t, { views, limits: { stallTimeout: 200 } });
    const session = openHttp2(t, api.url);
    const stream = session.request({ ":path": "/big" });
    stream.on("error", () => {});
    stream.on("response", () => stream.pause());
    await until(async () => (await rejected(api, "timeout")) === 1, "the server gives up");
    assert.equal((await answerOf(session.request({ ":path": "/livez" }))).status, 200);
  });

  test("a request has a bound in all", async (t) => {
    const api = await startApi(t, { limits: { lifetime: 100 } });
    api.store.beforeCommit = () => new Promise((resolve) => setTimeout(resolve, 5_000).unref());
    await assert.rejects(postJson(api.url + rpc, { udm: { key: "10.0.0.1" } }));
    assert.equal(await rejected(api, "timeout"), 1);
  });

  test("floods of pings, settings and cancelled requests", async (t) => {
    const api = await startApi(t, { limits: { maxControlFrames: 100 } });
    const ping = Buffer.concat([frame(6, 0, 0, Buffer.alloc(8))]);
    const settings = frame(4, 0, 0);
    // HPACK: method GET, scheme http and path / from the static table, authority "localhost" as a literal.
    const header = Buffer.from("8286844109" + Buffer.from("localhost").toString("hex"), "hex");
    const floods = [
      Buffer.concat(Array<Buffer>(2_000).fill(ping)),
      Buffer.concat(Array<Buffer>(2_000).fill(settings)),
      Buffer.concat(
        Array.from({ length: 2_000 }, (_, i) =>
          Buffer.concat([frame(1, 5, 2 * i + 1, header), frame(3, 0, 2 * i + 1, Buffer.from([0, 0, 0, 8]))]),
        ),
      ),
    ];
    for (const [i, flood] of floods.entries()) {
      const raw = openRaw(t, api.port);
      raw.socket.write(Buffer.concat([preface, flood]));
      await raw.closed;
      // Newer versions of Node end the last one before our own count does.
      const ended = async (): Promise<number> => (await rejected(api, "flood")) + (await rejected(api, "protocol"));
      await until(async () => (await ended()) === i + 1, `flood ${i} is counted`);
    }
    assert.equal((await fetch(`${api.url}/livez`)).status, 200);
  });

  test("more streams than allowed are refused, the others served", async (t) => {
    const api = await startApi(t, { limits: { maxStreams: 5 } });
    const session = openHttp2(t, api.url);
    await new Promise((resolve) => session.once("remoteSettings", resolve));
    assert.equal(session.remoteSettings.maxConcurrentStreams, 5);
  });

  test("more connections than allowed", async (t) => {
    const api = await startApi(t, { limits: { maxConnections: 3 } });
    const held = [openRaw(t, api.port), openRaw(t, api.port), openRaw(t, api.port)];
    await until(
      async () => (await api.metrics.value("netgloss_api_connections", { protocol: "http1" })) === 3,
      "3 open",
    );
    assert.equal(await exchange(t, api.port, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), "");
    assert.equal(await rejected(api, "connections"), 1);
    held[0]?.socket.destroy();
    await until(
      () =>
        fetch(`${api.url}/livez`).then(
          ({ status }) => status === 200,
          () => false,
        ),
      "there is room again",
    );
  });
});

test("a connection of HTTP/2 whose answer waits while the collector is busy is not ended", async (t) => {
  const api = await startApi(t, { limits: { headersTimeout: 400 } });
  const session = openHttp2(t, api.url);
  // Each turn of the event loop takes longer than a client may: what it has sent is only read in the next one.
  for (let i = 0; i < 4; i++) {
    assert.equal((await answerOf(session.request({ ":path": "/livez" }))).status, 200);
    for (let turn = 0; turn < 3; turn++) {
      await sleep(110);
      for (const end = performance.now() + 450; performance.now() < end;);
    }
  }
  assert.equal(session.destroyed, false);
  assert.equal(await rejected(api, "headers"), 0);
});

test("a flood by many connections of one client, none of which sends too much", async (t) => {
  const api = await startApi(t, { limits: { maxControlFrames: 100, maxClientControlFrames: 150 } });
  const cancel = async (): Promise<number> => {
    const session = openHttp2(t, api.url);
    let code: number = constants.NGHTTP2_NO_ERROR;
    session.on("goaway", (given: number) => (code = given));
    await new Promise((resolve) => session.once("connect", resolve));
    for (let i = 0; i < 80; i++) await cancelled(session);
    session.close();
    return code;
  };
  const cancelled = (session: ClientHttp2Session): Promise<void> =>
    new Promise((resolve) => {
      if (session.destroyed || session.closed) return resolve();
      const stream = session.request({ ":path": "/livez" });
      stream.on("error", () => {}).on("close", resolve);
      stream.close(constants.NGHTTP2_CANCEL);
    });
  assert.equal(await cancel(), constants.NGHTTP2_NO_ERROR);
  assert.equal(await cancel(), constants.NGHTTP2_ENHANCE_YOUR_CALM);
  assert.equal(await rejected(api, "flood"), 1);
  assert.equal((await fetch(`${api.url}/livez`)).status, 200);
});

test("requests that are cancelled as they are made are not worked for", async (t) => {
  let worked = 0;
  const api = await startApi(t, { views: new Map([["/metriks", () => ++worked]]) });
  api.metrics.gaugeFrom("netgloss_test_reads", "Counts renderings.", [], () => ++worked);
  // HPACK: method GET, scheme http, a path of eight characters, authority "localhost".
  for (const path of ["/metrics", "/metriks"]) {
    const header = Buffer.from(
      `82860408${Buffer.from(path).toString("hex")}4109${Buffer.from("localhost").toString("hex")}`,
      "hex",
    );
    const flood = Array.from({ length: 4_500 }, (_, i) =>
      Buffer.concat([frame(1, 5, 2 * i + 1, header), frame(3, 0, 2 * i + 1, Buffer.from([0, 0, 0, 8]))]),
    );
    const raw = openRaw(t, api.port);
    raw.socket.write(Buffer.concat([preface, ...flood]));
    await raw.closed;
  }
  // A piece of what is sent may end between a request and its end.
  assert.ok(worked <= 20, `${worked} renderings`);
  assert.equal((await fetch(`${api.url}/metriks`)).status, 200);
});

test("more requests at a time than a client may have, by all of its connections", async (t) => {
  let answer: (value: unknown) => void = () => {};
  const held = new Promise((resolve) => (answer = resolve));
  const api = await startApi(t, { limits: { maxClientRequests: 4 }, views: new Map([["/held", () => held]]) });
  const asked = [1, 2]
    .map(() => openHttp2(t, api.url))
    .flatMap((session) => [1, 2].map(() => answerOf(session.request({ ":path": "/held" }))));
  await until(async () => (await fetch(`${api.url}/livez`)).status === 429, "the client has too many");
  const refused = await postJson(api.url + rpc, { udm: { key: "10.0.0.1" } });
  assert.deepEqual([refused.status, refused.body["code"]], [429, "resource_exhausted"]);
  assert.match(String(refused.body["message"]), /^this client has 4 requests under way/);
  assert.ok((await rejected(api, "requests")) >= 2);
  answer({});
  assert.deepEqual(
    (await Promise.all(asked)).map(({ status }) => status),
    [200, 200, 200, 200],
  );
  await until(async () => (await fetch(`${api.url}/livez`)).status === 200, "it has room again");
});

test("requests that are sent behind one that is not answered count as their client's", async (t) => {
  const held = new Promise(() => {});
  const api = await startApi(t, { limits: { maxClientRequests: 4 }, views: new Map([["/held", () => held]]) });
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  const patient = openRaw(t, api.port);
  patient.socket.write(get("/held") + get("/livez").repeat(2));
  await until(async () => (await fetch(`${api.url}/livez`)).status === 200, "there is room for one more");
  const greedy = openRaw(t, api.port);
  greedy.socket.write(get("/held") + get("/livez").repeat(20));
  await greedy.closed;
  assert.equal(await rejected(api, "requests"), 1);
  patient.socket.destroy();
  await until(async () => (await fetch(`${api.url}/livez`)).status === 200, "it has room again");
  const third = openRaw(t, api.port);
  third.socket.write(get("/held") + get("/livez").repeat(2));
  await until(async () => (await fetch(`${api.url}/livez`)).status === 200, "what was closed is not counted");
});

test("a handler that takes long is no fault of the client", async (t) => {
  const api = await startApi(t, { limits: { stallTimeout: 1000, idleTimeout: 1000, headersTimeout: 1000 } });
  api.store.beforeCommit = () => new Promise((resolve) => setTimeout(resolve, 2500));
  const create = (key: string): Promise<{ status: number }> => postJson(api.url + rpc, { udm: { key } });
  const session = openHttp2(t, api.url);
  const stream = session.request({ ":method": "POST", ":path": rpc, "content-type": "application/json" });
  stream.end('{"udm":{"key":"10.0.0.2"}}');
  const [first, second] = await Promise.all([create("10.0.0.1"), answerOf(stream)]);
  assert.deepEqual([first.status, second.status], [200, 200]);
});

/** A connection that may speak HTTP/2 at once. */
async function openHttp2Socket(t: TestContext, port: number, ca: string | undefined): Promise<Socket> {
  const options = { port, host: "127.0.0.1", servername: "localhost", ALPNProtocols: ["h2"] };
  for (;;) {
    const socket = ca === undefined ? connect(options) : connectTls({ ...options, ca });
    cleanUp(t, () => socket.destroy());
    socket.on("error", () => {});
    socket.resume();
    const isOpen = await new Promise((resolve) => {
      socket.once(ca === undefined ? "connect" : "secureConnect", () => resolve(true));
      socket.once("close", () => resolve(false));
    });
    if (isOpen === true) return socket;
  }
}

/** HPACK: method GET, scheme http and path /livez, authority localhost. */
const getLivez = Buffer.concat([
  Buffer.from([0x82, 0x86, 0x04, 6]),
  Buffer.from("/livez"),
  Buffer.from([0x41, 9]),
  Buffer.from("localhost"),
]);

/** A frame of HTTP/2 (RFC 9113 section 4.1). */
function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
