import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Socket, AddressInfo } from "node:net";
import {
  createServer as createHttp1Server,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createHttp2Server, type Http2Server } from "node:http2";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import type { TLSSocket } from "node:tls";
import { sourceOf, Http2Guard, type ApiLimits } from "./limits.ts";
import { limitLog, listenFault, type Clock, type Log, type Reporting } from "../../base/report/index.ts";
import type { ApiMetrics, CallLog } from "./call-log.ts";

/** The paths of the certificate (chain) and its key, both PEM. */
export interface TlsFiles {
  readonly certPath: string;
  readonly keyPath: string;
  /** The path of the CA certificates for clients. If left out, the server requests no client certificates. */
  readonly clientCaPath?: string;
}

interface TlsCredentials {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly clientCa: Buffer | undefined;
  /** The end of validity of the chain's first certificate, in seconds since the Unix epoch. */
  readonly expires: number;
}

/**
 * Reads certificate and key.
 *
 * @throws Error naming the file that cannot be read or parsed, or both when they do not belong together.
 */
export function readTlsCredentials(files: TlsFiles): TlsCredentials {
  const cert = naming(files.certPath, () => readFileSync(files.certPath));
  const key = naming(files.keyPath, () => readFileSync(files.keyPath));
  const certificate = naming(files.certPath, () => new X509Certificate(cert));
  const privateKey = naming(files.keyPath, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(`TLS: the key in ${files.keyPath} does not belong to the certificate in ${files.certPath}`);
  }
  const { clientCaPath } = files;
  const clientCa = clientCaPath === undefined ? undefined : naming(clientCaPath, () => readFileSync(clientCaPath));
  if (clientCaPath !== undefined) naming(clientCaPath, () => new X509Certificate(clientCa ?? ""));
  return { cert, key, clientCa, expires: Math.floor(Date.parse(certificate.validTo) / 1000) };
}

