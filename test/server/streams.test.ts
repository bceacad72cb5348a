// A service with a stream of answers, made for this test: a row of the table each, served by every protocol.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, createFileRegistry, toBinary, type DescService, type Message } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { bidiStream, serverStream, unary, type RpcService } from "../../src/server/rpc/method.ts";
import { postJson, startApi, until } from "./api-fixture.ts";
import { envelope, openHttp2, openRaw, postHttp2 } from "./raw-http.ts";

/** message Number { int32 value = 1; string padding = 2; }, and a service with it. */
const file = create(FileDescriptorProtoSchema, {
  name: "number.proto",
  package: "test.v1",
  syntax: "proto3",
  messageType: [
    {
      name: "Number",
      field: [
        { name: "value", jsonName: "value", number: 1, type: 5, label: 1 },
        { name: "padding", jsonName: "padding", number: 2, type: 9, label: 1 },
      ],
    },
  ],
  service: [
    {
      name: "NumberService",
      method: [
        { name: "Double", inputType: ".test.v1.Number", outputType: ".test.v1.Number" },
        { name: "Count", inputType: ".test.v1.Number", outputType: ".test.v1.Number", serverStreaming: true },
        {
          name: "Sum",
          inputType: ".test.v1.Number",
          outputType: ".test.v1.Number",
          clientStreaming: true,
          serverStreaming: true,
        },
      ],
    },
  ],
});
const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [file] }));
const schema = registry.getService("test.v1.NumberService") as DescService;
const numberSchema = schema.methods[0]?.input as DescService["methods"][number]["input"];

type NumberMessage = Message & { value: number; padding: string };
const number = (value: number, padding = ""): NumberMessage => create(numberSchema, { value, padding }) as never;

/** Counts up to the value of the request: a negative one to its amount, and then fails. */
function numberService() {
  const seen = { produced: 0, ended: 0, wasAborted: false };
  async function* count({ value, padding }: NumberMessage, signal: AbortSignal): AsyncGenerator<NumberMessage> {
    try {
      for (let i = 1; i <= Math.abs(value); i++) {
        if (value === 7) await new Promise((resolve) => setTimeout(resolve, 20));
        seen.produced++;
        yield number(i, padding);
      }
      if (value < 0) throw new ConnectError("below ümlaut", Code.OutOfRange, undefined);
    } finally {
      seen.ended++;
      seen.wasAborted = signal.aborted;
    }
  }
  async function* sum(requests: AsyncIterable<NumberMessage>): AsyncGenerator<NumberMessage> {
    let total = 0;
    for await (const { value } of requests) yield number((total += value));
  }
  const [double, counting, summing] = schema.methods as unknown as [never, never, never];
  const service: RpcService = {
    schema,
    area: "collector",
    methods: [
      unary(double, "viewer", (request) => number(2 * (request as unknown as NumberMessage).value)),
      serverStream(
        counting,
        "viewer",
        (request, { signal }) => count(request as unknown as NumberMessage, signal) as never,
      ),
      bidiStream(summing, "viewer", (requests) => sum(requests as never) as never),
    ],
  };
  return { service, seen };
}

interface Client {
  double(request: object): Promise<NumberMessage>;
  count(request: object, options?: { timeoutMs?: number; signal?: AbortSignal }): AsyncIterable<NumberMessage>;
  sum(requests: AsyncIterable<object>): AsyncIterable<NumberMessage>;
}

const transports: Record<string, (baseUrl: string) => Transport> = {};
for (const httpVersion of ["1.1", "2"] as const) {
  for (const useBinaryFormat of [true, false]) {
    const how = `${useBinaryFormat ? "binary" : "JSON"} HTTP/${httpVersion}`;
    const options = { httpVersion, useBinaryFormat };
    transports[`Connect ${how}`] = (baseUrl) => createConnectTransport({ ...options, baseUrl });
    transports[`gRPC-Web ${how}`] = (baseUrl) => createGrpcWebTransport({ ...options, baseUrl });
    transports[`gRPC ${how}`] = (baseUrl) => createGrpcTransport({ ...options, baseUrl });
  }
}

