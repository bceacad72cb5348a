import { type Family, formatAddress, parseAddress } from "../../base/ip/index.ts";
import type { Log } from "../../base/report/index.ts";
import { type Peer, peerName } from "./peer.ts";
import type { SessionCounts, IgnoreReason } from "./peer.ts";
import type { OpenUdpSocket, UdpSocket } from "./sockets.ts";
import { DecodeError } from "./ber.ts";
import { decodeMessage, type Message } from "./message-codec.ts";
import { SnmpError, type SnmpErrorCode } from "./snmp-error.ts";
import { StreamPool } from "./sockets.ts";

interface SocketPoolOptions {
  readonly counts: SessionCounts;
  readonly log: Log;
  readonly openSocket: OpenUdpSocket;
  readonly receiveBufferBytes: number;
  readonly onMessage: (datagram: Uint8Array, address: string, port: number) => void;
  /** The host has no socket of this family. */
  readonly onUnusable: (family: Family, error: NodeJS.ErrnoException) => void;
}

/** One socket for each address family, opened when something is sent. */
class SocketPool {
  readonly #options: SocketPoolOptions;
  readonly #counts: SessionCounts;
  readonly #log: Log;
  readonly #sockets = new Map<Family, UdpSocket>();

  constructor(options: SocketPoolOptions) {
    this.#options = options;
    this.#counts = options.counts;
    this.#log = options.log;
  }

  /** Never waits. `onError` is called for a datagram that the host refuses to send. */
  send(peer: Peer, datagram: Uint8Array, onError: (error: NodeJS.ErrnoException) => void): void {
    const socket = this.#sockets.get(peer.family) ?? this.#open(peer.family);
    socket.send(datagram, peer.address, peer.port, (error) => {
      this.#counts.sendErrors++;
      onError(error);
    });
  }

  close(): void {
    for (const socket of this.#sockets.values()) socket.close();
    this.#sockets.clear();
  }

  #open(family: Family): UdpSocket {
    let isReady = false;
    const socket = this.#options.openSocket(family, this.#options.receiveBufferBytes, {
      onMessage: this.#options.onMessage,
      onReady: (bytes) => {
        isReady = true;
        this.#counts.receiveBufferBytes = bytes;
      },
      onError: (error) => {
        this.#counts.socketErrors++;
        if (this.#sockets.get(family) === socket) this.#sockets.delete(family);
        this.#log.warn({ family, error }, "SNMP socket closed after an error");
        // A socket that worked is opened again by the next send. One that never did will not do better then.
        if (!isReady) this.#options.onUnusable(family, error);
      },
    });
    this.#sockets.set(family, socket);
    return socket;
  }
}

/**
 * Ids of requests that ended, to know what a message that still bears one is.
 *
 * Remembers between `generationSize` and twice as many of the last ids.
 */
class RetiredIds {
  readonly #generationSize: number;
  #current = new Map<number, IgnoreReason>();
  #previous = new Map<number, IgnoreReason>();

  constructor(generationSize = 8192) {
    this.#generationSize = generationSize;
  }

  add(id: number, reason: IgnoreReason): void {
    if (this.#current.size >= this.#generationSize) {
      this.#previous = this.#current;
      this.#current = new Map();
    }
    this.#current.set(id, reason);
  }

  reasonOf(id: number): IgnoreReason | undefined {
    return this.#current.get(id) ?? this.#previous.get(id);
  }
}

/** One request and what counts as its answer. */
export interface Exchange<Answer extends object> {
  readonly peer: Peer;
  /** Milliseconds to wait after the first try. */
  readonly timeout: number;
  /** Tries after the first. */
  readonly retries: number;
  /** True if each try waits twice as long as the one before. */
  readonly exponentialTimeout: boolean;
  /** The datagram of one try. Every try has an id of its own, and the answer to any of them is taken. */
  readonly build: (id: number) => Uint8Array;
  /**
   * Reads a message from the peer with the id of a try. Gives the answer, or why the message is
   * none and the wait goes on; throws SnmpError or DecodeError to fail the request.
   */
  readonly read: (message: Message, datagram: Uint8Array) => Answer | IgnoreReason;
}

/** The source of a message. */
interface Origin {
  readonly address: string;
  readonly port: number;
  /** The agent whose connection it came by; undefined: by UDP. */
  readonly by: Peer | undefined;
}

export interface ExchangesOptions {
  readonly counts: SessionCounts;
  /** Limited by the caller: strangers can make it write. */
  readonly log: Log;
  readonly nextId: () => number;
  readonly openSocket: OpenUdpSocket;
  readonly receiveBufferBytes: number;
  /** The peer that is asked at this address and port by UDP, if any session talks to it. */
  readonly findPeer: (address: string, port: number) => Peer | undefined;
}