function naming<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`TLS: cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** The bytes with which every HTTP/2 connection begins (RFC 9113 section 3.4). */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/**
 * Recognises HTTP/2 with prior knowledge. It reads until the bytes differ from the connection preface, or are the whole
 * preface, then puts them back and passes the socket on. The caller limits the time. A socket that ends before is closed.
 */
function switchProtocol(socket: Socket, handOver: (protocol: "http1" | "http2") => void): void {
  const held: Buffer[] = [];
  let length = 0;

  const decide = (protocol: "http1" | "http2"): void => {
    socket.off("readable", read);
    socket.off("end", give);
    socket.unshift(Buffer.concat(held));
    handOver(protocol);
  };
  const give = (): void => void socket.destroy();
  const read = (): void => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      const part = chunk.subarray(0, preface.length - length);
      held.push(chunk);
      if (!part.equals(preface.subarray(length, length + part.length))) return decide("http1");
      length += chunk.length;
      if (length >= preface.length) return decide("http2");
    }
  };

  socket.on("readable", read);
  socket.on("end", give);
}

/** The address, the port and the TLS files to listen with. */
export interface ListenerOptions {
  readonly ip: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly tls?: TlsFiles;
}

const smallestSweep = 20;

/**
 * One port for HTTP/1.1 and HTTP/2, in clear text (prior knowledge) or with TLS (ALPN). The HTTP/1 server owns the port,
 * because it enforces its time-outs only on its own port. HTTP/2 connections are diverted before it sees them.
 */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #limits: ApiLimits;
  readonly #calls: CallLog;
  readonly #metrics: ApiMetrics;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #onSweep: () => void;
  readonly #sockets = new Set<Socket>();
  readonly #undecided = new Map<Socket, number>();
  readonly #guard: Http2Guard;
  readonly #http2: Http2Server;
  #server: Server | HttpsServer | undefined;
  #credentials: TlsCredentials | undefined;
  #sweeper: NodeJS.Timeout | undefined;
  #stopped: Promise<void> | undefined;
  /** The last request of each connection, and the number of requests that wait for an earlier one. */
  readonly #pipelines = new WeakMap<Socket, { readonly client: string; last: ServerResponse; waiting: number }>();

  /** @param onSweep is called at most several times a second, for time-outs that are not worth a timer each. */
  constructor(
    options: ListenerOptions,
    limits: ApiLimits,
    calls: CallLog,
    metrics: ApiMetrics,
    { clock, log }: Pick<Reporting, "clock" | "log">,
    onSweep: () => void,
  ) {
    this.#options = options;
    this.#limits = limits;
    this.#calls = calls;
    this.#metrics = metrics;
    this.#clock = clock;
    this.#log = limitLog(log, clock);
    this.#onSweep = onSweep;
    this.#guard = new Http2Guard(limits, calls.clients, clock, (reason) => metrics.reject(reason));
    this.#http2 = this.#createHttp2();
  }

  /** Opens the port. @throws Error when the port cannot be bound or the certificate cannot be read. */
  async start(): Promise<void> {
    const opened = this.#open();
    this.#serveHttp1(opened);
    await new Promise<void>((resolve, reject) => {
      const fail = (cause: Error): void => {
        const where = `TCP port ${this.#options.port} of ${this.#options.ip}`;
        reject(new Error(`cannot open the API port, ${where}: ${listenFault(cause)}`, { cause }));
      };
      opened.once("error", fail);
      opened.listen({ host: this.#options.ip, port: this.#options.port, backlog: 511 }, () => {
        opened.off("error", fail);
        resolve();
      });
    });
    opened.on("error", (error) => this.#log.error({ error }, "the API port failed"));
    this.#server = opened;
    this.#sweeper = setInterval(() => this.#sweep(), this.#sweepInterval());
    this.#sweeper.unref();
  }

  /** Closes the port and waits for requests in progress. After `limits.stopTimeout` it cuts the rest. */
  stop(): Promise<void> {
    this.#stopped ??= this.#server === undefined ? undefined : this.#close(this.#server);
    return this.#stopped ?? Promise.resolve();
  }

  address(): { ip: string; port: number } {
    const address = this.#server?.address();
    if (address === undefined || address === null) throw new Error("the API port is not open");
    const { address: ip, port } = address as AddressInfo;
    return { ip, port };
  }

  /** Reads the certificate files again, for new connections. A failure is logged and changes nothing. */
  reloadCertificates(): void {
    if (this.#options.tls === undefined || this.#server === undefined) return;
    try {
      const fresh = readTlsCredentials(this.#options.tls);
      (this.#server as HttpsServer).setSecureContext({
        cert: fresh.cert,
        key: fresh.key,
        ...(fresh.clientCa !== undefined && { ca: fresh.clientCa }),
        minVersion: "TLSv1.2",
      });
      this.#credentials = fresh;
      this.#log.info({ expires: new Date(fresh.expires * 1000).toISOString() }, "TLS certificate re-read");
    } catch (error) {
      this.#metrics.certificateFailures.add();
      this.#log.error({ error }, "TLS certificate not re-read: the previous one stays in use");
    }
  }

  connections(): { http1: number; http2: number } {
    return { http1: Math.max(0, this.#sockets.size - this.#guard.size), http2: this.#guard.size };
  }

  /** Returns the end of validity of the certificate in use, in seconds since the Unix epoch; undefined without TLS. */
  certificateExpiry(): number | undefined {
    return this.#credentials?.expires;
  }

  #createHttp2(): Http2Server {
    const server2 = createHttp2Server({
      maxSessionMemory: 32,
      maxHeaderListPairs: 128,
      maxSessionInvalidFrames: 100,
      maxSessionRejectedStreams: 100,
      maxSettings: 32,
      settings: {
        maxConcurrentStreams: this.#limits.maxStreams,
        maxHeaderListSize: this.#limits.maxHeaderBytes,
        enablePush: false,
      },
    });
    server2.on("session", (session) => this.#guard.watch(session));
    server2.on("sessionError", (error: NodeJS.ErrnoException) => {
      // The HTTP/2 implementation found this error. Other errors were counted when the server caused them.
      if (error.code === "ERR_HTTP2_ERROR") this.#metrics.reject("protocol");
      this.#log.debug({ error }, "HTTP/2 connection failed");
    });
    server2.on("stream", (stream, headers) => this.#calls.beginHttp2(stream, headers));
    return server2;
  }

  /**
   * Serves a request after the earlier one on its connection is answered (RFC 9112 section 9.3.2), because it may depend on the effect of that
   * one. Waiting requests count as requests of their client. A connection that sends too many is ended, because an error answer would have to wait, too.
   */
  #serveInOrder(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    const { socket } = request;
    const serve = (): void => {
      if (!socket.destroyed) this.#calls.beginHttp1(request, response, expectsContinue);
    };
    const pipeline = this.#pipelines.get(socket);
    if (pipeline === undefined) {
      const begun = { client: sourceOf(socket.remoteAddress), last: response, waiting: 0 };
      this.#pipelines.set(socket, begun);
      // Node does not report the end of the connection to responses that still wait for an earlier one.
      socket.once("close", () => {
        for (; begun.waiting > 0; begun.waiting--) this.#calls.clients.end(begun.client);
      });
      return serve();
    }
    const before = pipeline.last;
    pipeline.last = response;
    if (before.writableEnded || before.destroyed) return serve();
    if (socket.destroyed) return;
    const leave = (): void => {
      if (pipeline.waiting === 0) return;
      pipeline.waiting--;
      this.#calls.clients.end(pipeline.client);
    };
    pipeline.waiting++;
    if (!this.#calls.clients.begin(pipeline.client)) {
      this.#metrics.reject("requests");
      socket.destroy();
    }
    before.once("close", () => {
      leave();
      serve();
    });
  }

  #serveHttp1(server1: Server | HttpsServer): void {
    server1.headersTimeout = this.#limits.headersTimeout;
    server1.requestTimeout = this.#limits.requestTimeout;
    server1.keepAliveTimeout = this.#limits.idleTimeout;
    server1.timeout = this.#limits.stallTimeout;
    server1.maxConnections = this.#limits.maxConnections;
    server1.maxHeadersCount = 128;
    server1.on("request", (request, response) => this.#serveInOrder(request, response, false));
    server1.on("checkContinue", (request, response) => this.#serveInOrder(request, response, true));
    server1.on("drop", () => this.#metrics.reject("connections"));
    server1.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      // Nobody else listens for errors of the socket below a TLS connection.
      socket.on("error", () => {});
    });
    server1.on("timeout", (socket: Socket) => {
      // A wait for a handler is not the client's fault. In all other cases the client neither sends nor reads.
      if (this.#calls.isBusy(socket) && socket.writableLength === 0) {
        socket.setTimeout(this.#limits.stallTimeout);
        return;
      }
      if (this.#calls.isBusy(socket)) this.#metrics.reject("timeout");
      socket.destroy();
    });
    server1.on("clientError", (error: NodeJS.ErrnoException, stream) => {
      // After an unreadable part, the rest cannot be read either.
      if (stream.destroyed || stream.writableEnded) return;
      const answer = clientErrors[error.code ?? ""] ?? clientErrors["default"];
      this.#metrics.reject(answer?.reason ?? "protocol");
      if (!stream.writable || error.code === "ECONNRESET") stream.destroy();
      else
        stream.end(`HTTP/1.1 ${answer?.status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () =>
          stream.destroy(),
        );
    });
    server1.on("tlsClientError", (error: Error, socket: TLSSocket) => {
      socket.destroy();
      this.#metrics.reject("tls");
      this.#log.debug({ error }, "TLS handshake failed");
    });
  }

  /** Replaces the HTTP/1 server's listener for new connections by one that chooses the protocol. */
  #interceptConnections(server1: Server | HttpsServer, event: "connection" | "secureConnection"): void {
    const [serveAsHttp1] = server1.listeners(event) as [(socket: Socket) => void];
    server1.removeListener(event, serveAsHttp1);
    server1.on(event, (socket: Socket) => {
      socket.on("error", (error) => this.#log.debug({ error }, "connection failed"));
      if (event === "secureConnection") {
        // With TLS, the handshake has chosen the protocol (RFC 9113 section 3.2).
        if ((socket as TLSSocket).alpnProtocol === "h2") this.#http2.emit("connection", socket);
        else serveAsHttp1.call(server1, socket);
        return;
      }
      this.#undecided.set(socket, this.#clock.monotonic());
      socket.on("close", () => this.#undecided.delete(socket));
      switchProtocol(socket, (protocol) => {
        this.#undecided.delete(socket);
        if (protocol === "http2") this.#http2.emit("connection", socket);
        else serveAsHttp1.call(server1, socket);
      });
    });
  }

  #open(): Server | HttpsServer {
    const http1Options: ServerOptions = {
      connectionsCheckingInterval: this.#sweepInterval(),
      maxHeaderSize: this.#limits.maxHeaderBytes,
      // Only the kernel's probes detect a health watcher that has vanished without closing.
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
      // The dispatcher checks the header and answers with a proper error. HTTP/1.0 may lack it.
      requireHostHeader: false,
    };
    if (this.#options.tls === undefined) {
      const server1 = createHttp1Server(http1Options);
      this.#interceptConnections(server1, "connection");
      return server1;
    }
    this.#credentials = readTlsCredentials(this.#options.tls);
    const server1 = createHttpsServer({
      ...http1Options,
      cert: this.#credentials.cert,
      key: this.#credentials.key,
      // An untrusted certificate proves nothing, but is no reason to refuse the connection.
      ...(this.#credentials.clientCa !== undefined && {
        ca: this.#credentials.clientCa,
        requestCert: true,
        rejectUnauthorized: false,
      }),
      minVersion: "TLSv1.2",
      handshakeTimeout: this.#limits.headersTimeout,
      ALPNProtocols: ["h2", "http/1.1", "http/1.0"],
    });
    // Node's own listener treats failed handshakes as bad requests.
    server1.removeAllListeners("tlsClientError");
    this.#interceptConnections(server1, "secureConnection");
    return server1;
  }

  #sweepInterval(): number {
    const { headersTimeout, requestTimeout, idleTimeout, lifetime } = this.#limits;
    const shortest = Math.min(headersTimeout, requestTimeout, idleTimeout, lifetime);
    return Math.max(smallestSweep, Math.min(1_000, Math.floor(shortest / 4)));
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    for (const [socket, since] of this.#undecided) {
      if (now - since <= this.#limits.headersTimeout) continue;
      this.#metrics.reject("headers");
      socket.destroy();
    }
    this.#guard.sweep();
    this.#calls.clients.sweep();
    this.#onSweep();
  }

  async #close(closing: Server | HttpsServer): Promise<void> {
    this.#server = undefined;
    const closed = new Promise<void>((resolve) => closing.close(() => resolve()));
    this.#guard.closeAll();
    for (const socket of this.#undecided.keys()) socket.destroy();
    // A connection that was busy during `close` becomes idle later.
    const closer = setInterval(() => closing.closeIdleConnections(), smallestSweep);
    const deadline = setTimeout(() => {
      this.#guard.destroyAll();
      for (const socket of this.#sockets) socket.destroy();
    }, this.#limits.stopTimeout);
    await closed;
    clearInterval(closer);
    clearTimeout(deadline);
    clearInterval(this.#sweeper);
  }
}

const clientErrors: Readonly<Record<string, { status: string; reason: "headers" | "timeout" | "protocol" }>> = {
  HPE_HEADER_OVERFLOW: { status: "431 Request Header Fields Too Large", reason: "headers" },
  ERR_HTTP_REQUEST_TIMEOUT: { status: "408 Request Timeout", reason: "timeout" },
  default: { status: "400 Bad Request", reason: "protocol" },
};
