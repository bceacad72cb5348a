import type { ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, codeToString, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { hash } from "node:crypto";
import type { Readable } from "node:stream";
import { grpcErrorTrailer } from "../api-error.ts";
import {
  addressKey,
  formatAddress,
  keyContains,
  parseAddress,
  parseKey,
  unmapAddress,
  type Address,
} from "../../base/ip/index.ts";
import type { Principal, RouteAccess } from "../access/role.ts";

/** The header of a request of either HTTP version, in the form of Node. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export type HeaderFields = Readonly<Record<string, string | readonly string[]>>;

/** Returns the value of a header, or the first of several. */
export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" || value === undefined ? value : value[0];
}

/** The protocol that the client speaks: plain HTTP, Connect unary JSON (REST-style), other Connect, gRPC-Web, or gRPC. */
export type Wire = "http" | "json" | "connect" | "grpc-web" | "grpc";

/** Returns the protocol of a content type. */
export function wireOf(contentType: string | undefined): Wire {
  if (contentType === undefined) return "http";
  if (contentType === "application/json") return "json";
  if (contentType === "application/grpc") return "grpc";
  const type = mediaType(contentType);
  if (type === "application/json") return "json";
  if (/^application\/grpc-web(-text)?(\+\w+)?$/.test(type)) return "grpc-web";
  if (/^application\/grpc(\+\w+)?$/.test(type)) return "grpc";
  if (type === "application/proto" || /^application\/connect\+\w+$/.test(type)) return "connect";
  return "http";
}

/** Returns a content type in lower case, without parameters. */
export function mediaType(contentType: string): string {
  return contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** The bytes of an answer that are passed to Node at a time. */
const chunkLength = 65_536;

/** Answers with the given body. It does nothing when the client has disconnected. */
export async function sendBytes(
  call: Call,
  status: number,
  headers: HeaderFields,
  body: Uint8Array | string,
): Promise<void> {
  const isLong = body.length > chunkLength && call.method !== "HEAD";
  if (!isLong) return call.answer(status, headers, body);
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  call.begin(status, { ...headers, "content-length": String(bytes.length) }, { hasTrailers: false });
  await writeBytes(call, bytes);
  call.end();
}

/**
 * Writes bytes as fast as the client reads them. Passed at once, a large answer would count against the memory of its
 * HTTP/2 connection, and Node would refuse every other request on it.
 */
export async function writeBytes(call: Call, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length && !call.isGone(); at += chunkLength) {
    if (!call.write(bytes.subarray(at, at + chunkLength))) await call.drained();
    if (bytes.length > chunkLength) await call.turn();
  }
}

/**
 * Writes an answer that is made while it is sent: in chunks, as fast as the client reads it, with other requests in between. It stops
 * when the client has disconnected.
 */
export async function writeChunks(call: Call, chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of chunks) {
    if (call.isGone()) return;
    if (!call.write(chunk)) await call.drained();
    // A fast client drains the socket within the same turn of the event loop.
    await call.turn();
  }
}

/** Returns a weak entity tag (RFC 9110, 8.8.3) of a content. */
export function tagOf(content: string | Uint8Array): string {
  return `W/"${hash("sha256", content, "base64url").slice(0, 22)}"`;
}

/** Reports whether the client has the content with this tag (RFC 9110, 13.1.2): it sent a list of tags, compared weakly, or `*`. */
export function hasTag({ headers }: Call, etag: string): boolean {
  const held = headerOf(headers, "if-none-match")?.split(",") ?? [];
  const strong = etag.slice(2);
  return held.some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === strong);
}

/** Answers with a JSON value, or with 304 and no body where the client has it already. It does nothing when the client has disconnected. */
export async function sendTaggedJson(call: Call, value: unknown, headers: HeaderFields): Promise<void> {
  if (call.isGone()) return undefined;
  const body = JSON.stringify(value);
  const etag = tagOf(body);
  call.code = "ok";
  if (hasTag(call, etag)) return call.answer(304, { ...headers, etag }, "");
  return sendBytes(call, 200, { "content-type": "application/json", ...headers, etag }, body);
}

/** Answers with a JSON value. It does nothing when the client has disconnected. */
export async function sendJson(call: Call, status: number, value: unknown, headers: HeaderFields = {}): Promise<void> {
  if (call.isGone()) return undefined;
  return sendBytes(call, status, { "content-type": "application/json", ...headers }, JSON.stringify(value));
}

interface RefusalOptions {
  /** The HTTP status, if it differs from that of the code. */
  readonly status?: number;
  readonly headers?: HeaderFields;
}

/**
 * Answers with an error in the client's protocol. For gRPC and gRPC-Web it is a header with the status and without a
 * body ("trailers-only"), otherwise JSON `{code, message, details}`.
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

/** Returns the content type of an answer without a message. It is that of the request, because clients refuse any other. */
function grpcType({ wire, headers }: Call): string {
  const asked = mediaType(headerOf(headers, "content-type") ?? "");
  if (/^application\/grpc(-web)?\+(json|proto)$/.test(asked)) return asked;
  return wire === "grpc" ? "application/grpc" : "application/grpc-web+proto";
}

/** Returns the client of a connection: its peer, or the address that trusted proxies report. */
export type ClientAddress = (peer: string | undefined, forwardedFor: string | undefined) => string | undefined;

