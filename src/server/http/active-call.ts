import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Readable } from "node:stream";
import { Code, ConnectError } from "@connectrpc/connect";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../base/report/index.ts";
import type { Principal, RouteAccess } from "../access/role.ts";
import {
  type Call,
  type ClientAddress,
  headerOf,
  type HeaderFields,
  type RequestHeaders,
  wireOf,
  type Wire,
} from "./call.ts";
import { clientGone } from "../api-error.ts";
import { quote } from "../../base/text/index.ts";

/** The known subjects by socket. A certificate does not change during its connection. */
const known = new WeakMap<Socket, readonly string[]>();

/** Returns the parts of the subject of a client's verified certificate: `CN=alice`, `O=Example`; undefined where there is none. */
function certificateSubject(socket: Socket | undefined): readonly string[] | undefined {
  if (socket === undefined || (socket as Partial<TLSSocket>).authorized !== true) return undefined;
  let parts = known.get(socket);
  if (parts === undefined) {
    // The subject is null for a resumed connection without it, unlike its type.
    const { subject } = (socket as TLSSocket).getPeerCertificate() as { subject?: Record<string, string | string[]> };
    parts = Object.entries(subject ?? {}).flatMap(([name, values]) =>
      [values].flat().map((value) => `${name}=${value}`),
    );
    known.set(socket, parts);
  }
  return parts.length === 0 ? undefined : parts;
}

/** The surroundings that an active call needs in addition to the request. */
export interface CallSurroundings {
  readonly clock: Clock;
  readonly clientAddress: ClientAddress;
  readonly turns: Turns;
  /** Milliseconds that an answer may wait until the client reads a further byte. */
  readonly stallTimeout: number;
  /** Is called when an answer has waited for longer. */
  readonly onStall: () => void;
}

/**
 * A call with the methods that only the log of calls may use. It is a class, because an object with its own accessors and methods would cost too
 * much for each request.
 */
export abstract class ActiveCall implements Call {
  readonly method: string;
  readonly headers: RequestHeaders;
  readonly path: string;
  readonly host: string | undefined;
  readonly wire: Wire;
  /** The time at which its header arrived, in milliseconds of the monotonic clock. */
  readonly since: number;
  timeout = Infinity;
  label = "other";
  code = "canceled";
  isEndless = false;
  client = "";
  heldBytes = 0;
  madeBytes = 0;
  principal: Principal | undefined = undefined;
  access: RouteAccess | undefined = undefined;
  audit: Call["audit"] = "nothing";
  failure: string | undefined = undefined;
  extraHeader: Headers | undefined = undefined;
  extraTrailer: Headers | undefined = undefined;
  protected readonly surroundings: CallSurroundings;
  /** True where the client waits for `100 Continue`. */
  protected expectsContinue: boolean;
  readonly #queryText: string;
  #peer: string | undefined;
  #controller: AbortController | undefined;
  #reason: ConnectError | undefined;

  constructor(method: string, target: string, headers: RequestHeaders, surroundings: CallSurroundings) {
    this.method = method;
    this.headers = headers;
    const { authority, path, query } = splitTarget(target);
    this.path = path;
    this.#queryText = query;
    this.host = authority ?? headerOf(headers, ":authority") ?? headerOf(headers, "host");
    this.wire = wireOf(headerOf(headers, "content-type"));
    this.surroundings = surroundings;
    this.since = surroundings.clock.monotonic();
    this.expectsContinue = false;
  }

  abstract readonly body: Readable;
  /** An object that all calls of a connection share. */
  abstract readonly shared: object;
  /** The socket of an HTTP/1 call, which no other call uses. */
  abstract readonly ownSocket: Socket | undefined;
  /** Returns the address of the other end of the connection. */
  protected abstract peerAddress(): string | undefined;
  /** Returns the connection, which other calls may share; undefined after it has ended. */
  protected abstract connection(): Socket | undefined;
  abstract hostFault(): string | undefined;
  abstract isGone(): boolean;
  abstract isBegun(): boolean;
  abstract answer(status: number, fields: HeaderFields, body: Uint8Array | string): void;
  abstract begin(status: number, fields: HeaderFields, form: { readonly hasTrailers: boolean }): void;
  abstract write(bytes: Uint8Array | string): boolean;
  abstract end(bytes?: Uint8Array, trailers?: HeaderFields): void;
  abstract drained(): Promise<void>;
  abstract breakOff(): void;
  protected abstract sendContinue(): void;
  /** Registers a listener for the end of the call. */
  abstract onClose(listener: () => void): void;
  /** Reports whether the call ended before its answer was complete. */
  abstract hasBrokenOff(): boolean;
  /** Reports whether the client is still sending the body, where Node has no time-out for that. */
  abstract isReceiving(): boolean;
  /** Ends the call at once. */
  abstract cut(): void;
  /** Ends the call because the server stops, with an answer if possible. */
  abstract endWatch(reason: ConnectError): void;
  /** Is called at every sweep of the log of calls. */
  abstract onSweep(): void;

