import type { Socket } from "node:net";
import type { Labels, Metrics, Clock, Log } from "../../base/report/index.ts";
import { senderPort, sessionEnd } from "../datagram.ts";

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

/** Counts of the connections of one transport. */
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

const headerLength = 16;
const version = 10;
const nothing = Buffer.alloc(0);

/** Cuts a stream of bytes into IPFIX messages by the length in their headers (RFC 7011 section 3.1). */
export class MessageFramer {
  #bytes: Buffer = nothing;
  #start = 0;
  #end = 0;

  /** Bytes received and not left yet: less than a message when all messages have been left. */
  get held(): number {
    return this.#end - this.#start;
  }

  /** Adds what was received. The bytes are kept, not copied, while nothing else is held. */
  push(chunk: Buffer): void {
    const rest = this.held;
    if (rest === 0) {
      this.#bytes = chunk;
      this.#start = 0;
      this.#end = chunk.length;
      return;
    }
    if (this.#end + chunk.length > this.#bytes.length) {
      // Powers of two: a sender of single bytes costs no copy for each of them.
      const room = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(2 * rest + chunk.length)));
      this.#bytes.copy(room, 0, this.#start, this.#end);
      this.#bytes = room;
      this.#start = 0;
      this.#end = rest;
    }
    chunk.copy(this.#bytes, this.#end);
    this.#end += chunk.length;
  }

  /**
   * The next message whole; it is valid until the next push. Undefined while it is not complete.
   * A fault when the next header is none of IPFIX: nothing behind it can be found.
   */
  peek(): Buffer | FramingFault | undefined {
    const rest = this.held;
    const start = this.#start;
    if (rest < 2) return rest === 1 && this.#bytes[start] !== 0 ? "bad_version" : undefined;
    if (this.#bytes.readUInt16BE(start) !== version) return "bad_version";
    if (rest < 4) return undefined;
    const length = this.#bytes.readUInt16BE(start + 2);
    if (length < headerLength) return "bad_length";
    return rest < length ? undefined : this.#bytes.subarray(start, start + length);
  }

  /** Leaves the message that {@link peek} showed. */
  skip(): void {
    this.#start += this.#bytes.readUInt16BE(this.#start + 2);
    if (this.#start < this.#end) return;
    // A connection that is idle holds nothing.
    this.#bytes = nothing;
    this.#start = this.#end = 0;
  }
}

/**
 * Takes a message with its sender's address and {@link sessionPort}; without bytes it ends the session.
 *
 * @returns false when there is no room: the same is to be offered again.
 */
export type OfferMessage = (bytes: Uint8Array, address: string, port: number) => boolean;

interface SessionOptions {
  readonly socket: Socket;
  /** The address of the sender, as the socket gives it. */
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

/**
 * One connection of an exporter.
 *
 * Nothing of a connection is dropped when decoding is behind: its socket is not read then, and TCP makes the exporter wait.
 * The end of the session goes the same way as its messages, after the last of them.
 */
export class Session {
  readonly address: string;
  readonly #options: SessionOptions;
  readonly #framer = new MessageFramer();
  #reason: CloseReason | undefined;
  #isWaiting = false;
  #isClosed = false;
  #hasEnded = false;
  /** When something came last, and when the message that is not complete began; monotonic milliseconds. */
  #lastAt: number;
  #beganAt: number;

  constructor(options: SessionOptions) {
    const { socket, address, counts, clock } = options;
    this.address = address;
    this.#options = options;
    this.#lastAt = this.#beganAt = clock.monotonic();
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("error", () => (this.#reason ??= "error"));
    socket.on("close", () => {
      this.#reason ??= "peer";
      this.#isClosed = true;
      this.pump();
    });
    counts.open++;
    counts.opened++;
  }

  /** Bytes received and not handed over. */
  get held(): number {
    return this.#framer.held;
  }

  /** Hands over what is complete; the socket is read on when all of it was taken. */
  pump(): void {
    if (this.#hasEnded || !this.#handOver()) return;
    if (this.#isClosed) this.#end();
    else if (this.#isWaiting) {
      this.#isWaiting = false;
      this.#lastAt = this.#beganAt = this.#options.clock.monotonic();
      this.#options.socket.resume();
    }
  }

  /** Ends the connection. What is complete is still handed over. */
  close(reason: CloseReason): void {
    this.#reason ??= reason;
    this.#options.socket.destroy();
  }

  /** Ends the connection if it is idle, or its message takes too long. Not while it waits for room itself. */
  sweep(now: number, idleMs: number, messageMs: number): void {
    if (this.#isWaiting || this.#isClosed) return;
    if (this.held > 0 && now - this.#beganAt > messageMs) this.close("slow_message");
    else if (this.held === 0 && now - this.#lastAt > idleMs) this.close("idle");
  }

  #receive(chunk: Buffer): void {
    // The bytes behind a fault are nobody's.
    if (this.#reason !== undefined) {
      this.#options.counts.lost += chunk.length;
      return;
    }
    this.#lastAt = this.#options.clock.monotonic();
    if (this.held === 0) this.#beganAt = this.#lastAt;
    this.#framer.push(chunk);
    if (!this.#isWaiting) this.pump();
  }

  #put(bytes: Uint8Array): boolean {
    const { offer, address, port, counts, socket, wait } = this.#options;
    if (offer(bytes, address, port)) return true;
    if (!this.#isWaiting) {
      this.#isWaiting = true;
      counts.pauses++;
      socket.pause();
    }
    wait();
    return false;
  }

  /** @returns whether nothing that is complete is left. */
  #handOver(): boolean {
    for (;;) {
      const message = this.#framer.peek();
      if (message === undefined) return true;
      if (typeof message === "string") {
        this.close(message);
        return true;
      }
      if (!this.#put(message)) return false;
      this.#framer.skip();
      this.#options.counts.messages++;
      this.#beganAt = this.#options.clock.monotonic();
    }
  }

  #end(): void {
    if (!this.#put(sessionEnd)) return;
    this.#hasEnded = true;
    const { transport, address, port, counts, log, ended } = this.#options;
    const why = this.#reason === "peer" && this.held > 0 ? "cut_message" : (this.#reason ?? "peer");
    counts.open--;
    counts.closed[why]++;
    counts.lost += this.held;
    const detail = { transport, exporter: address, port: senderPort(port), reason: closeReasons[why] };
    if (why === "peer" || why === "stopped") log.info(detail, "connection of an exporter closed");
    else log.warn(detail, "connection of an exporter closed");
    ended();
  }
}
