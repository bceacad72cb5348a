import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { hostname } from "node:os";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { forEachLine, type Batch } from "../delivery/batch.ts";
import {
  connectionFailure,
  type Outcome,
  type Refusal,
  DeliveryError,
  allAccepted,
  type OutputAdapter,
} from "../delivery/output-adapter.ts";
import { recordTypeOf } from "../delivery/line-fields.ts";
import { errorCode } from "../../base/file/index.ts";
import { tlsOptions, type TlsConfig } from "../delivery/tls-options.ts";
import { endOfValue, fieldKey, findValue, BodyWriter } from "../delivery/line-fields.ts";
import type { AdapterContext } from "../output-kind.ts";
import { priorityOf, syslog, type SyslogSettings } from "./settings.ts";
import type { Clock } from "../../base/report/index.ts";
import { Endpoints } from "../delivery/backoff.ts";

/** Splits `host:port` or `[2001:db8::1]:514`. */
function hostAndPort(server: string): { readonly host: string; readonly port: number } {
  const at = server.lastIndexOf(":");
  return { host: server.slice(0, at).replace(/^\[(.*)\]$/, "$1"), port: Number(server.slice(at + 1)) };
}

/** The longest datagram over IPv4: 65535 less its headers. */
const maxBytes = 65_507;
/** The most datagrams that the system holds at a time. */
const atOnce = 64;

/** Opens a socket that sends to one server. @throws DeliveryError when its name is not known. */
async function openDatagrams(server: string): Promise<DatagramSocket> {
  const { host, port } = hostAndPort(server);
  try {
    const { address, family } = await lookup(host);
    const socket = createSocket(family === 6 ? "udp6" : "udp4");
    socket.on("error", () => {});
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.connect(port, address, () => resolve());
    });
    socket.unref();
    return socket;
  } catch (error) {
    throw connectionFailure(error, server);
  }
}

/**
 * Sends each record as a datagram. Datagrams that the system takes count as delivered.
 *
 * @param encode makes the datagram of a line.
 * @throws DeliveryError when none could be sent.
 */
async function sendDatagrams(
  socket: DatagramSocket,
  server: string,
  batch: Batch,
  encode: (lines: Buffer, from: number, to: number) => Uint8Array,
): Promise<Outcome> {
  const datagrams: Uint8Array[] = [];
  forEachLine(batch, (lines, from, to) => datagrams.push(encode(lines, from, to)));
  const refused: Refusal[] = [];
  const retry: number[] = [];
  let fault: unknown;
  const sendOne = async (datagram: Uint8Array, index: number): Promise<void> => {
    const error = datagram.length > maxBytes ? tooLong : await send(socket, datagram);
    if (error === undefined) return;
    if (errorCode(error) === "EMSGSIZE") {
      refused.push({ index, reason: "the record is longer than a datagram may be" });
      return;
    }
    retry.push(index);
    fault = error;
  };
  for (let from = 0; from < datagrams.length; from += atOnce) {
    await Promise.all(datagrams.slice(from, from + atOnce).map((datagram, i) => sendOne(datagram, from + i)));
  }
  if (fault !== undefined && retry.length === batch.count) throw connectionFailure(fault, server);
  return { refused, retry: retry.toSorted((a, b) => a - b) };
}

const tooLong = Object.assign(new Error("too long"), { code: "EMSGSIZE" });

function send(socket: DatagramSocket, datagram: Uint8Array): Promise<Error | undefined> {
  return new Promise((resolve) => socket.send(datagram, (error) => resolve(error ?? undefined)));
}

/** The time limit of a handshake: a receiver without TLS takes it for a message, and is silent. */
const handshakeMs = 10_000;

/** Connects, and completes the handshake of TLS. @throws DeliveryError; the reason of `signal` */
async function openStream(server: string, tls: TlsConfig | undefined, signal: AbortSignal): Promise<Socket> {
  const { host, port } = hostAndPort(server);
  const options = { host, port, allowHalfOpen: true };
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = tls === undefined ? connectTcp(options) : connectTls({ ...options, ...name, ...tlsOptions(tls) });
  const late = `${server} does not answer the handshake of TLS: does it speak TLS?`;
  const onLate = (): void => {
    if (tls !== undefined && !socket.connecting) socket.destroy(new DeliveryError("operator", "tls", late));
  };
  const timer = setTimeout(onLate, handshakeMs);
  try {
    await settle(socket, server, signal, (done) => socket.once(tls === undefined ? "connect" : "secureConnect", done));
  } finally {
    clearTimeout(timer);
  }
  return socket;
}

/**
 * Writes messages to a server whose protocol is unknown, and waits for a moment: a TLS server gives up at the first bytes, while a syslog
 * server is silent.
 *
 * @param silenceMs the time in which another server would react: longer than a round trip.
 * @throws DeliveryError when it answers or closes the connection.
 */