/** A request while it waits. */
interface Call {
  readonly exchange: Exchange<object>;
  readonly owner: object;
  /** Why the last message that might have been the answer was not. */
  lastIgnored: string | undefined;
  readonly settle: (outcome: object | SnmpError) => void;
}

interface Pending {
  /** One for each try. */
  readonly ids: number[];
  timer: NodeJS.Timeout | undefined;
  /**
   * Undefined once the request has ended. The map of pendings outgrows its storage again and again, and what it leaves
   * behind would keep whole answers alive until the next full garbage collection.
   */
  call: Call | undefined;
}

const clientClosed = "the SNMP client was closed";

/** A send that failed like this is like a datagram lost on the way: the next try may do better. */
const passingSendErrors = new Set(["ENOBUFS", "EAGAIN", "EWOULDBLOCK", "EINTR", "ENOMEM", "ECONNREFUSED"]);

/**
 * Requests that wait for their answers.
 *
 * Requests of any number of sessions over one socket for each address family, and one connection for each agent asked by TCP.
 */
export class Exchanges {
  readonly #options: ExchangesOptions;
  readonly #counts: SessionCounts;
  readonly #log: Log;
  readonly #nextId: () => number;
  readonly #pendings = new Map<number, Pending>();
  readonly #retired = new RetiredIds();
  #isClosed = false;
  readonly #sockets: SocketPool;
  readonly #streams: StreamPool;

