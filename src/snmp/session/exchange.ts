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
  /** Called if the host has no socket of this family. */
  readonly onUnusable: (family: Family, error: NodeJS.ErrnoException) => void;
}

/** One socket for each address family, opened at the first send. */
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

  /** Sends a datagram and never waits. `onError` is called if the host refuses to send it. */
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
        // The next send opens a socket again if it worked before. One that never worked will not work then.
        if (!isReady) this.#options.onUnusable(family, error);
      },
    });
    this.#sockets.set(family, socket);
    return socket;
  }
}

/**
 * The ids of requests that ended, to classify messages that still carry one.
 *
 * It remembers between `generationSize` and twice as many of the last ids.
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

/** A request and the way to recognise its answer. */
export interface Exchange<Answer extends object> {
  readonly peer: Peer;
  /** The time to wait after the first try, in ms. */
  readonly timeout: number;
  /** The number of tries after the first. */
  readonly retries: number;
  /** True if each try waits twice as long as the one before. */
  readonly exponentialTimeout: boolean;
  /** Builds the datagram of one try. Every try has an id of its own, and the answer to any of them is accepted. */
  readonly build: (id: number) => Uint8Array;
  /**
   * Reads a message from the peer with the id of a try. It returns the answer, or the reason why the message is none and the wait
   * continues. It throws SnmpError or DecodeError to fail the request.
   */
  readonly read: (message: Message, datagram: Uint8Array) => Answer | IgnoreReason;
}

/** The source of a message. */
interface Origin {
  readonly address: string;
  readonly port: number;
  /** The agent of the connection by which it came; undefined for UDP. */
  readonly by: Peer | undefined;
}

export interface ExchangesOptions {
  readonly counts: SessionCounts;
  /** The log. The caller limits it, because strangers can cause messages. */
  readonly log: Log;
  readonly nextId: () => number;
  readonly openSocket: OpenUdpSocket;
  readonly receiveBufferBytes: number;
  /** Returns the peer at this address and port by UDP, if any session uses it. */
  readonly findPeer: (address: string, port: number) => Peer | undefined;
}

/** A request that waits. */
interface Call {
  readonly exchange: Exchange<object>;
  readonly owner: object;
  /** The reason why the last message that might have been the answer was not accepted. */
  lastIgnored: string | undefined;
  readonly settle: (outcome: object | SnmpError) => void;
}

interface Pending {
  /** The ids, one for each try. */
  readonly ids: number[];
  timer: NodeJS.Timeout | undefined;
  /**
   * Undefined once the request has ended. The map of pendings often outgrows its storage, and the old storage would keep whole answers
   * alive until the next full garbage collection.
   */
  call: Call | undefined;
}

const clientClosed = "the SNMP client was closed";

/** The errors of a send that are like a datagram lost on the way: the next try may succeed. */
const passingSendErrors = new Set(["ENOBUFS", "EAGAIN", "EWOULDBLOCK", "EINTR", "ENOMEM", "ECONNREFUSED"]);

/**
 * The requests that wait for their answers.
 *
 * They belong to any number of sessions, over one socket for each address family and one connection for each agent by TCP.
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

  /** Runs a request. It rejects only with SnmpError. */
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

  /** Fails the waiting requests of this owner with `closed`. */
  cancel(owner: object): void {
    this.#finishWhere((call) => call.owner === owner, "closed", "the session was closed");
  }

  /** Closes the connection of an agent that is no longer used. */
  release(peer: Peer): void {
    this.#streams.release(peer);
  }

  /** Fails all waiting and later requests, and closes the sockets. */
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

  /** Counts an ignored message. @param from the source of the message and, by TCP, the agent of the connection. */
  #ignore(reason: IgnoreReason, { address, port, by }: Origin, detail?: string): void {
    this.#counts.ignored[reason]++;
    const peer = by ?? this.#options.findPeer(address, port) ?? this.#options.findPeer(canonical(address), port);
    if (peer !== undefined) peer.counts.ignored++;
    const level = reason === "late" || reason === "duplicate" ? "debug" : "warn";
    this.#log[level]({ address, port, ...(detail !== undefined && { detail }) }, `SNMP datagram ignored: ${reason}`);
  }

  /**
   * Counts a message with our id from elsewhere: the agent's answer from another of its addresses, or a forgery. Nothing shows which.
   */
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
    // If the process was delayed, answers may have arrived that nobody has read yet, so they come first.
    const expire = (): unknown => setImmediate(() => this.#expire(pending));
    pending.timer = setTimeout(expire, Math.min(exchange.timeout * factor, 0x7fffffff));
    const way = peer.transport === "tcp" ? this.#streams : this.#sockets;
    way.send(peer, datagram, (error) => {
      if (passingSendErrors.has(error.code ?? "")) return;
      const code = error.code === "EMSGSIZE" ? "too_big" : "unreachable";
      this.#finish(pending, new SnmpError(code, `${peerName(peer.address, peer.port)}: ${error.message}`));
    });
  }

  /** Sends a try. A request that cannot be built fails like one that cannot be sent. */
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

/** Returns an SnmpError. An error of any other kind than the session's two is an internal fault, and fails one request, too. */
function asSnmpError(error: unknown, code: "malformed" | "unsupported"): SnmpError {
  if (error instanceof SnmpError) return error;
  if (error instanceof DecodeError) return new SnmpError("malformed", `malformed answer: ${error.message}`);
  return new SnmpError(code, error instanceof Error ? error.message : String(error), { cause: error });
}

/** Returns the canonical form of an address, because the system may spell IPv6 addresses in another way than RFC 5952. */
function canonical(address: string): string {
  const parsed = parseAddress(address);
  return parsed === undefined ? address : formatAddress(parsed);
}
