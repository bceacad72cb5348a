import { createSocket } from "node:dgram";
import { isIPv6, createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  listenFault,
  readKernelSockets,
  type Clock,
  type Component,
  type Counter,
  type Log,
  type Metrics,
} from "../../base/report/index.ts";
import { MessageReader } from "../session/sockets.ts";
import { usmCredential, type Finding, formatFinding, type Definitions } from "../definitions/definitions.ts";
import { parseDefinitionFile } from "../definitions/definition-formats.ts";
import { wholeFile } from "../definitions/settings-file.ts";
import type { UsmCredential } from "../session/security.ts";
import { formatAddress, parseAddress, unmapAddress } from "../../base/ip/index.ts";
import { LineBuffer, type Enricher, type RecordFields, type Sink } from "../../record/index.ts";
import { DecodeError, valueFaults } from "../session/ber.ts";
import { encodeCommunityMessage, type Pdu } from "../session/message-codec.ts";
import { formatOid } from "../session/ber.ts";
import {
  messageVersion,
  readCommunityNotification,
  trapOf,
  trapRefusals,
  type Trap,
  type TrapRefusal,
} from "./trap.ts";
import { SenderLimit, isNamedRefusal, SenderRefusals, type RefusedTraps } from "./sender-limit.ts";
import { AttributeIndex, putTrap } from "./trap-fields.ts";
import { applyTrapRules, readTrapRules, type CompileCondition, type TrapRule } from "./trap-rules.ts";
import { UsmReceiver } from "./usm-receiver.ts";
import type { SnmpNaming } from "../poller/record-writer.ts";

/** A bound socket for notifications. */
interface TrapSocket {
  readonly port: number;
  send(datagram: Uint8Array, address: string, port: number): void;
  close(): Promise<void>;
}

type OnDatagram = (datagram: Uint8Array, address: string, port: number) => void;

/** The bytes of the receive buffer. Storms come at once, and the kernel keeps the datagrams that the program has not read yet. */
const receiveBuffer = 4 * 1024 * 1024;

/** Opens a UDP socket. @throws Error with address, port and reason if the port is in use or needs privileges. */
function openTrapSocket(address: string, port: number, onDatagram: OnDatagram): Promise<TrapSocket> {
  const socket = createSocket(isIPv6(address) ? "udp6" : "udp4");
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void => reject(trapListenError("UDP", address, port, cause));
    socket.once("error", fail);
    socket.bind(port, address, () => {
      socket.off("error", fail);
      // A sender repeats its inform if the answer cannot be sent.
      socket.on("error", () => {});
      try {
        socket.setRecvBufferSize(receiveBuffer);
      } catch {
        // A host that refuses the size keeps its default.
      }
      socket.on("message", (datagram, peer) => onDatagram(datagram, peer.address, peer.port));
      resolve({
        port: socket.address().port,
        send: (datagram, to, toPort) => socket.send(datagram, toPort, to, () => {}),
        close: () => new Promise((done) => socket.close(() => done())),
      });
    });
  });
}

/** Returns the error for a port for notifications that cannot be opened. */
function trapListenError(transport: "UDP" | "TCP", address: string, port: number, cause: Error): Error {
  return new Error(`cannot receive traps on ${transport} port ${port} of ${address}: ${listenFault(cause)}`, { cause });
}

/** A port for notifications by TCP (RFC 3430). */
interface TrapStream {
  readonly port: number;
  /** The number of open connections. */
  readonly connections: number;
  close(): Promise<void>;
}

interface TrapStreamHandlers {
  onMessage(message: Uint8Array, address: string, reply: (answer: Uint8Array) => void): void;
  /** Called for a connection that is refused, or closed because its data is no message. */
  onRefused(reason: "connections" | "malformed"): void;
}

/** The most connections of all senders. */
const maxConnections = 1000;
const maxConnectionsOfHost = 20;
/** The time after which a silent connection is closed; its sender connects again when it needs to. */
const maxIdleMs = 600_000;

