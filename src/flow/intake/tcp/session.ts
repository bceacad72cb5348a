import type { Socket } from "node:net";
import type { Clock, Log } from "../../../report/index.ts";
import { createMessageFramer } from "./message-framer.ts";
import { senderPort, sessionEnd } from "./session-port.ts";
import { closeReasons, type CloseReason, type StreamCounts, type Transport } from "./stream-counts.ts";

/**
 * Takes a message with its sender's address and {@link sessionPort}; without bytes it ends the session.
 *
 * @returns false when there is no room: the same is to be offered again.
 */
export type OfferMessage = (bytes: Uint8Array, address: string, port: number) => boolean;

export interface SessionOptions {
  readonly socket: Socket;
  /** Of the sender, as the socket gives it. */
  readonly address: string;
  /** See {@link sessionPort}. */
  readonly port: number;
  readonly transport: Transport;
  readonly offer: OfferMessage;
  /** Called when there is no room: {@link Session.pump} is to be called again later. */
  readonly wait: () => void;
  /** Called once, when all that came has been handed over. */
  readonly ended: () => void;
  readonly counts: StreamCounts;
  /** Limited in rate. */
  readonly log: Log;
  readonly clock: Clock;
}

/** One connection of an exporter. */
export interface Session {
  readonly address: string;
  /** Bytes received and not handed over. */
  readonly held: number;
  /** Hands over what is complete; the socket is read on when all of it was taken. */
  pump(): void;
  /** Ends the connection. What is complete is still handed over. */
  close(reason: CloseReason): void;
  /** Ends the connection if it is idle, or its message takes too long. Not while it waits for room itself. */
  sweep(now: number, idleMs: number, messageMs: number): void;
}

/**
 * Nothing of a connection is dropped when decoding is behind: its socket is not read then, and TCP makes the exporter wait.
 * The end of the session goes the same way as its messages, after the last of them.
 */
export function createSession(options: SessionOptions): Session {
  const { socket, address, port, transport, offer, wait, ended, counts, log, clock } = options;
  const framer = createMessageFramer();
  let reason: CloseReason | undefined;
  let isWaiting = false;
  let isClosed = false;
  let hasEnded = false;
  /** When something came last, and when the message that is not complete began; monotonic milliseconds. */
  let lastAt = clock.monotonic();
  let beganAt = lastAt;

  const put = (bytes: Uint8Array): boolean => {
    if (offer(bytes, address, port)) return true;
    if (!isWaiting) {
      isWaiting = true;
      counts.pauses++;
      socket.pause();
    }
    wait();
    return false;
  };
  /** @returns whether nothing that is complete is left. */
  const handOver = (): boolean => {
    for (;;) {
      const message = framer.peek();
      if (message === undefined) return true;
      if (typeof message === "string") {
        close(message);
        return true;
      }
      if (!put(message)) return false;
      framer.skip();
      counts.messages++;
      beganAt = clock.monotonic();
    }
  };
  const end = (): void => {
    if (!put(sessionEnd)) return;
    hasEnded = true;
    const why = reason === "peer" && framer.held > 0 ? "cut_message" : (reason ?? "peer");
    counts.open--;
    counts.closed[why]++;
    counts.lost += framer.held;
    const detail = { transport, exporter: address, port: senderPort(port), reason: closeReasons[why] };
    if (why === "peer" || why === "stopped") log.info(detail, "connection of an exporter closed");
    else log.warn(detail, "connection of an exporter closed");
    ended();
  };
  const pump = (): void => {
    if (hasEnded || !handOver()) return;
    if (isClosed) end();
    else if (isWaiting) {
      isWaiting = false;
      lastAt = beganAt = clock.monotonic();
      socket.resume();
    }
  };
  const close = (why: CloseReason): void => {
    reason ??= why;
    socket.destroy();
  };

  socket.on("data", (chunk: Buffer) => {
    // What comes behind a fault is nobody's.
    if (reason !== undefined) {
      counts.lost += chunk.length;
      return;
    }
    lastAt = clock.monotonic();
    if (framer.held === 0) beganAt = lastAt;
    framer.push(chunk);
    if (!isWaiting) pump();
  });
  socket.on("error", () => (reason ??= "error"));
  socket.on("close", () => {
    reason ??= "peer";
    isClosed = true;
    pump();
  });
  counts.open++;
  counts.opened++;

  return {
    address,
    get held() {
      return framer.held;
    },
    pump,
    close,
    sweep(now, idleMs, messageMs) {
      if (isWaiting || isClosed) return;
      if (framer.held > 0 && now - beganAt > messageMs) close("slow_message");
      else if (framer.held === 0 && now - lastAt > idleMs) close("idle");
    },
  };
}
