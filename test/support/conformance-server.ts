// A server of the public conformance suite of Connect: the collector's port with the suite's service on it. The suite starts
// it once for each kind of server that it wants. Usage: conformance-server.js SCHEMA (a file descriptor set).
// Standard input is a ServerCompatRequest, standard output a ServerCompatResponse, each behind its length in four bytes.
import { readFileSync, readSync, writeSync } from "node:fs";
import {
  create,
  createFileRegistry,
  fromBinary,
  toBinary,
  toJsonString,
  type DescMessage,
  type DescMethod,
  type DescService,
  type FileRegistry,
  type Message,
} from "@bufbuild/protobuf";
import { anyPack, FileDescriptorSetSchema, type Any } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { ApiServer } from "../../src/server/index.ts";
import { encode, type Encodable } from "../../src/server/rpc/protocol.ts";
import { serverStream, unary, type CallContext, type RpcService } from "../../src/server/rpc/method.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { createMemoryStore } from "./memory-store.ts";
import { selfSignedFiles } from "./self-signed.ts";

const packageName = "connectrpc.conformance.v1";

interface Header {
  readonly name: string;
  readonly value: readonly string[];
}

interface ResponseDefinition {
  readonly responseHeaders: readonly Header[];
  readonly responseTrailers: readonly Header[];
  readonly responseDelayMs: number;
  readonly response:
    | { case: "responseData"; value: Uint8Array }
    | { case: "error"; value: Failure }
    | { case: undefined };
  readonly responseData: readonly Uint8Array[];
  readonly error?: Failure;
}

interface Failure {
  readonly code: number;
  readonly message?: string;
  readonly details: readonly Any[];
}

type Request = Message & { readonly responseDefinition?: ResponseDefinition };

const [schemaPath = ""] = process.argv.slice(2);
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(schemaPath)));
const wanted = readRequest();
const { useTls, messageReceiveLimit } = wanted as unknown as { useTls: boolean; messageReceiveLimit: number };
const after: (() => unknown)[] = [];
const tls = useTls ? selfSignedFiles({ after: (work: () => unknown) => void after.push(work) }) : undefined;
const server = new ApiServer({
  ip: "127.0.0.1",
  port: 0,
  ...(tls === undefined ? {} : { tls }),
  authMetrics: false,
  maxBodyBytes: messageReceiveLimit === 0 ? 1_048_576 : messageReceiveLimit,
  maxBatchSize: 100,
  unknownFields: "reject",
  udm: createMemoryStore(),
  health: createHealth(),
  metrics: createMetrics(),
  log: silentLog,
  clock: systemClock,
  version: "0.0.0",
  services: [conformanceService(registry)],
});
await server.start();
process.once("SIGTERM", () => void server.stop().then(() => after.forEach((work) => work())));
const { ip, port } = server.address();
const pemCert = tls === undefined ? new Uint8Array() : readFileSync(tls.certPath);
const answer = create(message("ServerCompatResponse"), { host: ip, port, pemCert });
const encoded = Buffer.from(toBinary(message("ServerCompatResponse"), answer));
const size = Buffer.alloc(4);
size.writeUInt32BE(encoded.length);
writeSync(1, Buffer.concat([size, encoded]));

function readRequest(): Message {
  return fromBinary(message("ServerCompatRequest"), readInput(readInput(4).readUInt32BE(0)));
}

function readInput(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length;) {
    const read = readSync(0, bytes, at, length - at, null);
    if (read === 0) throw new Error("the standard input ends early");
    at += read;
  }
  return bytes;
}

function message(name: string): DescMessage {
  const found = registry.getMessage(`${packageName}.${name}`);
  if (found === undefined) throw new Error(`the schema has no message ${name}`);
  return found;
}

function conformanceService(files: FileRegistry): RpcService {
  const schema = files.getService(`${packageName}.ConformanceService`);
  if (schema === undefined) throw new Error("the schema has no ConformanceService");
  return {
    schema,
    area: "collector",
    methods: [
      unary(method(schema, "unary"), "viewer", async (request, context) =>
        unaryAnswer(message("UnaryResponse"), request as Request, context),
      ),
      unary(method(schema, "idempotentUnary"), "viewer", async (request, context) =>
        unaryAnswer(message("IdempotentUnaryResponse"), request as Request, context),
      ),
      serverStream(method(schema, "serverStream"), "viewer", (request, context) =>
        streamAnswers(request as Request, context),
      ),
    ],
  };
}

// The kinds of methods are in types of the schema only where they are known when this is compiled.
function method(service: DescService, name: string): never {
  return (service.method as Readonly<Record<string, DescMethod>>)[name] as never;
}

/** An answer that carries messages of any type: in JSON these need the registry, which the collector's own never do. */
function answerOf(desc: DescMessage, payload: Record<string, unknown>): Encodable {
  const made = create(desc, { payload });
  return { encode: (codec) => (codec === "json" ? toJsonString(desc, made, { registry }) : encode(codec, desc, made)) };
}

async function unaryAnswer(desc: DescMessage, request: Request, context: CallContext): Promise<Encodable> {
  const given = request.responseDefinition;
  const requestInfo = infoOf(request, context);
  if (given !== undefined) {
    setMetadata(context, given);
    await pause(given.responseDelayMs);
    if (given.response.case === "error") throw failure(given.response.value, requestInfo);
  }
  const data = given?.response.case === "responseData" ? given.response.value : new Uint8Array();
  return answerOf(desc, { data, requestInfo });
}

async function* streamAnswers(request: Request, context: CallContext): AsyncGenerator<Encodable> {
  const given = request.responseDefinition;
  if (given === undefined) return;
  setMetadata(context, given);
  let requestInfo: Message | undefined = infoOf(request, context);
  for (const data of given.responseData) {
    await pause(given.responseDelayMs);
    yield answerOf(message("ServerStreamResponse"), { data, requestInfo });
    requestInfo = undefined;
  }
  if (given.error !== undefined) throw failure(given.error, requestInfo);
}

/** What the request said, for the suite to compare with what it has sent. */
function infoOf(request: Message, context: CallContext): Message {
  const requestHeaders = Object.entries(context.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value: Array.isArray(value) ? value : [value] }],
  );
  const sent = registry.getMessage(request.$typeName);
  const requests = sent === undefined ? [] : [anyPack(sent, request)];
  const remaining = context.remaining();
  const timeoutMs = Number.isFinite(remaining) ? { timeoutMs: BigInt(Math.round(remaining)) } : {};
  return create(message("ConformancePayload.RequestInfo"), { requestHeaders, requests, ...timeoutMs });
}

function setMetadata(context: CallContext, { responseHeaders, responseTrailers }: ResponseDefinition): void {
  context.extraHeader = headersOf(responseHeaders);
  context.extraTrailer = headersOf(responseTrailers);
}

function headersOf(fields: readonly Header[]): Headers {
  const headers = new Headers();
  for (const { name, value } of fields) for (const one of value) headers.append(name, one);
  return headers;
}

function failure({ code, message: text, details }: Failure, requestInfo: Message | undefined): ConnectError {
  const error = new ConnectError(text ?? "", code);
  const info = requestInfo === undefined ? [] : [anyPack(message("ConformancePayload.RequestInfo"), requestInfo)];
  error.details = [...details, ...info].map(({ typeUrl, value }) => ({
    type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1),
    value,
  }));
  return error;
}

async function pause(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}
