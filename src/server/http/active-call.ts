import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Readable } from "node:stream";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../base/report/index.ts";
import type { Principal } from "../access/role.ts";
import type { Call, RouteAccess } from "./call.ts";
import type { ClientAddress } from "./client-address.ts";
import { headerOf, type HeaderFields, type RequestHeaders } from "./http-message.ts";
import type { Turns } from "./turns.ts";
import { clientGone } from "../error/api-error.ts";
import { wireOf, type Wire } from "./wire.ts";

/** A certificate does not change while its connection lives. */
const known = new WeakMap<Socket, readonly string[]>();

/** Parts of the subject of a client's certificate that was verified: `CN=alice`, `O=Example`; undefined where there is none. */
function certificateSubject(socket: Socket | undefined): readonly string[] | undefined {
  if (socket === undefined || (socket as Partial<TLSSocket>).authorized !== true) return undefined;
  let parts = known.get(socket);
  if (parts === undefined) {
    // Null for a connection that was resumed without it: typed otherwise.
    const { subject } = (socket as TLSSocket).getPeerCertificate() as { subject?: Record<string, string | string[]> };
    parts = Object.entries(subject ?? {}).flatMap(([name, values]) =>
      [values].flat().map((value) => `${name}=${value}`),
    );
    known.set(socket, parts);
  }
  return parts.length === 0 ? undefined : parts;
}

/** What an active call needs besides the request. */
export interface CallSurroundings {
  readonly clock: Clock;
  readonly clientAddress: ClientAddress;
  readonly turns: Turns;
  /** How long an answer may wait for the client to take a further byte, milliseconds. */
  readonly stallTimeout: number;
  /** Called when an answer has waited for longer. */
  readonly onStall: () => void;
}

/**
 * A call with what only the log of calls may do to it. A class, because objects with accessors and methods of their own cost too
 * much for one a request.
 */
export abstract class ActiveCall implements Call {
  readonly method: string;
  readonly headers: RequestHeaders;
  readonly path: string;
  readonly host: string | undefined;
  readonly wire: Wire;
  /** When its header came, on the monotonic clock, milliseconds. */
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
  /** Whether the client waits for `100 Continue`. */
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
  /** What it shares with the other calls of its connection. */
  abstract readonly shared: object;
  /** The connection of its own that it has by HTTP/1. */
  abstract readonly ownSocket: Socket | undefined;
  /** Address of the other end of the connection. */
  protected abstract peerAddress(): string | undefined;
  /** The connection, also where others share it; undefined when it is gone. */
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
  /** Registers what happens when the call is over. */
  abstract onClose(listener: () => void): void;
  /** Whether the call was over before its answer was. */
  abstract hasBrokenOff(): boolean;
  /** Whether the client is still sending the body, where Node has no time-out for that. */
  abstract isReceiving(): boolean;
  /** Ends it at once. */
  abstract cut(): void;
  /** Ends it because the server stops: with an answer where it can be given one. */
  abstract endWatch(reason: ConnectError): void;
  /** Called at every sweep of the log of calls. */
  abstract onSweep(): void;

  get peer(): string | undefined {
    // When the log asks, the connection may be gone.
    this.#peer ??= this.surroundings.clientAddress(this.peerAddress(), headerOf(this.headers, "x-forwarded-for"));
    return this.#peer;
  }

  clientCertificate(): readonly string[] | undefined {
    return certificateSubject(this.connection());
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.#queryText);
  }

  /** Made when it is asked for, which most calls never do. */
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
  /** Undefined for most, which are a path. */
  readonly authority: string | undefined;
  readonly path: string;
  readonly query: string;
}

/** The parts of a request target, which a proxy's client may send in absolute form (RFC 9112 section 3.2.2). */
function splitTarget(target: string): Target {
  const [origin = "", authority] = target.startsWith("/") ? [] : (/^https?:\/\/([^/?]+)/i.exec(target) ?? []);
  const local = target.slice(origin.length);
  const mark = local.indexOf("?");
  const path = mark < 0 ? local : local.slice(0, mark);
  return { authority, path: path === "" ? "/" : path, query: mark < 0 ? "" : local.slice(mark + 1) };
}
