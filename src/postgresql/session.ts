import type { Socket } from "node:net";
import type postgres from "postgres";
import type { Sql } from "postgres";
import { openSocket, type TlsFiles } from "./open-socket.ts";
import { showPlace, type ServerAddress, type ServerPlace } from "./server-address.ts";

/** How sessions are opened. */
export interface DatabaseAccess {
  readonly address: ServerAddress;
  readonly files: TlsFiles;
  /** The longest that connecting, or an answer, may take, in milliseconds. */
  readonly timeoutMs: number;
  /** The longest wait for a lock that another session holds. */
  readonly lockTimeoutMs: number;
  /** What the server shows as the name of its client. */
  readonly applicationName: string;
}

/** One connection. It is never made again: once it is over, so is the session. */
export interface Session {
  readonly sql: Sql;
  /** `host:port` */
  readonly server: string;
  readonly isOpen: () => boolean;
  /**
   * Runs work that asks the server.
   *
   * @param timeoutMs after which the session is given up: whoever waits for it gets an error.
   * @throws Error of the server, of the connection, or for the time.
   */
  readonly ask: <T>(work: (sql: Sql) => Promise<T>, timeoutMs?: number) => Promise<T>;
  /** Ends it. What runs fails. */
  readonly close: (reason?: Error) => void;
}

export interface SessionListeners {
  readonly onNotify?: (channel: string, payload: string) => void;
  /** Called once. */
  readonly onEnd?: () => void;
}

/** What the server keeps to in sessions of ours: how soon it lets go of a collector that is gone. */
const sessionSettings = {
  /** A transaction in which nothing happens, with its locks. */
  idle_in_transaction_session_timeout: "10s",
  /** A host that no longer answers, in seconds and tries; by itself the server would notice after two hours. */
  tcp_keepalives_idle: "10",
  tcp_keepalives_interval: "5",
  tcp_keepalives_count: "3",
  /** The same while an answer is under way to it. */
  tcp_user_timeout: "25s",
  client_min_messages: "warning",
};
/** The first version of PostgreSQL that is tried. */
const oldestServer = 13;

/**
 * Opens a session with the first server of the address that takes writes.
 *
 * @throws Error that names each server and what is wrong with it.
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
  // Only who keeps metadata in a database needs the client. It is there before the socket, which nobody would listen to meanwhile.
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
    // Not among the parameters of the connection: poolers refuse those.
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
    // A client that is left to itself connects again, even without end; whoever uses a session must know when it was another one.
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
    // What runs fails by this; what is asked afterwards by the end of the client.
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
 * Hides the end of a socket from the client. It would forget the socket, and a write that is due or made after that would throw
 * where nobody can catch it, which ends the process (porsager/postgres, issues 1154 and 1208).
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

/** The SQLSTATE of an error that the server has sent. */
export function stateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== "PostgresError") return undefined;
  return (error as Error & { readonly code?: string }).code;
}
