import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Clock } from "../../base/report/index.ts";
import type { Rejection } from "./call-log.ts";

/** The free failures, and the milliseconds after which one more is free. A user has more than a client, because several clients may mistype. */
const freeOfClient = 10;
const freeOfUser = 30;
const refillMs = 6_000;
/** The most clients, users and pairs of both that are remembered, and the most characters that are kept of a name. */
const maxRemembered = 10_000;
const maxNameLength = 64;

/**
 * Slows down guesses of passwords, from one client and for one user from many clients. A client at which a user has signed in is not locked out
 * by guesses of others.
 */
export class FailureLimit {
  readonly #clients: Budget;
  readonly #users: Budget;
  /** The pairs of a client and a user who has signed in there. */
  readonly #known = new Set<string>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clients = new Budget(clock, freeOfClient);
    this.#users = new Budget(clock, freeOfUser);
  }

  /** Reports whether this client has failed too often. */
  isClientBlocked(peer: string | undefined): boolean {
    return this.#clients.isSpent(sourceOf(peer));
  }

  /** Reports whether there were too many failures for this user. */
  isUserBlocked(user: string): boolean {
    return this.#users.isSpent(shortened(user));
  }

  /** Reports whether this user has signed in at this client. */
  isKnown(peer: string | undefined, user: string): boolean {
    return this.#known.has(pairOf(peer, user));
  }

  /** Records a failure. @param user undefined where none is named. */
  failed(peer: string | undefined, user?: string): void {
    this.#clients.spend(sourceOf(peer));
    if (user !== undefined) this.#users.spend(shortened(user));
  }

  succeeded(peer: string | undefined, user: string): void {
    this.#known.add(pairOf(peer, user));
    const [oldest] = this.#known;
    if (this.#known.size > maxRemembered && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** The failures by key. They expire one by one. */
class Budget {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #free: number;
  readonly #spent = new Map<string, { readonly failures: number; readonly at: number }>();

  constructor(clock: Pick<Clock, "monotonic">, free: number) {
    this.#clock = clock;
    this.#free = free;
  }

  isSpent(key: string): boolean {
    // A part of a failure expires continuously.
    return this.#current(key) > this.#free - 1;
  }

  spend(key: string): void {
    const failures = this.#current(key) + 1;
    // The key with the latest failure is at the end, and the oldest is removed.
    this.#spent.delete(key);
    this.#spent.set(key, { failures, at: this.#clock.monotonic() });
    const [oldest] = this.#spent.keys();
    if (this.#spent.size > maxRemembered && oldest !== undefined) this.#spent.delete(oldest);
  }

  #current(key: string): number {
    const known = this.#spent.get(key);
    if (known === undefined) return 0;
    return Math.max(0, known.failures - (this.#clock.monotonic() - known.at) / refillMs);
  }
}

function shortened(user: string): string {
  return user.slice(0, maxNameLength);
}

function pairOf(peer: string | undefined, user: string): string {
  return `${sourceOf(peer)} ${shortened(user)}`;
}

/** Returns the identity of a client: an IPv4 address, or the /64 of an IPv6 address. */
export function sourceOf(peer = ""): string {
  const address = peer.replace(/^::ffff:(?=\d+\.)/, "");
  if (!address.includes(":")) return address;
  const [head = "", tail = ""] = address.split("%")[0]?.split("::") ?? [];
  const before = head === "" ? [] : head.split(":");
  const after = tail === "" ? [] : tail.split(":");
  const zeros = address.includes("::") ? Array.from({ length: 8 - before.length - after.length }, () => "0") : [];
  return [...before, ...zeros, ...after].slice(0, 4).join(":");
}

/** The milliseconds over which control frames are counted. */
const floodWindow = 10_000;

interface ClientUse {
  /** The requests in progress. */
  requests: number;
  windowStart: number;
  controlFrames: number;
}

/** The limits of each client, over all of its connections together, so that more connections do not raise a limit. */
export class ClientLimits {
  readonly #limits: Pick<ApiLimits, "maxClientRequests" | "maxClientControlFrames">;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #clients = new Map<string, ClientUse>();

  constructor(
    limits: Pick<ApiLimits, "maxClientRequests" | "maxClientControlFrames">,
    clock: Pick<Clock, "monotonic">,
  ) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Counts a new request. @returns true where the client is within its limit of requests in progress. */
  begin(client: string): boolean {
    return ++this.#useOf(client).requests <= this.#limits.maxClientRequests;
  }

  end(client: string): void {
    this.#useOf(client).requests--;
  }

  /** Counts a control frame, or a cancelled request. @returns true where the client is within its limit. */
  control(client: string): boolean {
    const use = this.#useOf(client);
    const now = this.#clock.monotonic();
    if (now - use.windowStart > floodWindow) {
      use.windowStart = now;
      use.controlFrames = 0;
    }
    return ++use.controlFrames <= this.#limits.maxClientControlFrames;
  }

  /** Forgets clients without requests. It must be called from time to time. */
  sweep(): void {
    const now = this.#clock.monotonic();
    for (const [client, use] of this.#clients) {
      if (use.requests === 0 && now - use.windowStart > floodWindow) this.#clients.delete(client);
    }
  }

  #useOf(client: string): ClientUse {
    let use = this.#clients.get(client);
    if (use === undefined) {
      use = { requests: 0, windowStart: this.#clock.monotonic(), controlFrames: 0 };
      this.#clients.set(client, use);
    }
    return use;
  }
}

interface SessionState {
  readonly opened: number;
  readonly client: string;
  /** True after the client's SETTINGS arrived, the first frame that it must send. */
  hasSettings: boolean;
  /** The bytes received up to the last answered PING. */
  answeredBytes: number;
  /** The time of the unanswered PING. */
  askedAt: number | undefined;
  streams: number;
  /** The time at which the last stream ended, or at which closing the session began. */
  since: number;
  closing: boolean;
  windowStart: number;
  controlFrames: number;
}

/** Ends a session with ENHANCE_YOUR_CALM. Node accepts the code only together with an error. */
function calmDown(session: ServerHttp2Session): void {
  session.destroy(new Error("the client sends too much, or too slowly"), constants.NGHTTP2_ENHANCE_YOUR_CALM);
}

/**
 * Adds time-outs to HTTP/2 connections, which Node does not have. It also ends connections that send floods of control frames, alone or
 * together with the others of their client.
 *
 * Node reports only whole frames. So a connection that has received bytes and has no stream gets a PING, to check that it is
 * between two frames: the answer cannot arrive within a header block (RFC 9113 section 4.3), or within any other frame.
 */
export class Http2Guard {
  readonly #limits: ApiLimits;
  readonly #clients: ClientLimits;
  readonly #clock: Clock;
  readonly #reject: (reason: Rejection) => void;
  readonly #sessions = new Map<ServerHttp2Session, SessionState>();
  /**
   * The time in milliseconds that clients had. A late sweep counts as one in time, because the server read nothing from
   * clients in between.
   */
  #time = 0;
  #swept: number;
  readonly #mostOfSweep: number;

  constructor(limits: ApiLimits, clients: ClientLimits, clock: Clock, reject: (reason: Rejection) => void) {
    this.#limits = limits;
    this.#clients = clients;
    this.#clock = clock;
    this.#reject = reject;
    this.#swept = clock.monotonic();
    this.#mostOfSweep = limits.headersTimeout / 4;
  }

  watch(session: ServerHttp2Session): void {
    const now = this.#clock.monotonic();
    const state: SessionState = {
      opened: this.#time,
      client: sourceOf(session.socket.remoteAddress),
      hasSettings: false,
      answeredBytes: 0,
      askedAt: undefined,
      streams: 0,
      since: now,
      closing: false,
      windowStart: now,
      controlFrames: 0,
    };
    this.#sessions.set(session, state);
    session.on("stream", (stream: ServerHttp2Stream) => {
      state.streams++;
      stream.on("close", () => {
        state.streams--;
        if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) this.#count(session, state);
        if (state.streams === 0 && !state.closing) state.since = this.#clock.monotonic();
      });
    });
    session.on("ping", () => this.#count(session, state));
    session.on("remoteSettings", () => {
      state.hasSettings = true;
      this.#count(session, state);
    });
    // The failure of a session concerns only its client. Without a listener it would end the process.
    session.on("error", () => {});
    session.on("close", () => this.#sessions.delete(session));
  }

  /** Ends connections that have been idle or closing for too long. It must be called from time to time. */
  sweep(): void {
    const now = this.#clock.monotonic();
    this.#time += Math.min(now - this.#swept, this.#mostOfSweep);
    this.#swept = now;
    for (const [session, state] of this.#sessions) {
      if (session.destroyed) continue;
      if (this.#isDripping(session, state)) {
        this.#reject("headers");
        calmDown(session);
      } else if (state.closing) {
        if (state.streams === 0 && now - state.since > this.#limits.stallTimeout) session.destroy();
      } else if (state.streams === 0 && now - state.since > this.#limits.idleTimeout) {
        this.#close(session, state);
      }
    }
  }

  /** Sends every client a GOAWAY; open streams may finish. */
  closeAll(): void {
    for (const [session, state] of this.#sessions) if (!state.closing) this.#close(session, state);
  }

  destroyAll(): void {
    for (const session of this.#sessions.keys()) session.destroy();
  }

  get size(): number {
    return this.#sessions.size;
  }

  #close(session: ServerHttp2Session, state: SessionState): void {
    state.closing = true;
    state.since = this.#clock.monotonic();
    session.close();
  }

  #count(session: ServerHttp2Session, state: SessionState): void {
    const now = this.#clock.monotonic();
    if (now - state.windowStart > floodWindow) {
      state.windowStart = now;
      state.controlFrames = 0;
    }
    const isWithin = this.#clients.control(state.client) && ++state.controlFrames <= this.#limits.maxControlFrames;
    if (isWithin || session.destroyed) return;
    this.#reject("flood");
    calmDown(session);
  }

  #ask(session: ServerHttp2Session, state: SessionState): void {
    if (session.socket.bytesRead === state.answeredBytes) return;
    const isSent = session.ping((error) => {
      if (error !== null || session.destroyed) return;
      state.askedAt = undefined;
      state.answeredBytes = session.socket.bytesRead;
    });
    if (isSent) state.askedAt = this.#time;
  }

  /** Reports whether the client has been in the middle of a frame, or has owed its settings, for too long. */
  #isDripping(session: ServerHttp2Session, state: SessionState): boolean {
    if (!state.hasSettings) return this.#time - state.opened > this.#limits.headersTimeout;
    // With an open stream, the PING may wait behind an answer that the client reads slowly.
    if (state.streams > 0) state.askedAt = undefined;
    else if (state.askedAt === undefined) this.#ask(session, state);
    else return this.#time - state.askedAt > this.#limits.headersTimeout;
    return false;
  }
}

/** The limits of clients. Times are in milliseconds. */
export interface ApiLimits {
  /** The longest time from the opening of a connection, or the first byte of a further request, to the end of the header. */
  readonly headersTimeout: number;
  /** The longest time from the first byte of a request to the end of its body. */
  readonly requestTimeout: number;
  /** Milliseconds for which a connection without a request is kept. */
  readonly idleTimeout: number;
  /** Milliseconds that an answer may wait until the client reads a further byte. */
  readonly stallTimeout: number;
  /** Milliseconds that a request may take in total. Health/Watch has no such limit. */
  readonly lifetime: number;
  /** Milliseconds that `stop` waits for requests in progress before it cuts connections. */
  readonly stopTimeout: number;
  readonly maxConnections: number;
  /** The most requests at a time on one HTTP/2 connection. */
  readonly maxStreams: number;
  readonly maxHeaderBytes: number;
  /** The most requests at a time of one client, over all of its connections. */
  readonly maxClientRequests: number;
  /** The most HTTP/2 pings, settings and cancelled requests on one connection in ten seconds. */
  readonly maxControlFrames: number;
  /** The same limit for all connections of one client. */
  readonly maxClientControlFrames: number;
  /** The most bytes of request bodies in memory, sent and unpacked, of all clients together. At least two of the longest always fit. */
  readonly maxHeldBytes: number;
  /**
   * The approximate bytes that the lists of requests may use after parsing. It is at least five times the longest body, and enough for the largest
   * batch.
   */
  readonly maxMadeBytes: number;
  /** The most bytes of a gRPC or gRPC-Web message, bounded by the length field of an envelope. */
  readonly maxMessageBytes: number;
  /** Milliseconds for which rendered metrics are reused, so that many clients do not cause more renderings. */
  readonly metricsAge: number;
  /** The most clients that watch health at a time. */
  readonly maxWatchers: number;
  /** The most bytes of metadata changes that are kept for slow followers. */
  readonly maxWatchedBytes: number;
}

export const defaultApiLimits: ApiLimits = {
  headersTimeout: 10_000,
  requestTimeout: 120_000,
  idleTimeout: 120_000,
  stallTimeout: 30_000,
  lifetime: 900_000,
  stopTimeout: 5_000,
  maxConnections: 2_000,
  maxStreams: 100,
  maxHeaderBytes: 16_384,
  maxClientRequests: 2_000,
  maxControlFrames: 500,
  maxClientControlFrames: 1_000,
  maxHeldBytes: 134_217_728,
  maxMadeBytes: 335_544_320,
  maxMessageBytes: 0xffff_ffff,
  metricsAge: 1_000,
  maxWatchers: 1_000,
  maxWatchedBytes: 67_108_864,
};
