import { formatAddress, parseAddress, type Family } from "../../ip/index.ts";
import type { Log } from "../../report/index.ts";
import { DecodeError } from "./codec/decode-error.ts";
import { decodeMessage, type Message } from "./codec/message-codec.ts";
import { peerName, type Peer } from "./peer.ts";
import { createRetiredIds } from "./retired-ids.ts";
import type { IgnoreReason, SessionCounts } from "./session-metrics.ts";
import { SnmpError } from "./snmp-error.ts";
import type { OpenUdpSocket, UdpSocket } from "./udp-socket.ts";

/** One request and what counts as its answer. */
export interface Exchange<Answer extends object> {
  readonly peer: Peer;
  /** Milliseconds to wait after the first try. */
  readonly timeout: number;
  /** Tries after the first. */
  readonly retries: number;
  /** Whether each try waits twice as long as the one before. */
  readonly exponentialTimeout: boolean;
  /** The datagram of one try. Every try has an id of its own, and the answer to any of them is taken. */
  build(id: number): Uint8Array;
  /**
   * Reads a message from the peer's address and port with the id of a try. Gives the answer, or why the message is
   * none and the wait goes on; throws SnmpError or DecodeError to fail the request.
   */
  read(message: Message, datagram: Uint8Array): Answer | IgnoreReason;
}

/** Exchanges whose requests wait for their answers. */
export interface Exchanges {
  /** Rejects with nothing but SnmpError. `cancels` holds a function that ends the request for as long as it waits. */
  run<Answer extends object>(exchange: Exchange<Answer>, cancels: Set<() => void>): Promise<Answer>;
  /** Fails what waits and closes the sockets; a later request opens them again. */
  close(): void;
}

export interface ExchangesOptions {
  readonly counts: SessionCounts;
  /** Limited by the caller: strangers can make it write. */
  readonly log: Log;
  readonly nextId: () => number;
  readonly openSocket: OpenUdpSocket;
  readonly receiveBufferBytes: number;
  /** The peer of this name, if any session talks to it. */
  readonly findPeer: (name: string) => Peer | undefined;
}

interface Pending {
  readonly exchange: Exchange<object>;
  readonly ids: number[];
  /** Why the last message that might have been the answer was not. */
  lastIgnored: IgnoreReason | undefined;
  timer: NodeJS.Timeout | undefined;
  readonly settle: (outcome: object | SnmpError) => void;
}

/** A send that failed like this is like a datagram lost on the way: the next try may do better. */
const passingSendErrors = new Set(["ENOBUFS", "EAGAIN", "EWOULDBLOCK", "EINTR", "ENOMEM", "ECONNREFUSED"]);

