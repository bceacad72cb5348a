import { once } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { ServerPlace, TlsMode } from "./server-address.ts";

/** What proves the server, and the collector to it: the contents of PEM files. */
export interface TlsFiles {
  /** Undefined: the authorities that Node knows. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface SocketOptions {
  readonly place: ServerPlace;
  readonly tls: TlsMode;
  readonly files: TlsFiles;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
}

/** Length 8, then the code 80877103 (PostgreSQL, Frontend/Backend Protocol, SSLRequest). */
const tlsRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const yes = 0x53;
/** A silent connection is asked for life after this time. */
const keepAliveMs = 10_000;

/** Connects, and encrypts if that is wanted. @throws Error */
export async function openSocket(options: SocketOptions): Promise<Socket> {
  const { place, tls, signal } = options;
  const isLocal = place.host.startsWith("/");
  const socket = isLocal ? connect(`${place.host}/.s.PGSQL.${place.port}`) : connect(place.port, place.host);
  // Whoever uses it learns of its end by the `close` that follows.
  socket.on("error", () => {});
  const onAbort = (): void => void socket.destroy(signal.reason as Error);
  signal.addEventListener("abort", onAbort);
  try {
    signal.throwIfAborted();
    await once(socket, "connect");
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveMs);
    if (tls === "disable" || isLocal) return socket;
    return await encrypt(socket, options);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

async function encrypt(socket: Socket, { place, tls, files, signal }: SocketOptions): Promise<TLSSocket> {
  socket.write(tlsRequest);
  const [answer] = (await Promise.race([once(socket, "data"), closed(socket)])) as [Buffer];
  if (answer[0] !== yes) throw new Error("the server offers no TLS, which sslmode demands");
  // Bytes behind the answer are not encrypted, so that anybody may have sent them.
  if (answer.length > 1) throw new Error("the server sends more than its answer before TLS begins");
  const secured = connectTls({
    socket,
    host: place.host,
    ...(isIP(place.host) === 0 && { servername: place.host }),
    ...(files.ca !== undefined && { ca: files.ca }),
    ...(files.cert !== undefined && { cert: files.cert, key: files.key }),
    rejectUnauthorized: tls !== "require",
    ...(tls === "verify-ca" && { checkServerIdentity: () => undefined }),
  });
  secured.on("error", () => {});
  const onAbort = (): void => void secured.destroy(signal.reason as Error);
  signal.addEventListener("abort", onAbort);
  try {
    await Promise.race([once(secured, "secureConnect"), closed(secured)]);
    return secured;
  } catch (error) {
    secured.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

async function closed(socket: Socket): Promise<never> {
  await once(socket, "close");
  throw new Error("the server closed the connection");
}
