import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { udmJson, type UdmEntry } from "../../udm/index.ts";
import * as schema from "../gen/udm/v1/udm_pb.ts";
import type { BodyReader } from "../http/read-body.ts";
import type { Call } from "../http/call.ts";
import { headerOf } from "../http/http-message.ts";
import { sendBytes, sendChunks, sendShortJson } from "../http/send.ts";
import { decodeRequest, decodeRequestInTurns } from "../json/decode-request.ts";
import { quote } from "../../text/index.ts";
import type { UnknownFields } from "../json/read-message.ts";
import { jsonListChunks } from "../json/json-list.ts";
import { apiError } from "./api-error.ts";
import { withDeadline, type Waiting } from "./timeouts.ts";
import type { UdmService } from "./udm-service.ts";

/** Answers one call that came as REST-style JSON, which is Connect's unary JSON too, or hands it to `fail`. */
export type JsonHandler = (call: Call, fail: (call: Call, error: unknown) => void) => void;

/** Takes the bytes of a request, gives a JSON text: whole, or in pieces. */
type JsonMethod = (bytes: Uint8Array, waiting: Waiting) => JsonAnswer | Promise<JsonAnswer>;
type JsonAnswer = Iterator<string | Uint8Array> | string;

const gzipBytes = promisify(gzip);
const jsonType = { "content-type": "application/json" };
/** What is smaller is not worth compressing. */
const compressFrom = 1024;
/** From how many bytes on a batch is read in turns. */
const longBatch = 65_536;
/** How much of a list is rendered at a time. */
const listPiece = 32_768;

export interface JsonFrontParts {
  readonly service: UdmService;
  readonly bodies: BodyReader;
  readonly unknownFields: UnknownFields;
  /** Every call takes the complete way. */
  readonly isComplete: boolean;
}

/** Handlers by the name of the method in the schema. */
export function createJsonFront(parts: JsonFrontParts): ReadonlyMap<string, JsonHandler> {
  const { service, bodies, unknownFields } = parts;
  const plainList = parts.isComplete ? () => undefined : readPlainList;
  const decodeBatch = async <Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): Promise<MessageShape<Desc>> =>
    bytes.length < longBatch
      ? decodeRequest(desc, bytes, unknownFields)
      : decodeRequestInTurns(desc, bytes, unknownFields);
  const methods: Readonly<Record<string, JsonMethod>> = {
    CountUdms(bytes) {
      decodeRequest(EmptySchema, bytes, unknownFields);
      const count = service.countUdms();
      return count === 0 ? "{}" : `{"count":${count}}`;
    },
    ListUdms(bytes) {
      const request = plainList(bytes) ?? decodeRequest(schema.ListUdmsRequestSchema, bytes, unknownFields);
      return jsonList("udms", service.renderUdms(request, "json", listPiece));
    },
    ListUdmKeys(bytes) {
      const request = plainList(bytes) ?? decodeRequest(schema.ListUdmKeysRequestSchema, bytes, unknownFields);
      return jsonList("keys", service.renderUdms(request, "key", listPiece));
    },
    async CreateUdm(bytes, waiting) {
      const request = decodeRequest(schema.CreateUdmRequestSchema, bytes, unknownFields);
      return udmJson(await service.createUdm(request, waiting));
    },
    async BatchCreateUdms(bytes, waiting) {
      const request = await decodeBatch(schema.BatchCreateUdmsRequestSchema, bytes);
      return jsonBatch(await service.batchCreateUdms(request, waiting));
    },
    async UpdateUdm(bytes, waiting) {
      const request = decodeRequest(schema.UpdateUdmRequestSchema, bytes, unknownFields);
      return udmJson(await service.updateUdm(request, waiting));
    },
    async BatchUpdateUdms(bytes, waiting) {
      const request = await decodeBatch(schema.BatchUpdateUdmsRequestSchema, bytes);
      return jsonBatch(await service.batchUpdateUdms(request, waiting));
    },
    async DeleteUdm(bytes, waiting) {
      const request = decodeRequest(schema.DeleteUdmRequestSchema, bytes, unknownFields);
      await service.deleteUdm(request, waiting);
      return "{}";
    },
  };

  /** Any call: with a deadline, a compressed body, an answer in pieces. */
  const serveCompletely = async (call: Call, method: JsonMethod): Promise<void> => {
    service.requireEnabled();
    checkVersion(headerOf(call.request, "connect-protocol-version"));
    const answer = await withDeadline(headerOf(call.request, "connect-timeout-ms"), call, async (waiting) => {
      const bytes = await bodies.readAll(call);
      waiting.throwIfAborted();
      return method(bytes, waiting);
    });
    call.code = "ok";
    await sendAnswer(call, answer);
  };

  /** A call without anything unusual: what can be answered at once is, without a promise. */
  const servePlainly = (call: Call, method: JsonMethod, fail: (error: unknown) => void): void => {
    service.requireEnabled();
    const give = (answer: JsonAnswer): void => {
      call.code = "ok";
      if (typeof answer === "string" && answer.length < compressFrom) sendShortJson(call, answer);
      else sendAnswer(call, answer).catch(fail);
    };
    const answer = (bytes: Uint8Array): void => {
      try {
        call.throwIfAborted();
        const answered = method(bytes, call);
        if (answered instanceof Promise) answered.then(give).catch(fail);
        else give(answered);
      } catch (error) {
        fail(error);
      }
    };
    bodies.collect(call, answer, fail);
  };

  const serve =
    (method: JsonMethod): JsonHandler =>
    (call, fail) => {
      const failed = (error: unknown): void => fail(call, error);
      if (parts.isComplete || !isPlain(call)) serveCompletely(call, method).catch(failed);
      else servePlainly(call, method, failed);
    };
  return new Map(Object.entries(methods).map(([name, method]) => [name, serve(method)]));
}

