import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, nextDelay, openSession, type DatabaseAccess, type Session } from "../../base/postgresql/index.ts";
import { readState, type DatabaseState } from "./fetch-commits.ts";

/** What a transaction whose answer was lost has become. */
export type LostAnswer = "committed" | "not_committed" | "unknown";

/** The session through which is written. */
export interface Writer {
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
export async function keepTransaction<T>(session: Session, work: Promise<T>): Promise<T> {
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
