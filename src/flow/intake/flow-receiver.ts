import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type Server as TlsServer } from "node:tls";
import type { Socket as UdpSocket } from "node:dgram";
import {
  type Clock,
  type Component,
  type Log,
  type Reporting,
  limitLog,
  type Counter,
} from "../../base/report/index.ts";
import { bindAnyFamily, askReceiveBuffer, openSocket, registerSocketMetrics, type OpenPort } from "./socket.ts";
import { maxSession, sessionPort } from "../datagram.ts";
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
interface StreamPort {
  /** Empty is all addresses. */
  readonly ip: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Absent: plain TCP. */
  readonly tls?: StreamCredentials | undefined;
}

/** Connections by which exporters send IPFIX. */
export interface StreamOptions {
  readonly ports: readonly StreamPort[];
  /** Connections, of TCP and TLS together. */
  readonly maxConnections: number;
  /** The same of one host. */
  readonly maxPerHost: number;
  /** A connection is closed when nothing has come for this time. */
  readonly idleMs: number;
  /** The time within which a message has to be complete. */
  readonly messageMs?: number;
}

/** The time that a message may take from its first byte on. */
const defaultMessageMs = 60_000;
/** The interval at which room is looked for while connections wait for it. */
const retryMs = 5;
const keepAliveMs = 60_000;
const handshakeMs = 10_000;

/** The connections by which exporters send IPFIX (RFC 7011 section 10.4). */
class StreamReceiver implements Component {
  readonly name = "flow connections";
  readonly #options: StreamOptions;
  readonly #offer: OfferMessage;
  readonly #log: Log;
  readonly #limited: Log;
  readonly #clock: Clock;
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
  // The numbers of a thread before this one are not known: begin anywhere.
  #number = randomInt(maxSession);
  #retry: NodeJS.Timeout | undefined;
  #sweep: NodeJS.Timeout | undefined;

  /** @param limited the log, limited in rate. */
  constructor(
    options: StreamOptions = { ports: [], maxConnections: 0, maxPerHost: 0, idleMs: 0 },
    offer: OfferMessage,
    { log, metrics, clock }: Pick<Reporting, "log" | "metrics" | "clock">,
    limited: Log,
  ) {
    this.#options = options;
    this.#offer = offer;
    this.#log = log;
    this.#limited = limited;
    this.#clock = clock;
    this.#messageMs = options.messageMs ?? defaultMessageMs;
    registerStreamMetrics(metrics, this.#counts, () => {
      let bytes = 0;
      for (const session of this.#sessions.values()) bytes += session.held;
      return bytes;
    });
  }

