import { isIP, connect, type Socket } from "node:net";
import { once } from "node:events";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { Sql } from "postgres";
import type postgres from "postgres";
import { quote } from "../text/index.ts";

/** The encryption of the connection, by the names of libpq's `sslmode`. `require` encrypts without verifying the server. */
type TlsMode = "disable" | "require" | "verify-ca" | "verify-full";

interface ServerPlace {
  readonly host: string;
  readonly port: number;
}

/** The address of a database and its user, from a connection URL. */
export interface ServerAddress {
  /** Servers in the order in which they are tried. A host that begins with `/` is the folder of a socket. */
  readonly places: readonly ServerPlace[];
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly tls: TlsMode;
}

const tlsModes: readonly string[] = ["disable", "require", "verify-ca", "verify-full"] satisfies TlsMode[];
const defaultPort = 5432;
const known = new Set(["host", "sslmode", "target_session_attrs"]);

/**
 * Reads `postgresql://user:password@host1:5432,host2/database?sslmode=verify-full`. Without `sslmode`, a connection to a server on this host is not
 * encrypted, and any other server is fully verified.
 *
 * @throws Error that says what is wrong, without the password.
 */
export function parseServerAddress(url: string): ServerAddress {
  const match =
    /^postgres(?:ql)?:\/\/(?:(?<user>[^:@/?#]*)(?::(?<password>[^@/?#]*))?@)?(?<hosts>[^/?#@]*)(?:\/(?<database>[^?#/]*))?(?:\?(?<query>[^#]*))?$/.exec(
      url,
    );
  if (match?.groups === undefined) {
    throw new Error(
      "is not a URL like postgresql://user:password@host:5432/database; in user and password, characters like @ : / ? # are written as %40 and so on",
    );
  }
  const { user = "", password = "", hosts = "", database = "", query = "" } = match.groups;
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (!known.has(name)) throw new Error(`has a parameter that is not known: ${quote(name)}`);
  }
  const target = parameters.get("target_session_attrs") ?? "read-write";
  if (target !== "read-write" && target !== "primary") {
    throw new Error(`target_session_attrs must be read-write, not ${quote(target)}: the database is written`);
  }
  if (user === "") throw new Error("names no user");
  const decoded = { user: decode(user, "user"), password: decode(password, "password") };
  const places = placesOf(parameters.get("host") ?? hosts);
  return {
    places,
    ...decoded,
    database: database === "" ? decoded.user : decode(database, "database"),
    tls: tlsOf(parameters.get("sslmode"), places),
  };
}

function placesOf(hosts: string): readonly ServerPlace[] {
  return hosts.split(",").map((text) => {
    const decoded = decode(text, "host");
    if (decoded.startsWith("/")) return { host: decoded, port: defaultPort };
    const match = /^(?:\[(?<six>[0-9a-fA-F:.]+)\]|(?<name>[^:[\]]+))(?::(?<port>[0-9]{1,5}))?$/.exec(decoded);
    const host = match?.groups?.["six"] ?? match?.groups?.["name"];
    const port = Number(match?.groups?.["port"] ?? defaultPort);
    if (host === undefined || port < 1 || port > 65_535) throw new Error(`has a host that is none: ${quote(decoded)}`);
    return { host, port };
  });
}

function tlsOf(mode: string | null, places: readonly ServerPlace[]): TlsMode {
  if (mode === null) return places.every(isLocalAddress) ? "disable" : "verify-full";
  if (!tlsModes.includes(mode)) {
    throw new Error(`has an sslmode that is none of ${tlsModes.join(", ")}: ${quote(mode)}`);
  }
  return mode as TlsMode;
}

function isLocalAddress({ host }: ServerPlace): boolean {
  return (
    host.startsWith("/") || host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))
  );
}

function decode(text: string, part: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error(`has a ${part} with a percent sign that begins no character: write %25`);
  }
}

/** Returns `host:port` for messages. */
export function showPlace({ host, port }: ServerPlace): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Returns the database as a URL without the user, for messages. */
export function showDatabase({ places, database }: ServerAddress): string {
  return `postgresql://${places.map(showPlace).join(",")}/${database}`;
}