for (const [name, makeTransport] of Object.entries(transports)) {
  suite(`a stream by ${name}`, { concurrency: true }, () => {
    const open = async (t: Parameters<typeof startApi>[0], options: Parameters<typeof startApi>[1] = {}) => {
      const { service, seen } = numberService();
      const api = await startApi(t, { services: [service], ...options });
      return { ...api, seen, client: createClient(schema, makeTransport(api.url)) as unknown as Client };
    };
    const valuesOf = async (answers: AsyncIterable<NumberMessage>, into: number[] = []): Promise<number[]> => {
      for await (const { value } of answers) into.push(value);
      return into;
    };

    test("all messages come in order, short and long ones, and none at all", async (t) => {
      const { client, metrics } = await open(t);
      assert.deepEqual(await valuesOf(client.count({ value: 5 })), [1, 2, 3, 4, 5]);
      assert.deepEqual(await valuesOf(client.count({ value: 0 })), []);
      assert.deepEqual(await valuesOf(client.count({ value: 3, padding: "x".repeat(200_000) })), [1, 2, 3]);
      assert.equal((await client.double({ value: 21 })).value, 42);
      const counted = await metrics.render();
      assert.match(counted, /requests_total\{method="NumberService\/Count",.*code="ok"\} 3/);
    });

    test("an error comes after the messages before it, or alone", async (t) => {
      const { client, metrics } = await open(t);
      const values: number[] = [];
      await assert.rejects(valuesOf(client.count({ value: -3 }), values), (error) => {
        assert.ok(error instanceof ConnectError);
        assert.deepEqual([error.code, error.rawMessage], [Code.OutOfRange, "below ümlaut"]);
        return true;
      });
      assert.deepEqual(values, [1, 2, 3]);
      assert.match(await metrics.render(), /method="NumberService\/Count",.*code="out_of_range"\} 1/);
    });

    test("the client's deadline ends it", async (t) => {
      const { client, seen } = await open(t);
      const values: number[] = [];
      await assert.rejects(valuesOf(client.count({ value: 7 }, { timeoutMs: 70 }), values), /deadline_exceeded/);
      assert.ok(values.length < 7);
      // On a busy machine it may have passed before the request came.
      await until(() => seen.ended === 1 || seen.produced === 0, "the method has ended");
      assert.ok(seen.produced < 7);
    });

    // The client takes all that comes by HTTP/1.1, and has no two directions there.
    if (name.endsWith("HTTP/1.1")) return;

    test("answers are made no faster than they are taken, and no more for a client that has gone", async (t) => {
      const { client, seen, metrics } = await open(t);
      const total = 100_000;
      const leaving = new AbortController();
      const answers = client.count({ value: total, padding: "x".repeat(4_000) }, { signal: leaving.signal });
      const iterator = answers[Symbol.asyncIterator]();
      assert.equal((await iterator.next()).value?.value, 1);
      let before = -1;
      await until(async () => {
        const isStill = before === seen.produced;
        before = seen.produced;
        await new Promise((resolve) => setTimeout(resolve, 200));
        return isStill;
      }, "the windows are full");
      // What the buffers of both sides and of the kernel take.
      assert.ok(seen.produced < total / 5, `${seen.produced} answers made`);
      leaving.abort();
      await until(() => seen.ended === 1, "the method has ended");
      const { produced } = seen;
      await new Promise((resolve) => setTimeout(resolve, 50));
      assert.equal(seen.produced, produced);
      await until(async () => /code="canceled"\} 1/.test(await metrics.render()), "it is counted");
    });

    test("requests and answers at a time", async (t) => {
      const { client } = await open(t);
      let last = 0;
      async function* requests() {
        for (let value = 1; value <= 4; value++) {
          yield { value };
          const wanted = (value * (value + 1)) / 2;
          await until(() => last === wanted, "the answer to this request has come");
        }
      }
      for await (const { value } of client.sum(requests())) last = value;
      assert.equal(last, 10);
    });
  });
}

