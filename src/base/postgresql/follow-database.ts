import type { Sql } from "postgres";
import { Backoff, isExpected, Pause, type Log } from "../report/index.ts";
import { messageOf, openSession, type DatabaseAccess, type Session } from "./session.ts";

/** Seconds after which a half-sent statement counts as abandoned: a collector sends a statement at once. */
const stalledSeconds = 10;

/**
 * Ends collector sessions that hold locks and have sent only a part of a statement, because their connection is half open. The server itself would keep
 * them until TCP gives up: such a transaction is not idle. A session that only reads, and takes its rows slowly, looks similar and stays.
 *
 * @returns the number of ended sessions, of the same role and database only.
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

/** The first and the longest wait between tries to reach a database, in milliseconds. */
export const reconnectMs = [100, 5000] as const;

interface FollowerOptions {
  readonly access: DatabaseAccess;
  /** The name of the database in the log. */
  readonly what: string;
  /** Prepares a new session for use. When it fails, the session is given up. */
  readonly connected: (session: Session) => Promise<void>;
  /** Called for each notification of the database. */
  readonly notified: (session: Session, payload: string, channel: string) => void;
  /** Checks the session every {@link heartbeatMs}. When it fails, the session is given up. */
  readonly beat: (session: Session) => Promise<void>;
  /** Called when a session ended, and each time that none could be opened. */
  readonly lost: (reason: string) => void;
  readonly random: () => number;
  readonly log: Log;
}

/** Interval between checks. A connection that was cut silently is found after this time plus the time-out of an answer. */
const heartbeatMs = 5000;

/** Keeps one session with the database open, and replaces it when it breaks. */
export class Follower {
  readonly #options: FollowerOptions;
  /** The pause between tries, and between checks of the session. */
  readonly #pause = new Pause();
  #stopping = new AbortController();
  #session: Session | undefined;
  #running: Promise<void> | undefined;
  #reason = "it has not been asked yet";

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Starts. Resolves when the first try is over, successful or not. */
  start(): Promise<void> {
    this.#stopping = new AbortController();
    return new Promise((resolve) => {
      this.#running = this.#run(resolve);
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the collector stops"));
    this.#session?.close();
    this.#pause.end();
    await this.#running;
  }

  /** Returns the session once it is ready for use. */
  session(): Session | undefined {
    return this.#session;
  }

  /** Returns why there is no session. */
  reason(): string {
    return this.#reason;
  }

  async #run(firstIsOver: () => void): Promise<void> {
    const { what, lost, random, log } = this.#options;
    const { signal } = this.#stopping;
    const backoff = new Backoff(...reconnectMs, random);
    for (let failures = 1; !signal.aborted; failures++) {
      const ready = (): void => {
        failures = 1;
        firstIsOver();
      };
      try {
        this.#reason = await this.#follow(ready);
      } catch (error) {
        this.#reason = messageOf(error);
        if (!isExpected(error)) log.debug({ error }, `an attempt to follow ${what} failed`);
      }
      if (signal.aborted) break;
      lost(this.#reason);
      firstIsOver();
      await this.#pause.pause(backoff.delay(failures));
    }
    firstIsOver();
  }

  /** Resolves when the session is over. @throws Error when it was never ready for use. */
  async #follow(ready: () => void): Promise<string> {
    const { access, connected, notified } = this.#options;
    const { signal } = this.#stopping;
    const open = await openSession(access, signal, {
      onNotify: (channel, payload) => notified(open, payload, channel),
      onEnd: () => this.#pause.end(),
    });
    try {
      await this.#endStalled(open);
      await connected(open);
      this.#session = open;
      ready();
      while (open.isOpen() && !signal.aborted) {
        await this.#pause.pause(heartbeatMs);
        if (open.isOpen() && !signal.aborted) await this.#beat(open);
      }
      return "the connection was closed";
    } finally {
      this.#session = undefined;
      open.close();
    }
  }

  async #beat(open: Session): Promise<void> {
    try {
      await this.#endStalled(open);
      await this.#options.beat(open);
    } catch (error) {
      open.close(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Ends abandoned sessions, which may hold locks that this collector waits for. */
  async #endStalled(open: Session): Promise<void> {
    const { log, what } = this.#options;
    const sessions = await open.ask(endStalledSessions);
    if (sessions > 0) log.warn({ sessions }, `sessions of collectors that fell silent were ended in ${what}`);
  }
}
