import { setTimeout as sleep } from "node:timers/promises";
import { randomUUID } from "node:crypto";
import {
  messageOf,
  reconnectMs,
  openSession,
  type DatabaseAccess,
  type Session,
  stateOf,
} from "../../base/postgresql/index.ts";
import { readState, type DatabaseState, type Position } from "./fetch-commits.ts";
import { Backoff, type Log } from "../../base/report/index.ts";
import type { UdmChange } from "../history/change.ts";
import { UdmError, type UdmCommit, type UdmIndex } from "../model/udm-store.ts";
import { isChange, type EntryChange } from "../model/apply-writes.ts";
import type { NewLayerChange } from "../history/history.ts";
import { applyBatches, committed, originOf, type Batch, type Outcome } from "../store/collector-store.ts";
import { ReloadNeeded, type Mirror } from "./mirror.ts";
import type { PostgresqlMetrics } from "./database-reporting.ts";
import { saveCommits, type NewCommit, DivergenceError } from "./entry-rows.ts";

/** The outcome of a transaction whose answer was lost. */
type LostAnswer = "committed" | "not_committed" | "unknown";

/** The session through which is written. */
export class Writer {
  readonly #access: DatabaseAccess;
  readonly #random: () => number;
  #open: Session | undefined;
  #stopping = new AbortController();

  constructor(access: DatabaseAccess, random: () => number) {
    this.#access = access;
    this.#random = random;
  }

  /** Opens it if need be. @throws Error */
  async session(): Promise<Session> {
    if (this.#open?.isOpen() !== true) this.#open = await openSession(this.#access, this.#stopping.signal);
    return this.#open;
  }

  /**
   * Finds out what happened to a commit whose answer was lost. While the transaction may still be about to commit, it holds the row that this
   * takes first: whatever is found then is final.
   */
  async outcomeOf(number: number, save: string, limitMs: number): Promise<LostAnswer> {
    const late = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(limitMs)]);
    const backoff = new Backoff(...reconnectMs, this.#random);
    for (let failures = 1; !late.aborted; failures++) {
      try {
        const asked = await this.session();
        const found = await beginTransaction(asked, number);
        await rollBack(asked);
        return found.save === save ? "committed" : "not_committed";
      } catch {
        await rollBack(this.#open);
        await sleep(backoff.delay(failures), undefined, { signal: late }).catch(() => {});
      }
    }
    return "unknown";
  }

  close(): void {
    this.#stopping.abort(new Error("the collector stops"));
    this.#open?.close();
    this.#open = undefined;
    this.#stopping = new AbortController();
  }
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

/** Makes commits, and the state with them, out of the state with all commits; undefined for nothing. It may be called again. */
type MakePlan = (
  from: Position,
) => Promise<{ readonly commits: readonly NewCommit[]; readonly next: UdmIndex } | undefined>;

interface CommitterOptions {
  readonly access: DatabaseAccess;
  /** The database, for messages. */
  readonly location: string;
  /** The name of this collector in the history. */
  readonly collector: string;
  readonly writer: Writer;
  /** @throws UdmError while the database is away. */
  readonly connected: () => unknown;
  readonly mirror: Mirror;
  readonly current: () => UdmIndex;
  readonly release: (index: UdmIndex) => void;
  readonly log: Log;
  readonly report: PostgresqlMetrics;
}

/** The time that a write waits to learn what happened to a commit whose answer was lost. */
const lostAnswerMs = 60_000;
/** The time that an answer may take longer for each entry that is written. */
const msForAnEntry = 0.5;

/** Makes commits of batches. Calls follow one another. */
export class Committer {
  readonly #options: CommitterOptions;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  /**
   * All batches in one transaction, a commit for each that changes anything.
   *
   * @returns what happened to each batch, in their order, and the batches that changed anything.
   * @throws UdmError when none was made.
   */
  async commit(
    batches: readonly Batch[],
  ): Promise<{ readonly outcomes: readonly Outcome<UdmCommit>[]; readonly changed: readonly Batch[] }> {
    const { current, release } = this.#options;
    let outcomes: readonly Outcome<readonly EntryChange[]>[] = [];
    let numbers: readonly (number | undefined)[] = [];
    await this.#transact(async (from) => {
      const applied = await applyBatches(current(), batches);
      outcomes = applied.outcomes;
      numbers = [];
      if (applied.changed === undefined) return undefined;
      const commits = newCommits(batches, outcomes, from.number);
      numbers = commits.map((commit) => commit?.number);
      const real = commits.filter((commit) => commit !== undefined);
      if (real.length > 0) return { commits: real, next: applied.changed.next };
      release(applied.changed.next);
      return undefined;
    });
    return { changed: batches.filter((_, i) => numbers[i] !== undefined), outcomes: committed(outcomes, numbers) };
  }

