import type { Sql } from "postgres";
import { isExpected, type Clock, type Log } from "../report/index.ts";
import { messageOf, openSession, type DatabaseAccess, type Session } from "./session.ts";

/** A collector sends a statement at once: who has not sent the rest of one after this time is away. Seconds. */
const stalledSeconds = 10;

/**
 * Ends the sessions of collectors that hold locks and of which the server has only a part of a statement, because their connection is half open.
 * The server itself would keep them until TCP gives up: to it that is no transaction in which nothing happens. Who only reads, and is
 * slow to take its rows, looks alike and stays.
 *
 * @returns how many were ended: of the same role and database only.
 */
async function endStalledSessions(sql: Sql): Promise<number> {
  const ended = await sql`
    select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity a
    where datname = current_database() and usename = current_user and pid <> pg_catalog.pg_backend_pid()
      and starts_with(application_name, 'netgloss') and state = 'active' and wait_event = 'ClientRead'
      and state_change < clock_timestamp() - ${`${stalledSeconds} seconds`}::interval
      and (backend_xid is not null
        or exists (select from pg_catalog.pg_locks l where l.pid = a.pid and locktype = 'advisory' and granted))`;
  return ended.length;
}

const firstMs = 100;
const mostMs = 5000;

/** How long to wait after this many failures in a row, in milliseconds: longer each time, and never the same for two collectors. */
export function nextDelay(failures: number, random: () => number): number {
  return Math.min(firstMs * 2 ** Math.min(failures, 10), mostMs) * (0.5 + random() / 2);
}

export interface FollowerOptions {
  readonly access: DatabaseAccess;
  /** What the database is called in the log. */
  readonly what: string;
  /** A session was made: what is needed before it is of use. When it fails, the session is given up. */
  readonly connected: (session: Session) => Promise<void>;
  /** A notification of the database has come. */
  readonly notified: (session: Session, payload: string, channel: string) => void;
  /** Asks whether all is well, every {@link heartbeatMs}. When it fails, the session is given up. */
  readonly beat: (session: Session) => Promise<void>;
  /** Called when a session ended and each time that none could be made. */
  readonly lost: (reason: string) => void;
  readonly after: (action: () => void, ms: number) => () => void;
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps one session with the database, and makes it again when it breaks. */
export interface Follower {
  /** Begins. Resolves when the first attempt is over, however it was. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The session, once it is of use. */
  session(): Session | undefined;
  /** Why there is none. */
  reason(): string;
}

/** A connection that was cut in silence is found after this time and the one that an answer may take. */
const heartbeatMs = 5000;

export function createFollower(options: FollowerOptions): Follower {
  const { access, what, connected, notified, beat, lost, after, random, log } = options;
  let stopping = new AbortController();
  let session: Session | undefined;
  let running: Promise<void> | undefined;
  let reason = "it has not been asked yet";

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const cancel = after(end, ms);
      function end(): void {
        stopping.signal.removeEventListener("abort", end);
        cancel();
        resolve();
      }
      stopping.signal.addEventListener("abort", end);
    });

  /** They may hold locks that this collector waits for. */
  const endStalled = async (open: Session): Promise<void> => {
    const sessions = await open.ask(endStalledSessions);
    if (sessions > 0) log.warn({ sessions }, `sessions of collectors that fell silent were ended in ${what}`);
  };

  const beats = async (open: Session): Promise<void> => {
    try {
      await endStalled(open);
      await beat(open);
    } catch (error) {
      open.close(error instanceof Error ? error : new Error(String(error)));
    }
  };

  /** Resolves when the session is over. @throws Error when it never was of use. */
  const follow = async (ready: () => void): Promise<string> => {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    const open = await openSession(access, stopping.signal, {
      onNotify: (channel, payload) => notified(open, payload, channel),
      onEnd: () => end(),
    });
    try {
      await endStalled(open);
      await connected(open);
      session = open;
      ready();
      while (open.isOpen() && !stopping.signal.aborted) {
        await Promise.race([ended, pause(heartbeatMs)]);
        if (open.isOpen() && !stopping.signal.aborted) await beats(open);
      }
      return "the connection was closed";
    } finally {
      session = undefined;
      open.close();
    }
  };

  const run = async (firstIsOver: () => void): Promise<void> => {
    for (let attempt = 0; !stopping.signal.aborted; attempt++) {
      const ready = (): void => {
        attempt = 0;
        firstIsOver();
      };
      try {
        reason = await follow(ready);
      } catch (error) {
        reason = messageOf(error);
        if (!isExpected(error)) log.debug({ error }, `an attempt to follow ${what} failed`);
      }
      if (stopping.signal.aborted) break;
      lost(reason);
      firstIsOver();
      await pause(nextDelay(attempt, random));
    }
    firstIsOver();
  };

  return {
    start() {
      stopping = new AbortController();
      return new Promise((resolve) => {
        running = run(resolve);
      });
    },
    async stop() {
      stopping.abort(new Error("the collector stops"));
      session?.close();
      await running;
    },
    session: () => session,
    reason: () => reason,
  };
}
