import { randomBytes as systemRandomBytes } from "node:crypto";
import { connect } from "node:net";
import { type Exchange, Exchanges } from "./exchange.ts";
import { type Request, maxDatagram, requestPdu, checkRequest, checkSize, responseTo } from "./session.ts";
import type { SnmpResponse, Session } from "./session.ts";
import { type Clock, limitLog, type Log, type Metrics } from "../../base/report/index.ts";
import { copyBytes } from "./ber.ts";
import {
  decodeScopedPdu,
  encodeScopedPdu,
  encodeUsmMessage,
  type Message,
  encodeCommunityMessage,
  wireVersions,
} from "./message-codec.ts";
import { type UsmCredential, type CommunityCredential, checkCredential, type Credential } from "./security.ts";
import { type Peer, createPeer, peerName, type Transport } from "./peer.ts";
import { type IgnoreReason, registerSessionMetrics } from "./peer.ts";
import { SnmpError } from "./snmp-error.ts";
import { Engine } from "./security.ts";
import { KeyCache } from "./security.ts";
import { reportError } from "./usm-exchange.ts";
import { usmExchange, type UsmAnswer, type UsmParty } from "./usm-exchange.ts";
import { type PduType, readPduRest } from "./message-codec.ts";
import type { Oid } from "./var-bind.ts";
import { formatAddress, parseAddress, unmapAddress } from "../../base/ip/index.ts";
import type { OpenStream } from "./sockets.ts";
import { openUdpSocket, type OpenUdpSocket } from "./sockets.ts";
import { quote } from "../../base/text/index.ts";

/** The part that differs between the versions: it makes messages of a request and reads them back. */
interface Requester {
  request(request: Request): Promise<SnmpResponse>;
}

/** The context that a session gives its requester. */
interface RequesterContext {
  /** Runs an exchange with the session's agent under the session's time-outs. */
  run<Answer extends object>(exchange: Pick<Exchange<Answer>, "build" | "read">): Promise<Answer>;
}

/** Requests in a row without an answer after which the engine is asked for again: another agent may answer now, which drops what is not for it. */
const maxSilent = 2;
/** The number of times that one request may start again because the agent's engine or its time is not what we thought. */
const maxRecoveries = 2;

interface UsmContext extends RequesterContext {
  readonly peer: Peer;
  readonly clock: Clock;
  readonly keys: KeyCache;
  readonly nextSalt: () => Uint8Array;
  readonly onReport: () => void;
}

/**
 * Requests of version 3 with the user-based security model. The agent's engine is asked for before the first request;
 * a Report that the engine is another one, or that our notion of its time is wrong, corrects that and asks again.
 */
function createUsmRequester(credential: UsmCredential, context: UsmContext): Requester {
  const { peer, clock, nextSalt } = context;
  const user = Buffer.from(credential.username);
  const contextName = Buffer.from(credential.contextName ?? "");
  let discovery: Promise<Engine> | undefined;
  let party: UsmParty | undefined;

  const discover = async (): Promise<Engine> => {
    const found = await context.run<Engine>({
      build: buildProbe,
      read: (message) => readProbeAnswer(message, clock),
    });
    context.onReport();
    return found;
  };

  /** Requests that start together wait for one discovery. What another session found meanwhile is kept. */
  const discoverOnce = async (): Promise<Engine> => {
    discovery ??= discover().finally(() => {
      discovery = undefined;
    });
    const found = await discovery;
    return (peer.engine ??= found);
  };

  const exchange = async (request: Request, engine: Engine, by: UsmParty): Promise<UsmAnswer> => {
    try {
      const answer = await context.run<UsmAnswer>(usmExchange(request, by));
      peer.silent = 0;
      return answer;
    } catch (error) {
      if (error instanceof SnmpError && error.code === "timeout" && ++peer.silent >= maxSilent) forget(engine);
      throw error;
    }
  };
  const forget = (engine: Engine): void => {
    peer.silent = 0;
    if (peer.engine === engine) peer.engine = undefined;
  };

  return {
    async request(request) {
      for (let recoveries = 0; ; recoveries++) {
        const engine = peer.engine ?? (await discoverOnce());
        if (party?.engine !== engine) {
          party = { user, contextName, keys: context.keys.keysFor(credential, engine.id), engine, nextSalt };
        }
        const answer = await exchange(request, engine, party);
        if ("response" in answer) return answer.response;
        context.onReport();
        const { name } = answer.report;
        // Agents that have become another look for the user first, or at the digest, and report that.
        const isOther = name === "unknownEngineIds" || answer.report.isOfOtherEngine;
        const error = reportError(answer.report);
        // An agent may put the engine of the request into its Report: the next request finds out whose it is.
        if (isOther || error.code === "auth") forget(engine);
        if ((!isOther && name !== "notInTimeWindows") || recoveries === maxRecoveries) throw error;
      }
    },
  };
}

