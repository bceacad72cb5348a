import { randomBytes as systemRandomBytes } from "node:crypto";
import { type Exchange, Exchanges } from "./exchange.ts";
import { type Request, maxDatagram, requestPdu, checkRequest, checkSize, responseTo } from "./session.ts";
import type { SnmpResponse, Session } from "./session.ts";
import { type Clock, limitLog, type Reporting } from "../../base/report/index.ts";
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
import { Peer, peerName, registerSessionMetrics } from "./peer.ts";
import type { IgnoreReason, SessionCounts, Transport } from "./peer.ts";
import { SnmpError } from "./snmp-error.ts";
import { Engine, type EngineView, KeyCache } from "./security.ts";
import { reportError } from "./usm-exchange.ts";
import { usmExchange, type UsmAnswer, type UsmParty } from "./usm-exchange.ts";
import { readPduRest } from "./message-codec.ts";
import type { Oid } from "./ber.ts";
import { formatAddress, parseAddress, unmapAddress } from "../../base/ip/index.ts";
import { openUdpSocket, type OpenUdpSocket } from "./sockets.ts";
import { quote } from "../../base/text/index.ts";

/** Sends one message with the session's time-outs and waits for its answer. */
type Run = <Answer extends object>(message: Pick<Exchange<Answer>, "build" | "read">) => Promise<Answer>;

/** The part that differs between the versions: it makes messages from a request and reads their answers. */
interface Requester {
  request(request: Request): Promise<SnmpResponse>;
}

/**
 * The requests in a row without an answer after which the engine is discovered again: another agent may be there now, and it drops
 * messages for other engines.
 */
const maxSilent = 2;
/** The most restarts of one request because the agent's engine or its time is not the expected one. */
const maxRecoveries = 2;

/** The state that the version 3 sessions of one client share. */
interface UsmShared {
  readonly clock: Clock;
  readonly counts: SessionCounts;
  readonly keys: KeyCache;
  readonly salts: SaltSource;
}

/**
 * Makes version 3 requests with the user-based security model. The agent's engine is discovered before the first request. If a Report
 * says that the engine or our view of its time is wrong, the request is corrected and sent again.
 */
class UsmRequester implements Requester {
  readonly #credential: UsmCredential;
  readonly #peer: Peer;
  readonly #shared: UsmShared;
  readonly #run: Run;
  #discovery: Promise<Engine> | undefined;
  #party: UsmParty | undefined;

  constructor(credential: UsmCredential, peer: Peer, shared: UsmShared, run: Run) {
    this.#credential = credential;
    this.#peer = peer;
    this.#shared = shared;
    this.#run = run;
  }

  async request(request: Request): Promise<SnmpResponse> {
    for (let recoveries = 0; ; recoveries++) {
      const engine = this.#peer.engine ?? (await this.#discoverOnce());
      const answer = await this.#ask(request, this.#partyAt(engine));
      if ("response" in answer) return answer.response;
      this.#shared.counts.reports++;
      const { name } = answer.report;
      // Agents that have changed check the user or the digest first, and report that.
      const isOther = name === "unknownEngineIds" || answer.report.isOfOtherEngine;
      const error = reportError(answer.report);
      // An agent may put the engine of the request into its Report, so the next request finds out which engine it is.
      if (isOther || error.code === "auth") this.#forget(engine);
      if ((!isOther && name !== "notInTimeWindows") || recoveries === maxRecoveries) throw error;
    }
  }

  #partyAt(engine: Engine): UsmParty {
    if (this.#party?.engine !== engine) {
      const { username, contextName } = this.#credential;
      this.#party = {
        user: Buffer.from(username),
        contextName: Buffer.from(contextName ?? ""),
        keys: this.#shared.keys.keysFor(this.#credential, engine.id),
        engine,
        salts: this.#shared.salts,
      };
    }
    return this.#party;
  }

  /** Discovers the engine. Requests that start together wait for one discovery. The result of another session is kept. */
  async #discoverOnce(): Promise<Engine> {
    this.#discovery ??= this.#discover().finally(() => {
      this.#discovery = undefined;
    });
    const found = await this.#discovery;
    return (this.#peer.engine ??= found);
  }

  async #discover(): Promise<Engine> {
    const found = await this.#run<Engine>({
      build: buildProbe,
      read: (message) => readProbeAnswer(message, this.#shared.clock),
    });
    this.#shared.counts.reports++;
    return found;
  }

  async #ask(request: Request, by: UsmParty): Promise<UsmAnswer> {
    try {
      const answer = await this.#run<UsmAnswer>(usmExchange(request, by));
      this.#peer.silent = 0;
      return answer;
    } catch (error) {
      if (error instanceof SnmpError && error.code === "timeout" && ++this.#peer.silent >= maxSilent)
        this.#forget(by.engine);
      throw error;
    }
  }

  #forget(engine: Engine): void {
    this.#peer.silent = 0;
    if (this.#peer.engine === engine) this.#peer.engine = undefined;
  }
}

