import { constants, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { ConnectError } from "@connectrpc/connect";
import type { Pending } from "./call-log.ts";
import { wireOf, type Call, type Wire } from "./call.ts";
import { headerOf, type HttpRequest, type HttpResponse } from "./http-message.ts";

/** A call with what only the log of calls may do to it. */
export interface ActiveCall extends Call, Omit<Pending, "isEndless"> {
  /** Aborts the signal of the call; the first reason stays. */
  abort(reason: ConnectError): void;
}

export function createActiveCall(
  request: HttpRequest,
  response: HttpResponse,
  expectsContinue: boolean,
  since: number,
): ActiveCall {
  return new RequestCall(request, response, expectsContinue, since);
}

/** A class, because objects with accessors and methods of their own cost too much for one a request. */
class RequestCall implements ActiveCall {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly path: string;
  readonly wire: Wire;
  readonly socket: Socket;
  readonly stream: ServerHttp2Stream | undefined;
  readonly since: number;
  expectsContinue: boolean;
  label = "other";
  code = "canceled";
  isEndless = false;
  isHeaderOnly = false;
  heldBytes = 0;
  readonly #queryText: string;
  #controller: AbortController | undefined;
  #reason: ConnectError | undefined;

  constructor(request: HttpRequest, response: HttpResponse, expectsContinue: boolean, since: number) {
    this.request = request;
    this.response = response;
    [this.path, this.#queryText] = splitTarget(request.url ?? "");
    this.wire = wireOf(headerOf(request, "content-type"));
    this.socket = request.socket;
    this.stream = "stream" in request ? request.stream : undefined;
    this.expectsContinue = expectsContinue;
    this.since = since;
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#queryText);
  }

  /** Made when it is asked for, which most calls never do. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  throwIfAborted(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  abort(reason: ConnectError): void {
    this.#reason ??= reason;
    this.#controller?.abort(this.#reason);
  }

  /** HTTP/1 requests have this time-out from Node. */
  isReceiving(): boolean {
    return this.stream !== undefined && !this.request.complete;
  }

  cut(): void {
    if (this.stream === undefined) this.socket.destroy();
    else this.stream.close(constants.NGHTTP2_CANCEL);
  }

  endWatch(reason: ConnectError): void {
    if (this.request.complete) this.abort(reason);
    else this.stream?.close(constants.NGHTTP2_CANCEL);
  }
}

/** Path and query of a request target, which a proxy's client may send in absolute form. */
function splitTarget(target: string): [path: string, query: string] {
  const origin = target.startsWith("/") ? "" : (/^https?:\/\/[^/?]*/i.exec(target)?.[0] ?? "");
  const local = target.slice(origin.length);
  const mark = local.indexOf("?");
  return mark < 0 ? [local === "" ? "/" : local, ""] : [local.slice(0, mark), local.slice(mark + 1)];
}
