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

/** The header of a request of either HTTP version, as Node has it. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export type HeaderFields = Readonly<Record<string, string | readonly string[]>>;

/** The value of a header that has one; of several, the first. */
export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" || value === undefined ? value : value[0];
}

/** The protocol that the client speaks: plain HTTP, Connect unary JSON (REST-style), other Connect, gRPC-Web, or gRPC. */
export type Wire = "http" | "json" | "connect" | "grpc-web" | "grpc";

/** Returns the protocol that a content type stands for. */
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

/** A content type in lower case, without parameters. */
export function mediaType(contentType: string): string {
  return contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** Bytes of an answer that are handed over at a time. */
const chunkLength = 65_536;

/** Answers with a body that is at hand. Does nothing when the client has gone. */
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
 * Writes bytes as fast as the client takes them. Handed over at once, those of a large answer would count against the
 * memory of its HTTP/2 connection, on which Node then refuses every other request.
 */
export async function writeBytes(call: Call, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length && !call.isGone(); at += chunkLength) {
    if (!call.write(bytes.subarray(at, at + chunkLength))) await call.drained();
    if (bytes.length > chunkLength) await call.turn();
  }
}

/**
 * Writes what is made while it is sent: in chunks, as fast as the client takes it, letting other requests run in between. For a
 * client that has gone nothing more is made.
 */
export async function writeChunks(call: Call, chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of chunks) {
    if (call.isGone()) return;
    if (!call.write(chunk)) await call.drained();
    // A client that takes all at once drains a socket within the same cycle of the event loop.
    await call.turn();
  }
}

/** Returns a weak entity tag (RFC 9110, 8.8.3) of a content. */
export function tagOf(content: string | Uint8Array): string {
  return `W/"${hash("sha256", content, "base64url").slice(0, 22)}"`;
}

/** Tells whether the client has the content with this tag (RFC 9110, 13.1.2): it sent a list of tags, compared weakly, or `*`. */
export function hasTag({ headers }: Call, etag: string): boolean {
  const held = headerOf(headers, "if-none-match")?.split(",") ?? [];
  const strong = etag.slice(2);
  return held.some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === strong);
}

/** Answers with a JSON value, or with 304 and nothing where the client has the same one. Does nothing when it has gone. */
export async function sendTaggedJson(call: Call, value: unknown, headers: HeaderFields): Promise<void> {
  if (call.isGone()) return undefined;
  const body = JSON.stringify(value);
  const etag = tagOf(body);
  call.code = "ok";
  if (hasTag(call, etag)) return call.answer(304, { ...headers, etag }, "");
  return sendBytes(call, 200, { "content-type": "application/json", ...headers, etag }, body);
}

/** Answers with a JSON value. Does nothing when the client has gone. */
export async function sendJson(call: Call, status: number, value: unknown, headers: HeaderFields = {}): Promise<void> {
  if (call.isGone()) return undefined;
  return sendBytes(call, status, { "content-type": "application/json", ...headers }, JSON.stringify(value));
}

interface RefusalOptions {
  /** The status, where it is not the one that belongs to the code. */
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

/** Finds whom a connection serves: its other end, or what proxies that are trusted say before whom they stand. */
export type ClientAddress = (peer: string | undefined, forwardedFor: string | undefined) => string | undefined;

/**
 * Looks into `X-Forwarded-For` where the peer is a trusted proxy: each proxy adds at the end whom it serves, so that the last address that
 * is no trusted proxy is the client. What stands before it, anybody can write.
 *
 * @param proxies addresses and CIDR prefixes in canonical text.
 * @throws KeyError when one is none.
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

/** Some proxies write `192.0.2.1:1234` and `[2001:db8::1]:1234`. */
function withoutPort(text: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
}

/** Says whether somebody still waits for an answer, by throwing when not. */
export type Waiting = Pick<AbortSignal, "throwIfAborted">;

/** A caller that waits for an answer. */
interface Caller extends Waiting {
  /** Address of the client, also behind a trusted proxy; undefined when its connection is gone. */
  readonly peer: string | undefined;
  /** The identity of the caller; undefined where nobody has to prove it. */
  readonly principal?: Principal | undefined;
}

/** One request while it is being answered, by either version of HTTP. */
export interface Call extends Caller {
  readonly method: string;
  readonly headers: RequestHeaders;
  readonly path: string;
  /** The authority of an absolute target or of HTTP/2, which stand before the `Host` header; else that. */
  readonly host: string | undefined;
  readonly query: URLSearchParams;
  readonly wire: Wire;
  /** Aborted when the client has gone, or the server stops; its reason is an error fit to be answered. */
  readonly signal: AbortSignal;
  /** Throws the reason when `signal` is aborted, or an error when the deadline has passed. Costs nothing, where a signal has to be made. */
  throwIfAborted(): void;
  /** For how long from its header on the client waits, milliseconds; Infinity until it is known, and without a bound. */
  timeout: number;
  /** Returns what is left of `timeout`; not below 0. */
  remaining(): number;
  /** Ends the waiting: the first reason stays. */
  abort(reason: ConnectError): void;
  /** Further fields of the header of the answer, that a method may set. */
  extraHeader: Headers | undefined;
  /** The same of its trailer. */
  extraTrailer: Headers | undefined;
  /** For the metrics: which method or page, from a fixed set of names. */
  label: string;
  /** For the metrics: the outcome. */
  code: string;
  /** A stream of messages, which has no bound on its time in all. */
  isEndless: boolean;
  /** The client that this call counts for: an IPv4 address, or the /64 of an IPv6 address. */
  client: string;
  /** Bytes of the body counted against the memory of all. */
  heldBytes: number;
  /** The same of what was made of it. */
  madeBytes: number;
  principal: Principal | undefined;
  /** The access that its route asks of the principal; undefined before that is known. */
  access: RouteAccess | undefined;
  /** The results that are logged: only its failure, because its writes have lines of their own; or every result. */
  audit: "nothing" | "failure" | "outcome";
  /** The reason of a refusal, for the log. */
  failure: string | undefined;
  /** Parts of the subject of the client's certificate, if the connection has one that was verified: `CN=alice`. */
  clientCertificate(): readonly string[] | undefined;
  /** Returns what is wrong with the Host header of HTTP/1, or undefined. */
  hostFault(): string | undefined;

  /** The body as it was sent. */
  readonly body: Readable;
  /** Sends `100 Continue` to a client that waits for it before it sends the body. */
  continue(): void;

  /** Resolves when it is this call's turn to be worked on for some milliseconds. */
  turn(): Promise<void>;

  /** Tells whether nobody is there to take an answer. */
  isGone(): boolean;
  /** Tells whether nobody is there to take an answer, or it has been begun. */
  isAnswered(): boolean;
  /** Tells whether a part of the answer has been sent. */
  isBegun(): boolean;
  /** Answers as a whole. Does nothing when the call is answered. */
  answer(status: number, fields: HeaderFields, body: Uint8Array | string): void;
  /** Sends the header of an answer that comes in parts. Does nothing when the call is answered. */
  begin(status: number, fields: HeaderFields, form: { readonly hasTrailers: boolean }): void;
  /** @returns whether there is room for more: if not, wait for {@link drained}. */
  write(bytes: Uint8Array | string): boolean;
  /** Ends an answer that was begun. Trailers only where they were announced. */
  end(bytes?: Uint8Array, trailers?: HeaderFields): void;
  /** Resolves when the client has taken what was written, or has gone. */
  drained(): Promise<void>;
  /** Cuts an answer off: the only way to say that it is not whole, once a part of it has been sent. */
  breakOff(): void;
}
