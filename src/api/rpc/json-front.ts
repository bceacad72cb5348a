import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { udmJson, type UdmEntry } from "../../udm/index.ts";
import * as schema from "../gen/udm/v1/udm_pb.ts";
import type { BodyReader } from "../http/read-body.ts";
import type { Call } from "../http/call.ts";
import { headerOf } from "../http/http-message.ts";
import { sendBytes, sendChunks } from "../http/send.ts";
import { decodeRequest } from "../json/decode-request.ts";
import { quote } from "../json/parse-json.ts";
import type { UnknownFields } from "../json/read-message.ts";
import { jsonListChunks } from "../json/json-list.ts";
import { apiError } from "./api-error.ts";
import { withDeadline, type Waiting } from "./timeouts.ts";
import type { UdmService } from "./udm-service.ts";

/** Answers one call that came as REST-style JSON, which is Connect's unary JSON too. */
export type JsonHandler = (call: Call) => Promise<void>;

/** Takes the bytes of a request, gives a JSON text: whole, or in pieces. */
type JsonMethod = (bytes: Uint8Array, waiting: Waiting) => Iterator<string> | string | Promise<string>;

const gzipBytes = promisify(gzip);
const jsonType = { "content-type": "application/json" };
/** What is smaller is not worth compressing. */
const compressFrom = 1024;

/** Handlers by the name of the method in the schema. */
export function createJsonFront(
  service: UdmService,
  bodies: BodyReader,
  unknownFields: UnknownFields,
): ReadonlyMap<string, JsonHandler> {
  const methods: Readonly<Record<string, JsonMethod>> = {
    CountUdms(bytes) {
      decodeRequest(EmptySchema, bytes, unknownFields);
      const count = service.countUdms();
      return count === 0 ? "{}" : `{"count":${count}}`;
    },
    ListUdms(bytes) {
      const request = decodeRequest(schema.ListUdmsRequestSchema, bytes, unknownFields);
      return jsonListChunks("udms", mapLazily(service.listUdms(request), udmJson));
    },
    ListUdmKeys(bytes) {
      const request = decodeRequest(schema.ListUdmKeysRequestSchema, bytes, unknownFields);
      return jsonListChunks(
        "keys",
        mapLazily(service.listUdms(request), ({ key }) => JSON.stringify(key.text)),
      );
    },
    async CreateUdm(bytes, waiting) {
      const request = decodeRequest(schema.CreateUdmRequestSchema, bytes, unknownFields);
      return udmJson(await service.createUdm(request, waiting));
    },
    async BatchCreateUdms(bytes, waiting) {
      const request = decodeRequest(schema.BatchCreateUdmsRequestSchema, bytes, unknownFields);
      return batchJson(await service.batchCreateUdms(request, waiting));
    },
    async UpdateUdm(bytes, waiting) {
      const request = decodeRequest(schema.UpdateUdmRequestSchema, bytes, unknownFields);
      return udmJson(await service.updateUdm(request, waiting));
    },
    async BatchUpdateUdms(bytes, waiting) {
      const request = decodeRequest(schema.BatchUpdateUdmsRequestSchema, bytes, unknownFields);
      return batchJson(await service.batchUpdateUdms(request, waiting));
    },
    async DeleteUdm(bytes, waiting) {
      const request = decodeRequest(schema.DeleteUdmRequestSchema, bytes, unknownFields);
      await service.deleteUdm(request, waiting);
      return "{}";
    },
  };

  const serve =
    (method: JsonMethod) =>
    async (call: Call): Promise<void> => {
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
  return new Map(Object.entries(methods).map(([name, method]) => [name, serve(method)]));
}

async function sendAnswer(call: Call, answer: Iterator<string> | string): Promise<void> {
  if (typeof answer === "string") return sendText(call, answer);
  const first = answer.next();
  if (first.done === true) throw new Error("an answer has at least one piece");
  const second = answer.next();
  if (second.done === true) return sendText(call, first.value);
  // Too long to be made at once, and so for compressing at once.
  return sendChunks(call, jsonType, chain([first.value, second.value], answer));
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

function batchJson(entries: readonly UdmEntry[]): string {
  return Array.from(jsonListChunks("udms", mapLazily(entries, udmJson))).join("");
}

function* mapLazily<From, To>(items: Iterable<From>, map: (item: From) => To): Generator<To> {
  for (const item of items) yield map(item);
}

function* chain<Item>(first: readonly Item[], rest: Iterator<Item>): Generator<Item> {
  yield* first;
  for (let next = rest.next(); next.done !== true; next = rest.next()) yield next.value;
}
