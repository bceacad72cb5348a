import { randomUUID } from "node:crypto";
import { messageOf, stateOf, type DatabaseAccess, type Session } from "../../base/postgresql/index.ts";
import type { Log } from "../../base/report/index.ts";
import type { UdmChange } from "../history/history-contract.ts";
import { UdmError } from "../model/udm-error.ts";
import type { UdmIndex } from "../model/udm-index.ts";
import { beginTransaction, keepTransaction, rollBack, type Writer } from "./commit-transaction.ts";
import type { Position } from "./fetch-commits.ts";
import { ReloadNeeded, type Mirror } from "./mirror.ts";
import type { PostgresqlMetrics } from "./postgresql-metrics.ts";
import { saveCommits, type NewCommit } from "./save-commits.ts";
import { DivergenceError } from "./write-rows.ts";

/** What a transaction is to save. */
export interface Plan {
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
export type Transact = (plan: (from: Position) => Promise<Plan | undefined>) => Promise<void>;

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
