import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../report/index.ts";
import type { ActiveCall, CallSurroundings } from "./active-call.ts";
import type { ApiMetrics } from "./api-metrics.ts";
import type { Call } from "./call.ts";
import type { ClientAddress } from "./client-address.ts";
import { Http1Call } from "./http1-call.ts";
import { Http2Call } from "./http2-call.ts";
import type { RequestHeaders } from "./http-message.ts";
import type { ApiLimits } from "./limits.ts";

/** The requests that are being answered: their time-outs, their memory and their metrics. */
export interface CallLog {
  /** Begins a call of HTTP/1; it ends by itself when its response is closed. */
  beginHttp1(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): Call;
  /** Begins a call of HTTP/2; it ends by itself when its stream is closed. */
  beginHttp2(stream: ServerHttp2Stream, headers: RequestHeaders): Call;
  isBusy(socket: Socket): boolean;
  /**
   * Ends calls that have taken too long, and those whose client may not have the answer any more: with an answer where they can be given
   * one, and with the next sweep in any case when they send.
   *
   * @param revoked why a call may not go on.
   */
  sweep(revoked: (call: Call) => ConnectError | undefined): void;
  /** Ends the calls that would never end by themselves: with an answer where they can be given one. */
  endWatches(reason: ConnectError): void;
  /** Counts bytes of a body. @returns false when that is more than all bodies together may hold. */
  hold(holder: { heldBytes: number }, bytes: number): boolean;
}

/** @param ended called with each call that is over. */
export function createCallLog(
  limits: ApiLimits,
  clock: Clock,
  metrics: ApiMetrics,
  clientAddress: ClientAddress,
  ended: (call: Call) => void = () => {},
): CallLog {
  const pending = new Set<ActiveCall>();
  const busy = new WeakMap<Socket, number>();
  /** Those that were asked to end because of whom they serve. */
  const ending = new WeakSet<ActiveCall>();
  let heldBytes = 0;
  const surroundings: CallSurroundings = {
    clock,
    clientAddress,
    stallTimeout: limits.stallTimeout,
    onStall: () => metrics.reject("timeout"),
  };

  const begin = (call: ActiveCall): Call => {
    pending.add(call);
    if (call.ownSocket !== undefined) busy.set(call.ownSocket, (busy.get(call.ownSocket) ?? 0) + 1);
    call.onClose(() => end(call));
    return call;
  };

  const end = (call: ActiveCall): void => {
    if (call.ownSocket !== undefined) busy.set(call.ownSocket, (busy.get(call.ownSocket) ?? 1) - 1);
    if (call.hasBrokenOff()) {
      call.code = "canceled";
      call.abort(new ConnectError("the client has gone", Code.Canceled));
    }
    pending.delete(call);
    heldBytes -= call.heldBytes;
    ended(call);
    metrics.answered(call.label, call.wire, call.code, (clock.monotonic() - call.since) / 1000);
  };

  return {
    beginHttp1: (request, response, expectsContinue) =>
      begin(new Http1Call(request, response, expectsContinue, surroundings)),
    beginHttp2: (stream, headers) => begin(new Http2Call(stream, headers, surroundings)),
    isBusy: (socket) => (busy.get(socket) ?? 0) > 0,
    sweep(revoked) {
      const now = clock.monotonic();
      for (const call of pending) {
        call.onSweep();
        const reason = revoked(call);
        if (reason !== undefined) {
          call.failure = reason.rawMessage;
          if (ending.has(call) && (call.isEndless || call.isBegun())) call.cut();
          else call.abort(reason);
          ending.add(call);
        }
        const age = now - call.since;
        const isSlow = age > limits.requestTimeout && call.isReceiving();
        if (!isSlow && (age <= limits.lifetime || call.isEndless)) continue;
        metrics.reject("timeout");
        call.cut();
      }
    },
    endWatches(reason) {
      for (const call of pending) if (call.isEndless) call.endWatch(reason);
    },
    hold(holder, bytes) {
      if (heldBytes + bytes > limits.maxHeldBytes) return false;
      heldBytes += bytes;
      holder.heldBytes += bytes;
      return true;
    },
  };
}