async function writeFirst(
  socket: Socket,
  bytes: Uint8Array,
  { server, silenceMs, signal }: { readonly server: string; readonly silenceMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const answered = (): void => void socket.destroy(notSyslog(server));
  socket.once("data", answered).once("end", answered);
  await settle(socket, server, signal, (done) => socket.write(bytes, () => setTimeout(done, silenceMs))).catch(
    (error: unknown) => {
      throw error instanceof DeliveryError && error.code === "connection_lost" ? notSyslog(server) : error;
    },
  );
  socket.off("data", answered).off("end", answered);
}

function notSyslog(server: string): DeliveryError {
  const text = `${server} answered or closed the connection at the first message: does it speak TLS, which is off here?`;
  return new DeliveryError("operator", "not_syslog", text);
}

/** Writes bytes; resolves when the system has taken them all. The connection stays open. */
function writeAll(socket: Socket, bytes: Uint8Array, server: string, signal: AbortSignal): Promise<void> {
  return settle(socket, server, signal, (done) => socket.write(bytes, () => done()));
}

/** Writes the rest and ends; resolves when the server has read everything and ends the connection from its side. */
function writeAndEnd(
  socket: Socket,
  bytes: Uint8Array | undefined,
  server: string,
  signal: AbortSignal,
): Promise<void> {
  return settle(socket, server, signal, (done) => {
    // A syslog receiver sends nothing.
    socket.once("data", () => void socket.destroy(notSyslog(server)));
    // If the server ends first, it has hung up; how much it has read is unknown.
    socket.once("end", () => {
      if (socket.writableFinished) done();
      else socket.destroy();
    });
    if (bytes === undefined) socket.end();
    else socket.end(bytes);
  });
}

/** Waits for an event of a socket. An error, the end of the socket, and an abort destroy it and are thrown. */
function settle(socket: Socket, server: string, signal: AbortSignal, begin: (done: () => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const settled = (): void => {
      signal.removeEventListener("abort", onAbort);
      socket.off("error", onError).off("close", onClose);
      socket.on("error", () => {});
    };
    const fail = (error: unknown): void => {
      settled();
      socket.destroy();
      reject(error);
    };
    const onAbort = (): void => fail(signal.reason);
    const onError = (error: Error): void => fail(connectionFailure(error, server));
    const onClose = (): void => fail(new DeliveryError("store", "connection_lost", `${server} closed the connection`));
    socket.once("error", onError).once("close", onClose);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) {
      onAbort();
      return;
    }
    begin(() => {
      settled();
      resolve();
    });
  });
}

const timestampKey = fieldKey("@timestamp");

type HeaderOf = (lines: Buffer, from: number, to: number) => string;

/**
 * Returns a function that makes the head of a message (RFC 5424, 6): the record's time and type, no structured data. The message is the
 * unchanged JSON object without a byte order mark, which receivers that parse JSON do not expect.
 */
export function createHeaderOf(
  settings: Pick<SyslogSettings, "FACILITY" | "SEVERITY" | "HOSTNAME" | "APP_NAME">,
): HeaderOf {
  const head = `<${priorityOf(settings)}>1 `;
  const who = ` ${settings.HOSTNAME || hostname()} ${settings.APP_NAME} - `;
  return (lines, from, to) => {
    const at = findValue(lines, from, to, timestampKey);
    const time = at < 0 ? "-" : lines.toString("latin1", at + 1, endOfValue(lines, at, to) - 1);
    return `${head}${time}${who}${recordTypeOf(lines, from, to)} - `;
  };
}

/** Returns all messages of a batch, each preceded by its length in bytes (RFC 6587, 3.4.1; RFC 5425, 4.3). */
export function frameMessages(batch: Batch, headerOf: HeaderOf): Uint8Array {
  const out = new BodyWriter(batch.byteLength + 128 * batch.count);
  forEachLine(batch, (lines, from, to) => {
    const header = headerOf(lines, from, to);
    out.text(`${Buffer.byteLength(header) + to - from} ${header}`);
    out.bytes(lines, from, to);
  });
  return out.body();
}

/** Returns one message in memory of its own: a datagram (RFC 5426, 3.1). */
function datagramOf(lines: Buffer, from: number, to: number, headerOf: HeaderOf): Uint8Array {
  const header = headerOf(lines, from, to);
  const out: BodyWriter = new BodyWriter(3 * header.length + to - from);
  out.text(header);
  out.bytes(lines, from, to);
  return out.body();
}

/** The time that a server must be silent at its first message, in addition to the round trip: longer than its threads wait. */
const leastSilenceMs = 50;

/** Creates an output that sends each record as a syslog message (RFC 5424), over TCP, TLS or UDP. */
export function createSyslogOutput(settings: SyslogSettings, { clock }: AdapterContext): OutputAdapter {
  return settings.PROTOCOL === "udp" ? new DatagramOutput(settings, clock) : new StreamOutput(settings, clock);
}