  async start(): Promise<void> {
    const { ports, idleMs } = this.#options;
    try {
      for (const port of ports) await this.#listen(port);
    } catch (error) {
      await this.stop();
      throw error;
    }
    if (this.#servers.length === 0) return;
    this.#sweep = setInterval(
      () => {
        const now = this.#clock.monotonic();
        for (const session of this.#sessions.values()) session.sweep(now, idleMs, this.#messageMs);
      },
      Math.min(1000, idleMs / 2, this.#messageMs / 2),
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
    const transport = tls === undefined ? "tcp" : "tls";
    const take = this.#createTaker(tls);
    const server = await bindAnyFamily(ip, wanted, "TCP", async (host, port) => {
      const made = createServer((socket) => this.#admit(transport, socket, take));
      made.listen({ host, port, exclusive: true });
      await once(made, "listening");
      return made;
    });
    server.maxConnections = this.#options.maxConnections;
    server.on("drop", (data) => this.#refuse(transport, "limit", { exporter: data?.remoteAddress }));
    server.on("error", (error) => this.#limited.error({ transport, error }, "error on a flow port"));
    this.#servers.push(server);
    const { address, port } = server.address() as AddressInfo;
    this.#log.info({ address, port, transport }, "receiving flows");
  }

  /** One host must not take all slots by handshakes either, which are no sessions yet. */
  #admit(transport: Transport, socket: Socket, take: (socket: Socket) => void): void {
    const { remoteAddress: address } = socket;
    if (countOf(this.#sockets, (other) => other.remoteAddress === address) >= this.#options.maxPerHost) {
      this.#refuse(transport, "host_limit", { exporter: address }, socket);
      return;
    }
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    take(socket);
  }

  /** Returns what takes a connection that has been accepted. */
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
    const { maxConnections, maxPerHost } = this.#options;
    const { remoteAddress: address, remotePort: port } = socket;
    if (address === undefined || port === undefined) {
      socket.destroy();
      return;
    }
    // Sessions whose socket is closed already count, too, until all they sent is handed over.
    const isFull = this.#sessions.size >= maxConnections;
    if (isFull || countOf(this.#sessions.values(), (session) => session.address === address) >= maxPerHost) {
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
      offer: this.#offer,
      wait: () => {
        this.#waiting.add(session);
        this.#retry ??= setTimeout(() => this.#retryAll(), retryMs);
      },
      ended: () => void this.#sessions.delete(own),
      counts: this.#counts[transport],
      log: this.#limited,
      clock: this.#clock,
    });
    this.#sessions.set(own, session);
    this.#limited.info({ transport, exporter: address, port }, "an exporter has connected");
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
    this.#limited.warn({ transport, ...detail, reason: why }, "connection of an exporter refused");
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

export interface FlowReceiverOptions extends Pick<Reporting, "log" | "metrics" | "clock"> {
  /** The address to bind; empty is all: `::` for both families, `0.0.0.0` on a host without IPv6. */
  readonly ip: string;
  /** Each takes every protocol. 0 lets the system choose. */
  readonly ports: readonly number[];
  /** The receive buffer asked for on each port. */
  readonly receiveBufferBytes: number;
  /** Takes a datagram with its sender's address and port as the socket gives them. Must not throw. */
  readonly take: (bytes: Buffer, address: string, port: number) => void;
  /** Ports for TCP and TLS; left out: none. */
  readonly streams?: StreamOptions | undefined;
  /** Takes a message of a connection, or has it wait. Must not throw. */
  readonly offer: OfferMessage;
}

/** The sockets and connections of the flow ports. Its start fails with a FlowListenError when a port cannot be opened. */
export class FlowReceiver implements Component {
  readonly name = "flow receiver";
  readonly #options: FlowReceiverOptions;
  readonly #limited: Log;
  readonly #open: (OpenPort & { readonly socket: UdpSocket })[] = [];
  readonly #streams: StreamReceiver;
  readonly #socketErrors: Counter;

  constructor(options: FlowReceiverOptions) {
    const { metrics, log, clock, offer, streams } = options;
    this.#options = options;
    this.#limited = limitLog(log, clock);
    this.#streams = new StreamReceiver(streams, offer, options, this.#limited);
    registerSocketMetrics(metrics, () => this.#open);
    this.#socketErrors = metrics.counter("netgloss_flow_socket_errors_total", "Errors on the sockets of flow ports.");
  }

  async start(): Promise<void> {
    try {
      for (const port of this.#options.ports) await this.#listen(port);
      await this.#streams.start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    const sockets = this.#open.splice(0).map(({ socket }) => {
      const closed = once(socket, "close");
      socket.close();
      return closed;
    });
    await Promise.all([...sockets, this.#streams.stop()]);
  }

  /** The ports of UDP that are open, in the order given. */
  ports(): readonly number[] {
    return this.#open.map(({ port }) => port);
  }

  /** Returns the ports of TCP and TLS. */
  streamPorts(): readonly number[] {
    return this.#streams.ports();
  }

  /** Closes connections whose templates were lost, so that their exporters connect and send them again. */
  closeSessions(which: (address: string) => boolean): void {
    this.#streams.closeSessions(which);
  }

  /** For handshakes from now on, on all ports of TLS. */
  setCredentials(credentials: StreamCredentials): void {
    this.#streams.setCredentials(credentials);
  }

  async #listen(wanted: number): Promise<void> {
    const { ip, take, receiveBufferBytes, log } = this.#options;
    const socket = await openSocket(ip, wanted);
    const { port, address } = socket.address();
    socket.on("message", (bytes, sender) => take(bytes, sender.address, sender.port));
    socket.on("error", (error) => {
      this.#socketErrors.add();
      this.#limited.error({ port, error }, "error on the socket of a flow port");
    });
    const receiveBuffer = askReceiveBuffer(socket, receiveBufferBytes, log);
    this.#open.push({ socket, port, receiveBuffer });
    log.info({ address, port, receiveBuffer }, "receiving flows");
  }
}