/** Builds a request without user and engine, which the agent answers with its engine (RFC 3414 section 4). */
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

/** Returns the engine of the agent, with its time as a first guess, because nothing here is authenticated. */
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
class AgentSession implements Session {
  readonly version: Session["version"];
  readonly counts: Session["counts"];
  readonly limits: Session["limits"];
  readonly valueFaults: Session["valueFaults"];
  readonly #peer: Peer;
  readonly #requester: Requester;
  readonly #onClose: () => void;
  #isOpen = true;

  constructor(version: Session["version"], peer: Peer, requester: Requester, onClose: () => void) {
    this.version = version;
    this.counts = peer.counts;
    this.limits = peer.limits;
    this.valueFaults = peer.valueFaults;
    this.#peer = peer;
    this.#requester = requester;
    this.#onClose = onClose;
  }

  get(oids: readonly Oid[]): Promise<SnmpResponse> {
    return this.#ask({ type: "get", oids, nonRepeaters: 0, maxRepetitions: 0 });
  }

  getNext(oids: readonly Oid[]): Promise<SnmpResponse> {
    return this.#ask({ type: "getNext", oids, nonRepeaters: 0, maxRepetitions: 0 });
  }

  getBulk(oids: readonly Oid[], nonRepeaters: number, maxRepetitions: number): Promise<SnmpResponse> {
    return this.#ask({ type: "getBulk", oids, nonRepeaters, maxRepetitions });
  }

  engine(): EngineView | undefined {
    return this.version === "3" ? this.#peer.engine?.view() : undefined;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#onClose();
  }

  async #ask(request: Request): Promise<SnmpResponse> {
    if (!this.#isOpen) throw new SnmpError("closed", "the session was closed");
    if (request.type === "getBulk" && this.version === "1") {
      throw new SnmpError("unsupported", "SNMP version 1 has no GetBulk");
    }
    checkRequest(request);
    try {
      const response = await this.#requester.request(request);
      for (const fault of response.faults ?? []) this.#peer.valueFaults[fault]++;
      return response;
    } catch (error) {
      if (error instanceof SnmpError) throw error;
      // For example, this host does not allow a cipher or hash.
      throw new SnmpError("unsupported", error instanceof Error ? error.message : String(error), { cause: error });
    }
  }
}

/** Returns unpredictable bytes, such as those of `randomBytes` of node:crypto. */
type RandomBytes = (count: number) => Uint8Array;

const idsInPool = 256;

/** Returns unpredictable request ids of 1 to 2^31-1. It gets random bytes for many ids at a time, which is far cheaper. */
class IdSource {
  readonly #randomBytes: RandomBytes;
  #pool = new DataView(new ArrayBuffer(0));
  #at = 0;

  constructor(randomBytes: RandomBytes) {
    this.#randomBytes = randomBytes;
  }

  next(): number {
    for (;;) {
      if (this.#at + 4 > this.#pool.byteLength) {
        const bytes = this.#randomBytes(4 * idsInPool);
        this.#pool = new DataView(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
        this.#at = 0;
      }
      const id = this.#pool.getUint32(this.#at) & 0x7fffffff;
      this.#at += 4;
      if (id !== 0) return id;
    }
  }
}

/** Returns salts of 8 octets that do not repeat: a 64-bit counter from a random start (RFC 3826 section 3.1.2.1). */
export class SaltSource {
  readonly #counter: Buffer;

  constructor(randomBytes: RandomBytes) {
    this.#counter = Buffer.from(randomBytes(8));
  }

  next(): Uint8Array {
    this.#counter.writeBigUInt64BE(BigInt.asUintN(64, this.#counter.readBigUInt64BE() + 1n));
    return Uint8Array.from(this.#counter);
  }
}

/** Makes requests of versions 1 and 2c. */
class CommunityRequester implements Requester {
  readonly #version: 0 | 1;
  readonly #community: Uint8Array;
  readonly #run: Run;

  constructor({ version, community }: CommunityCredential, run: Run) {
    this.#version = wireVersions[version];
    this.#community = Buffer.from(community);
    this.#run = run;
  }

  request(request: Request): Promise<SnmpResponse> {
    return this.#run({
      build: (id) =>
        checkSize(encodeCommunityMessage(this.#version, this.#community, requestPdu(request, id)), maxDatagram),
      read: (message) => this.#read(request, message),
    });
  }