/** Whether the header asks for nothing that only the complete way knows. */
function isPlain({ expectsContinue, request: { headers } }: Call): boolean {
  return (
    !expectsContinue &&
    headers["content-encoding"] === undefined &&
    headers["connect-timeout-ms"] === undefined &&
    (headers["connect-protocol-version"] === undefined || headers["connect-protocol-version"] === "1")
  );
}

const plainListPattern = /^\{"key": ?"([0-9A-Fa-f.:/-]{0,128})"(?:, ?"exact": ?(true|false))?\}$/;

/** The request as most clients spell it; undefined is any other spelling. */
function readPlainList(bytes: Uint8Array): { key: string; exact: boolean } | undefined {
  if (bytes.length > 256) return undefined;
  const [, key, exact] = plainListPattern.exec(asBuffer(bytes).toString("latin1")) ?? [];
  return key === undefined ? undefined : { key, exact: exact === "true" };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** The whole text of a short list, pieces of a long one. */
function jsonList(name: string, items: Iterator<Uint8Array>): Iterator<string | Uint8Array> | string {
  const start = `{"${name}":[`;
  const pieces: Uint8Array[] = [];
  for (let size = 0; size <= listPiece;) {
    const next = items.next();
    if (next.done !== true) {
      pieces.push(next.value);
      size += next.value.length;
      continue;
    }
    // An empty list is a zero value and left out.
    if (pieces.length === 0) return "{}";
    const only = pieces.length === 1 ? asBuffer(pieces[0] as Uint8Array) : Buffer.concat(pieces);
    return `${start}${only.toString()}]}`;
  }
  return chain([start, ...pieces], items, ["]}"]);
}

async function sendAnswer(call: Call, answer: JsonAnswer): Promise<void> {
  // What is too long to be made at once is so for compressing at once.
  return typeof answer === "string" ? sendText(call, answer) : sendChunks(call, jsonType, answer);
}

async function sendText(call: Call, text: string): Promise<void> {
  if (text.length < compressFrom || !acceptsGzip(headerOf(call.request, "accept-encoding"))) {
    return sendBytes(call, 200, jsonType, text);
  }
  const headers = { ...jsonType, "content-encoding": "gzip", vary: "accept-encoding" };
  return sendBytes(call, 200, headers, await gzipBytes(text));
}

function acceptsGzip(accepted = ""): boolean {
  return accepted
    .toLowerCase()
    .split(",")
    .some((coding) => /^\s*(gzip|\*)\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/.test(coding));
}

function checkVersion(version: string | undefined): void {
  if (version === undefined || version === "1") return;
  throw apiError("invalid_argument", "UNKNOWN_PROTOCOL", `Connect-Protocol-Version must be "1", not ${quote(version)}`);
}

function jsonBatch(entries: readonly UdmEntry[]): JsonAnswer {
  const pieces = jsonListChunks("udms", mapLazily(entries, udmJson), listPiece);
  const first = pieces.next();
  const second = pieces.next();
  if (first.done === true) throw new Error("an answer has at least one piece");
  return second.done === true ? first.value : chain([first.value, second.value], pieces, []);
}

function* mapLazily<From, To>(items: Iterable<From>, map: (item: From) => To): Generator<To> {
  for (const item of items) yield map(item);
}

function* chain<Item>(first: readonly Item[], rest: Iterator<Item>, last: readonly Item[]): Generator<Item> {
  yield* first;
  for (let next = rest.next(); next.done !== true; next = rest.next()) yield next.value;
  yield* last;
}
