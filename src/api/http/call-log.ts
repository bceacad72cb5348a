import { constants } from "node:http2";
import type { Socket } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../report/index.ts";
import type { ApiMetrics } from "../api-metrics.ts";
import { wireOf, type Call } from "./call.ts";
import { headerOf, type HttpRequest, type HttpResponse } from "./http-message.ts";
import type { ApiLimits } from "./limits.ts";

/** The requests that are being answered: their time-outs, their memory and their metrics. */
export interface CallLog {
  /** Begins a call; it ends by itself when its response is closed. */
  begin(request: HttpRequest, response: HttpResponse, expectsContinue: boolean): Call;
  isBusy(socket: Socket): boolean;
  /** Ends calls that have taken too long. */
  sweep(): void;
  /** Ends the calls that would never end by themselves: with an answer where they can be given one. */
  endWatches(reason: ConnectError): void;
  /** Counts bytes of a body. @returns false when that is more than all bodies together may hold. */
  hold(call: Call, bytes: number): boolean;
}

interface Entry {
  readonly call: Call;
  readonly since: number;
  readonly abort: (reason: ConnectError) => void;
}

export function createCallLog(limits: ApiLimits, clock: Clock, metrics: ApiMetrics): CallLog {
  const entries = new Set<Entry>();
  const busy = new WeakMap<Socket, number>();
  let heldBytes = 0;

  const cut = (call: Call): void => {
    metrics.reject("timeout");
    if (call.stream === undefined) call.socket.destroy();
    else call.stream.close(constants.NGHTTP2_CANCEL);
  };

  return {
    begin(request, response, expectsContinue) {
      // Node keeps the parts of a failed message as errors of the message; nobody else listens.
      request.on("error", () => {});
      response.on("error", () => {});
      let controller: AbortController | undefined;
      let reason: ConnectError | undefined;
      const abort = (why: ConnectError): void => {
        reason ??= why;
        controller?.abort(reason);
      };
      const socket = request.socket;
      const [path, query] = splitTarget(request.url ?? "");
      const call: Call = {
        request,
        response,
        path,
        query: new URLSearchParams(query),
        wire: wireOf(headerOf(request, "content-type")),
        socket,
        stream: "stream" in request ? request.stream : undefined,
        // Made when it is asked for, which most calls never do.
        get signal() {
          controller ??= new AbortController();
          if (reason !== undefined) controller.abort(reason);
          return controller.signal;
        },
        throwIfAborted() {
          if (reason !== undefined) throw reason;
        },
        expectsContinue,
        label: "other",
        code: "canceled",
        isEndless: false,
        isHeaderOnly: false,
        heldBytes: 0,
      };
      const since = clock.monotonic();
      const entry: Entry = { call, since, abort };
      entries.add(entry);
      if (call.stream === undefined) busy.set(socket, (busy.get(socket) ?? 0) + 1);
      response.once("close", () => {
        entries.delete(entry);
        heldBytes -= call.heldBytes;
        if (call.stream === undefined) busy.set(socket, (busy.get(socket) ?? 1) - 1);
        if (hasBrokenOff(call)) {
          call.code = "canceled";
          abort(new ConnectError("the client has gone", Code.Canceled));
        }
        const { label: method, wire: transport, code } = call;
        metrics.requests.add(1, { method, transport, code });
        metrics.seconds.observe((clock.monotonic() - since) / 1000, { method, transport });
      });
      return call;
    },
    isBusy: (socket) => (busy.get(socket) ?? 0) > 0,
    sweep() {
      const now = clock.monotonic();
      for (const { call, since } of entries) {
        const age = now - since;
        // HTTP/1 requests have this time-out from Node.
        const isSlow = call.stream !== undefined && !call.request.complete && age > limits.requestTimeout;
        if (isSlow || (age > limits.lifetime && !call.isEndless)) cut(call);
      }
    },
    endWatches(reason) {
      for (const { call, abort } of entries) {
        if (!call.isEndless) continue;
        if (call.request.complete) abort(reason);
        else call.stream?.close(constants.NGHTTP2_CANCEL);
      }
    },
    hold(call, bytes) {
      if (heldBytes + bytes > limits.maxHeldBytes) return false;
      heldBytes += bytes;
      call.heldBytes += bytes;
      return true;
    },
  };
}

/** Whether the call has ended before its answer had. */
function hasBrokenOff({ response, stream, isHeaderOnly }: Call): boolean {
  if (stream === undefined) return !response.writableFinished;
  // Node ends a stream that its peer has reset, as if it had been answered.
  return !(response.writableEnded || isHeaderOnly) || (stream.rstCode ?? 0) !== constants.NGHTTP2_NO_ERROR;
}

/** Path and query of a request target, which a proxy's client may send in absolute form. */
function splitTarget(target: string): [path: string, query: string] {
  const origin = /^https?:\/\/[^/?]*/i.exec(target)?.[0] ?? "";
  const local = target.slice(origin.length);
  const mark = local.indexOf("?");
  return mark < 0 ? [local === "" ? "/" : local, ""] : [local.slice(0, mark), local.slice(mark + 1)];
}
