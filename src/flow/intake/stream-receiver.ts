import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type Server as TlsServer } from "node:tls";
import type { Clock, Component, Log, Metrics } from "../../base/report/index.ts";
import { bindAnyFamily, maxSession, sessionPort } from "./socket.ts";
import {
  closeReasons,
  createStreamCounts,
  registerStreamMetrics,
  Session,
  type OfferMessage,
  type Transport,
} from "./tcp-session.ts";

/** PEM. */
export interface StreamCredentials {
  readonly cert: Uint8Array;
  readonly key: Uint8Array;
  /** Exporters need a certificate of these authorities; absent: they need none. */
  readonly ca?: Uint8Array | undefined;
}

/** One port for connections. */
export interface StreamPort {
  /** Empty is all addresses. */
  readonly ip: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Absent: plain TCP. */
  readonly tls?: StreamCredentials | undefined;
}

export interface StreamLimits {
  /** Connections, of TCP and TLS together. */
  readonly maxConnections: number;
  /** The same of one host. */
  readonly maxPerHost: number;
  /** A connection is closed when nothing has come for this time. */
  readonly idleMs: number;
  /** How long a message may take to be complete. */
  readonly messageMs?: number;
}

interface StreamReceiverOptions {
  readonly ports: readonly StreamPort[];
  readonly limits: StreamLimits;
  readonly offer: OfferMessage;
  /** Limited in rate. */
  readonly limited: Log;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** How long a message may take from its first byte on. */
const defaultMessageMs = 60_000;
/** How often room is looked for while connections wait for it. */
const retryMs = 5;
const keepAliveMs = 60_000;
const handshakeMs = 10_000;

/** The connections by which exporters send IPFIX (RFC 7011 section 10.4). */
export class StreamReceiver implements Component {
  readonly name = "flow connections";
  readonly #options: StreamReceiverOptions;
  readonly #messageMs: number;
  readonly #counts = createStreamCounts();
  /** By their numbers. */
  readonly #sessions = new Map<number, Session>();
  readonly #waiting = new Set<Session>();
  /** All that are open, with those whose handshake is not done. */
  readonly #sockets = new Set<Socket>();
  readonly #servers: Server[] = [];
  /** They listen to nothing themselves. */
  readonly #tlsServers: TlsServer[] = [];
  // Those of a thread before this one are not known: begin anywhere.
  #number = randomInt(maxSession);
  #retry: NodeJS.Timeout | undefined;
  #sweep: NodeJS.Timeout | undefined;

  constructor(options: StreamReceiverOptions) {
    this.#options = options;
    this.#messageMs = options.limits.messageMs ?? defaultMessageMs;
    registerStreamMetrics(options.metrics, this.#counts, () => {
      let bytes = 0;
      for (const session of this.#sessions.values()) bytes += session.held;
      return bytes;
    });
  }

