import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Clock } from "../../report/index.ts";
import type { Rejection } from "../api-metrics.ts";
import type { ApiLimits } from "./limits.ts";

const floodWindow = 10_000;

/** Gives HTTP/2 connections the time-outs that Node's have not, and ends those that send control frames in floods. */
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
  streams: number;
  /** When the last stream ended or, once the session is closing, when that began. */
  since: number;
  closing: boolean;
  windowStart: number;
  controlFrames: number;
}

export function createHttp2Guard(limits: ApiLimits, clock: Clock, reject: (reason: Rejection) => void): Http2Guard {
  const sessions = new Map<ServerHttp2Session, SessionState>();

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
    state.controlFrames++;
    if (state.controlFrames <= limits.maxControlFrames || session.destroyed) return;
    reject("flood");
    session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  };

  return {
    watch(session) {
      const now = clock.monotonic();
      const state: SessionState = { streams: 0, since: now, closing: false, windowStart: now, controlFrames: 0 };
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
      session.on("remoteSettings", () => count(session, state));
      // A session's failure is its client's affair; without a listener it would be the process's.
      session.on("error", () => {});
      session.on("close", () => sessions.delete(session));
    },
    sweep() {
      const now = clock.monotonic();
      for (const [session, state] of sessions) {
        if (state.closing) {
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