/** Requests of any number of sessions over one socket for each address family. */
export function createExchanges(options: ExchangesOptions): Exchanges {
  const { counts, log, nextId } = options;
  const pendings = new Map<number, Pending>();
  const sockets = new Map<Family, UdpSocket>();
  const retired = createRetiredIds();

  const finish = (pending: Pending, outcome: object | SnmpError): void => {
    clearTimeout(pending.timer);
    const isFailure = outcome instanceof SnmpError;
    for (const id of pending.ids) {
      pendings.delete(id);
      retired.add(id, isFailure ? "late" : "duplicate");
    }
    if (isFailure) counts.errors.set(outcome.code, (counts.errors.get(outcome.code) ?? 0) + 1);
    pending.settle(outcome);
  };

  const ignore = (reason: IgnoreReason, address: string, port: number, detail?: string): void => {
    counts.ignored[reason]++;
    const peer = options.findPeer(peerName(address, port)) ?? options.findPeer(peerName(canonical(address), port));
    if (peer !== undefined) peer.counts.ignored++;
    const level = reason === "late" || reason === "duplicate" ? "debug" : "warn";
    log[level]({ address, port, ...(detail !== undefined && { detail }) }, `SNMP datagram ignored: ${reason}`);
  };

  const receive = (datagram: Uint8Array, address: string, port: number): void => {
    counts.receivedBytes += datagram.length;
    let message: Message;
    try {
      message = decodeMessage(datagram);
    } catch (error) {
      ignore("malformed", address, port, (error as Error).message);
      return;
    }
    const pending = pendings.get(message.id);
    if (pending === undefined) {
      ignore(retired.reasonOf(message.id) ?? "unknown_id", address, port);
      return;
    }
    const { peer } = pending.exchange;
    if (peer.port !== port || (peer.address !== address && peer.address !== canonical(address))) {
      ignore("wrong_source", address, port, `expected ${peerName(peer.address, peer.port)}`);
      return;
    }
    peer.counts.receivedBytes += datagram.length;
    const answer = readAnswer(pending.exchange, message, datagram);
    if (typeof answer === "string") {
      pending.lastIgnored = answer;
      ignore(answer, address, port);
      return;
    }
    if (!(answer instanceof SnmpError)) {
      counts.responses++;
      peer.counts.responses++;
    }
    finish(pending, answer);
  };

  const socketFor = (family: Family): UdpSocket => {
    const open = sockets.get(family);
    if (open !== undefined) return open;
    let isReady = false;
    const socket = options.openSocket(family, options.receiveBufferBytes, {
      onMessage: receive,
      onReady: (bytes) => {
        isReady = true;
        counts.receiveBufferBytes = bytes;
      },
      onError: (error) => {
        counts.socketErrors++;
        if (sockets.get(family) === socket) sockets.delete(family);
        log.warn({ family, error }, "SNMP socket closed after an error");
        // A socket that worked is opened again by the next try. One that never did will not do better then.
        if (!isReady) failFamily(family, `no IPv${family} socket: ${error.message}`);
      },
    });
    sockets.set(family, socket);
    return socket;
  };

  const failFamily = (family: Family, message: string): void => {
    for (const pending of new Set(pendings.values())) {
      if (pending.exchange.peer.family === family) finish(pending, new SnmpError("unreachable", message));
    }
  };

  const send = (pending: Pending): void => {
    const { exchange } = pending;
    const { peer } = exchange;
    let id = nextId();
    while (pendings.has(id)) id = nextId();
    const datagram = exchange.build(id);
    pendings.set(id, pending);
    pending.ids.push(id);
    const tries = pending.ids.length;
    counts.sentBytes += datagram.length;
    peer.counts.sentBytes += datagram.length;
    const factor = exchange.exponentialTimeout ? 2 ** (tries - 1) : 1;
    pending.timer = setTimeout(() => expire(pending), Math.min(exchange.timeout * factor, 0x7fffffff));
    socketFor(peer.family).send(datagram, peer.address, peer.port, (error) => {
      counts.sendErrors++;
      if (!pendings.has(id) || passingSendErrors.has(error.code ?? "")) return;
      const code = error.code === "EMSGSIZE" ? "too_big" : "unreachable";
      finish(pending, new SnmpError(code, `${peerName(peer.address, peer.port)}: ${error.message}`));
    });
  };

  const expire = (pending: Pending): void => {
    const { exchange, ids, lastIgnored } = pending;
    const { peer } = exchange;
    if (ids.length <= exchange.retries) {
      counts.retries++;
      peer.counts.retries++;
      attempt(pending);
      return;
    }
    peer.counts.timeouts++;
    const tries = ids.length === 1 ? "1 try" : `${ids.length} tries`;
    const hint = lastIgnored === undefined ? "" : ` (an answer was ignored: ${lastIgnored})`;
    finish(pending, new SnmpError("timeout", `no answer from ${peerName(peer.address, peer.port)} to ${tries}${hint}`));
  };

  /** A request that cannot be built fails like one that cannot be sent. */
  const attempt = (pending: Pending): void => {
    try {
      send(pending);
    } catch (error) {
      finish(pending, asSnmpError(error, "unsupported"));
    }
  };

  return {
    run: <Answer extends object>(exchange: Exchange<Answer>, cancels: Set<() => void>): Promise<Answer> =>
      new Promise((resolve, reject) => {
        const cancel = (): void => finish(pending, new SnmpError("closed", "the session was closed"));
        const pending: Pending = {
          exchange,
          ids: [],
          lastIgnored: undefined,
          timer: undefined,
          settle: (outcome) => {
            cancels.delete(cancel);
            if (outcome instanceof SnmpError) reject(outcome);
            else resolve(outcome as Answer);
          },
        };
        cancels.add(cancel);
        counts.requests++;
        exchange.peer.counts.requests++;
        attempt(pending);
      }),
    close() {
      for (const pending of new Set(pendings.values())) {
        finish(pending, new SnmpError("closed", "the SNMP client was closed"));
      }
      for (const socket of sockets.values()) socket.close();
      sockets.clear();
    },
  };
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