  async start(): Promise<void> {
    const { limits, ports, clock } = this.#options;
    try {
      for (const port of ports) await this.#listen(port);
    } catch (error) {
      await this.stop();
      throw error;
    }
    if (this.#servers.length === 0) return;
    this.#sweep = setInterval(
      () => {
        const now = clock.monotonic();
        for (const session of this.#sessions.values()) session.sweep(now, limits.idleMs, this.#messageMs);
      },
      Math.min(1000, limits.idleMs / 2, this.#messageMs / 2),
    );
    this.#sweep.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#sweep);
    const closed = this.#servers.splice(0).map((server) => new Promise((done) => void server.close(done)));
    for (const session of this.#sessions.values()) session.close("stopped");
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#waiting.clear();
  }

  /** The ports that are open, in the order given. */
  ports(): readonly number[] {
    return this.#servers.map((server) => (server.address() as AddressInfo).port);
  }

  /** Closes connections whose templates were lost, so that their exporters connect and send them again. */
  closeSessions(which: (address: string) => boolean): void {
    for (const session of this.#sessions.values()) if (which(session.address)) session.close("thread_restart");
  }

  /** For handshakes from now on, on all ports of TLS. */
  setCredentials(credentials: StreamCredentials): void {
    for (const server of this.#tlsServers) server.setSecureContext(contextOf(credentials));
  }

  async #listen({ ip, port: wanted, tls }: StreamPort): Promise<void> {
    const { limits, log, limited } = this.#options;
    const transport = tls === undefined ? "tcp" : "tls";
    const take = this.#createTaker(tls);
    const server = await bindAnyFamily(ip, wanted, "TCP", async (host, port) => {
      const made = createServer((socket) => this.#admit(transport, socket, take));
      made.listen({ host, port, exclusive: true });
      await once(made, "listening");
      return made;
    });
    server.maxConnections = limits.maxConnections;
    server.on("drop", (data) => this.#refuse(transport, "limit", { exporter: data?.remoteAddress }));
    server.on("error", (error) => limited.error({ transport, error }, "error on a flow port"));
    this.#servers.push(server);
    const { address, port } = server.address() as AddressInfo;
    log.info({ address, port, transport }, "receiving flows");
  }

  /** One host must not take all places by handshakes either, which are no sessions yet. */
  #admit(transport: Transport, socket: Socket, take: (socket: Socket) => void): void {
    const { remoteAddress: address } = socket;
    if (countOf(this.#sockets, (other) => other.remoteAddress === address) >= this.#options.limits.maxPerHost) {
      this.#refuse(transport, "host_limit", { exporter: address }, socket);
      return;
    }
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    take(socket);
  }

  /** What is done with a connection that has been accepted. */
  #createTaker(tls: StreamCredentials | undefined): (socket: Socket) => void {
    if (tls === undefined) return (socket) => this.#accept("tcp", socket);
    const server = createTlsServer(
      {
        ...contextOf(tls),
        requestCert: tls.ca !== undefined,
        rejectUnauthorized: tls.ca !== undefined,
        handshakeTimeout: handshakeMs,
      },
      (socket) => this.#accept("tls", socket),
    );
    server.on("tlsClientError", (error, socket) => {
      this.#refuse("tls", "handshake", { exporter: socket.remoteAddress, error: error.message }, socket);
    });
    this.#tlsServers.push(server);
    return (socket) => void server.emit("connection", socket);
  }

  #accept(transport: Transport, socket: Socket): void {
    const { limits, offer, limited, clock } = this.#options;
    const { remoteAddress: address, remotePort: port } = socket;
    if (address === undefined || port === undefined) {
      socket.destroy();
      return;
    }
    // Sessions whose socket is closed already count, too, until all they sent is handed over.
    const isFull = this.#sessions.size >= limits.maxConnections;
    if (isFull || countOf(this.#sessions.values(), (session) => session.address === address) >= limits.maxPerHost) {
      this.#refuse(transport, isFull ? "limit" : "host_limit", { exporter: address }, socket);
      return;
    }
    socket.setKeepAlive(true, keepAliveMs);
    const own = this.#nextNumber();
    const session: Session = new Session({
      socket,
      address,
      port: sessionPort(port, own),
      transport,
      offer,
      wait: () => {
        this.#waiting.add(session);
        this.#retry ??= setTimeout(() => this.#retryAll(), retryMs);
      },
      ended: () => void this.#sessions.delete(own),
      counts: this.#counts[transport],
      log: limited,
      clock,
    });
    this.#sessions.set(own, session);
    limited.info({ transport, exporter: address, port }, "an exporter has connected");
  }

  #nextNumber(): number {
    do this.#number = (this.#number % maxSession) + 1;
    while (this.#sessions.has(this.#number));
    return this.#number;
  }

  #retryAll(): void {
    this.#retry = undefined;
    const all = [...this.#waiting];
    this.#waiting.clear();
    for (const session of all) session.pump();
  }

  #refuse(transport: Transport, reason: "limit" | "host_limit" | "handshake", detail: object, socket?: Socket): void {
    this.#counts[transport].closed[reason]++;
    const why = closeReasons[reason];
    this.#options.limited.warn({ transport, ...detail, reason: why }, "connection of an exporter refused");
    socket?.destroy();
  }
}

function countOf<T>(all: Iterable<T>, matches: (one: T) => boolean): number {
  let count = 0;
  for (const one of all) if (matches(one)) count++;
  return count;
}

/** Bytes that came from another thread are no buffers. */
function contextOf({ cert, key, ca }: StreamCredentials): { cert: Buffer; key: Buffer; ca?: Buffer } {
  return { cert: Buffer.from(cert), key: Buffer.from(key), ...(ca !== undefined && { ca: Buffer.from(ca) }) };
}
