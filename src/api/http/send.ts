import { constants } from "node:http2";
import type { ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import type { ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, codeToString, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { grpcErrorTrailer } from "../rpc/grpc-trailer.ts";
import { isAnswered, isGone, type Call } from "./call.ts";
import type { HeaderFields } from "./http-message.ts";

/** How long the rest of a body that nobody wants is taken, so that its sender gets to read the answer. */
const lingerTime = 1_000;

/** How much of an answer is handed over at a time. */
const pieceLength = 65_536;

/** Answers with a body that is at hand. Does nothing when the client has gone. */
export async function sendBytes(
  call: Call,
  status: number,
  headers: HeaderFields,
  body: Uint8Array | string,
): Promise<void> {
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  begin(call, status, { ...headers, "content-length": String(length) });
  if (call.request.method === "HEAD" || status === 204) {
    call.response.end();
    return;
  }
  if (length > pieceLength) {
    await writeBytes(call, typeof body === "string" ? Buffer.from(body) : body);
    call.response.end();
    return;
  }
  // A string leaves in one write with the header, bytes do not.
  finish(call, body);
}

/** Answers with a short JSON text, when the body of the request has been read. */
export function sendShortJson(call: Call, text: string): void {
  if (isAnswered(call)) return;
  const response = call.response as ServerResponse;
  response.writeHead(200, { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) });
  response.end(text);
}

/**
 * Writes bytes as fast as the client takes them. Handed over at once, those of a large answer would count against the
 * memory of its HTTP/2 connection, on which Node then refuses every other request.
 */
export async function writeBytes(call: Call, bytes: Uint8Array): Promise<void> {
  const response = call.response as ServerResponse;
  for (let at = 0; at < bytes.length && !isGone(call); at += pieceLength) {
    if (!response.write(bytes.subarray(at, at + pieceLength))) await drained(call);
    await setImmediate();
  }
}

/** Answers with a JSON value. */
export function sendJson(call: Call, status: number, value: unknown, headers: HeaderFields = {}): Promise<void> {
  return sendBytes(call, status, { "content-type": "application/json", ...headers }, JSON.stringify(value));
}

export interface RefusalOptions {
  /** Where it is not the one that belongs to the code. */
  readonly status?: number;
  readonly headers?: HeaderFields;
}

/**
 * Answers with an error in the form of the client's protocol: for gRPC and gRPC-Web a header without a body that
 * carries the status ("trailers-only"), else JSON `{code, message, details}`.
 */
export function sendError(call: Call, error: ConnectError, options: RefusalOptions = {}): void {
  if (isAnswered(call)) return;
  call.code = codeToString(error.code);
  if (call.wire === "grpc" || call.wire === "grpc-web") {
    const trailer = grpcErrorTrailer(error);
    const contentType = call.wire === "grpc" ? "application/grpc" : "application/grpc-web+proto";
    sendTrailersOnly(call, { "content-type": contentType, ...options.headers, ...trailer });
    return;
  }
  const status = options.status ?? codeToHttpStatus(error.code);
  const headers = { ...Object.fromEntries(error.metadata), ...options.headers, "content-type": "application/json" };
  const body = errorToJsonBytes(error, undefined);
  begin(call, status, { ...headers, "content-length": String(body.length) });
  if (call.request.method === "HEAD") call.response.end();
  else finish(call, body);
}

/** Answers gRPC with a header that is the trailer too. */
export function sendTrailersOnly(call: Call, headers: HeaderFields): void {
  if (isAnswered(call)) return;
  if (call.stream !== undefined) {
    // By the stream itself: the response object sends an empty body after the header.
    call.stream.respond({ ...(headers as Record<string, string>), ":status": 200 }, { endStream: true });
    call.isHeaderOnly = true;
    abandonBody(call);
    return;
  }
  begin(call, 200, { ...headers, "content-length": "0" });
  finish(call, "");
}

/**
 * Answers with a body that is made while it is sent: piece by piece, as fast as the client takes it, letting other
 * requests run in between. For a client that has gone nothing more is made.
 */
export async function sendChunks(
  call: Call,
  headers: HeaderFields,
  chunks: Iterator<string | Uint8Array>,
  trailers?: Record<string, string>,
): Promise<void> {
  begin(call, 200, headers);
  const response = call.response as ServerResponse;
  for (let next = chunks.next(); next.done !== true; next = chunks.next()) {
    if (isGone(call)) return;
    if (!response.write(next.value)) await drained(call);
    // A client that takes all at once drains a socket within the same turn.
    await setImmediate();
  }
  if (trailers !== undefined) response.addTrailers(trailers);
  response.end();
}

/** Resolves when the client has taken what was written, or has gone. */
export function drained(call: Call): Promise<void> {
  const { response } = call;
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
    if (isGone(call)) done();
  });
}

/** Writes the header, unless the client has gone or has been answered. */
export function begin(call: Call, status: number, headers: HeaderFields): void {
  if (isAnswered(call)) return;
  // A client that was not told to continue may or may not send its body: the connection is of no further use.
  const closes = call.stream === undefined && (call.expectsContinue || hasUnreadBody(call));
  const fields = closes ? { ...headers, connection: "close" } : headers;
  (call.response as ServerResponse).writeHead(status, fields as Record<string, string>);
}

function finish(call: Call, body: Uint8Array | string): void {
  const { request, socket } = call;
  const response = call.response as ServerResponse;
  if (response.writableEnded || isGone(call)) return;
  if (!hasUnreadBody(call)) {
    response.end(body);
    return;
  }
  if (call.stream !== undefined) {
    response.end(body);
    abandonBody(call);
    return;
  }
  // Closing a socket with unread bytes resets it, and the client may never see the answer: take what comes for a while.
  response.write(body);
  const end = (): void => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, lingerTime);
  request.once("end", end);
  socket.once("close", () => clearTimeout(timer));
  request.resume();
}

function abandonBody(call: Call): void {
  const { stream, request } = call;
  if (stream === undefined || request.complete) return;
  const close = (): void => {
    if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
  };
  if (stream.writableFinished) close();
  else stream.once("finish", close);
}

function hasUnreadBody(call: Call): boolean {
  const { request, expectsContinue, stream } = call;
  if (request.complete || expectsContinue) return false;
  if (stream !== undefined) return !stream.endAfterHeaders && !stream.readableEnded;
  const { "content-length": length, "transfer-encoding": coding } = request.headers;
  return coding !== undefined || (length !== undefined && length !== "0");
}