/**
 * Returns a function that reads `X-Forwarded-For` if the peer is a trusted proxy. Each proxy appends its client, so the last address that
 * is not a trusted proxy is the client. Anybody can forge the addresses before it.
 *
 * @param proxies addresses and CIDR prefixes in canonical text.
 * @throws KeyError for an invalid one.
 */
export function createClientAddress(proxies: readonly string[]): ClientAddress {
  const keys = proxies.map(parseKey);
  const isProxy = (address: Address): boolean => keys.some((key) => keyContains(key, addressKey(address)));
  return (peer, forwardedFor) => {
    if (keys.length === 0 || forwardedFor === undefined || peer === undefined) return peer;
    const own = parseAddress(peer);
    let client = own && unmapAddress(own);
    if (client === undefined || !isProxy(client)) return peer;
    for (const text of forwardedFor.split(",").toReversed()) {
      const address = parseAddress(withoutPort(text.trim()));
      if (address === undefined) break;
      client = unmapAddress(address);
      if (!isProxy(client)) break;
    }
    return formatAddress(client);
  };
}

/** Removes the port, because some proxies write `192.0.2.1:1234` and `[2001:db8::1]:1234`. */
function withoutPort(text: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
}

/** A check that somebody still waits for an answer. It throws where nobody does. */
export type Waiting = Pick<AbortSignal, "throwIfAborted">;

/** A caller that waits for an answer. */
interface Caller extends Waiting {
  /** The address of the client, also behind a trusted proxy; undefined after its connection has ended. */
  readonly peer: string | undefined;
  /** The identity of the caller; undefined where no authentication is needed. */
  readonly principal?: Principal | undefined;
}

/** One request while it is being answered, by either version of HTTP. */
export interface Call extends Caller {
  readonly method: string;
  readonly headers: RequestHeaders;
  readonly path: string;
  /** The authority of an absolute target or of HTTP/2, which takes precedence, or the `Host` header. */
  readonly host: string | undefined;
  readonly query: URLSearchParams;
  readonly wire: Wire;
  /** A signal that aborts when the client disconnects or the server stops. Its reason is an error that may be sent as the answer. */
  readonly signal: AbortSignal;
  /** Throws the reason when `signal` is aborted, or an error when the deadline has passed. It needs no signal object, so it is cheap. */
  throwIfAborted(): void;
  /** The milliseconds that the client waits, from the header on; Infinity until it is known, and without a limit. */
  timeout: number;
  /** Returns the rest of `timeout`, at least 0. */
  remaining(): number;
  /** Aborts the call. The first reason stays. */
  abort(reason: ConnectError): void;
  /** Further fields of the answer's header, which a method may set. */
  extraHeader: Headers | undefined;
  /** Further fields of the answer's trailer. */
  extraTrailer: Headers | undefined;
  /** The method or page for the metrics, from a fixed set of names. */
  label: string;
  /** The outcome, for the metrics. */
  code: string;
  /** True for a stream of messages without a limit on its total time. */
  isEndless: boolean;
  /** The client for the limits: an IPv4 address, or the /64 of an IPv6 address. */
  client: string;
  /** The bytes of the body that count against the common memory limit. */
  heldBytes: number;
  /** The bytes made from the body that count against the common limit. */
  madeBytes: number;
  principal: Principal | undefined;
  /** The access that the route requires; undefined before the route is known. */
  access: RouteAccess | undefined;
  /** The results that are logged: none, only failures (because the writes have their own lines), or every outcome. */
  audit: "nothing" | "failure" | "outcome";
  /** The reason of a refusal, for the log. */
  failure: string | undefined;
  /** Returns the parts of the subject of the client's verified certificate, such as `CN=alice`, if there is one. */
  clientCertificate(): readonly string[] | undefined;
  /** Returns the fault of the Host header of HTTP/1, or undefined. */
  hostFault(): string | undefined;

  /** The body as it was sent. */
  readonly body: Readable;
  /** Sends `100 Continue` to a client that waits for it before it sends the body. */
  continue(): void;

  /** Resolves when this call may run for some milliseconds. */
  turn(): Promise<void>;

  /** Reports whether nobody waits for an answer any more. */
  isGone(): boolean;
  /** Reports whether nobody waits for an answer any more, or it has been begun. */
  isAnswered(): boolean;
  /** Reports whether a part of the answer has been sent. */
  isBegun(): boolean;
  /** Sends a complete answer. It does nothing when the call is already answered. */
  answer(status: number, fields: HeaderFields, body: Uint8Array | string): void;
  /** Sends the header of an answer that follows in parts. It does nothing when the call is already answered. */
  begin(status: number, fields: HeaderFields, form: { readonly hasTrailers: boolean }): void;
  /** Writes a part of the answer. @returns true where there is room for more; if not, wait for {@link drained}. */
  write(bytes: Uint8Array | string): boolean;
  /** Ends an answer that was begun. Trailers are allowed only if they were announced. */
  end(bytes?: Uint8Array, trailers?: HeaderFields): void;
  /** Resolves when the client has read the written bytes, or has disconnected. */
  drained(): Promise<void>;
  /** Aborts an answer. After a part was sent, this is the only way to show that it is incomplete. */
  breakOff(): void;
}
