// The short ways answer like the complete one: two servers, of which one has no short ways, are given the same requests, and their
// answers are compared to the last byte.
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { fromBinary, fromJson, toBinary, toJson, type DescMethodUnary, type JsonValue } from "@bufbuild/protobuf";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import * as fc from "fast-check";
import type { ApiServerOptions } from "../../src/api/index.ts";
import { UdmService } from "../../src/api/gen/udm/v1/udm_pb.ts";
import { createRandom, mutate } from "../support/mutate.ts";
import { contractPath, startApi, type ApiFixture } from "./api-fixture.ts";
import { answerOf, envelope, exchange, openHttp2 } from "./raw-http.ts";
import { grpcOutcome, restOutcome, type Outcome, type UdmMethod } from "./udm-clients.ts";
import { contractCases } from "./udm-contract-cases.ts";
import { runs } from "../support/runs.ts";

interface Twins {
  readonly short: ApiFixture;
  readonly complete: ApiFixture;
  /** Sends the same to both, and compares what comes back. @returns it. */
  grpc(path: string, headers: Record<string, string>, parts: readonly Uint8Array[]): ReturnType<typeof answerOf>;
  rest(path: string, headers: Record<string, string>, body: Uint8Array): Promise<{ status: number; body: string }>;
  sameMetrics(): Promise<void>;
}