/** A request without user and engine, which the agent answers by naming its engine (RFC 3414 section 4). */
function buildProbe(id: number): Uint8Array {
  const none = new Uint8Array(0);
  const pdu = requestPdu({ type: "get", oids: [], nonRepeaters: 0, maxRepetitions: 0 }, id);
  return encodeUsmMessage({
    id,
    maxSize: maxDatagram,
    isAuthenticated: false,
    isPrivate: false,
    isReportable: true,
    engineId: none,
    boots: 0,
    time: 0,
    user: none,
    macLength: 0,
    privacyParameters: none,
    data: encodeScopedPdu({ contextEngineId: none, contextName: none, pdu }),
  }).bytes;
}

/** The engine of the agent, with the time that it names as a first guess: nothing here is authenticated. */
function readProbeAnswer(message: Message, clock: Clock): Engine | IgnoreReason {
  if (message.version !== 3) return "version";
  if (message.isAuthenticated || message.isPrivate) return "credential";
  if (decodeScopedPdu(message.data).pdu.type !== "report") return "pdu_type";
  const { length } = message.engineId;
  if (length < 5 || length > 32) throw new SnmpError("malformed", `an engine id of ${length} octets`);
  const engine = new Engine(copyBytes(message.engineId), message.maxSize, clock);
  engine.setTime(message.boots, message.time, false);
  return engine;
}

/** A session over a requester. `onClose` runs once and fails the requests that wait. */
function createSession(version: Session["version"], peer: Peer, requester: Requester, onClose: () => void): Session {
  let isOpen = true;

  const ask = async (request: Request): Promise<SnmpResponse> => {
    if (!isOpen) throw new SnmpError("closed", "the session was closed");
    if (request.type === "getBulk" && version === "1") {
      throw new SnmpError("unsupported", "SNMP version 1 has no GetBulk");
    }
    checkRequest(request);
    try {
      const response = await requester.request(request);
      for (const fault of response.faults ?? []) peer.valueFaults[fault]++;
      return response;
    } catch (error) {
      if (error instanceof SnmpError) throw error;
      // A cipher or hash that this host does not allow, for one.
      throw new SnmpError("unsupported", error instanceof Error ? error.message : String(error), { cause: error });
    }
  };
  const plain = (type: Exclude<Request["type"] & PduType, "getBulk">, oids: readonly Oid[]): Promise<SnmpResponse> =>
    ask({ type, oids, nonRepeaters: 0, maxRepetitions: 0 });

  return {
    version,
    counts: peer.counts,
    limits: peer.limits,
    valueFaults: peer.valueFaults,
    get: (oids) => plain("get", oids),
    getNext: (oids) => plain("getNext", oids),
    getBulk: (oids, nonRepeaters, maxRepetitions) => ask({ type: "getBulk", oids, nonRepeaters, maxRepetitions }),
    engine: () => (version === "3" ? peer.engine?.view() : undefined),
    close() {
      if (!isOpen) return;
      isOpen = false;
      onClose();
    },
  };
}

/** Unpredictable bytes, such as those of `randomBytes` of node:crypto. */
type RandomBytes = (count: number) => Uint8Array;

const idsInPool = 256;

/** Unpredictable request ids of 1 to 2^31-1. Randomness is fetched for many at a time, which is far cheaper. */
function createIdSource(randomBytes: RandomBytes): () => number {
  let pool: DataView = new DataView(new ArrayBuffer(0));
  let at = 0;
  const next = (): number => {
    if (at + 4 > pool.byteLength) {
      const bytes = randomBytes(4 * idsInPool);
      pool = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      at = 0;
    }
    const id = pool.getUint32(at) & 0x7fffffff;
    at += 4;
    return id === 0 ? next() : id;
  };
  return next;
}

/** Salts of 8 octets that do not repeat: a counter of 64 bits from a random start (RFC 3826 section 3.1.2.1). */
export function createSaltSource(randomBytes: RandomBytes): () => Uint8Array {
  const counter = Buffer.from(randomBytes(8));
  return () => {
    counter.writeBigUInt64BE(BigInt.asUintN(64, counter.readBigUInt64BE() + 1n));
    return Uint8Array.from(counter);
  };
}

/** Requests of versions 1 and 2c. */
function createCommunityRequester(credential: CommunityCredential, context: RequesterContext): Requester {
  const version = wireVersions[credential.version];
  const community = Buffer.from(credential.community);

  const read = (request: Request, message: Message): SnmpResponse | IgnoreReason => {
    if (message.version !== version) return "version";
    if (message.pdu.type !== "response") return "pdu_type";
    if (Buffer.compare(message.community, community) !== 0) return "credential";
    return responseTo(request, readPduRest(message.pdu));
  };
  return {
    request: (request) =>
      context.run({
        build: (id) => checkSize(encodeCommunityMessage(version, community, requestPdu(request, id)), maxDatagram),
        read: (message) => read(request, message),
      }),
  };
}

