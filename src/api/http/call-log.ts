import { constants } from "node:http2";
import type { Socket } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../report/index.ts";
import type { ApiMetrics } from "../api-metrics.ts";
import { createActiveCall, type ActiveCall } from "./active-call.ts";
import type { Call, Wire } from "./call.ts";
import type { HttpRequest, HttpResponse } from "./http-message.ts";
import type { ApiLimits } from "./limits.ts";

/** One request that is being answered, as far as time and memory go. */
export interface Pending {
  /** When its header came, on the monotonic clock, milliseconds. */
  readonly since: number;
  /** Bytes of its body counted against the memory of all. */
  heldBytes: number;
  /** Without a bound on its time in all. */
  readonly isEndless: boolean;
  /** Whether its client is still sending the body, where Node has no time-out for that. */
  isReceiving(): boolean;
  /** Ends it at once. */
  cut(): void;
  /** Ends it because the server stops: with an answer where it can be given one. */
  endWatch(reason: ConnectError): void;
  /** Called at every sweep. */
  onSweep?(): void;
}

/** The requests that are being answered: their time-outs, their memory and their metrics. */
export interface CallLog {
  /** Begins a call; it ends by itself when its response is closed. */
  begin(request: HttpRequest, response: HttpResponse, expectsContinue: boolean): Call;
  /** Takes part in time-outs and memory until it is handed to `end`. */
  add(pending: Pending): void;
  /** Forgets what was added and counts it in the metrics. */
  end(pending: Pending, method: string, transport: Wire, code: string): void;
  now(): number;
  isBusy(socket: Socket): boolean;
  /** Ends calls that have taken too long. */
  sweep(): void;
  /** Ends the calls that would never end by themselves: with an answer where they can be given one. */
  endWatches(reason: ConnectError): void;
  /** Counts bytes of a body. @returns false when that is more than all bodies together may hold. */
  hold(holder: { heldBytes: number }, bytes: number): boolean;
}

export function createCallLog(limits: ApiLimits, clock: Clock, metrics: ApiMetrics): CallLog {
  const pending = new Set<Pending>();
  const busy = new WeakMap<Socket, number>();
  let heldBytes = 0;

  const end: CallLog["end"] = (one, method, transport, code) => {
    pending.delete(one);
    heldBytes -= one.heldBytes;
    metrics.answered(method, transport, code, (clock.monotonic() - one.since) / 1000);
  };

  const endCall = (call: ActiveCall): void => {
    if (call.stream === undefined) busy.set(call.socket, (busy.get(call.socket) ?? 1) - 1);
    if (hasBrokenOff(call)) {
      call.code = "canceled";
      call.abort(new ConnectError("the client has gone", Code.Canceled));
    }
    end(call, call.label, call.wire, call.code);
  };

  return {
    begin(request, response, expectsContinue) {
      // Node keeps the parts of a failed message as errors of the message; nobody else listens.
      request.on("error", ignore);
      response.on("error", ignore);
      const call = createActiveCall(request, response, expectsContinue, clock.monotonic());
      pending.add(call);
      if (call.stream === undefined) busy.set(call.socket, (busy.get(call.socket) ?? 0) + 1);
      response.once("close", () => endCall(call));
      return call;
    },
    add: (one) => void pending.add(one),
    end,
    now: () => clock.monotonic(),
    isBusy: (socket) => (busy.get(socket) ?? 0) > 0,
    sweep() {
      const now = clock.monotonic();
      for (const one of pending) {
        one.onSweep?.();
        const age = now - one.since;
        const isSlow = age > limits.requestTimeout && one.isReceiving();
        if (!isSlow && (age <= limits.lifetime || one.isEndless)) continue;
        metrics.reject("timeout");
        one.cut();
      }
    },
    endWatches(reason) {
      for (const one of pending) if (one.isEndless) one.endWatch(reason);
    },
    hold(holder, bytes) {
      if (heldBytes + bytes > limits.maxHeldBytes) return false;
      heldBytes += bytes;
      holder.heldBytes += bytes;
      return true;
    },
  };
}

function ignore(): void {}

/** Whether the call has ended before its answer had. */
function hasBrokenOff({ response, stream, isHeaderOnly }: Call): boolean {
  if (stream === undefined) return !response.writableFinished;
  // Node ends a stream that its peer has reset, as if it had been answered.
  return !(response.writableEnded || isHeaderOnly) || (stream.rstCode ?? 0) !== constants.NGHTTP2_NO_ERROR;
}
