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
import { readState, type DatabaseState, type FetchedCommit, type Position } from "./fetch-commits.ts";
import { Backoff, type Log } from "../../base/report/index.ts";
import { quote } from "../../base/text/index.ts";
import type { ScopeText } from "../model/scope.ts";
import { nextOf, type PlannedEdit } from "../scopes/edit-scopes.ts";
import { UdmError, type UdmCommit, type UdmIndex } from "../model/udm-store.ts";
import { isChange, type EntryChange } from "../model/apply-writes.ts";
import type { NewLayerChange } from "../history/history.ts";
import { applyBatches, committed, originOf, type Batch, type Outcome } from "../store/collector-store.ts";
import { ReloadNeeded, type Mirror, type MirroredStates } from "./mirror.ts";
import type { PostgresqlMetrics } from "./database-reporting.ts";
import { saveCommits, type NewCommit, DivergenceError } from "./entry-rows.ts";

/** The outcome of a transaction whose answer was lost. */
type LostAnswer = "committed" | "not_committed" | "unknown";

/** The session for writes. */
export class Writer {
  readonly #access: DatabaseAccess;
  readonly #random: () => number;
  #open: Session | undefined;
  #stopping = new AbortController();

  constructor(access: DatabaseAccess, random: () => number) {
    this.#access = access;
    this.#random = random;
  }

  /** Returns the session, and opens it if needed. @throws Error */
  async session(): Promise<Session> {
    if (this.#open?.isOpen() !== true) this.#open = await openSession(this.#access, this.#stopping.signal);
    return this.#open;
  }

  /**
   * Finds out whether a commit whose answer was lost took place. A transaction that may still commit holds the row that this method
   * locks first, so the result is final.
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

/** Begins a transaction and locks the row that each commit locks. @param number the commit whose id is requested. */
export async function beginTransaction(session: Session, number: number): Promise<DatabaseState> {
  const [, state] = await session.ask((sql) => {
    // Without `execute`, a query is sent only when it is awaited, so the others would be sent first.
    const begun = sql.unsafe("begin isolation level read committed read write").execute();
    return Promise.all([begun, readState(sql, number, true)]);
  });
  return state;
}

/** The interval of keep-alive queries in an idle transaction. The server ends a transaction that is silent for ten seconds. */
const signOfLifeMs = 3000;

/** Keeps a transaction open while local work runs. The work must not use the session. */
async function keepTransaction<T>(session: Session, work: Promise<T>): Promise<T> {
  const timer = setInterval(() => {
    // A failure closes the session, so that the next query fails.
    session.ask((sql) => sql.unsafe("select")).catch(() => {});
  }, signOfLifeMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/** Rolls a transaction back. A session that cannot do this is closed. */
export async function rollBack(session: Session | undefined): Promise<void> {
  if (session?.isOpen() !== true) return;
  try {
    await session.ask((sql) => sql.unsafe("rollback"));
  } catch (error) {
    session.close(new Error(messageOf(error)));
  }
}

/** Commits of one scope, and the states after them. */
interface PlannedCommits extends MirroredStates {
  readonly scope: string;
  readonly commits: readonly NewCommit[];
}

/** Makes commits and the states after them from the latest states; undefined for nothing. It may be called again. */
type MakePlan = (from: Position) => Promise<PlannedCommits | undefined>;

interface CommitterOptions {
  readonly access: DatabaseAccess;
  /** The database, for messages. */
  readonly location: string;
  /** The name of this collector in the history. */
  readonly collector: string;
  readonly writer: Writer;
  /** Checks the connection. @throws UdmError while the database is unavailable. */
  readonly connected: () => unknown;
  readonly mirror: Mirror;
  readonly release: (index: UdmIndex) => void;
  readonly log: Log;
  readonly report: PostgresqlMetrics;
}

/** The longest time that a write waits for the outcome of a commit whose answer was lost. */
const lostAnswerMs = 60_000;
/** The additional milliseconds that an answer may take for each written entry. */
const msForAnEntry = 0.5;

/** Makes commits. Calls must not overlap. */
export class Committer {
  readonly #options: CommitterOptions;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  /**
   * Commits all batches in one transaction, with one commit for each batch that changes anything.
   *
   * @param scope the scope of the entries.
   * @returns the outcome of each batch, in order, and the batches that changed anything.
   * @throws UdmError when no commit was made.
   */
  async commit(
    scope: string,
    batches: readonly Batch[],
  ): Promise<{ readonly outcomes: readonly Outcome<UdmCommit>[]; readonly changed: readonly Batch[] }> {
    const { mirror, release } = this.#options;
    let outcomes: readonly Outcome<readonly EntryChange[]>[] = [];
    let numbers: readonly (number | undefined)[] = [];
    await this.#transact(async (from) => {
      const applied = await applyBatches(this.#current(scope), batches);
      outcomes = applied.outcomes;
      numbers = [];
      if (applied.changed === undefined) return undefined;
      const { next } = applied.changed;
      const commits = newCommits(batches, outcomes, { number: from.number, change: mirror.lastOf(scope) });
      numbers = commits.map((commit) => commit?.change);
      const real = commits.filter((commit) => commit !== undefined);
      if (real.length > 0) return { scope, commits: real, states: new Map([[scope, next]]) };
      release(next);
      return undefined;
    });
    return { changed: batches.filter((_, i) => numbers[i] !== undefined), outcomes: committed(outcomes, numbers) };
  }

  /** Records a change of a source in the history of a scope. @throws UdmError */
  note(scope: string, change: NewLayerChange): Promise<void> {
    return this.#transact(async ({ number }) => {
      const commit = { ...change, number: number + 1, change: this.#options.mirror.lastOf(scope) + 1 };
      return { scope, commits: [commit], states: new Map() };
    });
  }

  /**
   * Changes the definition of a scope. The change is in the history of a space.
   *
   * @param plan plans the change, and is called again if others commit first. It returns undefined to change nothing.
   * @returns the number of the change; undefined where nothing has changed.
   * @throws UdmError
   */
  async define(
    space: string,
    origin: { readonly author: string; readonly method: string },
    texts: () => readonly ScopeText[],
    plan: (texts: readonly ScopeText[]) => PlannedEdit | undefined,
  ): Promise<number | undefined> {
    let change: number | undefined;
    await this.#transact(async ({ number }) => {
      change = undefined;
      const planned = plan(texts());
      if (planned === undefined) return undefined;
      change = this.#options.mirror.lastOf(space) + 1;
      const { scopes } = planned;
      const definition = { ...planned.change, place: nextOf(scopes, planned.change.after?.name ?? "") };
      const commit = { ...origin, number: number + 1, change, definition, layer: undefined, entries: 0, changes: [] };
      return { scope: space, commits: [commit], states: new Map(), texts: scopes };
    });
    return change;
  }

