import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Clock } from "../../base/report/index.ts";
import type { Rejection } from "./call-log.ts";

/** Failures that are free, and milliseconds after which there is one more. A user has more, whom several clients may mistype. */
const freeOfClient = 10;
const freeOfUser = 30;
const refillMs = 6_000;
/** Clients, users and pairs of them that are remembered at a time, and what is kept of a name. */
const maxRemembered = 10_000;
const maxNameLength = 64;

/**
 * Slows down who guesses passwords: from one client, and for one user from many. Where a user has signed in, what others guess does not lock
 * them out.
 */
export class FailureLimit {
  readonly #clients: Budget;
  readonly #users: Budget;
  /** Clients with the users who have signed in there. */
  readonly #known = new Set<string>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clients = new Budget(clock, freeOfClient);
    this.#users = new Budget(clock, freeOfUser);
  }

  /** Returns whether this client has failed too often. */
  isClientBlocked(peer: string | undefined): boolean {
    return this.#clients.isSpent(sourceOf(peer));
  }

  /** Returns whether there were too many failures for this user. */
  isUserBlocked(user: string): boolean {
    return this.#users.isSpent(shortened(user));
  }

  /** Returns whether this user has signed in at this client. */
  isKnown(peer: string | undefined, user: string): boolean {
    return this.#known.has(pairOf(peer, user));
  }

  /** @param user undefined where none is named. */
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

/** Failures by key, which are forgiven one by one. */
class Budget {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #free: number;
  readonly #spent = new Map<string, { readonly failures: number; readonly at: number }>();

  constructor(clock: Pick<Clock, "monotonic">, free: number) {
    this.#clock = clock;
    this.#free = free;
  }

  isSpent(key: string): boolean {
    // A part of a failure is given back at once.
    return this.#current(key) > this.#free - 1;
  }

  spend(key: string): void {
    const failures = this.#current(key) + 1;
    // The one that has failed last is at the end; the oldest goes.
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

/** Returns what counts as one client: an IPv4 address, or the /64 of an IPv6 address. */
export function sourceOf(peer = ""): string {
  const address = peer.replace(/^::ffff:(?=\d+\.)/, "");
  if (!address.includes(":")) return address;
  const [head = "", tail = ""] = address.split("%")[0]?.split("::") ?? [];
  const before = head === "" ? [] : head.split(":");
  const after = tail === "" ? [] : tail.split(":");
  const zeros = address.includes("::") ? Array.from({ length: 8 - before.length - after.length }, () => "0") : [];
  return [...before, ...zeros, ...after].slice(0, 4).join(":");
}

/** Control frames are counted over so many milliseconds. */
const floodWindow = 10_000;

interface ClientUse {
  /** Requests under way. */
  requests: number;
  windowStart: number;
  controlFrames: number;
}

/** Limits what each client takes, by all of its connections together: more connections are no way around a bound. */
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

  /** Counts a request that has come. @returns whether the client has no more of them under way than it may. */
  begin(client: string): boolean {
    return ++this.#useOf(client).requests <= this.#limits.maxClientRequests;
  }

  end(client: string): void {
    this.#useOf(client).requests--;
  }

  /** Counts a control frame, or a request that was cancelled. @returns whether the client has sent no more than it may. */
  control(client: string): boolean {
    const use = this.#useOf(client);
    const now = this.#clock.monotonic();
    if (now - use.windowStart > floodWindow) {
      use.windowStart = now;
      use.controlFrames = 0;
    }
    return ++use.controlFrames <= this.#limits.maxClientControlFrames;
  }

  /** Forgets who has nothing under way. To be called every now and then. */
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
  /** True if the client's settings have come, the first frame that it has to send. */
  hasSettings: boolean;
  /** Bytes received when the last PING was answered. */
  answeredBytes: number;
  /** When the PING was sent that has not been answered. */
  askedAt: number | undefined;
  streams: number;
  /** When the last stream ended or, once the session is closing, when that began. */
  since: number;
  closing: boolean;
  windowStart: number;
  controlFrames: number;
}

/** Node takes the code only along with an error. */
function calmDown(session: ServerHttp2Session): void {
  session.destroy(new Error("the client sends too much, or too slowly"), constants.NGHTTP2_ENHANCE_YOUR_CALM);
}

/**
 * Gives HTTP/2 connections the time-outs that Node's have not, and ends those that send control frames in floods, alone or
 * with the others of their client.
 *
 * Node reports whole frames only. A connection that has received bytes and has no stream is therefore asked by a PING whether it is
 * between two frames: the answer cannot come in the middle of a header block (RFC 9113 section 4.3), or of any other frame.
 */
export class Http2Guard {
  readonly #limits: ApiLimits;
  readonly #clients: ClientLimits;
  readonly #clock: Clock;
  readonly #reject: (reason: Rejection) => void;
  readonly #sessions = new Map<ServerHttp2Session, SessionState>();
  /**
   * The time that clients had, milliseconds. A sweep that comes late counts as one that comes in time: meanwhile nothing was read of what they may
   * have sent.
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
    // A session's failure is its client's affair; without a listener it would be the process's.
    session.on("error", () => {});
    session.on("close", () => this.#sessions.delete(session));
  }

  /** Ends what has been idle, or closing, for too long. To be called every now and then. */
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

