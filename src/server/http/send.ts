import type { ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, codeToString, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { grpcErrorTrailer } from "../error/grpc-trailer.ts";
import type { Call } from "./call.ts";
import { headerOf, type HeaderFields } from "./http-message.ts";
import { mediaType } from "./wire.ts";

/** How much of an answer is handed over at a time. */
const pieceLength = 65_536;

/** Answers with a body that is at hand. Does nothing when the client has gone. */
export async function sendBytes(
  call: Call,
  status: number,
  headers: HeaderFields,
  body: Uint8Array | string,
): Promise<void> {
  const isLong = body.length > pieceLength && call.method !== "HEAD";
  if (!isLong) return call.answer(status, headers, body);
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  call.begin(status, { ...headers, "content-length": String(bytes.length) }, { hasTrailers: false });
  await writeBytes(call, bytes);
  call.end();
}

/**
 * Writes bytes as fast as the client takes them. Handed over at once, those of a large answer would count against the
 * memory of its HTTP/2 connection, on which Node then refuses every other request.
 */
export async function writeBytes(call: Call, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length && !call.isGone(); at += pieceLength) {
    if (!call.write(bytes.subarray(at, at + pieceLength))) await call.drained();
    if (bytes.length > pieceLength) await call.turn();
  }
}

/**
 * Writes what is made while it is sent: piece by piece, as fast as the client takes it, letting other requests run in between. For a
 * client that has gone nothing more is made.
 */
export async function writePieces(call: Call, pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of pieces) {
    if (call.isGone()) return;
    if (!call.write(piece)) await call.drained();
    // A client that takes all at once drains a socket within the same turn.
    await call.turn();
  }
}

/** Answers with a JSON value. Does nothing when the client has gone. */
export async function sendJson(call: Call, status: number, value: unknown, headers: HeaderFields = {}): Promise<void> {
  if (call.isGone()) return undefined;
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
  if (call.isAnswered()) return;
  call.code = codeToString(error.code);
  call.failure = error.rawMessage;
  if (call.wire === "grpc" || call.wire === "grpc-web") {
    call.answer(200, { "content-type": grpcType(call), ...options.headers, ...grpcErrorTrailer(error) }, "");
    return;
  }
  const headers = { ...Object.fromEntries(error.metadata), ...options.headers, "content-type": "application/json" };
  call.answer(options.status ?? codeToHttpStatus(error.code), headers, errorToJsonBytes(error, undefined));
}

/** The content type of an answer without a message: that of the request, for clients refuse another. */
function grpcType({ wire, headers }: Call): string {
  const asked = mediaType(headerOf(headers, "content-type") ?? "");
  if (/^application\/grpc(-web)?\+(json|proto)$/.test(asked)) return asked;
  return wire === "grpc" ? "application/grpc" : "application/grpc-web+proto";
}