  /** Returns the state of a scope. @throws UdmError where the scope was removed. */
  #current(scope: string): UdmIndex {
    const index = this.#options.mirror.index(scope);
    if (index === undefined) throw new UdmError("unavailable", `the entries of scope ${quote(scope)} are gone`);
    return index;
  }

  /**
   * Runs one transaction on top of all commits. Only one may run at a time.
   *
   * @throws UdmError; nothing has changed then, or the message says that the outcome is unknown.
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

  /** Tries a transaction once. @param isSpeltFreely see {@link saveCommits}. */
  async #attempt(session: Session, plan: MakePlan, isSpeltFreely: boolean): Promise<void> {
    const { access, collector, mirror, release, report } = this.#options;
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
    const { scope, commits, texts } = planned;
    const states = new Map(planned.states);
    const save = randomUUID();
    const time = mirror.now();
    const number = from.number + commits.length;
    try {
      const entries = commits.reduce((sum, { changes }) => sum + changes.length, 0);
      const limitMs = access.timeoutMs + entries * msForAnEntry;
      await session.ask((sql) => saveCommits(sql, { scope, save, collector, time, isSpeltFreely, commits }), limitMs);
      const added = texts?.flatMap(({ name }) => (mirror.index(name) === undefined ? [name] : [])) ?? [];
      for (const [name, index] of await mirror.loadScopes(session, added)) states.set(name, index);
      await this.#finish(session, number, save);
    } catch (error) {
      for (const index of states.values()) release(index);
      throw error;
    }
    const made = commits.map(({ layer, definition, number: at, change, ...rest }): FetchedCommit => {
      const isCut = rest.entries > rest.changes.length;
      const known = { at, scopeName: scope, number: change, save, time: Math.round(time), collector, isCut };
      const more = { ...(layer !== undefined && { layer }), ...(definition && { scope: definition }) };
      return Object.assign(rest, known, more);
    });
    mirror.take({ states, texts }, { store: from.store, number, save }, made);
  }

  /** Commits, and finds out the outcome if no answer arrives. */
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

/** Returns the commits of a group's batches; undefined for batches that change nothing. */
function newCommits(
  batches: readonly Batch[],
  outcomes: readonly Outcome<readonly EntryChange[]>[],
  last: Pick<NewCommit, "number" | "change">,
): readonly (NewCommit | undefined)[] {
  let { number, change } = last;
  return batches.map((batch, i) => {
    const outcome = outcomes[i] as Outcome<readonly EntryChange[]>;
    const changes = "result" in outcome ? outcome.result.filter(isChange) : [];
    if (changes.length === 0) return undefined;
    number++;
    change++;
    return { number, change, ...originOf(batch), layer: undefined, entries: changes.length, changes };
  });
}