export interface SnmpClientOptions {
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
  /** The size of the receive buffer; a cut by `net.core.rmem_max` is seen in `netgloss_snmp_receive_buffer_bytes`. Default 8 MiB. */
  readonly receiveBufferBytes?: number;
  readonly randomBytes?: RandomBytes;
  readonly openSocket?: OpenUdpSocket;
  readonly openStream?: OpenStream;
}

/** The agent that is asked, its credential, and how long its answers are waited for. */
export interface SessionTarget {
  /** IPv4 or IPv6 address in text form; names are not looked up. */
  readonly ip: string;
  /** 1 to 65535. */
  readonly port: number;
  /** Default: UDP. */
  readonly transport?: Transport;
  readonly credential: Credential;
  /** Milliseconds to wait for an answer to each try. */
  readonly timeout: number;
  /** Tries after the first. */
  readonly retries: number;
  /** True if each try waits twice as long as the one before. */
  readonly exponentialTimeout: boolean;
  /** Awaited before each message, those that find out the engine included; retries of a message do not wait. */
  readonly turn?: () => Promise<void>;
}

/**
 * Talks SNMP to any number of agents over one UDP socket for each address family, and one connection for each agent that is asked by
 * TCP. They are opened at the first request.
 */
export interface SnmpClient {
  /**
   * Opens a session; nothing is sent. Sessions of one address, port and transport share counts and what is known of the engine.
   *
   * @throws SnmpError `invalid` when the target breaks a rule.
   */
  open(target: SessionTarget): Session;
  /** Closes sockets and connections for good. Requests that wait, and those of sessions that are still open, fail with `closed`. */
  close(): void;
}

interface SharedPeer {
  readonly peer: Peer;
  sessions: number;
}

const keyOf = (address: string, port: number, transport: Transport): string =>
  `${transport} ${peerName(address, port)}`;

export function createSnmpClient(options: SnmpClientOptions): SnmpClient {
  const { clock, randomBytes = systemRandomBytes } = options;
  const counts = registerSessionMetrics(options.metrics);
  const peers = new Map<string, SharedPeer>();
  const keys = new KeyCache();
  const nextSalt = createSaltSource(randomBytes);
  const exchanges = new Exchanges({
    counts,
    log: limitLog(options.log, clock),
    nextId: createIdSource(randomBytes),
    openSocket: options.openSocket ?? openUdpSocket,
    openStream: options.openStream ?? ((address, port) => connect(port, address)),
    receiveBufferBytes: options.receiveBufferBytes ?? 8 * 1024 * 1024,
    findPeer: (address, port) => peers.get(keyOf(address, port, "udp"))?.peer,
  });

  const sharePeer = (ip: string, port: number, transport: Transport): SharedPeer => {
    const parsed = parseAddress(ip);
    if (parsed === undefined) throw new SnmpError("invalid", `not an IP address: ${quote(ip)}`);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new SnmpError("invalid", `not a port: ${port}`);
    const address = unmapAddress(parsed);
    const text = formatAddress(address);
    const name = keyOf(text, port, transport);
    const shared = peers.get(name) ?? { peer: createPeer(address.family, text, port, transport), sessions: 0 };
    peers.set(name, shared);
    return shared;
  };

  return {
    open(target) {
      const { credential, timeout, retries, exponentialTimeout } = target;
      checkCredential(credential);
      if (!(timeout > 0 && timeout <= 0x7fffffff)) throw new SnmpError("invalid", `not a time-out: ${timeout}`);
      if (!Number.isInteger(retries) || retries < 0)
        throw new SnmpError("invalid", `not a number of tries: ${retries}`);
      const shared = sharePeer(target.ip, target.port, target.transport ?? "udp");
      const { peer } = shared;
      shared.sessions++;
      const owner = {};
      const { turn } = target;
      const context: RequesterContext = {
        run({ build, read }) {
          const exchange = { peer, timeout, retries, exponentialTimeout, build, read };
          // Without turns it is sent at once, before the session can be closed.
          return turn === undefined
            ? exchanges.run(exchange, owner)
            : turn().then(() => exchanges.run(exchange, owner));
        },
      };
      const onReport = (): void => void counts.reports++;
      const requester =
        credential.version === "3"
          ? createUsmRequester(credential, { ...context, peer, clock, keys, nextSalt, onReport })
          : createCommunityRequester(credential, context);
      return createSession(credential.version, peer, requester, () => {
        exchanges.cancel(owner);
        if (--shared.sessions > 0) return;
        peers.delete(keyOf(peer.address, peer.port, peer.transport));
        exchanges.release(peer);
      });
    },
    close: () => exchanges.close(),
  };
}
