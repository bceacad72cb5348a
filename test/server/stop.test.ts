import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Health } from "../../src/server/gen/grpc/health/v1/health_pb.ts";
import { contractPath, postJson, startApi, until } from "./api-fixture.ts";
import { answerOf, openHttp2, openRaw } from "./raw-http.ts";

const rpc = `${contractPath}/CreateUdm`;

test("stop lets what runs finish, sends HTTP/2 clients a GOAWAY, and closes the port", async (t) => {
  const { server, url, port, store } = await startApi(t, { limits: { stopTimeout: 5_000 } });
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  let running = 0;
  store.beforeCommit = () => {
    running++;
    return held;
  };
  const session = openHttp2(t, url);
  const goaway = new Promise((resolve) => session.on("goaway", resolve));
  const stream = session.request({ ":method": "POST", ":path": rpc, "content-type": "application/json" });
  stream.end('{"udm":{"key":"10.0.0.2"}}');
  const answers = Promise.all([postJson(url + rpc, { udm: { key: "10.0.0.1" } }), answerOf(stream)]);
  const idle = openRaw(t, port);
  const quiet = openRaw(t, port);
  idle.socket.write("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await new Promise((resolve) => idle.socket.once("data", resolve));
  await until(() => running === 2, "both requests are running");
  const stopped = server.stop();
  await Promise.all([goaway, idle.closed, quiet.closed]);
  await assert.rejects(fetch(`${url}/livez`), "nothing more is accepted");
  release();
  const [first, second] = await answers;
  assert.deepEqual([first.status, second.status], [200, 200]);
  await stopped;
  assert.throws(() => server.address(), /not open/);
});

test("what does not finish is cut off", async (t) => {
  const { server, url, store } = await startApi(t, { limits: { stopTimeout: 100 } });
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  store.beforeCommit = () => {
    begin();
    return new Promise(() => {});
  };
  const stuck = postJson(url + rpc, { udm: { key: "10.0.0.1" } });
  stuck.catch(() => {});
  await begun;
  await server.stop();
  await assert.rejects(stuck);
});

test("those who watch health get an answer, and do not delay the stop", async (t) => {
  const { server, url } = await startApi(t, { limits: { stopTimeout: 60_000 } });
  const client = createClient(Health, createGrpcTransport({ baseUrl: url }));
  const watch = client.watch({})[Symbol.asyncIterator]();
  await watch.next();
  const end = assert.rejects(watch.next(), /the collector is stopping/);
  await server.stop();
  await end;
});

test("a stopped server stops again, and one that never started does too", async (t) => {
  const { server } = await startApi(t);
  await Promise.all([server.stop(), server.stop()]);
  await server.stop();
});

test("a port that is taken fails the start", async (t) => {
  const { port } = await startApi(t);
  await assert.rejects(startApi(t, { port }), /EADDRINUSE/);
});
