import type { Session } from "../../base/postgresql/index.ts";
import type { SharedIndex } from "../index/shared-index.ts";
import { StateBuilder, type IndexReturn } from "../index/index-builder.ts";
import { yieldToEventLoop } from "../model/apply-writes.ts";
import type { UdmIndex, UdmEdit } from "../model/udm-store.ts";
import { readRow } from "./entry-rows.ts";
import {
  readState,
  type Position,
  commitsAfter,
  LogGapError,
  type DatabaseState,
  type FetchedCommit,
} from "./fetch-commits.ts";
import type { UdmChange } from "../history/change.ts";
import type { PublishedState } from "../store/collector-store.ts";
import type { FullLoadReason, PostgresqlMetrics, DatabaseHealth } from "./database-reporting.ts";
import type { Clock, Log } from "../../base/report/index.ts";

/** Rows that come at a time, and are worked on between two cycles of the event loop. */
const rowsAtOnce = 500;

/**
 * Reads all entries from one snapshot of the database. Nothing else may change the index meanwhile.
 *
 * @param before the current state, which is given back when it has the same entries.
 * @throws Error; UdmError `resource_exhausted`
 */
async function loadEntries(
  session: Session,
  shared: SharedIndex,
  before: UdmIndex | undefined,
): Promise<{ readonly index: UdmIndex; readonly position: Position }> {
  const { sql } = session;
  await session.ask(() => sql.unsafe("begin isolation level repeatable read read only"));
  const { last } = await session.ask(() => readState(sql, 0));
  const { store, save = "" } = await session.ask(() => readState(sql, last));
  const position = { store, number: last, save };
  const lease = shared.lease(before);
  let built: IndexReturn | undefined;
  try {
    const builder = new StateBuilder(lease);
    const query =
      'select key, entry::text as entry, file_only::text as "fileOnly" from netgloss.udm_entry order by key';
    const rows = sql.unsafe<{ key: string; entry: string; fileOnly: string | null }[]>(query).cursor(rowsAtOnce);
    const iterator = rows[Symbol.asyncIterator]();
    for (;;) {
      const part = await session.ask(() => iterator.next());
      if (part.done === true) break;
      for (const { key, entry, fileOnly } of part.value) builder.add(readRow(key, entry, fileOnly));
      await yieldToEventLoop();
    }
    builder.sort();
    built = builder.finish();
  } catch (error) {
    shared.cancelLease(lease);
    throw error;
  }
  if (built === undefined) shared.cancelLease(lease);
  const index = built === undefined ? (before ?? shared.empty()) : shared.completeLease(lease, built);
  await session.ask(() => sql.unsafe("commit"));
  return { index, position };
}

/** The commits behind a position cannot be applied one by one: all entries must be read. */
export class ReloadNeeded extends Error {
  override readonly name = "ReloadNeeded";
  readonly reason: FullLoadReason;

  constructor(reason: FullLoadReason) {
    super(`all entries must be read: ${reason}`);
    this.reason = reason;
  }
}

interface MirrorOptions {
  /** The database, as a person reads it. */
  readonly location: string;
  readonly shared: SharedIndex;
  readonly published: PublishedState;
  readonly state: DatabaseHealth;
  readonly report: PostgresqlMetrics;
  /** Called with each commit that is seen, in order; not with those before a full load. */
  readonly notify: (change: UdmChange) => void;
  /** Called after each change of the entries or of the position. */
  readonly changed: () => void;
  /** Called when all entries were read. */
  readonly loaded: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Entries applied between two cycles of the event loop. */
const entriesPerYield = 200;

/** The entries of the database in memory, as of one commit. Calls that change it follow one another. */
export class Mirror {
  readonly #options: MirrorOptions;
  #position: Position | undefined;
  #known = 0;
  /** The clock of the database is ahead of ours by so much, in milliseconds. */
  #clockOffset = 0;
  #firstKept = 1;

  constructor(options: MirrorOptions) {
    this.#options = options;
  }

  /** Undefined before there is a state. */
  position(): Position | undefined {
    return this.#position;
  }

  /** The number of the commit that is in memory; 0 before there is one. */
  number(): number {
    return this.#position?.number ?? 0;
  }