/**
 * Sends messages over streams. Syslog has no acknowledgements, so each batch has a connection of its own, which the server closes when it
 * has read it: at least once. With `CONFIRM` of `write` connections stay open, and messages that a server had not read when it went away are lost.
 */
class StreamOutput implements OutputAdapter {
  readonly #isConfirmed: boolean;
  readonly #tls: TlsConfig | undefined;
  readonly #clock: Clock;
  readonly #endpoints: Endpoints;
  readonly #headerOf: HeaderOf;
  /** Free connections that stay open, with the server of each. */
  readonly #idle = new Map<Socket, string>();
  /** Servers that took the last batch: they speak syslog, not TLS. */
  readonly #known = new Set<string>();

  constructor(settings: SyslogSettings, clock: Clock) {
    this.#isConfirmed = settings.CONFIRM === "close";
    this.#tls = syslog.tls(settings);
    this.#clock = clock;
    this.#endpoints = new Endpoints(settings.ADDRESSES, clock);
    this.#headerOf = createHeaderOf(settings);
  }

  async open(signal: AbortSignal): Promise<readonly string[]> {
    const socket = await this.#to((server) => openStream(server, this.#tls, signal), signal);
    socket.destroy();
    return [];
  }

  async send(batch: Batch, signal: AbortSignal): Promise<Outcome> {
    const messages = frameMessages(batch, this.#headerOf);
    await this.#to((server) => this.#sendTo(server, messages, signal), signal);
    return allAccepted;
  }

  async close(): Promise<void> {
    for (const socket of this.#idle.keys()) socket.destroySoon();
  }

  async #sendTo(server: string, messages: Uint8Array, signal: AbortSignal): Promise<void> {
    const begunAt = this.#clock.monotonic();
    const socket = this.#takeIdle(server) ?? (await openStream(server, this.#tls, signal));
    const silenceMs = leastSilenceMs + 2 * (this.#clock.monotonic() - begunAt);
    const isKnown = this.#tls !== undefined || this.#known.has(server);
    if (!isKnown) await writeFirst(socket, messages, { server, silenceMs, signal });
    if (this.#isConfirmed) await writeAndEnd(socket, isKnown ? messages : undefined, server, signal);
    else if (isKnown) await writeAll(socket, messages, server, signal);
    this.#known.add(server);
    if (this.#isConfirmed) return;
    // Notice a server that closes at once, not with the next batch.
    socket.resume().once("end", () => socket.destroy());
    this.#idle.set(socket, server);
  }

  async #to<T>(action: (server: string) => Promise<T>, signal: AbortSignal): Promise<T> {
    const server = this.#endpoints.next();
    try {
      const result = await action(server);
      this.#endpoints.worked(server);
      return result;
    } catch (error) {
      // Another server may listen there now.
      this.#known.delete(server);
      if (!signal.aborted) this.#endpoints.failed(server);
      throw error;
    }
  }

  #takeIdle(server: string): Socket | undefined {
    for (const [socket, of] of this.#idle) {
      if (socket.destroyed || !socket.writable) this.#idle.delete(socket);
      else if (of === server) {
        this.#idle.delete(socket);
        return socket;
      }
    }
    return undefined;
  }
}

/** Sends datagrams. Their arrival is unknown: at most once. */
class DatagramOutput implements OutputAdapter {
  readonly #servers: readonly string[];
  readonly #endpoints: Endpoints;
  readonly #headerOf: HeaderOf;
  readonly #sockets = new Map<string, DatagramSocket>();

  constructor(settings: SyslogSettings, clock: Clock) {
    this.#servers = settings.ADDRESSES;
    this.#endpoints = new Endpoints(settings.ADDRESSES, clock);
    this.#headerOf = createHeaderOf(settings);
  }

  async open(): Promise<readonly string[]> {
    for (const server of this.#servers) await this.#socketTo(server);
    return ["syslog over UDP: what is lost on the way, or refused by the receiver, is not noticed"];
  }

  async send(batch: Batch): Promise<Outcome> {
    const server = this.#endpoints.next();
    try {
      const outcome = await sendDatagrams(await this.#socketTo(server), server, batch, (lines, from, to) =>
        datagramOf(lines, from, to, this.#headerOf),
      );
      this.#endpoints.worked(server);
      return outcome;
    } catch (error) {
      this.#endpoints.failed(server);
      // The next socket looks the name up again.
      this.#sockets.get(server)?.close();
      this.#sockets.delete(server);
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.values()) socket.close();
  }

  async #socketTo(server: string): Promise<DatagramSocket> {
    const socket = this.#sockets.get(server) ?? (await openDatagrams(server));
    this.#sockets.set(server, socket);
    return socket;
  }
}
