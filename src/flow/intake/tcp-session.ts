import type { Socket } from "node:net";
import type { Labels, Metrics, Clock, Log } from "../../base/report/index.ts";
import { senderPort, sessionEnd } from "./socket.ts";

const transports = ["tcp", "tls"] as const;
export type Transport = (typeof transports)[number];

/** Why a connection ended, and what the log says of it. */
export const closeReasons = {
  peer: "the exporter closed it",
  cut_message: "the exporter closed it within a message",
  error: "an error of the connection",
  bad_version: "the version of a message is not 10; only IPFIX is received by TCP",
  bad_length: "the length of a message is shorter than its header",
  idle: "nothing came within SVC_FLOW_SERVER_TCP_IDLE_TIMEOUT",
  slow_message: "a message was not complete in time",
  limit: "SVC_FLOW_SERVER_TCP_MAX_CONNECTIONS are open",
  host_limit: "SVC_FLOW_SERVER_TCP_MAX_CONNECTIONS_PER_HOST are open from this host",
  handshake: "the TLS handshake failed",
  thread_restart: "the thread that decodes its flows was started again and does not know its templates",
  stopped: "the collector stops",
} as const;
type CloseReason = keyof typeof closeReasons;

/** What is counted of the connections of one transport. */
interface StreamCounts {
  open: number;
  opened: number;
  messages: number;
  pauses: number;
  /** Bytes received and never handed over. */
  lost: number;
  readonly closed: Record<CloseReason, number>;
}

export function createStreamCounts(): Readonly<Record<Transport, StreamCounts>> {
  const create = (): StreamCounts => {
    const closed = Object.fromEntries(Object.keys(closeReasons).map((reason) => [reason, 0]));
    return { open: 0, opened: 0, messages: 0, pauses: 0, lost: 0, closed: closed as StreamCounts["closed"] };
  };
  return { tcp: create(), tls: create() };
}

/** @param held bytes that the connections hold now. */
export function registerStreamMetrics(
  metrics: Metrics,
  counts: Readonly<Record<Transport, StreamCounts>>,
  held: () => number,
): void {
  const each = (read: (of: StreamCounts) => number) => (): (readonly [Labels, number])[] =>
    transports.map((transport) => [{ transport }, read(counts[transport])] as const);
  const counter = (name: string, help: string, read: (of: StreamCounts) => number): void =>
    metrics.counterFrom(name, help, ["transport"], each(read));

  metrics.gaugeFrom(
    "netgloss_flow_stream_connections",
    "Connections of exporters that are open.",
    ["transport"],
    each(({ open }) => open),
  );
  counter("netgloss_flow_stream_connections_total", "Connections accepted.", ({ opened }) => opened);
  counter("netgloss_flow_stream_messages_total", "IPFIX messages received by connections.", (of) => of.messages);
  counter(
    "netgloss_flow_stream_pauses_total",
    "How often a connection was not read because decoding was behind.",
    ({ pauses }) => pauses,
  );
  counter(
    "netgloss_flow_stream_lost_bytes_total",
    "Bytes that were received by connections and are no whole message, or came after a fault.",
    ({ lost }) => lost,
  );
  metrics.gaugeFrom("netgloss_flow_stream_held_bytes", "Bytes received by connections and not handed over.", [], held);
  metrics.counterFrom(
    "netgloss_flow_stream_closed_total",
    "Connections that ended or were refused, by reason.",
    ["transport", "reason"],
    () =>
      transports.flatMap((transport) =>
        Object.entries(counts[transport].closed).map(([reason, count]) => [{ transport, reason }, count] as const),
      ),
  );
}

/** Why a stream cannot be cut into messages any more. */
type FramingFault = "bad_version" | "bad_length";

/** Cuts a stream of bytes into IPFIX messages by the length in their headers (RFC 7011 section 3.1). */
interface MessageFramer {
  /** Adds what was received. The bytes are kept, not copied, while nothing else is held. */
  push(chunk: Buffer): void;
  /**
   * The next message whole; it is valid until the next push. Undefined while it is not complete.
   * A fault when the next header is none of IPFIX: nothing behind it can be found.
   */
  peek(): Buffer | FramingFault | undefined;
  /** Leaves the message that {@link peek} showed. */
  skip(): void;
  /** Bytes received and not left yet: less than a message when all messages have been left. */
  readonly held: number;
}

const headerLength = 16;
const version = 10;
const nothing = Buffer.alloc(0);

export function createMessageFramer(): MessageFramer {
  let bytes: Buffer = nothing;
  let start = 0;
  let end = 0;

  return {
    push(chunk) {
      const rest = end - start;
      if (rest === 0) {
        bytes = chunk;
        start = 0;
        end = chunk.length;
        return;
      }
      if (end + chunk.length > bytes.length) {
        // Powers of two: a sender of single bytes costs no copy for each of them.
        const room = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(2 * rest + chunk.length)));
        bytes.copy(room, 0, start, end);
        bytes = room;
        start = 0;
        end = rest;
      }
      chunk.copy(bytes, end);
      end += chunk.length;
    },
    peek() {
      const rest = end - start;
      if (rest < 2) return rest === 1 && bytes[start] !== 0 ? "bad_version" : undefined;
      if (bytes.readUInt16BE(start) !== version) return "bad_version";
      if (rest < 4) return undefined;
      const length = bytes.readUInt16BE(start + 2);
      if (length < headerLength) return "bad_length";
      return rest < length ? undefined : bytes.subarray(start, start + length);
    },
    skip() {
      start += bytes.readUInt16BE(start + 2);
      if (start < end) return;
      // A connection that is idle holds nothing.
      bytes = nothing;
      start = end = 0;
    },
    get held() {
      return end - start;
    },
  };
}

/**
 * Takes a message with its sender's address and {@link sessionPort}; without bytes it ends the session.
 *
 * @returns false when there is no room: the same is to be offered again.
 */
export type OfferMessage = (bytes: Uint8Array, address: string, port: number) => boolean;

interface SessionOptions {
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