async function startTwins(t: Pick<TestContext, "after">, options: Partial<ApiServerOptions> = {}): Promise<Twins> {
  const short = await startApi(t, options);
  const complete = await startApi(t, { ...options, isComplete: true });
  const both = [short, complete];
  const sessions = both.map(({ url }) => openHttp2(t, url));
  return {
    short,
    complete,
    async grpc(path, headers, parts) {
      const answers = sessions.map((session) => {
        const stream = session.request({ ":method": "POST", ":path": path, ":authority": "localhost", ...headers });
        for (const part of parts) stream.write(part);
        stream.end();
        return answerOf(stream);
      });
      const [one, other] = (await Promise.all(answers)).map(withoutDate);
      assert.deepEqual(one, other);
      return one as Awaited<ReturnType<typeof answerOf>>;
    },
    async rest(path, headers, body) {
      const fields = { Host: "localhost", Connection: "close", "Content-Length": String(body.length), ...headers };
      const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
      const request = Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${head.join("")}\r\n`, "latin1"), body]);
      const [one = "", other] = await Promise.all(
        both.map(async ({ port }) => (await exchange(t, port, request)).replace(/\r\nDate: [^\r]*/, "")),
      );
      assert.equal(one, other);
      const text = one.slice(one.indexOf("\r\n\r\n") + 4);
      const whole = /\r\ntransfer-encoding: chunked/i.test(one) ? dechunked(text) : text;
      return { status: Number(one.slice(9, 12)), body: Buffer.from(whole, "latin1").toString() };
    },
    async sameMetrics() {
      const [one, other] = await Promise.all(both.map(({ metrics }) => countersOf(metrics)));
      assert.deepEqual(one, other);
    },
  };
}

/** A body in chunks (RFC 9112 section 7.1) as one. */
function dechunked(text: string): string {
  const end = text.indexOf("\r\n");
  const length = Number.parseInt(text.slice(0, end), 16);
  return length === 0 ? "" : text.slice(end + 2, end + 2 + length) + dechunked(text.slice(end + length + 4));
}

function withoutDate(answer: Awaited<ReturnType<typeof answerOf>>): Awaited<ReturnType<typeof answerOf>> {
  const { date: _, ...headers } = answer.headers;
  return { ...answer, headers };
}

async function countersOf(metrics: ApiFixture["metrics"]): Promise<string[]> {
  const text = await metrics.render();
  return text
    .split("\n")
    .filter((line) => /^netgloss_api_(requests|rejected|failures)_total/.test(line))
    .toSorted();
}

const methods = UdmService.methods as readonly DescMethodUnary[];
const grpcType = { "content-type": "application/grpc", te: "trailers" };

suite("every case of the contract, both ways", () => {
  for (const { title, options, run } of contractCases) {
    for (const wire of ["gRPC", "REST"] as const) {
      test(`${wire}: ${title}`, async (t) => {
        const twins = await startTwins(t, options);
        const stores = [twins.short.store, twins.complete.store];
        await run((method, request) => callTwins(twins, wire, method, request), {
          store: {
            failCommits: (reason) => stores.forEach((store) => store.failCommits(reason)),
            breakState: (reason) => stores.forEach((store) => store.breakState(reason)),
          },
        });
        await twins.sameMetrics();
      });
    }
  }
});

async function callTwins(twins: Twins, wire: string, name: UdmMethod, request: JsonValue): Promise<Outcome> {
  const method: DescMethodUnary = UdmService.method[name];
  const path = `${contractPath}/${method.name}`;
  if (wire === "REST") {
    const type = { "Content-Type": "application/json" };
    const { status, body } = await twins.rest(path, type, Buffer.from(JSON.stringify(request)));
    return restOutcome(status, body);
  }
  const message = toBinary(method.input, fromJson(method.input, request));
  const { headers, trailers, body } = await twins.grpc(path, grpcType, [envelope(message)]);
  if (trailers?.["grpc-status"] === "0") {
    return { code: "ok", answer: toJson(method.output, fromBinary(method.output, body.subarray(5))) };
  }
  const code = codeToString(Number(headers["grpc-status"]));
  const details = Buffer.from((headers["grpc-status-details-bin"] as string | undefined) ?? "", "base64");
  return grpcOutcome(code, decodeURIComponent(String(headers["grpc-message"])), details);
}

const anyKey = fc.constantFrom("", "10.0.0.1", "10.0.0.0/8", "10.0.0.1-10.0.0.9", "10.0.0.256", "ü", "x".repeat(200));
const anyUdm = fc.record(
  {
    key: anyKey,
    name: fc.constantFrom("", "n", "ü".repeat(90), "x".repeat(300), "\u0000"),
    tags: fc.array(fc.constantFrom("a", "", "b b", "é".repeat(400)), { maxLength: 3 }),
    vlan: fc.constantFrom("0", "7", "300", "18446744073709551615"),
    internal: fc.boolean(),
    metadata: fc.dictionary(
      fc.constantFrom(".site", "a", "__proto__", "a..b"),
      fc.constantFrom("", "v", "ß".repeat(99)),
    ),
  },
  { requiredKeys: [] },
);
const anyMask = fc.constantFrom("", "name", "name,tags", "metadata", "key", "nonsense");
const anyRequest = fc.record(
  {
    key: anyKey,
    exact: fc.boolean(),
    udm: anyUdm,
    updateMask: anyMask,
    requests: fc.array(fc.record({ udm: anyUdm }, { requiredKeys: [] }), { maxLength: 3 }),
  },
  { requiredKeys: [] },
);
const anyMethod = fc.constantFrom(...methods);

/** Of a random object what the message of the method has. */
function fitting(method: DescMethodUnary, request: Record<string, unknown>): JsonValue {
  const names = new Set(method.input.fields.map(({ jsonName }) => jsonName));
  return Object.fromEntries(Object.entries(request).filter(([name]) => names.has(name))) as JsonValue;
}

/** Up to two of the headers: a call that has more oddities shows none of them. */
function someOf(headers: Record<string, fc.Arbitrary<string>>): fc.Arbitrary<Record<string, string>> {
  return fc
    .record(headers)
    .chain((all) => fc.subarray(Object.entries(all), { maxLength: 2 }))
    .map((pairs) => Object.fromEntries(pairs));
}

const anyHeaders = someOf({
  "content-type": fc.constantFrom(
    "application/grpc+proto",
    "application/grpc+json",
    "application/grpc;charset=utf-8",
    "application/json",
  ),
  "grpc-encoding": fc.constantFrom("identity", "gzip", "br"),
  "grpc-accept-encoding": fc.constantFrom("", "identity", "gzip", "identity,deflate,gzip", "br , gzip"),
  "grpc-timeout": fc.constantFrom("1H", "99999999H", "5S", "0n", "1", "1x", "123456789S"),
  origin: fc.constantFrom("http://localhost", "http://elsewhere"),
  "sec-fetch-site": fc.constantFrom("same-origin", "cross-site"),
  authorization: fc.constantFrom("Basic eDp5", "Basic eDp6"),
  expect: fc.constantFrom("100-continue"),
});

/** How a message is sent: as it is, or not as it should be. */
const anyFraming = fc.record({
  kind: fc.constantFrom(
    "plain",
    "plain",
    "plain",
    "mutated",
    "flags",
    "cut",
    "extra",
    "twice",
    "none",
    "claims",
    "bare",
  ),
  flags: fc.constantFrom(1, 2, 128, 255),
  seed: fc.nat(),
  pieces: fc.integer({ min: 1, max: 3 }),
});

type Framing = typeof anyFraming extends fc.Arbitrary<infer T> ? T : never;

function framed(message: Uint8Array, { kind, flags, seed, pieces }: Framing): readonly Uint8Array[] {
  const makers: Readonly<Record<string, () => Buffer>> = {
    plain: () => envelope(message),
    mutated: () => envelope(mutate(message, createRandom(seed))),
    flags: () => envelope(message, flags),
    cut: () => envelope(message).subarray(0, seed % (message.length + 5)),
    extra: () => Buffer.concat([envelope(message), Buffer.from([seed & 255])]),
    twice: () => Buffer.concat([envelope(message), envelope(message)]),
    none: () => Buffer.alloc(0),
    claims: () => Buffer.concat([Buffer.from([0, 255, 255, 255, 255]), message]),
    bare: () => Buffer.from(message),
  };
  const bytes = makers[kind]?.() as Buffer;
  const length = Math.ceil(bytes.length / pieces);
  return Array.from({ length: pieces }, (_, i) => bytes.subarray(i * length, (i + 1) * length)).filter(
    (p) => p.length > 0,
  );
}

test("random and hostile gRPC calls", async (t) => {
  const plain = await startTwins(t, { maxBodyBytes: 2_000 });
  const guarded = await startTwins(t, { maxBodyBytes: 2_000, basicAuth: { username: "x", password: "y" } });
  const anyCall = fc.tuple(anyMethod, anyRequest, anyHeaders, anyFraming, fc.boolean());
  await fc.assert(
    fc.asyncProperty(anyCall, async ([method, request, headers, framing, isGuarded]) => {
      const message = toBinary(method.input, fromJson(method.input, fitting(method, request)));
      const twins = isGuarded && headers["authorization"] !== undefined ? guarded : plain;
      await twins.grpc(`${contractPath}/${method.name}`, { ...grpcType, ...headers }, framed(message, framing));
    }),
    runs(100),
  );
  await plain.sameMetrics();
  await guarded.sameMetrics();
});

const anyRestHeaders = someOf({
  "Content-Type": fc.constantFrom("application/json; charset=utf-8", "text/plain", "application/JSON"),
  "Content-Encoding": fc.constantFrom("identity", "gzip", "br"),
  "Accept-Encoding": fc.constantFrom("gzip", "identity", "gzip;q=0", "*"),
  "Connect-Protocol-Version": fc.constantFrom("1", "2"),
  "Connect-Timeout-Ms": fc.constantFrom("0", "10000", "x"),
  Origin: fc.constantFrom("http://localhost", "http://elsewhere"),
  Host: fc.constantFrom("127.0.0.1", "elsewhere"),
});

test("random and hostile REST calls", async (t) => {
  const twins = await startTwins(t, { maxBodyBytes: 2_000 });
  const anyCall = fc.tuple(anyMethod, anyRequest, anyRestHeaders, fc.option(fc.nat(), { freq: 3 }));
  await fc.assert(
    fc.asyncProperty(anyCall, async ([method, request, headers, seed]) => {
      const text = Buffer.from(JSON.stringify(fitting(method, request)));
      const body = seed === null ? text : mutate(text, createRandom(seed));
      await twins.rest(`${contractPath}/${method.name}`, { "Content-Type": "application/json", ...headers }, body);
    }),
    runs(100),
  );
  await twins.sameMetrics();
});

test("answers that are long enough to be compressed, and lists of many pieces", async (t) => {
  const twins = await startTwins(t);
  const requests = Array.from({ length: 2_500 }, (_, i) => ({
    udm: { key: `10.0.${i >> 8}.${i & 255}`, name: `host ${i} ${"x".repeat(i % 40)}`, tags: ["a", "ü"] },
  }));
  await callTwins(twins, "REST", "batchCreateUdms", { requests: requests.slice(0, 1_200) });
  await callTwins(twins, "gRPC", "batchCreateUdms", { requests: requests.slice(1_200) });
  for (const key of ["", "10.0.0.0/27", "10.0.0.0/24", "10.0.0.7"]) {
    for (const method of ["listUdms", "listUdmKeys"] as const) {
      await callTwins(twins, "REST", method, { key });
      await callTwins(twins, "gRPC", method, { key });
    }
  }
  const accepts = { ...grpcType, "grpc-accept-encoding": "gzip" };
  const answer = await twins.grpc(`${contractPath}/ListUdms`, accepts, [envelope(Buffer.from("\n\x0b10.0.0.0/27"))]);
  assert.equal(answer.body[0], 1);
});