/** Contents of PEM files that prove the server to the collector, and the collector to the server. */
export interface TlsFiles {
  /** Certificate authorities; undefined: those of Node. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

interface SocketOptions {
  readonly place: ServerPlace;
  readonly tls: TlsMode;
  readonly files: TlsFiles;
  /** Aborts the attempt. */
  readonly signal: AbortSignal;
}

/** Length 8, then the code 80877103 (PostgreSQL, Frontend/Backend Protocol, SSLRequest). */
const tlsRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const yes = 0x53;
/** Idle time before the first keep-alive probe. */
const keepAliveMs = 10_000;

/** Connects, and encrypts if requested. @throws Error where either fails. */
async function openSocket(options: SocketOptions): Promise<Socket> {
  const { place, tls, signal } = options;
  const isLocal = place.host.startsWith("/");
  const socket = isLocal ? connect(`${place.host}/.s.PGSQL.${place.port}`) : connect(place.port, place.host);
  // The user of the socket sees its end by the `close` that follows.
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
  // Bytes after the answer are not encrypted, so anybody may have sent them.
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

/** The options for opening sessions. */
export interface DatabaseAccess {
  readonly address: ServerAddress;
  readonly files: TlsFiles;
  /** Time limit in milliseconds for connecting and for each answer. */
  readonly timeoutMs: number;
  /** The longest wait for a lock that another session holds. */
  readonly lockTimeoutMs: number;
  /** The client name that the server shows. */
  readonly applicationName: string;
}

/** A single connection, which is never reopened. When it ends, the session ends. */
export interface Session {
  readonly sql: Sql;
  /** `host:port` */
  readonly server: string;
  readonly isOpen: () => boolean;
  /**
   * Runs queries.
   *
   * @param timeoutMs time after which the session is given up; all of its callers then get an error.
   * @throws Error of the server, of the connection, or for the time-out.
   */
  readonly ask: <T>(work: (sql: Sql) => Promise<T>, timeoutMs?: number) => Promise<T>;
  /** Ends the session. Running queries fail. */
  readonly close: (reason?: Error) => void;
}

export interface SessionListeners {
  readonly onNotify?: (channel: string, payload: string) => void;
  /** Called once when the session ends. */
  readonly onEnd?: () => void;
}

/** Server settings for our sessions, which limit how long the server keeps a lost collector. */
const sessionSettings = {
  /** Time limit for an idle transaction with its locks. */
  idle_in_transaction_session_timeout: "10s",
  /** Keep-alive for a host that no longer answers, in seconds and tries. By default the server would notice after two hours. */
  tcp_keepalives_idle: "10",
  tcp_keepalives_interval: "5",
  tcp_keepalives_count: "3",
  /** The same limit while the server sends an answer. */
  tcp_user_timeout: "25s",
  client_min_messages: "warning",
};
/** The oldest supported PostgreSQL version. */
const oldestServer = 13;

/**
 * Opens a session with the first server of the address that accepts writes.
 *
 * @throws Error that names each server and its fault.
 */
export async function openSession(
  access: DatabaseAccess,
  signal: AbortSignal,
  listeners: SessionListeners = {},
): Promise<Session> {
  const faults: string[] = [];
  for (const place of access.address.places) {
    try {
      return await openOne(access, place, signal, listeners);
    } catch (error) {
      signal.throwIfAborted();
      faults.push(`${showPlace(place)}: ${messageOf(error)}`);
    }
  }
  throw new Error(faults.join("; "));
}

async function openOne(
  access: DatabaseAccess,
  place: ServerPlace,
  signal: AbortSignal,
  listeners: SessionListeners,
): Promise<Session> {
  const { address, files, timeoutMs } = access;
  // Only collectors with metadata in a database need the client. It is loaded before the socket opens, which would otherwise have no listeners
  // meanwhile.
  const { default: client } = await import("postgres");
  const late = AbortSignal.timeout(timeoutMs);
  const socketSignal = AbortSignal.any([signal, late]);
  let socket: Socket;
  try {
    socket = await openSocket({ place, tls: address.tls, files, signal: socketSignal });
  } catch (error) {
    if (late.aborted) throw new Error(`no connection after ${timeoutMs} ms`, { cause: error });
    throw error;
  }
  const session = sessionOn(client, socket, access, place, listeners);
  const onAbort = (): void => session.close(signal.reason as Error);
  signal.addEventListener("abort", onAbort);
  try {
    const [found] = await session.ask(
      (sql) => sql<{ standby: boolean; readOnly: string; encoding: string; version: string }[]>`
        select pg_catalog.pg_is_in_recovery() as standby, current_setting('transaction_read_only') as "readOnly",
          current_setting('server_encoding') as encoding, current_setting('server_version') as version`,
    );
    if (Number.parseInt(found?.version ?? "", 10) < oldestServer)
      throw new Error(`the server is PostgreSQL ${found?.version ?? ""}: ${oldestServer} or later is needed`);
    if (found?.standby === true) throw new Error("is a standby, which takes no writes");
    if (found?.readOnly === "on") throw new Error("takes no writes: transactions are read-only");
    if (found?.encoding !== "UTF8") throw new Error(`the database has the encoding ${found?.encoding ?? ""}, not UTF8`);
    // These are no connection parameters, because poolers refuse those.
    const settings = Object.entries({ ...sessionSettings, lock_timeout: `${access.lockTimeoutMs}ms` });
    await session.ask(
      (sql) => sql`
        select set_config(key, value, false) from json_each_text(${JSON.stringify(Object.fromEntries(settings))}::text::json)`,
    );
    return session;
  } catch (error) {
    session.close();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function sessionOn(
  client: typeof postgres,
  socket: Socket,
  { address, timeoutMs, applicationName }: DatabaseAccess,
  place: ServerPlace,
  { onNotify, onEnd }: SessionListeners,
): Session {
  let isOver = false;
  let isUsed = false;
  let why: Error | undefined;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    onEnd?.();
  };
  const options = {
    host: place.host,
    port: place.port,
    user: address.user,
    password: address.password,
    database: address.database,
    max: 1,
    ssl: false,
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: 0,
    fetch_types: false,
    keep_alive: null,
    connection: {
      application_name: applicationName,
    },
    onnotice: () => {},
    onnotify: onNotify,
    // The client alone would reconnect without end. The user of a session must know when it is a new one.
    socket: () => {
      if (isUsed) throw why ?? new Error("the server closed the connection");
      isUsed = true;
      return withoutClose(socket);
    },
  };
  const sql = client(options);
  const close = (reason?: Error): void => {
    why ??= reason;
    socket.destroy(reason);
    void sql.end({ timeout: 0 }).catch(() => {});
    end();
  };
  socket.once("close", () => {
    // This makes running queries fail. Later ones fail by the end of the client.
    socket.emit("error", why ?? new Error("the server closed the connection"));
    close(why);
  });
  if (socket.closed) close(new Error("the server closed the connection"));
  return {
    sql,
    server: showPlace(place),
    isOpen: () => !isOver,
    close,
    async ask(work, limitMs = timeoutMs) {
      if (isOver) throw why ?? new Error("the connection to the database is closed");
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          const error = new Error(`no answer of the database after ${limitMs} ms`);
          reject(error);
          close(error);
        }, limitMs);
      });
      try {
        return await Promise.race([work(sql), late]);
      } catch (error) {
        throw why ?? error;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/**
 * Hides the end of a socket from the client. Otherwise the client would forget the socket, and a pending or later write would throw where nobody can
 * catch it. That ends the process (porsager/postgres, issues 1154 and 1208).
 */
function withoutClose(socket: Socket): Socket {
  const on = socket.on.bind(socket);
  return Object.assign(socket, {
    on: (event: string, listener: (...args: unknown[]) => void) => (event === "close" ? socket : on(event, listener)),
  });
}

export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join(", ");
  return error instanceof Error ? error.message : String(error);
}

/** Returns the SQLSTATE of an error from the server. */
export function stateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "PostgresError") return undefined;
  return (error as Error & { readonly code?: string }).code;
}