  /** Returns how many commits are known of that are not seen here yet. */
  behind(): number {
    return Math.max(0, this.#known - this.number());
  }

  heard(number: number): void {
    this.#known = Math.max(this.#known, number);
  }

  /** The number of the oldest commit in the log, as of the last answer. */
  firstKept(): number {
    return this.#firstKept;
  }

  /** The time by the clock of the database, as far as its answers show it; in milliseconds since 1970. */
  now(): number {
    return this.#options.clock.now() + this.#clockOffset;
  }

  /** Shows a state that was made here. */
  take(next: UdmIndex, now: Position, changes: readonly UdmChange[]): void {
    const { published, notify, changed } = this.#options;
    published.makeCurrent(next);
    this.#position = now;
    this.#known = Math.max(this.#known, now.number);
    for (const change of changes) notify(change);
    changed();
  }

  /** Asks how far the database is. */
  async ask(session: Session): Promise<DatabaseState> {
    const { clock, state } = this.#options;
    const asked = clock.now();
    const found = await session.ask((sql) => readState(sql, this.number()));
    this.#clockOffset = found.time - (asked + clock.now()) / 2;
    this.#firstKept = found.first;
    state.heard();
    return found;
  }

  /** @throws ReloadNeeded when the database does not go on from where this is. */
  check(state: DatabaseState): void {
    this.#known = state.last;
    const { position: at } = this.#here();
    if (state.store !== at.store || state.last < at.number) throw new ReloadNeeded("set_back");
    if (state.save === at.save) return;
    throw new ReloadNeeded(at.number < state.first ? "pruned" : "set_back");
  }

  /** Applies what others have committed. @returns the commits. @throws ReloadNeeded, or an error of the session. */
  async catchUp(session: Session): Promise<readonly FetchedCommit[]> {
    const { index, position: from } = this.#here();
    const edit = index.edit();
    const commits: FetchedCommit[] = [];
    let puts = 0;
    try {
      const all = commitsAfter(session.sql, from.number);
      for (
        let next = await session.ask(() => all.next());
        next.done !== true;
        next = await session.ask(() => all.next())
      ) {
        puts += await apply(edit, next.value);
        commits.push(next.value);
      }
    } catch (error) {
      edit.drop();
      if (error instanceof LogGapError) throw new ReloadNeeded("pruned");
      throw error;
    }
    const last = commits.at(-1);
    if (puts === 0) edit.drop();
    if (last === undefined) return commits;
    const { number, save } = last;
    this.take(puts === 0 ? index : edit.done(), { store: from.store, number, save }, commits);
    return commits;
  }

  /** Takes over what others have committed, whatever it takes. To be called alone, outside of transactions. */
  async follow(session: Session): Promise<void> {
    const { report, log } = this.#options;
    try {
      const commits = await this.catchUp(session);
      report.followed(commits.length);
      for (const { number, author, method, collector, entries } of commits) {
        log.debug({ change: number, author, method, collector, entries }, "another collector has changed metadata");
      }
    } catch (error) {
      if (!(error instanceof ReloadNeeded)) throw error;
      await this.reload(session, error);
    }
  }

  /** Reads all entries again. */
  async reload(session: Session, { reason }: ReloadNeeded): Promise<void> {
    const { location, shared, published, report, loaded, log } = this.#options;
    const warning = reloadWarnings[reason];
    if (warning !== undefined) log.warn({ database: location }, `${warning}; reading everything again`);
    try {
      const { index, position } = await loadEntries(session, shared, published.index());
      report.fullLoad(reason);
      this.#known = position.number;
      this.take(index, position, []);
    } catch (error) {
      report.failed("load");
      throw error;
    }
    loaded();
  }

  #here(): { index: UdmIndex; position: Position } {
    const index = this.#options.published.index();
    if (index === undefined || this.#position === undefined) throw new ReloadNeeded("first");
    return { index, position: this.#position };
  }
}

const reloadWarnings: Readonly<Partial<Record<FullLoadReason, string>>> = {
  set_back: "the database lacks commits that were seen here: it is another database or was set back",
  changed_by_hand: "entries of the database were changed by hand, without a commit number",
};

/** @returns how many entries have changed. */
async function apply(edit: UdmEdit, { layer, isCut, changes }: FetchedCommit): Promise<number> {
  // A source of another collector has its entries in the layers of that one.
  if (layer !== undefined) return 0;
  if (isCut) throw new ReloadNeeded("big_commit");
  for (const [i, { before, after }] of changes.entries()) {
    if (i % entriesPerYield === entriesPerYield - 1) await yieldToEventLoop();
    if (after !== undefined) edit.put(after);
    else if (before !== undefined) edit.delete(before.key);
  }
  return changes.length;
}