  /** Puts what a source says into the history. @throws UdmError */
  note(change: NewLayerChange): Promise<void> {
    const next = this.#options.current;
    return this.#transact(async ({ number }) => ({ commits: [{ ...change, number: number + 1 }], next: next() }));
  }

  /**
   * Runs one transaction on top of all that is committed. One at a time.
   *
   * @throws UdmError; nothing has changed then, or the message says that it is not known.
   */
  async #transact(plan: MakePlan): Promise<void> {
    const { connected, writer, mirror } = this.#options;
    for (let tries = 0; ; tries++) {
      connected();
      let session: Session | undefined;
      try {
        session = await writer.session();
        await this.#attempt(session, plan, tries > 0);
        return;
      } catch (error) {
        await rollBack(session);
        const isDivergence = error instanceof DivergenceError;
        if (tries === 0 && isDivergence) continue;
        const again = isDivergence ? new ReloadNeeded("changed_by_hand") : error;
        if (!(again instanceof ReloadNeeded) || tries > 1 || session === undefined) throw this.#refusal(error);
        await mirror.reload(session, again).catch((failure: unknown) => {
          throw this.#refusal(failure);
        });
      }
    }
  }

  /** @param isSpeltFreely see {@link saveCommits}. */
  async #attempt(session: Session, plan: MakePlan, isSpeltFreely: boolean): Promise<void> {
    const { access, collector, mirror, current, release, report } = this.#options;
    const found = await beginTransaction(session, mirror.number());
    mirror.check(found);
    if (found.last > mirror.number()) {
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
    const time = mirror.now();
    const number = from.number + commits.length;
    try {
      const entries = commits.reduce((sum, { changes }) => sum + changes.length, 0);
      const limitMs = access.timeoutMs + entries * msForAnEntry;
      await session.ask((sql) => saveCommits(sql, { save, collector, time, isSpeltFreely, commits }), limitMs);
      await this.#finish(session, number, save);
    } catch (error) {
      if (next !== current()) release(next);
      throw error;
    }
    const changes = commits.map(({ layer, ...rest }): UdmChange => {
      const isCut = rest.entries > rest.changes.length;
      return Object.assign(rest, { time: Math.round(time), collector, isCut }, layer === undefined ? {} : { layer });
    });
    mirror.take(next, { store: from.store, number, save }, changes);
  }

  /** Commits, and finds out what happened to it when no answer comes. */
  async #finish(session: Session, number: number, save: string): Promise<void> {
    const { writer, report } = this.#options;
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
  }

  #refusal(error: unknown): unknown {
    if (error instanceof UdmError || error instanceof TypeError) return error;
    const { location, report, log } = this.#options;
    report.failed("commit");
    log.error({ error, database: location }, "a write of metadata has failed");
    const why = stateOf(error) === "55P03" ? "somebody else holds a lock on its tables" : messageOf(error);
    return new UdmError("unavailable", `the database of the metadata takes no write, nothing has changed: ${why}`, [], {
      cause: error,
    });
  }
}

/** The commits of a group's batches; undefined for those that change nothing. */
function newCommits(
  batches: readonly Batch[],
  outcomes: readonly Outcome<readonly EntryChange[]>[],
  last: number,
): readonly (NewCommit | undefined)[] {
  let number = last;
  return batches.map((batch, i) => {
    const outcome = outcomes[i] as Outcome<readonly EntryChange[]>;
    const changes = "result" in outcome ? outcome.result.filter(isChange) : [];
    if (changes.length === 0) return undefined;
    number++;
    return { number, ...originOf(batch), layer: undefined, entries: changes.length, changes };
  });
}
