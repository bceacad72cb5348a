import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { DeliveryError } from "../delivery/delivery-error.ts";
import { connectionFailure } from "../delivery/failure-text.ts";
import { tlsOptions, type TlsConfig } from "../delivery/tls-options.ts";
import { hostAndPort } from "./host-and-port.ts";

/** A receiver without TLS takes the handshake for a message, and is silent. */
const handshakeMs = 10_000;

/** Connects, and ends the handshake of TLS. @throws DeliveryError; the reason of `signal` */
export async function openStream(server: string, tls: TlsConfig | undefined, signal: AbortSignal): Promise<Socket> {
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
 * Writes messages to a server that has not shown yet what it speaks, and waits for a moment: one of TLS gives up at the first bytes,
 * one of syslog is silent.
 *
 * @param silenceMs how long it may take to show that it is none of syslog: longer than the way there and back.
 * @throws DeliveryError when it answers or closes the connection.
 */
export async function writeFirst(
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

/** Writes; resolves when the system has taken everything. The connection stays. */
export function writeAll(socket: Socket, bytes: Uint8Array, server: string, signal: AbortSignal): Promise<void> {
  return settle(socket, server, signal, (done) => socket.write(bytes, () => done()));
}

/** Writes what is left and ends; resolves when the server, having read to the end, ends the connection from its side. */
export function writeAndEnd(
  socket: Socket,
  bytes: Uint8Array | undefined,
  server: string,
  signal: AbortSignal,
): Promise<void> {
  return settle(socket, server, signal, (done) => {
    // A receiver of syslog says nothing.
    socket.once("data", () => void socket.destroy(notSyslog(server)));
    // An end that comes before ours is a server that hangs up; what it has read is not known.
    socket.once("end", () => {
      if (socket.writableFinished) done();
      else socket.destroy();
    });
    if (bytes === undefined) socket.end();
    else socket.end(bytes);
  });
}

/** Waits for something of a socket. An error, the end of the socket, and an abort destroy it and are thrown. */
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