/** Opens a TCP port. @throws Error with address, port and reason if the port is in use or needs privileges. */
async function openTrapStream(address: string, port: number, handlers: TrapStreamHandlers): Promise<TrapStream> {
  const sockets = new Set<Socket>();
  const byHost = new Map<string, number>();

  const count = (host: string, change: number): void => {
    const left = (byHost.get(host) ?? 0) + change;
    if (left === 0) byHost.delete(host);
    else byHost.set(host, left);
  };

  const server = createServer((socket) => {
    const host = socket.remoteAddress ?? "";
    socket.on("error", () => {});
    if (sockets.size >= maxConnections || (byHost.get(host) ?? 0) >= maxConnectionsOfHost) {
      handlers.onRefused("connections");
      socket.destroy();
      return;
    }
    sockets.add(socket);
    count(host, 1);
    socket.on("close", () => {
      sockets.delete(socket);
      count(host, -1);
    });
    socket.setTimeout(maxIdleMs, () => socket.destroy());
    const reader = new MessageReader();
    socket.on("data", (chunk) => {
      try {
        for (const message of reader.read(chunk))
          handlers.onMessage(message, host, (answer) => void socket.write(answer));
      } catch {
        handlers.onRefused("malformed");
        socket.destroy();
      }
    });
  });
  server.listen(port, address);
  try {
    await once(server, "listening");
  } catch (error) {
    throw trapListenError("TCP", address, port, error as Error);
  }
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return sockets.size;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** The credentials of which notifications are accepted. */
interface TrapCredentials {
  /** The accepted communities; undefined for all. */
  readonly communities: ReadonlySet<string> | undefined;
  readonly users: readonly UsmCredential[];
  readonly findings: readonly Finding[];
}

/**
 * Reads a directory of files with `communities` and `v3_credentials`, in the format for devices. Without a directory every community is
 * accepted. Files with faults are left out; `findings` has the faults.
 */
async function readTrapCredentials(directory: string): Promise<TrapCredentials> {
  if (directory === "") return { communities: undefined, users: [], findings: [] };
  const communities = new Set<string>();
  const users: UsmCredential[] = [];
  const findings: Finding[] = [];
  let names: string[];
  try {
    names = (await readdir(directory)).sort();
  } catch (error) {
    const message = `the directory cannot be read (${(error as NodeJS.ErrnoException).code}): no community counts`;
    return { communities, users, findings: [wholeFile(directory, message)] };
  }
  for (const name of names) {
    if (!/\.ya?ml$/.test(name) || name.startsWith(".")) continue;
    const path = join(directory, name);
    const parsed = parseDefinitionFile("device_default", path, await readFile(path));
    findings.push(...parsed.findings);
    for (const { draft } of parsed.entries) {
      for (const community of draft?.communities ?? []) communities.add(community.reveal());
      for (const credential of draft?.v3Credentials ?? []) users.push(usmCredential(credential));
    }
  }
  return { communities, users, findings };
}

/** The facts about the device to which an address belongs. */
interface TrapSender {
  readonly name: string;
  readonly interfaceName: (index: number) => string | undefined;
  /** Polls its interfaces at once, because they have changed. */
  readonly pollInterfaces: () => void;
}

export interface TrapSettings {
  readonly address: string;
  /** The port; 0 lets the system choose. */
  readonly port: number;
  /** True if notifications are received by TCP on the same port, too. */
  readonly tcp: boolean;
  /** The directory of credentials; if empty, every community is accepted. */
  readonly credentialsDirectory: string;
  /** The engine id in hexadecimal or as a text; if empty, one is made from the host's name. */
  readonly engineId: string;
  /** Reports whether the address belongs to an accepted sender. */
  readonly isAllowed: (address: string) => boolean;
  /** Reports whether version 3 traps of the address are accepted although their engine boots do not grow. */
  readonly acceptsUntimely: (address: string) => boolean;
  /** The path of the file of rules; empty for none. */
  readonly rulesPath: string;
  /** The naming of severities. The default is that of the rules. */
  readonly naming?: SnmpNaming;
  /** Reads the filter of a rule. @throws an Error that says what is wrong with it. */
  readonly compileCondition: CompileCondition;
  /** The most notifications of one sender per second; 0 means no limit. */
  readonly maxRate: number;
}

interface TrapListenerParts {
  readonly settings: TrapSettings;
  readonly definitions: () => Definitions | undefined;
  /** Returns the users of polled devices, which are accepted, too. */
  readonly deviceUsers: () => readonly UsmCredential[];
  readonly senderOf: (address: string) => TrapSender | undefined;
  readonly hostName: string;
  readonly enricher: Enricher;
  readonly sink: Sink;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly randomBytes: (length: number) => Uint8Array;
}

/** linkDown and linkUp of IF-MIB (RFC 2863). */
const linkTraps = new Set([".1.3.6.1.6.3.1.1.5.3", ".1.3.6.1.6.3.1.1.5.4"]);

const untimelyHint =
  "it looks like one of before the sender's last start; a sender whose engine boots do not grow belongs into SVC_INPUT_TRAP_LISTENER_UNTIMELY_SOURCES";

/** The approximate size of a chunk of lines. A smaller chunk leaves if there is nothing more to read. */
const flushBytes = 64 * 1024;

/** Receives traps and informs of versions 1, 2c and 3 by UDP and TCP, answers informs, and makes one record of each. */
export class TrapListener implements Component {
  readonly name = "SNMP traps";
  readonly #parts: TrapListenerParts;
  readonly #settings: TrapSettings;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #received: Counter;
  readonly #refused: Counter;
  readonly #malformedValues: Counter;
  readonly #refusals: SenderRefusals;
  readonly #limit: SenderLimit;
  #credentials: TrapCredentials = { communities: undefined, users: [], findings: [] };
  #rules: readonly TrapRule[] = [];
  #usm: UsmReceiver | undefined;
  #socket: TrapSocket | undefined;
  #stream: TrapStream | undefined;
  readonly #lines = new LineBuffer();
  #attributes: { readonly of: Definitions; readonly index: AttributeIndex } | undefined;

  constructor(parts: TrapListenerParts) {
    const { settings, clock, log, metrics } = parts;
    this.#parts = parts;
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
    this.#received = metrics.counter("netgloss_snmp_traps_total", "Notifications that became records.", {
      version: ["1", "2c", "3"],
      kind: ["trap", "inform"],
    });
    this.#refused = metrics.counter(
      "netgloss_snmp_traps_refused_total",
      "Datagrams to the port for notifications that became no record, by reason.",
      { reason: trapRefusals },
    );
    this.#malformedValues = metrics.counter(
      "netgloss_snmp_traps_values_malformed_total",
      "Values of notifications that were not as SNMP has them: cut is a counter of which the low 32 bits are used, the others are left out.",
      { fault: valueFaults },
    );
    this.#refusals = new SenderRefusals(metrics);
    this.#limit = new SenderLimit(settings.maxRate, clock);
    metrics.counterFrom(
      "netgloss_snmp_traps_kernel_drops_total",
      "Datagrams to the port for notifications that the kernel dropped because the receive buffer was full.",
      [],
      () => (this.#socket === undefined ? 0 : (readKernelSockets()?.get(this.#socket.port)?.drops ?? 0)),
    );
    metrics.gaugeFrom(
      "netgloss_snmp_traps_connections",
      "Open connections of senders of notifications by TCP",
      [],
      () => this.#stream?.connections ?? 0,
    );
  }

  async start(): Promise<void> {
    const { address, port, tcp, credentialsDirectory, rulesPath, engineId } = this.#settings;
    const { hostName, deviceUsers, randomBytes } = this.#parts;
    this.#credentials = await readTrapCredentials(credentialsDirectory);
    const { communities, users, findings } = this.#credentials;
    for (const finding of findings)
      this.#log.error({ finding: formatFinding(finding) }, "a credential for traps cannot be used");
    if (rulesPath !== "") this.#rules = await loadRules(this.#settings, this.#log);
    this.#usm = new UsmReceiver(
      engineIdOf(engineId, hostName),
      // Seconds since the epoch grow with every start, so no counter must be stored.
      Math.floor(this.#clock.now() / 1000),
      () => [...users, ...deviceUsers()],
      this.#clock,
      randomBytes,
    );
    this.#socket = await openTrapSocket(address, port, (datagram, peer, peerPort) =>
      this.#receive(datagram, peer, (reply) => this.#socket?.send(reply, peer, peerPort)),
    );
    if (tcp) {
      this.#stream = await openTrapStream(address, this.#socket.port, {
        onMessage: (message, peer, reply) => this.#receive(message, peer, reply),
        onRefused: (reason) => this.#refused.add(1, { reason }),
      });
    }
    this.#log.info(
      { address, port: this.#socket.port, tcp, communities: communities?.size ?? "any", users: users.length },
      "listening for SNMP traps and informs",
    );
  }

  async stop(): Promise<void> {
    await Promise.all([this.#socket?.close(), this.#stream?.close()]);
    this.#socket = undefined;
    this.#stream = undefined;
    this.#flush();
  }

  /** Returns the port it listens on; undefined before the start. */
  port(): number | undefined {
    return this.#socket?.port;
  }

  /** Returns the traps that were refused because of their credentials or their time. */
  refused(): readonly RefusedTraps[] {
    return this.#refusals.rows();
  }

  #receive(datagram: Uint8Array, peer: string, send: (reply: Uint8Array) => void): void {
    const sender = plainAddress(peer);
    const reason = this.#take(datagram, sender, send);
    if (reason === undefined) return;
    this.#refused.add(1, { reason });
    if (!isNamedRefusal(reason)) return;
    this.#refusals.add(sender, reason, this.#clock.now());
    this.#log.warn(
      { sender, reason, ...(reason === "time_window" && { hint: untimelyHint }) },
      "an SNMP trap is refused",
    );
  }

  #take(datagram: Uint8Array, sender: string, send: (reply: Uint8Array) => void): TrapRefusal | undefined {
    if (!this.#settings.isAllowed(sender)) return "source";
    if (!this.#limit.admits(sender)) return "rate";
    try {
      return messageVersion(datagram) === 3
        ? this.#takeUsm(datagram, sender, send)
        : this.#takeCommunity(datagram, sender, send);
    } catch (error) {
      if (error instanceof DecodeError) return "malformed";
      throw error;
    }
  }

  #takeCommunity(datagram: Uint8Array, sender: string, send: (reply: Uint8Array) => void): TrapRefusal | undefined {
    const read = readCommunityNotification(datagram);
    if (read === undefined) return "pdu_type";
    const community = Buffer.from(read.community).toString("utf8");
    if (this.#credentials.communities !== undefined && !this.#credentials.communities.has(community))
      return "community";
    const isWritten = this.#write(read.trap, sender);
    if (read.inform !== undefined) send(encodeCommunityMessage(1, read.community, responseTo(read.inform)));
    return isWritten ? undefined : "rule";
  }

  #takeUsm(datagram: Uint8Array, sender: string, send: (reply: Uint8Array) => void): TrapRefusal | undefined {
    const { pdu, user, refusal, reply, answer } = (this.#usm as UsmReceiver).receive(
      datagram,
      this.#settings.acceptsUntimely(sender),
    );
    if (reply !== undefined) send(reply);
    if (pdu === undefined) return refusal ?? "malformed";
    const trap = trapOf(pdu, "3", user);
    if (trap === undefined) return "pdu_type";
    const isWritten = this.#write(trap, sender);
    if (trap.kind === "inform" && answer !== undefined) send(answer(responseTo(pdu)));
    return isWritten ? undefined : "rule";
  }

  /** Writes the record of a notification. @returns false if a rule drops it. */
  #write(trap: Trap, sender: string): boolean {
    const definitions = this.#parts.definitions();
    const address = trap.agent ?? sender;
    const known = this.#parts.senderOf(address) ?? this.#parts.senderOf(sender);
    const fields: RecordFields = new Map();
    fields.set("@timestamp", new Date(this.#clock.now()).toISOString());
    fields.set("system.ip.addr", address);
    fields.set("system.host.name", known?.name ?? address);
    if (address !== sender) fields.set("snmp.trap.sender.ip.addr", sender);
    if (definitions !== undefined) {
      if (this.#attributes?.of !== definitions)
        this.#attributes = { of: definitions, index: new AttributeIndex(definitions) };
      putTrap(fields, trap, this.#attributes.index, {
        enums: definitions.enums,
        interfaceName: known?.interfaceName ?? (() => undefined),
      });
    }
    if (linkTraps.has(formatOid(trap.oid))) known?.pollInterfaces();
    if (this.#rules.length > 0 && !applyTrapRules(this.#rules, fields, this.#settings.naming)) return false;
    const leftOut = this.#limit.takeLeftOut(sender);
    if (leftOut > 0) fields.set("snmp.trap.suppressed", leftOut);
    this.#parts.enricher.enrich(fields);
    if (this.#lines.count === 0) setImmediate(() => this.#flush());
    this.#lines.append(fields);
    if (this.#lines.byteLength >= flushBytes) this.#flush();
    for (const fault of trap.faults) this.#malformedValues.add(1, { fault });
    this.#received.add(1, { version: trap.version, kind: trap.kind });
    return true;
  }

  #flush(): void {
    const { count } = this.#lines;
    if (count > 0) this.#parts.sink.write(this.#lines.take(), count);
  }
}

/** Reads the file of rules. @throws Error that names the fault in the file, because notifications that the rules drop must not pass. */
async function loadRules({ rulesPath, compileCondition }: TrapSettings, log: Log): Promise<readonly TrapRule[]> {
  const { rules, findings } = readTrapRules(rulesPath, await readFile(rulesPath), compileCondition);
  const errors = findings.filter(({ severity }) => severity === "error").map(formatFinding);
  if (errors.length > 0) throw new Error(`rules of traps: ${errors.join("; ")}`);
  for (const finding of findings) log.warn({ finding: formatFinding(finding) }, "a rule for traps has a fault");
  return rules;
}

/** Returns the response of RFC 3416 section 4.2.7: the same values, without an error. */
function responseTo({ requestId, varbinds }: Pdu): Pdu {
  return { type: "response", requestId, errorStatus: 0, errorIndex: 0, varbinds };
}

/** Returns an address without its mapping, because a socket for both families gives IPv4 senders as mapped addresses. */
function plainAddress(address: string): string {
  const parsed = parseAddress(address.replace(/%.*$/, ""));
  return parsed === undefined ? address : formatAddress(unmapAddress(parsed));
}

/** Returns an snmpEngineID by RFC 3411 section 5, of no enterprise, with the given text or the host's name in it. */
function engineIdOf(given: string, hostName: string): Uint8Array {
  const hex = given.replace(/^0x/i, "");
  if (/^(?:[\da-f]{2}){5,32}$/i.test(hex)) return Buffer.from(hex, "hex");
  const text = Buffer.from(given === "" ? hostName : given);
  return Buffer.concat([Buffer.from("8000000004", "hex"), text.subarray(0, 27)]);
}
