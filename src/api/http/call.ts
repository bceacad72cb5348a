import type { Socket } from "node:net";
import type { ServerHttp2Stream } from "node:http2";
import type { HttpRequest, HttpResponse } from "./http-message.ts";

/** How the client speaks: plain HTTP, Connect unary JSON (REST-style), other Connect, gRPC-Web, or gRPC. */
export type Wire = "http" | "json" | "connect" | "grpc-web" | "grpc";

/** One request while it is being answered. */
export interface Call {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly wire: Wire;
  readonly socket: Socket;
  /** The stream, when the request came by HTTP/2. */
  readonly stream: ServerHttp2Stream | undefined;
  /** Aborted when the client has gone, or the server stops; its reason is an error fit to be answered. */
  readonly signal: AbortSignal;
  /** Throws the reason when `signal` is aborted. Costs nothing, where a signal has to be made. */
  throwIfAborted(): void;
  /** Whether the client waits for `100 Continue`; cleared by whoever sends it. */
  expectsContinue: boolean;
  /** For the metrics: which method or page, from a fixed set of names. */
  label: string;
  /** For the metrics: the outcome. */
  code: string;
  /** A stream of messages, which has no bound on its time in all. */
  isEndless: boolean;
  /** Whether a header went out that is the whole answer, past the response object. */
  isHeaderOnly: boolean;
  /** Bytes of the body counted against the memory of all. */
  heldBytes: number;
}

/** Whether nobody is there to take an answer, or it has been given. */
export function isAnswered(call: Call): boolean {
  return call.response.headersSent || call.response.writableEnded || isGone(call);
}

/** Whether nobody is there to take an answer. */
export function isGone({ stream, socket, response }: Call): boolean {
  return stream === undefined ? socket.destroyed || response.destroyed : stream.destroyed || stream.closed;
}

/** What a content type says of how the client speaks. */
export function wireOf(contentType: string | undefined): Wire {
  if (contentType === undefined) return "http";
  if (contentType === "application/json") return "json";
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type === "application/json") return "json";
  if (/^application\/grpc-web(-text)?(\+\w+)?$/.test(type)) return "grpc-web";
  if (/^application\/grpc(\+\w+)?$/.test(type)) return "grpc";
  if (type === "application/proto" || /^application\/connect\+\w+$/.test(type)) return "connect";
  return "http";
}