test("a stream by HTTP/1.1 is made no faster than it is taken", async (t) => {
  const { service, seen } = numberService();
  const { port, metrics } = await startApi(t, { services: [service] });
  const raw = openRaw(t, port);
  raw.socket.pause();
  const body = envelope(JSON.stringify({ value: 100_000, padding: "x".repeat(4_000) }));
  const head =
    "POST /test.v1.NumberService/Count HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/connect+json\r\n";
  raw.socket.write(`${head}Content-Length: ${body.length}\r\n\r\n`);
  raw.socket.write(body);
  let before = -1;
  await until(async () => {
    const isStill = before === seen.produced;
    before = seen.produced;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return isStill && before > 0;
  }, "the socket is full");
  assert.ok(seen.produced < 20_000, `${seen.produced} answers made`);
  raw.socket.destroy();
  await until(() => seen.ended === 1, "the method has ended");
  await until(async () => /code="canceled"\} 1/.test(await metrics.render()), "it is counted");
});

test("a row of a service is served as REST-style JSON below the contract's path", async (t) => {
  const { url } = await startApi(t, { services: [numberService().service] });
  const answer = await postJson(`${url}/api/v1/enrich/ipaddr/test.v1.NumberService/Double`, { value: 4 });
  assert.deepEqual([answer.status, answer.body], [200, { value: 8 }]);
  const wrong = await postJson(`${url}/test.v1.NumberService/Double`, { value: "four" });
  assert.deepEqual([wrong.status, wrong.body["message"]], [400, 'value: "four" is not an integer']);
  const stream = await postJson(`${url}/test.v1.NumberService/Count`, {});
  assert.equal(stream.status, 415);
});

test("header and trailer that a method sets stay apart, also where it refuses at once", async (t) => {
  const { service } = numberService();
  const methods = service.methods.map((method) =>
    method.kind === "unary"
      ? unary(method.schema, "viewer", (_, call) => {
          call.extraHeader = new Headers({ "x-of-the-header": "h" });
          call.extraTrailer = new Headers({ "x-of-the-trailer": "t" });
          throw new ConnectError("no", Code.NotFound);
        })
      : method,
  );
  const { url } = await startApi(t, { services: [{ ...service, methods }] });
  const path = "/test.v1.NumberService/Double";
  const grpc = await postHttp2(openHttp2(t, url), path, "application/grpc", envelope(""));
  assert.equal(grpc.headers["x-of-the-header"], "h");
  assert.deepEqual([grpc.trailers?.["x-of-the-trailer"], grpc.trailers?.["grpc-status"]], ["t", "5"]);
  const rest = await postJson(url + path, {});
  assert.deepEqual([rest.status, rest.headers.get("x-of-the-header")], [404, "h"]);
  assert.equal(rest.headers.get("trailer-x-of-the-trailer"), "t");
});

test("a fault within a stream is reported without its inner words", async (t) => {
  const { service } = numberService();
  const methods = service.methods.map((method) =>
    method.kind === "serverStream"
      ? serverStream(method.schema, "viewer", async function* failing() {
          yield number(1);
          throw new Error("secret inner words");
        })
      : method,
  );
  const { url, metrics } = await startApi(t, { services: [{ ...service, methods }] });
  const session = openHttp2(t, url);
  const stream = session.request({
    ":method": "POST",
    ":path": "/test.v1.NumberService/Count",
    "content-type": "application/grpc",
  });
  stream.resume();
  const trailers = new Promise<Record<string, unknown>>((resolve) => stream.once("trailers", resolve));
  stream.end(envelope(toBinary(numberSchema, number(1))));
  assert.deepEqual([(await trailers)["grpc-status"], (await trailers)["grpc-message"]], ["13", "internal error"]);
  assert.equal(await metrics.value("netgloss_api_failures_total"), 1);
});
