import { setTimeout as sleep } from "node:timers/promises";
import { randomUUID } from "node:crypto";
import {
  messageOf,
  nextDelay,
  openSession,
  type DatabaseAccess,
  type Session,
  stateOf,
} from "../../base/postgresql/index.ts";
import { readState, type DatabaseState, type Position } from "./fetch-commits.ts";
import type { Log } from "../../base/report/index.ts";
import type { UdmChange } from "../history/change.ts";
import { UdmError, type UdmIndex } from "../model/udm-store.ts";
import { ReloadNeeded, type Mirror } from "./mirror.ts";
import type { PostgresqlMetrics } from "./database-reporting.ts";
import { saveCommits, type NewCommit, DivergenceError } from "./entry-rows.ts";

/** What a transaction whose answer was lost has become. */
type LostAnswer = "committed" | "not_committed" | "unknown";

/** The session through which is written. */
interface Writer {
  /** Opens it if need be. @throws Error */
  session(): Promise<Session>;
  /**
   * Finds out what happened to a commit whose answer was lost. While the transaction may still be about to commit, it holds the row that this
   * takes first: whatever is found then is final.
   */
  outcomeOf(number: number, save: string, limitMs: number): Promise<LostAnswer>;
  close(): void;
}

export function createWriter(access: DatabaseAccess, random: () => number): Writer {
  let open: Session | undefined;
  let stopping = new AbortController();

  const session = async (): Promise<Session> => {
    if (open?.isOpen() !== true) open = await openSession(access, stopping.signal);
    return open;
  };

  return {
    session,
    async outcomeOf(number, save, limitMs) {
      const late = AbortSignal.any([stopping.signal, AbortSignal.timeout(limitMs)]);
      for (let attempt = 0; !late.aborted; attempt++) {
        try {
          const asked = await session();
          const found = await beginTransaction(asked, number);
          await rollBack(asked);
          return found.save === save ? "committed" : "not_committed";
        } catch {
          await rollBack(open);
          await sleep(nextDelay(attempt, random), undefined, { signal: late }).catch(() => {});
        }
      }
      return "unknown";
    },
    close() {
      stopping.abort(new Error("the collector stops"));
      open?.close();
      open = undefined;
      stopping = new AbortController();
    },
  };
}

/** Begins a transaction that holds the row whoever commits must have. @param number of the commit whose id is asked for. */
export async function beginTransaction(session: Session, number: number): Promise<DatabaseState> {
  const [, state] = await session.ask((sql) => {
    // Without `execute` a query is sent when it is awaited: the others would be before it.
    const begun = sql.unsafe("begin isolation level read committed read write").execute();
    return Promise.all([begun, readState(sql, number, true)]);
  });
  return state;
}

/** So often a transaction in which nothing happens says that it lives: the server ends one that is silent for ten seconds. */
const signOfLifeMs = 3000;