  get peer(): string | undefined {
    // The connection may have ended before the log needs the address.
    this.#peer ??= this.surroundings.clientAddress(this.peerAddress(), headerOf(this.headers, "x-forwarded-for"));
    return this.#peer;
  }

  clientCertificate(): readonly string[] | undefined {
    return certificateSubject(this.connection());
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#queryText);
  }

  /** Returns the signal. It is created on first use, because most calls never need it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  throwIfAborted(): void {
    if (this.#reason !== undefined) throw this.#reason;
    if (this.isGone()) throw clientGone();
    if (this.timeout !== Infinity && this.remaining() === 0) throw deadlineExceeded();
  }

  remaining(): number {
    return Math.max(0, this.timeout - (this.surroundings.clock.monotonic() - this.since));
  }

  /** Aborts the signal of the call; the first reason stays. */
  abort(reason: ConnectError): void {
    this.#reason ??= reason;
    this.#controller?.abort(this.#reason);
  }

  continue(): void {
    if (!this.expectsContinue) return;
    this.expectsContinue = false;
    this.sendContinue();
  }

  turn(): Promise<void> {
    return this.surroundings.turns.next(this.client, this.shared);
  }

  isAnswered(): boolean {
    return this.isBegun() || this.isGone();
  }
}

export function deadlineExceeded(): ConnectError {
  return new ConnectError("the deadline of the request has passed", Code.DeadlineExceeded);
}

interface Target {
  /** The authority; undefined for most targets, which are only a path. */
  readonly authority: string | undefined;
  readonly path: string;
  readonly query: string;
}

/** Splits a request target, which a proxy's client may send in absolute form (RFC 9112 section 3.2.2). */
function splitTarget(target: string): Target {
  const [origin = "", authority] = target.startsWith("/") ? [] : (/^https?:\/\/([^/?]+)/i.exec(target) ?? []);
  const local = target.slice(origin.length);
  const mark = local.indexOf("?");
  const path = mark < 0 ? local : local.slice(0, mark);
  return { authority, path: path === "" ? "/" : path, query: mark < 0 ? "" : local.slice(mark + 1) };
}

/** Matches `uri-host [":" port]` of RFC 3986 section 3.2. An empty host is valid. */
const hostSyntax = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?$/;

/**
 * Returns the fault of the Host header of an HTTP/1 request (RFC 9112 section 3.2), or undefined. HTTP/1.1 needs exactly one,
 * HTTP/1.0 at most one, and it must be a host with an optional port.
 */
function hostFault({ headers, rawHeaders, httpVersionMinor }: IncomingMessage): string | undefined {
  const { host } = headers;
  if (host === undefined) return httpVersionMinor >= 1 ? "HTTP/1.1 needs a Host header" : undefined;
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === "host") count++;
  }
  if (count > 1) return `there are ${count} Host headers: send one`;
  return hostSyntax.test(host) ? undefined : `the Host header ${quote(host)} is not a host with an optional port`;
}

/** The milliseconds for which the rest of an unwanted body is read, so that its sender can read the answer. */
const lingerTime = 1_000;

/** A request of HTTP/1.0 or 1.1. */
export class Http1Call extends ActiveCall {
  readonly body: IncomingMessage;
  readonly ownSocket: Socket;
  readonly shared: Socket;
  readonly #response: ServerResponse;