  constructor(options: ExchangesOptions) {
    this.#options = options;
    this.#counts = options.counts;
    this.#log = options.log;
    this.#nextId = options.nextId;
    this.#sockets = new SocketPool({
      ...options,
      onMessage: (datagram, address, port) => this.#receive(datagram, { address, port, by: undefined }),
      onUnusable: (family, { message }) => {
        const isOfFamily = ({ exchange }: Call): boolean => exchange.peer.family === family;
        this.#finishWhere(isOfFamily, "unreachable", `no IPv${family} socket: ${message}`);
      },
    });
    this.#streams = new StreamPool({
      ...options,
      onMessage: (message, peer) => this.#receive(message, { address: peer.address, port: peer.port, by: peer }),
      onMalformed: (peer, detail) =>
        this.#ignore("malformed", { address: peer.address, port: peer.port, by: peer }, detail),
    });
  }

  /** Rejects with nothing but SnmpError. */
  run<Answer extends object>(exchange: Exchange<Answer>, owner: object): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: object | SnmpError): void => {
        if (outcome instanceof SnmpError) reject(outcome);
        else resolve(outcome as Answer);
      };
      this.#counts.requests++;
      exchange.peer.counts.requests++;
      const call: Call = { exchange, owner, lastIgnored: undefined, settle };
      if (this.#isClosed) settle(new SnmpError("closed", clientClosed));
      else this.#attempt({ ids: [], timer: undefined, call }, call);
    });
  }

  /** Fails the requests of this owner that wait, with `closed`. */
  cancel(owner: object): void {
    this.#finishWhere((call) => call.owner === owner, "closed", "the session was closed");
  }

  /** Nothing more is asked of this agent. */
  release(peer: Peer): void {
    this.#streams.release(peer);
  }

  /** Fails all that wait, and all that is asked after it, and closes the sockets. */
  close(): void {
    this.#isClosed = true;
    this.#finishWhere(() => true, "closed", clientClosed);
    this.#sockets.close();
    this.#streams.close();
  }

  #finish(pending: Pending, outcome: object | SnmpError): void {
    const { call } = pending;
    if (call === undefined) return;
    pending.call = undefined;
    clearTimeout(pending.timer);
    const isFailure = outcome instanceof SnmpError;
    for (const id of pending.ids) {
      this.#pendings.delete(id);
      this.#retired.add(id, isFailure ? "late" : "duplicate");
    }
    if (isFailure) this.#counts.errors.set(outcome.code, (this.#counts.errors.get(outcome.code) ?? 0) + 1);
    call.settle(outcome);
  }

  #finishWhere(isMeant: (call: Call) => boolean, code: SnmpErrorCode, message: string): void {
    for (const pending of new Set(this.#pendings.values())) {
      if (pending.call !== undefined && isMeant(pending.call)) this.#finish(pending, new SnmpError(code, message));
    }
  }

  /** @param from where the message came from, and by TCP the agent that was asked there. */
  #ignore(reason: IgnoreReason, { address, port, by }: Origin, detail?: string): void {
    this.#counts.ignored[reason]++;
    const peer = by ?? this.#options.findPeer(address, port) ?? this.#options.findPeer(canonical(address), port);
    if (peer !== undefined) peer.counts.ignored++;
    const level = reason === "late" || reason === "duplicate" ? "debug" : "warn";
    this.#log[level]({ address, port, ...(detail !== undefined && { detail }) }, `SNMP datagram ignored: ${reason}`);
  }

  /** It bears our id, so it is the asked agent's answer from another of its addresses, or a forgery: which, is not said. */
  #ignoreFromElsewhere(call: Call, address: string, port: number): void {
    const { peer } = call.exchange;
    const from = peerName(canonical(address), port);
    this.#counts.ignored.wrong_source++;
    peer.counts.ignored++;
    call.lastIgnored = `it came from ${from}, which was not asked`;
    const device = peerName(peer.address, peer.port);
    this.#log.warn({ device, from }, "SNMP answer ignored: it came from another address or port than was asked");
  }

  #receive(datagram: Uint8Array, from: Origin): void {
    const { address, port, by } = from;
    this.#counts.receivedBytes += datagram.length;
    let message: Message;
    try {
      message = decodeMessage(datagram);
    } catch (error) {
      this.#ignore("malformed", from, (error as Error).message);
      return;
    }
    const pending = this.#pendings.get(message.id);
    const call = pending?.call;
    if (pending === undefined || call === undefined) {
      this.#ignore(this.#retired.reasonOf(message.id) ?? "unknown_id", from);
      return;
    }
    const { peer } = call.exchange;
    const isAsked =
      by === undefined
        ? peer.transport === "udp" && peer.port === port && [address, canonical(address)].includes(peer.address)
        : by === peer;
    if (!isAsked) {
      this.#ignoreFromElsewhere(call, address, port);
      return;
    }
    peer.counts.receivedBytes += datagram.length;
    const answer = readAnswer(call.exchange, message, datagram);
    if (typeof answer === "string") {
      call.lastIgnored = answer;
      this.#ignore(answer, from);
      return;
    }
    if (!(answer instanceof SnmpError)) {
      this.#counts.responses++;
      peer.counts.responses++;
    }
    this.#finish(pending, answer);
  }

  #send(pending: Pending, { exchange }: Call): void {
    const { peer } = exchange;
    let id = this.#nextId();
    while (this.#pendings.has(id)) id = this.#nextId();
    const datagram = exchange.build(id);
    this.#pendings.set(id, pending);
    const tries = pending.ids.push(id);
    this.#counts.sentBytes += datagram.length;
    peer.counts.sentBytes += datagram.length;
    const factor = exchange.exponentialTimeout ? 2 ** (tries - 1) : 1;
    // Where the process was held up, answers may have arrived that nobody has read yet: they come first.
    const expire = (): unknown => setImmediate(() => this.#expire(pending));
    pending.timer = setTimeout(expire, Math.min(exchange.timeout * factor, 0x7fffffff));
    const way = peer.transport === "tcp" ? this.#streams : this.#sockets;
    way.send(peer, datagram, (error) => {
      if (passingSendErrors.has(error.code ?? "")) return;
      const code = error.code === "EMSGSIZE" ? "too_big" : "unreachable";
      this.#finish(pending, new SnmpError(code, `${peerName(peer.address, peer.port)}: ${error.message}`));
    });
  }

  /** A request that cannot be built fails like one that cannot be sent. */
  #attempt(pending: Pending, call: Call): void {
    try {
      this.#send(pending, call);
    } catch (error) {
      this.#finish(pending, asSnmpError(error, "unsupported"));
    }
  }

  #expire(pending: Pending): void {
    const { call, ids } = pending;
    if (call === undefined) return;
    const { peer, retries } = call.exchange;
    if (ids.length <= retries) {
      this.#counts.retries++;
      peer.counts.retries++;
      this.#attempt(pending, call);
      return;
    }
    peer.counts.timeouts++;
    const tries = ids.length === 1 ? "1 try" : `${ids.length} tries`;
    const hint = call.lastIgnored === undefined ? "" : ` (an answer was ignored: ${call.lastIgnored})`;
    this.#finish(
      pending,
      new SnmpError("timeout", `no answer from ${peerName(peer.address, peer.port)} to ${tries}${hint}`),
    );
  }
}

function readAnswer(
  exchange: Exchange<object>,
  message: Message,
  datagram: Uint8Array,
): object | SnmpError | IgnoreReason {
  try {
    return exchange.read(message, datagram);
  } catch (error) {
    return asSnmpError(error, "malformed");
  }
}

/** An error other than of the two kinds that the session throws is a fault of its own, which fails one request too. */
function asSnmpError(error: unknown, code: "malformed" | "unsupported"): SnmpError {
  if (error instanceof SnmpError) return error;
  if (error instanceof DecodeError) return new SnmpError("malformed", `malformed answer: ${error.message}`);
  return new SnmpError(code, error instanceof Error ? error.message : String(error), { cause: error });
}

/** The system may spell an IPv6 address in another way than RFC 5952. */
function canonical(address: string): string {
  const parsed = parseAddress(address);
  return parsed === undefined ? address : formatAddress(parsed);
}
