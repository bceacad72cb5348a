import type { ServerResponse } from "node:http";
import { Code, createContextValues } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import type { RequestHeaders } from "../guard/admission.ts";
import { isAnswered, isGone, type Call } from "../http/call.ts";
import { headerOf } from "../http/http-message.ts";
import type { BodyReader } from "../http/read-body.ts";
import { begin, sendChunks, sendTrailersOnly, writeBytes } from "../http/send.ts";
import type { ListMessage } from "../proto/list-message.ts";
import { decodeText, isGrpcWebText, withoutText, withText } from "./grpc-web-text.ts";
import { grpcTrailer } from "./grpc-trailer.ts";
import { longListBody, longListKey, type LongList } from "./long-list.ts";
import { isBeyondTimer } from "./timeouts.ts";

/**
 * Serves one call by a handler of connect-es. Its own adapter for Node is not used: that one throws outside of any
 * handler at a request without Host, and writes to streams that are gone.
 */
export async function serveByConnect(
  handler: UniversalHandler,
  call: Call,
  bodies: BodyReader,
  maxMessageBytes: number,
): Promise<void> {
  const { headers, httpVersion, method = "" } = call.request;
  const type = headerOf(call.request, "content-type") ?? "";
  const isText = isGrpcWebText(type);
  const stream = bodies.stream(call);
  const longList: LongList = { list: undefined };
  const answer = await invokeConnect(handler, {
    headers: isText ? { ...headers, "content-type": withoutText(type) } : headers,
    httpVersion,
    method,
    body: isText ? decodeText(stream) : stream,
    signal: call.signal,
    longList,
  });
  const pieces = answer.body?.[Symbol.asyncIterator]();
  try {
    if (isText) answer.header?.set("content-type", withText(answer.header.get("content-type") ?? ""));
    if (longList.list === undefined) await write(call, answer, pieces, isText);
    else await writeLongList(call, answer, longList.list, isText, maxMessageBytes);
  } finally {
    await pieces?.return?.();
  }
}

export interface ConnectRequest {
  readonly headers: RequestHeaders;
  readonly httpVersion: string;
  readonly method: string;
  readonly body: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
  /** Takes a long list, in place of the body of the answer. */
  readonly longList?: LongList;
}

/** What a handler of connect-es answers. */
export function invokeConnect(handler: UniversalHandler, request: ConnectRequest): Promise<UniversalServerResponse> {
  // Handlers look at the query only.
  const url = `http://localhost${handler.requestPath}`;
  const contextValues = createContextValues().set(longListKey, request.longList);
  return handler({ ...request, url, header: fetchHeaders(request.headers), contextValues });
}

async function writeLongList(
  call: Call,
  answer: UniversalServerResponse,
  list: ListMessage,
  isText: boolean,
  maxMessageBytes: number,
): Promise<void> {
  const { "content-length": _lengthOfNone, ...header } = Object.fromEntries(answer.header ?? []);
  const pieces = await longListBody(call, list, withoutText(header["content-type"] ?? ""), maxMessageBytes);
  if (pieces === undefined) return;
  call.code = "ok";
  const trailer = answer.trailer === undefined ? undefined : grpcTrailer(answer.trailer);
  await sendChunks(call, header, isText ? encodeText(pieces) : pieces, trailer);
}

function* encodeText(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(Buffer.from(piece).toString("base64"));
}

async function write(
  call: Call,
  answer: UniversalServerResponse,
  pieces: AsyncIterator<Uint8Array> | undefined,
  isText: boolean,
): Promise<void> {
  const header = Object.fromEntries(answer.header ?? []);
  const response = call.response as ServerResponse;
  call.code = codeOfStatus(answer.status);
  let next = await pieces?.next();
  if (isAnswered(call)) return;
  if (call.wire === "grpc" && answer.trailer !== undefined && next?.done !== false) {
    call.code = codeOfTrailer(answer.trailer.get("grpc-status"));
    sendTrailersOnly(call, { ...header, ...grpcTrailer(answer.trailer) });
    return;
  }
  begin(call, answer.status, header);
  let last: Uint8Array | undefined;
  while (next !== undefined && next.done !== true) {
    if (isGone(call)) {
      call.code = "canceled";
      return;
    }
    last = next.value;
    await writeBytes(call, isText ? Buffer.from(Buffer.from(next.value).toString("base64")) : next.value);
    next = await pieces?.next();
  }
  if (answer.trailer !== undefined) {
    call.code = codeOfTrailer(answer.trailer.get("grpc-status"));
    response.addTrailers(grpcTrailer(answer.trailer));
  }
  if (call.wire === "grpc-web") call.code = codeOfTrailer(/grpc-status: ?(\d+)/.exec(asText(last))?.[1]);
  if (call.wire === "connect" && answer.status !== 200) call.code = codeOfJson(last) ?? call.code;
  response.end();
}

function fetchHeaders(headers: RequestHeaders): Headers {
  const header = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    // connect-es would reserve as much memory as the client announces.
    if (name.startsWith(":") || name === "content-length" || value === undefined) continue;
    const isTimeout = name === "grpc-timeout" || name === "connect-timeout-ms";
    if (isTimeout && typeof value === "string" && isBeyondTimer(name, value)) continue;
    for (const one of typeof value === "string" ? [value] : value) header.append(name, one);
  }
  return header;
}

function codeOfTrailer(status: string | null | undefined): string {
  const code = Number(status ?? Code.Unknown);
  return code === 0 ? "ok" : codeToString(code in Code ? code : Code.Unknown);
}

function codeOfStatus(status: number): string {
  return status === 200 ? "ok" : `http_${status}`;
}

function codeOfJson(body: Uint8Array | undefined): string | undefined {
  return /^\{"code":"([a-z_]+)"/.exec(asText(body))?.[1];
}

function asText(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? "" : Buffer.from(bytes).toString("latin1", 0, 4096);
}