  /** @param expectsContinue true where the client waits for `100 Continue` before it sends the body. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    expectsContinue: boolean,
    surroundings: CallSurroundings,
  ) {
    super(request.method ?? "", request.url ?? "", request.headers, surroundings);
    this.body = request;
    this.ownSocket = request.socket;
    this.shared = request.socket;
    this.#response = response;
    this.expectsContinue = expectsContinue;
    // Node reports a failed message as its error event, for which nobody else listens.
    request.on("error", ignore);
    response.on("error", ignore);
  }

  hostFault(): string | undefined {
    return hostFault(this.body);
  }

  protected peerAddress(): string | undefined {
    return this.ownSocket.remoteAddress;
  }

  protected connection(): Socket {
    return this.ownSocket;
  }

  isGone(): boolean {
    return this.ownSocket.destroyed || this.#response.destroyed;
  }

  isBegun(): boolean {
    return this.#response.headersSent || this.#response.writableEnded;
  }

  answer(status: number, fields: HeaderFields, body: Uint8Array | string): void {
    if (this.isAnswered()) return;
    const response = this.#response;
    const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    const isLingering = this.#hasUnreadBody();
    // A client that got no `100 Continue` may or may not send its body, so the connection cannot be used again.
    const closes = isLingering || this.expectsContinue;
    // A list of names and values is cheaper than an object.
    const header: (string | readonly string[])[] = [];
    for (const name of Object.keys(fields)) header.push(name, fields[name] as string | readonly string[]);
    if (status !== 204 && status !== 304) header.push("content-length", String(length));
    if (closes) header.push("connection", "close");
    response.writeHead(status, header as string[]);
    if (this.method === "HEAD" || status === 204) response.end();
    else if (isLingering) this.#linger(body);
    // A string is sent in one write with the header; bytes are not.
    else response.end(body);
  }

  begin(status: number, fields: HeaderFields): void {
    if (this.isAnswered()) return;
    const closes = this.expectsContinue || this.#hasUnreadBody();
    this.#response.writeHead(status, { ...fields, ...(closes && { connection: "close" }) });
  }

  write(bytes: Uint8Array | string): boolean {
    return this.isGone() || this.#response.write(bytes);
  }

  end(bytes?: Uint8Array, trailers?: HeaderFields): void {
    const response = this.#response;
    if (response.writableEnded || this.isGone()) return;
    if (trailers !== undefined) response.addTrailers(trailers as Record<string, string>);
    response.end(bytes);
  }

  drained(): Promise<void> {
    const response = this.#response;
    return new Promise((resolve) => {
      const done = (): void => {
        response.off("drain", done);
        response.off("close", done);
        resolve();
      };
      response.on("drain", done);
      response.on("close", done);
      if (this.isGone()) done();
    });
  }

  breakOff(): void {
    this.#response.destroy();
  }

  protected sendContinue(): void {
    this.#response.writeContinue();
  }

  onClose(listener: () => void): void {
    this.#response.on("close", listener);
  }

  hasBrokenOff(): boolean {
    return !this.#response.writableFinished;
  }

  /** Returns false, because Node has this time-out for HTTP/1 requests. */
  isReceiving(): boolean {
    return false;
  }

  cut(): void {
    this.ownSocket.destroy();
  }

  endWatch(reason: ConnectError): void {
    if (this.body.complete) this.abort(reason);
  }

  onSweep(): void {}

  #hasUnreadBody(): boolean {
    if (this.body.complete || this.expectsContinue) return false;
    const { "content-length": length, "transfer-encoding": coding } = this.headers;
    return coding !== undefined || (length !== undefined && length !== "0");
  }

  /** Reads incoming bytes for a while. Closing a socket with unread bytes would reset it, and the client might never see the answer. */
  #linger(body: Uint8Array | string): void {
    const response = this.#response;
    response.write(body);
    const end = (): void => {
      clearTimeout(timer);
      response.end();
    };
    const timer = setTimeout(end, lingerTime);
    this.body.once("end", end);
    this.ownSocket.once("close", () => clearTimeout(timer));
    this.body.resume();
  }
}

function ignore(): void {}

/** The milliseconds for which requests may be started before the rest of the event loop runs. */
const turnMs = 5;

type Work = () => void;

/**
 * Shares the event loop fairly among requests and other work. Work waits until everything that arrived with it was read, so that
 * immediately cancelled requests are detected. Each client gets its turn, and so does each connection of a client, whatever others
 * request.
 */
export class Turns {
  readonly #clock: Pick<Clock, "monotonic">;
  /** The work by client, then by connection. The first is next. */
  readonly #clients = new Map<string, Map<object, Work[]>>();
  #isRunning = false;
  /** True after the turn of the event loop has ended. */
  #isOver = false;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Resolves when it is the turn of this connection. No other work runs in the same turn of the event loop. */
  next(client: string, connection: object): Promise<void> {
    return new Promise((resolve) => {
      this.add(client, connection, () => {
        this.#isOver = true;
        resolve();
      });
    });
  }

  /** Adds work, which must not throw. */
  add(client: string, connection: object, work: Work): void {
    let connections = this.#clients.get(client);
    if (connections === undefined) this.#clients.set(client, (connections = new Map<object, Work[]>()));
    const waiting = connections.get(connection);
    if (waiting === undefined) connections.set(connection, [work]);
    else waiting.push(work);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    const end = this.#clock.monotonic() + turnMs;
    this.#isOver = false;
    do this.#take()();
    while (this.#clients.size > 0 && !this.#isOver && this.#clock.monotonic() < end);
    if (this.#clients.size > 0) setImmediate(() => this.#run());
    else this.#isRunning = false;
  }

  #take(): Work {
    const [client, connections] = firstOf(this.#clients);
    const [connection, waiting] = firstOf(connections);
    const work = waiting.shift() as Work;
    connections.delete(connection);
    if (waiting.length > 0) connections.set(connection, waiting);
    this.#clients.delete(client);
    if (connections.size > 0) this.#clients.set(client, connections);
    return work;
  }
}

function firstOf<K, V>(map: ReadonlyMap<K, V>): readonly [K, V] {
  return map.entries().next().value as [K, V];
}
