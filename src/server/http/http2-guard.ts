import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Clock } from "../../base/report/index.ts";
import type { Rejection } from "./api-metrics.ts";
import { sourceOf } from "../access/failure-limit.ts";
import { floodWindow, type ClientLimits } from "./client-limits.ts";
import type { ApiLimits } from "./limits.ts";

/**
 * Gives HTTP/2 connections the time-outs that Node's have not, and ends those that send control frames in floods, alone or
 * with the others of their client.
 *
 * Node reports whole frames only. A connection that has received bytes and has no stream is therefore asked by a PING whether it is
 * between two frames: the answer cannot come in the middle of a header block (RFC 9113 section 4.3), or of any other frame.
 */
export interface Http2Guard {
  watch(session: ServerHttp2Session): void;
  /** Ends what has been idle, or closing, for too long. To be called every now and then. */
  sweep(): void;
  /** Sends every client a GOAWAY; open streams may finish. */
  closeAll(): void;
  destroyAll(): void;
  readonly size: number;
}

interface SessionState {
  readonly opened: number;
  readonly client: string;
  /** Whether the client's settings have come, the first frame that it has to send. */
  hasSettings: boolean;
  /** Bytes received when the last PING was answered. */
  answeredBytes: number;
  /** When the PING was sent that has not been answered. */
  askedAt: number | undefined;
  streams: number;
  /** When the last stream ended or, once the session is closing, when that began. */
  since: number;
  closing: boolean;
  windowStart: number;
  controlFrames: number;
}

/** Node takes the code only along with an error. */
function calmDown(session: ServerHttp2Session): void {
  session.destroy(new Error("the client sends too much, or too slowly"), constants.NGHTTP2_ENHANCE_YOUR_CALM);
}

export function createHttp2Guard(
  limits: ApiLimits,
  clients: ClientLimits,
  clock: Clock,
  reject: (reason: Rejection) => void,
): Http2Guard {
  const sessions = new Map<ServerHttp2Session, SessionState>();
  /**
   * The time that clients had, milliseconds. A sweep that comes late counts as one that comes in time: meanwhile nothing was read of what they may
   * have sent.
   */
  let time = 0;
  let swept = clock.monotonic();
  const mostOfSweep = limits.headersTimeout / 4;

  const close = (session: ServerHttp2Session, state: SessionState): void => {
    state.closing = true;
    state.since = clock.monotonic();
    session.close();
  };

  const count = (session: ServerHttp2Session, state: SessionState): void => {
    const now = clock.monotonic();
    if (now - state.windowStart > floodWindow) {
      state.windowStart = now;
      state.controlFrames = 0;
    }
    const isWithin = clients.control(state.client) && ++state.controlFrames <= limits.maxControlFrames;
    if (isWithin || session.destroyed) return;
    reject("flood");
    calmDown(session);
  };

  const ask = (session: ServerHttp2Session, state: SessionState): void => {
    if (session.socket.bytesRead === state.answeredBytes) return;
    const isSent = session.ping((error) => {
      if (error !== null || session.destroyed) return;
      state.askedAt = undefined;
      state.answeredBytes = session.socket.bytesRead;
    });
    if (isSent) state.askedAt = time;
  };

  /** Whether the client has been in the middle of a frame, or has owed its settings, for too long. */
  const isDripping = (session: ServerHttp2Session, state: SessionState): boolean => {
    if (!state.hasSettings) return time - state.opened > limits.headersTimeout;
    // With a stream, an answer may be on its way that the client takes slowly, and the PING behind it.
    if (state.streams > 0) state.askedAt = undefined;
    else if (state.askedAt === undefined) ask(session, state);
    else return time - state.askedAt > limits.headersTimeout;
    return false;
  };

  return {
    watch(session) {
      const now = clock.monotonic();
      const state: SessionState = {
        opened: time,
        client: sourceOf(session.socket.remoteAddress),
        hasSettings: false,
        answeredBytes: 0,
        askedAt: undefined,
        streams: 0,
        since: now,
        closing: false,
        windowStart: now,
        controlFrames: 0,
      };
      sessions.set(session, state);
      session.on("stream", (stream: ServerHttp2Stream) => {
        state.streams++;
        stream.on("close", () => {
          state.streams--;
          if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) count(session, state);
          if (state.streams === 0 && !state.closing) state.since = clock.monotonic();
        });
      });
      session.on("ping", () => count(session, state));
      session.on("remoteSettings", () => {
        state.hasSettings = true;
        count(session, state);
      });
      // A session's failure is its client's affair; without a listener it would be the process's.
      session.on("error", () => {});
      session.on("close", () => sessions.delete(session));
    },
    sweep() {
      const now = clock.monotonic();
      time += Math.min(now - swept, mostOfSweep);
      swept = now;
      for (const [session, state] of sessions) {
        if (session.destroyed) continue;
        if (isDripping(session, state)) {
          reject("headers");
          calmDown(session);
        } else if (state.closing) {
          if (state.streams === 0 && now - state.since > limits.stallTimeout) session.destroy();
        } else if (state.streams === 0 && now - state.since > limits.idleTimeout) {
          close(session, state);
        }
      }
    },
    closeAll() {
      for (const [session, state] of sessions) if (!state.closing) close(session, state);
    },
    destroyAll() {
      for (const session of sessions.keys()) session.destroy();
    },
    get size() {
      return sessions.size;
    },
  };
}
