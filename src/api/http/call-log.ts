import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { sourceOf } from "../../access/index.ts";
import type { Clock } from "../../report/index.ts";
import type { ActiveCall, CallSurroundings } from "./active-call.ts";
import type { ApiMetrics } from "./api-metrics.ts";
import type { Call } from "./call.ts";
import type { ClientAddress } from "./client-address.ts";
import { Http1Call } from "./http1-call.ts";
import { Http2Call } from "./http2-call.ts";
import type { RequestHeaders } from "./http-message.ts";
import type { ClientLimits } from "./client-limits.ts";
import type { ApiLimits } from "./limits.ts";
import { sendError } from "./send.ts";
import { Turns } from "./turns.ts";
import { apiError } from "../error/api-error.ts";

/** The requests that are being answered: their turns, their time-outs, their memory and their metrics. */
export interface CallLog {
  /** Begins a call of HTTP/1, which is served when it is its turn; it ends by itself when its response is closed. */
  beginHttp1(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void;
  /** Begins a call of HTTP/2, which is served when it is its turn; it ends by itself when its stream is closed. */
  beginHttp2(stream: ServerHttp2Stream, headers: RequestHeaders): void;
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
  /** Counts bytes no longer that are held no longer, before the call is over. */
  release(holder: { heldBytes: number }, bytes: number): void;
  /** Counts bytes that were made of a body. @returns false when that is more than all requests together may take. */
  make(maker: { madeBytes: number }, bytes: number): boolean;
}

export interface CallLogParts {
  readonly limits: ApiLimits;
  readonly clients: ClientLimits;
  readonly clientAddress: ClientAddress;
  readonly clock: Clock;
  readonly metrics: ApiMetrics;
  /** Answers a call. */
  readonly serve: (call: Call) => void;
  /** Called with each call that is over. */
  readonly ended: (call: Call) => void;
}

export function createCallLog({ limits, clients, clientAddress, clock, metrics, serve, ended }: CallLogParts): CallLog {
  const pending = new Set<ActiveCall>();
  const busy = new WeakMap<Socket, number>();
  /** Those that were asked to end because of whom they serve. */
  const ending = new WeakSet<ActiveCall>();
  let heldBytes = 0;
  let madeBytes = 0;
  const turns = new Turns(clock);
  const surroundings: CallSurroundings = {
    clock,
    clientAddress,
    turns,
    stallTimeout: limits.stallTimeout,
    onStall: () => metrics.reject("timeout"),
  };

  const begin = (call: ActiveCall): void => {
    pending.add(call);
    call.client = sourceOf(call.peer);
    const isWithin = clients.begin(call.client);
    if (call.ownSocket !== undefined) busy.set(call.ownSocket, (busy.get(call.ownSocket) ?? 0) + 1);
    call.onClose(() => end(call));
    turns.add(call.client, call.shared, () => {
      // Most that are cancelled are so before they are looked at.
      if (call.isGone()) return;
      if (isWithin) serve(call);
      else refuse(call);
    });
  };

  const refuse = (call: Call): void => {
    metrics.reject("requests");
    const message = `this client has ${limits.maxClientRequests} requests under way: wait for their answers`;
    sendError(call, apiError("resource_exhausted", "TOO_MANY_REQUESTS", message));
  };

  const end = (call: ActiveCall): void => {
    if (call.ownSocket !== undefined) busy.set(call.ownSocket, (busy.get(call.ownSocket) ?? 1) - 1);
    if (call.hasBrokenOff()) {
      call.code = "canceled";
      call.abort(new ConnectError("the client has gone", Code.Canceled));
    }
    pending.delete(call);
    clients.end(call.client);
    heldBytes -= call.heldBytes;
    madeBytes -= call.madeBytes;
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
    release(holder, bytes) {
      heldBytes -= bytes;
      holder.heldBytes -= bytes;
    },
    make(maker, bytes) {
      if (madeBytes + bytes > limits.maxMadeBytes) return false;
      madeBytes += bytes;
      maker.madeBytes += bytes;
      return true;
    },
  };
}
