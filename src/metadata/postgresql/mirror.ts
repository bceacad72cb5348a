import type { Session } from "../../base/postgresql/index.ts";
import type { SharedIndex } from "../index/shared-index.ts";
import { createLentBuilder } from "../index/index-builder.ts";
import { nextTurn } from "../model/apply-writes.ts";
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
import type { PublishedState } from "../store/store-contract.ts";
import type { FullLoadReason, PostgresqlMetrics, DatabaseHealth } from "./database-reporting.ts";
import type { Clock, Log } from "../../base/report/index.ts";

/** All entries of a database, as of one commit. */
interface LoadedEntries {
  readonly index: UdmIndex;
  readonly position: Position;
}

/** Rows that come at a time, and are worked on between two turns of the event loop. */
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
): Promise<LoadedEntries> {
  const { sql } = session;
  await session.ask(() => sql.unsafe("begin isolation level repeatable read read only"));
  const { last } = await session.ask(() => readState(sql, 0));
  const { store, save = "" } = await session.ask(() => readState(sql, last));
  const position = { store, number: last, save };
  const loan = shared.lend(before);
  let built: ReturnType<ReturnType<typeof createLentBuilder>["finish"]>;
  try {
    const builder = createLentBuilder(loan);
    const query =
      'select key, entry::text as entry, file_only::text as "fileOnly" from netgloss.udm_entry order by key';
    const rows = sql.unsafe<{ key: string; entry: string; fileOnly: string | null }[]>(query).cursor(rowsAtOnce);
    const iterator = rows[Symbol.asyncIterator]();
    for (;;) {
      const part = await session.ask(() => iterator.next());
      if (part.done === true) break;
      for (const { key, entry, fileOnly } of part.value) builder.add(readRow(key, entry, fileOnly));
      await nextTurn();
    }
    builder.sort();
    built = builder.finish();
  } catch (error) {
    shared.takeBack(loan);
    throw error;
  }
  if (built === undefined) shared.takeBack(loan);
  const index = built === undefined ? (before ?? shared.empty()) : shared.adopt(loan, built);
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

/** The entries of the database in memory, as of one commit. Calls that change it follow one another. */
export interface Mirror {
  /** Undefined before there is a state. */
  readonly position: () => Position | undefined;
  /** The highest number heard of. */
  readonly known: () => number;
  readonly heard: (number: number) => void;
  /** Applies what others have committed. @returns the commits. @throws ReloadNeeded, or an error of the session. */
  readonly catchUp: (session: Session) => Promise<readonly FetchedCommit[]>;
  /** @throws ReloadNeeded when the database does not go on from where this is. */
  readonly check: (state: DatabaseState) => void;
  /** Reads all entries. */
  readonly reload: (session: Session, reason: FullLoadReason) => Promise<void>;
  /** Shows a state that was made here. */
  readonly take: (next: UdmIndex, position: Position, changes: readonly UdmChange[]) => void;
}

interface MirrorOptions {
  readonly shared: SharedIndex;
  readonly published: PublishedState;
  readonly report: PostgresqlMetrics;
  /** Called with each commit that is seen, in order; not with those before a full load. */
  readonly notify: (change: UdmChange) => void;
  /** Called after each change of the entries or of the position. */
  readonly changed: () => void;
}

/** Entries applied between two turns of the event loop. */
const entriesATurn = 200;

export function createMirror({ shared, published, report, notify, changed }: MirrorOptions): Mirror {
  let position: Position | undefined;
  let known = 0;

  const take: Mirror["take"] = (next, now, changes) => {
    published.makeCurrent(next);
    position = now;
    known = Math.max(known, now.number);
    for (const change of changes) notify(change);
    changed();
  };

  const here = (): { index: UdmIndex; position: Position } => {
    const index = published.index();
    if (index === undefined || position === undefined) throw new ReloadNeeded("first");
    return { index, position };
  };

  return {
    position: () => position,
    known: () => known,
    heard: (number) => void (known = Math.max(known, number)),
    take,
    check(state) {
      known = state.last;
      const { position: at } = here();
      if (state.store !== at.store || state.last < at.number) throw new ReloadNeeded("set_back");
      if (state.save === at.save) return;
      throw new ReloadNeeded(at.number < state.first ? "pruned" : "set_back");
    },
    async catchUp(session) {
      const { index, position: from } = here();
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
      take(puts === 0 ? index : edit.done(), { store: from.store, number, save }, commits);
      return commits;
    },
    async reload(session, reason) {
      const before = published.index();
      const loaded = await loadEntries(session, shared, before);
      report.fullLoad(reason);
      known = loaded.position.number;
      take(loaded.index, loaded.position, []);
    },
  };
}

/** @returns how many entries have changed. */
async function apply(edit: UdmEdit, { layer, isCut, changes }: FetchedCommit): Promise<number> {
  // What a source of another collector says is in the layers of that one.
  if (layer !== undefined) return 0;
  if (isCut) throw new ReloadNeeded("big_commit");
  for (const [i, { before, after }] of changes.entries()) {
    if (i % entriesATurn === entriesATurn - 1) await nextTurn();
    if (after !== undefined) edit.put(after);
    else if (before !== undefined) edit.delete(before.key);
  }
  return changes.length;
}

interface CatchUpOptions {
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
interface CatchUp {
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