  /** Tells whether the client has been in the middle of a frame, or has owed its settings, for too long. */
  #isDripping(session: ServerHttp2Session, state: SessionState): boolean {
    if (!state.hasSettings) return this.#time - state.opened > this.#limits.headersTimeout;
    // With a stream, an answer may be on its way that the client takes slowly, and the PING behind it.
    if (state.streams > 0) state.askedAt = undefined;
    else if (state.askedAt === undefined) this.#ask(session, state);
    else return this.#time - state.askedAt > this.#limits.headersTimeout;
    return false;
  }
}

/** Bounds on what a client may take. Times in milliseconds. */
export interface ApiLimits {
  /** From the opening of a connection, or the first byte of a further request, to the end of the header. */
  readonly headersTimeout: number;
  /** From the first byte of a request to the end of its body. */
  readonly requestTimeout: number;
  /** Milliseconds for which a connection without a request is kept. */
  readonly idleTimeout: number;
  /** Milliseconds that an answer may wait for the client to take a further byte. */
  readonly stallTimeout: number;
  /** Milliseconds that a request may take in all; the watching of health is free of it. */
  readonly lifetime: number;
  /** Milliseconds that `stop` waits for what runs before it cuts connections. */
  readonly stopTimeout: number;
  readonly maxConnections: number;
  /** Requests at a time on one HTTP/2 connection. */
  readonly maxStreams: number;
  readonly maxHeaderBytes: number;
  /** Requests at a time of one client, by all of its connections. */
  readonly maxClientRequests: number;
  /** HTTP/2 pings, settings and cancelled requests on one connection in ten seconds. */
  readonly maxControlFrames: number;
  /** The same for all connections of one client. */
  readonly maxClientControlFrames: number;
  /** Request bodies held in memory at a time, as they were sent and unpacked, all clients together; two of the longest in any case. */
  readonly maxHeldBytes: number;
  /**
   * Bytes that the lists in them may take once they are read, about: five times the longest body in any case, and room for the largest
   * batch.
   */
  readonly maxMadeBytes: number;
  /** The longest message of gRPC and gRPC-Web; more than the length in an envelope cannot say. */
  readonly maxMessageBytes: number;
  /** Milliseconds for which rendered metrics are shown: they are rendered no more often, whoever asks. */
  readonly metricsAge: number;
  /** Clients that watch health at a time. */
  readonly maxWatchers: number;
  /** Bytes of changes of the metadata that clients who follow them, and are behind, have not taken. */
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