  #read(request: Request, message: Message): SnmpResponse | IgnoreReason {
    if (message.version !== this.#version) return "version";
    if (message.pdu.type !== "response") return "pdu_type";
    if (Buffer.compare(message.community, this.#community) !== 0) return "credential";
    return responseTo(request, readPduRest(message.pdu));
  }
}

/** The agent of a session, its credential, and its time-outs. */
export interface SessionTarget {
  /** An IPv4 or IPv6 address in text form; names are not looked up. */
  readonly ip: string;
  /** The port, 1 to 65535. */
  readonly port: number;
  /** The transport; UDP by default. */
  readonly transport?: Transport;
  readonly credential: Credential;
  /** The time to wait for an answer to each try, in ms. */
  readonly timeout: number;
  /** The number of tries after the first. */
  readonly retries: number;
  /** True if each try waits twice as long as the one before. */
  readonly exponentialTimeout: boolean;
  /** Awaited before each message, including those that discover the engine; retries of a message do not wait. */
  readonly turn?: () => Promise<void>;
}

const keyOf = (address: string, port: number, transport: Transport): string =>
  `${transport} ${peerName(address, port)}`;

/**
 * The size of the receive buffer: answers of thousands of devices may come at once. `netgloss_snmp_receive_buffer_bytes` shows whether
 * `net.core.rmem_max` cut it.
 */
const receiveBufferBytes = 8 * 1024 * 1024;

/**
 * Communicates by SNMP with any number of agents. It uses one UDP socket for each address family, and one connection for each agent by
 * TCP. They are opened at the first request.
 */
export class SnmpClient {
  readonly #peers = new Map<string, Peer>();
  readonly #exchanges: Exchanges;
  readonly #usm: UsmShared;
  #opensSessions = true;

  /** @param openSocket replaces the sockets of the system, and `randomBytes` its randomness. */
  constructor(
    { metrics, log, clock }: Pick<Reporting, "metrics" | "log" | "clock">,
    openSocket: OpenUdpSocket = openUdpSocket,
    randomBytes: RandomBytes = systemRandomBytes,
  ) {
    const counts = registerSessionMetrics(metrics);
    this.#usm = { clock, counts, keys: new KeyCache(), salts: new SaltSource(randomBytes) };
    const ids = new IdSource(randomBytes);
    this.#exchanges = new Exchanges({
      counts,
      log: limitLog(log, clock),
      nextId: () => ids.next(),
      openSocket,
      receiveBufferBytes,
      findPeer: (address, port) => this.#peers.get(keyOf(address, port, "udp")),
    });
  }

  /**
   * Opens a session; nothing is sent. Sessions of one address, port and transport share counts and facts about the engine.
   *
   * @throws SnmpError `invalid` if the target breaks a rule, `closed` after `endOpening` and `close`.
   */
  open(target: SessionTarget): Session {
    const { credential, timeout, retries, exponentialTimeout, turn } = target;
    if (!this.#opensSessions) throw new SnmpError("closed", "the collector is stopping");
    checkCredential(credential);
    if (!(timeout > 0 && timeout <= 0x7fffffff)) throw new SnmpError("invalid", `not a time-out: ${timeout}`);
    if (!Number.isInteger(retries) || retries < 0) throw new SnmpError("invalid", `not a number of tries: ${retries}`);
    const peer = this.#peerAt(target.ip, target.port, target.transport ?? "udp");
    peer.sessions++;
    const owner = {};
    const run: Run = ({ build, read }) => {
      const exchange = { peer, timeout, retries, exponentialTimeout, build, read };
      // Without turns the message is sent at once, before the session can be closed.
      return turn === undefined
        ? this.#exchanges.run(exchange, owner)
        : turn().then(() => this.#exchanges.run(exchange, owner));
    };
    const requester =
      credential.version === "3"
        ? new UsmRequester(credential, peer, this.#usm, run)
        : new CommunityRequester(credential, run);
    return new AgentSession(credential.version, peer, requester, () => {
      this.#exchanges.cancel(owner);
      if (--peer.sessions > 0) return;
      this.#peers.delete(keyOf(peer.address, peer.port, peer.transport));
      this.#exchanges.release(peer);
    });
  }

  /** Refuses new sessions from now on; open ones continue. */
  endOpening(): void {
    this.#opensSessions = false;
  }

  /** Closes sockets and connections for good. Waiting requests, and those of sessions that are still open, fail with `closed`. */
  close(): void {
    this.endOpening();
    this.#exchanges.close();
  }

  #peerAt(ip: string, port: number, transport: Transport): Peer {
    const parsed = parseAddress(ip);
    if (parsed === undefined) throw new SnmpError("invalid", `not an IP address: ${quote(ip)}`);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new SnmpError("invalid", `not a port: ${port}`);
    const address = unmapAddress(parsed);
    const text = formatAddress(address);
    const name = keyOf(text, port, transport);
    const peer = this.#peers.get(name) ?? new Peer(address.family, text, port, transport);
    this.#peers.set(name, peer);
    return peer;
  }
}