/** Keeps an open transaction while work of this side is done. It must not use the session. */
async function keepTransaction<T>(session: Session, work: Promise<T>): Promise<T> {
  const timer = setInterval(() => {
    // A failure closes the session, so the next request on it fails.
    session.ask((sql) => sql.unsafe("select")).catch(() => {});
  }, signOfLifeMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/** Ends a transaction without a trace; a session that cannot is of no use any more. */
export async function rollBack(session: Session | undefined): Promise<void> {
  if (session?.isOpen() !== true) return;
  try {
    await session.ask((sql) => sql.unsafe("rollback"));
  } catch (error) {
    session.close(new Error(messageOf(error)));
  }
}

/** What a transaction is to save. */
interface Plan {
  readonly commits: readonly NewCommit[];
  /** The state with them. */
  readonly next: UdmIndex;
}

export interface TransactOptions {
  readonly access: DatabaseAccess;
  /** The database, for messages. */
  readonly place: string;
  /** What the history calls this collector. */
  readonly collector: string;
  readonly writer: Writer;
  /** @throws UdmError while the database is away. */
  readonly connected: () => unknown;
  readonly mirror: Mirror;
  readonly current: () => UdmIndex;
  readonly release: (index: UdmIndex) => void;
  /** Reads all entries. */
  readonly reload: (session: Session, reason: ReloadNeeded) => Promise<void>;
  /** The time by the clock of the database, in milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  readonly report: PostgresqlMetrics;
}

/**
 * Runs one transaction on top of all that is committed. One at a time.
 *
 * @param plan what to save, given the state with all commits; undefined for nothing. It may be called again.
 * @throws UdmError; nothing has changed then, or the message says that it is not known.
 */
type Transact = (plan: (from: Position) => Promise<Plan | undefined>) => Promise<void>;

/** How long a write waits to learn what happened to a commit whose answer was lost. */
const lostAnswerMs = 60_000;
/** What an answer may take longer for each entry that is written. */
const msForAnEntry = 0.5;

export function createTransact(options: TransactOptions): Transact {
  const { access, place, collector, writer, connected, mirror, current, release, reload, now, log, report } = options;
  const lastNumber = (): number => mirror.position()?.number ?? 0;

  const refusal = (error: unknown): unknown => {
    if (error instanceof UdmError || error instanceof TypeError) return error;
    report.failed("commit");
    log.error({ error, database: place }, "a write of metadata has failed");
    const why = stateOf(error) === "55P03" ? "somebody else holds a lock on its tables" : messageOf(error);
    return new UdmError("unavailable", `the database of the metadata takes no write, nothing has changed: ${why}`, [], {
      cause: error,
    });
  };

  /** @param isSpeltFreely see {@link saveCommits}. */
  const attempt = async (session: Session, plan: Parameters<Transact>[0], isSpeltFreely: boolean): Promise<void> => {
    const found = await beginTransaction(session, lastNumber());
    mirror.check(found);
    if (found.last > lastNumber()) {
      report.overtaken();
      report.followed((await mirror.catchUp(session)).length);
    }
    const from = mirror.position() as Position;
    const planned = await keepTransaction(session, plan(from));
    if (planned === undefined) {
      await rollBack(session);
      return;
    }
    const { commits, next } = planned;
    const save = randomUUID();
    const time = now();
    const number = from.number + commits.length;
    try {
      const entries = commits.reduce((sum, { changes }) => sum + changes.length, 0);
      const limitMs = access.timeoutMs + entries * msForAnEntry;
      await session.ask((sql) => saveCommits(sql, { save, collector, time, isSpeltFreely, commits }), limitMs);
      await finish(session, number, save);
    } catch (error) {
      if (next !== current()) release(next);
      throw error;
    }
    const changes = commits.map(({ layer, ...rest }): UdmChange => {
      const isCut = rest.entries > rest.changes.length;
      return Object.assign(rest, { time: Math.round(time), collector, isCut }, layer === undefined ? {} : { layer });
    });
    mirror.take(next, { store: from.store, number, save }, changes);
  };

  /** Commits, and finds out what happened to it when no answer comes. */
  const finish = async (session: Session, number: number, save: string): Promise<void> => {
    let lost: unknown;
    try {
      const { command } = await session.ask((sql) => sql.unsafe("commit"));
      if (command === "COMMIT") return;
      throw new Error("the transaction was rolled back");
    } catch (error) {
      lost = error;
    }
    session.close(new Error(messageOf(lost)));
    const outcome = await writer.outcomeOf(number, save, lostAnswerMs);
    report.resolved(outcome);
    if (outcome === "committed") return;
    if (outcome === "not_committed") throw lost;
    const message = `the connection to the database broke while it saved: whether change ${number} was made is not known (${messageOf(lost)})`;
    throw new UdmError("unavailable", message, [], { cause: lost });
  };

  return async (plan) => {
    for (let tries = 0; ; tries++) {
      connected();
      let session: Session | undefined;
      try {
        session = await writer.session();
        await attempt(session, plan, tries > 0);
        return;
      } catch (error) {
        await rollBack(session);
        const isDivergence = error instanceof DivergenceError;
        if (tries === 0 && isDivergence) continue;
        const again = isDivergence ? new ReloadNeeded("changed_by_hand") : error;
        if (!(again instanceof ReloadNeeded) || tries > 1 || session === undefined) throw refusal(error);
        await reload(session, again).catch((failure: unknown) => {
          throw refusal(failure);
        });
      }
    }
  };
}
