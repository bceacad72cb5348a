import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type Server as TlsServer } from "node:tls";
import type { Clock, Component, Log, Metrics } from "../../base/report/index.ts";
import { bindAnyFamily } from "./socket.ts";
import { createSession, type OfferMessage, type Session } from "./tcp-session.ts";
import { maxSession, sessionPort } from "./socket.ts";
import { closeReasons, createStreamCounts, registerStreamMetrics, type Transport } from "./tcp-session.ts";

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

export interface StreamReceiverOptions {
  readonly ports: readonly StreamPort[];
  readonly limits: StreamLimits;
  readonly offer: OfferMessage;
  /** Limited in rate. */
  readonly limited: Log;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** The connections by which exporters send IPFIX (RFC 7011 section 10.4). */
export interface StreamReceiver extends Component {
  /** The ports that are open, in the order given. */
  ports(): readonly number[];
  /** Closes connections whose templates were lost, so that their exporters connect and send them again. */
  closeSessions(which: (address: string) => boolean): void;
  /** For handshakes from now on, on all ports of TLS. */
  setCredentials(credentials: StreamCredentials): void;
}

/** How long a message may take from its first byte on. */
const defaultMessageMs = 60_000;
/** How often room is looked for while connections wait for it. */
const retryMs = 5;
const keepAliveMs = 60_000;
const handshakeMs = 10_000;

export function createStreamReceiver(options: StreamReceiverOptions): StreamReceiver {
  const { limits, limited, log, metrics, clock, offer } = options;
  const { maxConnections, maxPerHost, idleMs, messageMs = defaultMessageMs } = limits;
  const counts = createStreamCounts();
  /** By their numbers. */
  const sessions = new Map<number, Session>();
  const waiting = new Set<Session>();
  /** All that are open, with those whose handshake is not done. */
  const sockets = new Set<Socket>();
  const servers: Server[] = [];
  /** They listen to nothing themselves. */
  const tlsServers: TlsServer[] = [];
  // Those of a thread before this one are not known: begin anywhere.
  let number = randomInt(maxSession);
  let retry: NodeJS.Timeout | undefined;
  let sweep: NodeJS.Timeout | undefined;

  const heldBytes = (): number => {
    let bytes = 0;
    for (const session of sessions.values()) bytes += session.held;
    return bytes;
  };
  registerStreamMetrics(metrics, counts, heldBytes);

  const retryAll = (): void => {
    retry = undefined;
    const all = [...waiting];
    waiting.clear();
    for (const session of all) session.pump();
  };
  const nextNumber = (): number => {
    do number = (number % maxSession) + 1;
    while (sessions.has(number));
    return number;
  };
  const refuse = (transport: Transport, reason: "limit" | "host_limit" | "handshake", detail: object): void => {
    counts[transport].closed[reason]++;
    limited.warn({ transport, ...detail, reason: closeReasons[reason] }, "connection of an exporter refused");
  };
  const accept = (transport: Transport, socket: Socket): void => {
    const { remoteAddress: address, remotePort: port } = socket;
    if (address === undefined || port === undefined) {
      socket.destroy();
      return;
    }
    // Sessions whose socket is closed already count, too, until all they sent is handed over.
    if (sessions.size >= maxConnections) {
      refuse(transport, "limit", { exporter: address });
      socket.destroy();
      return;
    }
    if (countOf(sessions.values(), (session) => session.address === address) >= maxPerHost) {
      refuse(transport, "host_limit", { exporter: address });
      socket.destroy();
      return;
    }
    socket.setKeepAlive(true, keepAliveMs);
    const own = nextNumber();
    const session: Session = createSession({
      socket,
      address,
      port: sessionPort(port, own),
      transport,
      offer,
      wait() {
        waiting.add(session);
        retry ??= setTimeout(retryAll, retryMs);
      },
      ended: () => void sessions.delete(own),
      counts: counts[transport],
      log: limited,
      clock,
    });
    sessions.set(own, session);
    limited.info({ transport, exporter: address, port }, "an exporter has connected");
  };

  /** What is done with a connection that has been accepted. */
  const createTaker = (tls: StreamCredentials | undefined): ((socket: Socket) => void) => {
    if (tls === undefined) return (socket) => accept("tcp", socket);
    const server = createTlsServer(
      {
        ...contextOf(tls),
        requestCert: tls.ca !== undefined,
        rejectUnauthorized: tls.ca !== undefined,
        handshakeTimeout: handshakeMs,
      },
      (socket) => accept("tls", socket),
    );
    server.on("tlsClientError", (error, socket) => {
      refuse("tls", "handshake", { exporter: socket.remoteAddress, error: error.message });
      socket.destroy();
    });
    tlsServers.push(server);
    return (socket) => void server.emit("connection", socket);
  };
  const listen = async ({ ip, port: wanted, tls }: StreamPort): Promise<void> => {
    const transport = tls === undefined ? "tcp" : "tls";
    const take = createTaker(tls);
    // One host must not take all places by handshakes either, which are no sessions yet.
    const admit = (socket: Socket): void => {
      const { remoteAddress: address } = socket;
      if (countOf(sockets, (other) => other.remoteAddress === address) >= maxPerHost) {
        refuse(transport, "host_limit", { exporter: address });
        socket.destroy();
        return;
      }
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      take(socket);
    };
    const server = await bindAnyFamily(ip, wanted, "TCP", async (host, port) => {
      const made = createServer(admit);
      made.listen({ host, port, exclusive: true });
      await once(made, "listening");
      return made;
    });
    server.maxConnections = maxConnections;
    server.on("drop", (data) => refuse(transport, "limit", { exporter: data?.remoteAddress }));
    server.on("error", (error) => limited.error({ transport, error }, "error on a flow port"));
    servers.push(server);
    const { address, port } = server.address() as AddressInfo;
    log.info({ address, port, transport }, "receiving flows");
  };
  const stop = async (): Promise<void> => {
    clearInterval(sweep);
    const closed = servers.splice(0).map((server) => new Promise((done) => void server.close(done)));
    for (const session of sessions.values()) session.close("stopped");
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
    clearTimeout(retry);
    retry = undefined;
    waiting.clear();
  };

  return {
    name: "flow connections",
    async start() {
      try {
        for (const port of options.ports) await listen(port);
      } catch (error) {
        await stop();
        throw error;
      }
      if (servers.length === 0) return;
      sweep = setInterval(
        () => {
          const now = clock.monotonic();
          for (const session of sessions.values()) session.sweep(now, idleMs, messageMs);
        },
        Math.min(1000, idleMs / 2, messageMs / 2),
      );
      sweep.unref();
    },
    stop,
    ports: () => servers.map((server) => (server.address() as AddressInfo).port),
    closeSessions(which) {
      for (const session of sessions.values()) if (which(session.address)) session.close("thread_restart");
    },
    setCredentials(credentials) {
      for (const server of tlsServers) server.setSecureContext(contextOf(credentials));
    },
  };
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
