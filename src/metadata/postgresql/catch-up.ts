import type { Session } from "../../base/postgresql/index.ts";
import type { Clock, Log } from "../../base/report/index.ts";
import type { DatabaseHealth } from "./database-health.ts";
import { readState } from "./fetch-commits.ts";
import { ReloadNeeded, type Mirror } from "./mirror.ts";
import type { PostgresqlMetrics } from "./postgresql-metrics.ts";

export interface CatchUpOptions {
  /** The database, as a person reads it. */
  readonly place: string;
  readonly mirror: Mirror;
  readonly state: DatabaseHealth;
  readonly report: PostgresqlMetrics;
  /** All entries were read. */
  readonly loaded: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Brings what is in memory to what is in the database. */
export interface CatchUp {
  /** Asks how far the database is. @param number of the commit that is in memory. */
  readonly ask: (session: Session, number: number) => ReturnType<typeof readState>;
  /** Takes over what others have committed, whatever it takes. To be called alone, outside of transactions. */
  readonly follow: (session: Session) => Promise<void>;
  /** Reads all entries again. */
  readonly reload: (session: Session, needed: ReloadNeeded) => Promise<void>;
  /** The number of the oldest commit in the log, as of the last answer. */
  readonly firstKept: () => number;
  /** The time by the clock of the database, as far as its answers show it; in milliseconds since 1970. */
  readonly now: () => number;
}

export function createCatchUp({ place, mirror, state, report, loaded, clock, log }: CatchUpOptions): CatchUp {
  /** The clock of the database is ahead of ours by so much, in milliseconds. */
  let clockOffset = 0;
  let firstKept = 1;

  const follow = async (session: Session): Promise<void> => {
    try {
      const commits = await mirror.catchUp(session);
      report.followed(commits.length);
      for (const { number, author, method, collector: by, entries } of commits) {
        log.debug({ change: number, author, method, collector: by, entries }, "another collector has changed metadata");
      }
    } catch (error) {
      if (!(error instanceof ReloadNeeded)) throw error;
      await reload(session, error);
    }
  };

  const reload = async (session: Session, { reason }: ReloadNeeded): Promise<void> => {
    if (reason === "set_back") {
      log.warn(
        { database: place },
        "the database lacks commits that were seen here: it is another database or was set back; reading everything again",
      );
    } else if (reason === "changed_by_hand") {
      log.warn(
        { database: place },
        "entries of the database were changed by hand, without a commit number; reading everything again",
      );
    }
    try {
      await mirror.reload(session, reason);
    } catch (error) {
      report.failed("load");
      throw error;
    }
    loaded();
  };

  const ask = async (session: Session, number: number): ReturnType<typeof readState> => {
    const asked = clock.now();
    const found = await session.ask((sql) => readState(sql, number));
    clockOffset = found.time - (asked + clock.now()) / 2;
    firstKept = found.first;
    state.heard();
    return found;
  };

  return { ask, follow, reload, firstKept: () => firstKept, now: () => clock.now() + clockOffset };
}
